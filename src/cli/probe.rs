//! `lockgate probe`: looks at the target of a job now.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::JobId;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct ProbeArgs {
    /// The job
    #[arg(value_parser = parse::job)]
    pub job: JobId,
    /// Why; it goes into the audit
    #[arg(long, value_parser = parse::reason)]
    pub reason: String,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ProbeArgs) -> Ended {
    let _ = args;
    ctx.not_built("probe")
}
