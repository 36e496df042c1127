//! Why a copy was not made or not opened. In: a file and a step. Out: a sentence with what to do.
//!
//! Not here: what is in the copies: no fault carries a byte of it.

use crate::job::JobId;
use crate::keyring::KeyringFault;
use std::io;
use std::path::{Path, PathBuf};

/// A recovery copy that could not be made, kept or opened.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryFault {
    /// A system call failed.
    #[error("{path}: cannot {step}: {source}", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// Others have a bit in the directory's mode.
    #[error("{path} is open to others (mode {mode:04o}): chmod 0700 {path}", path = path.display())]
    OpenToOthers {
        /// The directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// More than one object may have.
    #[error("the object of job {job_id} has {bytes} bytes, more than a recovery copy can hold ({limit})")]
    TooLarge {
        /// Whose.
        job_id: JobId,
        /// How many.
        bytes: usize,
        /// The bound.
        limit: u64,
    },
    /// The key did not seal.
    #[error("the object of job {job_id} cannot be sealed: {fault}")]
    NotSealed {
        /// Whose.
        job_id: JobId,
        /// Why not.
        fault: KeyringFault,
    },
    /// Never made, or older than `delete.recovery_days`.
    #[error("{path}: there is no recovery copy of job {job_id}: none was made, or delete.recovery_days are over",
        path = path.display())]
    NoCopy {
        /// Whose.
        job_id: JobId,
        /// Where it would be.
        path: PathBuf,
    },
    /// Not a copy at all any more.
    #[error("{path}: damaged: this is no recovery copy as it was written; take it from a backup of the directory",
        path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The key says no.
    #[error("{path}: {fault}", path = path.display())]
    NotOpened {
        /// The file.
        path: PathBuf,
        /// Why not.
        fault: KeyringFault,
    },
}

pub(super) fn at(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> RecoveryFault {
    let path = path.to_path_buf();
    move |source| RecoveryFault::Io { path, step, source }
}
