//! `lockgate demo`: a whole installation, a job, an approval and a delete, shown step by step.
//!
//! Not here: a lasting installation (`up`).

use super::Ctx;
use super::ui::Ended;

/// Arguments: none.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &DemoArgs) -> Ended {
    let _ = args;
    ctx.not_built("demo")
}
