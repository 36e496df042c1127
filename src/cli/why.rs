//! `lockgate why`: why a job is where it is, the one thing it waits for, and what a person can do.
//!
//! Not here: the answer (daemon/why).

use super::Ctx;
use super::parse;
use super::table::{cell, code, fields};
use super::ui::Ended;
use crate::exit::Exit;
use crate::job::JobId;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lockgate why 3b241101-e2bb-4255-8caf-4136c566a962")]
pub struct WhyArgs {
    /// The job
    #[arg(value_parser = parse::job)]
    pub job: JobId,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &WhyArgs) -> Ended {
    let config = ctx.config()?;
    let (_, answer) = ctx.find(&config, args.job, "/why")?;
    ctx.ui.show(&answer, || {
        fields(&[
            ("job", cell(&answer, "job_id")),
            ("state", cell(&answer, "state")),
            ("code", code(&answer)),
            ("waits for", cell(&answer, "waits_for")),
            ("why", cell(&answer, "why")),
            ("to do", cell(&answer, "action")),
        ])
    })?;
    Ok(Exit::Done)
}
