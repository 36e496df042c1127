//! lockgate.
pub mod approval;
pub mod clock;
pub mod failpoint;
pub mod job;

#[cfg(feature = "signing")]
pub mod signing;
