//! `lockgate requeue`: a person sends a job in OUTCOME_UNKNOWN back to READY.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::JobId;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct RequeueArgs {
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
pub fn run(ctx: &Ctx, args: &RequeueArgs) -> Ended {
    let _ = args;
    ctx.not_built("requeue")
}
