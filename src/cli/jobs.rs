//! `lockgate jobs`: lists the jobs of a role, the newest first.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::table::{Table, cell, code};
use super::ui::Ended;
use crate::exit::Exit;
use crate::job::{Role, State};
use serde_json::Value;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockgate jobs delete --state OUTCOME_UNKNOWN\n  lockgate jobs save --limit 500 --json"
)]
pub struct JobsArgs {
    /// The role
    #[arg(value_parser = parse::executor())]
    pub role: Role,
    /// Only jobs in this state
    #[arg(long, value_parser = parse::state())]
    pub state: Option<State>,
    /// Only what comes after this place: the cursor that the page before ended with
    #[arg(long, value_name = "CURSOR", value_parser = parse::cursor)]
    pub after: Option<String>,
    /// At most so many jobs
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub limit: u32,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &JobsArgs) -> Ended {
    let config = ctx.config()?;
    let mut target = format!("/v1/jobs?limit={}", args.limit);
    if let Some(state) = args.state {
        target.push_str(&format!("&state={state}"));
    }
    if let Some(after) = &args.after {
        target.push_str(&format!("&after={after}"));
    }
    let page = ctx.view(&config, args.role, &target)?;
    ctx.ui.show(&page, || text(&page))?;
    if let Some(next) = page["next"].as_str() {
        ctx.ui.say(&format!("there may be more: --after {next}"));
    }
    Ok(Exit::Done)
}

fn text(page: &Value) -> String {
    let mut table = Table::new(&["JOB", "STATE", "CODE", "WAITS FOR", "UPDATED", "PATH"]);
    for job in page["jobs"].as_array().into_iter().flatten() {
        let names = ["job_id", "state", "", "hold", "updated_at", "vault_path"];
        let cells = names.iter().map(|name| match *name {
            "" => code(job),
            name => cell(job, name),
        });
        table.row(cells.collect());
    }
    table.text()
}
