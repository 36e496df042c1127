//! The append-only, hash-chained record. In: what was decided. Out: a row hashed over the row before it; proof that none was altered.
//!
//! The hash of a row is SHA-256 over `lockgate-audit-v1\n`, the previous row's 32 bytes, and each field in order as
//! `LENGTH:BYTES,` in decimal and text form, an absent field as `-,`. Anyone can recompute it from `audit export`.
//! Not here: where a head is kept (epoch.rs, an operator's other machine).

use super::rows_audit as sql;
use super::tx::Tx;
use crate::job::{Code, Sha256, State};
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::Digest;

/// What a row of the audit says happened (design 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditKind {
    /// A requester asked. Never an authorization.
    Requested,
    /// Job and approval verified.
    Authorized,
    /// Intent durable, sending.
    Sent,
    /// Effect confirmed.
    Executed,
    /// What we recorded.
    Settled,
    /// A document that never became a job.
    Refused,
    /// An operator's verb, UID and reason.
    Operator,
}

impl AuditKind {
    /// The stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            AuditKind::Requested => "REQUESTED",
            AuditKind::Authorized => "AUTHORIZED",
            AuditKind::Sent => "SENT",
            AuditKind::Executed => "EXECUTED",
            AuditKind::Settled => "SETTLED",
            AuditKind::Refused => "REFUSED",
            AuditKind::Operator => "OPERATOR",
        }
    }
}

/// One row to append; ids as text, because that is what is stored and hashed.
#[derive(Debug, Clone, Default)]
pub struct Entry<'a> {
    /// The ledger's own number of the job.
    pub job_seq: Option<i64>,
    /// The job's id.
    pub job_id: Option<&'a str>,
    /// Its mission.
    pub mission_id: Option<&'a str>,
    /// Its `job_type`.
    pub job_type: Option<&'a str>,
    /// What it is about.
    pub object_id: Option<&'a str>,
    /// State before.
    pub from: Option<State>,
    /// State after.
    pub to: Option<State>,
    /// The process that did it.
    pub worker: Option<&'a str>,
    /// The attempt it was.
    pub attempt: Option<i64>,
    /// The code of the decision.
    pub code: Option<Code>,
    /// The approval it concerns.
    pub approval_id: Option<&'a str>,
    /// The requester or operator.
    pub uid: Option<u32>,
    /// The job's provenance hash.
    pub provenance: Option<Sha256>,
    /// A detail, `via gateway`, or an operator's verb and reason.
    pub note: Option<&'a str>,
}

/// A row as it stands in the table.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Position in the chain.
    pub seq: i64,
    /// Wall milliseconds.
    pub at_ms: i64,
    /// The ledger's own number of the job.
    pub job_seq: Option<i64>,
    /// The job's id.
    pub job_id: Option<String>,
    /// Its mission.
    pub mission_id: Option<String>,
    /// Its `job_type`.
    pub job_type: Option<String>,
    /// What it is about.
    pub object_id: Option<String>,
    /// Kind word.
    pub kind: String,
    /// State before.
    pub from: Option<String>,
    /// State after.
    pub to: Option<String>,
    /// The process that did it.
    pub worker: Option<String>,
    /// The attempt it was.
    pub attempt: Option<i64>,
    /// The code of the decision.
    pub code: Option<String>,
    /// The approval it concerns.
    pub approval_id: Option<String>,
    /// The requester or operator.
    pub uid: Option<i64>,
    /// The job's provenance hash.
    pub provenance: Option<Vec<u8>>,
    /// Detail, route, or an operator's verb and reason.
    pub note: Option<String>,
    /// Hash of the row before.
    pub prev_hash: Vec<u8>,
    /// Hash of this row.
    pub hash: Vec<u8>,
}

impl Stored {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
        Ok(Stored {
            seq: row.get(0)?,
            at_ms: row.get(1)?,
            job_seq: row.get(2)?,
            job_id: row.get(3)?,
            mission_id: row.get(4)?,
            job_type: row.get(5)?,
            object_id: row.get(6)?,
            kind: row.get(7)?,
            from: row.get(8)?,
            to: row.get(9)?,
            worker: row.get(10)?,
            attempt: row.get(11)?,
            code: row.get(12)?,
            approval_id: row.get(13)?,
            uid: row.get(14)?,
            provenance: row.get(15)?,
            note: row.get(16)?,
            prev_hash: row.get(17)?,
            hash: row.get(18)?,
        })
    }

    /// The hash this row must have after `prev`.
    pub fn expected_hash(&self, prev: &[u8]) -> [u8; 32] {
        let mut chain = Chain::after(prev);
        chain.number(Some(self.at_ms));
        chain.number(self.job_seq);
        chain.text(self.job_id.as_deref());
        chain.text(self.mission_id.as_deref());
        chain.text(self.job_type.as_deref());
        chain.text(self.object_id.as_deref());
        chain.text(Some(&self.kind));
        chain.text(self.from.as_deref());
        chain.text(self.to.as_deref());
        chain.text(self.worker.as_deref());
        chain.number(self.attempt);
        chain.text(self.code.as_deref());
        chain.text(self.approval_id.as_deref());
        chain.number(self.uid);
        chain.bytes(self.provenance.as_deref());
        chain.text(self.note.as_deref());
        chain.end()
    }
}

struct Chain(sha2::Sha256);

impl Chain {
    fn after(prev: &[u8]) -> Chain {
        let mut hash = sha2::Sha256::new();
        hash.update(b"lockgate-audit-v1\n");
        hash.update(prev);
        Chain(hash)
    }
    fn bytes(&mut self, field: Option<&[u8]>) {
        match field {
            None => self.0.update(b"-,"),
            Some(bytes) => {
                self.0.update(bytes.len().to_string().as_bytes());
                self.0.update(b":");
                self.0.update(bytes);
                self.0.update(b",");
            }
        }
    }
    fn text(&mut self, field: Option<&str>) {
        self.bytes(field.map(str::as_bytes));
    }
    fn number(&mut self, field: Option<i64>) {
        self.text(field.map(|n| n.to_string()).as_deref());
    }
    fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The end of the chain: how many rows, and the hash of the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Rows so far.
    pub size: i64,
    /// Hash of the last one; zeros when there is none.
    pub hash: Sha256,
}

/// Reads the end of the chain.
pub fn head(db: &Connection) -> rusqlite::Result<Head> {
    let tail = db
        .prepare_cached(sql::TAIL)?
        .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?)))
        .optional()?;
    Ok(tail.map_or(
        Head {
            size: 0,
            hash: Sha256([0; 32]),
        },
        |(size, hash)| Head {
            size,
            hash: Sha256(hash),
        },
    ))
}

/// Appends one row to the chain, inside the transaction that does what it says.
pub(super) fn append(tx: &mut Tx<'_>, kind: AuditKind, entry: &Entry<'_>) -> rusqlite::Result<()> {
    let prev = match tx.tail {
        Some(hash) => hash,
        None => head(tx.db)?.hash.0,
    };
    let uid = entry.uid.map(i64::from);
    let (from, to) = (entry.from.map(State::as_str), entry.to.map(State::as_str));
    let code = entry.code.map(Code::as_str);
    let provenance = entry.provenance.map(|hash| hash.0);
    let mut chain = Chain::after(&prev);
    chain.number(Some(tx.now.0));
    chain.number(entry.job_seq);
    chain.text(entry.job_id);
    chain.text(entry.mission_id);
    chain.text(entry.job_type);
    chain.text(entry.object_id);
    chain.text(Some(kind.as_str()));
    chain.text(from);
    chain.text(to);
    chain.text(entry.worker);
    chain.number(entry.attempt);
    chain.text(code);
    chain.text(entry.approval_id);
    chain.number(uid);
    chain.bytes(provenance.as_ref().map(<[u8; 32]>::as_slice));
    chain.text(entry.note);
    let hash = chain.end();
    tx.db.prepare_cached(sql::APPEND)?.execute(params![
        tx.now.0,
        entry.job_seq,
        entry.job_id,
        entry.mission_id,
        entry.job_type,
        entry.object_id,
        kind.as_str(),
        from,
        to,
        entry.worker,
        entry.attempt,
        code,
        entry.approval_id,
        uid,
        provenance,
        entry.note,
        prev,
        hash
    ])?;
    tx.tail = Some(hash);
    Ok(())
}
