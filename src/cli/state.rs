//! `lockgate state`: ends an installation for good.
//!
//! Not here: what the package removes.

use super::Ctx;
use super::ui::Ended;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum StateVerb {
    /// Remove the ledgers, the only evidence against replay
    Destroy {
        /// Without it nothing is removed and what would be is printed
        #[arg(long)]
        yes: bool,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &StateVerb) -> Ended {
    let _ = args;
    ctx.not_built("state")
}
