//! Deletes: the file with exactly the bytes expected, or nothing. In: orders. Out: one answer each.
//!
//! Each is renamed aside to `.gone` (a person who writes the path from then on writes a new file), hashed there, and
//! removed, or put back where it was. Each directory is synced once, only then `Done`.
//!
//! Not here: the recovery copy and the approval (roles/), directories left empty (they stay).

use super::back::{Put, put_back};
use super::batch::{CHUNK, Placed, after_failed_sync, make_durable, twice};
use super::file::{Moved, is, look_at, look_into, move_free, remove};
use super::parents::{Directories, Directory};
use super::{DirectoryVault, fault, io_fault, keep, names};
use crate::failpoint;
use crate::target::open::{Confined, Standing, open_file};
use crate::target::{Answer, DeleteOrder, FaultText, Seen};
use std::collections::HashSet;

pub(super) fn delete(vault: &DirectoryVault, confined: &Confined, orders: &[DeleteOrder<'_>]) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(orders.len());
    let (mut paths, mut jobs) = (HashSet::new(), HashSet::new());
    let mut broken = false;
    for chunk in orders.chunks(CHUNK) {
        if broken {
            answers.extend(chunk.iter().map(|_| after_failed_sync()));
            continue;
        }
        let mut directories = Directories::new(confined);
        let placed: Vec<Placed> = chunk
            .iter()
            .map(|order| {
                if paths.insert(order.path) && jobs.insert(order.job_id) {
                    delete_one(vault, &mut directories, order).unwrap_or_else(Placed::from)
                } else {
                    twice().into()
                }
            })
            .collect();
        let relative = chunk.iter().map(|order| names::split(order.path.relative()).0);
        let (settled, sync_failed) = make_durable(vault, &directories, placed.into_iter().zip(relative));
        answers.extend(settled);
        broken = sync_failed;
    }
    answers
}

fn delete_one(
    vault: &DirectoryVault,
    directories: &mut Directories<'_>,
    order: &DeleteOrder<'_>,
) -> Result<Placed, Answer> {
    let drift = |found| Answer::Drift {
        found,
        kept_aside: false,
    };
    let (above, name) = names::split(order.path.relative());
    let directory = directories.find(above)?.ok_or_else(|| drift(Seen::Absent))?;
    let standing = open_file(directory.fd(), name).map_err(|errno| Answer::NotSent {
        why: fault("opening a file in the vault", errno),
    })?;
    let seen = match standing {
        Standing::Absent => return Err(drift(Seen::Absent)),
        Standing::Locked => {
            return Err(Answer::Refused {
                detail: keep::PERMISSIONS,
            });
        }
        Standing::Other => {
            return Err(Answer::Refused {
                detail: keep::NOT_A_FILE,
            });
        }
        Standing::File(file) => look_into(&file, vault.settings.bytes_max),
    };
    if !is(seen, order.expected) {
        return Err(drift(seen));
    }
    let step = "setting the file aside in the vault";
    failpoint::reach("vault.before_aside").map_err(|error| Answer::NotSent {
        why: io_fault(step, &error),
    })?;
    let aside = names::gone(order.job_id);
    match move_free(directory.fd(), name, &aside) {
        Moved::Yes => {}
        Moved::Missing => return Err(drift(Seen::Absent)),
        Moved::Taken => {
            return Err(Answer::NotSent {
                why: FaultText::new("a leftover of this job is not settled", None),
            });
        }
        Moved::No(errno) => {
            return Err(Answer::NotSent {
                why: fault(step, errno),
            });
        }
        Moved::Unclear(_) => {
            return Ok(Placed {
                answer: Answer::NoAnswer {
                    detail: "rename_failed",
                },
                touched: Some(directory),
            });
        }
    }
    let answer = judge_aside(vault, &directory, &aside, name, order);
    Ok(Placed {
        answer,
        touched: Some(directory),
    })
}

/// Judges what was set aside. From here on the path is visibly empty.
fn judge_aside(
    vault: &DirectoryVault,
    directory: &Directory,
    aside: &str,
    name: &str,
    order: &DeleteOrder<'_>,
) -> Answer {
    let seen = match failpoint::reach("vault.aside") {
        Ok(()) => look_at(directory.fd(), aside, vault.settings.bytes_max).map_err(std::io::Error::from),
        Err(error) => Err(error),
    };
    let (drifted, failed) = match seen {
        Ok(seen) if is(seen, order.expected) => match remove(directory.fd(), aside) {
            Ok(()) if failpoint::reach("vault.gone_removed").is_ok() => return Answer::Done,
            Ok(()) => {
                return Answer::NoAnswer {
                    detail: "cleanup_failed",
                };
            }
            Err(_) => (None, "cleanup_failed"),
        },
        Ok(seen) => (Some(seen), "put_back_failed"),
        Err(_) => (None, "read_failed"),
    };
    let put = put_back(directory.fd(), aside, name, order.job_id);
    if failpoint::reach("vault.put_back").is_err() {
        return Answer::NoAnswer {
            detail: "put_back_failed",
        };
    }
    match (put, drifted) {
        (Put::Restored, Some(found)) => Answer::Drift {
            found,
            kept_aside: false,
        },
        (Put::KeptAside, Some(found)) => Answer::Drift {
            found,
            kept_aside: true,
        },
        (Put::Restored | Put::KeptAside, None) => Answer::NoAnswer { detail: failed },
        (Put::Failed, _) => Answer::NoAnswer {
            detail: "put_back_failed",
        },
    }
}
