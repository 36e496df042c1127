//! Claims and leases. In: a worker and a limit. Out: jobs under a lease, or nothing; what dead holders left is sorted by
//! crash policy.
//!
//! Not here: running a job (executor/), time limits of a target (target/).

use super::approve::May;
use super::audit::{AuditKind, Entry};
use super::control::Flow;
use super::error::LedgerError;
use super::jobs::{Claimed, JobRow, LeaseToken};
use super::settle::{Attempt, Settlement};
use super::tx::Tx;
use super::{rows_audit, rows_jobs as sql};
use crate::clock::BootMs;
use crate::job::document::DocumentRules;
use crate::job::{Code, CrashPolicy, JobKind, State, Uuid4};
use rusqlite::{OptionalExtension, params};

/// Most tries of a SAVE (design 3).
const SAVE_ATTEMPTS_MAX: i64 = crate::throttle::SAVE_ATTEMPTS_MAX as i64;

/// Who claims, and how much.
#[derive(Debug, Clone)]
pub struct Claimer {
    /// This process (its lock file says whether it lives).
    pub worker: Uuid4,
    /// Lease length, boot ms.
    pub lease_ms: i64,
    /// Rules under which stored documents are read back.
    pub rules: DocumentRules,
}

/// What a claim took.
#[derive(Debug, Default)]
pub struct ClaimBatch {
    /// Under our lease.
    pub claimed: Vec<Claimed>,
    /// Rows set aside: tampered, exhausted, or a DELETE without a usable approval.
    pub set_aside: usize,
}

impl Tx<'_> {
    /// Takes up to `limit` jobs that may run, in admission order, at most one a path.
    ///
    /// # Errors
    /// A storage error. A bad row is set aside and never stops the batch.
    pub fn claim(&mut self, claimer: &Claimer, limit: usize) -> Result<ClaimBatch, LedgerError> {
        let mut batch = ClaimBatch::default();
        if self.flow()? != Flow::Running {
            return Ok(batch);
        }
        self.note_clock()?;
        let candidates: Vec<(i64, String, Option<String>)> = {
            let mut statement = self.db.prepare_cached(sql::CANDIDATES)?;
            let rows = statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
            rows.collect::<Result<_, _>>()?
        };
        for (seq, path, approval_id) in candidates {
            let may = match &approval_id {
                Some(id) => self.may_claim(seq, &path, id)?,
                None => May::Claim,
            };
            match may {
                May::Claim => {}
                May::NotNow => continue,
                May::SetAside => {
                    batch.set_aside += 1;
                    continue;
                }
            }
            if !self.take_fence(seq, &path)? {
                self.db
                    .prepare_cached(sql::PARK)?
                    .execute(params![seq, self.now.0])?;
                continue;
            }
            match self.claim_one(seq, claimer)? {
                Some(claimed) => batch.claimed.push(claimed),
                None => batch.set_aside += 1,
            }
        }
        Ok(batch)
    }

    /// The path's fence for this job: free, or its own already.
    fn take_fence(&mut self, seq: i64, path: &str) -> Result<bool, LedgerError> {
        if self.db.prepare_cached(sql::FENCE)?.execute(params![path, seq])? == 1 {
            return Ok(true);
        }
        let holder: i64 = self
            .db
            .prepare_cached(sql::FENCE_HOLDER)?
            .query_row([path], |row| row.get(0))?;
        Ok(holder == seq)
    }

    fn claim_one(&mut self, seq: i64, claimer: &Claimer) -> Result<Option<Claimed>, LedgerError> {
        let token = LeaseToken(Uuid4::random());
        let until = BootMs(self.boot.0 + claimer.lease_ms);
        let row = self
            .db
            .prepare_cached(sql::CLAIM)?
            .query_row(
                params![
                    seq,
                    token.0.to_string(),
                    claimer.worker.to_string(),
                    self.boot_id,
                    until.0,
                    self.now.0
                ],
                JobRow::read,
            )
            .optional()?;
        let Some(row) = row else {
            return Err(LedgerError::LostLease { job: seq });
        };
        self.count("jobs", State::Ready.as_str(), -1);
        self.count("jobs", State::Claimed.as_str(), 1);
        let Some(job) = row
            .document(&claimer.rules)
            .filter(|_| self.audit_agrees(&row).unwrap_or(false))
        else {
            let settlement = Settlement::reject(Code::Tampered, None)
                .with_message("the stored job no longer is what was admitted; see `lockgate audit verify`");
            self.settle_row(&row, token, State::Claimed, &settlement)?;
            return Ok(None);
        };
        if job.kind() == JobKind::Save && row.attempt > SAVE_ATTEMPTS_MAX {
            let settlement = Settlement::fail(Code::AttemptsExhausted, None);
            self.settle_row(&row, token, State::Claimed, &settlement)?;
            return Ok(None);
        }
        Ok(Some(row.claimed(token, until, job)))
    }

    /// Whether the audit's last word on the job agrees with READY and with the attempt before this claim.
    fn audit_agrees(&self, row: &JobRow) -> Result<bool, LedgerError> {
        let last = self
            .db
            .prepare_cached(rows_audit::LAST_TO)?
            .query_row([row.seq], |r| {
                Ok((r.get::<_, String>(0)?, r.get::<_, Option<i64>>(1)?))
            })
            .optional()?;
        Ok(last.is_some_and(|(to, attempt)| {
            to == State::Ready.as_str() && attempt.is_none_or(|attempt| row.attempt == attempt + 1)
        }))
    }

    /// Prolongs leases; the answer lists those that are lost.
    ///
    /// # Errors
    /// A storage error.
    pub fn renew(
        &mut self,
        held: &[(i64, LeaseToken)],
        lease_ms: i64,
    ) -> Result<(BootMs, Vec<i64>), LedgerError> {
        let until = BootMs(self.boot.0 + lease_ms);
        let mut lost = Vec::new();
        let mut renew = self.db.prepare_cached(sql::RENEW)?;
        for (seq, token) in held {
            if renew.execute(params![seq, token.0.to_string(), until.0])? != 1 {
                lost.push(*seq);
            }
        }
        Ok((until, lost))
    }

    /// Lets jobs run whose waiting time is over; times of an earlier boot are carried over first.
    ///
    /// # Errors
    /// A storage error.
    pub fn release_due(&mut self) -> Result<usize, LedgerError> {
        let rebase = params![self.boot_id, self.boot.0, self.now.0];
        self.db.prepare_cached(sql::RETRY_REBASE)?.execute(rebase)?;
        Ok(self
            .db
            .prepare_cached(sql::RETRY_DUE)?
            .execute(params![self.boot_id, self.boot.0])?)
    }

    /// What a dead worker held: SAVE goes on (READY, or a new lease to probe), DELETE is OUTCOME_UNKNOWN.
    /// `spent` tells whether spent.log has an entry for a job.
    ///
    /// # Errors
    /// A storage error.
    pub fn take_over(
        &mut self,
        dead: &str,
        claimer: &Claimer,
        limit: usize,
        spent: &dyn Fn(&str) -> bool,
    ) -> Result<TakenOver, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.jobs_by(sql::HELD_BY, params![dead, limit])?;
        let mut taken = TakenOver {
            rows: rows.len(),
            ..TakenOver::default()
        };
        for row in rows {
            let state = row.state()?;
            let policy = row.kind()?.crash_policy();
            let Some(token) = row.lease() else {
                tracing::error!(
                    job = row.seq,
                    "a leased job without a readable lease is left alone; see `lockgate audit verify`"
                );
                continue;
            };
            match (policy, state) {
                (CrashPolicy::ProbeThenRetry, State::Executing) => {
                    if let Some(claimed) = self.lease_to_probe(&row, claimer)? {
                        taken.probe.push(claimed);
                    }
                }
                (CrashPolicy::ProbeThenRetry, _) => {
                    let settlement = if row.attempt >= SAVE_ATTEMPTS_MAX {
                        Settlement::fail(Code::AttemptsExhausted, Some("worker_died"))
                    } else {
                        Settlement::ready(Attempt::Counted, 0, Some("worker_died"))
                    };
                    self.settle_row(&row, token, State::Claimed, &settlement)?;
                    taken.settled += 1;
                }
                (CrashPolicy::NeverRepeat, state) => {
                    let detail = match state {
                        State::Executing => "worker_died",
                        State::Ready
                        | State::Claimed
                        | State::Succeeded
                        | State::Failed
                        | State::Rejected
                        | State::OutcomeUnknown => {
                            if spent(&row.job_id) {
                                "spent_not_sent"
                            } else {
                                "not_started"
                            }
                        }
                    };
                    let settlement = Settlement::unknown(detail);
                    self.settle_row(&row, token, state, &settlement)?;
                    taken.settled += 1;
                }
            }
        }
        Ok(taken)
    }

    fn lease_to_probe(&mut self, row: &JobRow, claimer: &Claimer) -> Result<Option<Claimed>, LedgerError> {
        let token = LeaseToken(Uuid4::random());
        let until = BootMs(self.boot.0 + claimer.lease_ms);
        let changed = self.db.prepare_cached(sql::TAKE_OVER)?.execute(params![
            row.seq,
            row.lease_token,
            token.0.to_string(),
            claimer.worker.to_string(),
            self.boot_id,
            until.0,
            self.now.0
        ])?;
        if changed != 1 {
            return Err(LedgerError::LostLease { job: row.seq });
        }
        let note = Entry {
            note: Some("new lease to probe"),
            ..self.entry_of(row)
        };
        let worker = claimer.worker.to_string();
        let entry = Entry {
            from: Some(State::Executing),
            to: Some(State::Executing),
            worker: Some(&worker),
            attempt: Some(row.attempt),
            ..note
        };
        self.audit(AuditKind::Settled, &entry)?;
        let Some(job) = row.document(&claimer.rules) else {
            let settlement = Settlement::unknown("tampered");
            self.settle_row(row, token, State::Executing, &settlement)?;
            return Ok(None);
        };
        Ok(Some(row.claimed(token, until, job)))
    }
}

/// What a dead worker left behind.
#[derive(Debug, Default)]
pub struct TakenOver {
    /// Rows looked at; as many as the limit means there may be more.
    pub rows: usize,
    /// SAVE jobs that may have sent something: ours now, to look at the target.
    pub probe: Vec<Claimed>,
    /// Settled or given back.
    pub settled: usize,
}
