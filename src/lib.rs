//! lockgate.
pub mod clock;
pub mod failpoint;
pub mod http;
pub mod job;
