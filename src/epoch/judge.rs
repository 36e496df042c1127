//! Is the database the one this role left? In: the epoch file, the end of the audit, what the database knows of each spent.log
//! entry. Out: fresh, clean, a crash, or a restore. Pure.
//!
//! A spent.log entry whose job and lease the database knows as that job's last is a crash at worst: the approval was spent and the
//! process died before or after it said so. An entry for a job or a lease the database never had means that the database is older
//! than the log, or another one: a restore.
//!
//! Not here: reading any of it (daemon/restored).

use super::EpochRecord;
use crate::job::{JobId, Sha256};
use std::fmt;

/// What the database says of itself.
#[derive(Debug, Clone, Copy)]
pub struct DatabaseFacts {
    /// Its epoch.
    pub epoch: u64,
    /// Rows of its audit.
    pub audit_seq: u64,
    /// Hash of its audit row that the epoch file names; `None`: it has no such row.
    pub hash_at_epoch_seq: Option<Sha256>,
}

/// Everything but spent.log.
#[derive(Debug, Clone, Copy)]
pub struct RestoreFacts {
    /// The epoch file; `None`: there is none.
    pub file: Option<EpochRecord>,
    /// The database.
    pub database: DatabaseFacts,
}

/// Whether the worker that holds a lease lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Its lock is held: left out of the judgement.
    Alive,
    /// It is gone.
    Dead,
}

/// What the database knows of a spent.log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// No such job.
    Nothing,
    /// The job, but this lease was never its last.
    OtherLease,
    /// The job, settled after this lease.
    LastSettled,
    /// The job, still under this lease.
    LastOpen(Holder),
}

/// One entry of spent.log, looked up.
#[derive(Debug, Clone, Copy)]
pub struct SpentFact {
    /// Its job.
    pub job_id: JobId,
    /// What the database knows.
    pub known: Known,
}

/// What the start is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Nothing was ever done here.
    Fresh,
    /// As it was left.
    Clean,
    /// Workers died after they spent the approvals of these jobs.
    Crash {
        /// The jobs.
        spent: Vec<JobId>,
    },
    /// Another or an older database.
    Restored {
        /// How it shows.
        reason: Reason,
    },
}

/// How a restore shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its epoch is lower than the file's.
    EpochBehind,
    /// Its audit is shorter than the file says.
    AuditBehind,
    /// The audit row the file names has another hash.
    AuditDiffers,
    /// There is an audit, but the file is gone.
    EpochFileMissing,
    /// spent.log names a job that the database never had.
    SpentJobUnknown(JobId),
    /// spent.log names a lease that the database never had.
    SpentLeaseUnknown(JobId),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::EpochBehind => f.write_str("its epoch is behind the epoch file"),
            Reason::AuditBehind => f.write_str("its audit is shorter than the epoch file says"),
            Reason::AuditDiffers => f.write_str("its audit is not the one that the epoch file names"),
            Reason::EpochFileMissing => f.write_str("it has an audit, but the epoch file is missing"),
            Reason::SpentJobUnknown(job) => write!(f, "spent.log names job {job}, which it never had"),
            Reason::SpentLeaseUnknown(job) => {
                write!(f, "spent.log names a lease of job {job} that it never had")
            }
        }
    }
}

/// Judges a start. The entries are asked for only as far as needed.
///
/// # Errors
/// What the caller could not look up.
pub fn judge_restore(
    facts: &RestoreFacts,
    spent: impl Iterator<Item = Result<SpentFact, String>>,
) -> Result<Verdict, String> {
    if let Some(reason) = by_file(facts) {
        return Ok(Verdict::Restored { reason });
    }
    let mut crashed = Vec::new();
    for fact in spent {
        let SpentFact { job_id, known } = fact?;
        let reason = match known {
            Known::LastSettled | Known::LastOpen(Holder::Alive) => continue,
            Known::LastOpen(Holder::Dead) => {
                crashed.push(job_id);
                continue;
            }
            Known::Nothing => Reason::SpentJobUnknown(job_id),
            Known::OtherLease => Reason::SpentLeaseUnknown(job_id),
        };
        return Ok(Verdict::Restored { reason });
    }
    Ok(match (crashed.is_empty(), facts.database.audit_seq) {
        (false, _) => Verdict::Crash { spent: crashed },
        (true, 0) => Verdict::Fresh,
        (true, _) => Verdict::Clean,
    })
}

fn by_file(facts: &RestoreFacts) -> Option<Reason> {
    let DatabaseFacts {
        epoch,
        audit_seq,
        hash_at_epoch_seq,
    } = facts.database;
    match facts.file {
        // The file is written before the role is ready for the first time, when the audit is still empty.
        None => (audit_seq > 0).then_some(Reason::EpochFileMissing),
        Some(file) if epoch < file.epoch => Some(Reason::EpochBehind),
        Some(file) if audit_seq < file.audit_seq => Some(Reason::AuditBehind),
        Some(file) if file.audit_seq > 0 && hash_at_epoch_seq != Some(file.head) => {
            Some(Reason::AuditDiffers)
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Sha256 = Sha256([1; 32]);

    fn facts(file: Option<(u64, u64)>, database: (u64, u64), hash: Option<Sha256>) -> RestoreFacts {
        RestoreFacts {
            file: file.map(|(epoch, audit_seq)| EpochRecord {
                epoch,
                audit_seq,
                head: HEAD,
            }),
            database: DatabaseFacts {
                epoch: database.0,
                audit_seq: database.1,
                hash_at_epoch_seq: hash,
            },
        }
    }
    fn judge(facts: &RestoreFacts, spent: &[Known]) -> Verdict {
        let job_id = JobId::parse("6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001").unwrap();
        judge_restore(
            facts,
            spent.iter().map(|known| {
                Ok(SpentFact {
                    job_id,
                    known: *known,
                })
            }),
        )
        .unwrap()
    }

    #[test]
    fn m_r_a_database_behind_the_epoch_file_is_a_restore() {
        let restored = |reason| Verdict::Restored { reason };
        let table = [
            (None, (0, 0), None, Verdict::Fresh),
            (None, (0, 1), None, restored(Reason::EpochFileMissing)),
            (Some((0, 0)), (0, 0), None, Verdict::Fresh),
            (Some((0, 0)), (0, 4), None, Verdict::Clean),
            (Some((0, 3)), (0, 4), Some(HEAD), Verdict::Clean),
            (Some((0, 3)), (0, 2), None, restored(Reason::AuditBehind)),
            (
                Some((0, 3)),
                (0, 4),
                Some(Sha256([2; 32])),
                restored(Reason::AuditDiffers),
            ),
            (Some((0, 3)), (0, 4), None, restored(Reason::AuditDiffers)),
            (Some((2, 3)), (1, 4), Some(HEAD), restored(Reason::EpochBehind)),
            (Some((1, 3)), (2, 4), Some(HEAD), Verdict::Clean),
        ];
        for (file, database, hash, verdict) in table {
            assert_eq!(
                judge(&facts(file, database, hash), &[]),
                verdict,
                "{file:?} {database:?}"
            );
        }
    }

    #[test]
    fn t36_a_spent_entry_the_database_never_had_is_a_restore_and_its_last_lease_a_crash() {
        let clean = facts(Some((0, 3)), (0, 4), Some(HEAD));
        assert_eq!(
            judge(&clean, &[Known::LastSettled, Known::LastOpen(Holder::Alive)]),
            Verdict::Clean
        );
        assert!(
            matches!(judge(&clean, &[Known::LastOpen(Holder::Dead)]), Verdict::Crash { spent } if spent.len() == 1)
        );
        for (known, word) in [(Known::Nothing, "never had"), (Known::OtherLease, "lease")] {
            let Verdict::Restored { reason } = judge(&clean, &[Known::LastSettled, known]) else {
                panic!("{known:?}")
            };
            assert!(reason.to_string().contains(word));
        }
    }

    #[test]
    fn what_cannot_be_looked_up_is_no_verdict() {
        let clean = facts(Some((0, 3)), (0, 4), Some(HEAD));
        assert_eq!(
            judge_restore(&clean, std::iter::once(Err("down".to_owned()))),
            Err("down".to_owned())
        );
    }
}
