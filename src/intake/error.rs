//! What can go wrong with a whole intake.
//!
//! Not here: what goes wrong with one file; that is a refusal or a [`super::Stuck`].

use std::io;
use std::path::PathBuf;

/// Why nothing can be taken in.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// A drop directory cannot be opened.
    #[error("drop directory {}: {source}; it must exist and belong to this role", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A drop directory belongs to somebody else, who could change it under us.
    #[error("drop directory {} belongs to UID {uid}, not to this role's UID {ours}; chown it", path.display())]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        uid: u32,
        /// Ours.
        ours: u32,
    },
    /// The table of files under way cannot be written or read; without it nothing is read.
    #[error("{}: {source}", path.display())]
    Attempts {
        /// The table.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The quarantine directory cannot be made.
    #[error("quarantine directory {}: {source}", path.display())]
    Quarantine {
        /// The directory.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Waiting is not possible.
    #[error("waiting for drop files: {0}")]
    Watch(#[source] io::Error),
    /// A crash point made a step fail (test builds only).
    #[error("interrupted between two steps")]
    Interrupted(#[source] io::Error),
}
