//! `lockgate submit`: hands documents to their roles, whether any daemon runs or not. They are judged here first, as the roles will
//! judge them, so that a mistake is told at once with its field; then they are dropped, durable before "queued" is said.
//!
//! Not here: waiting (`wait`), what only a role knows (idempotency, approvers).

use super::Ctx;
use super::documents::{self, Documents};
use super::ui::{Ended, Format};
use super::wait;
use crate::admission::Kind;
use crate::config::Config;
use crate::exit::Exit;
use crate::intake::Form;
use crate::job::{JobId, Role, Sha256};
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --wait it ends with 0 (SUCCEEDED), 3 (REJECTED or FAILED), 4 (OUTCOME_UNKNOWN) or 65 (the role refused it).\nThe same document may be handed in again: it has one effect and one answer.\n\nExamples:\n  lockgate submit --wait job.json\n  lockgate draft save notes/a.md | lockgate submit -\n  lockgate submit batch.jsonl --json"
)]
pub struct SubmitArgs {
    /// Waits until each job is settled; the exit status says how
    #[arg(long)]
    pub wait: bool,
    /// A document (.json) or documents one a line (.jsonl); - is standard input
    pub file: PathBuf,
}

/// One document on its way.
pub(super) struct Sent {
    pub(super) digest: Sha256,
    pub(super) job_id: Option<JobId>,
    pub(super) kind: Kind,
    roles: Vec<Role>,
    bytes: Vec<u8>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &SubmitArgs) -> Ended {
    let config = ctx.config()?;
    let documents = Documents::read(ctx, &args.file)?;
    let sent = judge_all(ctx, &config, &documents, &args.file.display().to_string())?;
    for role in Role::EXECUTORS {
        drop_for(ctx, &config, role, documents.form, &sent)?;
    }
    queued(ctx, &sent)?;
    if !args.wait {
        return Ok(Exit::Done);
    }
    wait::all(ctx, &config, &sent)
}

/// Every document, or none is handed in.
fn judge_all(ctx: &Ctx, config: &Config, documents: &Documents, name: &str) -> Result<Vec<Sent>, Exit> {
    let mut sent = Vec::new();
    let mut refused = 0usize;
    for (line, bytes) in &documents.all {
        let place = match documents.form {
            Form::One => name.to_owned(),
            Form::Lines => format!("{name}:{line}"),
        };
        let judged = documents::judge(config, bytes);
        let outcome = match (judged.outcome, &judged.envelope) {
            (Ok(kind), Some(envelope)) => {
                let rules = crate::daemon::settings::rules(config);
                crate::approval::verify::precheck(envelope, &config.instance, &rules).map(|()| kind)
            }
            (outcome, _) => outcome,
        };
        match outcome {
            Ok(kind) => sent.push(Sent {
                digest: judged.digest,
                job_id: judged.job_id,
                kind,
                roles: judged
                    .role
                    .map_or_else(|| Role::EXECUTORS.to_vec(), |role| vec![role]),
                bytes: bytes.clone(),
            }),
            Err(refusal) => {
                refused += 1;
                documents::tell_refusal(ctx, &place, &refusal)?;
            }
        }
    }
    if refused == 0 {
        return Ok(sent);
    }
    if documents.all.len() > 1 {
        ctx.ui.say(&format!(
            "{refused} of {} refused; nothing was handed in",
            documents.all.len()
        ));
    }
    Err(Exit::Refused)
}

/// One file a role with what is meant for it.
fn drop_for(ctx: &Ctx, config: &Config, role: Role, form: Form, sent: &[Sent]) -> Result<(), Exit> {
    let own: Vec<&[u8]> = sent
        .iter()
        .filter(|one| one.roles.contains(&role))
        .map(|one| one.bytes.as_slice())
        .collect();
    if own.is_empty() {
        return Ok(());
    }
    let mut bytes = own.join(&b'\n');
    if form == Form::Lines {
        bytes.push(b'\n');
    }
    documents::drop_bytes(ctx, config, role, "submit", form, &bytes)
}

fn queued(ctx: &Ctx, sent: &[Sent]) -> Result<(), Exit> {
    let mut out = String::new();
    for one in sent {
        let job = one.job_id.map(|id| id.to_string());
        match ctx.ui.format {
            Format::Json => {
                let line = json!({"job_id": job, "digest": one.digest.to_string(), "state": "CREATED"});
                out.push_str(&format!("{line}\n"));
            }
            Format::Text => {
                let what = job.unwrap_or_else(|| "envelope".to_owned());
                out.push_str(&format!("queued {what} {}\n", one.digest));
            }
        }
    }
    ctx.ui.data(&out)
}

/// Judges and drops one envelope; its digest.
pub(super) fn envelope(
    ctx: &Ctx,
    config: &Config,
    bytes: Vec<u8>,
    name: &str,
    wanted: Kind,
) -> Result<Sent, Exit> {
    let documents = Documents {
        form: Form::One,
        all: vec![(1, bytes)],
    };
    let mut sent = judge_all(ctx, config, &documents, name)?;
    let Some(one) = sent.pop().filter(|one| one.kind == wanted) else {
        let what = match wanted {
            Kind::Approval => {
                "no envelope over an approval; `approval withdraw` takes withdrawals, `submit` takes jobs"
            }
            Kind::Withdrawal => {
                "no envelope over a withdrawal; `lockgate-sign withdraw APPROVAL_ID` makes one"
            }
            Kind::Job(_) | Kind::Cancel => "not what is wanted here",
        };
        ctx.ui.say(&format!("{name}: {what}"));
        return Err(Exit::Refused);
    };
    documents::drop_bytes(ctx, config, Role::Delete, "envelope", Form::One, &one.bytes)?;
    Ok(one)
}
