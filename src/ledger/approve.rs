//! Approvals on file: received, verified, reserved, spent, withdrawn. In: envelopes that approval/ found good. Out: states that only
//! go forward, and DELETE jobs that may or may not be claimed because of them.
//!
//! Not here: judging a signature or a quorum (approval/); the answer comes in as a closure, because it is asked inside the
//! transaction that stores the signatures.

use super::error::LedgerError;
use super::jobs::JobRow;
use super::tx::Tx;
use super::{control, rows_approvals as sql, rows_jobs};
use crate::approval::matching::compare;
use crate::approval::{ApprovalPayload, Payload, WithdrawalPayload};
use crate::job::document::{DeleteJob, DocumentRules, Job};
use crate::job::{Code, Refusal, Sha256, State};
use rusqlite::{OptionalExtension, params};

/// One signature as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSignature {
    /// `SHA256:…` fingerprint.
    pub key_id: String,
    /// `sshsig` or `ed25519`.
    pub scheme: String,
    /// The armoured or base64 signature.
    pub signature: String,
}

/// One approval as stored.
#[derive(Debug, Clone)]
pub struct StoredApproval {
    /// Its id.
    pub approval_id: String,
    /// The signed bytes.
    pub payload: Vec<u8>,
    /// State word.
    pub state: String,
    /// Start of its life.
    pub issued_ms: i64,
    /// End of its life.
    pub expires_ms: i64,
    /// Epoch it was received in.
    pub epoch: i64,
    /// The job that spent it.
    pub job_id: Option<String>,
}

/// What came with an envelope.
#[derive(Debug, Clone)]
pub struct Received {
    /// Who brought it.
    pub uid: u32,
    /// Digest of the document.
    pub digest: Sha256,
    /// The payload.
    pub payload: ApprovalPayload,
    /// The signed bytes.
    pub payload_bytes: Vec<u8>,
    /// Its signatures, each found good.
    pub signatures: Vec<StoredSignature>,
}

/// Says whether these signatures complete the quorum for this payload now.
pub type QuorumJudge<'a> = &'a dyn Fn(&[u8], &[StoredSignature]) -> bool;

impl Tx<'_> {
    /// Stores an approval's envelope or merges its signatures.
    ///
    /// # Errors
    /// A storage error; a refusal is an answer.
    pub fn receive_approval(
        &mut self,
        received: &Received,
        complete: QuorumJudge<'_>,
        rules: &DocumentRules,
        settings: &super::admit::AdmitSettings,
    ) -> Result<Option<Refusal>, LedgerError> {
        if let Some(refusal) = self.store_envelope(received)? {
            self.refuse(received.uid, received.digest, &refusal, settings.submissions_kept)?;
            return Ok(Some(refusal));
        }
        let id = received.payload.approval_id.to_string();
        for signature in &received.signatures {
            self.db.prepare_cached(sql::SIGNATURE)?.execute(params![
                id,
                signature.key_id,
                signature.scheme,
                signature.signature,
                received.uid,
                self.now.0
            ])?;
        }
        let stored = self.signatures(&id)?;
        if complete(&received.payload_bytes, &stored)
            && self
                .db
                .prepare_cached(sql::VERIFIED)?
                .execute(params![id, self.now.0])?
                == 1
        {
            self.count("approvals", "VERIFIED", 1);
        }
        if self.is_withdrawn(&id)? {
            self.db
                .prepare_cached(sql::WITHDRAW)?
                .execute(params![id, self.now.0])?;
        }
        self.submission(
            received.uid,
            received.digest,
            None,
            Some(&id),
            settings.submissions_kept,
        )?;
        let mission = received.payload.mission_id.to_string();
        self.event(
            "approval.received",
            ("approval", &id),
            Some(&mission),
            &serde_json::json!({ "approval_id": id, "vault_path": received.payload.vault_path.as_str() }),
        )?;
        self.reconsider_all(&id, rules, settings.approval_wait_ms)?;
        Ok(None)
    }

    /// The approval row: new, equal, or replaced where an expired unspent one stands.
    fn store_envelope(&mut self, received: &Received) -> Result<Option<Refusal>, LedgerError> {
        let payload = &received.payload;
        let id = payload.approval_id.to_string();
        let old = self.approval(&id)?;
        if old
            .as_ref()
            .is_some_and(|old| old.payload == received.payload_bytes)
        {
            return Ok(None);
        }
        let nonce = payload.nonce.to_string();
        let used: Option<String> = self
            .db
            .prepare_cached(sql::NONCE)?
            .query_row([&nonce], |row| row.get(0))
            .optional()?;
        if used.is_some() {
            return Ok(Some(Refusal::new(
                Code::ApprovalNonceReused,
                "/payload_b64",
                "this nonce was used before; draft the approval again, which makes a new one",
            )));
        }
        let (issued, expires) = (payload.issued_at.wall().0, payload.expires_at.wall().0);
        if old.is_some() {
            let values = params![
                id,
                received.payload_bytes,
                issued,
                expires,
                self.epoch,
                self.now.0
            ];
            if self.db.prepare_cached(sql::REPLACE)?.execute(values)? != 1 {
                return Ok(Some(Refusal::new(
                    Code::ApprovalConflict,
                    "/payload_b64",
                    "another payload under this approval_id is spent or still valid; draft a new approval with a new id",
                )));
            }
            self.db.prepare_cached(sql::FORGET_SIGNATURES)?.execute([&id])?;
        } else {
            let values = params![
                id,
                received.payload_bytes,
                issued,
                expires,
                self.epoch,
                self.now.0
            ];
            self.db.prepare_cached(sql::INSERT)?.execute(values)?;
            self.count("approvals", "RECEIVED", 1);
        }
        self.db
            .prepare_cached(sql::TAKE_NONCE)?
            .execute(params![nonce, id])?;
        Ok(None)
    }

    /// Records a withdrawal whose signature was found good; an unspent approval can never be used again.
    ///
    /// # Errors
    /// A storage error.
    pub fn receive_withdrawal(
        &mut self,
        uid: u32,
        digest: Sha256,
        withdrawal: &WithdrawalPayload,
        principal: &str,
        rules: &DocumentRules,
        settings: &super::admit::AdmitSettings,
    ) -> Result<(), LedgerError> {
        let id = withdrawal.approval_id.to_string();
        let withdrawn_at = withdrawal.withdrawn_at.as_str();
        self.db
            .prepare_cached(sql::WITHDRAWAL)?
            .execute(params![id, withdrawn_at, principal, self.now.0])?;
        if self
            .db
            .prepare_cached(sql::WITHDRAW)?
            .execute(params![id, self.now.0])?
            == 1
        {
            self.count("approvals", "WITHDRAWN", 1);
        }
        self.submission(uid, digest, None, Some(&id), settings.submissions_kept)?;
        self.event(
            "approval.withdrawn",
            ("approval", &id),
            None,
            &serde_json::json!({ "approval_id": id, "principal": principal }),
        )?;
        self.reconsider_all(&id, rules, settings.approval_wait_ms)
    }

    /// The stored approval.
    ///
    /// # Errors
    /// A storage error.
    pub fn approval(&self, id: &str) -> Result<Option<StoredApproval>, LedgerError> {
        Ok(read_approval(self.db, id)?)
    }

    /// Its signatures.
    ///
    /// # Errors
    /// A storage error.
    pub fn signatures(&self, id: &str) -> Result<Vec<StoredSignature>, LedgerError> {
        Ok(read_signatures(self.db, id)?)
    }

    fn is_withdrawn(&self, id: &str) -> Result<bool, LedgerError> {
        Ok(self.db.prepare_cached(sql::IS_WITHDRAWN)?.exists([id])?)
    }

    fn reconsider_all(&mut self, id: &str, rules: &DocumentRules, wait_ms: i64) -> Result<(), LedgerError> {
        for row in self.jobs_by(rows_jobs::READY_BY_APPROVAL, [id])? {
            // A row that does not read back is set aside at its claim.
            if let Some(Job::Delete(job)) = row.document(rules) {
                self.reconsider(row.seq, &job, rules, wait_ms)?;
            }
        }
        Ok(())
    }

    /// Whether a READY DELETE may be claimed, waits for its approval, or is denied at once.
    pub(super) fn reconsider(
        &mut self,
        seq: i64,
        job: &DeleteJob,
        rules: &DocumentRules,
        wait_ms: i64,
    ) -> Result<(), LedgerError> {
        let id = job.approval_id.to_string();
        let standing = match self.approval(&id)? {
            None if self.is_withdrawn(&id)? => Standing::Denied("approval_withdrawn".to_owned()),
            None => Standing::Waits("approval_missing"),
            Some(approval) => self.standing(&approval, job, rules),
        };
        match standing {
            Standing::Valid => {
                self.db
                    .prepare_cached(rows_jobs::RELEASE_HOLD)?
                    .execute(params![seq, "approval"])?;
            }
            Standing::Waits(detail) if wait_ms > 0 => {
                self.db
                    .prepare_cached(rows_jobs::SET_HOLD)?
                    .execute(params![seq, "approval", detail])?;
                self.pass_on(job.vault_path.as_str())?;
            }
            Standing::Waits(detail) => self.deny(seq, detail)?,
            Standing::Denied(detail) => self.deny(seq, &detail)?,
        }
        Ok(())
    }

    /// Why an approval cannot be used by any job, or not now.
    fn unusable(&self, approval: &StoredApproval) -> Option<Standing> {
        let denied = |detail: &str| Some(Standing::Denied(detail.to_owned()));
        match approval.state.as_str() {
            "RESERVED" | "EXECUTED" | "CONSUMED" => denied("approval_spent"),
            "WITHDRAWN" => denied("approval_withdrawn"),
            "VOID" => denied("approval_void"),
            _ if approval.epoch < self.epoch => denied("approval_void"),
            _ if approval.expires_ms <= self.now.0 => Some(Standing::Waits("approval_expired")),
            _ => None,
        }
    }

    fn standing(&self, approval: &StoredApproval, job: &DeleteJob, rules: &DocumentRules) -> Standing {
        if let Some(unusable) = self.unusable(approval) {
            return unusable;
        }
        match Payload::parse(&approval.payload, rules) {
            Err(_) | Ok(Payload::Withdrawal(_)) => return Standing::Denied("approval_mismatch".to_owned()),
            Ok(Payload::Approval(payload)) => {
                if let Err(field) = compare(job, &payload) {
                    return Standing::Denied(format!("approval_mismatch:{}", field.as_str()));
                }
            }
        }
        if approval.state == "VERIFIED" {
            Standing::Valid
        } else {
            Standing::Waits("quorum_not_met")
        }
    }

    fn deny(&mut self, seq: i64, detail: &str) -> Result<(), LedgerError> {
        if let Some(row) = self.job_by_seq(seq)?
            && row.state == State::Ready.as_str()
        {
            self.settle_ready(&row, State::Rejected, Code::DeleteDenied, Some(detail), None)?;
        }
        Ok(())
    }

    /// Before the claim of a DELETE: a complete, unexpired approval of this epoch is on file and the clock can be believed.
    /// Otherwise the job is put back to wait, or denied.
    pub(super) fn may_claim(&mut self, seq: i64, path: &str, id: &str) -> Result<May, LedgerError> {
        if !control::clock_trusted(self.db, self.now)? {
            return Ok(May::NotNow);
        }
        let waits = match self.approval(id)? {
            None => "approval_missing",
            Some(approval) => match self.unusable(&approval) {
                None if approval.state == "VERIFIED" => return Ok(May::Claim),
                Some(Standing::Valid) | None => "quorum_not_met",
                Some(Standing::Waits(detail)) => detail,
                Some(Standing::Denied(detail)) => {
                    self.deny(seq, &detail)?;
                    return Ok(May::SetAside);
                }
            },
        };
        self.db
            .prepare_cached(rows_jobs::SET_HOLD)?
            .execute(params![seq, "approval", waits])?;
        self.pass_on(path)?;
        Ok(May::SetAside)
    }

    /// In the EXECUTING transaction: VERIFIED → RESERVED, or the detail word of why not.
    pub(super) fn reserve_approval(&mut self, row: &JobRow) -> Result<(), LedgerError> {
        let denied = |detail: &str| {
            Err(LedgerError::Denied {
                detail: detail.to_owned(),
            })
        };
        let Some(id) = &row.approval_id else {
            return denied("approval_missing");
        };
        if !control::clock_trusted(self.db, self.now)? {
            return denied("clock_untrusted");
        }
        let values = params![id, row.job_id, self.now.0, self.epoch];
        if self.db.prepare_cached(sql::RESERVE)?.execute(values)? == 1 {
            self.event(
                "approval.spent",
                ("approval", id),
                Some(&row.mission_id),
                &serde_json::json!({ "approval_id": id, "job_id": row.job_id }),
            )?;
            return Ok(());
        }
        if self.is_withdrawn(id)? {
            return denied("approval_withdrawn");
        }
        let Some(approval) = self.approval(id)? else {
            return denied("approval_missing");
        };
        match approval.state.as_str() {
            "VOID" => denied("approval_void"),
            _ if approval.epoch != self.epoch => denied("approval_void"),
            "RECEIVED" => denied("quorum_not_met"),
            "VERIFIED" | "EXPIRED" => denied("approval_expired"),
            _ => denied("approval_spent"),
        }
    }

    /// Denies DELETEs whose approval did not come in time.
    ///
    /// # Errors
    /// A storage error.
    pub fn deny_overdue(&mut self, wait_ms: i64, limit: usize) -> Result<usize, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.jobs_by(rows_jobs::APPROVAL_OVERDUE, params![self.now.0 - wait_ms, limit])?;
        for row in &rows {
            if let Some(id) = &row.approval_id {
                self.db
                    .prepare_cached(sql::EXPIRE)?
                    .execute(params![id, self.now.0])?;
            }
            let detail = row
                .detail
                .clone()
                .unwrap_or_else(|| "approval_missing".to_owned());
            self.settle_ready(row, State::Rejected, Code::DeleteDenied, Some(&detail), None)?;
        }
        Ok(rows.len())
    }

    /// Rejects jobs that waited longer than `limits.job_max_age`.
    ///
    /// # Errors
    /// A storage error.
    pub fn expire_old(&mut self, age_ms: i64, limit: usize) -> Result<usize, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.jobs_by(rows_jobs::EXPIRED, params![self.now.0 - age_ms, limit])?;
        for row in &rows {
            self.settle_ready(row, State::Rejected, Code::Expired, None, None)?;
            self.unfence(row)?;
        }
        Ok(rows.len())
    }
}

/// Whether a candidate may be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    Claim,
    /// It stays a candidate.
    NotNow,
    /// It waits for an approval, or is denied; whoever waited behind it may be a candidate now.
    SetAside,
}

enum Standing {
    Valid,
    Waits(&'static str),
    Denied(String),
}

pub(super) fn read_approval(db: &rusqlite::Connection, id: &str) -> rusqlite::Result<Option<StoredApproval>> {
    db.prepare_cached(sql::GET)?
        .query_row([id], |row| {
            Ok(StoredApproval {
                approval_id: row.get(0)?,
                payload: row.get(1)?,
                state: row.get(2)?,
                issued_ms: row.get(3)?,
                expires_ms: row.get(4)?,
                epoch: row.get(5)?,
                job_id: row.get(6)?,
            })
        })
        .optional()
}

pub(super) fn read_signatures(db: &rusqlite::Connection, id: &str) -> rusqlite::Result<Vec<StoredSignature>> {
    let mut statement = db.prepare_cached(sql::SIGNATURES)?;
    let rows = statement.query_map([id], |row| {
        Ok(StoredSignature {
            key_id: row.get(0)?,
            scheme: row.get(1)?,
            signature: row.get(2)?,
        })
    })?;
    rows.collect()
}
