//! What an answer means for a job: the failure table (design 4, rows F) as pure functions. In: the target's answer and what a
//! look at the target shows. Out: a settlement, a probe, or patience.
//!
//! Not here: writing it down (ledger/settle), talking to the target (executor/).

pub mod delete;
pub mod save;
