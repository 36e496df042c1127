//! `lockgate overview`: every role at a glance.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::ui::Ended;

/// Arguments: none.
#[derive(Debug, clap::Args)]
pub struct OverviewArgs {}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &OverviewArgs) -> Ended {
    let _ = args;
    ctx.not_built("overview")
}
