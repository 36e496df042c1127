//! The gate at the door: what a dropped document is and whether it becomes a job. In: raw bytes, the installation's rules,
//! who asks. Out: a verdict; nothing is stored, nothing is sent.
//!
//! ```text
//! bytes ─▶ judge ─▶ Admit(AdmittedJob) ─▶ idempotency ─▶ New | SameAnswer | Conflict     (ledger/ stores)
//!                ├▶ Envelope                                                             (approval/ verifies)
//!                ├▶ Cancel                                                               (ledger/ decides)
//!                └▶ Refuse
//! ```
//!
//! Checks come in the contract's order, and the first that fails is the answer: size, JSON, depth, duplicate keys →
//! version → type → role → unknown fields → missing fields → types → values → whether this requester may ask for it.
//! An envelope's own fields are judged by approval/, a role's knowledge of ids by the ledger.
//!
//! Everything here is a pure function: the gateway and the roles say the same about the same bytes.
//!
//! Not here: reading files (intake/), signatures (approval/), storage (ledger/), limits and freezing (intake/, executor/).

mod gateway;
mod idempotency;
mod judge;

pub use gateway::{GatewayFacts, Judged, Kind, judge_at_gateway};
pub use idempotency::{Answer, Identity, Known, idempotency};
pub use judge::{AdmittedJob, Facts, MayAsk, Verdict, judge};

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
