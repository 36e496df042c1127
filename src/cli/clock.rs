//! `lockgate clock`: accepts the wall clock after it went back.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum ClockVerb {
    /// Take the present time for right, though a later one was seen
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
    let _ = args;
    ctx.not_built("clock")
}
