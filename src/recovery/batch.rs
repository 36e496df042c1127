//! Copies that become visible together. In: objects of one batch. Out: all of them durable under their names, or a fault and
//! no approval spent.
//!
//! Not here: what a copy looks like (format), the store.

use super::fault::{RecoveryFault, at};
use super::format::{Head, bound_to};
use super::{OBJECT_BYTES_MAX, RecoveryStore};
use crate::durable;
use crate::failpoint;
use crate::job::{JobId, Uuid4, VaultPath};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroize;

const PREFIX: &str = ".batch-";

/// Copies of one batch, not visible yet. Dropped without a commit, it leaves nothing.
#[derive(Debug)]
#[must_use]
pub struct RecoveryBatch<'a> {
    store: &'a RecoveryStore,
    dir: Option<Unfinished>,
    sealed: Vec<(PathBuf, PathBuf)>,
}

/// The batch's own directory: locked by the descriptor, removed when dropped.
#[derive(Debug)]
struct Unfinished {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.path));
    }
}

impl<'a> RecoveryBatch<'a> {
    pub(super) fn new(store: &'a RecoveryStore) -> RecoveryBatch<'a> {
        RecoveryBatch {
            store,
            dir: None,
            sealed: Vec::new(),
        }
    }

    /// Seals one object in place and writes and syncs it, under a name that nobody reads yet.
    ///
    /// # Errors
    /// [`RecoveryFault`]; the other copies of the batch stay as they are.
    pub fn seal(&mut self, job_id: JobId, path: &VaultPath, mut bytes: Vec<u8>) -> Result<(), RecoveryFault> {
        let written = self.seal_in_place(job_id, path, &mut bytes);
        // Sealed, or plain if it was not: not ours to leave in memory either way.
        bytes.zeroize();
        written
    }

    fn seal_in_place(
        &mut self,
        job_id: JobId,
        path: &VaultPath,
        bytes: &mut [u8],
    ) -> Result<(), RecoveryFault> {
        if bytes.len() as u64 > OBJECT_BYTES_MAX {
            return Err(RecoveryFault::TooLarge {
                job_id,
                bytes: bytes.len(),
                limit: OBJECT_BYTES_MAX,
            });
        }
        let (sealed_at, vault_path) = (self.store.clock.wall(), path.as_str());
        let seal = self
            .store
            .keyring
            .seal(&bound_to(&job_id, sealed_at, vault_path), bytes)
            .map_err(|fault| RecoveryFault::NotSealed { job_id, fault })?;
        let head = Head {
            sealed_at,
            vault_path: vault_path.to_owned(),
            seal,
        };
        let name = format!("{}-{job_id}", self.sealed.len());
        let temp = self.dir()?.join(name);
        write(&temp, &head.to_bytes(), bytes).map_err(at(&temp, "write the copy"))?;
        self.sealed.push((temp, self.store.path_of(&job_id)));
        Ok(())
    }

    /// Makes every copy visible and durable. Must be done before any approval of the batch is spent.
    ///
    /// # Errors
    /// [`RecoveryFault`]; then some may be visible, none is promised.
    pub fn commit(self) -> Result<(), RecoveryFault> {
        let dir = &self.store.dir;
        if self.sealed.is_empty() {
            return Ok(());
        }
        for (temp, path) in &self.sealed {
            std::fs::rename(temp, path).map_err(at(path, "name the copy"))?;
        }
        failpoint::reach("recovery.named").map_err(at(dir, "sync the directory"))?;
        durable::sync_dir(dir).map_err(at(dir, "sync the directory"))?;
        failpoint::reach("recovery.committed").map_err(at(dir, "sync the directory"))
    }

    fn dir(&mut self) -> Result<&Path, RecoveryFault> {
        let unfinished = match self.dir.take() {
            Some(unfinished) => unfinished,
            None => {
                let path = self.store.dir.join(format!("{PREFIX}{}", Uuid4::random()));
                make_locked(&path).map_err(at(&path, "make the directory of a batch"))?
            }
        };
        Ok(&self.dir.insert(unfinished).path)
    }
}

/// A sweep may take the directory away before it is locked: then the first write fails and the batch is tried again.
fn make_locked(path: &Path) -> io::Result<Unfinished> {
    std::fs::DirBuilder::new().mode(0o700).create(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    let lock = open_dir(path)?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok(Unfinished {
        path: path.to_path_buf(),
        _lock: lock,
    })
}

fn open_dir(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

fn write(path: &Path, head: &[u8], sealed: &[u8]) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let written = file
        .write_all(head)
        .and_then(|()| file.write_all(sealed))
        .and_then(|()| failpoint::reach("recovery.written"))
        .and_then(|()| file.sync_all())
        .and_then(|()| failpoint::reach("recovery.synced"));
    if written.is_err() {
        drop(std::fs::remove_file(path));
    }
    written
}

/// Removes the directories of batches whose process is dead.
pub(super) fn sweep(dir: &Path) -> Result<(), RecoveryFault> {
    for entry in std::fs::read_dir(dir).map_err(at(dir, "list the directory"))? {
        let entry = entry.map_err(at(dir, "list the directory"))?;
        let name = entry.file_name();
        if name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(Uuid4::parse)
            .is_none()
        {
            continue;
        }
        let path = entry.path();
        let lock = match open_dir(&path) {
            Ok(lock) => lock,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(at(&path, "open what a batch left")(error.into())),
        };
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared) {
            Ok(()) => match std::fs::remove_dir_all(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(at(&path, "remove what a batch left")(error)),
            },
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(at(&path, "lock what a batch left")(error.into())),
        }
    }
    Ok(())
}
