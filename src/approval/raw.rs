//! Scheme `ed25519`: 64 bytes over two lines and the payload, for signers that are not ssh-keygen. In: base64, the key it
//! names, the signed bytes. Out: valid or not.
//!
//! Not here: finding the key by its fingerprint (`verify`).

use super::key::{KeyKind, PublicKey};
use super::purpose::Purpose;
use super::sshsig::SignatureError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Whether `key` signed this payload for this purpose and instance.
///
/// # Errors
/// [`SignatureError`].
pub fn verify(
    key: &PublicKey,
    signature_b64: &str,
    purpose: Purpose,
    instance: &str,
    payload: &[u8],
) -> Result<(), SignatureError> {
    let signature = decode(signature_b64)?;
    match key.kind() {
        KeyKind::Ed25519 => {}
        // Without the authenticator's flags nobody could say that it was touched.
        KeyKind::SecurityKey { .. } => return Err(SignatureError::RawSecurityKey),
    }
    if key.signed(&purpose.raw_message(instance, payload), &signature) {
        Ok(())
    } else {
        Err(SignatureError::Mismatch)
    }
}

/// The 64 bytes; padded base64 with zero trailing bits, nothing else.
///
/// # Errors
/// [`SignatureError::Raw`].
pub fn decode(signature_b64: &str) -> Result<[u8; 64], SignatureError> {
    let bytes = STANDARD.decode(signature_b64).map_err(|_| SignatureError::Raw)?;
    bytes.try_into().map_err(|_| SignatureError::Raw)
}
