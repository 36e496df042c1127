//! `lockgate resolve`: a person says what became of a job in OUTCOME_UNKNOWN.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::JobId;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("outcome").required(true).args(["applied", "not_applied"])))]
pub struct ResolveArgs {
    /// The job
    #[arg(value_parser = parse::job)]
    pub job: JobId,
    /// The effect is there: SUCCEEDED
    #[arg(long)]
    pub applied: bool,
    /// The effect is not there: FAILED
    #[arg(long)]
    pub not_applied: bool,
    /// The evidence; it goes into the audit
    #[arg(long, value_parser = parse::reason)]
    pub reason: String,
}

/// What the person found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The effect is there.
    Applied,
    /// It is not.
    NotApplied,
}

impl ResolveArgs {
    /// Exactly one of the two flags was given.
    pub fn found(&self) -> Found {
        if self.applied {
            Found::Applied
        } else {
            Found::NotApplied
        }
    }
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ResolveArgs) -> Ended {
    let _ = args;
    ctx.not_built("resolve")
}
