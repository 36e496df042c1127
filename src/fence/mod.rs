//! The fence between roles (design 3). In: vault paths. Out: a lock on a path while it is worked on, and a list on disk of the paths
//! that may have been changed without anybody knowing.
//!
//! ```text
//! lock byte of the path ─▶ is it in another role's list? ─▶ publish in our own, durably ─▶ send ─▶ settle ─▶ remove ─▶ unlock
//! ```
//! The kernel drops the locks of a process that dies; the lists stay. So the list, not the lock, is what protects a path whose
//! outcome nobody knows. A list that is missing, unreadable or not ours to trust means: do not go on.
//!
//! Not here: the fence within a role (the ledger's table `fences`).

mod error;
mod list;
mod lock;

pub use error::FenceFault;
pub use lock::PathGuard;

use crate::job::{Role, VaultPath};
use list::{List, Writers};
use lock::Locks;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Name of the file whose bytes are locked.
const LOCK: &str = "lock";

/// One role's view of the fence directory. Threads share it; other processes open their own.
#[derive(Debug)]
pub struct FenceDir {
    locks: Locks,
    own: List,
    others: Vec<List>,
}

/// Where a role's list is.
fn list_path(dir: &Path, role: Role) -> PathBuf {
    dir.join(format!("unresolved.{role}"))
}

impl FenceDir {
    /// Opens the directory for `role`. If it has no list yet, an unfilled one is made, with which nobody goes on until
    /// [`FenceDir::begin_reset`] has filled it from the ledger. The lock file is never made here: the package makes it, or
    /// [`create_for_development`].
    ///
    /// # Errors
    /// [`FenceFault`] naming the file.
    pub fn open(dir: &Path, role: Role, others: Vec<Role>) -> Result<FenceDir, FenceFault> {
        let user = rustix::process::geteuid().as_raw();
        let locks = Locks::open(&dir.join(LOCK))?;
        let own = List::new(list_path(dir, role), role, Writers::User(user));
        own.create_if_absent()?;
        let writers = Writers::of_other(user, locks.owner());
        Ok(FenceDir {
            locks,
            own,
            others: others
                .into_iter()
                .map(|other| List::new(list_path(dir, other), other, writers))
                .collect(),
        })
    }

    /// Locks a path across all roles and workers; `None`: somebody else has it.
    ///
    /// # Errors
    /// [`FenceFault`].
    pub fn try_lock(&self, path: &VaultPath) -> Result<Option<PathGuard>, FenceFault> {
        self.locks.try_lock(path)
    }

    /// Whether another role may have left the locked path changed without knowing. Asked with the lock in hand, so that no list can
    /// gain the path meanwhile.
    ///
    /// # Errors
    /// [`FenceFault`] if a list is missing or cannot be read: then nobody knows, and nothing may be sent.
    pub fn other_holds(&self, guard: &PathGuard) -> Result<bool, FenceFault> {
        for other in &self.others {
            if other.read()?.contains(guard.path()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts paths on our list; they are on disk when this returns.
    ///
    /// # Errors
    /// [`FenceFault`]; then none of them may be worked on.
    pub fn publish(&self, paths: &[VaultPath]) -> Result<(), FenceFault> {
        self.own.add(paths)
    }

    /// Takes paths off our list. Not synced: after a power cut a path may stand there again, which only makes the other role wait until
    /// this role's next start.
    ///
    /// # Errors
    /// [`FenceFault`]; the paths stay on the list.
    pub fn remove(&self, paths: &[VaultPath]) -> Result<(), FenceFault> {
        self.own.remove(paths)
    }

    /// The paths on our list.
    ///
    /// # Errors
    /// [`FenceFault`].
    pub fn listed(&self) -> Result<Vec<String>, FenceFault> {
        Ok(self.own.read()?.into_paths())
    }

    /// Begins to set our list to what the ledger knows. Until [`Reset::finish`] no other worker of this role can publish.
    ///
    /// # Errors
    /// [`FenceFault`].
    pub fn begin_reset(&self) -> Result<Reset<'_>, FenceFault> {
        Ok(Reset {
            fence: self,
            held: self.own.lock()?,
        })
    }
}

/// Our list, held still while the ledger is asked.
#[derive(Debug)]
pub struct Reset<'a> {
    fence: &'a FenceDir,
    held: list::Held,
}

impl Reset<'_> {
    /// The list is now, on disk: these paths, and those on it that somebody has locked. Another worker that has just published a path
    /// has it locked, and its intent may have come too late for the ledger to name it here. What is kept for nothing (the other role
    /// looked at that path at this moment) is taken off when the role next tidies its list.
    ///
    /// # Errors
    /// [`FenceFault`]; the list is as before. [`FenceFault::Damaged`] if it does not read back while any path is locked.
    pub fn finish(mut self, paths: &[VaultPath]) -> Result<(), FenceFault> {
        let mut wanted: BTreeSet<String> = paths.iter().map(|path| path.as_str().to_owned()).collect();
        for path in self.listed()? {
            if !wanted.contains(&path) && self.fence.locks.is_locked(&path)? {
                wanted.insert(path);
            }
        }
        self.fence
            .own
            .replace(&self.held, wanted.iter().map(String::as_str))
    }

    /// What stands on the list. One that does not read back (a power cut) names nothing, which is right only if nobody works.
    fn listed(&mut self) -> Result<Vec<String>, FenceFault> {
        let why = match self.fence.own.read_held(&mut self.held) {
            Ok(listed) => return Ok(listed.map(list::Paths::into_paths).unwrap_or_default()),
            Err(FenceFault::Malformed { why, .. }) => why,
            Err(fault) => return Err(fault),
        };
        let path = self.fence.own.path().to_path_buf();
        if self.fence.locks.is_any_locked()? {
            return Err(FenceFault::Damaged { path, why });
        }
        tracing::warn!(path = %path.display(), why, "our list of unresolved paths is written anew from the ledger");
        Ok(Vec::new())
    }
}

/// Makes the directory and its lock file below `lockgate up --dir`; with the package they come from tmpfiles.d.
///
/// # Errors
/// [`FenceFault`] naming the file.
pub fn create_for_development(dir: &Path) -> Result<(), FenceFault> {
    use std::os::unix::fs::DirBuilderExt;
    let fault = |error| FenceFault::io(dir, &error);
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(fault)?;
    let lock = dir.join(LOCK);
    crate::durable::open_lock_file(&lock)
        .and_then(|file| file.sync_all())
        .map_err(|error| FenceFault::io(&lock, &error))?;
    crate::durable::sync_dir(dir).map_err(fault)
}

#[cfg(test)]
mod tests;
