//! Wiring: start order, identity check, signals, readiness, drain. In: a configuration and a role. Out: an exit status.
//!
//! | file | does |
//! |---|---|
//! | [`hygiene`] | hardens the process, knows the boot, checks owners and modes |
//! | [`log`] | the one logger, rate limits, the panic line |
//! | [`notify`] | talks to the service manager, takes its sockets |
//!
//! Not here: what a role decides or does (roles/, executor/).

pub mod hygiene;
pub mod log;
pub mod notify;

use crate::config::Config;
use crate::exit::Exit;
use crate::job::Role;

/// Runs one role until it is told to stop.
pub fn serve(_config: &Config, role: Role) -> Exit {
    tracing::error!(%role, "this build has no executor for the role");
    Exit::Unavailable
}
