//! The head of a sealed copy. In: where the object was, when it was sealed, the seal. Out: bytes before the sealed ones, and
//! what the seal is bound to.
//!
//! ```text
//! "lockgate-recovery-v1\n" │ sealed_ms i64 │ path_len u16 │ path │ key_id 8 │ nonce 12 │ tag 16 │ sealed bytes …
//! ```
//! Big-endian. The seal is bound to all before `key_id`, and to the job id, which is the name of the file: a copy that was
//! renamed, moved in time or given another path does not open.
//! Not here: files.

use crate::clock::WallMs;
use crate::job::JobId;
use crate::job::path::PATH_BYTES_MAX;
use crate::keyring::{KeyId, SealHead};
use std::io::{self, Read};

const MAGIC: &[u8; 21] = b"lockgate-recovery-v1\n";
/// Everything but the path.
const FIXED_BYTES: u64 = 21 + 8 + 2 + 8 + 12 + 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) sealed_at: WallMs,
    pub(super) vault_path: String,
    pub(super) seal: SealHead,
}

impl Head {
    /// Bytes before the sealed ones.
    pub(super) fn len(&self) -> u64 {
        FIXED_BYTES + self.vault_path.len() as u64
    }

    pub(super) fn bound_to(&self, job_id: &JobId) -> Vec<u8> {
        bound_to(job_id, self.sealed_at, &self.vault_path)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = open_part(self.sealed_at, &self.vault_path);
        bytes.extend_from_slice(&self.seal.key_id.0);
        bytes.extend_from_slice(&self.seal.nonce);
        bytes.extend_from_slice(&self.seal.tag);
        bytes
    }

    /// `None` if this is not the beginning of a sealed copy.
    ///
    /// # Errors
    /// The read itself failed.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Option<Head>> {
        match Head::read_exactly(from) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            head => head,
        }
    }

    fn read_exactly(from: &mut impl Read) -> io::Result<Option<Head>> {
        let magic: [u8; 21] = take(from)?;
        let sealed_at = WallMs(i64::from_be_bytes(take(from)?));
        let path_len = usize::from(u16::from_be_bytes(take(from)?));
        if magic != *MAGIC || path_len > PATH_BYTES_MAX {
            return Ok(None);
        }
        let mut path = vec![0u8; path_len];
        from.read_exact(&mut path)?;
        let seal = SealHead {
            key_id: KeyId(take(from)?),
            nonce: take(from)?,
            tag: take(from)?,
        };
        Ok(String::from_utf8(path).ok().map(|vault_path| Head {
            sealed_at,
            vault_path,
            seal,
        }))
    }
}

fn take<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0u8; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn bound_to(job_id: &JobId, sealed_at: WallMs, vault_path: &str) -> Vec<u8> {
    let mut bytes = open_part(sealed_at, vault_path);
    bytes.extend_from_slice(job_id.0.as_bytes());
    bytes
}

/// A vault path has at most 1,024 bytes; one that had more would not read back.
fn open_part(sealed_at: WallMs, vault_path: &str) -> Vec<u8> {
    let path_len = u16::try_from(vault_path.len()).unwrap_or(u16::MAX);
    let mut bytes = Vec::with_capacity(vault_path.len() + 128);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&sealed_at.0.to_be_bytes());
    bytes.extend_from_slice(&path_len.to_be_bytes());
    bytes.extend_from_slice(vault_path.as_bytes());
    bytes
}
