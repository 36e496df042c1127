//! The one place where a job's state changes after its claim. In: a lease and a settlement. Out: state, audit, event, fence and
//! approval changed together, or nothing.
//!
//! Not here: which settlement is right (settlement/).

use super::audit::{AuditKind, Entry};
use super::control::Flow;
use super::error::LedgerError;
use super::jobs::{Claimed, JobRow, LeaseToken};
use super::tx::Tx;
use super::{clip, control, rows_approvals, rows_jobs as sql};
use crate::job::state::next;
use crate::job::{Code, JobKind, Sha256, State};
use rusqlite::params;

/// The key under which the ledger keeps the approval that was spent last.
pub const LAST_SPENT: &str = "last_spent_approval";

/// What becomes of the attempt counted at the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// It was a try.
    Counted,
    /// Nothing irreversible was begun; it is given back.
    GivenBack,
}

/// Whether the path stays fenced while a SAVE waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// Later jobs on the path may go on.
    Release,
    /// Something was sent; later jobs wait.
    Keep,
}

/// What is recorded of one job.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The state it goes to.
    pub to: State,
    /// Stable word of the decision.
    pub code: Option<Code>,
    /// Detail word.
    pub detail: Option<String>,
    /// One sentence for a person; never what a source or target said.
    pub message: Option<String>,
    /// The attempt.
    pub attempt: Attempt,
    /// Delay before it may be claimed again, ms (READY only; 0: at once).
    pub delay_ms: i64,
    /// READY, but not before another approval is on file.
    pub wants_approval: bool,
    /// The path.
    pub fence: Fence,
    /// The effect was confirmed: an EXECUTED row goes before the SETTLED one.
    pub confirmed: bool,
    /// What the vault holds now by our doing, for later drift checks.
    pub saved: Option<Sha256>,
}

impl Settlement {
    fn new(to: State, code: Option<Code>, detail: Option<&str>) -> Settlement {
        Settlement {
            to,
            code,
            detail: detail.map(str::to_owned),
            message: None,
            attempt: Attempt::Counted,
            delay_ms: 0,
            wants_approval: false,
            fence: Fence::Release,
            confirmed: false,
            saved: None,
        }
    }
    /// The effect is confirmed.
    pub fn succeed(code: Code) -> Settlement {
        Settlement {
            confirmed: true,
            ..Settlement::new(State::Succeeded, Some(code), None)
        }
    }
    /// A gate refused; nothing was sent.
    pub fn reject(code: Code, detail: Option<&str>) -> Settlement {
        Settlement::new(State::Rejected, Some(code), detail)
    }
    /// It was tried and did not work, or may not be tried any more.
    pub fn fail(code: Code, detail: Option<&str>) -> Settlement {
        Settlement::new(State::Failed, Some(code), detail)
    }
    /// Nobody knows.
    pub fn unknown(detail: &str) -> Settlement {
        Settlement {
            fence: Fence::Keep,
            ..Settlement::new(State::OutcomeUnknown, Some(Code::OutcomeUnknown), Some(detail))
        }
    }
    /// Back to READY, claimable after `delay_ms`.
    pub fn ready(attempt: Attempt, delay_ms: i64, detail: Option<&str>) -> Settlement {
        Settlement {
            attempt,
            delay_ms,
            ..Settlement::new(State::Ready, None, detail)
        }
    }
    /// Back to READY, to wait for another approval.
    pub fn wait_for_approval(detail: &str) -> Settlement {
        Settlement {
            wants_approval: true,
            ..Settlement::ready(Attempt::GivenBack, 0, Some(detail))
        }
    }
    /// With a sentence for a person.
    pub fn with_message(mut self, message: impl Into<String>) -> Settlement {
        self.message = Some(message.into());
        self
    }
    /// With the path kept fenced.
    pub fn keeping_fence(mut self) -> Settlement {
        self.fence = Fence::Keep;
        self
    }
    /// With what the vault holds now.
    pub fn saved(mut self, bytes: Sha256) -> Settlement {
        self.saved = Some(bytes);
        self
    }
}

/// Why the EXECUTING transaction is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Intent {
    /// Vault bytes before the send; `None`: absent.
    pub before: Option<Sha256>,
    /// Bytes a SAVE sends.
    pub new: Option<Sha256>,
}

impl Tx<'_> {
    /// CLAIMED → EXECUTING, after judging pause and freeze once more; for a DELETE the approval becomes RESERVED and an
    /// AUTHORIZED row goes before the SENT one.
    ///
    /// # Errors
    /// [`LedgerError::LostLease`], [`LedgerError::Stopped`], [`LedgerError::Denied`] with the detail word.
    pub fn executing(&mut self, claimed: &Claimed, intent: &Intent) -> Result<(), LedgerError> {
        next(claimed.job.kind(), State::Claimed, State::Executing)?;
        match self.flow()? {
            Flow::Running => {}
            flow @ (Flow::Paused | Flow::Frozen) => return Err(LedgerError::Stopped(flow.as_str())),
        }
        let row = self
            .job_by_seq(claimed.seq)?
            .ok_or(LedgerError::LostLease { job: claimed.seq })?;
        if row.lease() != Some(claimed.token) {
            return Err(LedgerError::LostLease { job: claimed.seq });
        }
        if claimed.job.kind() == JobKind::Delete {
            self.reserve_approval(&row)?;
        }
        let before = intent.before.map_or_else(Vec::new, |hash| hash.0.to_vec());
        let new = intent.new.map(|hash| hash.0);
        let changed = self.db.prepare_cached(sql::EXECUTING)?.execute(params![
            claimed.seq,
            claimed.token.0.to_string(),
            before,
            new,
            self.now.0
        ])?;
        if changed != 1 {
            return Err(LedgerError::LostLease { job: claimed.seq });
        }
        self.count("jobs", State::Claimed.as_str(), -1);
        self.count("jobs", State::Executing.as_str(), 1);
        if claimed.job.kind() == JobKind::Delete {
            // The next start looks for it in spent.log: a log that was cut lacks its end.
            control::set(
                self.db,
                LAST_SPENT,
                row.approval_id.as_deref().unwrap_or_default(),
            )?;
            let entry = Entry {
                attempt: Some(row.attempt),
                worker: row.lease_worker.as_deref(),
                ..self.entry_of(&row)
            };
            self.audit(AuditKind::Authorized, &entry)?;
        }
        let entry = Entry {
            from: Some(State::Claimed),
            to: Some(State::Executing),
            attempt: Some(row.attempt),
            worker: row.lease_worker.as_deref(),
            ..self.entry_of(&row)
        };
        self.audit(AuditKind::Sent, &entry)?;
        Ok(())
    }

    /// Settles a job we hold.
    ///
    /// # Errors
    /// [`LedgerError::LostLease`] if it is not ours any more; then nothing is written.
    pub fn settle(
        &mut self,
        claimed: &Claimed,
        from: State,
        settlement: &Settlement,
    ) -> Result<(), LedgerError> {
        let row = self
            .job_by_seq(claimed.seq)?
            .ok_or(LedgerError::LostLease { job: claimed.seq })?;
        self.settle_row(&row, claimed.token, from, settlement)
    }

    pub(super) fn settle_row(
        &mut self,
        row: &JobRow,
        token: LeaseToken,
        from: State,
        settlement: &Settlement,
    ) -> Result<(), LedgerError> {
        let kind = row.kind()?;
        let to = next(kind, from, settlement.to)?;
        let attempt = match settlement.attempt {
            Attempt::Counted => row.attempt,
            Attempt::GivenBack => row.attempt - 1,
        };
        let waits = to == State::Ready && settlement.delay_ms > 0;
        let due = waits.then_some(settlement.delay_ms);
        let hold = if settlement.wants_approval {
            Some("approval")
        } else {
            waits.then_some("retry")
        };
        let changed = self.db.prepare_cached(sql::LEAVE)?.execute(params![
            row.seq,
            from.as_str(),
            token.0.to_string(),
            to.as_str(),
            hold,
            due.map(|_| self.boot_id.clone()),
            due.map(|ms| self.boot.0 + ms),
            due.map(|ms| self.now.0 + ms),
            attempt,
            settlement.code.map(Code::as_str),
            settlement.detail.as_deref().map(|text| clip(text, 128)),
            settlement.message.as_deref().map(|text| clip(text, 500)),
            row.lease_worker,
            self.now.0,
            self.now.0,
            to.is_settled().then_some(self.now.0),
            due,
        ])?;
        if changed != 1 {
            return Err(LedgerError::LostLease { job: row.seq });
        }
        self.after_change(row, from, to, attempt, settlement, None, None)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one row's leaving, each argument a column"
    )]
    pub(super) fn leave_unleased(
        &mut self,
        row: &JobRow,
        from: State,
        to: State,
        code: Code,
        detail: Option<&str>,
        uid: Option<u32>,
        note: Option<&str>,
    ) -> Result<(), LedgerError> {
        let to = next(row.kind()?, from, to)?;
        let hold = (to == State::Ready && row.approval_id.is_some()).then_some("approval");
        let (code, settled) = if to == State::Ready {
            (None, None)
        } else {
            (Some(code), Some(self.now.0))
        };
        let changed = self.db.prepare_cached(sql::LEAVE_UNLEASED)?.execute(params![
            row.seq,
            from.as_str(),
            to.as_str(),
            hold,
            row.attempt,
            code.map(Code::as_str),
            detail.map(|text| clip(text, 128)),
            Option::<&str>::None,
            self.now.0,
            settled
        ])?;
        if changed != 1 {
            return Err(LedgerError::LostLease { job: row.seq });
        }
        let settlement = Settlement::new(to, code, detail);
        self.after_change(row, from, to, row.attempt, &settlement, uid, note)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what every change of state has in common"
    )]
    fn after_change(
        &mut self,
        row: &JobRow,
        from: State,
        to: State,
        attempt: i64,
        settlement: &Settlement,
        uid: Option<u32>,
        note: Option<&str>,
    ) -> Result<(), LedgerError> {
        self.count("jobs", from.as_str(), -1);
        self.count("jobs", to.as_str(), 1);
        if settlement.fence == Fence::Release {
            self.unfence(row)?;
        }
        self.settle_approval(row, from, settlement)?;
        if let (Some(saved), Some(JobKind::Save)) = (settlement.saved, row.kind().ok()) {
            self.db.prepare_cached(sql::PATH_SAVED)?.execute(params![
                row.vault_path,
                saved.0,
                row.commit_id,
                self.now.0
            ])?;
        }
        self.live_change(row, from, to);
        // A claim given back before anything was sent leaves no trace in the audit: the last word is still READY.
        if from == State::Claimed && to == State::Ready && settlement.attempt == Attempt::GivenBack {
            return Ok(());
        }
        let worker = row.lease_worker.as_deref();
        if settlement.confirmed {
            let entry = Entry {
                worker,
                attempt: Some(attempt),
                code: settlement.code,
                ..self.entry_of(row)
            };
            self.audit(AuditKind::Executed, &entry)?;
        }
        let kind = if uid.is_some() {
            AuditKind::Operator
        } else {
            AuditKind::Settled
        };
        let entry = Entry {
            from: Some(from),
            to: Some(to),
            worker,
            attempt: Some(attempt),
            code: settlement.code,
            uid: uid.or(Some(row.uid)),
            note: note.or(settlement.detail.as_deref()),
            ..self.entry_of(row)
        };
        self.audit(kind, &entry)?;
        self.settled_event(row, to, settlement)
    }

    fn live_change(&mut self, row: &JobRow, from: State, to: State) {
        let bytes = i64::try_from(row.body.len()).unwrap_or(0);
        match (from.is_settled(), to.is_settled()) {
            (false, true) => self.live(row.uid, -1, -bytes),
            (true, false) => self.live(row.uid, 1, bytes),
            (true, true) | (false, false) => {}
        }
    }

    fn settled_event(&mut self, row: &JobRow, to: State, settlement: &Settlement) -> Result<(), LedgerError> {
        if !to.is_settled() {
            return Ok(());
        }
        if let Some(code) = settlement.code {
            self.count("settled", code.as_str(), 1);
        }
        let kind = if to == State::OutcomeUnknown {
            "job.outcome_unknown"
        } else {
            "job.settled"
        };
        let payload = serde_json::json!({
            "job_id": row.job_id, "job_type": row.kind, "object_id": row.object_id, "vault_path": row.vault_path,
            "state": to.as_str(), "code": settlement.code.map(Code::as_str), "detail": settlement.detail,
        });
        self.event(kind, ("job", &row.job_id), Some(&row.mission_id), &payload)?;
        Ok(())
    }

    /// Releases the path if the job holds it, and lets the oldest job that waits for it compete again.
    pub(super) fn unfence(&mut self, row: &JobRow) -> Result<(), LedgerError> {
        self.db
            .prepare_cached(sql::UNFENCE)?
            .execute(params![row.vault_path, row.seq])?;
        self.pass_on(&row.vault_path)
    }

    /// Lets the oldest job that waits for a free path compete again. Whenever a job that might have taken the path next does
    /// not, the one behind it must hear of it: nobody else would tell.
    pub(super) fn pass_on(&mut self, path: &str) -> Result<(), LedgerError> {
        self.db.prepare_cached(sql::UNPARK)?.execute([path])?;
        Ok(())
    }

    /// What every audit row of a job carries.
    pub(super) fn entry_of<'r>(&self, row: &'r JobRow) -> Entry<'r> {
        Entry {
            job_seq: Some(row.seq),
            job_id: Some(&row.job_id),
            mission_id: Some(&row.mission_id),
            job_type: Some(&row.kind),
            object_id: Some(&row.object_id),
            approval_id: row.approval_id.as_deref(),
            uid: Some(row.uid),
            provenance: <[u8; 32]>::try_from(row.provenance.as_slice()).ok().map(Sha256),
            ..Entry::default()
        }
    }

    /// The approval's part of a settlement (design 4, step 5): confirmed → EXECUTED and CONSUMED, any other settlement after it
    /// was RESERVED → CONSUMED, unknown → it stays RESERVED until a person resolves the job.
    fn settle_approval(
        &mut self,
        row: &JobRow,
        from: State,
        settlement: &Settlement,
    ) -> Result<(), LedgerError> {
        let Some(approval_id) = &row.approval_id else {
            return Ok(());
        };
        let was_reserved = match from {
            State::Executing | State::OutcomeUnknown => true,
            State::Ready | State::Claimed | State::Succeeded | State::Failed | State::Rejected => false,
        };
        if !was_reserved {
            return Ok(());
        }
        match settlement.to {
            State::Succeeded => {
                self.db
                    .prepare_cached(rows_approvals::EXECUTED)?
                    .execute(params![approval_id, row.job_id, self.now.0])?;
                self.db
                    .prepare_cached(rows_approvals::CONSUMED)?
                    .execute(params![approval_id, row.job_id, self.now.0])?;
                self.count("approvals", "CONSUMED", 1);
            }
            State::Failed | State::Rejected => {
                self.db
                    .prepare_cached(rows_approvals::CONSUMED)?
                    .execute(params![approval_id, row.job_id, self.now.0])?;
                self.count("approvals", "CONSUMED", 1);
            }
            State::OutcomeUnknown | State::Ready | State::Claimed | State::Executing => {}
        }
        Ok(())
    }
}
