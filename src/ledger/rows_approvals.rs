//! SQL of approvals. All by primary key unless said otherwise.
//!
//! Not here: signatures' meaning (approval/).

pub(super) const GET: &str = "SELECT approval_id, payload, state, issued_ms, expires_ms, epoch, job_id FROM approvals WHERE approval_id = ?1";
pub(super) const INSERT: &str = "INSERT INTO approvals (approval_id, payload, state, issued_ms, expires_ms, epoch, received_ms, updated_ms) \
    VALUES (?1, ?2, 'RECEIVED', ?3, ?4, ?5, ?6, ?6)";
pub(super) const REPLACE: &str = "UPDATE approvals SET payload = ?2, state = 'RECEIVED', issued_ms = ?3, expires_ms = ?4, epoch = ?5, updated_ms = ?6 \
    WHERE approval_id = ?1 AND state IN ('RECEIVED', 'VERIFIED', 'EXPIRED') AND expires_ms <= ?6";
pub(super) const VERIFIED: &str =
    "UPDATE approvals SET state = 'VERIFIED', updated_ms = ?2 WHERE approval_id = ?1 AND state = 'RECEIVED'";
pub(super) const RESERVE: &str = "UPDATE approvals SET state = 'RESERVED', job_id = ?2, updated_ms = ?3 \
    WHERE approval_id = ?1 AND state = 'VERIFIED' AND expires_ms > ?3 AND epoch = ?4 \
    AND NOT EXISTS (SELECT 1 FROM withdrawals w WHERE w.approval_id = ?1)";
pub(super) const EXECUTED: &str = "UPDATE approvals SET state = 'EXECUTED', updated_ms = ?3 WHERE approval_id = ?1 AND job_id = ?2 AND state = 'RESERVED'";
pub(super) const CONSUMED: &str = "UPDATE approvals SET state = 'CONSUMED', updated_ms = ?3 WHERE approval_id = ?1 AND job_id = ?2 AND state IN ('RESERVED', 'EXECUTED')";
pub(super) const EXPIRE: &str = "UPDATE approvals SET state = 'EXPIRED', updated_ms = ?2 WHERE approval_id = ?1 AND state IN ('RECEIVED', 'VERIFIED') AND expires_ms <= ?2";
pub(super) const WITHDRAW: &str = "UPDATE approvals SET state = 'WITHDRAWN', updated_ms = ?2 WHERE approval_id = ?1 AND state IN ('RECEIVED', 'VERIFIED', 'EXPIRED')";
/// Full, after a restore only.
pub(super) const VOID_BEFORE: &str = "UPDATE approvals SET state = 'VOID', updated_ms = ?2 WHERE epoch < ?1 AND state IN ('RECEIVED', 'VERIFIED', 'EXPIRED')";
pub(super) const SIGNATURE: &str = "INSERT INTO signatures (approval_id, key_id, scheme, signature, uid, received_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT (approval_id, key_id) DO UPDATE SET scheme = excluded.scheme, signature = excluded.signature";
pub(super) const SIGNATURES: &str =
    "SELECT key_id, scheme, signature FROM signatures WHERE approval_id = ?1 ORDER BY key_id";
pub(super) const FORGET_SIGNATURES: &str = "DELETE FROM signatures WHERE approval_id = ?1";
pub(super) const NONCE: &str = "SELECT approval_id FROM nonces WHERE nonce = ?1";
pub(super) const TAKE_NONCE: &str = "INSERT INTO nonces (nonce, approval_id) VALUES (?1, ?2)";
pub(super) const WITHDRAWAL: &str = "INSERT INTO withdrawals (approval_id, withdrawn_at, principal, received_ms) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (approval_id) DO NOTHING";
pub(super) const IS_WITHDRAWN: &str = "SELECT 1 FROM withdrawals WHERE approval_id = ?1";
