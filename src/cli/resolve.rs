//! `lockgate resolve`: a person says what became of a job in OUTCOME_UNKNOWN. The verb asks for evidence, not for a guess.
//!
//! Not here: whether it is too early (ledger/operator).

use super::Ctx;
use super::bulk_args::{self, WhichJobs};
use super::call;
use super::parse;
use super::show::receipt_text;
use super::ui::Ended;
use crate::exit::Exit;
use serde_json::json;

const EXAMPLES: &str = "Check first: `lockgate probe JOB` shows what is at the target now.

Examples:
  lockgate resolve JOB --applied --reason \"the file is gone from the vault\"
  lockgate resolve JOB --not-applied --reason \"the file is there, bytes unchanged\"
  lockgate resolve --all --if-evidence applied --reason \"after the outage\"";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("outcome").required(true).args(["applied", "not_applied", "if_evidence"])))]
pub struct ResolveArgs {
    /// One job, or all
    #[command(flatten)]
    pub which: WhichJobs,
    /// The effect is there: SUCCEEDED
    #[arg(long, conflicts_with = "all")]
    pub applied: bool,
    /// The effect is not there: FAILED
    #[arg(long, conflicts_with = "all")]
    pub not_applied: bool,
    /// With --all: only jobs of which this is found at the target; it is also what they are resolved to
    #[arg(long, value_name = "EVIDENCE", requires = "all", conflicts_with = "job", value_parser = ["applied", "not-applied"])]
    pub if_evidence: Option<String>,
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
    /// Exactly one of the flags was given.
    pub fn found(&self) -> Found {
        if self.applied || self.if_evidence.as_deref() == Some("applied") {
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
    let config = ctx.config()?;
    let outcome = match args.found() {
        Found::Applied => "applied",
        Found::NotApplied => "not_applied",
    };
    let mut body = call::reason(Some(&args.reason));
    body["outcome"] = json!(outcome);
    let Some(job) = args.which.job else {
        return bulk_args::all(
            ctx,
            &config,
            &args.which,
            "resolve",
            &body,
            args.if_evidence.as_deref(),
        );
    };
    let (role, _) = ctx.find(&config, job, "")?;
    let answer = ctx.act(&config, role, &format!("/v1/jobs/{job}/resolve"), &body)?;
    ctx.ui.show(&answer, || receipt_text(&answer))?;
    Ok(Exit::Done)
}
