//! The gateway's judgement of one document: the same as the role's, for whichever role it is meant. In: raw bytes,
//! [`GatewayFacts`]. Out: a [`Judged`] that says where it goes, or why nowhere.
//!
//! What only a role knows comes later: taken ids, approvers, freezing. An envelope's signatures are
//! `approval::verify::precheck`'s, which needs the instance as well.
//!
//! Not here: writing the drop file (the gateway's).

use super::judge::{self, AdmittedJob, MayAsk};
use crate::approval::{Envelope, Payload, Purpose};
use crate::job::cancel::{Cancel, Shape, parse_cancel, shape};
use crate::job::canonical::value_digest;
use crate::job::document::DocumentRules;
use crate::job::json::{self, DOCUMENT_BYTES_MAX, Value};
use crate::job::{JobId, JobKind, Refusal, Role, Sha256, sha256};
use std::fmt;

/// What the gateway knows.
#[derive(Clone, Copy)]
pub struct GatewayFacts<'a> {
    /// The installation's rules for values.
    pub rules: &'a DocumentRules,
    /// The installation's rules for requesters.
    pub may_ask: MayAsk<'a>,
    /// The requester, by the socket's peer.
    pub uid: u32,
}

impl fmt::Debug for GatewayFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayFacts")
            .field("rules", &self.rules)
            .field("uid", &self.uid)
            .finish_non_exhaustive()
    }
}

/// What an acceptable document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A job, for the role that executes its kind.
    Job(JobKind),
    /// An envelope over an approval, for the delete role.
    Approval,
    /// An envelope over a withdrawal, for the delete role.
    Withdrawal,
    /// A cancel, for the role that has the job.
    Cancel,
}

/// A judged document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Judged {
    /// Where it goes. None for a cancel: ask who has the job, or give it to every role. None for a refused document that
    /// does not say.
    pub role: Option<Role>,
    /// Of the canonical form if the bytes are a document, else of the bytes; the role says the same.
    pub digest: Sha256,
    /// The job it is or names, if that can be read; also of a refused document, so that an answer can name it.
    pub job_id: Option<JobId>,
    /// What it is, or why it is refused.
    pub outcome: Result<Kind, Refusal>,
    /// The job of `Kind::Job`.
    pub job: Option<Box<AdmittedJob>>,
    /// The envelope of `Kind::Approval` and `Kind::Withdrawal`.
    pub envelope: Option<Box<Envelope>>,
}

/// Judges one document without knowing its role beforehand.
pub fn judge_at_gateway(bytes: &[u8], facts: &GatewayFacts<'_>) -> Judged {
    let value = match json::parse(bytes, DOCUMENT_BYTES_MAX) {
        Ok(value) => value,
        Err(refusal) => return Judged::refused(sha256(bytes), None, None, refusal),
    };
    let digest = value_digest(&value, bytes);
    let shape = match shape(&value) {
        Ok(shape) => shape,
        Err(refusal) => return Judged::refused(digest, None, None, refusal),
    };
    let role = role_of(&value, shape);
    let job_id = value
        .get("job_id")
        .and_then(Value::as_text)
        .and_then(JobId::parse);
    match shape {
        Shape::Job => match judge::job(&value, facts.rules, Role::Gateway, facts.may_ask, facts.uid) {
            Ok(admitted) => Judged {
                role,
                digest,
                job_id,
                outcome: Ok(Kind::Job(admitted.job().kind())),
                job: Some(admitted),
                envelope: None,
            },
            Err(refusal) => Judged::refused(digest, role, job_id, refusal),
        },
        Shape::Envelope => match envelope(&value) {
            Ok((envelope, kind)) => Judged {
                role,
                digest,
                job_id: None,
                outcome: Ok(kind),
                job: None,
                envelope: Some(Box::new(envelope)),
            },
            Err(refusal) => Judged::refused(digest, role, None, refusal),
        },
        Shape::Cancel => match parse_cancel(&value) {
            Ok(Cancel { job_id }) => Judged {
                role,
                digest,
                job_id: Some(job_id),
                outcome: Ok(Kind::Cancel),
                job: None,
                envelope: None,
            },
            Err(refusal) => Judged::refused(digest, role, job_id, refusal),
        },
    }
}

impl Judged {
    fn refused(digest: Sha256, role: Option<Role>, job_id: Option<JobId>, refusal: Refusal) -> Judged {
        Judged {
            role,
            digest,
            job_id,
            outcome: Err(refusal),
            job: None,
            envelope: None,
        }
    }
}

/// Where a document says it goes, well formed or not.
fn role_of(value: &Value, shape: Shape) -> Option<Role> {
    match shape {
        Shape::Job => value
            .get("job_type")
            .and_then(Value::as_text)
            .and_then(JobKind::parse)
            .map(JobKind::role),
        Shape::Envelope => Some(Role::Delete),
        Shape::Cancel => None,
    }
}

/// The envelope's shape, and what its payload is meant as.
fn envelope(value: &Value) -> Result<(Envelope, Kind), Refusal> {
    let envelope = Envelope::from_value(value)?;
    let kind = match Payload::meant(envelope.payload())? {
        Purpose::Approval => Kind::Approval,
        Purpose::Withdrawal => Kind::Withdrawal,
    };
    Ok((envelope, kind))
}
