//! Wiring: start order, identity check, signals, readiness, drain. In: a configuration and a role. Out: an exit status.
//!
//! | file | does |
//! |---|---|
//! | [`hygiene`] | hardens the process, knows the boot, checks owners and modes |
//! | [`log`] | the one logger, rate limits, the panic line |
//! | [`notify`] | talks to the service manager, takes its sockets |
//! | [`settings`] | from the configuration to what each room asks for |
//! | [`start`] | opens everything an executor role needs, in order |
//! | [`restored`] | is the database the one this role left? |
//! | [`role`] | threads, sockets and the end of an executor role |
//! | [`sockets`] | which of several processes of a role answers on its sockets |
//! | [`gate`] | the gateway's process |
//! | [`admin_port`], [`status_port`] | what the sockets show and do |
//! | [`why`], [`render`], [`metrics`], [`backup`] | their parts |
//!
//! Not here: what a role decides or does (roles/, executor/).

pub mod admin_port;
pub mod backup;
pub mod gate;
pub mod hygiene;
pub mod log;
pub mod metrics;
pub mod notify;
pub mod render;
pub mod restored;
pub mod role;
pub mod settings;
mod sockets;
pub mod start;
pub mod status_port;
pub mod why;

use crate::config::Config;
use crate::exit::Exit;
use crate::job::Role;

/// Runs one role until it is told to stop.
pub fn serve(config: Config, role: Role) -> Exit {
    let boot_id = match hygiene::boot_id() {
        Ok(boot_id) => boot_id,
        Err(complaint) => {
            tracing::error!(%role, "{}", complaint.message);
            return complaint.exit;
        }
    };
    if role == Role::Gateway {
        return gate::run(&config, boot_id);
    }
    match start::executor(config, role, boot_id) {
        Ok(gear) => role::run(gear),
        Err(no) => {
            tracing::error!(%role, "{}", no.message);
            no.exit
        }
    }
}
