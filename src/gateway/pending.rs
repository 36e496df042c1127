//! What waits unread in the gate directories, and how much of it may. In: what the gateway drops. Out: room for one more
//! file or none, and where a document waits that its role has not judged yet.
//!
//! The directories are the truth: a file that its role has taken is forgotten here at the next look. At the start they are
//! read once, so a restart forgets nothing that waits.
//!
//! Not here: dropping (`drop`), reading a waiting document (`waiting`), what a role knows (`roles`).

use super::waiting::{self, Filed, Waiting};
use crate::clock::{BootMs, SharedClock};
use crate::job::{JobId, Role, Sha256};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much may wait; past it a requester is told 429.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingLimits {
    /// Documents of one requester.
    pub documents_per_uid: u64,
    /// Bytes of one requester.
    pub bytes_per_uid: u64,
    /// Documents of all. The gateway keeps about 200 bytes in memory for each.
    pub documents: u64,
    /// Bytes of all.
    pub bytes: u64,
}

/// Files that are forgotten only at a look: between two looks their number at most doubles.
const LOOK_AT_FILES_MIN: usize = 256;
/// At a full limit every request would look; looking costs one system call a file.
const LOOK_PAUSE_MS: i64 = 1000;

/// What waits.
#[derive(Debug)]
pub(super) struct Pending {
    limits: PendingLimits,
    clock: SharedClock,
    gates: Vec<(Role, PathBuf)>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<u64, Waiting>,
    jobs: HashMap<(u32, JobId), At>,
    digests: HashMap<(u32, Sha256), At>,
    held: HashMap<u32, Load>,
    all: Load,
    next: u64,
    look_at_files: usize,
    looked: Option<BootMs>,
}

/// Which file, and which of its documents.
#[derive(Debug, Clone, Copy)]
struct At {
    file: u64,
    document: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Load {
    documents: u64,
    bytes: u64,
}

impl Load {
    fn plus(self, more: Load) -> Load {
        Load {
            documents: self.documents.saturating_add(more.documents),
            bytes: self.bytes.saturating_add(more.bytes),
        }
    }
    fn minus(self, less: Load) -> Load {
        Load {
            documents: self.documents.saturating_sub(less.documents),
            bytes: self.bytes.saturating_sub(less.bytes),
        }
    }
}

/// A document that waits.
#[derive(Debug, Clone)]
pub(super) struct Spooled {
    pub(super) role: Role,
    pub(super) path: PathBuf,
    pub(super) range: Range<usize>,
    pub(super) job_id: Option<JobId>,
}

/// Room for one file; given back when dropped.
#[derive(Debug)]
pub(super) struct Hold {
    pending: Arc<Pending>,
    uid: u32,
    load: Load,
}

/// No room now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Pending {
    /// Reads the directories. Unfinished files of an earlier gateway are removed.
    pub(super) fn open(
        gates: Vec<(Role, PathBuf)>,
        limits: PendingLimits,
        clock: SharedClock,
    ) -> Arc<Pending> {
        let pending = Arc::new(Pending {
            limits,
            clock,
            gates,
            state: Mutex::new(State {
                look_at_files: LOOK_AT_FILES_MIN,
                ..State::default()
            }),
        });
        for (role, dir) in &pending.gates {
            waiting::read_all(*role, dir, |found| {
                let mut state = pending.state();
                let load = load_of(&found);
                state.add(found.uid, load);
                state.insert(found);
            });
        }
        pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn gate(&self, role: Role) -> Option<&Path> {
        let found = self.gates.iter().find(|(of, _)| *of == role);
        found.map(|(_, dir)| dir.as_path())
    }

    /// Takes room for a file of `documents` and `bytes`. May look through everything that waits.
    pub(super) fn hold(self: &Arc<Pending>, uid: u32, documents: usize, bytes: usize) -> Result<Hold, Full> {
        let load = Load {
            documents: u64::try_from(documents).unwrap_or(u64::MAX),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        };
        let mut state = self.state();
        if state.files.len() >= state.look_at_files
            || (!self.fits(&state, uid, load) && self.may_look(&state))
        {
            self.look(&mut state);
        }
        if !self.fits(&state, uid, load) {
            return Err(Full);
        }
        state.add(uid, load);
        drop(state);
        Ok(Hold {
            pending: self.clone(),
            uid,
            load,
        })
    }

    fn fits(&self, state: &State, uid: u32, load: Load) -> bool {
        let own = state.held.get(&uid).copied().unwrap_or_default().plus(load);
        let all = state.all.plus(load);
        own.documents <= self.limits.documents_per_uid
            && own.bytes <= self.limits.bytes_per_uid
            && all.documents <= self.limits.documents
            && all.bytes <= self.limits.bytes
    }

    fn may_look(&self, state: &State) -> bool {
        let now = self.clock.boot();
        state
            .looked
            .is_none_or(|looked| now.0.saturating_sub(looked.0) >= LOOK_PAUSE_MS)
    }

    /// Forgets what is gone.
    fn look(&self, state: &mut State) {
        state.looked = Some(self.clock.boot());
        let gone: Vec<u64> = state
            .files
            .iter()
            .filter(|(_, waiting)| !self.is_there(waiting))
            .map(|(file, _)| *file)
            .collect();
        for file in gone {
            state.forget(file);
        }
        state.look_at_files = (state.files.len() * 2).max(LOOK_AT_FILES_MIN);
    }

    /// Whatever keeps us from seeing it, it may be there.
    fn is_there(&self, waiting: &Waiting) -> bool {
        let path = self.gate(waiting.role).map(|dir| dir.join(&waiting.name));
        path.is_some_and(|path| {
            !matches!(std::fs::symlink_metadata(path), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
        })
    }

    /// Where a job of this requester waits.
    pub(super) fn job(&self, uid: u32, id: JobId) -> Option<Spooled> {
        let mut state = self.state();
        let at = *state.jobs.get(&(uid, id))?;
        self.spooled(&mut state, at)
    }
    /// Where any document of this requester waits.
    pub(super) fn digest(&self, uid: u32, digest: Sha256) -> Option<Spooled> {
        let mut state = self.state();
        let at = *state.digests.get(&(uid, digest))?;
        self.spooled(&mut state, at)
    }
    fn spooled(&self, state: &mut State, at: At) -> Option<Spooled> {
        let waiting = state.files.get(&at.file)?;
        if !self.is_there(waiting) {
            state.forget(at.file);
            return None;
        }
        let document = waiting.documents.get(at.document)?;
        Some(Spooled {
            role: waiting.role,
            path: self.gate(waiting.role)?.join(&waiting.name),
            range: document.range.clone(),
            job_id: document.job_id,
        })
    }

    /// Files that wait for a role, as far as is known.
    pub(super) fn files(&self, role: Role) -> usize {
        let state = self.state();
        state
            .files
            .values()
            .filter(|waiting| waiting.role == role)
            .count()
    }
}

impl Hold {
    /// The file is there now and waits.
    pub(super) fn keep(self, role: Role, name: String, documents: Vec<Filed>) {
        let waiting = Waiting {
            role,
            name,
            uid: self.uid,
            bytes: self.load.bytes,
            documents,
        };
        let mut state = self.pending.state();
        // Its load passes to the file; what this hold gives back when it is dropped is taken again here.
        state.add(self.uid, self.load);
        state.insert(waiting);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.pending.state().subtract(self.uid, self.load);
    }
}

fn load_of(waiting: &Waiting) -> Load {
    Load {
        documents: u64::try_from(waiting.documents.len()).unwrap_or(u64::MAX),
        bytes: waiting.bytes,
    }
}

impl State {
    fn add(&mut self, uid: u32, load: Load) {
        let held = self.held.entry(uid).or_default();
        *held = held.plus(load);
        self.all = self.all.plus(load);
    }
    fn subtract(&mut self, uid: u32, load: Load) {
        self.all = self.all.minus(load);
        let rest = self.held.get(&uid).copied().unwrap_or_default().minus(load);
        if rest == Load::default() {
            self.held.remove(&uid);
        } else {
            self.held.insert(uid, rest);
        }
    }
    fn insert(&mut self, waiting: Waiting) {
        let file = self.next;
        self.next += 1;
        for (document, filed) in waiting.documents.iter().enumerate() {
            let at = At { file, document };
            self.digests.insert((waiting.uid, filed.digest), at);
            if let Some(id) = filed.job_id {
                self.jobs.insert((waiting.uid, id), at);
            }
        }
        self.files.insert(file, waiting);
    }
    fn forget(&mut self, file: u64) {
        let Some(waiting) = self.files.remove(&file) else {
            return;
        };
        for filed in &waiting.documents {
            let key = (waiting.uid, filed.digest);
            // The same document may wait once more, in a later file.
            if self.digests.get(&key).is_some_and(|at| at.file == file) {
                self.digests.remove(&key);
            }
            if let Some(id) = filed.job_id
                && self
                    .jobs
                    .get(&(waiting.uid, id))
                    .is_some_and(|at| at.file == file)
            {
                self.jobs.remove(&(waiting.uid, id));
            }
        }
        self.subtract(waiting.uid, load_of(&waiting));
    }
}

#[cfg(test)]
#[path = "pending_test.rs"]
mod tests;
