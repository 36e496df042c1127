//! lockgate.
pub mod clock;
pub mod failpoint;
pub mod job;
pub mod throttle;

