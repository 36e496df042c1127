//! Doing things once (design 2). In: a new job's identity, and the jobs that have its id or its key already. Out: new, the
//! first job's answer, or `idempotency_conflict`.
//!
//! An answer goes only to the UID that asked first. To anybody else, and for another document, an id or key that is
//! taken is just taken: the refusal is the same, so that nobody learns whether two documents are equal.
//!
//! Not here: finding the known jobs (ledger/, for ever, whatever retention removes).

use crate::job::document::Job;
use crate::job::{Code, IdempotencyKey, JobId, Refusal, Sha256};

/// What makes two requests the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Names the job.
    pub job_id: JobId,
    /// Of the whole document.
    pub digest: Sha256,
    /// The requester's key.
    pub key: IdempotencyKey,
    /// Of the document without job_id and created_at.
    pub idempotency_digest: Sha256,
    /// The requester.
    pub uid: u32,
}

impl Identity {
    /// The identity of `job`, asked for by `uid`.
    pub fn of(job: &Job, uid: u32) -> Identity {
        Identity {
            job_id: *job.job_id(),
            digest: job.digest(),
            key: *job.idempotency_key(),
            idempotency_digest: job.idempotency_digest(),
            uid,
        }
    }
}

/// A job that was admitted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Names it.
    pub job_id: JobId,
    /// Of its whole document.
    pub digest: Sha256,
    /// Of its document without job_id and created_at.
    pub idempotency_digest: Sha256,
    /// Who asked for it.
    pub uid: u32,
}

/// What becomes of a job that passed the door.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Answer {
    /// Neither its id nor its key was seen before.
    New,
    /// It was asked before; that job's answer stands.
    SameAnswer {
        /// The first job.
        job_id: JobId,
    },
    /// Its id or key belongs to another request.
    Conflict(Refusal),
}

/// Decides between the three. `by_job_id` is the known job with the same id, `by_key` the one with the same key.
pub fn idempotency(new: &Identity, by_job_id: Option<&Known>, by_key: Option<&Known>) -> Answer {
    if let Some(known) = by_job_id {
        let same = known.uid == new.uid && known.digest == new.digest;
        return answer(
            same,
            known,
            "/job_id",
            "this job_id is taken by another request; use a new job_id",
        );
    }
    if let Some(known) = by_key {
        let same = known.uid == new.uid && known.idempotency_digest == new.idempotency_digest;
        let message = "this idempotency_key is taken by another request; use a new key for a new request";
        return answer(same, known, "/idempotency_key", message);
    }
    Answer::New
}

fn answer(same: bool, known: &Known, pointer: &str, message: &str) -> Answer {
    if same {
        return Answer::SameAnswer { job_id: known.job_id };
    }
    Answer::Conflict(Refusal::new(Code::IdempotencyConflict, pointer, message))
}
