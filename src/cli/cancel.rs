//! `lockgate cancel`: a requester takes a waiting job back, or an operator ends it.
//!
//! A requester's cancel is a document like any other: where the gateway does not run, it is dropped and waits for the role.
//!
//! Not here: whether it is too late (the ledger decides).

use super::Ctx;
use super::call::{self, QUICK};
use super::documents;
use super::parse;
use super::show::receipt_text;
use super::table::{cell, fields};
use super::ui::Ended;
use crate::config::Config;
use crate::exit::Exit;
use crate::intake::Form;
use crate::job::{JobId, Role, sha256};
use serde_json::{Value, json};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockgate cancel JOB                               as its requester\n  lockgate cancel JOB --reason \"wrong mission\"      as an operator"
)]
pub struct CancelArgs {
    /// The job
    #[arg(value_parser = parse::job)]
    pub job: JobId,
    /// As an operator, through the admin socket, saying why; without it as the requester of the job
    #[arg(long, value_parser = parse::reason)]
    pub reason: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &CancelArgs) -> Ended {
    let config = ctx.config()?;
    let job = args.job;
    if args.reason.is_some() {
        let (role, _) = ctx.find(&config, job, "")?;
        let body = call::reason(args.reason.as_deref());
        let answer = ctx.act(&config, role, &format!("/v1/jobs/{job}/cancel"), &body)?;
        ctx.ui.show(&answer, || receipt_text(&answer))?;
        return Ok(Exit::Done);
    }
    let mut gateway = ctx.gateway(&config, QUICK)?;
    let answer = match call::post_nothing(&mut gateway, &format!("/v1/jobs/{job}/cancel")) {
        Ok(answer) => answer,
        Err(fault) if fault.is_unreachable() => {
            ctx.ui
                .say(&format!("{fault}; the cancel is left for the roles instead"));
            drop_cancel(ctx, &config, job)?
        }
        Err(fault) => return Err(ctx.fault(&fault)),
    };
    ctx.ui.show(&answer, || {
        fields(&[
            (
                "cancel",
                cell(&answer, "state").to_lowercase().replace("created", "queued"),
            ),
            ("job", cell(&answer, "job_id")),
            ("digest", cell(&answer, "digest")),
        ])
    })?;
    Ok(Exit::Done)
}

/// Nobody here can say which role has the job: each gets the document, and those that do not have it refuse it.
fn drop_cancel(ctx: &Ctx, config: &Config, job: JobId) -> Result<Value, Exit> {
    // In canonical form: its digest is that of the bytes.
    let document = json!({"cancel_version": 1, "job_id": job.to_string()}).to_string();
    for role in Role::EXECUTORS {
        documents::drop_bytes(ctx, config, role, "cancel", Form::One, document.as_bytes())?;
    }
    Ok(
        json!({"job_id": job.to_string(), "digest": sha256(document.as_bytes()).to_string(), "state": "CREATED"}),
    )
}
