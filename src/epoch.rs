//! The file `epoch`: what the database must at least contain. In: epoch, audit sequence, head. Out: a record that only goes forward,
//! and the judgement of a start by it.
//!
//! The file lies beside the ledger but is not part of it: a ledger that was replaced by an older copy is behind it.
//! Not here: when it is written (executor/epochs), what follows from a restore (daemon/restored).

mod judge;

pub use judge::{DatabaseFacts, Holder, Known, Reason, RestoreFacts, SpentFact, Verdict, judge_restore};

use crate::job::Sha256;
use crate::{durable, failpoint};
use std::cmp::Ordering;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// First word of the file.
const MAGIC: &str = "lockgate-epoch-v1";
/// Longest file that is read, bytes.
const BYTES_MAX: u64 = 1024;

/// What the database must at least contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochRecord {
    /// Raised by each restore.
    pub epoch: u64,
    /// Rows of the audit.
    pub audit_seq: u64,
    /// Hash of the last of them.
    pub head: Sha256,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EpochFault {
    /// The system said no.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Not a record.
    #[error(
        "{path} does not read back; it tells whether the database was replaced by an older copy. If nothing was restored, remove it: \
         the role then starts as after a restore, paused, with approvals void"
    )]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// The same place of the audit, another history.
    #[error(
        "{path} names another audit row {audit_seq} than the database has: the database was replaced while the role ran; stop it, put \
         the right database back or start the role, which then begins a new epoch"
    )]
    OtherHistory {
        /// The file.
        path: PathBuf,
        /// The row.
        audit_seq: u64,
    },
}

/// The file.
#[derive(Debug)]
pub struct EpochFile {
    path: PathBuf,
}

impl EpochFile {
    /// The file of a state directory.
    pub fn in_dir(state_dir: &Path) -> EpochFile {
        EpochFile {
            path: state_dir.join("epoch"),
        }
    }

    fn io(&self, error: &std::io::Error) -> EpochFault {
        EpochFault::Io {
            path: self.path.clone(),
            why: error.to_string(),
        }
    }

    /// What it says; `None` if there is none.
    ///
    /// # Errors
    /// [`EpochFault`].
    pub fn read(&self) -> Result<Option<EpochRecord>, EpochFault> {
        let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
        let file = match std::fs::File::options()
            .read(true)
            .custom_flags(flags)
            .open(&self.path)
        {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io(&error)),
        };
        let mut bytes = Vec::new();
        file.take(BYTES_MAX)
            .read_to_end(&mut bytes)
            .map_err(|error| self.io(&error))?;
        let record = std::str::from_utf8(&bytes).ok().and_then(parse);
        record.map(Some).ok_or_else(|| EpochFault::Malformed {
            path: self.path.clone(),
        })
    }

    fn lock(&self) -> Result<std::fs::File, EpochFault> {
        let lock = self.path.with_extension("lock");
        let fault = |error: std::io::Error| EpochFault::Io {
            path: lock.clone(),
            why: error.to_string(),
        };
        let held = durable::open_lock_file(&lock).map_err(fault)?;
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|error| fault(error.into()))?;
        Ok(held)
    }

    /// Removes what killed writers left beside it.
    ///
    /// # Errors
    /// [`EpochFault`].
    pub fn sweep(&self) -> Result<(), EpochFault> {
        let _held = self.lock()?;
        durable::sweep_unfinished(&self.path)
            .map(drop)
            .map_err(|error| self.io(&error))
    }

    /// Writes a record, synced, unless a later one stands there already (another worker of this role writes too).
    ///
    /// # Errors
    /// [`EpochFault`]; the file is as before.
    pub fn advance(&self, record: EpochRecord) -> Result<(), EpochFault> {
        let _held = self.lock()?;
        if let Some(there) = self.read()? {
            match (there.epoch, there.audit_seq).cmp(&(record.epoch, record.audit_seq)) {
                Ordering::Greater => return Ok(()),
                Ordering::Equal if there.head == record.head => return Ok(()),
                Ordering::Equal => {
                    return Err(EpochFault::OtherHistory {
                        path: self.path.clone(),
                        audit_seq: there.audit_seq,
                    });
                }
                Ordering::Less => {}
            }
        }
        failpoint::reach("epoch.before").map_err(|error| self.io(&error))?;
        durable::write_file_atomically(&self.path, text(&record).as_bytes(), 0o600)
            .map_err(|error| self.io(&error))?;
        failpoint::reach("epoch.written").map_err(|error| self.io(&error))
    }
}

fn text(record: &EpochRecord) -> String {
    format!("{MAGIC} {} {} {}\n", record.epoch, record.audit_seq, record.head)
}

fn parse(text: &str) -> Option<EpochRecord> {
    let mut words = text.strip_suffix('\n')?.split(' ');
    if words.next()? != MAGIC {
        return None;
    }
    let record = EpochRecord {
        epoch: words.next()?.parse().ok()?,
        audit_seq: words.next()?.parse().ok()?,
        head: Sha256::parse(words.next()?)?,
    };
    words.next().is_none().then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(epoch: u64, audit_seq: u64) -> EpochRecord {
        EpochRecord {
            epoch,
            audit_seq,
            head: Sha256([7; 32]),
        }
    }

    #[test]
    fn the_record_only_goes_forward() {
        let dir = tempfile::tempdir().unwrap();
        let file = EpochFile::in_dir(dir.path());
        assert_eq!(file.read().unwrap(), None);
        for (write, stands) in [
            ((0, 5), (0, 5)),
            ((0, 3), (0, 5)),
            ((0, 9), (0, 9)),
            ((1, 2), (1, 2)),
            ((0, 99), (1, 2)),
        ] {
            file.advance(record(write.0, write.1)).unwrap();
            assert_eq!(
                file.read().unwrap(),
                Some(record(stands.0, stands.1)),
                "{write:?}"
            );
        }
    }

    #[test]
    fn another_history_at_the_same_place_is_said_and_not_taken_for_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = EpochFile::in_dir(dir.path());
        file.advance(record(1, 5)).unwrap();
        file.advance(record(1, 5)).unwrap();
        let other = EpochRecord {
            head: Sha256([8; 32]),
            ..record(1, 5)
        };
        let fault = file.advance(other).unwrap_err();
        assert!(
            matches!(fault, EpochFault::OtherHistory { audit_seq: 5, .. }),
            "{fault}"
        );
        assert_eq!(file.read().unwrap(), Some(record(1, 5)));
    }

    #[test]
    fn many_workers_at_once_leave_the_latest() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for worker in 0..4u64 {
                let file = EpochFile::in_dir(dir.path());
                scope.spawn(move || (0..20).for_each(|n| file.advance(record(1, n * 4 + worker)).unwrap()));
            }
        });
        assert_eq!(EpochFile::in_dir(dir.path()).read().unwrap(), Some(record(1, 79)));
    }

    #[test]
    fn what_does_not_read_back_is_said_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let file = EpochFile::in_dir(dir.path());
        let good = text(&record(1, 2));
        let mut bad: Vec<String> = (0..good.len()).map(|cut| good[..cut].to_owned()).collect();
        bad.push(good.replace("v1", "v2"));
        bad.push(format!("{} x\n", good.trim_end()));
        for text in bad {
            std::fs::write(dir.path().join("epoch"), &text).unwrap();
            assert!(
                matches!(file.read(), Err(EpochFault::Malformed { .. })),
                "{text:?}"
            );
            assert!(file.advance(record(9, 9)).is_err());
            assert_eq!(std::fs::read_to_string(dir.path().join("epoch")).unwrap(), text);
        }
    }
}
