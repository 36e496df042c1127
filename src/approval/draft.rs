//! The approval that a DELETE needs, ready to be signed. In: the job, now, how long it shall last. Out: the payload, with a fresh nonce.
//!
//! Not here: signing (a separate program does), how long the rules allow (`policy`).

use super::payload::ApprovalPayload;
use crate::clock::WallMs;
use crate::job::Nonce;
use crate::job::document::DeleteJob;
use crate::job::time::{Timestamp, format_utc};

/// How long a draft lasts where the rules do not say less, milliseconds.
pub const DRAFT_LASTS_MS: i64 = 24 * 3600 * 1000;

/// Drafts the approval of exactly this delete, from now on.
///
/// `None` for a clock outside the years 1970–9999, or a kernel without random bytes.
pub fn draft(job: &DeleteJob, now: WallMs, lasts_ms: i64) -> Option<ApprovalPayload> {
    // Whole seconds: people read these times before they sign.
    let start = now.0 - now.0.rem_euclid(1000);
    let time = |ms: i64| Timestamp::parse(&format_utc(WallMs(ms)));
    Some(ApprovalPayload {
        approval_id: job.approval_id,
        mission_id: job.mission_id,
        delete_request_id: job.delete_request_id,
        object_id: job.object_id.clone(),
        vault_path: job.vault_path.clone(),
        expected_commit: job.expected_commit.clone(),
        expected_provenance_hash: job.expected_provenance_hash,
        nonce: Nonce::random()?,
        issued_at: time(start)?,
        expires_at: time(start.saturating_add(lasts_ms))?,
    })
}
