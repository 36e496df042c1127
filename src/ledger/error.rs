//! What a ledger write can answer besides yes. In: a failed check. Out: a named outcome; nothing was changed.
//!
//! Not here: storage faults (sqlite/).

use crate::job::{IllegalTransition, JobId, State};
use thiserror::Error;

/// Why a ledger write changed nothing.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The lease is no longer ours: another holder, or the state moved on. Walk away.
    #[error("the lease on job {job} is lost; nothing was changed")]
    LostLease { job: i64 },
    /// The table of transitions has no such row.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// No such job.
    #[error("no job {0} here; `lockgate jobs ROLE` lists what there is")]
    NoSuchJob(JobId),
    /// The job is in a state in which the verb means nothing.
    #[error("job {job} is {state}: {advice}")]
    WrongState {
        job: JobId,
        state: State,
        advice: &'static str,
    },
    /// Too early: the worker may still be at it.
    #[error("job {job}: check first. {why}")]
    TooEarly { job: JobId, why: String },
    /// A guard judged inside the EXECUTING transaction said no.
    #[error("{detail}")]
    Denied { detail: String },
    /// Paused or frozen.
    #[error("the role is {0}")]
    Stopped(&'static str),
    /// A stored row does not read back.
    #[error("job {job}: {what}")]
    Unreadable { job: i64, what: String },
    /// SQLite said no inside the transaction.
    #[error("{0}")]
    Sql(#[from] rusqlite::Error),
}

/// A write's answer.
pub type WriteResult<T> = Result<T, crate::sqlite::WriteError<LedgerError>>;
