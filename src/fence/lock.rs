//! One byte of the lock file for each path. In: a path. Out: a guard, or that somebody else has it.
//!
//! The byte is the SHA-256 of the path as a big-endian integer, modulo 2^62 (design 3): two paths on one byte only wait for each
//! other. The locks belong to the open file (OFD), so one process keeps its own in a set as well: the kernel would grant it a byte
//! twice.
//!
//! Not here: the lists on disk.

use super::error::FenceFault;
use crate::job::{VaultPath, sha256};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
struct Shared {
    file: File,
    path: PathBuf,
    held: Mutex<HashSet<i64>>,
}

/// The lock file, opened once.
#[derive(Debug, Clone)]
pub(super) struct Locks(Arc<Shared>);

/// A locked path; dropping it unlocks.
#[derive(Debug)]
pub struct PathGuard {
    shared: Arc<Shared>,
    byte: i64,
    path: VaultPath,
}

impl PathGuard {
    /// The path that is locked.
    pub fn path(&self) -> &VaultPath {
        &self.path
    }
}

/// The byte that stands for a path.
pub(super) fn byte_of(path: &VaultPath) -> i64 {
    let digest = sha256(path.as_str().as_bytes()).0;
    let mut low = [0u8; 8];
    low.copy_from_slice(&digest[24..]);
    i64::from_be_bytes(low) & ((1 << 62) - 1)
}

fn request(kind: i32, byte: i64) -> libc::flock {
    libc::flock {
        l_type: i16::try_from(kind).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    }
}

impl Locks {
    pub(super) fn open(path: &Path) -> Result<Locks, FenceFault> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(path)
            .map_err(|error| FenceFault::io(path, &error))?;
        let meta = file.metadata().map_err(|error| FenceFault::io(path, &error))?;
        if !meta.is_file() {
            return Err(FenceFault::malformed(path, "it is not a regular file"));
        }
        Ok(Locks(Arc::new(Shared {
            file,
            path: path.to_path_buf(),
            held: Mutex::default(),
        })))
    }

    pub(super) fn try_lock(&self, path: &VaultPath) -> Result<Option<PathGuard>, FenceFault> {
        let byte = byte_of(path);
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains(&byte) {
            return Ok(None);
        }
        match fcntl(&self.0.file, FcntlArg::F_OFD_SETLK(&request(libc::F_WRLCK, byte))) {
            Ok(_) => {}
            Err(nix::Error::EAGAIN | nix::Error::EACCES) => return Ok(None),
            Err(error) => return Err(FenceFault::io(&self.0.path, &error.into())),
        }
        held.insert(byte);
        Ok(Some(PathGuard {
            shared: Arc::clone(&self.0),
            byte,
            path: path.clone(),
        }))
    }
}

impl Drop for PathGuard {
    fn drop(&mut self) {
        let mut held = self.shared.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = fcntl(
            &self.shared.file,
            FcntlArg::F_OFD_SETLK(&request(libc::F_UNLCK, self.byte)),
        ) {
            // The byte stays locked until the process ends: others wait, nothing worse.
            tracing::error!(%error, path = %self.shared.path.display(), "a path could not be unlocked");
        }
        held.remove(&self.byte);
    }
}
