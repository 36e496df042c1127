//! What a person does with a job: cancel, resolve, requeue, adopt. In: a verb, a UID, a reason. Out: the change and its OPERATOR row,
//! or why it is too early: check first.
//!
//! Not here: looking at the target (executor/probe).

use super::error::LedgerError;
use super::jobs::JobRow;
use super::tx::Tx;
use super::{clip, control, rows_jobs as sql};
use crate::job::{Code, JobId, JobKind, Sha256, State};
use rusqlite::params;

/// What a person found at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The effect is there.
    Applied,
    /// It is not.
    NotApplied,
}

/// Facts about time and workers that resolve and requeue need and the ledger cannot see.
#[derive(Debug, Clone, Copy)]
pub struct WorkerFacts {
    /// Whether the lock of the worker that held the job last is held.
    pub holder_lives: bool,
    /// Boot-independent wall time at which that lock was first seen released; `None`: never seen held.
    pub released_at_ms: Option<i64>,
    /// The target's deadline, ms.
    pub deadline_ms: i64,
}

impl Tx<'_> {
    fn job(&self, id: JobId) -> Result<JobRow, LedgerError> {
        self.job_by(sql::BY_ID, &id.to_string())?.ok_or(LedgerError::NoSuchJob(id))
    }

    /// Cancels a READY job. `requester`: only its own, as if it did not exist otherwise.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchJob`], [`LedgerError::WrongState`].
    pub fn cancel(&mut self, id: JobId, uid: u32, by_operator: bool, reason: &str) -> Result<(), LedgerError> {
        let row = self.job(id)?;
        if !by_operator && row.uid != uid {
            return Err(LedgerError::NoSuchJob(id));
        }
        let state = row.state()?;
        if state != State::Ready {
            let advice = match state {
                State::Claimed | State::Executing => "it is being worked on; look again in a moment",
                State::OutcomeUnknown => "check first, then `lockgate resolve`",
                State::Ready | State::Succeeded | State::Failed | State::Rejected => "it is settled; nothing to cancel",
            };
            return Err(LedgerError::WrongState { job: id, state, advice });
        }
        let note = format!("cancel: {}", clip(reason, 500));
        let who = by_operator.then_some(uid);
        self.leave_unleased(&row, State::Ready, State::Rejected, Code::Cancelled, None, who, Some(&note))?;
        self.unfence(&row)
    }

    /// A person says what became of an OUTCOME_UNKNOWN job.
    ///
    /// # Errors
    /// [`LedgerError::WrongState`], [`LedgerError::TooEarly`].
    pub fn resolve(
        &mut self,
        id: JobId,
        evidence: Evidence,
        uid: u32,
        reason: &str,
        facts: &WorkerFacts,
    ) -> Result<(), LedgerError> {
        let row = self.unknown_job(id, facts)?;
        let (to, code, verb) = match evidence {
            Evidence::Applied => (State::Succeeded, Code::ResolvedApplied, "resolve applied"),
            Evidence::NotApplied => (State::Failed, Code::ResolvedNotApplied, "resolve not-applied"),
        };
        let note = format!("{verb}: {}", clip(reason, 500));
        self.leave_unleased(&row, State::OutcomeUnknown, to, code, row.detail.as_deref(), Some(uid), Some(&note))?;
        if let (Evidence::Applied, JobKind::Save, Some(new)) = (evidence, row.kind()?, row.new_bytes()) {
            self.db.prepare_cached(sql::PATH_SAVED)?.execute(params![
                row.vault_path,
                new.0,
                row.commit_id,
                self.now.0
            ])?;
        }
        Ok(())
    }

    /// A person lets an OUTCOME_UNKNOWN job run again: a SAVE, or a DELETE of which nothing was started.
    ///
    /// # Errors
    /// [`LedgerError::WrongState`], [`LedgerError::TooEarly`].
    pub fn requeue(
        &mut self,
        id: JobId,
        uid: u32,
        reason: &str,
        facts: &WorkerFacts,
        rules: &crate::job::document::DocumentRules,
        approval_wait_ms: i64,
    ) -> Result<(), LedgerError> {
        let row = self.unknown_job(id, facts)?;
        if row.kind()? == JobKind::Delete && row.detail.as_deref() != Some("not_started") {
            return Err(LedgerError::WrongState {
                job: id,
                state: State::OutcomeUnknown,
                advice: "this DELETE may have been sent. Check first: `lockgate probe JOB`, then `lockgate resolve JOB --applied|--not-applied`; \
                         a further delete needs a new job with a new approval",
            });
        }
        let note = format!("requeue: {}", clip(reason, 500));
        self.leave_unleased(&row, State::OutcomeUnknown, State::Ready, Code::OutcomeUnknown, None, Some(uid), Some(&note))?;
        if let Some(crate::job::document::Job::Delete(job)) = row.document(rules) {
            self.reconsider(row.seq, &job, approval_wait_ms)?;
        }
        Ok(())
    }

    fn unknown_job(&mut self, id: JobId, facts: &WorkerFacts) -> Result<JobRow, LedgerError> {
        let row = self.job(id)?;
        let state = row.state()?;
        if state != State::OutcomeUnknown {
            let advice = "only OUTCOME_UNKNOWN jobs are resolved or requeued; see `lockgate why JOB`";
            return Err(LedgerError::WrongState { job: id, state, advice });
        }
        let now = self.now.0;
        let too_early = |why: String| Err(LedgerError::TooEarly { job: id, why });
        let waits_until = |since: i64| since.saturating_add(facts.deadline_ms);
        if let Some(settled) = row.self_settled_ms.filter(|_| row.detail.as_deref() != Some("worker_died") && row.detail.as_deref() != Some("not_started") && row.detail.as_deref() != Some("spent_not_sent")) {
            if now < waits_until(settled) {
                return too_early(format!(
                    "a request may still be under way until {} ms after it was settled",
                    facts.deadline_ms
                ));
            }
            return Ok(row);
        }
        if facts.holder_lives {
            return too_early("the worker that held it still lives".to_owned());
        }
        if facts.released_at_ms.is_some_and(|released| now < waits_until(released)) {
            return too_early(format!(
                "a request of the dead worker may still be under way until {} ms after its end",
                facts.deadline_ms
            ));
        }
        Ok(row)
    }

    /// The vault's present bytes, or absence, become known to this ledger.
    ///
    /// # Errors
    /// A storage error.
    pub fn adopt(&mut self, path: &str, bytes: Option<Sha256>, uid: u32, reason: &str) -> Result<(), LedgerError> {
        self.db.prepare_cached(sql::PATH_ADOPTED)?.execute(params![path, bytes.map(|hash| hash.0), self.now.0])?;
        let what = bytes.map_or_else(|| "absence".to_owned(), |hash| format!("sha256:{hash}"));
        self.operator(uid, &format!("adopt {path} {what}: {reason}"))?;
        Ok(())
    }

    /// What is known of a path.
    ///
    /// # Errors
    /// A storage error.
    pub fn path_known(&self, path: &str) -> Result<PathKnown, LedgerError> {
        Ok(path_known(self.db, path)?)
    }

    /// An OPERATOR row for a verb that changes nothing in the ledger (probe, recover, backup).
    ///
    /// # Errors
    /// A storage error.
    pub fn record_operator(&mut self, uid: u32, note: &str) -> Result<(), LedgerError> {
        Ok(self.operator(uid, note)?)
    }

    /// Keeps a small fact about the role (boot-independent).
    ///
    /// # Errors
    /// A storage error.
    pub fn keep(&mut self, key: &str, value: &str) -> Result<(), LedgerError> {
        Ok(control::set(self.db, key, value)?)
    }
}

/// What the ledger knows of a path's content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathKnown {
    /// Bytes it last wrote there.
    pub saved: Option<Sha256>,
    /// The commit they came from.
    pub commit: Option<crate::job::CommitId>,
    /// What an operator adopted since: inner `None` is absence.
    pub adopted: Option<Option<Sha256>>,
}

pub(super) fn path_known(db: &rusqlite::Connection, path: &str) -> rusqlite::Result<PathKnown> {
    use rusqlite::OptionalExtension;
    let found = db
        .prepare_cached(sql::PATH)?
        .query_row([path], |row| {
            let saved: Option<[u8; 32]> = row.get(0)?;
            let commit: Option<String> = row.get(1)?;
            let is_adopted: bool = row.get(2)?;
            let adopted: Option<[u8; 32]> = row.get(3)?;
            Ok(PathKnown {
                saved: saved.map(Sha256),
                commit: commit.as_deref().and_then(crate::job::CommitId::parse),
                adopted: is_adopted.then_some(adopted.map(Sha256)),
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}
