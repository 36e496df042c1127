//! The receipt: what a requester is told about its job (contract 4). In: the ledger's row, or a document that only the
//! spool has. Out: one JSON object with the fields in the contract's order.
//!
//! Not here: when a receipt is written (settlement/), who may read it (http/).

use super::code::Code;
use super::document::Job;
use super::ids::{JobId, Sha256};
use super::kind::JobKind;
use super::state::State;
use super::time::format_utc;
use crate::clock::WallMs;
use serde::{Serialize, Serializer};
use std::fmt;

/// Where the requester's job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReceiptState {
    /// `CREATED`: only the spool has it; no role has judged it.
    Created,
    /// An admitted job's state.
    Admitted(State),
}

impl ReceiptState {
    /// The printed word.
    pub fn as_str(self) -> &'static str {
        match self {
            ReceiptState::Created => "CREATED",
            ReceiptState::Admitted(state) => state.as_str(),
        }
    }
    /// The state a word names.
    pub fn parse(text: &str) -> Option<ReceiptState> {
        if text == "CREATED" {
            return Some(ReceiptState::Created);
        }
        State::parse(text).map(ReceiptState::Admitted)
    }
    /// Whether nothing will change by itself any more.
    pub fn is_settled(self) -> bool {
        match self {
            ReceiptState::Created => false,
            ReceiptState::Admitted(state) => state.is_settled(),
        }
    }
}
impl fmt::Display for ReceiptState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
impl Serialize for ReceiptState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a requester is told. The object, path and commit are texts: a job admitted under an earlier `vault.root`
/// keeps its receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The job.
    pub job_id: JobId,
    /// SHA-256 of the document's canonical form.
    pub digest: Sha256,
    /// `C5_SAVE_OBJECT` or `C5_DELETE_OBJECT`.
    pub job_type: JobKind,
    /// As in the document.
    pub object_id: String,
    /// As in the document.
    pub vault_path: String,
    /// `source_commit` or `expected_commit`.
    pub commit: String,
    /// Where it stands.
    pub state: ReceiptState,
    /// Why, once there is a why.
    pub code: Option<Code>,
    /// A word that narrows the code.
    pub detail: Option<String>,
    /// One sentence for people.
    pub message: String,
    /// Claimed tries so far that were counted.
    pub attempt: u32,
    /// As in the document.
    pub created_at: String,
    /// When the state last changed.
    #[serde(serialize_with = "as_utc")]
    pub updated_at: WallMs,
    /// When it settled.
    #[serde(serialize_with = "as_utc_if_any")]
    pub settled_at: Option<WallMs>,
}

impl Receipt {
    /// The receipt of a job that the spool has since `at` and no role has judged yet.
    pub fn created(job: &Job, at: WallMs) -> Receipt {
        Receipt::of(job, ReceiptState::Created, at)
    }

    /// The receipt of `job` in `state` since `at`, without code, detail, attempts or settlement.
    pub fn of(job: &Job, state: ReceiptState, at: WallMs) -> Receipt {
        Receipt {
            job_id: *job.job_id(),
            digest: job.digest(),
            job_type: job.kind(),
            object_id: job.object_id().as_str().to_owned(),
            vault_path: job.vault_path().as_str().to_owned(),
            commit: job.commit().as_str().to_owned(),
            state,
            code: None,
            detail: None,
            message: state_sentence(state).to_owned(),
            attempt: 0,
            created_at: job.created_at().as_str().to_owned(),
            updated_at: at,
            settled_at: None,
        }
    }
}

/// One sentence for a state that has no code yet.
pub fn state_sentence(state: ReceiptState) -> &'static str {
    match state {
        ReceiptState::Created => "queued; the role has not judged it yet",
        ReceiptState::Admitted(State::Ready) => "admitted; it waits for its turn",
        ReceiptState::Admitted(State::Claimed) => "a worker is checking it; nothing was sent",
        ReceiptState::Admitted(State::Executing) => "a worker is carrying it out",
        ReceiptState::Admitted(State::Succeeded) => "done",
        ReceiptState::Admitted(State::Failed) => "it was tried and did not work",
        ReceiptState::Admitted(State::Rejected) => "it was refused and not carried out",
        ReceiptState::Admitted(State::OutcomeUnknown) => {
            "nobody knows whether it happened; check the vault first, then an operator resolves it"
        }
    }
}

fn as_utc<S: Serializer>(at: &WallMs, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_utc(*at))
}

fn as_utc_if_any<S: Serializer>(at: &Option<WallMs>, serializer: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => serializer.serialize_some(&format_utc(*at)),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
#[path = "receipt_test.rs"]
mod tests;
