//! `lockgate restore`: puts a backup in the place of the state of a role that is stopped.
//!
//! Not here: what a restore means for jobs and approvals (ledger/, at the next start).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::Role;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// The role; it must not run
    #[arg(value_parser = parse::executor())]
    pub role: Role,
    /// The backup
    pub file: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &RestoreArgs) -> Ended {
    let _ = args;
    ctx.not_built("restore")
}
