//! lockgate.
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod exit;
pub mod failpoint;
pub mod http;
pub mod job;
pub mod target;
