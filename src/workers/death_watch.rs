//! Told of a death without polling. In: ids of other workers. Out: a call when one has let go of its lock.
//!
//! One thread per watched worker sleeps in the kernel until that lock is free. It cannot be woken otherwise: a watch that
//! is stopped says nothing any more, and its threads end with the workers they watch or with this process. Their number
//! is bounded.
//! Not here: what is done then (executor/holders).

use super::{WorkerFault, fault, is_alive, lock_path, open_to_look};
use crate::job::Uuid4;
use rustix::fs::FlockOperation;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Workers watched at once. Each costs a thread with a small stack.
pub(super) const WATCHED_MAX: usize = 64;

/// What became of a wish to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Watching {
    /// Its death will be told.
    Started,
    /// It is watched since an earlier call.
    Already,
    /// It is dead now; nothing more is told.
    Dead,
}

/// Watches other workers of one role. Dropping it stops it.
pub struct DeathWatch {
    state_dir: PathBuf,
    shared: Arc<Shared>,
}

struct Shared {
    stopped: AtomicBool,
    watched: Mutex<HashSet<Uuid4>>,
    on_death: Box<dyn Fn(Uuid4) + Send + Sync>,
}

impl std::fmt::Debug for DeathWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeathWatch")
            .field("state_dir", &self.state_dir)
            .finish_non_exhaustive()
    }
}

impl DeathWatch {
    /// Nothing is watched yet. `on_death` is called on a thread of its own, at most once per watched worker.
    pub fn new(state_dir: &Path, on_death: impl Fn(Uuid4) + Send + Sync + 'static) -> DeathWatch {
        let shared = Shared {
            stopped: AtomicBool::new(false),
            watched: Mutex::new(HashSet::new()),
            on_death: Box::new(on_death),
        };
        DeathWatch {
            state_dir: state_dir.to_path_buf(),
            shared: Arc::new(shared),
        }
    }

    /// Watches one worker, once.
    ///
    /// # Errors
    /// [`WorkerFault`]: the file cannot be opened, too many are watched, or there is no thread. Then look again later.
    pub fn watch(&self, id: Uuid4) -> Result<Watching, WorkerFault> {
        let path = lock_path(&self.state_dir, &id);
        let mut watched = self.shared.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.contains(&id) {
            return Ok(Watching::Already);
        }
        if watched.len() >= WATCHED_MAX {
            return Err(WorkerFault::TooManyWatched { limit: WATCHED_MAX });
        }
        if !is_alive(&self.state_dir, id).map_err(fault(&path, "look at it"))? {
            return Ok(Watching::Dead);
        }
        let Some(file) = open_to_look(&path).map_err(fault(&path, "open it"))? else {
            return Ok(Watching::Dead);
        };
        let shared = Arc::clone(&self.shared);
        std::thread::Builder::new()
            .name("death-watch".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || {
                let freed = rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockShared));
                // Let go at once: whoever else looks must find it free.
                drop(file);
                shared.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                if let Err(error) = freed {
                    tracing::warn!(worker = %id, %error, "the lock of another worker cannot be watched; looking again");
                }
                if !shared.stopped.load(Ordering::SeqCst) {
                    (shared.on_death)(id);
                }
            })
            .map_err(fault(&path, "start a thread that watches it"))?;
        watched.insert(id);
        Ok(Watching::Started)
    }

    /// Nothing is told from now on.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
    }
}

impl Drop for DeathWatch {
    fn drop(&mut self) {
        self.stop();
    }
}
