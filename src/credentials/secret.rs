//! Bytes that nobody may see. In: what a credential file held. Out: the bytes to those who use them, a fixed word to
//! everything that prints; wiped when the last user is done.
//!
//! Not here: reading files.

use zeroize::Zeroizing;

/// A secret in memory: wiped on drop, never printed, never cloned (share it with `Arc`).
pub struct Secret {
    bytes: Zeroizing<Vec<u8>>,
}

impl Secret {
    /// Takes the bytes over.
    pub fn new(bytes: Zeroizing<Vec<u8>>) -> Secret {
        Secret { bytes }
    }
    /// The bytes, for the one call that needs them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The text of a token; `None` if it is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
    /// Whether two are equal. For the role's own files read again, never for what somebody else sent.
    pub(super) fn is_same(&self, other: &Secret) -> bool {
        *self.bytes == *other.bytes
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
