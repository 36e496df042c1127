//! `lockgate state`: ends an installation for good. Its ledgers and spent.log are the only evidence against replay.
//!
//! Not here: what the package removes (purge keeps the state).

use super::Ctx;
use super::stopped::Stopped;
use super::ui::{Ended, exit_of_io};
use crate::config::Config;
use crate::exit::Exit;
use crate::job::Role;
use std::io::{BufRead, ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum StateVerb {
    /// Remove every role's state: ledgers, spent.log, recovery copies, backups
    #[command(
        after_help = "Every role must be stopped. Afterwards give the installation another `instance` before it starts again:\napprovals signed for the old one could otherwise count a second time.\n\nExamples:\n  lockgate state destroy                     asks\n  lockgate state destroy --confirm ID        where nobody can be asked"
    )]
    Destroy {
        /// The instance id of this installation, as in lockgate.toml
        #[arg(long, value_name = "ID")]
        confirm: Option<String>,
    },
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &StateVerb) -> Ended {
    let StateVerb::Destroy { confirm } = args;
    let config = ctx.config()?;
    let dirs: Vec<(Role, PathBuf)> = Role::ALL
        .into_iter()
        .map(|role| (role, config.layout.state_dir(role)))
        .filter(|(_, dir)| dir.exists())
        .collect();
    let mut held = Vec::new();
    for (role, dir) in &dirs {
        held.push(Stopped::hold(ctx, *role, dir)?);
    }
    for (role, dir) in &dirs {
        ctx.ui
            .say(&format!("{}: everything of the role {role}", dir.display()));
    }
    confirmed(ctx, &config, confirm.as_deref())?;
    for (_, dir) in &dirs {
        empty(dir).map_err(|error| {
            ctx.ui.say(&format!(
                "{}: {error}; it is partly removed: run it again",
                dir.display()
            ));
            exit_of_io(&error)
        })?;
    }
    drop(held);
    ctx.ui
        .say("the state is gone; set another `instance` in lockgate.toml before any role starts again");
    Ok(Exit::Done)
}

fn confirmed(ctx: &Ctx, config: &Config, given: Option<&str>) -> Result<(), Exit> {
    let mut typed = String::new();
    let given = match given {
        Some(given) => given,
        None if !std::io::stdin().is_terminal() => {
            ctx.ui
                .say("nothing was removed: nobody can be asked here; pass --confirm with the instance id");
            return Err(Exit::Usage);
        }
        None => {
            ctx.ui
                .say("This cannot be undone. Type the instance id of this installation to remove all of it:");
            let read = std::io::stdin().lock().take(200).read_line(&mut typed);
            read.map_err(|error| exit_of_io(&error))?;
            typed.trim()
        }
    };
    if given == config.instance {
        return Ok(());
    }
    ctx.ui
        .say("nothing was removed: that is not the instance id of this installation");
    Err(Exit::Usage)
}

/// Removes what is in the directory; the directory itself is the package's. start.lock goes last: it is held.
fn empty(dir: &Path) -> std::io::Result<()> {
    let mut last = None;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_name() == "start.lock" {
            last = Some(path);
        } else if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(&path)?;
        } else {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
    }
    last.map_or(Ok(()), std::fs::remove_file)?;
    crate::durable::sync_dir(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_it_goes_and_the_directory_stays() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("backups")).unwrap();
        for name in ["inbox.db", "start.lock", "backups/a.db"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        empty(dir.path()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
