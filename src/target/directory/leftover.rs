//! What a dead holder left beside a path: put right, never guessed. In: what the ledger knows of the job. Out: what was
//! done; and what `look` sees afterwards is durable.
//!
//! Not here: whether the holder is dead (ledger/), what becomes of the job (settlement/).

use super::back::{Back, Put, put_back, swap_back};
use super::file::{is, keep_aside, look_at, remove};
use super::parents::Directory;
use super::{DirectoryVault, io_fault, names};
use crate::failpoint;
use crate::job::VaultPath;
use crate::target::open::{Confined, NoEntry, Standing, open_file};
use crate::target::{Before, LeftoverKind, Seen, Settled, Settlement, Trace, VaultDown};
use rustix::fs::{AtFlags, Dir, unlinkat};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

/// A directory and the hidden names of ours in it.
struct Listed {
    directory: Directory,
    names: Vec<String>,
}

pub(super) fn settle(
    vault: &DirectoryVault,
    confined: &Confined,
    traces: &[Trace<'_>],
) -> Result<Vec<Vec<Settled>>, VaultDown> {
    // Each directory is listed and synced once, however many of its jobs died together.
    let mut listed: HashMap<String, Option<Listed>> = HashMap::new();
    let mut settled = Vec::with_capacity(traces.len());
    for trace in traces {
        let mut of_job = Vec::new();
        for relative in at_and_above(names::split(trace.path.relative()).0) {
            if !listed.contains_key(relative) {
                listed.insert(relative.to_owned(), list(vault, confined, relative)?);
            }
            if let Some(Some(listed)) = listed.get(relative) {
                let own = relative == names::split(trace.path.relative()).0;
                settle_in(vault, listed, trace, own, &mut of_job);
            }
        }
        settled.push(of_job);
    }
    for found in listed.values().flatten() {
        failpoint::reach("vault.leftovers_settled")
            .and_then(|()| vault.disk.sync_directory(found.directory.fd()))
            .map_err(|error| down(vault, "syncing a directory in the vault", &error))?;
    }
    Ok(settled)
}

/// See [`crate::target::Vault::persist`].
pub(super) fn persist(
    vault: &DirectoryVault,
    confined: &Confined,
    paths: &[&VaultPath],
) -> Result<(), VaultDown> {
    let mut done: HashSet<&str> = HashSet::new();
    for path in paths {
        let (above, name) = names::split(path.relative());
        for relative in at_and_above(above) {
            let directory = match confined.directory(relative) {
                Ok(fd) => fd,
                // Nothing is at the path; that it stays so is in the directories above.
                Err(NoEntry::Absent | NoEntry::Blocked) => continue,
                Err(NoEntry::Trouble(errno)) => {
                    return Err(vault.trouble("opening a directory in the vault", errno));
                }
            };
            if relative == above
                && let Ok(Standing::File(file)) = open_file(directory.as_fd(), name)
            {
                vault
                    .disk
                    .sync_file(file.as_fd())
                    .map_err(|e| down(vault, "syncing a file in the vault", &e))?;
            }
            if done.insert(relative) {
                let synced = vault.disk.sync_directory(directory.as_fd());
                synced.map_err(|error| down(vault, "syncing a directory in the vault", &error))?;
            }
        }
    }
    Ok(())
}

/// The directory, the one above it, … and the root.
fn at_and_above(relative: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(relative), |path| {
        (!path.is_empty()).then(|| names::split(path).0)
    })
}

fn list(vault: &DirectoryVault, confined: &Confined, relative: &str) -> Result<Option<Listed>, VaultDown> {
    let handle = match confined.directory(relative) {
        Ok(fd) => File::from(fd),
        // Not there, or not to be entered: nothing of ours can be reached through it.
        Err(NoEntry::Absent | NoEntry::Blocked) => return Ok(None),
        Err(NoEntry::Trouble(errno)) => return Err(vault.trouble("opening a directory in the vault", errno)),
    };
    let fail = |error: &std::io::Error| down(vault, "listing a directory in the vault", error);
    let directory = Directory::of(handle).map_err(|error| fail(&error))?;
    let names = hidden_names(directory.fd()).map_err(|error| fail(&error))?;
    Ok(Some(Listed { directory, names }))
}

/// The names of ours in a directory.
pub(super) fn hidden_names(directory: BorrowedFd<'_>) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if let Some(name) = entry
            .file_name()
            .to_str()
            .ok()
            .filter(|name| names::parse(name).is_some())
        {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}

fn down(vault: &DirectoryVault, step: &'static str, error: &std::io::Error) -> VaultDown {
    VaultDown::Fault {
        path: vault.settings.path.clone(),
        why: io_fault(step, error),
    }
}

fn settle_in(
    vault: &DirectoryVault,
    listed: &Listed,
    trace: &Trace<'_>,
    own: bool,
    settled: &mut Vec<Settled>,
) {
    let directory = listed.directory.fd();
    for name in &listed.names {
        let Some((job, kind)) = names::parse(name) else {
            continue;
        };
        if job != trace.job_id {
            continue;
        }
        let done = match kind {
            LeftoverKind::Directory => removed(unlinkat(directory, name.as_str(), AtFlags::REMOVEDIR)),
            LeftoverKind::Part if own => removed(remove(directory, name)),
            LeftoverKind::Exchange if own => settle_exchange(vault, directory, name, trace),
            LeftoverKind::Gone if own => settled_by(put_back(
                directory,
                name,
                names::split(trace.path.relative()).1,
                trace.job_id,
            )),
            // A job writes in one directory only: here somebody moved it. And what is kept is a person's to judge.
            LeftoverKind::Part | LeftoverKind::Exchange | LeftoverKind::Gone | LeftoverKind::Kept => continue,
        };
        settled.push(Settled { kind, done });
    }
}

fn removed(answer: Result<(), rustix::io::Errno>) -> Settlement {
    match answer {
        Ok(()) => Settlement::Removed,
        Err(_) => Settlement::Failed,
    }
}

fn settled_by(put: Put) -> Settlement {
    match put {
        Put::Restored => Settlement::PutBack,
        Put::KeptAside => Settlement::KeptAside,
        Put::Failed => Settlement::Failed,
    }
}

/// `.new` holds our finished bytes (before the exchange, or after it was undone) or what came out of it. The latter is
/// what we were sent to replace, or something that somebody wrote and that we had no right to.
fn settle_exchange(
    vault: &DirectoryVault,
    directory: BorrowedFd<'_>,
    hidden: &str,
    trace: &Trace<'_>,
) -> Settlement {
    let bytes_max = vault.settings.bytes_max;
    let name = names::split(trace.path.relative()).1;
    let (Ok(came_out), Ok(at_path)) = (
        look_at(directory, hidden, bytes_max),
        look_at(directory, name, bytes_max),
    ) else {
        return Settlement::Failed;
    };
    if trace.new.is_some_and(|new| is(came_out, new)) {
        return removed(remove(directory, hidden));
    }
    if at_path == Seen::Absent {
        return settled_by(put_back(directory, hidden, name, trace.job_id));
    }
    let replaced = match trace.before {
        Some(Before::Bytes(before)) => is(came_out, before),
        Some(Before::Absent) | None => false,
    };
    if replaced {
        return removed(remove(directory, hidden));
    }
    match trace.new {
        Some(new) if is(at_path, new) => {
            match swap_back(directory, hidden, name, trace.job_id, new, bytes_max) {
                Back::Restored => Settlement::PutBack,
                Back::RestoredAndKept => Settlement::KeptAside,
                Back::Failed => Settlement::Failed,
            }
        }
        Some(_) | None if keep_aside(directory, hidden, trace.job_id) => Settlement::KeptAside,
        Some(_) | None => Settlement::Failed,
    }
}
