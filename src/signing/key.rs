//! An approver's private key in memory. In: an unencrypted OpenSSH key file, or the system's randomness. Out: signatures
//! in both schemes, key files, approvers lines.
//!
//! Not here: keys that ssh-keygen must open itself (`external`).

use crate::approval::envelope::EnvelopeSignature;
use crate::approval::key::PublicKey;
use crate::approval::purpose::Purpose;
use crate::approval::sshsig;
use crate::approval::wire::put_string;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use sha2::Digest as _;
use ssh_key::private::{Ed25519Keypair, KeypairData, PrivateKey};
use std::fmt;
use zeroize::Zeroizing;

/// Why a key cannot be used here.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// Not what ssh-keygen writes.
    #[error("this is not an OpenSSH private key file (it begins with -----BEGIN OPENSSH PRIVATE KEY-----)")]
    Format,
    /// We never ask for passphrases.
    #[error(
        "this key is encrypted with a passphrase; let ssh-keygen open it: lockgate-sign --ssh-keygen -f KEY …"
    )]
    Encrypted,
    /// The private half is in the hardware.
    #[error(
        "this key lives in a security key; let ssh-keygen talk to it: lockgate-sign --ssh-keygen -f KEY …"
    )]
    SecurityKey,
    /// RSA, ECDSA and others.
    #[error(
        "this key is not ssh-ed25519, and no other type approves; make one with `ssh-keygen -t ed25519-sk`"
    )]
    Type,
    /// The operating system gave none.
    #[error("no randomness from the operating system: {0}")]
    Randomness(getrandom::Error),
    /// The comment has a line end or is too long.
    #[error("the key could not be written in OpenSSH form; use a short comment without line ends")]
    Write,
}

/// How a payload is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// As `ssh-keygen -Y sign`.
    Sshsig,
    /// 64 plain bytes and the key's fingerprint.
    Ed25519,
}

/// A private key; wiped when dropped, never printed.
pub struct ApproverKey {
    secret: SigningKey,
    public: PublicKey,
}

impl fmt::Debug for ApproverKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApproverKey({}, secret)", self.public.fingerprint())
    }
}

impl ApproverKey {
    /// A fresh key.
    ///
    /// # Errors
    /// [`SigningError::Randomness`].
    pub fn generate() -> Result<ApproverKey, SigningError> {
        let mut seed = Zeroizing::new([0u8; 32]);
        getrandom::fill(&mut *seed).map_err(SigningError::Randomness)?;
        ApproverKey::from_seed(&seed)
    }

    /// The key with these 32 secret bytes.
    ///
    /// # Errors
    /// [`SigningError::Format`] if its public half is no proper key, which no seed gives.
    pub fn from_seed(seed: &[u8; 32]) -> Result<ApproverKey, SigningError> {
        let secret = SigningKey::from_bytes(seed);
        let public =
            PublicKey::from_ed25519(secret.verifying_key().as_bytes()).map_err(|_| SigningError::Format)?;
        Ok(ApproverKey { secret, public })
    }

    /// Reads an OpenSSH private key file.
    ///
    /// # Errors
    /// [`SigningError`] says which other way such a key can sign.
    pub fn read(file: &[u8]) -> Result<ApproverKey, SigningError> {
        let text = std::str::from_utf8(file).map_err(|_| SigningError::Format)?;
        if !text
            .trim_start()
            .starts_with("-----BEGIN OPENSSH PRIVATE KEY-----")
        {
            return Err(SigningError::Format);
        }
        let key = PrivateKey::from_openssh(text.trim()).map_err(|error| {
            if matches!(
                error,
                ssh_key::Error::AlgorithmUnknown | ssh_key::Error::AlgorithmUnsupported { .. }
            ) {
                SigningError::Type
            } else {
                SigningError::Format
            }
        })?;
        if key.is_encrypted() {
            return Err(SigningError::Encrypted);
        }
        if key.key_data().sk_ed25519().is_some() {
            return Err(SigningError::SecurityKey);
        }
        let pair = key.key_data().ed25519().ok_or(SigningError::Type)?;
        let seed = Zeroizing::new(pair.private.to_bytes());
        let key = ApproverKey::from_seed(&seed)?;
        // The file holds both halves; if they do not belong together it was damaged or forged.
        if key.public.point() == pair.public.as_ref() {
            Ok(key)
        } else {
            Err(SigningError::Format)
        }
    }

    /// The private key file, for mode 0600.
    ///
    /// # Errors
    /// [`SigningError::Write`].
    pub fn to_openssh(&self, comment: &str) -> Result<Zeroizing<String>, SigningError> {
        if comment.chars().any(char::is_control) || comment.len() > 255 {
            return Err(SigningError::Write);
        }
        let both = Zeroizing::new(self.secret.to_keypair_bytes());
        let pair = Ed25519Keypair::from_bytes(&both).map_err(|_| SigningError::Write)?;
        let pair = KeypairData::Ed25519(pair);
        let key = PrivateKey::new(pair, comment).map_err(|_| SigningError::Write)?;
        key.to_openssh(ssh_key::LineEnding::LF)
            .map_err(|_| SigningError::Write)
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// One signature for an envelope, over exactly `payload`.
    pub fn sign(
        &self,
        scheme: Scheme,
        purpose: Purpose,
        instance: &str,
        payload: &[u8],
    ) -> EnvelopeSignature {
        match scheme {
            Scheme::Sshsig => EnvelopeSignature::Sshsig {
                armour: self.sshsig(purpose, instance, payload),
            },
            Scheme::Ed25519 => {
                let signature = self.secret.sign(&purpose.raw_message(instance, payload));
                EnvelopeSignature::Ed25519 {
                    key: self.public.fingerprint(),
                    signature_b64: STANDARD.encode(signature.to_bytes()),
                }
            }
        }
    }

    fn sshsig(&self, purpose: Purpose, instance: &str, payload: &[u8]) -> String {
        let namespace = purpose.namespace(instance);
        let digest = sha2::Sha512::digest(payload);
        let signature = self
            .secret
            .sign(&sshsig::signed_bytes(&namespace, "sha512", &digest));
        let mut inner = Vec::new();
        put_string(&mut inner, self.public.type_word().as_bytes());
        put_string(&mut inner, &signature.to_bytes());
        let mut blob = sshsig::MAGIC.to_vec();
        blob.extend_from_slice(&1u32.to_be_bytes());
        for field in [
            &self.public.blob()[..],
            namespace.as_bytes(),
            b"",
            b"sha512",
            &inner,
        ] {
            put_string(&mut blob, field);
        }
        sshsig::armour(&blob)
    }
}
