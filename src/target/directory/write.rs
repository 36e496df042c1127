//! Writes: whole new bytes in the place of exactly the bytes expected. In: orders. Out: one answer each.
//!
//! For each batch, in this order, so that a crash at any point leaves the path with all old or all new bytes:
//! 1. each object into a `.part` file of its directory, with owner, group and mode;
//! 2. all those files synced;
//! 3. each named: `RENAME_NOREPLACE` where nothing was; else `.part` → `.new`, exchanged with the path, and what came out
//!    is hashed: expected → removed, anything else → exchanged back;
//! 4. each directory synced once. Only then `Done`.
//!
//! `.new` never holds unfinished bytes: after a crash, what is neither the new nor the old object is somebody's.
//!
//! Not here: what is at the path before (roles/), leftovers of a crash (`leftover`).

use super::back::{Back, swap_back};
use super::batch::{CHUNK, Placed, after_failed_sync, make_durable, twice};
use super::file::{Moved, exchange, is, look_at, look_into, move_free, remove};
use super::keep::{self, Attributes, Kept};
use super::parents::{Directories, Directory};
use super::{DirectoryVault, fault, io_fault, names, sync};
use crate::failpoint;
use crate::target::open::{Confined, Standing, open_file};
use crate::target::{Answer, Before, FaultText, Seen, WriteOrder};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Bytes written at a time, with a crash point between.
const PIECE_BYTES: usize = 1 << 20;

/// A finished temporary file that waits for its name.
struct Part {
    directory: Arc<Directory>,
    part: String,
    file: File,
    attributes: Attributes,
}

pub(super) fn write(vault: &DirectoryVault, confined: &Confined, orders: &[WriteOrder<'_>]) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(orders.len());
    let (mut paths, mut jobs) = (HashSet::new(), HashSet::new());
    let mut broken = false;
    for chunk in orders.chunks(CHUNK) {
        if broken {
            answers.extend(chunk.iter().map(|_| after_failed_sync()));
            continue;
        }
        let mut directories = Directories::new(confined);
        let prepared = chunk.iter().map(|order| {
            if paths.insert(order.path) && jobs.insert(order.job_id) {
                prepare(vault, &mut directories, order)
            } else {
                Err(twice())
            }
        });
        let prepared = synced(vault, prepared.collect());
        let placed: Vec<Placed> = prepared
            .into_iter()
            .zip(chunk)
            .map(|(part, order)| part.map_or_else(Placed::from, |part| place(vault, part, order)))
            .collect();
        if placed.iter().any(|placed| placed.touched.is_none()) {
            directories.undo_empty();
        }
        let relative = chunk.iter().map(|order| names::split(order.path.relative()).0);
        let (settled, sync_failed) = make_durable(vault, &directories, placed.into_iter().zip(relative));
        answers.extend(settled);
        broken = sync_failed;
    }
    answers
}

/// Step 1: nothing visible happens, and on failure nothing remains.
fn prepare(
    vault: &DirectoryVault,
    directories: &mut Directories<'_>,
    order: &WriteOrder<'_>,
) -> Result<Part, Answer> {
    let (above, name) = names::split(order.path.relative());
    let directory = match order.before {
        Before::Absent => directories.ensure(above, order.job_id)?,
        Before::Bytes(_) => directories.find(above)?.ok_or_else(|| drift(Seen::Absent))?,
    };
    let standing = open_file(directory.fd(), name).map_err(|errno| Answer::NotSent {
        why: fault("opening a file in the vault", errno),
    })?;
    let attributes = match (order.before, standing) {
        (Before::Absent, Standing::Absent) => Attributes::New { gid: directory.gid },
        (Before::Bytes(_), Standing::Absent) => return Err(drift(Seen::Absent)),
        (Before::Absent, Standing::File(file)) => {
            return Err(drift(look_into(&file, vault.settings.bytes_max)));
        }
        (Before::Bytes(before), Standing::File(file)) => {
            let seen = look_into(&file, vault.settings.bytes_max);
            if !is(seen, before) {
                return Err(drift(seen));
            }
            let kept = Kept::of(&file).map_err(|error| Answer::NotSent {
                why: io_fault("reading owner, group and mode", &error),
            })?;
            Attributes::Kept(kept)
        }
        (_, Standing::Locked) => {
            return Err(Answer::Refused {
                detail: keep::PERMISSIONS,
            });
        }
        (_, Standing::Other) => {
            return Err(Answer::Refused {
                detail: keep::NOT_A_FILE,
            });
        }
    };
    let part = names::part(order.job_id);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory.fd(), part.as_str(), flags, Mode::RUSR | Mode::WUSR).map_err(|errno| {
        Answer::NotSent {
            why: fault("making a temporary file in the vault", errno),
        }
    })?;
    let part = Part {
        directory,
        part,
        file: File::from(file),
        attributes,
    };
    match fill(&part, order.bytes) {
        Ok(()) => Ok(part),
        Err(answer) => Err(abandon(&part.directory, &part.part, answer)),
    }
}

fn drift(found: Seen) -> Answer {
    Answer::Drift {
        found,
        kept_aside: false,
    }
}

fn fill(part: &Part, bytes: &[u8]) -> Result<(), Answer> {
    let fail = |error: std::io::Error| Answer::NotSent {
        why: io_fault("writing a temporary file in the vault", &error),
    };
    failpoint::reach("vault.part_created").map_err(fail)?;
    let mut file = &part.file;
    for piece in bytes.chunks(PIECE_BYTES) {
        file.write_all(piece).map_err(fail)?;
        failpoint::reach("vault.part_piece").map_err(fail)?;
    }
    keep::apply(&part.attributes, &part.file)?;
    failpoint::reach("vault.part_written").map_err(fail)
}

/// Removes a temporary file of ours that never became visible. If that fails too, it is settled as a leftover.
fn abandon(directory: &Directory, name: &str, answer: Answer) -> Answer {
    match remove(directory.fd(), name) {
        Ok(()) | Err(_) => answer,
    }
}

/// Step 2.
fn synced(vault: &DirectoryVault, mut parts: Vec<Result<Part, Answer>>) -> Vec<Result<Part, Answer>> {
    let files: Vec<_> = parts.iter().flatten().map(|part| part.file.as_fd()).collect();
    let results = sync::each(&files, vault.settings.sync_threads, |file| {
        vault.disk.sync_file(file)?;
        failpoint::reach("vault.part_synced")
    });
    drop(files);
    let mut results = results.into_iter();
    for slot in &mut parts {
        let Ok(part) = slot else { continue };
        let result = results
            .next()
            .unwrap_or_else(|| Err(std::io::Error::other("not synced")));
        if let Err(error) = result {
            let answer = Answer::NotSent {
                why: io_fault("syncing a temporary file in the vault", &error),
            };
            *slot = Err(abandon(&part.directory, &part.part, answer));
        }
    }
    parts
}

/// Step 3 for one order.
fn place(vault: &DirectoryVault, part: Part, order: &WriteOrder<'_>) -> Placed {
    let name = names::split(order.path.relative()).1;
    let directory = part.directory;
    match part.attributes {
        Attributes::New { .. } => place_new(vault, directory, &part.part, name),
        Attributes::Kept(kept) => {
            let waiting = names::exchange(order.job_id);
            let failed = match move_free(directory.fd(), &part.part, &waiting) {
                Moved::Yes => None,
                Moved::Taken => Some(FaultText::new("a leftover of this job is not settled", None)),
                Moved::Missing => Some(fault("naming a temporary file in the vault", Errno::NOENT)),
                Moved::No(errno) | Moved::Unclear(errno) => {
                    Some(fault("naming a temporary file in the vault", errno))
                }
            };
            match failed {
                Some(why) => abandon(&directory, &part.part, Answer::NotSent { why }).into(),
                None => place_over(vault, directory, &waiting, name, order, &kept),
            }
        }
    }
}

fn place_new(vault: &DirectoryVault, directory: Arc<Directory>, part: &str, name: &str) -> Placed {
    let step = "naming the file in the vault";
    match move_free(directory.fd(), part, name) {
        Moved::Yes => {
            let answer = match failpoint::reach("vault.placed") {
                Ok(()) => Answer::Done,
                Err(_) => Answer::NoAnswer {
                    detail: "rename_failed",
                },
            };
            Placed {
                answer,
                touched: Some(directory),
            }
        }
        Moved::Taken => {
            let answer = match look_at(directory.fd(), name, vault.settings.bytes_max) {
                Ok(seen) => drift(seen),
                Err(errno) => Answer::NotSent {
                    why: fault(step, errno),
                },
            };
            abandon(&directory, part, answer).into()
        }
        Moved::Missing => Answer::NotSent {
            why: fault(step, Errno::NOENT),
        }
        .into(),
        Moved::No(errno) => abandon(
            &directory,
            part,
            Answer::NotSent {
                why: fault(step, errno),
            },
        )
        .into(),
        Moved::Unclear(_) => Placed {
            answer: Answer::NoAnswer {
                detail: "rename_failed",
            },
            touched: Some(directory),
        },
    }
}

fn place_over(
    vault: &DirectoryVault,
    directory: Arc<Directory>,
    waiting: &str,
    name: &str,
    order: &WriteOrder<'_>,
    kept: &Kept,
) -> Placed {
    let step = "exchanging the file in the vault";
    if let Err(error) = failpoint::reach("vault.new_named") {
        return abandon(
            &directory,
            waiting,
            Answer::NotSent {
                why: io_fault(step, &error),
            },
        )
        .into();
    }
    match exchange(directory.fd(), waiting, name) {
        Moved::Yes => {
            let answer = verify(vault, &directory, waiting, name, order, kept);
            Placed {
                answer,
                touched: Some(directory),
            }
        }
        Moved::Missing | Moved::Taken => abandon(&directory, waiting, drift(Seen::Absent)).into(),
        Moved::No(errno) => abandon(
            &directory,
            waiting,
            Answer::NotSent {
                why: fault(step, errno),
            },
        )
        .into(),
        // Whatever lies under the waiting name now may be somebody's: it is settled later, with care.
        Moved::Unclear(_) => Placed {
            answer: Answer::NoAnswer {
                detail: "rename_failed",
            },
            touched: Some(directory),
        },
    }
}

/// Judges what came out of the exchange. From here on the new bytes are visible.
fn verify(
    vault: &DirectoryVault,
    directory: &Directory,
    waiting: &str,
    name: &str,
    order: &WriteOrder<'_>,
    kept: &Kept,
) -> Answer {
    let Before::Bytes(before) = order.before else {
        return Answer::NoAnswer {
            detail: "read_failed",
        };
    };
    let reached = failpoint::reach("vault.exchanged");
    let (seen, same_attributes) = match open_file(directory.fd(), waiting) {
        Ok(Standing::File(file)) if reached.is_ok() => (
            Ok(look_into(&file, vault.settings.bytes_max)),
            kept.still_on(&file).unwrap_or(false),
        ),
        Ok(Standing::File(_) | Standing::Locked | Standing::Other) => (Ok(Seen::Unreadable), true),
        Ok(Standing::Absent) => (Ok(Seen::Absent), true),
        Err(errno) => (Err(errno), true),
    };
    let failed_read = seen.is_err() || reached.is_err();
    let seen = seen.unwrap_or(Seen::Unreadable);
    if is(seen, before) && same_attributes {
        let cleaned =
            remove(directory.fd(), waiting).is_ok() && failpoint::reach("vault.old_removed").is_ok();
        return if cleaned {
            Answer::Done
        } else {
            Answer::NoAnswer {
                detail: "cleanup_failed",
            }
        };
    }
    match swap_back(
        directory.fd(),
        waiting,
        name,
        order.job_id,
        order.new,
        vault.settings.bytes_max,
    ) {
        Back::Failed => Answer::NoAnswer {
            detail: "swap_back_failed",
        },
        Back::Restored | Back::RestoredAndKept if failed_read => Answer::NoAnswer {
            detail: "read_failed",
        },
        // Not drift: the bytes are the expected ones. A retry takes the new owner, group and mode.
        Back::Restored if is(seen, before) => Answer::NoAnswer {
            detail: "attributes_changed",
        },
        Back::Restored => drift(seen),
        Back::RestoredAndKept => Answer::Drift {
            found: seen,
            kept_aside: true,
        },
    }
}
