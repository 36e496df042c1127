//! `lockgate approval`: drafts, submits and withdraws approvals.
//!
//! Not here: signing: no code of the daemon can.

use super::Ctx;
use super::ui::Ended;
use std::path::PathBuf;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum ApprovalVerb {
    /// Print the payload to sign and the exact command that signs it
    Draft {
        /// A job_id, or a file with the DELETE document
        #[arg(value_name = "JOB|FILE")]
        what: String,
    },
    /// Hand a signed approval to the delete role
    Submit {
        /// The envelope; - is standard input
        envelope: PathBuf,
    },
    /// Take an approval back
    Withdraw {
        /// The envelope of the withdrawal; - is standard input
        envelope: PathBuf,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ApprovalVerb) -> Ended {
    let _ = args;
    ctx.not_built("approval")
}
