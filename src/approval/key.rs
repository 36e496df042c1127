//! The two kinds of public key an approver may have. In: an OpenSSH key blob. Out: a key that is a proper point, or why not.
//!
//! Not here: whose key it is (`approvers`), any private key.

use super::wire::{Reader, put_string};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ed25519_dalek::{Signature, VerifyingKey};
use std::fmt;

/// Key type word of a plain key.
pub const TYPE_ED25519: &str = "ssh-ed25519";
/// Key type word of a key that lives in a FIDO authenticator.
pub const TYPE_SECURITY_KEY: &str = "sk-ssh-ed25519@openssh.com";
/// FIDO applications of SSH keys begin with this; a web login's never does, so it cannot be turned into an approval.
const APPLICATION_PREFIX: &str = "ssh:";
/// ssh-keygen allows no longer application; bounds what we keep of one.
const APPLICATION_BYTES_MAX: usize = 255;

/// SHA-256 of a key blob, printed as `ssh-keygen -l` does: `SHA256:` and unpadded base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Accepts exactly the printed form.
    pub fn parse(text: &str) -> Option<Fingerprint> {
        let bytes = STANDARD_NO_PAD.decode(text.strip_prefix("SHA256:")?).ok()?;
        Some(Fingerprint(bytes.try_into().ok()?))
    }
}
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SHA256:{}", STANDARD_NO_PAD.encode(self.0))
    }
}
impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What holds the private half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyKind {
    /// A file or an agent.
    Ed25519,
    /// A FIDO authenticator.
    SecurityKey {
        /// What the key was made for; begins with `ssh:`.
        application: String,
    },
}

/// Why a blob is not an approver's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Lengths do not fit, or bytes are left over.
    #[error("the key is not a complete OpenSSH public key")]
    Malformed,
    /// RSA, ECDSA, certificates and anything else.
    #[error("the key type is neither ssh-ed25519 nor sk-ssh-ed25519@openssh.com")]
    Type,
    /// Made for something else than SSH.
    #[error("the security key's application does not begin with `ssh:`")]
    Application,
    /// Not a point of the curve, or not its one encoding.
    #[error("the key is not a canonically encoded point of the curve")]
    Point,
    /// Anyone can sign for such a key.
    #[error("the key is of small order: anyone could sign for it")]
    Weak,
}

/// A public key whose point is canonical and not of small order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    kind: KeyKind,
    point: VerifyingKey,
}

impl PublicKey {
    /// Reads `string type, string point[, string application]`.
    ///
    /// # Errors
    /// [`KeyError`]; never part of the blob.
    pub fn parse_blob(blob: &[u8]) -> Result<PublicKey, KeyError> {
        let mut reader = Reader::new(blob);
        let word = reader.string().ok_or(KeyError::Malformed)?;
        let is_security_key = match word {
            word if word == TYPE_ED25519.as_bytes() => false,
            word if word == TYPE_SECURITY_KEY.as_bytes() => true,
            _ => return Err(KeyError::Type),
        };
        let point = reader.string().ok_or(KeyError::Malformed)?;
        let kind = if is_security_key {
            KeyKind::SecurityKey {
                application: application(reader.string().ok_or(KeyError::Malformed)?)?,
            }
        } else {
            KeyKind::Ed25519
        };
        reader.end().ok_or(KeyError::Malformed)?;
        let point: &[u8; 32] = point.try_into().map_err(|_| KeyError::Malformed)?;
        Ok(PublicKey {
            kind,
            point: strict_point(point)?,
        })
    }

    /// A plain key, from its 32 bytes.
    ///
    /// # Errors
    /// [`KeyError::Point`] or [`KeyError::Weak`].
    pub fn from_ed25519(point: &[u8; 32]) -> Result<PublicKey, KeyError> {
        Ok(PublicKey {
            kind: KeyKind::Ed25519,
            point: strict_point(point)?,
        })
    }

    /// The OpenSSH blob, as in `authorized_keys` and in signatures.
    pub fn blob(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(96);
        put_string(&mut out, self.type_word().as_bytes());
        put_string(&mut out, self.point.as_bytes());
        match &self.kind {
            KeyKind::Ed25519 => {}
            KeyKind::SecurityKey { application } => put_string(&mut out, application.as_bytes()),
        }
        out
    }
    /// `ssh-ed25519` or `sk-ssh-ed25519@openssh.com`.
    pub fn type_word(&self) -> &'static str {
        match self.kind {
            KeyKind::Ed25519 => TYPE_ED25519,
            KeyKind::SecurityKey { .. } => TYPE_SECURITY_KEY,
        }
    }
    /// What holds the private half.
    pub fn kind(&self) -> &KeyKind {
        &self.kind
    }
    /// The curve point: one private key has one, whatever the type word in front says.
    pub fn point(&self) -> &[u8; 32] {
        self.point.as_bytes()
    }
    /// As `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(crate::job::sha256(&self.blob()).0)
    }
    /// Type word and base64, as in an approvers line.
    pub fn to_openssh(&self) -> String {
        format!("{} {}", self.type_word(), STANDARD.encode(self.blob()))
    }
    /// Whether these 64 bytes are the one valid signature of this key over `message`: no second encoding of R or S,
    /// no small order.
    pub(super) fn signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.point
            .verify_strict(message, &Signature::from_bytes(signature))
            .is_ok()
    }
}

fn application(bytes: &[u8]) -> Result<String, KeyError> {
    let text = std::str::from_utf8(bytes).map_err(|_| KeyError::Application)?;
    if !text.starts_with(APPLICATION_PREFIX) || text.len() > APPLICATION_BYTES_MAX {
        return Err(KeyError::Application);
    }
    Ok(text.to_owned())
}

/// The library decodes y ≥ p too; a key must have one encoding, or one person could be two keys.
fn strict_point(bytes: &[u8; 32]) -> Result<VerifyingKey, KeyError> {
    let point = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::Point)?;
    if point.is_weak() {
        return Err(KeyError::Weak);
    }
    if point.to_edwards().compress().as_bytes() != bytes {
        return Err(KeyError::Point);
    }
    Ok(point)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOB: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIPWFhnDzaMe6JcuFU+fukOWlJUQKbVRWs5p+6fPpZuGs";

    #[test]
    fn the_blob_and_fingerprint_of_a_key_are_those_of_openssh() {
        let blob = STANDARD.decode(BLOB).unwrap();
        let key = PublicKey::parse_blob(&blob).unwrap();
        assert_eq!(key.blob(), blob);
        assert_eq!(key.to_openssh(), format!("ssh-ed25519 {BLOB}"));
        let text = "SHA256:+VaDCyzPI3hoebRbSJxvAJu93YOzgF788KHYYFZz8mQ";
        assert_eq!(key.fingerprint().to_string(), text);
        assert_eq!(Fingerprint::parse(text), Some(key.fingerprint()));
        for bad in [
            "SHA256:",
            &text[7..],
            &format!("{text}="),
            "SHA256:AAAA",
            "sha256:+VaDCyzPI3hoebRbSJxvAJu93YOzgF788KHYYFZz8mQ",
        ] {
            assert_eq!(Fingerprint::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn t32_truncated_padded_and_foreign_key_blobs_are_refused() {
        let blob = STANDARD.decode(BLOB).unwrap();
        for cut in 0..blob.len() {
            assert_eq!(
                PublicKey::parse_blob(&blob[..cut]),
                Err(KeyError::Malformed),
                "{cut}"
            );
        }
        let mut longer = blob;
        longer.push(0);
        assert_eq!(PublicKey::parse_blob(&longer), Err(KeyError::Malformed));
        let mut rsa = Vec::new();
        put_string(&mut rsa, b"ssh-rsa");
        assert_eq!(PublicKey::parse_blob(&rsa), Err(KeyError::Type));
    }

    #[test]
    fn t32_small_order_and_non_canonical_points_are_refused() {
        let mut identity = [0u8; 32];
        identity[0] = 1;
        let order_two: [u8; 32] = std::array::from_fn(|at| match at {
            0 => 0xec,
            31 => 0x7f,
            _ => 0xff,
        });
        for weak in [identity, [0u8; 32], order_two] {
            assert_eq!(PublicKey::from_ed25519(&weak), Err(KeyError::Weak));
        }
        // y = 3 has a point; y = p + 3 is the same point written a second way.
        let canonical: [u8; 32] = std::array::from_fn(|at| if at == 0 { 3 } else { 0 });
        let second: [u8; 32] = std::array::from_fn(|at| match at {
            0 => 0xf0,
            31 => 0x7f,
            _ => 0xff,
        });
        assert!(PublicKey::from_ed25519(&canonical).is_ok());
        assert_eq!(PublicKey::from_ed25519(&second), Err(KeyError::Point));
    }

    #[test]
    fn a_security_key_made_for_a_web_login_is_refused() {
        let mut point = Vec::new();
        put_string(&mut point, TYPE_SECURITY_KEY.as_bytes());
        put_string(&mut point, &STANDARD.decode(BLOB).unwrap()[19..]);
        for (application, fits) in [
            ("ssh:", true),
            ("ssh:approve", true),
            ("https://bank.test", false),
            ("SSH:", false),
            ("", false),
        ] {
            let mut blob = point.clone();
            put_string(&mut blob, application.as_bytes());
            assert_eq!(PublicKey::parse_blob(&blob).is_ok(), fits, "{application}");
            if fits {
                assert_eq!(PublicKey::parse_blob(&blob).unwrap().blob(), blob);
            }
        }
    }
}
