//! Jobs, receipts and audit rows as JSON. In: rows. Out: values with the field names of the contract.
//!
//! Not here: who may see them (http/), what is stored (ledger/).

use crate::clock::WallMs;
use crate::http::json_int;
use crate::job::receipt::{ReceiptState, state_sentence};
use crate::job::time::format_utc;
use crate::job::{Sha256, explain};
use crate::ledger::audit::Stored;
use crate::ledger::jobs::JobRow;
use crate::ledger::verify::Report;
use serde_json::{Value, json};

/// 32 stored bytes as hex.
pub fn hex(bytes: &[u8]) -> String {
    <[u8; 32]>::try_from(bytes).map_or_else(|_| String::new(), |hash| Sha256(hash).to_string())
}

/// A wall time as text.
pub fn time(at_ms: i64) -> String {
    format_utc(WallMs(at_ms))
}

/// What was said of this very job, or what its code or state means.
fn message(row: &JobRow) -> Option<&str> {
    let said = row.message.as_deref();
    let by_code = || {
        row.code()
            .map(|code| explain::sentence(code, row.detail.as_deref()))
    };
    let by_hold = || match row.hold.as_deref() {
        Some("approval") => Some("it waits for an approval; `lockgate why JOB` names who could sign"),
        Some("retry") => Some("it waits for its next try; `lockgate why JOB` tells when"),
        Some("fence") => Some("another job holds its path; `lockgate why JOB` tells which"),
        Some(_) | None => None,
    };
    let by_state = || ReceiptState::parse(&row.state).map(state_sentence);
    said.or_else(by_code).or_else(by_hold).or_else(by_state)
}

/// The receipt of contract 4.
pub fn receipt(row: &JobRow) -> Value {
    json!({
        "job_id": row.job_id,
        "digest": hex(&row.digest),
        "job_type": row.kind,
        "object_id": row.object_id,
        "vault_path": row.vault_path,
        "commit": row.commit_id,
        "state": row.state,
        "code": row.code,
        "detail": row.detail,
        "message": message(row),
        "attempt": row.attempt,
        "created_at": row.created_at,
        "updated_at": time(row.updated_ms),
        "settled_at": row.settled_ms.map(time),
    })
}

/// What an operator is shown of a job: the receipt and what only operators need.
pub fn job(row: &JobRow) -> Value {
    let mut value = receipt(row);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("seq".to_owned(), json_int(row.seq));
        fields.insert("uid".to_owned(), json!(row.uid));
        fields.insert("via".to_owned(), json!(row.via));
        fields.insert("mission_id".to_owned(), json!(row.mission_id));
        fields.insert("approval_id".to_owned(), json!(row.approval_id));
        fields.insert("hold".to_owned(), json!(row.hold));
        fields.insert(
            "worker".to_owned(),
            json!(row.lease_worker.as_ref().or(row.last_worker.as_ref())),
        );
        fields.insert("admitted_at".to_owned(), json!(time(row.admitted_ms)));
        fields.insert("sent_at".to_owned(), json!(row.sent_ms.map(time)));
    }
    value
}

/// One audit row.
pub fn audit(row: &Stored) -> Value {
    json!({
        "seq": json_int(row.seq),
        "at": time(row.at_ms),
        "at_ms": json_int(row.at_ms),
        "job_seq": row.job_seq.map(json_int),
        "job_id": row.job_id,
        "mission_id": row.mission_id,
        "job_type": row.job_type,
        "object_id": row.object_id,
        "kind": row.kind,
        "from": row.from,
        "to": row.to,
        "worker": row.worker,
        "attempt": row.attempt,
        "code": row.code,
        "approval_id": row.approval_id,
        "uid": row.uid,
        "provenance": row.provenance.as_deref().map(hex),
        "note": row.note,
        "prev_hash": hex(&row.prev_hash),
        "hash": hex(&row.hash),
    })
}

/// What a verification found.
pub fn verdict(report: &Report) -> Value {
    json!({
        "ok": report.found == 0,
        "rows": json_int(report.rows),
        "jobs": json_int(report.jobs),
        "head": report.head.map(|hash| hash.to_string()),
        "found": report.found,
        "findings": report.findings,
    })
}
