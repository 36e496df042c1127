//! One byte of the lock file for each path. In: a path. Out: a guard, or that somebody else has it.
//!
//! The byte is the SHA-256 of the path as a big-endian integer, modulo 2^62 (design 3): two paths on one byte only wait for each
//! other. The locks belong to the open file (OFD), so one process keeps its own in a set as well: the kernel would grant it a byte
//! twice.
//!
//! A lock file that was put in the place of ours would be locked by others while we lock the old one: both would go on. So each
//! lock also asks whether the name still leads to the file we opened.
//!
//! Not here: the lists on disk.

use super::error::FenceFault;
use crate::job::{VaultPath, sha256};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
struct Shared {
    file: File,
    path: PathBuf,
    /// Device and inode of `file`.
    identity: (u64, u64),
    owner: u32,
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

/// Bytes that stand for paths: `0..BYTES`.
const BYTES: i64 = 1 << 62;

/// The byte that stands for a path.
pub(super) fn byte_of(path: &str) -> i64 {
    let digest = sha256(path.as_bytes()).0;
    let mut low = [0u8; 8];
    low.copy_from_slice(&digest[24..]);
    i64::from_be_bytes(low) & (BYTES - 1)
}

fn request(kind: i32, byte: i64, len: i64) -> libc::flock {
    libc::flock {
        l_type: i16::try_from(kind).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: byte,
        l_len: len,
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
            identity: (meta.dev(), meta.ino()),
            owner: meta.uid(),
            held: Mutex::default(),
        })))
    }

    /// The user who made the lock file: nobody's own in production, the one user of all roles in development.
    pub(super) fn owner(&self) -> u32 {
        self.0.owner
    }

    pub(super) fn try_lock(&self, path: &VaultPath) -> Result<Option<PathGuard>, FenceFault> {
        self.check_identity()?;
        let byte = byte_of(path.as_str());
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains(&byte) {
            return Ok(None);
        }
        match fcntl(
            &self.0.file,
            FcntlArg::F_OFD_SETLK(&request(libc::F_WRLCK, byte, 1)),
        ) {
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

    fn check_identity(&self) -> Result<(), FenceFault> {
        let meta =
            std::fs::symlink_metadata(&self.0.path).map_err(|error| FenceFault::io(&self.0.path, &error))?;
        if (meta.dev(), meta.ino()) == self.0.identity {
            return Ok(());
        }
        Err(FenceFault::Replaced {
            path: self.0.path.clone(),
        })
    }

    /// Whether somebody, this process included, has the path's byte.
    pub(super) fn is_locked(&self, path: &str) -> Result<bool, FenceFault> {
        let byte = byte_of(path);
        let held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(held.contains(&byte) || self.others_lock(byte, 1)?)
    }

    /// Whether somebody, this process included, has any path's byte.
    pub(super) fn is_any_locked(&self) -> Result<bool, FenceFault> {
        let held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(!held.is_empty() || self.others_lock(0, BYTES)?)
    }

    /// The kernel's word on locks of other open files.
    fn others_lock(&self, byte: i64, len: i64) -> Result<bool, FenceFault> {
        let mut asked = request(libc::F_WRLCK, byte, len);
        fcntl(&self.0.file, FcntlArg::F_OFD_GETLK(&mut asked))
            .map_err(|error| FenceFault::io(&self.0.path, &error.into()))?;
        Ok(i32::from(asked.l_type) != libc::F_UNLCK)
    }
}

impl Drop for PathGuard {
    fn drop(&mut self) {
        let mut held = self.shared.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = fcntl(
            &self.shared.file,
            FcntlArg::F_OFD_SETLK(&request(libc::F_UNLCK, self.byte, 1)),
        ) {
            // The byte stays locked until the process ends: others wait, nothing worse.
            tracing::error!(%error, path = %self.shared.path.display(), "a path could not be unlocked");
        }
        held.remove(&self.byte);
    }
}
