//! `lockgate restore`: puts a backup in the place of the ledger of a role that is stopped. What was there is kept beside it; spent.log
//! and the file `epoch` stay, so that the next start sees a restore and nothing spent comes back to life.
//!
//! ```text
//! copy, synced ─ verified ─ inbox.db linked aside ─ -wal, -shm moved aside ─ the copy renamed to inbox.db ─ directory synced
//! ```
//! A crash in between leaves an older state or none, which the next start takes for a restore too; running the verb again is safe.
//!
//! Not here: what a restore means for jobs and approvals (epoch/, daemon/restored).

use super::Ctx;
use super::parse;
use super::stopped::Stopped;
use super::table::fields;
use super::ui::{Ended, exit_of_io};
use crate::clock::{Clock, SystemClock};
use crate::exit::Exit;
use crate::failpoint;
use crate::job::{Role, format_utc};
use crate::ledger::verify::{self, Report};
use crate::{durable, ledger};
use serde_json::json;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The role must be stopped. It then starts paused, in a new epoch: what was in flight is looked at, approvals from\nbefore are void. Look at `lockgate overview` and `lockgate jobs ROLE`, then `lockgate resume ROLE`.\n\nExample:\n  lockgate restore delete /var/lib/lockgate/delete/backups/delete-20260102T030405678Z.db"
)]
pub struct RestoreArgs {
    /// The role; it must not run
    #[arg(value_parser = parse::executor())]
    pub role: Role,
    /// The backup
    pub file: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &RestoreArgs) -> Ended {
    let config = ctx.config()?;
    let state_dir = config.layout.state_dir(args.role);
    let _stopped = Stopped::hold(ctx, args.role, &state_dir)?;
    let inbox = config.layout.inbox_db(args.role);
    let copy = state_dir.join(".inbox.db.restore");
    let cannot = |error: io::Error| {
        ctx.ui.say(&format!(
            "{}: {error}; nothing was put in its place",
            state_dir.display()
        ));
        exit_of_io(&error)
    };
    copy_in(&args.file, &copy, &state_dir).map_err(|error| {
        ctx.ui
            .say(&format!("{}: cannot be copied: {error}", args.file.display()));
        exit_of_io(&error)
    })?;
    failpoint::reach("restore.copied").map_err(cannot)?;
    let report = match judge(&copy, args.role) {
        Ok(report) => report,
        Err(why) => {
            let _gone = std::fs::remove_file(&copy);
            ctx.ui
                .say(&format!("{}: {why}; nothing was changed", args.file.display()));
            return Err(Exit::Failed);
        }
    };
    let stamp: String = format_utc(SystemClock::new(String::new()).wall())
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let aside = swap(&inbox, &copy, &stamp).map_err(cannot)?;
    let answer = json!({
        "role": args.role.as_str(),
        "restored": args.file.display().to_string(),
        "audit_rows": report.rows,
        "kept_aside": aside.as_ref().map(|path| path.display().to_string()),
    });
    ctx.ui.show(&answer, || {
        fields(&[
            ("restored", args.file.display().to_string()),
            ("as", inbox.display().to_string()),
            ("audit rows", report.rows.to_string()),
            (
                "kept aside",
                aside.map_or_else(String::new, |path| path.display().to_string()),
            ),
        ])
    })?;
    ctx.ui.say(&format!(
        "start the role {0} now: it begins a new epoch and is paused; check `lockgate jobs {0}` first, then `lockgate resume {0}`",
        args.role
    ));
    Ok(Exit::Done)
}

/// A private copy, synced, owned by who owns the state directory: root may restore for the role.
fn copy_in(file: &Path, copy: &Path, state_dir: &Path) -> io::Result<()> {
    for left in [copy.to_owned(), beside(copy, "-wal"), beside(copy, "-shm")] {
        match std::fs::remove_file(&left) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    let mut from = File::open(file)?;
    if !from.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut to = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(copy)?;
    io::copy(&mut from, &mut to)?;
    let owner = std::fs::metadata(state_dir)?;
    if owner.uid() != to.metadata()?.uid() {
        std::os::unix::fs::fchown(&to, Some(owner.uid()), Some(owner.gid()))?;
    }
    to.sync_all()
}

/// The copy verifies and is this role's ledger.
fn judge(copy: &Path, role: Role) -> Result<Report, String> {
    let report = verify::verify_file(copy, None).map_err(|fault| fault.to_string())?;
    if report.found > 0 {
        return Err(format!("it does not verify: {}", report.findings.join("; ")));
    }
    match ledger::role_of_file(copy).map_err(|fault| fault.to_string())? {
        Some(found) if found == role.as_str() => {}
        Some(found) => return Err(format!("it is a ledger of the role {found}, not of {role}")),
        None => return Err("it does not say whose ledger it is".to_owned()),
    }
    // Looking at it in its own journal mode may have left empty side files.
    for left in [beside(copy, "-wal"), beside(copy, "-shm")] {
        let _gone = std::fs::remove_file(left);
    }
    Ok(report)
}

/// Where the old ledger is now, if there was one.
fn swap(inbox: &Path, copy: &Path, stamp: &str) -> io::Result<Option<PathBuf>> {
    let old = inbox.exists();
    let aside = beside(inbox, &format!(".before-{stamp}"));
    if old {
        // A link and not a rename: at no instant is there no inbox.db.
        std::fs::hard_link(inbox, &aside)?;
    }
    for side in ["-wal", "-shm"] {
        match std::fs::rename(beside(inbox, side), beside(&aside, side)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    failpoint::reach("restore.aside")?;
    std::fs::rename(copy, inbox)?;
    failpoint::reach("restore.placed")?;
    durable::sync_dir(inbox.parent().unwrap_or_else(|| Path::new(".")))?;
    Ok(old.then_some(aside))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_ledger_is_kept_aside_whole_and_the_new_one_has_no_old_journal() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (name, text) in [
            ("inbox.db", "old"),
            ("inbox.db-wal", "old wal"),
            ("spent.log", "spent"),
            ("backup.db", "new"),
        ] {
            std::fs::write(at(name), text).unwrap();
        }
        copy_in(&at("backup.db"), &at(".copy"), dir.path()).unwrap();
        let aside = swap(&at("inbox.db"), &at(".copy"), "S").unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(at("inbox.db")).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(&aside).unwrap(), "old");
        assert_eq!(
            std::fs::read_to_string(beside(&aside, "-wal")).unwrap(),
            "old wal"
        );
        assert!(!at("inbox.db-wal").exists() && !at(".copy").exists());
        assert_eq!(std::fs::read_to_string(at("spent.log")).unwrap(), "spent");
        assert_eq!(std::fs::read_to_string(at("backup.db")).unwrap(), "new");
    }

    #[test]
    fn a_file_that_is_no_ledger_is_not_restored() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("x.db"),
            "not a database at all, and longer than a header would be",
        )
        .unwrap();
        assert!(judge(&dir.path().join("x.db"), Role::Save).is_err());
    }
}
