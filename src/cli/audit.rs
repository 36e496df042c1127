//! `lockgate audit`: exports, verifies and anchors the audit of a role.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::Role;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum AuditVerb {
    /// Print the rows as JSON, one a line
    Export {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
        /// Only rows after this number
        #[arg(long, value_name = "SEQ")]
        after: Option<u64>,
    },
    /// Check chain, counts and states
    Verify {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
        /// A head printed by `audit checkpoint` earlier, or a file with it: finds truncation
        #[arg(long, value_name = "HEAD|FILE")]
        against: Option<String>,
    },
    /// Print the head (size and hash), to keep elsewhere
    Checkpoint {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &AuditVerb) -> Ended {
    let _ = args;
    ctx.not_built("audit")
}
