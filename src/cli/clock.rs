//! `lockgate clock`: accepts the wall clock after it went back. Only the delete role waits for that: approvals have times.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::call;
use super::parse;
use super::ui::Ended;
use crate::exit::Exit;
use crate::job::Role;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum ClockVerb {
    /// Take the present time for right, though a later one was seen
    #[command(
        after_help = "Check first that the clock is right now: expired approvals could otherwise count again.\n\nExample:\n  date\n  lockgate clock accept --reason \"the clock had run ahead until 12:00\""
    )]
    Accept {
        /// Why; it goes into the audit
        #[arg(long, value_parser = parse::reason)]
        reason: Option<String>,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ClockVerb) -> Ended {
    let ClockVerb::Accept { reason } = args;
    let config = ctx.config()?;
    let answer = ctx.act(
        &config,
        Role::Delete,
        "/v1/clock/accept",
        &call::reason(reason.as_deref()),
    )?;
    ctx.ui.show(&answer, || {
        "the delete role takes the present time for right\n".to_owned()
    })?;
    Ok(Exit::Done)
}
