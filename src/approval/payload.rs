//! The two signed documents. In: the bytes that were signed. Out: typed fields; bytes that are not their own RFC 8785 form
//! are refused, so that one document has one signed form.
//!
//! Not here: the signatures over them (`verify`).

use super::purpose::Purpose;
use crate::clock::WallMs;
use crate::job::canonical::canonical;
use crate::job::document::{DocumentRules, object_id, vault_path};
use crate::job::fields::{FieldSpec, FieldType, Fields};
use crate::job::json::{self, Value};
use crate::job::path::{ObjectId, VaultPath};
use crate::job::time::{Timestamp, format_utc};
use crate::job::{ApprovalId, Code, CommitId, DeleteRequestId, MissionId, Nonce, Refusal, Sha256};

/// The one version of approval payloads.
pub const APPROVAL_VERSION: i64 = 1;
/// The one version of withdrawal payloads.
pub const WITHDRAWAL_VERSION: i64 = 1;
/// The one operation a person can approve.
pub const OPERATION: &str = "DELETE";

const APPROVAL_FIELDS: [FieldSpec; 12] = [
    ("approval_version", FieldType::Int),
    ("approval_id", FieldType::Text),
    ("mission_id", FieldType::Text),
    ("delete_request_id", FieldType::Text),
    ("operation", FieldType::Text),
    ("object_id", FieldType::Text),
    ("vault_path", FieldType::Text),
    ("expected_commit", FieldType::Text),
    ("expected_provenance_hash", FieldType::Text),
    ("nonce", FieldType::Text),
    ("issued_at", FieldType::Text),
    ("expires_at", FieldType::Text),
];

const WITHDRAWAL_FIELDS: [FieldSpec; 3] = [
    ("withdrawal_version", FieldType::Int),
    ("approval_id", FieldType::Text),
    ("withdrawn_at", FieldType::Text),
];

/// What one approval says: this object, this path, this state of it, once, within this time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPayload {
    /// Names the approval, for ever.
    pub approval_id: ApprovalId,
    /// The mission of the job.
    pub mission_id: MissionId,
    /// The request behind the job.
    pub delete_request_id: DeleteRequestId,
    /// The object in the source.
    pub object_id: ObjectId,
    /// What is removed.
    pub vault_path: VaultPath,
    /// The commit at which the object is what the vault holds.
    pub expected_commit: CommitId,
    /// Hash over commit, content, object, path and repository.
    pub expected_provenance_hash: Sha256,
    /// Made by whoever drafts; never used twice.
    pub nonce: Nonce,
    /// From here on.
    pub issued_at: Timestamp,
    /// Until before here.
    pub expires_at: Timestamp,
}

impl ApprovalPayload {
    /// The bytes to sign.
    pub fn to_canonical(&self) -> Vec<u8> {
        object([
            ("approval_version", Value::Int(APPROVAL_VERSION)),
            ("approval_id", text(&self.approval_id)),
            ("mission_id", text(&self.mission_id)),
            ("delete_request_id", text(&self.delete_request_id)),
            ("operation", text(&OPERATION)),
            ("object_id", text(&self.object_id)),
            ("vault_path", text(&self.vault_path)),
            ("expected_commit", text(&self.expected_commit)),
            ("expected_provenance_hash", text(&self.expected_provenance_hash)),
            ("nonce", text(&self.nonce)),
            ("issued_at", text(&self.issued_at)),
            ("expires_at", text(&self.expires_at)),
        ])
    }
    /// From issued_at to expires_at, milliseconds; what `max_age` bounds.
    pub fn lasts_ms(&self) -> i64 {
        self.expires_at.wall().0.saturating_sub(self.issued_at.wall().0)
    }

    fn read(value: &Value, rules: &DocumentRules) -> Result<ApprovalPayload, Refusal> {
        let fields = Fields::of(value, "")?;
        fields.version("approval_version", APPROVAL_VERSION)?;
        if fields.text("operation")? != OPERATION {
            return Err(fields.refuse(
                Code::UnknownJobType,
                "operation",
                "operation is DELETE, in exactly that form",
            ));
        }
        fields.exactly(&APPROVAL_FIELDS)?;
        Ok(ApprovalPayload {
            approval_id: ApprovalId(fields.uuid("approval_id")?),
            mission_id: MissionId(fields.uuid("mission_id")?),
            delete_request_id: DeleteRequestId(fields.uuid("delete_request_id")?),
            object_id: object_id(&fields, rules)?,
            vault_path: vault_path(&fields, rules)?,
            expected_commit: fields.commit("expected_commit")?,
            expected_provenance_hash: fields.sha256("expected_provenance_hash")?,
            nonce: fields.nonce("nonce")?,
            issued_at: fields.time("issued_at")?,
            expires_at: fields.time("expires_at")?,
        })
    }
}

/// What a withdrawal says: that approval no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawalPayload {
    /// The approval taken back.
    pub approval_id: ApprovalId,
    /// When its signer wrote it.
    pub withdrawn_at: Timestamp,
}

impl WithdrawalPayload {
    /// A new one, written now.
    pub fn new(approval_id: ApprovalId, now: WallMs) -> Option<WithdrawalPayload> {
        Some(WithdrawalPayload {
            approval_id,
            withdrawn_at: Timestamp::parse(&format_utc(now))?,
        })
    }
    /// The bytes to sign.
    pub fn to_canonical(&self) -> Vec<u8> {
        object([
            ("withdrawal_version", Value::Int(WITHDRAWAL_VERSION)),
            ("approval_id", text(&self.approval_id)),
            ("withdrawn_at", text(&self.withdrawn_at)),
        ])
    }

    fn read(value: &Value) -> Result<WithdrawalPayload, Refusal> {
        let fields = Fields::of(value, "")?;
        fields.version("withdrawal_version", WITHDRAWAL_VERSION)?;
        fields.exactly(&WITHDRAWAL_FIELDS)?;
        Ok(WithdrawalPayload {
            approval_id: ApprovalId(fields.uuid("approval_id")?),
            withdrawn_at: fields.time("withdrawn_at")?,
        })
    }
}

/// Either document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// One delete may happen.
    Approval(Box<ApprovalPayload>),
    /// It may not.
    Withdrawal(WithdrawalPayload),
}

impl Payload {
    /// What the bytes are meant as, by their version key; the first thing to know, as it decides the namespace.
    ///
    /// # Errors
    /// `too_large`, `malformed_json`, `too_deep`, `duplicate_key`; nothing else is judged.
    pub fn meant(bytes: &[u8]) -> Result<Purpose, Refusal> {
        Ok(purpose_of(&read_json(bytes)?))
    }

    /// Judges the whole payload: JSON → canonical form → version → operation → unknown fields → missing fields → types →
    /// values in the order of the contract.
    ///
    /// # Errors
    /// Shape codes and `approval_not_canonical`.
    pub fn parse(bytes: &[u8], rules: &DocumentRules) -> Result<Payload, Refusal> {
        let value = read_json(bytes)?;
        if canonical(&value) != bytes {
            let message = if bytes.ends_with(b"\n") {
                "the payload ends in a line end that is not part of it; sign exactly the drafted bytes"
            } else {
                "the payload is not in its RFC 8785 form; sign exactly the drafted bytes"
            };
            return Err(Refusal::new(Code::ApprovalNotCanonical, "/payload_b64", message));
        }
        match purpose_of(&value) {
            Purpose::Approval => {
                ApprovalPayload::read(&value, rules).map(|read| Payload::Approval(Box::new(read)))
            }
            Purpose::Withdrawal => WithdrawalPayload::read(&value).map(Payload::Withdrawal),
        }
    }

    /// As [`Payload::parse`], for one who does not know the installation: paths may begin anywhere.
    ///
    /// # Errors
    /// As [`Payload::parse`].
    pub fn parse_elsewhere(bytes: &[u8]) -> Result<Payload, Refusal> {
        Payload::parse(
            bytes,
            &DocumentRules {
                vault_root: "/".to_owned(),
                object_id_is_path: false,
            },
        )
    }

    /// What a signature over it is for.
    pub fn purpose(&self) -> Purpose {
        match self {
            Payload::Approval(_) => Purpose::Approval,
            Payload::Withdrawal(_) => Purpose::Withdrawal,
        }
    }
}

/// Refusals of the payload as a whole point to where it stands in the envelope.
fn read_json(bytes: &[u8]) -> Result<Value, Refusal> {
    json::parse(bytes, json::DOCUMENT_BYTES_MAX).map_err(|refusal| match refusal.pointer.as_str() {
        "" => Refusal {
            pointer: "/payload_b64".to_owned(),
            ..refusal
        },
        _ => refusal,
    })
}

fn purpose_of(value: &Value) -> Purpose {
    if value.get("withdrawal_version").is_some() && value.get("approval_version").is_none() {
        Purpose::Withdrawal
    } else {
        Purpose::Approval
    }
}

fn text(value: &impl ToString) -> Value {
    Value::Text(value.to_string())
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Vec<u8> {
    canonical(&Value::Object(
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    ))
}

#[cfg(test)]
#[path = "payload_test.rs"]
mod tests;
