//! The only outward effects on a vault: what a driver must do, in words every driver shares. In: orders with the state
//! they assume. Out: one answer for each, which never claims more than is known.
//!
//! Not here: whether an order may be given (roles/), what an answer means for the job (settlement/), HTTP.
//!
//! Callers hold the path's fence and a live lease. After a crash of the holder, or after [`Answer::NoAnswer`], first
//! [`Vault::settle_leftovers`], then [`Vault::look`]: leftovers may hold the bytes that `look` misses.

pub mod directory;
pub mod noop;
pub mod open;

pub use directory::{DirectoryVault, Settings};
pub use noop::NoopVault;

use crate::job::{JobId, Sha256, VaultPath};
use std::fmt;
use std::path::PathBuf;

/// What must be at the path for a write to happen; every other state is drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Absent,
    /// A regular file with these bytes.
    Bytes(Sha256),
}

/// Put these bytes at this path, if `before` is what is there.
#[derive(Clone, Copy)]
pub struct WriteOrder<'a> {
    /// Names the temporary files, so that what a crash leaves can be told apart.
    pub job_id: JobId,
    /// Where.
    pub path: &'a VaultPath,
    /// The object.
    pub bytes: &'a [u8],
    /// SHA-256 of `bytes`.
    pub new: Sha256,
    /// What must be there now.
    pub before: Before,
}

impl fmt::Debug for WriteOrder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteOrder")
            .field("job_id", &self.job_id)
            .field("path", &self.path)
            .field("bytes", &self.bytes.len())
            .field("new", &self.new)
            .field("before", &self.before)
            .finish()
    }
}

/// Remove the file at this path, if these are its bytes.
#[derive(Debug, Clone, Copy)]
pub struct DeleteOrder<'a> {
    /// Names the file set aside.
    pub job_id: JobId,
    /// Where.
    pub path: &'a VaultPath,
    /// SHA-256 of what must be there now.
    pub expected: Sha256,
}

/// What became of one order. Only `Done` is success, and only after everything is durable.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Applied and durable.
    Done,
    /// The precondition failed; the path holds what it held.
    Drift {
        /// What was there instead.
        found: Seen,
        /// Somebody wrote the path while it was being put right: their bytes lie beside it, in a file named
        /// `.lockgate-<job_id>.kept`, and a person must look.
        kept_aside: bool,
    },
    /// Failed before any effect could be visible.
    NotSent {
        /// The step and the system's reason.
        why: FaultText,
    },
    /// The target will not do it, and trying again will not help.
    Refused {
        /// One of our own words: `vault_permissions`, `not_a_regular_file`, `path_blocked`, or a driver's.
        detail: &'static str,
    },
    /// The target does not accept our credential (401, 403).
    Credential,
    /// The target failed and says so (500, 501, 505).
    ServerError,
    /// The target asks for time (429).
    Busy {
        /// Milliseconds it asked for, if it did.
        retry_after_ms: Option<i64>,
    },
    /// It may or may not have happened.
    NoAnswer {
        /// One of our own words: `sync_failed`, `rename_failed`, `read_failed`, `swap_back_failed`,
        /// `put_back_failed`, `cleanup_failed`, `attributes_changed`, or a driver's.
        detail: &'static str,
    },
}

/// A failed step and the operating system's number for the reason; never anything a target said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultText {
    step: &'static str,
    os_error: Option<i32>,
}

impl FaultText {
    /// `step` completes "failed while …".
    pub fn new(step: &'static str, os_error: Option<i32>) -> FaultText {
        FaultText { step, os_error }
    }
    /// The number of the operating system's error, if there was one.
    pub fn os_error(&self) -> Option<i32> {
        self.os_error
    }
}

impl fmt::Display for FaultText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.os_error {
            Some(number) => write!(f, "{}: {}", self.step, std::io::Error::from_raw_os_error(number)),
            None => f.write_str(self.step),
        }
    }
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nothing.
    Absent,
    /// A regular file.
    Bytes {
        /// Of its bytes.
        sha256: Sha256,
        /// Bytes.
        len: u64,
    },
    /// The vault answers, the file cannot be read: a directory, a symbolic link (also on the way), no permission, an
    /// unreadable block, larger than the driver's limit.
    Unreadable,
}

/// What a read gives.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing is there.
    Absent,
    /// The whole file.
    Bytes(Vec<u8>),
    /// Larger than the caller's limit.
    TooLarge,
    /// As [`Seen::Unreadable`].
    Unreadable,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Absent => f.write_str("Absent"),
            Content::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Content::TooLarge => f.write_str("TooLarge"),
            Content::Unreadable => f.write_str("Unreadable"),
        }
    }
}

/// What is about to be done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// A write, which may create directories.
    Write,
    /// A delete.
    Delete,
}

/// Whether an order for a path could be carried out, judged before anything is committed.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preflight {
    /// Nothing speaks against it.
    Clear,
    /// It would be refused.
    Refused {
        /// As [`Answer::Refused`].
        detail: &'static str,
    },
}

/// Why the vault as a whole cannot be used now. Says nothing about any file: unreachable is not empty.
#[derive(Debug, thiserror::Error)]
pub enum VaultDown {
    /// The directory cannot be opened.
    #[error("vault {path}: cannot be opened: {why}")]
    Unreachable {
        /// The vault.
        path: PathBuf,
        /// The step and reason.
        why: FaultText,
    },
    /// No marker file: most likely the vault is not mounted.
    #[error("vault {path}: no readable .lockgate-vault in it; is it mounted?")]
    NoMarker {
        /// The vault.
        path: PathBuf,
    },
    /// The marker names another vault.
    #[error("vault {path}: .lockgate-vault names another vault than vault.id")]
    WrongMarker {
        /// The vault.
        path: PathBuf,
    },
    /// Mounted read-only, as file systems are after an error.
    #[error("vault {path}: the file system is mounted read-only")]
    ReadOnly {
        /// The vault.
        path: PathBuf,
    },
    /// The file system cannot do what a safe write needs.
    #[error("vault {path}: the file system has no {what}; use one that has it (ext4, xfs, btrfs)")]
    Unsupported {
        /// The vault.
        path: PathBuf,
        /// The missing operation.
        what: &'static str,
    },
    /// Something else failed on the vault's or on our side (no descriptors, a lost network mount).
    #[error("vault {path}: {why}")]
    Fault {
        /// The vault.
        path: PathBuf,
        /// The step and reason.
        why: FaultText,
    },
}

/// What the ledger knows of a job whose holder is dead.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'a> {
    /// The job.
    pub job_id: JobId,
    /// Its path.
    pub path: &'a VaultPath,
    /// What it was writing; `None` for a delete.
    pub new: Option<Sha256>,
    /// What it found there before it sent, if it came that far.
    pub before: Option<Before>,
}

/// Which step a leftover file is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverKind {
    /// A temporary file being written; never was anybody's.
    Part,
    /// A directory being made.
    Directory,
    /// A finished temporary file, or what came out when it was exchanged with the path.
    Exchange,
    /// What a delete set aside.
    Gone,
    /// Kept aside for a person; never touched again by us.
    Kept,
}

/// What was done with one leftover.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// It was ours: removed.
    Removed,
    /// It was what had been at the path, and is there again.
    PutBack,
    /// The path holds something else by now: kept as `.lockgate-<job_id>.kept` beside it; a person must look.
    KeptAside,
    /// Could not be settled now; still there.
    Failed,
}

/// One settled leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// What it was.
    pub kind: LeftoverKind,
    /// What became of it.
    pub done: Settlement,
}

/// A leftover found by walking the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The job in its name.
    pub job_id: JobId,
    /// Directory it lies in, relative to the vault's root, empty for the root.
    pub directory: String,
    /// Its file name.
    pub name: String,
    /// Which step it is of.
    pub kind: LeftoverKind,
}

/// The result of a walk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sweep {
    /// At most 10,000.
    pub found: Vec<Leftover>,
    /// Directories that could not be read, or were too deep.
    pub unread: u64,
}

/// A vault driver. Every call may block; none panics.
pub trait Vault: Send + Sync + fmt::Debug {
    /// Whether the vault is there, is the right one, and can do what safe writes need.
    ///
    /// # Errors
    /// [`VaultDown`] with the reason.
    fn check(&self) -> Result<(), VaultDown>;

    /// What is at the path now. Constant memory.
    ///
    /// # Errors
    /// [`VaultDown`]: nothing is known about the path.
    fn look(&self, path: &VaultPath) -> Result<Seen, VaultDown>;

    /// The bytes at the path, if they are at most `bytes_max`.
    ///
    /// # Errors
    /// [`VaultDown`]: nothing is known about the path.
    fn read(&self, path: &VaultPath, bytes_max: u64) -> Result<Content, VaultDown>;

    /// Makes durable what is at these paths now, whoever wrote it: before a job is settled on bytes that were found there
    /// and not on an answer `Done`. Changes nothing.
    ///
    /// # Errors
    /// [`VaultDown`]: nothing may be settled on it.
    fn persist(&self, paths: &[&VaultPath]) -> Result<(), VaultDown>;

    /// Whether an order for the path could be carried out (owner, group and mode can be kept, the directory can be
    /// written). Changes nothing; to be asked before the intent is committed.
    ///
    /// # Errors
    /// [`VaultDown`]: nothing is known about the path.
    fn preflight(&self, path: &VaultPath, intent: Intent) -> Result<Preflight, VaultDown>;

    /// Carries out the orders, one answer for each, in order. Paths and jobs are distinct within one call; a repeated one
    /// is not sent.
    fn write(&self, orders: &[WriteOrder<'_>]) -> Vec<Answer>;

    /// As [`Vault::write`], for deletes.
    fn delete(&self, orders: &[DeleteOrder<'_>]) -> Vec<Answer>;

    /// Settles what dead holders of these jobs left: one list for each trace, in order; empty where nothing was left. To
    /// be called only under the paths' fences, when the holders are dead or the caller is the holder. Can be repeated.
    ///
    /// # Errors
    /// [`VaultDown`]: some may be settled, call again.
    fn settle_leftovers(&self, traces: &[Trace<'_>]) -> Result<Vec<Vec<Settled>>, VaultDown>;

    /// Walks the whole vault for leftovers of any job, also of those no ledger knows (for `doctor`). Changes nothing.
    ///
    /// # Errors
    /// [`VaultDown`].
    fn sweep(&self) -> Result<Sweep, VaultDown>;

    /// Milliseconds within which an order is over, one way or the other: a lease must outlast it.
    fn deadline_ms(&self) -> i64;

    /// The driver's word in configuration and logs; production mode refuses `noop`.
    fn kind(&self) -> &'static str;
}
