//! A job as it stands in the ledger. In: a row. Out: typed fields, or `Unreadable` for a row that does not read back.
//!
//! Not here: changing it.

use super::error::LedgerError;
use crate::clock::BootMs;
use crate::job::document::{DocumentRules, Job};
use crate::job::{Code, JobKind, Sha256, State, Uuid4, sha256};
use rusqlite::Row;

/// A lease: a random id that every later write repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseToken(pub Uuid4);

/// Every column of one job.
#[derive(Debug, Clone)]
pub struct JobRow {
    pub seq: i64,
    pub job_id: String,
    pub kind: String,
    pub uid: u32,
    pub via: String,
    pub digest: Vec<u8>,
    pub body: Vec<u8>,
    pub idempotency_key: String,
    pub idempotency_digest: Vec<u8>,
    pub mission_id: String,
    pub object_id: String,
    pub vault_path: String,
    pub commit_id: String,
    pub provenance: Vec<u8>,
    pub approval_id: Option<String>,
    pub created_at: String,
    pub admitted_ms: i64,
    pub state: String,
    pub hold: Option<String>,
    pub due_boot_id: Option<String>,
    pub due_boot_ms: Option<i64>,
    pub due_wall_ms: Option<i64>,
    pub attempt: i64,
    pub lease_token: Option<String>,
    pub lease_worker: Option<String>,
    pub lease_boot_id: Option<String>,
    pub lease_until_ms: Option<i64>,
    pub before_sha256: Option<Vec<u8>>,
    pub new_sha256: Option<Vec<u8>>,
    pub sent_ms: Option<i64>,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub message: Option<String>,
    pub last_worker: Option<String>,
    pub self_settled_ms: Option<i64>,
    pub updated_ms: i64,
    pub settled_ms: Option<i64>,
    pub due_delay_ms: Option<i64>,
    pub last_lease: Option<String>,
}

impl JobRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<JobRow> {
        Ok(JobRow {
            seq: row.get(0)?,
            job_id: row.get(1)?,
            kind: row.get(2)?,
            uid: row.get(3)?,
            via: row.get(4)?,
            digest: row.get(5)?,
            body: row.get(6)?,
            idempotency_key: row.get(7)?,
            idempotency_digest: row.get(8)?,
            mission_id: row.get(9)?,
            object_id: row.get(10)?,
            vault_path: row.get(11)?,
            commit_id: row.get(12)?,
            provenance: row.get(13)?,
            approval_id: row.get(14)?,
            created_at: row.get(15)?,
            admitted_ms: row.get(16)?,
            state: row.get(17)?,
            hold: row.get(18)?,
            due_boot_id: row.get(19)?,
            due_boot_ms: row.get(20)?,
            due_wall_ms: row.get(21)?,
            attempt: row.get(22)?,
            lease_token: row.get(23)?,
            lease_worker: row.get(24)?,
            lease_boot_id: row.get(25)?,
            lease_until_ms: row.get(26)?,
            before_sha256: row.get(27)?,
            new_sha256: row.get(28)?,
            sent_ms: row.get(29)?,
            code: row.get(30)?,
            detail: row.get(31)?,
            message: row.get(32)?,
            last_worker: row.get(33)?,
            self_settled_ms: row.get(34)?,
            updated_ms: row.get(35)?,
            settled_ms: row.get(36)?,
            due_delay_ms: row.get(37)?,
            last_lease: row.get(38)?,
        })
    }

    /// The state, if the word is one of ours.
    ///
    /// # Errors
    /// [`LedgerError::Unreadable`].
    pub fn state(&self) -> Result<State, LedgerError> {
        State::parse(&self.state).ok_or_else(|| self.unreadable("its state is not a known word"))
    }
    /// The kind, if the word is one of ours.
    ///
    /// # Errors
    /// [`LedgerError::Unreadable`].
    pub fn kind(&self) -> Result<JobKind, LedgerError> {
        JobKind::parse(&self.kind).ok_or_else(|| self.unreadable("its kind is not a known word"))
    }
    /// The lease, if one is held and reads back.
    pub fn lease(&self) -> Option<LeaseToken> {
        self.lease_token.as_deref().and_then(Uuid4::parse).map(LeaseToken)
    }
    /// The code recorded last.
    pub fn code(&self) -> Option<Code> {
        self.code.as_deref().and_then(Code::parse)
    }
    pub(super) fn unreadable(&self, what: &str) -> LedgerError {
        LedgerError::Unreadable {
            job: self.seq,
            what: what.to_owned(),
        }
    }
    /// Bytes the vault held before a send: outer `None` unknown, inner `None` absent.
    pub fn before(&self) -> Option<Option<Sha256>> {
        let bytes = self.before_sha256.as_deref()?;
        if bytes.is_empty() {
            Some(None)
        } else {
            <[u8; 32]>::try_from(bytes).ok().map(|hash| Some(Sha256(hash)))
        }
    }
    /// Bytes a SAVE was sending.
    pub fn new_bytes(&self) -> Option<Sha256> {
        self.new_sha256
            .as_deref()
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
            .map(Sha256)
    }

    /// The stored document, if it still is what was admitted: its digest is the stored digest and every column that was
    /// taken from it still agrees.
    pub fn document(&self, rules: &DocumentRules) -> Option<Job> {
        if sha256(&self.body).0.as_slice() != self.digest.as_slice() {
            return None;
        }
        let job = Job::from_stored(&self.body, rules).ok()?;
        let agrees = job.digest().0.as_slice() == self.digest.as_slice()
            && job.idempotency_digest().0.as_slice() == self.idempotency_digest.as_slice()
            && job.job_id().to_string() == self.job_id
            && job.kind().as_str() == self.kind
            && job.mission_id().to_string() == self.mission_id
            && job.object_id().as_str() == self.object_id
            && job.vault_path().as_str() == self.vault_path
            && job.commit().as_str() == self.commit_id
            && job.provenance().0.as_slice() == self.provenance.as_slice()
            && job.idempotency_key().to_string() == self.idempotency_key
            && job.approval_id().map(|id| id.to_string()) == self.approval_id;
        agrees.then_some(job)
    }

    /// The job under this lease.
    pub(super) fn claimed(&self, token: LeaseToken, until: BootMs, job: Job) -> Claimed {
        Claimed {
            seq: self.seq,
            token,
            until,
            attempt: self.attempt,
            uid: self.uid,
            before: self.before(),
            new: self.new_bytes(),
            job,
        }
    }
}

/// A job under our lease.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The ledger's own number.
    pub seq: i64,
    /// What was asked for, checked against its digest.
    pub job: Job,
    /// The lease.
    pub token: LeaseToken,
    /// Lease end on boot time, as of the claim or the last renewal.
    pub until: BootMs,
    /// Which try this is.
    pub attempt: i64,
    /// Who asked.
    pub uid: u32,
    /// Bytes before a send of an earlier holder (probe only).
    pub before: Option<Option<Sha256>>,
    /// Bytes an earlier holder was sending (probe only).
    pub new: Option<Sha256>,
}
