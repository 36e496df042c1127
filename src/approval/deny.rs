//! Why a DELETE is denied at its gate: the details of `delete_denied` (contract 5). In: nothing. Out: words that never
//! change.
//!
//! Not here: which are final and which wait (design 5; ledger/ and roles/delete).

use std::fmt;

/// A field of the job that the approval binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoundField {
    /// `approval_id`
    ApprovalId,
    /// `mission_id`
    MissionId,
    /// `delete_request_id`
    DeleteRequestId,
    /// `object_id`
    ObjectId,
    /// `vault_path`
    VaultPath,
    /// `expected_commit`
    ExpectedCommit,
    /// `expected_provenance_hash`
    ExpectedProvenanceHash,
}

impl BoundField {
    /// Every bound field, in the order in which they are compared.
    pub const ALL: [BoundField; 7] = [
        BoundField::ApprovalId,
        BoundField::MissionId,
        BoundField::DeleteRequestId,
        BoundField::ObjectId,
        BoundField::VaultPath,
        BoundField::ExpectedCommit,
        BoundField::ExpectedProvenanceHash,
    ];
    /// The field's name in both documents.
    pub fn as_str(self) -> &'static str {
        match self {
            BoundField::ApprovalId => "approval_id",
            BoundField::MissionId => "mission_id",
            BoundField::DeleteRequestId => "delete_request_id",
            BoundField::ObjectId => "object_id",
            BoundField::VaultPath => "vault_path",
            BoundField::ExpectedCommit => "expected_commit",
            BoundField::ExpectedProvenanceHash => "expected_provenance_hash",
        }
    }
}

/// The detail beside `delete_denied`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum DenyDetail {
    /// None on file, or what is on file does not verify.
    ApprovalMissing,
    /// Job and approval differ in this field.
    ApprovalMismatch(BoundField),
    /// Its time is over.
    ApprovalExpired,
    /// It was used.
    ApprovalSpent,
    /// Issued before a restore.
    ApprovalVoid,
    /// Taken back by a signed withdrawal.
    ApprovalWithdrawn,
    /// A key without which the quorum is incomplete is not in the approvers file.
    KeyUnknown,
    /// A key without which the quorum is incomplete is outside its window.
    KeyExpired,
    /// Too few people signed, the approval runs longer than the policy allows, or no rule names the path.
    QuorumNotMet,
    /// Only with the requester's own signature would the quorum be complete.
    SeparateDuty,
    /// The wall clock is behind what was seen before.
    ClockUntrusted,
}

impl DenyDetail {
    /// The word without the field of a mismatch.
    pub fn word(self) -> &'static str {
        match self {
            DenyDetail::ApprovalMissing => "approval_missing",
            DenyDetail::ApprovalMismatch(_) => "approval_mismatch",
            DenyDetail::ApprovalExpired => "approval_expired",
            DenyDetail::ApprovalSpent => "approval_spent",
            DenyDetail::ApprovalVoid => "approval_void",
            DenyDetail::ApprovalWithdrawn => "approval_withdrawn",
            DenyDetail::KeyUnknown => "key_unknown",
            DenyDetail::KeyExpired => "key_expired",
            DenyDetail::QuorumNotMet => "quorum_not_met",
            DenyDetail::SeparateDuty => "separate_duty",
            DenyDetail::ClockUntrusted => "clock_untrusted",
        }
    }
}

/// As in receipts and audit rows: `approval_mismatch:vault_path`.
impl fmt::Display for DenyDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DenyDetail::ApprovalMismatch(field) => write!(f, "approval_mismatch:{}", field.as_str()),
            DenyDetail::ApprovalMissing
            | DenyDetail::ApprovalExpired
            | DenyDetail::ApprovalSpent
            | DenyDetail::ApprovalVoid
            | DenyDetail::ApprovalWithdrawn
            | DenyDetail::KeyUnknown
            | DenyDetail::KeyExpired
            | DenyDetail::QuorumNotMet
            | DenyDetail::SeparateDuty
            | DenyDetail::ClockUntrusted => f.write_str(self.word()),
        }
    }
}
