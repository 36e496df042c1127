//! `lockgate probe`: looks at the target of a job now and shows the evidence; changes nothing there.
//!
//! Not here: judging what was found (a person does, with `resolve`).

use super::Ctx;
use super::bulk_args::{self, WhichJobs};
use super::call;
use super::parse;
use super::table::{cell, fields};
use super::ui::Ended;
use crate::exit::Exit;
use serde_json::Value;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockgate probe JOB --reason \"vault was away at noon\"\n  lockgate probe --all --reason \"after the outage\""
)]
pub struct ProbeArgs {
    /// One job, or all
    #[command(flatten)]
    pub which: WhichJobs,
    /// Why; it goes into the audit
    #[arg(long, value_parser = parse::reason)]
    pub reason: String,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ProbeArgs) -> Ended {
    let config = ctx.config()?;
    let body = call::reason(Some(&args.reason));
    let Some(job) = args.which.job else {
        return bulk_args::all(ctx, &config, &args.which, "probe", &body, None);
    };
    let (role, _) = ctx.find(&config, job, "")?;
    let found = ctx.act(&config, role, &format!("/v1/jobs/{job}/probe"), &body)?;
    ctx.ui.show(&found, || text(&found))?;
    Ok(Exit::Done)
}

fn text(found: &Value) -> String {
    let now = match found.get("now") {
        Some(Value::Object(down)) => format!(
            "unreachable: {}",
            down.get("unreachable")
                .map_or_else(String::new, super::table::plain)
        ),
        Some(other) => super::table::plain(other),
        None => String::new(),
    };
    fields(&[
        ("job", cell(found, "job_id")),
        ("state", cell(found, "state")),
        ("path", cell(found, "vault_path")),
        ("there now", now),
        ("before", cell(found, "before")),
        ("new bytes", cell(found, "new")),
        ("intent durable at", cell(found, "intent_durable_at")),
        ("detail", cell(found, "detail")),
        ("evidence", cell(found, "evidence")),
        ("advice", cell(found, "advice")),
    ])
}
