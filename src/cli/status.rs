//! `lockgate status`: the receipt of a job, or what became of a submission. The gateway shows a caller its own only.
//!
//! Not here: the roles that answer (http/).

use super::Ctx;
use super::call::QUICK;
use super::parse::{self, JobOrDigest};
use super::show::receipt_text;
use super::table::{cell, fields};
use super::ui::Ended;
use crate::exit::Exit;
use serde_json::Value;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Ends with 0 when there is an answer, whatever it says; `submit --wait` ends as the job did.\n\nExamples:\n  lockgate status 3b241101-e2bb-4255-8caf-4136c566a962\n  lockgate status JOB --json | jq -r .state"
)]
pub struct StatusArgs {
    /// A job_id, or the digest of a submission
    #[arg(value_name = "JOB|DIGEST", value_parser = parse::job_or_digest)]
    pub what: JobOrDigest,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &StatusArgs) -> Ended {
    let config = ctx.config()?;
    let mut gateway = ctx.gateway(&config, QUICK)?;
    let target = match args.what {
        JobOrDigest::Job(job) => format!("/v1/jobs/{job}"),
        JobOrDigest::Digest(digest) => format!("/v1/submissions/{digest}"),
    };
    let answer = gateway.get(&target).map_err(|fault| ctx.fault(&fault))?;
    ctx.ui.show(&answer, || match args.what {
        JobOrDigest::Job(_) => receipt_text(&answer),
        JobOrDigest::Digest(_) => submission_text(&answer),
    })?;
    Ok(Exit::Done)
}

/// What became of a submission, as lines.
pub(super) fn submission_text(answer: &Value) -> String {
    let accepted = match answer["accepted"].as_bool() {
        Some(true) => "accepted",
        Some(false) => "refused",
        None => "not judged yet",
    };
    let code = cell(answer, "code");
    let remedy = super::call::remedy(&code).filter(|_| answer["accepted"].as_bool() == Some(false));
    fields(&[
        ("document", accepted.to_owned()),
        ("job", cell(answer, "job_id")),
        ("about", cell(answer, "subject")),
        ("state", cell(answer, "state")),
        ("code", code),
        ("field", cell(answer, "pointer")),
        ("message", cell(answer, "message")),
        ("to do", remedy.unwrap_or_default()),
        ("digest", cell(answer, "digest")),
        ("at", cell(answer, "at")),
    ])
}
