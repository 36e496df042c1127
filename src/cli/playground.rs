//! A development installation below one directory: what is absent is made, what is there is used. In: a directory, the text of
//! lockgate.toml for where there is none. Out: a checked configuration and everything it names.
//!
//! Not here: running anything (`family`), production (the package makes its directories).

use super::Ctx;
use super::ui::exit_of_io;
use crate::clock::{Clock, SystemClock};
use crate::config::{self, Config, Installation, Mode, VaultKind};
use crate::credentials::{CredentialName, create_playground_key};
use crate::durable;
use crate::exit::Exit;
use crate::fence;
use crate::job::{Role, Uuid4};
use crate::source::playground::{self as repository, Format};
use crate::target::DirectoryVault;
use std::fmt::Display;
use std::path::Path;

const APPROVERS: &str = "\
# Whose signature lets a DELETE through: one line a key, as in OpenSSH's allowed_signers.
# A key for trials, and its line here (the private half belongs on another machine):
#   lockgate-sign keygen --principal you@example.org ~/approver-key >> approvers
# A key you have: your name, a blank, and the content of its .pub file (ssh-ed25519 or, better, sk-ssh-ed25519@openssh.com).
# The file is read again whenever it changes.
";

const NOTES: [(&str, &str); 3] = [
    (
        "notes/hello.md",
        "# Hello\n\nThis note lives in the source. A SAVE job brings it into the vault.\n",
    ),
    (
        "notes/plan.md",
        "# Plan\n\n1. draft\n2. submit\n3. status\n4. approve\n5. audit\n",
    ),
    (
        "notes/old.md",
        "# Old\n\nSave me first; then a DELETE job with an approval removes me.\n",
    ),
];

/// Makes what is absent below `dir`; `toml` is told a fresh instance and a fresh vault id.
pub(super) fn create(ctx: &Ctx, dir: &Path, toml: impl FnOnce(&str, &str) -> String) -> Result<Config, Exit> {
    let main = dir.join("lockgate.toml");
    std::fs::create_dir_all(dir).map_err(|error| ctx.cannot("make", dir, &error))?;
    if !main.exists() {
        let text = toml(&Uuid4::random().to_string(), &Uuid4::random().to_string());
        durable::create_file_atomically(&main, text.as_bytes(), 0o644)
            .map_err(|error| ctx.cannot("write", &main, &error))?;
    }
    let config = config::load(&Installation::Dir(dir.to_owned())).map_err(|problems| {
        ctx.ui.say(&problems.to_string());
        Exit::Configuration
    })?;
    if config.mode == Mode::Production {
        ctx.ui.say(&format!(
            "{}: mode is \"production\": `lockgate up` runs everything under one user and is for development; in production the units start the roles",
            main.display()
        ));
        return Err(Exit::Configuration);
    }
    files(ctx, &config)?;
    directories(ctx, &config)?;
    source(ctx, dir, &config)?;
    vault(ctx, &config)?;
    Ok(config)
}

impl Ctx {
    fn cannot(&self, what: &str, path: &Path, error: &std::io::Error) -> Exit {
        self.ui
            .say(&format!("{}: cannot {what} it: {error}", path.display()));
        exit_of_io(error)
    }
    fn put_right(&self, error: &dyn Display) -> Exit {
        self.ui.say(&error.to_string());
        Exit::Configuration
    }
}

fn files(ctx: &Ctx, config: &Config) -> Result<(), Exit> {
    let approvers = &config.layout.approvers;
    durable::create_file_atomically(approvers, APPROVERS.as_bytes(), 0o640)
        .map_err(|error| ctx.cannot("write", approvers, &error))?;
    if let Some(credentials) = config.layout.credentials_dir(Role::Delete)
        && let Some(all) = credentials.parent()
    {
        create_playground_key(all, Role::Delete, CredentialName::RecoveryKey)
            .map_err(|fault| ctx.put_right(&fault))?;
    }
    Ok(())
}

fn directories(ctx: &Ctx, config: &Config) -> Result<(), Exit> {
    let layout = &config.layout;
    let mut all = vec![layout.state.clone(), layout.spool.clone(), layout.run.clone()];
    for role in Role::ALL {
        all.push(layout.state_dir(role));
        all.push(layout.run.join(role.as_str()));
    }
    for role in Role::EXECUTORS {
        all.extend([
            layout.spool_dir(role),
            layout.drop_dir(role),
            layout.gate_dir(role),
        ]);
    }
    for dir in all {
        durable::make_private_dir(&dir).map_err(|error| ctx.cannot("make", &dir, &error))?;
    }
    fence::create_for_development(&layout.fence_dir).map_err(|fault| ctx.put_right(&fault))
}

/// Made beside its place and then named, so that a half-made one is never taken for a source.
fn source(ctx: &Ctx, dir: &Path, config: &Config) -> Result<(), Exit> {
    let path = &config.source.path;
    if path.exists() {
        return Ok(());
    }
    if !path.starts_with(dir) {
        return Err(ctx.put_right(&format!(
            "source.path: {} does not exist; only a source below {} is made here",
            path.display(),
            dir.display()
        )));
    }
    let unfinished = dir.join(format!(".source-{}", Uuid4::random()));
    let changes: Vec<(String, &[u8])> = NOTES
        .iter()
        .map(|(note, text)| (format!("{}{note}", config.source.root), text.as_bytes()))
        .collect();
    let changes: Vec<_> = changes
        .iter()
        .map(|(note, text)| (note.as_str(), Some(*text)))
        .collect();
    let now = SystemClock::new(String::new()).wall().0 / 1000;
    repository::create(&unfinished, Format::Sha1, &changes, now).map_err(|fault| ctx.put_right(&fault))?;
    std::fs::rename(&unfinished, path)
        .and_then(|()| durable::sync_dir(dir))
        .map_err(|error| ctx.cannot("make", path, &error))
}

fn vault(ctx: &Ctx, config: &Config) -> Result<(), Exit> {
    match (config.vault.kind, &config.vault.id) {
        (VaultKind::Directory, Some(id)) => {
            DirectoryVault::create(&config.vault.path, id).map_err(|down| ctx.put_right(&down))
        }
        (VaultKind::Directory, None) if config.vault.path.join(".lockgate-vault").exists() => Ok(()),
        (VaultKind::Directory, None) => {
            DirectoryVault::create(&config.vault.path, &Uuid4::random().to_string())
                .map_err(|down| ctx.put_right(&down))
        }
        (VaultKind::Noop, _) => Ok(()),
    }
}
