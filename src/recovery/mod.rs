//! Sealed copies of what is about to be deleted. In: a job's path and bytes. Out: files that only the recovery key opens, all
//! of a batch durable before the first approval of it is spent.
//!
//! ```text
//! .batch-UUID/ ─ seal, write, fsync each ─▶ commit: rename all to JOB.sealed ─ one fsync of the directory
//! ```
//! A batch is a directory of its own, locked while its process lives: what a crash leaves is removed at the next start.
//! A job's copy may be replaced by a later one of the same job (a claim that was given back). Bounded by age, see
//! [`RecoveryStore::prune`].
//! Not here: when a copy is made (executor/delete), who may have it back (daemon/admin_port).

mod batch;
mod fault;
mod format;

pub use batch::RecoveryBatch;
pub use fault::RecoveryFault;

use crate::clock::{SharedClock, SystemClock, WallMs};
use crate::durable;
use crate::job::JobId;
use crate::keyring::Keyring;
use fault::at;
use format::Head;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// The most bytes of one object: what `source.limits.blob_bytes_max` can be set to at most.
pub const OBJECT_BYTES_MAX: u64 = 2 << 30;

const SUFFIX: &str = ".sealed";

/// One role's sealed copies.
#[derive(Debug)]
pub struct RecoveryStore {
    dir: PathBuf,
    keyring: Keyring,
    clock: SharedClock,
}

/// A copy that was opened.
pub struct Recovered {
    /// Where the object was.
    pub vault_path: String,
    /// When the copy was sealed, by the wall clock.
    pub sealed_at: WallMs,
    /// What it was; wiped when dropped.
    pub bytes: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recovered")
            .field("vault_path", &self.vault_path)
            .field("sealed_at", &self.sealed_at)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

impl RecoveryStore {
    /// Opens the directory, made with mode 0700 if it is not there, and removes what batches of dead processes left.
    ///
    /// # Errors
    /// [`RecoveryFault`] naming the file and what to do.
    pub fn open_dir(dir: &Path, keyring: Keyring) -> Result<RecoveryStore, RecoveryFault> {
        durable::make_private_dir(dir).map_err(at(dir, "make the directory"))?;
        let mode = dir.metadata().map_err(at(dir, "look at the directory"))?.mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(RecoveryFault::OpenToOthers {
                path: dir.to_path_buf(),
                mode,
            });
        }
        batch::sweep(dir)?;
        let clock = Arc::new(SystemClock::new(String::new()));
        Ok(RecoveryStore {
            dir: dir.to_path_buf(),
            keyring,
            clock,
        })
    }

    /// The same store with another clock for the time of sealing.
    #[must_use]
    pub fn with_clock(self, clock: SharedClock) -> RecoveryStore {
        RecoveryStore { clock, ..self }
    }

    /// A batch with nothing in it.
    pub fn batch(&self) -> RecoveryBatch<'_> {
        RecoveryBatch::new(self)
    }

    /// Opens one job's copy.
    ///
    /// # Errors
    /// [`RecoveryFault`]: there is none, or it is not what was sealed for this job.
    pub fn open(&self, job_id: &JobId) -> Result<Recovered, RecoveryFault> {
        let path = self.path_of(job_id);
        let mut file = match open_private(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(RecoveryFault::NoCopy {
                    job_id: *job_id,
                    path,
                });
            }
            Err(error) => return Err(at(&path, "open the copy")(error)),
        };
        let damaged = || RecoveryFault::Damaged { path: path.clone() };
        let len = file.metadata().map_err(at(&path, "read the copy"))?.len();
        let head = Head::read(&mut file)
            .map_err(at(&path, "read the copy"))?
            .ok_or_else(damaged)?;
        let body = len
            .checked_sub(head.len())
            .filter(|body| *body <= OBJECT_BYTES_MAX)
            .ok_or_else(damaged)?;
        let mut bytes = Zeroizing::new(vec![0u8; usize::try_from(body).map_err(|_| damaged())?]);
        file.read_exact(&mut bytes).map_err(at(&path, "read the copy"))?;
        self.keyring
            .open(&head.seal, &head.bound_to(job_id), &mut bytes)
            .map_err(|fault| RecoveryFault::NotOpened {
                path: path.clone(),
                fault,
            })?;
        Ok(Recovered {
            vault_path: head.vault_path,
            sealed_at: head.sealed_at,
            bytes,
        })
    }

    /// Removes the copies sealed before `before`; their number. A copy whose head cannot be read goes by the age of its file.
    ///
    /// # Errors
    /// [`RecoveryFault`] for the first that could not be removed; the others are.
    pub fn prune(&self, before: WallMs) -> Result<usize, RecoveryFault> {
        let (mut removed, mut failed) = (0, None);
        for entry in std::fs::read_dir(&self.dir).map_err(at(&self.dir, "list the directory"))? {
            let entry = entry.map_err(at(&self.dir, "list the directory"))?;
            let path = entry.path();
            if job_of(&entry.file_name()).is_none() {
                continue;
            }
            let pruned = sealed_at(&path).and_then(|sealed| {
                let old = sealed < before;
                if old {
                    std::fs::remove_file(&path)?;
                }
                Ok(old)
            });
            match pruned {
                Ok(true) => removed += 1,
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => failed = failed.or(Some(at(&path, "prune the copy")(error))),
            }
        }
        if removed > 0 {
            durable::sync_dir(&self.dir).map_err(at(&self.dir, "sync the directory"))?;
        }
        failed.map_or(Ok(removed), Err)
    }

    fn path_of(&self, job_id: &JobId) -> PathBuf {
        self.dir.join(format!("{job_id}{SUFFIX}"))
    }
}

fn job_of(name: &std::ffi::OsStr) -> Option<JobId> {
    JobId::parse(name.to_str()?.strip_suffix(SUFFIX)?)
}

fn sealed_at(path: &Path) -> io::Result<WallMs> {
    let mut file = open_private(path)?;
    Ok(match Head::read(&mut file)? {
        Some(head) => head.sealed_at,
        None => {
            let about = file.metadata()?;
            WallMs(
                about
                    .mtime()
                    .saturating_mul(1000)
                    .saturating_add(about.mtime_nsec() / 1_000_000),
            )
        }
    })
}

/// A regular file, without following a link or waiting for a pipe.
fn open_private(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
