//! Whether an approval is for this very job. In: both. Out: yes, or the first field that differs.
//!
//! Not here: anything about signatures or time.

use super::deny::BoundField;
use super::payload::ApprovalPayload;
use crate::job::document::DeleteJob;

/// Compares every bound field, one by one.
///
/// # Errors
/// The first field in which they differ.
pub fn compare(job: &DeleteJob, approval: &ApprovalPayload) -> Result<(), BoundField> {
    for field in BoundField::ALL {
        let equal = match field {
            BoundField::ApprovalId => job.approval_id == approval.approval_id,
            BoundField::MissionId => job.mission_id == approval.mission_id,
            BoundField::DeleteRequestId => job.delete_request_id == approval.delete_request_id,
            BoundField::ObjectId => job.object_id == approval.object_id,
            BoundField::VaultPath => job.vault_path == approval.vault_path,
            BoundField::ExpectedCommit => job.expected_commit == approval.expected_commit,
            BoundField::ExpectedProvenanceHash => {
                job.expected_provenance_hash == approval.expected_provenance_hash
            }
        };
        if !equal {
            return Err(field);
        }
    }
    Ok(())
}
