//! `lockgate config check`: the exact start-up path of the configuration, without starting anything.
//!
//! With `--online` also what the settings name: the repository, the vault and its marker, the approvers.
//!
//! Not here: the judging (config/), owners and modes (`serve` looks at them as the role's own user).

use super::Ctx;
use super::ui::{Ended, Format};
use crate::config::{self, Config, VaultKind};
use crate::exit::Exit;
use std::path::Path;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum ConfigVerb {
    /// Read and judge the configuration; every problem is told with file, line and key
    #[command(after_help = "Example:\n  lockgate config check --online")]
    Check {
        /// Also look at what it names: repository, vault, approvers
        #[arg(long)]
        online: bool,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ConfigVerb) -> Ended {
    let ConfigVerb::Check { online } = args;
    let config = match config::load(&ctx.installation) {
        Ok(config) => config,
        Err(problems) => {
            if ctx.ui.format == Format::Json {
                ctx.ui.data(&format!("{}\n", listing(&problems.0)))?;
            }
            ctx.ui.say(&problems.to_string());
            return Err(Exit::Configuration);
        }
    };
    let mut missing = if *online { look(&config) } else { Vec::new() };
    missing.extend(approvers(&config));
    if ctx.ui.format == Format::Json {
        let files: Vec<String> = config
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let answer = serde_json::json!({"ok": missing.is_empty(), "files": files, "unavailable": missing});
        ctx.ui.data(&format!("{answer}\n"))?;
    }
    for line in &missing {
        ctx.ui.say(line);
    }
    if !missing.is_empty() {
        return Err(Exit::Unavailable);
    }
    let files = config.files.len();
    ctx.ui.say(&format!(
        "the configuration is complete ({files} file{})",
        if files == 1 { "" } else { "s" }
    ));
    Ok(Exit::Done)
}

fn listing(problems: &[config::Problem]) -> serde_json::Value {
    let all: Vec<serde_json::Value> = problems
        .iter()
        .map(|problem| {
            serde_json::json!({
                "file": problem.file.display().to_string(),
                "line": problem.line,
                "key": problem.key,
                "message": problem.message,
            })
        })
        .collect();
    serde_json::json!({"ok": false, "problems": all})
}

/// A file that is there and that this user may read must be one by which an approval could verify.
fn approvers(config: &Config) -> Option<String> {
    let text = std::fs::read_to_string(&config.layout.approvers).ok()?;
    let error = crate::approval::Approvers::parse(&text).err()?;
    let shown = config.layout.approvers.display();
    Some(format!(
        "{shown}: {error}; no approval verifies until it is put right"
    ))
}

/// What is named and not there.
fn look(config: &Config) -> Vec<String> {
    let mut missing = Vec::new();
    let source = &config.source.path;
    if ![source.join("HEAD"), source.join(".git/HEAD")]
        .iter()
        .any(|head| head.is_file())
    {
        missing.push(format!(
            "source.path: {} is not a git repository that can be read",
            source.display()
        ));
    }
    match config.vault.kind {
        VaultKind::Directory => missing.extend(marker(&config.vault.path, config.vault.id.as_deref())),
        VaultKind::Noop => {}
    }
    if let Err(error) = std::fs::File::open(&config.layout.approvers) {
        let shown = config.layout.approvers.display();
        missing.push(format!("approvers: {shown} cannot be read as this user: {error}"));
    }
    missing
}

fn marker(vault: &Path, id: Option<&str>) -> Option<String> {
    let path = vault.join(".lockgate-vault");
    let is_small = std::fs::symlink_metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= 4096);
    let Some(text) = is_small.then(|| std::fs::read_to_string(&path).ok()).flatten() else {
        return Some(format!(
            "vault.path: {} cannot be read: is the vault mounted?",
            path.display()
        ));
    };
    match id {
        Some(id) if id != text.trim() => Some(format!(
            "vault.id: {} holds another id: this is not the vault that is meant",
            path.display()
        )),
        Some(_) | None => None,
    }
}
