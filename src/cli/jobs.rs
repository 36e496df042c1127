//! `lockgate jobs`: lists the jobs of a role.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::{Role, State};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct JobsArgs {
    /// The role
    #[arg(value_parser = parse::executor())]
    pub role: Role,
    /// Only jobs in this state
    #[arg(long, value_parser = parse::state())]
    pub state: Option<State>,
    /// Only what comes after this place: the cursor that the page before ended with
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// At most so many jobs
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &JobsArgs) -> Ended {
    let _ = args;
    ctx.not_built("jobs")
}
