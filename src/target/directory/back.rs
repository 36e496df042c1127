//! Putting things back without losing what anybody wrote meanwhile. In: a hidden name and the path's name. Out: restored,
//! or kept aside.
//!
//! Not here: when to (write, delete, leftover).

use super::file::{Moved, exchange, is, keep_aside, look_at, move_free, remove};
use crate::failpoint;
use crate::job::{JobId, Sha256};
use crate::target::Seen;
use std::os::fd::BorrowedFd;

/// Somebody who replaces or removes the path each time we look wins after this many tries, and nothing is lost.
const TRIES: u32 = 3;

/// How an exchange was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// The path holds what it held.
    Restored,
    /// It does; and what had been written over ours meanwhile is kept aside.
    RestoredAndKept,
    /// It may not; what came out first is kept aside or still has the hidden name.
    Failed,
}

/// Exchanges `hidden`, which holds what was at `name`, back with it. `new` are our bytes, which must come out.
pub(super) fn swap_back(
    directory: BorrowedFd<'_>,
    hidden: &str,
    name: &str,
    job: JobId,
    new: Sha256,
    bytes_max: u64,
) -> Back {
    for _ in 0..TRIES {
        match exchange(directory, hidden, name) {
            Moved::Yes => {
                if failpoint::reach("vault.swapped_back").is_err() {
                    return Back::Failed;
                }
                return match look_at(directory, hidden, bytes_max) {
                    Ok(seen) if is(seen, new) => {
                        // Our own bytes; if they cannot be removed they are a leftover like any other.
                        match remove(directory, hidden) {
                            Ok(()) | Err(_) => Back::Restored,
                        }
                    }
                    Ok(Seen::Absent) => Back::Restored,
                    Ok(Seen::Bytes { .. } | Seen::Unreadable) | Err(_) => {
                        if keep_aside(directory, hidden, job) {
                            Back::RestoredAndKept
                        } else {
                            Back::Failed
                        }
                    }
                };
            }
            // The path is gone: somebody removed our bytes there.
            Moved::Missing => match move_free(directory, hidden, name) {
                Moved::Yes => return Back::Restored,
                Moved::Taken => {}
                Moved::Missing | Moved::No(_) | Moved::Unclear(_) => return Back::Failed,
            },
            Moved::Taken | Moved::No(_) | Moved::Unclear(_) => return Back::Failed,
        }
    }
    let _kept = keep_aside(directory, hidden, job);
    Back::Failed
}

/// How something set aside was put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// The path holds it again.
    Restored,
    /// The path exists again; it is kept aside.
    KeptAside,
    /// It still has the hidden name.
    Failed,
}

/// Gives `hidden` the path's name again, if nothing has it.
pub(super) fn put_back(directory: BorrowedFd<'_>, hidden: &str, name: &str, job: JobId) -> Put {
    match move_free(directory, hidden, name) {
        Moved::Yes => Put::Restored,
        Moved::Taken if keep_aside(directory, hidden, job) => Put::KeptAside,
        Moved::Taken | Moved::Missing | Moved::No(_) | Moved::Unclear(_) => Put::Failed,
    }
}
