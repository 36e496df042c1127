//! `lockgate backup`: copies of a role's state.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::Role;
use std::path::PathBuf;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum BackupVerb {
    /// Make one now
    Create {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
    },
    /// List them
    List {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
    },
    /// Open one and check it; without FILE the newest
    Verify {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
        /// The backup
        file: Option<PathBuf>,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &BackupVerb) -> Ended {
    let _ = args;
    ctx.not_built("backup")
}
