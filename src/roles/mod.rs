//! What each role decides before it acts. In: facts as values. Out: a plan. Pure.
//!
//! Not here: fetching the facts and acting on the plan (executor/), what an answer means (settlement/).

pub mod delete;
pub mod save;
