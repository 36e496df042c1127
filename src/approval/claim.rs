//! The last judgement of job and approval together, at the claim and once more before spending. In: the job, what is
//! stored of its approval, today's approvers and rules, now. Out: proof, or the detail of `delete_denied`.
//!
//! Order: fields → signatures → quorum → times (design 4). The caller adds what only the store knows: spent, void,
//! withdrawn.
//!
//! Not here: the store (ledger/); the source and the vault (roles/delete).

use super::deny::DenyDetail;
use super::envelope::EnvelopeSignature;
use super::matching;
use super::payload::{ApprovalPayload, Payload};
use super::policy::{self, Policy, Quorum};
use super::purpose::Purpose;
use super::verify::{self, Ground, ISSUED_AHEAD_MS_MAX, Unsigned};
use crate::clock::WallMs;
use crate::job::document::DeleteJob;
use std::collections::BTreeSet;

/// What is stored of an approval: the signed bytes and every signature over them, of all its envelopes.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    /// Exactly as signed.
    pub payload_bytes: &'a [u8],
    /// Merged.
    pub signatures: &'a [EnvelopeSignature],
}

/// Proof that this job was approved by enough people, now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Approved {
    approval: ApprovalPayload,
    principals: BTreeSet<String>,
}

impl Approved {
    /// What they signed.
    pub fn approval(&self) -> &ApprovalPayload {
        &self.approval
    }
    /// Those whose signatures hold, for the audit.
    pub fn principals(&self) -> &BTreeSet<String> {
        &self.principals
    }
}

/// Judges job and approval.
///
/// # Errors
/// [`DenyDetail`]; of several the first in the order above.
pub fn judge(
    job: &DeleteJob,
    requester_uid: u32,
    stored: Stored<'_>,
    ground: &Ground<'_>,
    policy: &Policy,
    now: WallMs,
) -> Result<Approved, DenyDetail> {
    // Stored bytes were judged at the door; bytes that no longer pass were changed since, by hand.
    let approval = match Payload::parse(stored.payload_bytes, ground.documents) {
        Ok(Payload::Approval(approval)) => *approval,
        Ok(Payload::Withdrawal(_)) | Err(_) => return Err(DenyDetail::ApprovalMissing),
    };
    matching::compare(job, &approval).map_err(DenyDetail::ApprovalMismatch)?;
    let review = verify::review(
        stored.payload_bytes,
        stored.signatures,
        Purpose::Approval,
        ground,
        now,
    );
    let lost = review.lost.iter().map(|why| lost_detail(*why)).next();
    let Some(approvers) = ground.approvers else {
        return Err(DenyDetail::KeyUnknown);
    };
    if review.signers.is_empty() {
        return Err(lost.unwrap_or(DenyDetail::ApprovalMissing));
    }
    let quorum = policy.judge(&policy::Signed {
        path: &approval.vault_path,
        lasts_ms: approval.lasts_ms(),
        signers: &review.signers,
        approvers,
        requester_uid: Some(requester_uid),
    })?;
    match quorum {
        Quorum::Complete => {}
        Quorum::Incomplete { .. } => return Err(lost.unwrap_or(DenyDetail::QuorumNotMet)),
    }
    if approval.expires_at.wall() <= now {
        return Err(DenyDetail::ApprovalExpired);
    }
    // It passed the door, so the clock has gone back since.
    if approval.issued_at.wall().0 > now.0.saturating_add(ISSUED_AHEAD_MS_MAX) {
        return Err(DenyDetail::ClockUntrusted);
    }
    let principals = review
        .signers
        .into_iter()
        .map(|signer| signer.principal)
        .collect();
    Ok(Approved { approval, principals })
}

/// A signature that does not hold any more, though it did at the door, is not the one that was stored.
fn lost_detail(why: Unsigned) -> DenyDetail {
    match why {
        Unsigned::Invalid(_) => DenyDetail::ApprovalMissing,
        Unsigned::KeyUnknown => DenyDetail::KeyUnknown,
        Unsigned::KeyExpired => DenyDetail::KeyExpired,
    }
}

#[cfg(test)]
#[path = "claim_test.rs"]
mod tests;
