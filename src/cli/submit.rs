//! `lockgate submit`: hands a document to its role.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::ui::Ended;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct SubmitArgs {
    /// Waits until the job is settled; the exit status says how
    #[arg(long)]
    pub wait: bool,
    /// A document (.json) or documents one a line (.jsonl); - is standard input
    pub file: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &SubmitArgs) -> Ended {
    let _ = args;
    ctx.not_built("submit")
}
