//! SQL of the audit, the outbox and the counts. Each statement names the index that serves it.
//!
//! Not here: what is hashed (audit.rs).

/// Primary key, last entry.
pub(super) const TAIL: &str = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1";
/// Primary key.
pub(super) const APPEND: &str = "INSERT INTO audit (at_ms, job_seq, job_id, mission_id, job_type, object_id, kind, from_state, to_state, worker, \
    attempt, code, approval_id, uid, provenance, note, prev_hash, hash) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
/// `audit_by_job`.
pub(super) const LAST_TO: &str = "SELECT to_state, attempt FROM audit WHERE job_seq = ?1 AND to_state IS NOT NULL ORDER BY seq DESC LIMIT 1";
/// Primary key range.
pub(super) const PAGE: &str = "SELECT seq, at_ms, job_seq, job_id, mission_id, job_type, object_id, kind, from_state, to_state, worker, attempt, code, \
    approval_id, uid, provenance, note, prev_hash, hash FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2";
/// `audit_by_job`.
pub(super) const OF_JOB: &str = "SELECT seq, at_ms, job_seq, job_id, mission_id, job_type, object_id, kind, from_state, to_state, worker, attempt, code, \
    approval_id, uid, provenance, note, prev_hash, hash FROM audit WHERE job_seq = ?1 ORDER BY seq LIMIT 1000";
/// Primary key.
pub(super) const BY_SEQ: &str = "SELECT hash FROM audit WHERE seq = ?1";
/// `outbox.event_id`.
pub(super) const EVENT: &str = "INSERT INTO outbox (event_id, type, aggregate_type, aggregate_id, correlation_id, payload, occurred_ms, epoch) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
/// Full, after a restore only.
pub(super) const VOID_EVENTS: &str = "UPDATE outbox SET void = 1 WHERE void = 0 AND epoch < ?1";
/// Primary key.
pub(super) const COUNT: &str = "INSERT INTO counts (name, label, n) VALUES (?1, ?2, ?3) ON CONFLICT (name, label) DO UPDATE SET n = n + excluded.n";
/// Primary key.
pub(super) const COUNTS: &str = "SELECT name, label, n FROM counts ORDER BY name, label";
