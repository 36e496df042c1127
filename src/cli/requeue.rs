//! `lockgate requeue`: a person sends a job in OUTCOME_UNKNOWN back to READY: a SAVE, or a DELETE of which nothing was started.
//!
//! Not here: whether it may (ledger/operator).

use super::Ctx;
use super::bulk_args::{self, EVIDENCE, WhichJobs};
use super::call;
use super::parse;
use super::show::receipt_text;
use super::ui::Ended;
use crate::exit::Exit;

const EXAMPLES: &str = "Check first: `lockgate probe JOB`. A DELETE that may have been sent is never requeued; resolve it, then make a \
new job with a new approval.

Examples:
  lockgate requeue JOB --reason \"its worker was killed before it sent anything\"
  lockgate requeue --all --if-evidence not-sent --reason \"after the power cut\"";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RequeueArgs {
    /// One job, or all
    #[command(flatten)]
    pub which: WhichJobs,
    /// With --all: only jobs of which this is found
    #[arg(long, value_name = "EVIDENCE", requires = "all", conflicts_with = "job", required_if_eq("all", "true"), value_parser = EVIDENCE.map(|(word, _)| word))]
    pub if_evidence: Option<String>,
    /// Why; it goes into the audit
    #[arg(long, value_parser = parse::reason)]
    pub reason: String,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &RequeueArgs) -> Ended {
    let config = ctx.config()?;
    let body = call::reason(Some(&args.reason));
    let Some(job) = args.which.job else {
        return bulk_args::all(
            ctx,
            &config,
            &args.which,
            "requeue",
            &body,
            args.if_evidence.as_deref(),
        );
    };
    let (role, _) = ctx.find(&config, job, "")?;
    let answer = ctx.act(&config, role, &format!("/v1/jobs/{job}/requeue"), &body)?;
    ctx.ui.show(&answer, || receipt_text(&answer))?;
    Ok(Exit::Done)
}
