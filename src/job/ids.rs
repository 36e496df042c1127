//! Identifiers and hashes, parsed once. In: text. Out: fixed-size values that print in the one canonical form.
//!
//! Not here: where they come from.

use std::fmt;

/// A version 4 UUID, lower case, hyphenated, not nil (contract 1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid4([u8; 16]);

impl Uuid4 {
    /// Accepts exactly the canonical text form.
    pub fn parse(text: &str) -> Option<Uuid4> {
        if text.len() != 36 {
            return None;
        }
        let mut bytes = [0u8; 16];
        let mut digits = 0usize;
        for (at, c) in text.bytes().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if c != b'-' {
                    return None;
                }
                continue;
            }
            let value = hex_digit(c)?;
            bytes[digits / 2] = (bytes[digits / 2] << 4) | value;
            digits += 1;
        }
        let is_v4 = bytes[6] >> 4 == 4 && bytes[8] >> 6 == 0b10;
        is_v4.then_some(Uuid4(bytes))
    }
    /// A fresh random one.
    pub fn random() -> Uuid4 {
        Uuid4(*uuid::Uuid::new_v4().as_bytes())
    }
    /// The 16 bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A lower-case hexadecimal digit's value.
fn hex_digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}

fn hex_32(text: &str) -> Option<[u8; 32]> {
    let text = text.as_bytes();
    if text.len() != 64 {
        return None;
    }
    let mut out = [0u8; 32];
    for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        *byte = (hex_digit(pair[0])? << 4) | hex_digit(pair[1])?;
    }
    Some(out)
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0u8; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    let used = (bytes.len() * 2).min(64);
    f.write_str(std::str::from_utf8(&text[..used]).unwrap_or_default())
}

impl fmt::Display for Uuid4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
            if at > 0 {
                f.write_str("-")?;
            }
            write_hex(f, &self.0[range])?;
        }
        Ok(())
    }
}
impl fmt::Debug for Uuid4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! uuid_newtype {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub Uuid4);
        impl $name {
            /// Accepts exactly the canonical text form.
            pub fn parse(text: &str) -> Option<$name> {
                Uuid4::parse(text).map($name)
            }
            /// A fresh random one.
            pub fn random() -> $name {
                $name(Uuid4::random())
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )+};
}

uuid_newtype! {
    /// Names one job, for ever.
    JobId,
    /// Correlates jobs of one mission; bound by the approval for DELETE.
    MissionId,
    /// Names one approval, for ever.
    ApprovalId,
    /// Names the request behind a DELETE job.
    DeleteRequestId,
    /// The requester's key against doing the same thing twice.
    IdempotencyKey,
}

/// 32 bytes of SHA-256, printed as lower-case hex.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// Exactly 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Sha256> {
        hex_32(text).map(Sha256)
    }
    /// `sha256:` + 64 hex, as in `expected_state`.
    pub fn parse_prefixed(text: &str) -> Option<Sha256> {
        Sha256::parse(text.strip_prefix("sha256:")?)
    }
}
impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}
impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

/// SHA-256 of the bytes.
pub fn sha256(bytes: &[u8]) -> Sha256 {
    use sha2::Digest;
    Sha256(sha2::Sha256::digest(bytes).into())
}

/// 32 bytes made by whoever drafts an approval; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce(pub [u8; 32]);
impl Nonce {
    /// A fresh one; `None` if the kernel gives no random bytes.
    pub fn random() -> Option<Nonce> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        Some(Nonce(bytes))
    }
    /// Exactly 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Nonce> {
        hex_32(text).map(Nonce)
    }
}
impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}
impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

/// A full git commit id: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CommitId(String);
impl CommitId {
    /// Exactly 40 or 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<CommitId> {
        let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|c| hex_digit(c).is_some());
        fits.then(|| CommitId(text.to_owned()))
    }
    /// The hex text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
