//! What can be wrong with spent.log. In: a file and a step. Out: a sentence with what to do, and whether anything was spent.
//!
//! Not here: what the role does then (executor/delete, daemon/start).

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What a fault means for the approvals of the call that met it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpentFaultClass {
    /// None of them is spent, for certain; the same call may work later.
    NothingSpent,
    /// Some or all may be spent: all count as spent, the process must end.
    MaybeSpent,
    /// None was spent by this call, but the file is not what it must be: the process must end, a person must look.
    Broken,
}

/// Which step failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Opening or making the file.
    Open,
    /// Taking the lock between processes.
    Lock,
    /// Reading.
    Read,
    /// Appending.
    Write,
    /// Making it durable.
    Sync,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Open => "open it",
            Step::Lock => "lock it",
            Step::Read => "read it",
            Step::Write => "append to it",
            Step::Sync => "make it durable",
        })
    }
}

/// Why spent.log could not be used.
#[derive(Debug, thiserror::Error)]
pub enum SpentFault {
    /// A step failed before anything was spent, or what it wrote is durably gone again.
    #[error("{path}: cannot {step}: {source}; nothing was spent", path = path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
        /// What was tried.
        step: Step,
        /// Why not.
        source: io::Error,
    },
    /// A step failed and what was written may be there or not.
    #[error("{path}: cannot {step}: {source}; the approvals of this write count as spent", path = path.display())]
    Maybe {
        /// The file.
        path: PathBuf,
        /// What was tried.
        step: Step,
        /// Why not.
        source: io::Error,
    },
    /// An earlier call failed in a way that must not be tried again.
    #[error("{path}: not used any more since an earlier fault ({why}); restart the role", path = path.display())]
    Dead {
        /// The file.
        path: PathBuf,
        /// The earlier fault.
        why: String,
    },
    /// Not there, beside a ledger that is not empty.
    #[error("{path} is missing and the ledger beside it is not empty: put the file back (the newest copy; `lockgate restore` \
        never replaces it); without it nobody knows which approvals are spent", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A link, a directory, a file with a second name.
    #[error("{path} is not a regular file with one name; find out who changed it, and put the file back", path = path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// Others have a bit in its mode.
    #[error("{path} is open to others (mode {mode:04o}): chmod 0600 {path}", path = path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A line that was not written like this.
    #[error("{path}: line {line} is not as it was written ({why}); the file was changed or damaged: compare it with a copy, \
        and put the right one back", path = path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// Which rule it breaks.
        why: &'static str,
    },
    /// Another file has the name now.
    #[error("{path} is another file than the one this process opened; find out who replaced it, and restart the role",
        path = path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// Lines that were read are gone.
    #[error("{path} had {was} bytes and has {is} now; it is never cut: compare it with a copy, and put the right one back",
        path = path.display())]
    Shorter {
        /// The file.
        path: PathBuf,
        /// Bytes verified before.
        was: u64,
        /// Bytes now.
        is: u64,
    },
}

impl SpentFault {
    /// What it means for the approvals of the call.
    pub fn class(&self) -> SpentFaultClass {
        match self {
            SpentFault::Nothing { .. } => SpentFaultClass::NothingSpent,
            SpentFault::Maybe { .. } | SpentFault::Dead { .. } => SpentFaultClass::MaybeSpent,
            SpentFault::Missing { .. }
            | SpentFault::NotRegular { .. }
            | SpentFault::OpenToOthers { .. }
            | SpentFault::BadLine { .. }
            | SpentFault::Replaced { .. }
            | SpentFault::Shorter { .. } => SpentFaultClass::Broken,
        }
    }
}
