//! How often and how soon: a token bucket, a breaker and the retry delays of SAVE, as plain values. In: what happened and
//! the time. Out: go, or how long to wait.
//!
//! Nothing here reads a clock or sleeps; every time is handed in, on boot-scoped milliseconds, so that the wall clock may
//! jump as it likes.
//!
//! Not here: what a failure is (settlement/), whose bucket it is (gateway/rates).

mod breaker;
mod bucket;
mod retry;

pub use breaker::{Answer, Breaker, Delays};
pub use bucket::{Level, Rate, Take};
pub use retry::{NotBefore, SAVE_ATTEMPTS_MAX, save_retry_delay};
