//! `lockgate demo`: a whole installation of real, separate processes at work, step by step, in a directory that is removed afterwards.
//!
//! Each step is one line: what was expected, what was seen, whether that is the same. It ends with 0 only if all of it was.
//!
//! Not here: a lasting installation (`up`).

#[cfg(feature = "signing")]
mod crash;
#[cfg(feature = "signing")]
mod stage;
#[cfg(feature = "signing")]
mod story;

use super::Ctx;
use super::ui::Ended;
#[cfg(not(feature = "signing"))]
use crate::exit::Exit;

/// Arguments: none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lockgate demo")]
pub struct DemoArgs {
    /// Keep the directory of the demo and print where it is
    #[arg(long)]
    pub keep: bool,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
#[cfg(feature = "signing")]
pub fn run(ctx: &Ctx, args: &DemoArgs) -> Ended {
    story::run(ctx, args.keep)
}

/// Runs the verb.
///
/// # Errors
/// Always 69.
#[cfg(not(feature = "signing"))]
pub fn run(ctx: &Ctx, _args: &DemoArgs) -> Ended {
    ctx.ui.say(
        "this build cannot sign, so it cannot play the approver: build with the feature `signing` (the default of `cargo run`)",
    );
    Err(Exit::Unavailable)
}
