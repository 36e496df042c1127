//! lockgate.
pub mod clock;
pub mod failpoint;
pub mod intake;
pub mod job;
pub mod throttle;
