//! `lockgate audit`: exports, verifies and anchors the audit of a role. `verify --file` reads a copy of a ledger by itself, without any
//! role, on any machine.
//!
//! Not here: the checks (ledger/verify).

use super::Ctx;
use super::call::{QUICK, SLOW};
use super::head::{self, Head};
use super::parse;
use super::table::{cell, fields};
use super::ui::Ended;
use crate::daemon::render::verdict;
use crate::exit::Exit;
use crate::job::Role;
use crate::ledger::verify;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum AuditVerb {
    /// Print the rows as JSON, one a line
    #[command(after_help = "Example:\n  lockgate audit export delete > audit.jsonl")]
    Export {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
        /// Only rows after this number
        #[arg(long, value_name = "SEQ")]
        after: Option<u64>,
    },
    /// Check chain, counts and states
    #[command(
        after_help = "Ends with 1 if anything is wrong.\n\nExamples:\n  lockgate audit verify delete\n  lockgate audit verify delete --against head.txt\n  lockgate audit verify --file copy-of-inbox.db"
    )]
    Verify {
        /// The role
        #[arg(value_parser = parse::executor(), required_unless_present = "file", conflicts_with = "file")]
        role: Option<Role>,
        /// A head printed by `audit checkpoint` earlier, or a file with it: finds truncation
        #[arg(long, value_name = "HEAD|FILE")]
        against: Option<String>,
        /// A copy of a ledger (a backup, or inbox.db with its -wal beside it); no role is asked
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print the head (size and hash), to keep elsewhere
    #[command(
        after_help = "Example:\n  lockgate audit checkpoint delete > head.txt    # and keep it on another machine"
    )]
    Checkpoint {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &AuditVerb) -> Ended {
    match args {
        AuditVerb::Export { role, after } => export(ctx, *role, *after),
        AuditVerb::Verify { role, against, file } => {
            let old = against.as_deref().map(|text| head::read(ctx, text)).transpose()?;
            match (file, role) {
                (Some(file), _) => of_file(ctx, file, old.as_ref()),
                (None, Some(role)) => of_role(ctx, *role, old.as_ref()),
                (None, None) => Err(Exit::Usage),
            }
        }
        AuditVerb::Checkpoint { role } => {
            let head = ctx.view(&ctx.config()?, *role, "/v1/audit/checkpoint")?;
            ctx.ui.show(&head, || head::text(&head))?;
            Ok(Exit::Done)
        }
    }
}

fn export(ctx: &Ctx, role: Role, after: Option<u64>) -> Ended {
    let config = ctx.config()?;
    let mut client = ctx.admin(&config, role, QUICK)?;
    let mut after = after.unwrap_or(0).to_string();
    loop {
        let page = client
            .get(&format!("/v1/audit?after={after}&limit=1000"))
            .map_err(|fault| ctx.fault(&fault))?;
        let lines: String = page["rows"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|row| format!("{row}\n"))
            .collect();
        ctx.ui.data(&lines)?;
        match cell(&page, "next") {
            next if next.is_empty() => return Ok(Exit::Done),
            next => after = next,
        }
    }
}

fn of_role(ctx: &Ctx, role: Role, old: Option<&Head>) -> Ended {
    if let Some(other) = old.and_then(|head| head.role).filter(|other| *other != role) {
        ctx.ui
            .say(&format!("the head is one of the role {other}, not of {role}"));
        return Err(Exit::Usage);
    }
    let config = ctx.config()?;
    let mut client = ctx.admin(&config, role, SLOW)?;
    let target = match old {
        Some(head) => format!("/v1/audit/verify?size={}&hash={}", head.size, head.hash),
        None => "/v1/audit/verify".to_owned(),
    };
    let report = client.get(&target).map_err(|fault| ctx.fault(&fault))?;
    tell(ctx, &report)
}

fn of_file(ctx: &Ctx, file: &Path, old: Option<&Head>) -> Ended {
    let report = verify::verify_file(file, old.map(|head| (head.size, head.hash)));
    match report {
        Ok(report) => tell(ctx, &verdict(&report)),
        Err(fault) => {
            ctx.ui.say(&format!("{fault}"));
            Err(Exit::Failed)
        }
    }
}

fn tell(ctx: &Ctx, report: &Value) -> Ended {
    let ok = report["ok"] == json!(true);
    ctx.ui.show(report, || {
        let mut out = fields(&[
            (
                "verified",
                if ok {
                    "the chain, the counts and the states agree"
                } else {
                    "NO"
                }
                .to_owned(),
            ),
            ("rows", cell(report, "rows")),
            ("jobs", cell(report, "jobs")),
            ("head", cell(report, "head")),
            ("findings", cell(report, "found")),
        ]);
        for finding in report["findings"].as_array().into_iter().flatten() {
            out.push_str(&format!("  {}\n", super::table::plain(finding)));
        }
        out
    })?;
    if ok {
        return Ok(Exit::Done);
    }
    ctx.ui.say("what was found does not mend itself: freeze the role, keep this file and the last backups, and look who could write it");
    Err(Exit::Failed)
}
