//! What writes and deletes share: the size of a batch, and that nothing is answered before its names are durable. In:
//! what each order came to. Out: answers.
//!
//! Not here: the orders themselves (write, delete).

use super::parents::{Directories, Directory};
use super::{DirectoryVault, sync};
use crate::failpoint;
use crate::target::{Answer, FaultText};
use std::collections::{BTreeMap, HashSet};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Orders that are synced together. Each holds up to two descriptors, and a process has 1,024 by default.
pub(super) const CHUNK: usize = 128;

/// An answer, and whether the vault was visibly changed on the way to it.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) answer: Answer,
    pub(super) touched: Option<Arc<Directory>>,
}

impl From<Answer> for Placed {
    fn from(answer: Answer) -> Placed {
        Placed {
            answer,
            touched: None,
        }
    }
}

/// A repeated path or job would meet its own temporary files.
pub(super) fn twice() -> Answer {
    Answer::NotSent {
        why: FaultText::new("the path or job is twice in one batch", None),
    }
}

/// After a failed sync nothing more is started: directories made before it may be lost.
pub(super) fn after_failed_sync() -> Answer {
    Answer::NotSent {
        why: FaultText::new("an earlier sync of this batch failed", None),
    }
}

/// Syncs every directory that was changed, once, and turns answers that depended on a failed sync into `NoAnswer`. Also
/// says whether any sync failed.
pub(super) fn make_durable<'p>(
    vault: &DirectoryVault,
    directories: &Directories<'_>,
    placed: impl Iterator<Item = (Placed, &'p str)>,
) -> (Vec<Answer>, bool) {
    let placed: Vec<(Placed, &str)> = placed.collect();
    let mut changed: BTreeMap<(u64, u64), &Arc<Directory>> = BTreeMap::new();
    for (placed, relative) in &placed {
        if let Some(directory) = &placed.touched {
            changed.insert(directory.id, directory);
            changed.extend(directories.above_made(relative).map(|above| (above.id, above)));
        }
    }
    let descriptors: Vec<BorrowedFd<'_>> = changed.values().map(|directory| directory.fd()).collect();
    let results = sync::each(&descriptors, vault.settings.sync_threads, |fd| {
        failpoint::reach("vault.before_names_synced")?;
        vault.disk.sync_directory(fd)?;
        failpoint::reach("vault.names_synced")
    });
    let failed: HashSet<(u64, u64)> = changed
        .keys()
        .zip(&results)
        .filter(|(_, result)| result.is_err())
        .map(|(id, _)| *id)
        .collect();
    let answers = placed
        .iter()
        .map(|(placed, relative)| {
            let lost = placed.touched.as_ref().is_some_and(|directory| {
                failed.contains(&directory.id)
                    || directories
                        .above_made(relative)
                        .any(|above| failed.contains(&above.id))
            });
            if lost {
                Answer::NoAnswer {
                    detail: "sync_failed",
                }
            } else {
                placed.answer.clone()
            }
        })
        .collect();
    (answers, !failed.is_empty())
}
