//! What a person does with a job: cancel, resolve, requeue, adopt. In: a verb, a UID, a reason. Out: the change and its OPERATOR row,
//! or why it is too early: check first.
//!
//! Not here: looking at the target (executor/probe).

use super::error::LedgerError;
use super::jobs::JobRow;
use super::tx::Tx;
use super::{clip, control, rows_jobs as sql};
use crate::job::{Code, JobId, JobKind, Refusal, Sha256, State};
use rusqlite::params;

/// What a person found at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The effect is there.
    Applied,
    /// It is not.
    NotApplied,
}

/// Facts that resolve and requeue need and the ledger cannot see.
#[derive(Debug, Clone, Copy)]
pub struct WorkerFacts {
    /// Whether the lock of the worker that held the job last is held.
    pub holder_lives: bool,
    /// The target's deadline, ms: so long may a request still be under way after its worker settled the job or died.
    pub deadline_ms: i64,
}

/// Details under which a worker's death, not the worker itself, made a job OUTCOME_UNKNOWN.
const BY_DEATH: [&str; 3] = ["worker_died", "not_started", "spent_not_sent"];

impl Tx<'_> {
    fn job(&self, id: JobId) -> Result<JobRow, LedgerError> {
        self.job_by(sql::BY_ID, &id.to_string())?
            .ok_or(LedgerError::NoSuchJob(id))
    }

    /// Cancels a READY job. `requester`: only its own, as if it did not exist otherwise.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchJob`], [`LedgerError::WrongState`].
    pub fn cancel(
        &mut self,
        id: JobId,
        uid: u32,
        by_operator: bool,
        reason: &str,
    ) -> Result<(), LedgerError> {
        let row = self.job(id)?;
        if !by_operator && row.uid != uid {
            return Err(LedgerError::NoSuchJob(id));
        }
        let state = row.state()?;
        if state != State::Ready {
            let advice = match state {
                State::Claimed | State::Executing => "it is being worked on; look again in a moment",
                State::OutcomeUnknown => "check first, then `lockgate resolve`",
                State::Ready | State::Succeeded | State::Failed | State::Rejected => {
                    "it is settled; nothing to cancel"
                }
            };
            return Err(LedgerError::WrongState {
                job: id,
                state,
                advice,
            });
        }
        let note = format!("cancel: {}", clip(reason, 500));
        let who = by_operator.then_some(uid);
        self.leave_unleased(
            &row,
            State::Ready,
            State::Rejected,
            Code::Cancelled,
            None,
            who,
            Some(&note),
        )?;
        self.unfence(&row)
    }

    /// A requester's cancel document: done, or a refusal on record that says why not.
    ///
    /// # Errors
    /// A storage error.
    pub fn cancel_by_requester(
        &mut self,
        id: JobId,
        uid: u32,
        digest: Sha256,
        keep: i64,
    ) -> Result<(), LedgerError> {
        let refusal = match self.cancel(id, uid, false, "by its requester") {
            Ok(()) => {
                self.submission(uid, digest, None, Some(&id.to_string()), keep)?;
                return Ok(());
            }
            Err(LedgerError::NoSuchJob(_)) => {
                Refusal::new(Code::NotAllowed, "/job_id", "no job of yours has this id here")
            }
            Err(error @ LedgerError::WrongState { .. }) => {
                Refusal::new(Code::NotAllowed, "/job_id", error.to_string())
            }
            Err(error) => return Err(error),
        };
        self.refuse(uid, digest, &refusal, keep)
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
        self.leave_unleased(
            &row,
            State::OutcomeUnknown,
            to,
            code,
            row.detail.as_deref(),
            Some(uid),
            Some(&note),
        )?;
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
        self.leave_unleased(
            &row,
            State::OutcomeUnknown,
            State::Ready,
            Code::OutcomeUnknown,
            None,
            Some(uid),
            Some(&note),
        )?;
        if let Some(crate::job::document::Job::Delete(job)) = row.document(rules) {
            self.reconsider(row.seq, &job, rules, approval_wait_ms)?;
        }
        Ok(())
    }

    fn unknown_job(&mut self, id: JobId, facts: &WorkerFacts) -> Result<JobRow, LedgerError> {
        let row = self.job(id)?;
        let state = row.state()?;
        if state != State::OutcomeUnknown {
            let advice = "only OUTCOME_UNKNOWN jobs are resolved or requeued; see `lockgate why JOB`";
            return Err(LedgerError::WrongState {
                job: id,
                state,
                advice,
            });
        }
        let too_early = |why: String| Err(LedgerError::TooEarly { job: id, why });
        let by_death = row
            .detail
            .as_deref()
            .is_some_and(|detail| BY_DEATH.contains(&detail));
        if by_death && facts.holder_lives {
            return too_early("the worker that held it still lives".to_owned());
        }
        // The worker's lock was free when the job was taken over, so that time is at or after its release. Nothing was sent
        // where nothing was started.
        let nothing_sent = row.sent_ms.is_none();
        let since = row.self_settled_ms.unwrap_or(row.updated_ms);
        let left = since.saturating_add(facts.deadline_ms) - self.now.0;
        if left > 0 && !nothing_sent {
            return too_early(format!(
                "a request may still be under way; look again in {} s",
                left / 1000 + 1
            ));
        }
        Ok(row)
    }

    /// The vault's present bytes, or absence, become known to this ledger.
    ///
    /// # Errors
    /// A storage error.
    pub fn adopt(
        &mut self,
        path: &str,
        bytes: Option<Sha256>,
        uid: u32,
        reason: &str,
    ) -> Result<(), LedgerError> {
        self.db.prepare_cached(sql::PATH_ADOPTED)?.execute(params![
            path,
            bytes.map(|hash| hash.0),
            self.now.0
        ])?;
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
