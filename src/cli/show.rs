//! `lockgate show`: one job with its document and its audit.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::table::{Table, cell, code, fields};
use super::ui::Ended;
use crate::exit::Exit;
use crate::job::JobId;
use serde_json::Value;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lockgate show 3b241101-e2bb-4255-8caf-4136c566a962")]
pub struct ShowArgs {
    /// The job
    #[arg(value_parser = parse::job)]
    pub job: JobId,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ShowArgs) -> Ended {
    let config = ctx.config()?;
    let (_, answer) = ctx.find(&config, args.job, "")?;
    ctx.ui.show(&answer, || text(&answer))?;
    Ok(Exit::Done)
}

/// A receipt, or what operators see of a job, as lines.
pub(super) fn receipt_text(job: &Value) -> String {
    let member = |name: &'static str| (name, cell(job, name));
    fields(&[
        ("job", cell(job, "job_id")),
        member("state"),
        ("code", code(job)),
        member("message"),
        ("type", cell(job, "job_type")),
        ("object", cell(job, "object_id")),
        ("path", cell(job, "vault_path")),
        member("commit"),
        ("attempt", cell(job, "attempt").replace("null", "")),
        member("digest"),
        ("approval", cell(job, "approval_id")),
        ("mission", cell(job, "mission_id")),
        ("requester", requester(job)),
        ("waits for", cell(job, "hold")),
        member("worker"),
        ("created", cell(job, "created_at")),
        ("admitted", cell(job, "admitted_at")),
        ("intent durable", cell(job, "sent_at")),
        ("updated", cell(job, "updated_at")),
        ("settled", cell(job, "settled_at")),
    ])
}

fn requester(job: &Value) -> String {
    match (cell(job, "uid"), cell(job, "via")) {
        (uid, _) if uid.is_empty() => uid,
        (uid, via) if via.is_empty() => format!("uid {uid}"),
        (uid, via) => format!("uid {uid}, via {via}"),
    }
}

fn text(answer: &Value) -> String {
    let mut out = receipt_text(&answer["job"]);
    out.push_str("\nAudit\n");
    out.push_str(&audit_text(&answer["audit"]));
    out
}

/// Audit rows as a table.
pub(super) fn audit_text(rows: &Value) -> String {
    let mut table = Table::new(&["SEQ", "AT", "KIND", "FROM", "TO", "CODE", "TRY", "UID", "NOTE"]);
    for row in rows.as_array().into_iter().flatten() {
        let names = [
            "seq", "at", "kind", "from", "to", "code", "attempt", "uid", "note",
        ];
        table.row(names.iter().map(|name| cell(row, name)).collect());
    }
    table.text()
}
