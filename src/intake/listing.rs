//! One look at every entry of every directory. In: open directories. Out: a queue of what may be taken, and the removal of
//! odd names that are a day old.
//!
//! Not here: opening files (`scan`), order (`queue`).

use super::batch::{Batch, Stuck};
use super::drop_dir::{DropDir, printable};
use super::queue::{Entry, Queue};
use super::seen::{FileId, Nature, Seen};
use crate::clock::WallMs;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;

/// Names that are not read are removed after this time: an unfinished file belongs to a requester that is long gone.
const ODD_NAME_AGE_NS: i128 = 24 * 60 * 60 * 1_000_000_000;
/// Odd names removed in one listing, so that no flood of them keeps documents waiting.
const ODD_NAMES_REMOVED_MAX: usize = 1000;
/// Entries remembered because they can be neither read nor removed. What is beyond is passed over in silence.
const STUCK_MAX: usize = 1024;
/// Times a file may change while it is read. It is tried again at later listings, then refused.
const RESTLESS_MAX: u8 = 5;
/// Files remembered because they changed.
const RESTLESS_FILES_MAX: usize = 1024;

/// What is to be done about an entry that is stuck, each time it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handling {
    /// All was said about it: try to remove it.
    Remove,
    /// It was never read: try to read it.
    Read,
}

/// What is remembered about entries from one listing to the next.
#[derive(Debug, Default)]
pub(super) struct Known {
    stuck: BTreeMap<FileId, Handling>,
    restless: BTreeMap<(u64, u64), u8>,
}

impl Known {
    fn stuck(&self, id: &FileId) -> Option<(FileId, Handling)> {
        [*id, id.in_any_state()]
            .into_iter()
            .filter(|known| known.names(id))
            .find_map(|known| self.stuck.get(&known).map(|handling| (known, *handling)))
    }

    fn is_full(&self) -> bool {
        self.stuck.len() >= STUCK_MAX
    }

    /// Remembers it; whether that is news.
    pub(super) fn set_stuck(&mut self, id: FileId, handling: Handling) -> bool {
        !self.is_full() && self.stuck.insert(id, handling).is_none()
    }

    /// It changed while it was read; whether that was once too often.
    pub(super) fn changed(&mut self, id: &FileId) -> bool {
        let key = (id.dev, id.ino);
        if self.restless.len() >= RESTLESS_FILES_MAX && !self.restless.contains_key(&key) {
            self.restless.pop_first();
        }
        let times = self.restless.entry(key).or_insert(0);
        *times = times.saturating_add(1);
        *times >= RESTLESS_MAX
    }

    /// It was read, or is gone.
    pub(super) fn calm(&mut self, id: &FileId) {
        self.restless.remove(&(id.dev, id.ino));
    }
}

/// A listing under way.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    pub(super) queue: &'a mut Queue,
    pub(super) known: &'a mut Known,
    pub(super) batch: &'a mut Batch,
    pub(super) refused_uids: &'a [u32],
    pub(super) now: WallMs,
    /// Files on which a process died.
    pub(super) suspects: BTreeSet<FileId>,
    /// Of the suspects and the stuck: those that are still there.
    pub(super) present: BTreeSet<FileId>,
    pub(super) odd_names_removed: usize,
    pub(super) complete: bool,
}

impl Listing<'_> {
    /// One directory.
    pub(super) fn list(&mut self, place: usize, dir: &DropDir) -> Result<(), Errno> {
        let listed = dir.list(|name, seen| match seen {
            Ok(seen) => self.entry(place, dir, name, &seen),
            Err(Errno::NOENT) => {}
            Err(_) => self.complete = false,
        });
        self.complete &= listed.is_ok();
        listed
    }

    fn entry(&mut self, place: usize, dir: &DropDir, name: &CStr, seen: &Seen) {
        if self.suspects.contains(&seen.id) {
            self.present.insert(seen.id);
        }
        match self.known.stuck(&seen.id) {
            Some((id, Handling::Remove)) => {
                self.present.insert(id);
                if dir.remove(name, id).is_ok() {
                    self.known.stuck.remove(&id);
                }
                return;
            }
            Some((id, Handling::Read)) => {
                self.present.insert(id);
            }
            None => {}
        }
        let Some(look) = dir.look(name.to_bytes(), seen, self.refused_uids) else {
            self.odd_name(dir, name, seen);
            return;
        };
        if seen.nature == Nature::Directory && self.known.is_full() {
            return;
        }
        // Names that are read are plain ASCII.
        let Ok(name) = name.to_str() else { return };
        self.queue.push(Entry {
            place,
            name: name.to_owned(),
            id: seen.id,
            bytes: seen.bytes,
            look,
            arrived_ns: seen.ctime_ns,
        });
    }

    /// Its age counts from the last change of any kind, which its owner cannot set back.
    fn odd_name(&mut self, dir: &DropDir, name: &CStr, seen: &Seen) {
        let age_ns = i128::from(self.now.0) * 1_000_000 - i128::from(seen.ctime_ns);
        if age_ns < ODD_NAME_AGE_NS || self.odd_names_removed >= ODD_NAMES_REMOVED_MAX {
            return;
        }
        self.odd_names_removed += 1;
        if let Err(error) = dir.remove(name, seen.id)
            && self.known.set_stuck(seen.id, Handling::Remove)
        {
            self.present.insert(seen.id);
            let why = format!("an odd name, a day old, cannot be removed: {error}");
            let (dir, name) = (dir.path().to_owned(), printable(name));
            self.batch.stuck.push(Stuck {
                dir,
                name,
                uid: seen.uid,
                why,
            });
        }
    }

    /// After all directories: forgets what is gone. Returns the suspects that are.
    pub(super) fn end(self) -> BTreeSet<FileId> {
        if !self.complete {
            return BTreeSet::new();
        }
        let present = self.present;
        self.known.stuck.retain(|id, _| present.contains(id));
        self.suspects.difference(&present).copied().collect()
    }
}
