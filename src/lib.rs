//! lockgate.
pub mod clock;
pub mod config;
pub mod exit;
pub mod failpoint;
pub mod job;

