//! `lockgate serve ROLE`: runs one role in the foreground until it is told to stop.
//!
//! Start order: early logger → read → check → (daemon) open → recover → ready.
//!
//! Not here: everything after the checks (daemon/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::daemon::{self, hygiene, log};
use crate::exit::Exit;
use crate::job::Role;
use rustix::process::{Signal, getppid};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Stops on SIGTERM or SIGINT: what is claimed is finished first, within 20 s.\n\nExample:\n  lockgate --dir /tmp/play serve save"
)]
pub struct ServeArgs {
    /// The role
    #[arg(value_parser = parse::role())]
    pub role: Role,
    /// Ends when the process that started it ends (`up` and `demo` say so)
    #[arg(long, value_name = "PID", hide = true)]
    pub parent: Option<i32>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ServeArgs) -> Ended {
    if let Some(parent) = args.parent {
        end_with(ctx, parent)?;
    }
    let config = ctx.config()?;
    log::start(config.log.format, ctx.log_level.unwrap_or(config.log.level));
    let complaints = hygiene::self_check(&config, args.role, hygiene::uid());
    for complaint in &complaints {
        tracing::error!(role = %args.role, "{}", complaint.message);
    }
    // A wrong user is the first thing to put right: other complaints may follow from it.
    if let Some(worst) = complaints
        .iter()
        .map(|complaint| complaint.exit)
        .min_by_key(|exit| exit.code())
    {
        return Err(worst);
    }
    Ok(daemon::serve(config, args.role))
}

/// The kernel tells this process to stop when its parent ends, however that ends.
fn end_with(ctx: &Ctx, parent: i32) -> Result<(), Exit> {
    if let Err(errno) = rustix::process::set_parent_process_death_signal(Some(Signal::TERM)) {
        ctx.ui.say(&format!(
            "this process could outlive the one that started it: {errno}"
        ));
        return Err(Exit::Failed);
    }
    // It may have ended before we asked.
    let lives = getppid().is_some_and(|pid| pid.as_raw_nonzero().get() == parent);
    if lives { Ok(()) } else { Err(Exit::Unavailable) }
}
