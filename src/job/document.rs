//! Job documents (contract 2). In: a [`Value`], the installation's rules, the role that reads. Out: a [`Job`] whose
//! fields cannot be wrong, with its canonical bytes and digests; or the first refusal in the contract's order.
//!
//! A DELETE job is a request; nothing in it is an approval.
//!
//! Not here: who may ask for what (admission/), envelopes (approval/), cancels (`cancel`).

use super::canonical::canonical;
use super::code::{Code, Refusal};
use super::fields::{FieldSpec, FieldType, Fields};
use super::ids::{ApprovalId, CommitId, DeleteRequestId, IdempotencyKey, JobId, MissionId, Sha256, sha256};
use super::json::{self, DOCUMENT_BYTES_MAX, Value};
use super::kind::{JobKind, Role};
use super::path::{ObjectId, VaultPath};
use super::time::Timestamp;

/// The one version of job documents.
pub const JOB_VERSION: i64 = 1;

/// What the installation says about the values of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRules {
    /// `vault.root`, ends in `/`.
    pub vault_root: String,
    /// `source.object_id = "path"`: the object id follows the component rules.
    pub object_id_is_path: bool,
}

/// A request to write an object's bytes at a commit into the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveJob {
    /// Names the job.
    pub job_id: JobId,
    /// Correlates.
    pub mission_id: MissionId,
    /// The object in the source.
    pub object_id: ObjectId,
    /// Where it goes.
    pub vault_path: VaultPath,
    /// The commit its bytes are taken from.
    pub source_commit: CommitId,
    /// Hash over commit, content, object, path and repository.
    pub provenance_hash: Sha256,
    /// SHA-256 of the object's bytes at that commit.
    pub expected_state: Sha256,
    /// When the requester wrote it.
    pub created_at: Timestamp,
    /// The requester's key against doing it twice.
    pub idempotency_key: IdempotencyKey,
    form: Form,
}

/// A request to remove an object from the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteJob {
    /// Names the job.
    pub job_id: JobId,
    /// Correlates; the approval names the same.
    pub mission_id: MissionId,
    /// The request behind it; the approval names the same.
    pub delete_request_id: DeleteRequestId,
    /// The object in the source.
    pub object_id: ObjectId,
    /// What is removed.
    pub vault_path: VaultPath,
    /// The commit at which the object is what the vault holds.
    pub expected_commit: CommitId,
    /// Hash over commit, content, object, path and repository.
    pub expected_provenance_hash: Sha256,
    /// The approval it waits for.
    pub approval_id: ApprovalId,
    /// When the requester wrote it.
    pub created_at: Timestamp,
    /// The requester's key against doing it twice.
    pub idempotency_key: IdempotencyKey,
    form: Form,
}

/// The document's canonical bytes and what is computed from them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Form {
    canonical: Vec<u8>,
    digest: Sha256,
    idempotency_digest: Sha256,
}

impl Form {
    fn of(value: &Value) -> Form {
        let canonical_bytes = canonical(value);
        let same_request: Vec<(String, Value)> = value
            .fields()
            .unwrap_or_default()
            .iter()
            .filter(|(key, _)| key != "job_id" && key != "created_at")
            .cloned()
            .collect();
        Form {
            digest: sha256(&canonical_bytes),
            canonical: canonical_bytes,
            idempotency_digest: sha256(&canonical(&Value::Object(same_request))),
        }
    }
}

/// A job document that passed every pure check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// `C5_SAVE_OBJECT`
    Save(SaveJob),
    /// `C5_DELETE_OBJECT`
    Delete(DeleteJob),
}

/// One accessor for what both kinds have under one name.
macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $save:ident | $delete:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> &$type {
            match self {
                Job::Save(job) => &job.$save,
                Job::Delete(job) => &job.$delete,
            }
        }
    )+};
}

impl Job {
    shared! {
        /// Names the job.
        job_id: JobId = job_id | job_id,
        /// Correlates.
        mission_id: MissionId = mission_id | mission_id,
        /// The object in the source.
        object_id: ObjectId = object_id | object_id,
        /// The path in the vault.
        vault_path: VaultPath = vault_path | vault_path,
        /// `source_commit` or `expected_commit`.
        commit: CommitId = source_commit | expected_commit,
        /// `provenance_hash` or `expected_provenance_hash`.
        provenance: Sha256 = provenance_hash | expected_provenance_hash,
        /// When the requester wrote it.
        created_at: Timestamp = created_at | created_at,
        /// The requester's key against doing it twice.
        idempotency_key: IdempotencyKey = idempotency_key | idempotency_key,
    }
    fn form(&self) -> &Form {
        match self {
            Job::Save(job) => &job.form,
            Job::Delete(job) => &job.form,
        }
    }
    /// Its kind.
    pub fn kind(&self) -> JobKind {
        match self {
            Job::Save(_) => JobKind::Save,
            Job::Delete(_) => JobKind::Delete,
        }
    }
    /// The approval a DELETE job waits for.
    pub fn approval_id(&self) -> Option<&ApprovalId> {
        match self {
            Job::Save(_) => None,
            Job::Delete(job) => Some(&job.approval_id),
        }
    }
    /// The request behind a DELETE job.
    pub fn delete_request_id(&self) -> Option<&DeleteRequestId> {
        match self {
            Job::Save(_) => None,
            Job::Delete(job) => Some(&job.delete_request_id),
        }
    }
    /// SHA-256 of the bytes a SAVE job brings.
    pub fn expected_state(&self) -> Option<&Sha256> {
        match self {
            Job::Save(job) => Some(&job.expected_state),
            Job::Delete(_) => None,
        }
    }
    /// The RFC 8785 form: what is stored.
    pub fn canonical(&self) -> &[u8] {
        &self.form().canonical
    }
    /// SHA-256 of the canonical form: the same for every way to write the same document.
    pub fn digest(&self) -> Sha256 {
        self.form().digest
    }
    /// SHA-256 of the canonical form without `job_id` and `created_at`: the same for a request made again.
    pub fn idempotency_digest(&self) -> Sha256 {
        self.form().idempotency_digest
    }
    /// Reads a stored job again, of either kind.
    ///
    /// # Errors
    /// The refusal it would get at the door, or `tampered` if the bytes are not their own canonical form.
    pub fn from_stored(bytes: &[u8], rules: &DocumentRules) -> Result<Job, Refusal> {
        let value = json::parse(bytes, DOCUMENT_BYTES_MAX)?;
        let job = parse_job(&value, rules, Role::Gateway)?;
        if job.canonical() == bytes {
            return Ok(job);
        }
        Err(Refusal::new(
            Code::Tampered,
            "",
            "the stored document is not in its canonical form",
        ))
    }
}

/// The fields of a SAVE job, in the contract's order.
pub const SAVE_FIELDS: [FieldSpec; 11] = [
    ("job_version", FieldType::Int),
    ("job_id", FieldType::Text),
    ("mission_id", FieldType::Text),
    ("job_type", FieldType::Text),
    ("object_id", FieldType::Text),
    ("vault_path", FieldType::Text),
    ("source_commit", FieldType::Text),
    ("provenance_hash", FieldType::Text),
    ("expected_state", FieldType::Text),
    ("created_at", FieldType::Text),
    ("idempotency_key", FieldType::Text),
];

/// The fields of a DELETE job, in the contract's order.
pub const DELETE_FIELDS: [FieldSpec; 12] = [
    ("job_version", FieldType::Int),
    ("job_id", FieldType::Text),
    ("mission_id", FieldType::Text),
    ("delete_request_id", FieldType::Text),
    ("job_type", FieldType::Text),
    ("object_id", FieldType::Text),
    ("vault_path", FieldType::Text),
    ("expected_commit", FieldType::Text),
    ("expected_provenance_hash", FieldType::Text),
    ("approval_id", FieldType::Text),
    ("created_at", FieldType::Text),
    ("idempotency_key", FieldType::Text),
];

/// Judges a job document for `role`: version → type → role → unknown fields → missing fields → types → values.
/// [`Role::Gateway`] executes nothing and takes every kind.
///
/// # Errors
/// The first [`Refusal`] in that order; values in the order of the fields.
pub fn parse_job(value: &Value, rules: &DocumentRules, role: Role) -> Result<Job, Refusal> {
    let fields = Fields::of(value, "")?;
    fields.version("job_version", JOB_VERSION)?;
    let due = "one of C5_SAVE_OBJECT, C5_DELETE_OBJECT, in exactly that form";
    let kind = fields.parsed("job_type", Code::UnknownJobType, due, JobKind::parse)?;
    let takes = match role {
        Role::Save | Role::Delete => kind.role() == role,
        Role::Gateway => true,
    };
    if !takes {
        let message = format!(
            "the {role} role does not take this kind; give it to {}",
            kind.role()
        );
        return Err(fields.refuse(Code::WrongRole, "job_type", message));
    }
    match kind {
        JobKind::Save => save_job(&fields, rules, Form::of(value)).map(Job::Save),
        JobKind::Delete => delete_job(&fields, rules, Form::of(value)).map(Job::Delete),
    }
}

fn save_job(fields: &Fields<'_>, rules: &DocumentRules, form: Form) -> Result<SaveJob, Refusal> {
    fields.exactly(&SAVE_FIELDS)?;
    Ok(SaveJob {
        job_id: JobId(fields.uuid("job_id")?),
        mission_id: MissionId(fields.uuid("mission_id")?),
        object_id: object_id(fields, rules)?,
        vault_path: vault_path(fields, rules)?,
        source_commit: fields.commit("source_commit")?,
        provenance_hash: fields.sha256("provenance_hash")?,
        expected_state: fields.sha256_prefixed("expected_state")?,
        created_at: fields.time("created_at")?,
        idempotency_key: IdempotencyKey(fields.uuid("idempotency_key")?),
        form,
    })
}

fn delete_job(fields: &Fields<'_>, rules: &DocumentRules, form: Form) -> Result<DeleteJob, Refusal> {
    fields.exactly(&DELETE_FIELDS)?;
    Ok(DeleteJob {
        job_id: JobId(fields.uuid("job_id")?),
        mission_id: MissionId(fields.uuid("mission_id")?),
        delete_request_id: DeleteRequestId(fields.uuid("delete_request_id")?),
        object_id: object_id(fields, rules)?,
        vault_path: vault_path(fields, rules)?,
        expected_commit: fields.commit("expected_commit")?,
        expected_provenance_hash: fields.sha256("expected_provenance_hash")?,
        approval_id: ApprovalId(fields.uuid("approval_id")?),
        created_at: fields.time("created_at")?,
        idempotency_key: IdempotencyKey(fields.uuid("idempotency_key")?),
        form,
    })
}

/// The field `object_id` by the installation's rules; for payloads that name the same.
///
/// # Errors
/// `missing_field`, `wrong_type`, `bad_object_id`.
pub fn object_id(fields: &Fields<'_>, rules: &DocumentRules) -> Result<ObjectId, Refusal> {
    let text = fields.text("object_id")?;
    let parsed = if rules.object_id_is_path {
        ObjectId::parse_as_path(text)
    } else {
        ObjectId::parse(text)
    };
    parsed.map_err(|broken| fields.refuse(broken.code, "object_id", broken.message))
}

/// The field `vault_path` by the installation's rules; for payloads that name the same.
///
/// # Errors
/// `missing_field`, `wrong_type`, the codes of [`VaultPath::parse`].
pub fn vault_path(fields: &Fields<'_>, rules: &DocumentRules) -> Result<VaultPath, Refusal> {
    VaultPath::parse(&rules.vault_root, fields.text("vault_path")?)
        .map_err(|broken| fields.refuse(broken.code, "vault_path", broken.message))
}

#[cfg(test)]
#[path = "document_test.rs"]
mod tests;
#[cfg(test)]
#[path = "document_values_test.rs"]
mod value_tests;
