//! `lockgate why`: why a job is where it is, and what it waits for.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::JobId;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct WhyArgs {
    /// The job
    #[arg(value_parser = parse::job)]
    pub job: JobId,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &WhyArgs) -> Ended {
    let _ = args;
    ctx.not_built("why")
}
