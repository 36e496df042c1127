//! `lockgate status`: the receipt of a job, or what became of a submission.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse::{self, JobOrDigest};
use super::ui::Ended;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// A job_id, or the digest of a submission
    #[arg(value_name = "JOB|DIGEST", value_parser = parse::job_or_digest)]
    pub what: JobOrDigest,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &StatusArgs) -> Ended {
    let _ = args;
    ctx.not_built("status")
}
