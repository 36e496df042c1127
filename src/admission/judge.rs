//! The role's judgement of one document. In: raw bytes, [`Facts`]. Out: a [`Verdict`] whose good arms carry what the next
//! stage needs.
//!
//! Not here: the same question without a role (`gateway`), ids and keys that are taken (`idempotency`).

use crate::job::cancel::{Cancel, Shape, parse_cancel, shape};
use crate::job::canonical::value_digest;
use crate::job::document::{DocumentRules, Job, parse_job};
use crate::job::json::{self, DOCUMENT_BYTES_MAX, Value};
use crate::job::{Code, JobKind, Refusal, Role, Sha256, VaultPath, sha256};
use std::fmt;

/// Whether a UID may ask for a kind of job at a path: the `[[requester]]` tables, or whatever stands for them.
pub type MayAsk<'a> = &'a dyn Fn(u32, JobKind, &VaultPath) -> bool;

/// What a verdict depends on beside the bytes.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The role that judges.
    pub role: Role,
    /// The installation's rules for values.
    pub rules: &'a DocumentRules,
    /// The installation's rules for requesters.
    pub may_ask: MayAsk<'a>,
    /// The requester.
    pub uid: u32,
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("role", &self.role)
            .field("rules", &self.rules)
            .field("uid", &self.uid)
            .finish_non_exhaustive()
    }
}

/// A job that passed every pure check, for this role and this requester. Only [`judge`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedJob(Job);

impl AdmittedJob {
    /// The job.
    pub fn job(&self) -> &Job {
        &self.0
    }
    /// The job, to keep.
    pub fn into_job(self) -> Job {
        self.0
    }
    /// SHA-256 of its canonical form.
    pub fn digest(&self) -> Sha256 {
        self.0.digest()
    }
}

/// What a document is to this role.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// A job; whether its id and key are free is the ledger's to say.
    Admit(Box<AdmittedJob>),
    /// Meant as an envelope; its fields are not judged yet.
    Envelope {
        /// The document.
        value: Value,
        /// Of its canonical form.
        digest: Sha256,
    },
    /// A requester takes a job back; whose it is is not judged yet.
    Cancel {
        /// Which job.
        cancel: Cancel,
        /// Of the document's canonical form.
        digest: Sha256,
    },
    /// Nothing came of it.
    Refuse {
        /// Of the canonical form if the bytes are a document, else of the bytes.
        digest: Sha256,
        /// Why, and what to do.
        refusal: Refusal,
    },
}

/// Judges one document. Line ends and other JSON white space around it do not matter.
pub fn judge(bytes: &[u8], facts: &Facts<'_>) -> Verdict {
    let value = match json::parse(bytes, DOCUMENT_BYTES_MAX) {
        Ok(value) => value,
        Err(refusal) => {
            return Verdict::Refuse {
                digest: sha256(bytes),
                refusal,
            };
        }
    };
    let judged = shape(&value).and_then(|shape| match shape {
        Shape::Job => job(&value, facts.rules, facts.role, facts.may_ask, facts.uid).map(Meant::Job),
        Shape::Envelope => takes_envelopes(&value, facts.role).map(|()| Meant::Envelope),
        Shape::Cancel => parse_cancel(&value).map(Meant::Cancel),
    });
    match judged {
        Ok(Meant::Job(job)) => Verdict::Admit(job),
        Ok(Meant::Envelope) => Verdict::Envelope {
            digest: value_digest(&value, bytes),
            value,
        },
        Ok(Meant::Cancel(cancel)) => Verdict::Cancel {
            cancel,
            digest: value_digest(&value, bytes),
        },
        Err(refusal) => Verdict::Refuse {
            digest: value_digest(&value, bytes),
            refusal,
        },
    }
}

enum Meant {
    Job(Box<AdmittedJob>),
    Envelope,
    Cancel(Cancel),
}

/// The document's own checks, then whether this requester may ask for it.
pub(super) fn job(
    value: &Value,
    rules: &DocumentRules,
    role: Role,
    may_ask: MayAsk<'_>,
    uid: u32,
) -> Result<Box<AdmittedJob>, Refusal> {
    let job = parse_job(value, rules, role)?;
    if may_ask(uid, job.kind(), job.vault_path()) {
        return Ok(Box::new(AdmittedJob(job)));
    }
    let message = format!(
        "UID {uid} may not ask for {} at this path; an operator can allow it in a [[requester]] table",
        job.kind()
    );
    Err(Refusal::new(Code::NotAllowed, "/vault_path", message))
}

/// Approvals and withdrawals are the delete role's; no other role knows who may sign.
fn takes_envelopes(value: &Value, role: Role) -> Result<(), Refusal> {
    match role {
        Role::Delete | Role::Gateway => Ok(()),
        Role::Save => {
            let keys = [
                "payload_b64",
                "signatures",
                "approval_version",
                "withdrawal_version",
            ];
            let pointer = keys.into_iter().find(|key| value.get(key).is_some());
            let pointer = pointer.map(|key| format!("/{key}")).unwrap_or_default();
            let message = format!("the {role} role takes no approvals and no withdrawals; give it to delete");
            Err(Refusal::new(Code::WrongRole, pointer, message))
        }
    }
}
