//! SQL of what people and requesters are shown, and of answers kept for documents that never became a job.
//!
//! Not here: the shape of the answers (views.rs).

use super::rows_jobs::job_columns;

/// `submissions (uid, digest)`.
pub(super) const SUBMISSION_PUT: &str = "INSERT INTO submissions (uid, digest, accepted, code, pointer, message, subject, at_ms) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (uid, digest) DO UPDATE SET accepted = excluded.accepted, code = excluded.code, \
    pointer = excluded.pointer, message = excluded.message, subject = excluded.subject, times = times + 1, at_ms = excluded.at_ms RETURNING times";
/// Primary key.
pub(super) const SUBMISSION_TRIM: &str =
    "DELETE FROM submissions WHERE seq <= (SELECT max(seq) FROM submissions) - ?1";
/// `submissions (uid, digest)`.
pub(super) const SUBMISSION: &str =
    "SELECT accepted, code, pointer, message, subject, at_ms FROM submissions WHERE uid = ?1 AND digest = ?2";
/// `submissions (uid, digest)`.
pub(super) const SUBMISSION_ASKED: &str =
    "UPDATE submissions SET asked = ?3 WHERE uid = ?1 AND digest = ?2 AND asked IS NOT ?3";
/// `submissions_by_asked`.
pub(super) const ANSWERED_BY: &str = "SELECT subject FROM submissions WHERE asked = ?1 AND uid = ?2 AND accepted = 1 ORDER BY seq DESC LIMIT 1";
/// Primary key, newest first.
pub(super) const PAGE: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2"
);
/// The partial index of each rare state, or the primary key for SUCCEEDED (dense).
pub(super) const PAGE_READY: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'READY' AND seq < ?1 ORDER BY seq DESC LIMIT ?2"
);
pub(super) const PAGE_CLAIMED: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state IN ('CLAIMED', 'EXECUTING') AND state = 'CLAIMED' AND seq < ?1 ORDER BY seq DESC LIMIT ?2"
);
pub(super) const PAGE_EXECUTING: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state IN ('CLAIMED', 'EXECUTING') AND state = 'EXECUTING' AND seq < ?1 ORDER BY seq DESC LIMIT ?2"
);
pub(super) const PAGE_FAILED: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'FAILED' AND seq < ?1 ORDER BY seq DESC LIMIT ?2"
);
pub(super) const PAGE_REJECTED: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'REJECTED' AND seq < ?1 ORDER BY seq DESC LIMIT ?2"
);
pub(super) const PAGE_UNKNOWN: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'OUTCOME_UNKNOWN' AND seq < ?1 ORDER BY seq DESC LIMIT ?2"
);
pub(super) const PAGE_SUCCEEDED: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'SUCCEEDED' AND seq < ?1 ORDER BY seq DESC LIMIT ?2"
);
