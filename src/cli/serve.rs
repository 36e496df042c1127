//! `lockgate serve ROLE`: runs one role in the foreground until it is told to stop.
//!
//! Start order: early logger → read → check → (daemon) open → recover → ready.
//!
//! Not here: everything after the checks (daemon/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::daemon::{self, hygiene, log};
use crate::job::Role;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// The role
    #[arg(value_parser = parse::role())]
    pub role: Role,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ServeArgs) -> Ended {
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
