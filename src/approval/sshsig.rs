//! Signatures as `ssh-keygen -Y sign` writes them. In: armour text, a namespace, the signed bytes. Out: the key that made
//! the signature and whether its holder was verified, or why it does not count.
//!
//! Not here: whether that key may approve anything (`approvers`, `policy`); making signatures.

use super::key::{KeyError, KeyKind, PublicKey};
use super::wire::{Reader, put_string};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// First bytes of the blob and of what is signed.
pub(crate) const MAGIC: &[u8] = b"SSHSIG";
const VERSION: u32 = 1;
/// The authenticator saw a touch.
const FLAG_USER_PRESENT: u8 = 0x01;
/// The authenticator checked a PIN or a finger.
const FLAG_USER_VERIFIED: u8 = 0x04;

/// Why a signature does not count. Never any of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No BEGIN and END line, or something beside base64 between them.
    #[error("the signature is not an SSH SIGNATURE block")]
    Armour,
    /// Truncated, extended, another version or hash.
    #[error("the signature block is not a complete SSHSIG version 1 structure")]
    Blob,
    /// The key inside is none we take.
    #[error("the signature's key is refused: {0}")]
    Key(#[from] KeyError),
    /// Made for another instance, or for another use of the key.
    #[error(
        "the signature is for another namespace; sign with `-n {{lockgate-approval|lockgate-withdrawal}}@INSTANCE`"
    )]
    Namespace,
    /// Made without a touch of the security key.
    #[error("the security key was not touched: user presence is missing")]
    NotPresent,
    /// The mathematics say no.
    #[error("the signature does not belong to these bytes and this key")]
    Mismatch,
    /// Not 64 bytes in base64.
    #[error("the signature is not the padded base64 of 64 bytes")]
    Raw,
    /// A security key's signature says more than 64 bytes can.
    #[error("a security key signs with scheme `sshsig` only")]
    RawSecurityKey,
}

/// Whether the authenticator vouches for who touched it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// PIN or fingerprint checked by the authenticator.
    Verified,
    /// A file key, or a touch alone.
    NotVerified,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HashName {
    Sha256,
    Sha512,
}

impl HashName {
    fn parse(word: &[u8]) -> Option<HashName> {
        match word {
            b"sha256" => Some(HashName::Sha256),
            b"sha512" => Some(HashName::Sha512),
            _ => None,
        }
    }
    fn as_str(self) -> &'static str {
        match self {
            HashName::Sha256 => "sha256",
            HashName::Sha512 => "sha512",
        }
    }
    fn digest(self, message: &[u8]) -> Vec<u8> {
        match self {
            HashName::Sha256 => sha2::Sha256::digest(message).to_vec(),
            HashName::Sha512 => sha2::Sha512::digest(message).to_vec(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Touch {
    flags: u8,
    counter: u32,
}

/// One parsed signature; nothing about it is believed until [`SshSignature::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSignature {
    key: PublicKey,
    namespace: Vec<u8>,
    hash: HashName,
    signature: [u8; 64],
    touch: Option<Touch>,
}

impl SshSignature {
    /// Reads the armour and every field of the blob, to its last byte.
    ///
    /// # Errors
    /// [`SignatureError`].
    pub fn parse(armour: &str) -> Result<SshSignature, SignatureError> {
        let blob = unarmour(armour).ok_or(SignatureError::Armour)?;
        let fields = Fields::read(&blob).ok_or(SignatureError::Blob)?;
        let hash = HashName::parse(fields.hash).ok_or(SignatureError::Blob)?;
        let key = PublicKey::parse_blob(fields.key)?;
        let (signature, touch) = read_signature(&key, fields.signature).ok_or(SignatureError::Blob)?;
        Ok(SshSignature {
            key,
            namespace: fields.namespace.to_vec(),
            hash,
            signature,
            touch,
        })
    }

    /// The key that is said to have signed.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Whether that key signed `message` in `namespace`, with its holder present.
    ///
    /// # Errors
    /// [`SignatureError`].
    pub fn verify(&self, namespace: &str, message: &[u8]) -> Result<Holder, SignatureError> {
        if self.namespace != namespace.as_bytes() {
            return Err(SignatureError::Namespace);
        }
        let signed = signed_bytes(namespace, self.hash.as_str(), &self.hash.digest(message));
        match (self.key.kind(), self.touch) {
            (KeyKind::Ed25519, None) => {
                self.check(&signed)?;
                Ok(Holder::NotVerified)
            }
            (KeyKind::SecurityKey { application }, Some(touch)) => {
                self.check(&authenticator_bytes(application, touch, &signed))?;
                if touch.flags & FLAG_USER_PRESENT == 0 {
                    return Err(SignatureError::NotPresent);
                }
                let verified = touch.flags & FLAG_USER_VERIFIED != 0;
                Ok(if verified {
                    Holder::Verified
                } else {
                    Holder::NotVerified
                })
            }
            (KeyKind::Ed25519, Some(_)) | (KeyKind::SecurityKey { .. }, None) => Err(SignatureError::Blob),
        }
    }

    fn check(&self, message: &[u8]) -> Result<(), SignatureError> {
        if self.key.signed(message, &self.signature) {
            Ok(())
        } else {
            Err(SignatureError::Mismatch)
        }
    }
}

/// What an SSHSIG signature covers.
pub(crate) fn signed_bytes(namespace: &str, hash: &str, digest: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    put_string(&mut out, namespace.as_bytes());
    put_string(&mut out, b"");
    put_string(&mut out, hash.as_bytes());
    put_string(&mut out, digest);
    out
}

/// What an authenticator signs: it sees hashes only, and adds its flags and counter between them.
fn authenticator_bytes(application: &str, touch: Touch, signed: &[u8]) -> Vec<u8> {
    let mut out = sha2::Sha256::digest(application.as_bytes()).to_vec();
    out.push(touch.flags);
    out.extend_from_slice(&touch.counter.to_be_bytes());
    out.extend_from_slice(&sha2::Sha256::digest(signed));
    out
}

struct Fields<'a> {
    key: &'a [u8],
    namespace: &'a [u8],
    hash: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Fields<'a> {
    fn read(blob: &'a [u8]) -> Option<Fields<'a>> {
        let mut reader = Reader::new(blob);
        let begins = reader.take(MAGIC.len())? == MAGIC && reader.number()? == VERSION;
        let key = reader.string()?;
        let namespace = reader.string()?;
        let reserved = reader.string()?;
        let hash = reader.string()?;
        let signature = reader.string()?;
        reader.end()?;
        // ssh-keygen writes the reserved field empty; whatever a later version puts there, we would not understand it.
        (begins && reserved.is_empty()).then_some(Fields {
            key,
            namespace,
            hash,
            signature,
        })
    }
}

fn read_signature(key: &PublicKey, blob: &[u8]) -> Option<([u8; 64], Option<Touch>)> {
    let mut reader = Reader::new(blob);
    let word = reader.string()?;
    if word != key.type_word().as_bytes() {
        return None;
    }
    let signature: [u8; 64] = reader.string()?.try_into().ok()?;
    let touch = match key.kind() {
        KeyKind::Ed25519 => None,
        KeyKind::SecurityKey { .. } => Some(Touch {
            flags: reader.byte()?,
            counter: reader.number()?,
        }),
    };
    reader.end()?;
    Some((signature, touch))
}

/// The bytes between the BEGIN and END lines; lines may end in CRLF, and the last line end may be missing.
fn unarmour(text: &str) -> Option<Vec<u8>> {
    let mut lines = text.lines();
    if lines.next()? != BEGIN {
        return None;
    }
    let mut body = String::with_capacity(text.len());
    loop {
        match lines.next()? {
            END => break,
            line => body.push_str(line),
        }
    }
    if lines.next().is_some() {
        return None;
    }
    STANDARD.decode(body).ok()
}

/// Puts a blob between BEGIN and END, 70 characters a line as ssh-keygen does.
#[cfg(any(test, feature = "signing"))]
pub(crate) fn armour(blob: &[u8]) -> String {
    let body = STANDARD.encode(blob);
    let mut out = format!("{BEGIN}\n");
    for (at, letter) in body.chars().enumerate() {
        if at > 0 && at % 70 == 0 {
            out.push('\n');
        }
        out.push(letter);
    }
    out.push('\n');
    out.push_str(END);
    out.push('\n');
    out
}

#[cfg(test)]
#[path = "sshsig_test.rs"]
mod tests;
