//! Seals bytes with a key for one purpose. In: a secret, older ones, bytes and what they are bound to. Out: AES-256-GCM with
//! a random nonce; only the same purpose, secret and binding open it.
//!
//! Rotation: new seals use the newest secret; the key's id stands beside the sealed bytes, so that an older secret that is
//! still handed over opens what it sealed.
//! Not here: files (recovery/), where secrets come from (credentials/).

use crate::credentials::Secret;
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use hkdf::Hkdf;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Fewer bytes cannot hold the 256 bits that the derived key claims.
const SECRET_BYTES_MIN: usize = 32;
const SALT: &[u8] = b"lockgate-keyring-v1";

/// What a key is for: each purpose has a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Recovery copies of deleted objects.
    Recovery,
    /// Copies of a ledger.
    Backup,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Purpose::Recovery => "recovery",
            Purpose::Backup => "backup",
        }
    }
}

/// Names a key without telling anything about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub [u8; 8]);

impl std::fmt::Display for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
impl std::fmt::Debug for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// What stands beside sealed bytes. None of it is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealHead {
    /// Which key.
    pub key_id: KeyId,
    /// Random, never used twice with one key.
    pub nonce: [u8; 12],
    /// GCM's tag over bytes and binding.
    pub tag: [u8; 16],
}

/// Why bytes were not sealed or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringFault {
    /// The secret cannot be what it should be.
    #[error("a {purpose} key needs at least {SECRET_BYTES_MIN} bytes; make one with `openssl rand -hex 32`", purpose = .0.as_str())]
    TooShort(Purpose),
    /// None of the secrets at hand has this id.
    #[error("sealed with the key {0}, which is not at hand; hand over the key of that time")]
    UnknownKey(KeyId),
    /// Other bytes, another binding, or damage.
    #[error("the sealed bytes do not open: they, or what they are bound to, are not what was sealed")]
    NotAuthentic,
    /// The kernel gave no randomness.
    #[error("no random bytes: {0}")]
    NoRandom(String),
    /// More than one message may hold.
    #[error("too many bytes for one seal")]
    TooLarge,
}

struct Key {
    id: KeyId,
    bytes: Zeroizing<[u8; 32]>,
}

/// Keys of one purpose, the newest first.
pub struct Keyring {
    purpose: Purpose,
    newest: Key,
    older: Vec<Key>,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyring")
            .field("purpose", &self.purpose)
            .field("newest", &self.newest.id)
            .finish_non_exhaustive()
    }
}

impl Keyring {
    /// Derives the keys. `older` only open.
    ///
    /// # Errors
    /// [`KeyringFault::TooShort`].
    pub fn new(purpose: Purpose, secret: &Secret, older: &[Arc<Secret>]) -> Result<Keyring, KeyringFault> {
        let newest = derive(purpose, secret)?;
        let older = older
            .iter()
            .map(|secret| derive(purpose, secret))
            .collect::<Result<_, _>>()?;
        Ok(Keyring {
            purpose,
            newest,
            older,
        })
    }

    /// The key that seals.
    pub fn newest_id(&self) -> KeyId {
        self.newest.id
    }

    /// Seals in place; `bound_to` is not stored and must be given again to open.
    ///
    /// # Errors
    /// [`KeyringFault`]; then the bytes are wiped.
    pub fn seal(&self, bound_to: &[u8], bytes: &mut [u8]) -> Result<SealHead, KeyringFault> {
        let mut nonce = [0u8; 12];
        let sealed = getrandom::fill(&mut nonce)
            .map_err(|error| KeyringFault::NoRandom(error.to_string()))
            .and_then(|()| {
                let cipher = Aes256Gcm::new((&*self.newest.bytes).into());
                cipher
                    .encrypt_inout_detached((&nonce).into(), bound_to, (&mut *bytes).into())
                    .map_err(|_| KeyringFault::TooLarge)
            });
        match sealed {
            Ok(tag) => Ok(SealHead {
                key_id: self.newest.id,
                nonce,
                tag: tag.into(),
            }),
            Err(fault) => {
                bytes.zeroize();
                Err(fault)
            }
        }
    }

    /// Opens in place.
    ///
    /// # Errors
    /// [`KeyringFault`]; then the bytes are unchanged.
    pub fn open(&self, head: &SealHead, bound_to: &[u8], bytes: &mut [u8]) -> Result<(), KeyringFault> {
        let mut keys = std::iter::once(&self.newest).chain(&self.older);
        let key = keys
            .find(|key| key.id == head.key_id)
            .ok_or(KeyringFault::UnknownKey(head.key_id))?;
        let cipher = Aes256Gcm::new((&*key.bytes).into());
        cipher
            .decrypt_inout_detached((&head.nonce).into(), bound_to, bytes.into(), (&head.tag).into())
            .map_err(|_| KeyringFault::NotAuthentic)
    }
}

fn derive(purpose: Purpose, secret: &Secret) -> Result<Key, KeyringFault> {
    if secret.bytes().len() < SECRET_BYTES_MIN {
        return Err(KeyringFault::TooShort(purpose));
    }
    let hkdf = Hkdf::<sha2::Sha256>::new(Some(SALT), secret.bytes());
    let mut bytes = Zeroizing::new([0u8; 32]);
    let mut id = [0u8; 8];
    let expand = |what: &str, out: &mut [u8]| {
        let info = format!("lockgate {} {what}", purpose.as_str());
        // Only an output of more than 8,160 bytes is refused.
        hkdf.expand(info.as_bytes(), out)
            .map_err(|_| KeyringFault::TooLarge)
    };
    expand("aes-256-gcm", bytes.as_mut_slice())?;
    expand("key-id", &mut id)?;
    Ok(Key { id: KeyId(id), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Arc<Secret> {
        Arc::new(Secret::new(Zeroizing::new(vec![byte; 32])))
    }
    fn ring(byte: u8, older: &[Arc<Secret>]) -> Keyring {
        Keyring::new(Purpose::Recovery, &secret(byte), older).unwrap()
    }

    #[test]
    fn what_was_sealed_opens_with_the_same_key_and_binding_only() {
        let ring = ring(1, &[]);
        let mut bytes = b"the object".to_vec();
        let head = ring.seal(b"job", &mut bytes).unwrap();
        assert_ne!(bytes, b"the object");
        let sealed = bytes.clone();
        assert_eq!(
            ring.open(&head, b"other job", &mut bytes),
            Err(KeyringFault::NotAuthentic)
        );
        assert_eq!(bytes, sealed, "nothing unproven is shown");
        ring.open(&head, b"job", &mut bytes).unwrap();
        assert_eq!(bytes, b"the object");
    }

    #[test]
    fn every_changed_bit_is_seen() {
        let ring = ring(1, &[]);
        let mut sealed = b"object".to_vec();
        let head = ring.seal(b"job", &mut sealed).unwrap();
        for at in 0..sealed.len() * 8 {
            let mut bytes = sealed.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            assert_eq!(
                ring.open(&head, b"job", &mut bytes),
                Err(KeyringFault::NotAuthentic)
            );
        }
        for at in 0..12 {
            let mut head = head;
            head.nonce[at] ^= 1;
            assert_eq!(
                ring.open(&head, b"job", &mut sealed.clone()),
                Err(KeyringFault::NotAuthentic)
            );
        }
        for at in 0..16 {
            let mut head = head;
            head.tag[at] ^= 1;
            assert_eq!(
                ring.open(&head, b"job", &mut sealed.clone()),
                Err(KeyringFault::NotAuthentic)
            );
        }
    }

    #[test]
    fn an_older_key_opens_and_the_newest_seals() {
        let mut bytes = b"object".to_vec();
        let head = ring(1, &[]).seal(b"job", &mut bytes).unwrap();
        let rotated = ring(2, &[secret(3), secret(1)]);
        rotated.open(&head, b"job", &mut bytes.clone()).unwrap();
        assert_eq!(
            rotated.seal(b"job", &mut []).unwrap().key_id,
            ring(2, &[]).newest_id()
        );
        let without = ring(2, &[secret(3)]).open(&head, b"job", &mut bytes);
        assert_eq!(without, Err(KeyringFault::UnknownKey(head.key_id)));
    }

    #[test]
    fn each_purpose_has_a_key_of_its_own() {
        let mut bytes = b"object".to_vec();
        let mut head = ring(1, &[]).seal(b"job", &mut bytes).unwrap();
        let backup = Keyring::new(Purpose::Backup, &secret(1), &[]).unwrap();
        assert_eq!(
            backup.open(&head, b"job", &mut bytes),
            Err(KeyringFault::UnknownKey(head.key_id))
        );
        head.key_id = backup.newest_id();
        assert_eq!(
            backup.open(&head, b"job", &mut bytes),
            Err(KeyringFault::NotAuthentic)
        );
    }

    #[test]
    fn nonces_differ() {
        let ring = ring(1, &[]);
        let nonces: std::collections::HashSet<_> = (0..1000)
            .map(|_| ring.seal(b"", &mut []).unwrap().nonce)
            .collect();
        assert_eq!(nonces.len(), 1000);
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_shown() {
        let short = Secret::new(Zeroizing::new(vec![7; 31]));
        let fault = Keyring::new(Purpose::Recovery, &short, &[]).unwrap_err();
        assert_eq!(fault, KeyringFault::TooShort(Purpose::Recovery));
        assert!(!format!("{:?}", ring(7, &[])).contains("7, 7"));
    }

    /// HKDF-SHA256 of 32 bytes 0x01, computed apart: stored copies must open for ever.
    #[test]
    fn the_derivation_does_not_change() {
        let ring = ring(1, &[]);
        assert_eq!(ring.newest_id().to_string(), "d88508f76bea2936");
        let key = crate::job::Sha256(*ring.newest.bytes).to_string();
        assert_eq!(
            key,
            "054bac0b42281cd31cb58d3ccaab1ae52703c5a656d4eb22bada388682e58dff"
        );
    }
}
