//! `lockgate cancel`: a requester takes a waiting job back, or an operator ends it.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::JobId;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct CancelArgs {
    /// The job
    #[arg(value_parser = parse::job)]
    pub job: JobId,
    /// As an operator, through the admin socket, saying why; without it as the requester of the job
    #[arg(long, value_parser = parse::reason)]
    pub reason: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &CancelArgs) -> Ended {
    let _ = args;
    ctx.not_built("cancel")
}
