//! What can be wrong with the fence. In: a file and what happened. Out: a sentence that names it and what to do.
//!
//! Not here: what a role does about it (it sends nothing).

use std::path::{Path, PathBuf};

/// Why the fence between roles cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FenceFault {
    /// The system said no.
    #[error("{path}: {why}; nothing is sent until the fence directory can be used again")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The other role's list is not there.
    #[error(
        "{path} is missing: the role that owns it makes it at its start; start that role once, or see lockgate(7)"
    )]
    Missing {
        /// The list.
        path: PathBuf,
    },
    /// A list does not read back.
    #[error("{path}: {why}; start the role that owns it again, which writes it anew from its ledger")]
    Malformed {
        /// The list.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The lock file is another one than at our start.
    #[error("{path} was replaced: roles would lock two files and both go on; start every role again")]
    Replaced {
        /// The lock file.
        path: PathBuf,
    },
    /// Our own list does not read back, and somebody works on a path that may have been on it.
    #[error(
        "{path}: {why}, and a path is locked that may have been on it; stop the other workers of this role, then start again"
    )]
    Damaged {
        /// Our list.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl FenceFault {
    pub(super) fn io(path: &Path, error: &std::io::Error) -> FenceFault {
        FenceFault::Io {
            path: path.to_path_buf(),
            why: error.to_string(),
        }
    }
    pub(super) fn malformed(path: &Path, why: impl Into<String>) -> FenceFault {
        FenceFault::Malformed {
            path: path.to_path_buf(),
            why: why.into(),
        }
    }
}
