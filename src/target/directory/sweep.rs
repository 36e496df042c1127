//! A walk through the whole vault for leftovers. In: the root. Out: a bounded list.
//!
//! Not here: settling them; that needs the ledger's knowledge of the job.

use super::leftover::hidden_names;
use super::names;
use crate::target::open::Confined;
use crate::target::{Leftover, Sweep};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use std::os::fd::{AsFd, BorrowedFd};

/// Beyond this many the list says nothing more.
const FOUND_MAX: usize = 10_000;
/// Deeper than any vault path, and bounds the walk where somebody else makes directories.
const DEPTH_MAX: usize = 64;

pub(super) fn sweep(confined: &Confined) -> Sweep {
    let mut sweep = Sweep::default();
    // Paths, not descriptors: a wide vault would need too many of them.
    let mut waiting = vec![String::new()];
    while let Some(relative) = waiting.pop() {
        if sweep.found.len() >= FOUND_MAX {
            break;
        }
        let Ok(directory) = confined.directory(&relative) else {
            sweep.unread += 1;
            continue;
        };
        let listed = hidden_names(directory.as_fd()).and_then(|names| Ok((names, below(directory.as_fd())?)));
        let Ok((hidden, directories)) = listed else {
            sweep.unread += 1;
            continue;
        };
        for name in hidden {
            if let Some((job_id, kind)) = names::parse(&name) {
                sweep.found.push(Leftover {
                    job_id,
                    directory: relative.clone(),
                    name,
                    kind,
                });
            }
        }
        for name in directories {
            if relative.split('/').count() >= DEPTH_MAX {
                sweep.unread += 1;
            } else if relative.is_empty() {
                waiting.push(name);
            } else {
                waiting.push(format!("{relative}/{name}"));
            }
        }
    }
    sweep.found.truncate(FOUND_MAX);
    sweep
}

/// The directories in a directory, links not among them. Names that are not UTF-8 cannot be on a vault path, hidden ones
/// neither.
fn below(directory: BorrowedFd<'_>) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        if name.starts_with('.') {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            kind = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        if kind == FileType::Directory {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}
