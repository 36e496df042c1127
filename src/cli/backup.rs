//! `lockgate backup`: copies of a role's state. They are made by the running role; a file can be verified without any role.
//!
//! Not here: making them (daemon/backup), putting one back (`restore`).

use super::Ctx;
use super::parse;
use super::table::{Table, cell, fields, plain};
use super::ui::Ended;
use crate::config::Config;
use crate::daemon::render::verdict;
use crate::exit::Exit;
use crate::job::Role;
use crate::ledger::verify;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum BackupVerb {
    /// Make one now
    #[command(after_help = "Example:\n  lockgate backup create delete --reason \"before the upgrade\"")]
    Create {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
        /// Why; it goes into the audit
        #[arg(long, value_parser = parse::reason)]
        reason: Option<String>,
    },
    /// List them, the oldest first
    #[command(after_help = "Example:\n  lockgate backup list delete")]
    List {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
    },
    /// Open one and check it; without FILE the newest
    #[command(
        after_help = "Ends with 1 if anything is wrong.\n\nExamples:\n  lockgate backup verify delete\n  lockgate backup verify delete /mnt/elsewhere/delete-20260102T030405678Z.db"
    )]
    Verify {
        /// The role
        #[arg(value_parser = parse::executor())]
        role: Role,
        /// A name from the list, or a path of a file
        file: Option<PathBuf>,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &BackupVerb) -> Ended {
    match args {
        BackupVerb::Create { role, reason } => {
            let config = ctx.config()?;
            let body = reason
                .as_ref()
                .map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
            let made = ctx.act(&config, *role, "/v1/backups", &body)?;
            ctx.ui.show(&made, || made_text(&config, *role, &made))?;
            Ok(Exit::Done)
        }
        BackupVerb::List { role } => {
            let listed = ctx.view(&ctx.config()?, *role, "/v1/backups")?;
            ctx.ui.show(&listed, || list_text(&listed))?;
            Ok(Exit::Done)
        }
        // A path is read here: the file may be on any disk, and the role may be stopped.
        BackupVerb::Verify { file: Some(file), .. } if is_path(file) => of_file(ctx, file),
        BackupVerb::Verify { role, file } => of_role(ctx, &ctx.config()?, *role, file.as_deref()),
    }
}

fn is_path(file: &Path) -> bool {
    file.components().count() > 1 || file.exists()
}

fn of_role(ctx: &Ctx, config: &Config, role: Role, name: Option<&Path>) -> Ended {
    let name = match name {
        Some(name) => name.display().to_string(),
        None => {
            let listed = ctx.view(config, role, "/v1/backups")?;
            let newest = listed["backups"]
                .as_array()
                .and_then(|all| all.last())
                .map(|one| cell(one, "name"));
            newest.ok_or_else(|| {
                ctx.ui.say(&format!(
                    "there is no backup yet; `lockgate backup create {role}` makes one"
                ));
                Exit::Failed
            })?
        }
    };
    if !name
        .bytes()
        .all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
    {
        ctx.ui.say(&format!(
            "{name}: neither a name from `lockgate backup list {role}` nor a file"
        ));
        return Err(Exit::Usage);
    }
    let report = ctx.act(config, role, &format!("/v1/backups/{name}/verify"), &json!({}))?;
    tell(ctx, &name, &report)
}

fn of_file(ctx: &Ctx, file: &Path) -> Ended {
    match verify::verify_file(file, None) {
        Ok(report) => tell(ctx, &file.display().to_string(), &verdict(&report)),
        Err(fault) => {
            ctx.ui.say(&fault.to_string());
            Err(Exit::Failed)
        }
    }
}

fn tell(ctx: &Ctx, name: &str, report: &Value) -> Ended {
    let ok = report["ok"] == json!(true);
    ctx.ui.show(report, || {
        let verdict = if ok { "yes" } else { "NO: do not restore it" };
        let mut out = fields(&[
            ("backup", name.to_owned()),
            ("verified", verdict.to_owned()),
            ("audit rows", cell(report, "rows")),
        ]);
        for finding in report["findings"].as_array().into_iter().flatten() {
            out.push_str(&format!("  {}\n", plain(finding)));
        }
        out
    })?;
    if ok { Ok(Exit::Done) } else { Err(Exit::Failed) }
}

fn made_text(config: &Config, role: Role, made: &Value) -> String {
    let path = config
        .layout
        .state_dir(role)
        .join("backups")
        .join(cell(made, "name"));
    fields(&[
        ("backup", cell(made, "name")),
        ("path", path.display().to_string()),
        ("audit rows", cell(made, "rows")),
        ("head", cell(made, "head")),
    ])
}

fn list_text(listed: &Value) -> String {
    let mut table = Table::new(&["NAME", "BYTES", "PATH"]);
    for one in listed["backups"].as_array().into_iter().flatten() {
        table.row(
            ["name", "bytes", "path"]
                .iter()
                .map(|name| cell(one, name))
                .collect(),
        );
    }
    table.text()
}
