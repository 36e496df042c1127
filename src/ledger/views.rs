//! What people and requesters are shown. In: a read-only connection. Out: plain values, bounded.
//!
//! Not here: HTTP, JSON layout beyond the receipt.

use super::audit::{Head, Stored, head};
use super::control::{self, Flow};
use super::jobs::JobRow;
use super::operator::{PathKnown, path_known};
use super::{Ledger, approve, rows_audit, rows_jobs, rows_views as sql};
use crate::clock::WallMs;
use crate::job::{JobId, Sha256, State};
use crate::sqlite::StorageFault;
use rusqlite::{OptionalExtension, params};
use std::collections::BTreeMap;

/// Rows on one page at most.
pub const PAGE_MAX: i64 = 500;

/// What is on record of a document that is not a job of its own.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Taken, or refused.
    pub accepted: bool,
    /// Refusal code.
    pub code: Option<String>,
    /// JSON pointer of the field.
    pub pointer: Option<String>,
    /// What to do.
    pub message: Option<String>,
    /// The job or approval it went to.
    pub subject: Option<String>,
    /// When.
    pub at_ms: i64,
}

/// One look at the role.
#[derive(Debug, Clone)]
pub struct Overview {
    /// Running, paused or frozen.
    pub flow: Flow,
    /// Raised by each restore.
    pub epoch: i64,
    /// End of the audit.
    pub head: Head,
    /// Highest wall time seen.
    pub clock_high: WallMs,
    /// Maintained counts: name → label → n.
    pub counts: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Ledger {
    /// A job by its id.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn job(&self, id: JobId) -> Result<Option<JobRow>, StorageFault> {
        self.read(|db| {
            db.prepare_cached(rows_jobs::BY_ID)?
                .query_row([id.to_string()], JobRow::read)
                .optional()
        })
    }

    /// A job by the ledger's own number.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn job_by_number(&self, seq: i64) -> Result<Option<JobRow>, StorageFault> {
        self.read(|db| {
            db.prepare_cached(rows_jobs::BY_SEQ)?
                .query_row([seq], JobRow::read)
                .optional()
        })
    }

    /// The job made from a document, if it was this UID's.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn job_by_digest(&self, digest: Sha256, uid: u32) -> Result<Option<JobRow>, StorageFault> {
        self.read(|db| {
            db.prepare_cached(rows_jobs::BY_DIGEST)?
                .query_row(params![digest.0, uid], JobRow::read)
                .optional()
        })
    }

    /// What became of a document that is not a job of its own.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn submission(&self, digest: Sha256, uid: u32) -> Result<Option<Submission>, StorageFault> {
        self.read(|db| {
            db.prepare_cached(sql::SUBMISSION)?
                .query_row(params![uid, digest.0], |row| {
                    Ok(Submission {
                        accepted: row.get(0)?,
                        code: row.get(1)?,
                        pointer: row.get(2)?,
                        message: row.get(3)?,
                        subject: row.get(4)?,
                        at_ms: row.get(5)?,
                    })
                })
                .optional()
        })
    }

    /// The job that answers a document which never became a job of its own id: the first with the same idempotency key.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn answered_by(&self, asked: JobId, uid: u32) -> Result<Option<JobRow>, StorageFault> {
        let first: Option<String> = self.read(|db| {
            db.prepare_cached(sql::ANSWERED_BY)?
                .query_row(params![asked.to_string(), uid], |row| row.get(0))
                .optional()
        })?;
        match first.as_deref().and_then(JobId::parse) {
            Some(first) => self.job(first),
            None => Ok(None),
        }
    }

    /// One page, newest first, of jobs before `before` (the cursor), all or in one state.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn page(
        &self,
        state: Option<State>,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<JobRow>, StorageFault> {
        let statement = match state {
            None => sql::PAGE,
            Some(State::Ready) => sql::PAGE_READY,
            Some(State::Claimed) => sql::PAGE_CLAIMED,
            Some(State::Executing) => sql::PAGE_EXECUTING,
            Some(State::Succeeded) => sql::PAGE_SUCCEEDED,
            Some(State::Failed) => sql::PAGE_FAILED,
            Some(State::Rejected) => sql::PAGE_REJECTED,
            Some(State::OutcomeUnknown) => sql::PAGE_UNKNOWN,
        };
        self.read(|db| {
            let mut statement = db.prepare_cached(statement)?;
            let limit = limit.clamp(1, PAGE_MAX);
            let rows = statement.query_map(params![before.unwrap_or(i64::MAX), limit], JobRow::read)?;
            rows.collect()
        })
    }

    /// The job that holds a path, if any.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn fence_holder(&self, path: &str) -> Result<Option<JobRow>, StorageFault> {
        self.read(|db| {
            let seq: Option<i64> = db
                .prepare_cached(rows_jobs::FENCE_HOLDER)?
                .query_row([path], |row| row.get(0))
                .optional()?;
            match seq {
                None => Ok(None),
                Some(seq) => db
                    .prepare_cached(rows_jobs::BY_SEQ)?
                    .query_row([seq], JobRow::read)
                    .optional(),
            }
        })
    }

    /// Paths that jobs hold: claimed (a living worker may be about to publish), sent or unknown. What `unresolved.ROLE` holds after a start.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn unresolved_paths(&self) -> Result<Vec<String>, StorageFault> {
        self.read(|db| {
            let mut statement = db.prepare_cached(rows_jobs::FENCED)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect()
        })
    }

    /// Pause, epoch, counts and the end of the audit, of one moment.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn overview(&self) -> Result<Overview, StorageFault> {
        self.read(|db| {
            let mut counts: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
            let mut statement = db.prepare_cached(rows_audit::COUNTS)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            for row in rows {
                let (name, label, n): (String, String, i64) = row?;
                counts.entry(name).or_default().insert(label, n);
            }
            Ok(Overview {
                flow: control::flow(db)?,
                epoch: control::epoch(db)?,
                head: head(db)?,
                clock_high: control::clock_high(db)?,
                counts,
            })
        })
    }

    /// The audit rows of one job.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn audit_of(&self, seq: i64) -> Result<Vec<Stored>, StorageFault> {
        self.read(|db| {
            let mut statement = db.prepare_cached(rows_audit::OF_JOB)?;
            let rows = statement.query_map([seq], Stored::read)?;
            rows.collect()
        })
    }

    /// One page of the audit after `after`.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn audit_page(&self, after: i64, limit: i64) -> Result<Vec<Stored>, StorageFault> {
        self.read(|db| {
            let mut statement = db.prepare_cached(rows_audit::PAGE)?;
            let rows = statement.query_map(params![after, limit.clamp(1, 2000)], Stored::read)?;
            rows.collect()
        })
    }

    /// The hash of one audit row, if there is such a row.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn audit_hash(&self, seq: i64) -> Result<Option<Sha256>, StorageFault> {
        self.read(|db| {
            let hash = db
                .prepare_cached(rows_audit::BY_SEQ)?
                .query_row([seq], |row| row.get::<_, [u8; 32]>(0))
                .optional()?;
            Ok(hash.map(Sha256))
        })
    }

    /// The end of the audit.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn head(&self) -> Result<Head, StorageFault> {
        self.read(head)
    }

    /// An approval and its signatures.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn approval(
        &self,
        id: &str,
    ) -> Result<Option<(approve::StoredApproval, Vec<approve::StoredSignature>)>, StorageFault> {
        self.read(|db| {
            let Some(approval) = approve::read_approval(db, id)? else {
                return Ok(None);
            };
            Ok(Some((approval, approve::read_signatures(db, id)?)))
        })
    }

    /// What is known of a path's content.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn path_known(&self, path: &str) -> Result<PathKnown, StorageFault> {
        self.read(|db| path_known(db, path))
    }

    /// A small fact about the role.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn kept(&self, key: &str) -> Result<Option<String>, StorageFault> {
        self.read(|db| control::get(db, key))
    }

    /// Live jobs and bytes of a requester.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn live_of(&self, uid: u32) -> Result<(i64, i64), StorageFault> {
        self.read(|db| {
            let found = db
                .prepare_cached(rows_jobs::REQUESTER_LIVE)?
                .query_row([uid], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            Ok(found.unwrap_or((0, 0)))
        })
    }

    /// Workers with a lease, each with the boot its leases belong to.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn holders(&self) -> Result<Vec<(String, String)>, StorageFault> {
        self.read(|db| {
            let mut statement = db.prepare_cached(rows_jobs::HOLDERS)?;
            let rows = statement.query_map([], |row| {
                let worker: Option<String> = row.get(0)?;
                let boot: Option<String> = row.get(1)?;
                Ok((worker.unwrap_or_default(), boot.unwrap_or_default()))
            })?;
            rows.collect()
        })
    }

    /// Jobs under a worker's leases, oldest first.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn held_by(&self, worker: &str, limit: i64) -> Result<Vec<JobRow>, StorageFault> {
        self.read(|db| {
            let mut statement = db.prepare_cached(rows_jobs::HELD_BY)?;
            let rows = statement.query_map(params![worker, limit], JobRow::read)?;
            rows.collect()
        })
    }

    /// When the next waiting job is due: boot ms of a retry, and admission time of the oldest that waits for an approval.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn next_due(&self) -> Result<(Option<i64>, Option<i64>), StorageFault> {
        let boot_id = self.clock.boot_id();
        self.read(|db| {
            let retry = db
                .prepare_cached(rows_jobs::RETRY_NEXT)?
                .query_row([&boot_id], |row| row.get(0))?;
            let approval = db
                .prepare_cached(rows_jobs::APPROVAL_OLDEST)?
                .query_row([], |row| row.get(0))?;
            Ok((retry, approval))
        })
    }

    /// Whether a claim would find something.
    ///
    /// # Errors
    /// [`StorageFault`].
    pub fn has_ready(&self) -> Result<bool, StorageFault> {
        self.read(|db| db.prepare_cached(rows_jobs::CANDIDATES)?.exists([1]))
    }
}
