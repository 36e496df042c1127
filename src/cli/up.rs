//! `lockgate up`: every role as a child process below one directory, for development.
//!
//! Not here: production, where units start the roles.

use super::Ctx;
use super::ui::Ended;

/// Arguments: none but the global `--dir`.
#[derive(Debug, clap::Args)]
pub struct UpArgs {}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &UpArgs) -> Ended {
    let _ = args;
    ctx.not_built("up")
}
