//! Proof of life of a role's processes. In: the state directory. Out: one locked file per process, and whether another
//! process still holds its own.
//!
//! A worker is alive exactly as long as somebody holds `worker-UUID.lock` exclusively; the kernel lets go when the process
//! ends, however it ends. Who only looks takes the lock shared: two that look never take each other for the holder.
//! Not here: what is done with a dead worker's jobs (executor/holders), leases (ledger/claim).

mod death_watch;

pub use death_watch::{DeathWatch, Watching};

use crate::job::Uuid4;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::borrow::Borrow;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Names that were taken away between making and locking before it is called a fault.
const BIRTHS_MAX: u32 = 16;

/// A lock file that could not be made, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum WorkerFault {
    /// The system call failed.
    #[error("{path}: cannot {step}: {source}; the state directory must be the role's own, mode 0700", path = path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// Something takes new lock files away.
    #[error("{path}: new worker locks are taken away as fast as they are made; see what else works in this directory",
        path = path.display())]
    TakenAway {
        /// The state directory.
        path: PathBuf,
    },
    /// Each watched worker costs a thread.
    #[error("{limit} workers are watched already; no thread for one more")]
    TooManyWatched {
        /// The bound.
        limit: usize,
    },
}

fn fault(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> WorkerFault {
    let path = path.to_path_buf();
    move |source| WorkerFault::Io { path, step, source }
}

/// This process's own lock; given up when dropped or when the process ends.
#[derive(Debug)]
pub struct WorkerLock {
    id: Uuid4,
    path: PathBuf,
    // Held for its lock. Close-on-exec: no child keeps it.
    file: File,
}

impl WorkerLock {
    /// Makes and locks a file of a fresh id.
    ///
    /// # Errors
    /// [`WorkerFault`] naming the file.
    pub fn acquire(state_dir: &Path) -> Result<WorkerLock, WorkerFault> {
        for _ in 0..BIRTHS_MAX {
            let id = Uuid4::random();
            let path = lock_path(state_dir, &id);
            let file = File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .map_err(fault(&path, "make the worker lock"))?;
            // A sweep may look at the file before we have it, or have removed it: then another name is tried.
            match try_lock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(true) if is_still_named(&file, &path) => {
                    return Ok(WorkerLock { id, path, file });
                }
                Ok(_) => drop(std::fs::remove_file(&path)),
                Err(error) => {
                    drop(std::fs::remove_file(&path));
                    return Err(fault(&path, "lock it")(error));
                }
            }
        }
        Err(WorkerFault::TakenAway {
            path: state_dir.to_path_buf(),
        })
    }

    /// The name of this process in leases and audit rows.
    pub fn id(&self) -> Uuid4 {
        self.id
    }

    /// Whether others can still see that this process lives. Who lost its name counts as dead, and must not send.
    pub fn is_visible(&self) -> bool {
        is_still_named(&self.file, &self.path)
    }
}

impl Drop for WorkerLock {
    fn drop(&mut self) {
        // Removed while still locked, so that nobody meets a free lock of a name that is in use.
        drop(std::fs::remove_file(&self.path));
    }
}

/// Whether the worker's process lives. No file, or one that nobody holds, means dead.
///
/// # Errors
/// It cannot be told; take it for alive.
pub fn is_alive(state_dir: &Path, id: impl Borrow<Uuid4>) -> io::Result<bool> {
    let Some(file) = open_to_look(&lock_path(state_dir, id.borrow()))? else {
        return Ok(false);
    };
    Ok(!try_lock(&file, FlockOperation::NonBlockingLockShared)?)
}

/// Removes the files of dead workers; the number removed. Files of the living, and everything else, stay.
///
/// # Errors
/// [`WorkerFault`] naming the file.
pub fn sweep(state_dir: &Path) -> Result<usize, WorkerFault> {
    let mut removed = 0;
    for entry in std::fs::read_dir(state_dir).map_err(fault(state_dir, "list it"))? {
        let entry = entry.map_err(fault(state_dir, "list it"))?;
        let name = entry.file_name();
        if name.to_str().and_then(id_of).is_none() {
            continue;
        }
        let path = entry.path();
        let Some(file) = open_to_look(&path).map_err(fault(&path, "open it"))? else {
            continue;
        };
        // While we hold it shared, a process being born cannot lock it and takes another name.
        if try_lock(&file, FlockOperation::NonBlockingLockShared).map_err(fault(&path, "lock it"))? {
            match std::fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(fault(&path, "remove it")(error)),
            }
        }
    }
    Ok(removed)
}

fn lock_path(state_dir: &Path, id: &Uuid4) -> PathBuf {
    state_dir.join(format!("worker-{id}.lock"))
}

fn id_of(name: &str) -> Option<Uuid4> {
    Uuid4::parse(name.strip_prefix("worker-")?.strip_suffix(".lock")?)
}

/// `None` if there is no such file.
fn open_to_look(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether the lock was free. For the non-blocking operations.
fn try_lock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match rustix::io::retry_on_intr(|| rustix::fs::flock(file, operation)) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the name still leads to the file we hold.
fn is_still_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

#[cfg(test)]
mod tests;
