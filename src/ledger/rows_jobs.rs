//! SQL of jobs, fences and what is known of a path. Each statement names the index that serves it; a claim must cost the same
//! with ten and with ten million settled jobs.
//!
//! Not here: when a statement is right to run (admit.rs, claim.rs, settle.rs).

/// Columns of [`super::jobs::JobRow`], in its order.
macro_rules! job_columns {
    () => {
        "seq, job_id, kind, uid, via, digest, body, idempotency_key, idempotency_digest, mission_id, object_id, vault_path, \
         commit_id, provenance, approval_id, created_at, admitted_ms, state, hold, due_boot_id, due_boot_ms, due_wall_ms, \
         attempt, lease_token, lease_worker, lease_boot_id, lease_until_ms, before_sha256, new_sha256, sent_ms, code, detail, \
         message, last_worker, self_settled_ms, updated_ms, settled_ms, due_delay_ms, last_lease"
    };
}
pub(super) use job_columns;

/// Primary key.
pub(super) const INSERT: &str = "INSERT INTO jobs (job_id, kind, uid, via, digest, body, idempotency_key, idempotency_digest, mission_id, object_id, \
    vault_path, commit_id, provenance, approval_id, created_at, admitted_ms, state, hold, updated_ms) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, 'READY', ?17, ?16)";
/// `jobs.job_id`.
pub(super) const BY_ID: &str = concat!("SELECT ", job_columns!(), " FROM jobs WHERE job_id = ?1");
/// `jobs.idempotency_key`.
pub(super) const BY_KEY: &str = concat!("SELECT ", job_columns!(), " FROM jobs WHERE idempotency_key = ?1");
/// Primary key.
pub(super) const BY_SEQ: &str = concat!("SELECT ", job_columns!(), " FROM jobs WHERE seq = ?1");
/// `jobs_by_digest`.
pub(super) const BY_DIGEST: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE digest = ?1 AND uid = ?2 ORDER BY seq LIMIT 1"
);
/// `jobs_ready`.
pub(super) const CANDIDATES: &str = "SELECT seq, vault_path, approval_id FROM jobs WHERE state = 'READY' AND hold IS NULL ORDER BY seq LIMIT ?1";
/// `fences` primary key.
pub(super) const FENCE: &str = "INSERT OR IGNORE INTO fences (vault_path, job_seq) VALUES (?1, ?2)";
/// `fences` primary key.
pub(super) const FENCE_HOLDER: &str = "SELECT job_seq FROM fences WHERE vault_path = ?1";
/// `fences` primary key.
pub(super) const UNFENCE: &str = "DELETE FROM fences WHERE vault_path = ?1 AND job_seq = ?2";
/// `fences`, small: only what is in flight or unknown.
pub(super) const FENCED: &str = "SELECT vault_path FROM fences ORDER BY vault_path";
/// Primary key.
pub(super) const PARK: &str =
    "UPDATE jobs SET hold = 'fence', updated_ms = ?2 WHERE seq = ?1 AND state = 'READY' AND hold IS NULL";
/// `jobs_waiting_fence`, `fences` primary key: the oldest that waits, if nobody holds the path.
pub(super) const UNPARK: &str = "UPDATE jobs SET hold = NULL WHERE seq = (SELECT seq FROM jobs WHERE state = 'READY' AND hold = 'fence' AND vault_path = ?1 ORDER BY seq LIMIT 1) \
    AND NOT EXISTS (SELECT 1 FROM fences WHERE vault_path = ?1)";
/// Primary key.
pub(super) const CLAIM: &str = concat!(
    "UPDATE jobs SET state = 'CLAIMED', attempt = attempt + 1, lease_token = ?2, lease_worker = ?3, lease_boot_id = ?4, \
     lease_until_ms = ?5, hold = NULL, code = NULL, detail = NULL, message = NULL, updated_ms = ?6 \
     WHERE seq = ?1 AND state = 'READY' AND hold IS NULL RETURNING ",
    job_columns!()
);
/// Primary key; repeats state and lease token.
pub(super) const EXECUTING: &str = "UPDATE jobs SET state = 'EXECUTING', before_sha256 = ?3, new_sha256 = ?4, sent_ms = ?5, updated_ms = ?5 \
    WHERE seq = ?1 AND state = 'CLAIMED' AND lease_token = ?2";
/// Primary key; repeats state and lease token.
pub(super) const LEAVE: &str = "UPDATE jobs SET state = ?4, hold = ?5, due_boot_id = ?6, due_boot_ms = ?7, due_wall_ms = ?8, attempt = ?9, \
    last_lease = lease_token, lease_token = NULL, lease_worker = NULL, lease_boot_id = NULL, lease_until_ms = NULL, code = ?10, detail = ?11, message = ?12, \
    last_worker = ?13, self_settled_ms = ?14, updated_ms = ?15, settled_ms = ?16, due_delay_ms = ?17 WHERE seq = ?1 AND state = ?2 AND lease_token = ?3";
/// Primary key; repeats the state.
pub(super) const LEAVE_UNLEASED: &str = "UPDATE jobs SET state = ?3, hold = ?4, attempt = ?5, code = ?6, detail = ?7, message = ?8, updated_ms = ?9, settled_ms = ?10 \
    WHERE seq = ?1 AND state = ?2 AND lease_token IS NULL";
/// Primary key; repeats state and lease token.
pub(super) const TAKE_OVER: &str = "UPDATE jobs SET state = 'EXECUTING', lease_token = ?3, lease_worker = ?4, lease_boot_id = ?5, lease_until_ms = ?6, updated_ms = ?7 \
    WHERE seq = ?1 AND state = 'EXECUTING' AND lease_token IS ?2";
/// Primary key; repeats the lease token.
pub(super) const RENEW: &str = "UPDATE jobs SET lease_until_ms = ?3 WHERE seq = ?1 AND lease_token = ?2 AND state IN ('CLAIMED', 'EXECUTING')";
/// `jobs_leased`.
pub(super) const HOLDERS: &str =
    "SELECT DISTINCT lease_worker, lease_boot_id FROM jobs WHERE state IN ('CLAIMED', 'EXECUTING')";
/// `jobs_leased`.
pub(super) const HELD_BY: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE lease_worker IS ?1 AND state IN ('CLAIMED', 'EXECUTING') ORDER BY seq LIMIT ?2"
);
/// `jobs_waiting_retry`.
pub(super) const RETRY_DUE: &str = "UPDATE jobs SET hold = NULL WHERE state = 'READY' AND hold = 'retry' AND due_boot_id = ?1 AND due_boot_ms <= ?2";
/// `jobs_waiting_retry`.
pub(super) const RETRY_NEXT: &str =
    "SELECT min(due_boot_ms) FROM jobs WHERE state = 'READY' AND hold = 'retry' AND due_boot_id = ?1";
/// `jobs_waiting_retry`: times of another boot, carried over by wall time and never longer than the nominal delay.
pub(super) const RETRY_REBASE: &str = "UPDATE jobs SET due_boot_id = ?1, due_boot_ms = ?2 + max(0, min(due_wall_ms - ?3, due_delay_ms)) \
    WHERE state = 'READY' AND hold = 'retry' AND due_boot_id <> ?1";
/// Primary key.
pub(super) const RELEASE_HOLD: &str =
    "UPDATE jobs SET hold = NULL, detail = NULL WHERE seq = ?1 AND state = 'READY' AND hold = ?2";
/// Primary key.
pub(super) const SET_HOLD: &str = "UPDATE jobs SET hold = ?2, detail = ?3 WHERE seq = ?1 AND state = 'READY'";
/// `jobs_waiting_approval`.
pub(super) const APPROVAL_OVERDUE: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'READY' AND hold = 'approval' AND admitted_ms <= ?1 ORDER BY admitted_ms LIMIT ?2"
);
/// `jobs_waiting_approval`.
pub(super) const APPROVAL_OLDEST: &str =
    "SELECT min(admitted_ms) FROM jobs WHERE state = 'READY' AND hold = 'approval'";
/// `jobs_ready_all`.
pub(super) const EXPIRED: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'READY' AND admitted_ms <= ?1 ORDER BY seq LIMIT ?2"
);
/// `jobs_ready_by_approval`.
pub(super) const READY_BY_APPROVAL: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'READY' AND approval_id = ?1 ORDER BY seq LIMIT 1000"
);
/// `paths` primary key.
pub(super) const PATH: &str =
    "SELECT saved_sha256, saved_commit, adopted, adopted_sha256 FROM paths WHERE vault_path = ?1";
/// `paths` primary key.
pub(super) const PATH_SAVED: &str = "INSERT INTO paths (vault_path, saved_sha256, saved_commit, adopted, updated_ms) VALUES (?1, ?2, ?3, 0, ?4) \
    ON CONFLICT (vault_path) DO UPDATE SET saved_sha256 = excluded.saved_sha256, saved_commit = excluded.saved_commit, adopted = 0, \
    adopted_sha256 = NULL, updated_ms = excluded.updated_ms";
/// `paths` primary key.
pub(super) const PATH_ADOPTED: &str = "INSERT INTO paths (vault_path, adopted, adopted_sha256, updated_ms) VALUES (?1, 1, ?2, ?3) \
    ON CONFLICT (vault_path) DO UPDATE SET adopted = 1, adopted_sha256 = excluded.adopted_sha256, updated_ms = excluded.updated_ms";
/// `requesters` primary key.
pub(super) const REQUESTER: &str = "INSERT INTO requesters (uid, live_jobs, live_bytes) VALUES (?1, max(?2, 0), max(?3, 0)) \
    ON CONFLICT (uid) DO UPDATE SET live_jobs = max(live_jobs + ?2, 0), live_bytes = max(live_bytes + ?3, 0)";
/// `requesters` primary key.
pub(super) const REQUESTER_LIVE: &str = "SELECT live_jobs, live_bytes FROM requesters WHERE uid = ?1";
