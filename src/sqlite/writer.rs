//! The one thread that writes a file. In: closures from any thread. Out: their answers, after the commit that made them durable.
//!
//! It takes whatever waits when it comes back, puts it into one `BEGIN IMMEDIATE` … `COMMIT`, and answers everybody: callers
//! that wait at the same time share one flush, and a lone caller waits for nobody. Each closure runs in a savepoint of its own,
//! so that one refusal does not undo its neighbours.
//!
//! Not here: what is written (ledger/).

use super::{StorageFault, WriteError};
use crate::failpoint;
use rusqlite::Connection;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Most closures in one commit: bounds how long the first of them waits.
const GROUP_MAX: usize = 512;

/// What one closure left behind, before the commit.
enum Ran {
    /// Its writes are in the transaction; the callback delivers its answer once they are durable.
    Kept(Box<dyn FnOnce(Result<(), StorageFault>) + Send>),
    /// It refused and its writes were undone; it was answered already.
    Undone,
}

/// Given the connection inside an open transaction, or the reason why there is none.
type Job = Box<dyn FnOnce(Result<&Connection, StorageFault>) -> Ran + Send>;

/// A handle to the writer thread; clones share it. When the last one is gone, what waits is written and the file is closed.
#[derive(Clone)]
pub struct Writer {
    thread: Arc<Running>,
    path: Arc<PathBuf>,
}

struct Running {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.jobs.take());
        // The last handle may be one that a closure held: a thread cannot wait for itself.
        let another = |thread: &JoinHandle<()>| thread.thread().id() != std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(another) {
            drop(thread.join());
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the thread on an open, migrated connection.
    ///
    /// # Errors
    /// [`StorageFault::Stopped`] if no thread can be started.
    pub fn start(db: Connection, path: &Path) -> Result<Writer, StorageFault> {
        let (jobs, waiting) = channel::<Job>();
        let path = Arc::new(path.to_path_buf());
        let named = Arc::clone(&path);
        let thread = std::thread::Builder::new()
            .name("ledger-writer".to_owned())
            .spawn(move || run(&db, &named, &waiting))
            .map_err(|_| StorageFault::Stopped {
                path: path.as_ref().clone(),
            })?;
        let thread = Running {
            jobs: Some(jobs),
            thread: Some(thread),
        };
        Ok(Writer {
            thread: Arc::new(thread),
            path,
        })
    }

    /// Runs `write` in the next commit and waits until it is durable.
    ///
    /// # Errors
    /// [`WriteError::Inner`] with the closure's own refusal (its writes are undone), [`WriteError::Storage`] if the
    /// commit failed (nobody's writes are kept).
    pub fn write<T, E>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, WriteError<E>> + Send + 'static,
    ) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: std::error::Error + Send + 'static,
    {
        let (answer, answered) = channel::<Result<T, WriteError<E>>>();
        let path = Arc::clone(&self.path);
        let job: Job = Box::new(move |begun| {
            let db = match begun {
                Ok(db) => db,
                Err(fault) => {
                    drop(answer.send(Err(WriteError::Storage(fault))));
                    return Ran::Undone;
                }
            };
            let storage =
                |error: &rusqlite::Error| WriteError::Storage(StorageFault::from_sqlite(&path, error));
            if let Err(error) = db.prepare_cached("SAVEPOINT one").and_then(|mut s| s.execute([])) {
                drop(answer.send(Err(storage(&error))));
                return Ran::Undone;
            }
            match write(db) {
                Ok(value) => match db.prepare_cached("RELEASE one").and_then(|mut s| s.execute([])) {
                    Ok(_) => Ran::Kept(Box::new(move |committed| {
                        drop(answer.send(committed.map(|()| value).map_err(WriteError::Storage)));
                    })),
                    Err(error) => {
                        drop(answer.send(Err(storage(&error))));
                        Ran::Undone
                    }
                },
                Err(refusal) => {
                    undo(db);
                    drop(answer.send(Err(refusal)));
                    Ran::Undone
                }
            }
        });
        let stopped = || {
            WriteError::Storage(StorageFault::Stopped {
                path: self.path.as_ref().clone(),
            })
        };
        let jobs = self.thread.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(job).map_err(|_| stopped())?;
        answered.recv().map_err(|_| stopped())?
    }
}

/// Undoes one closure's writes; if even that fails, the commit's check below finds the transaction gone.
fn undo(db: &Connection) {
    if db
        .prepare_cached("ROLLBACK TO one")
        .and_then(|mut s| s.execute([]))
        .is_ok()
    {
        drop(db.prepare_cached("RELEASE one").and_then(|mut s| s.execute([])));
    }
}

/// Which files the names led to: SQLite goes on in files that were removed or replaced, and all it writes then is lost.
struct Files {
    named: Vec<(PathBuf, Option<(u64, u64)>)>,
}

impl Files {
    fn of(path: &Path) -> Files {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let named = [path.to_path_buf(), PathBuf::from(log)]
            .into_iter()
            .map(|path| (path, None))
            .collect();
        let mut files = Files { named };
        files.learn();
        files
    }

    /// The log is made with the first write.
    fn learn(&mut self) {
        for (path, known) in self.named.iter_mut().filter(|(_, known)| known.is_none()) {
            *known = identity(path).ok();
        }
    }

    fn check(&self) -> Result<(), StorageFault> {
        for (path, known) in &self.named {
            let is_gone = match (known, identity(path)) {
                (Some(known), Ok(now)) => *known != now,
                (Some(_), Err(error)) => error.kind() == std::io::ErrorKind::NotFound,
                (None, _) => false,
            };
            if is_gone {
                return Err(StorageFault::Replaced { path: path.clone() });
            }
        }
        Ok(())
    }
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    let meta = std::fs::symlink_metadata(path)?;
    Ok((meta.dev(), meta.ino()))
}

fn run(db: &Connection, path: &Path, waiting: &Receiver<Job>) {
    let mut files = Files::of(path);
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        while group.len() < GROUP_MAX {
            match waiting.try_recv() {
                Ok(job) => group.push(job),
                Err(_) => break,
            }
        }
        commit_group(db, path, &files, group);
        files.learn();
    }
}

fn commit_group(db: &Connection, path: &Path, files: &Files, group: Vec<Job>) {
    let fault = |error: &rusqlite::Error| StorageFault::from_sqlite(path, error);
    let begun = failpoint::reach("sqlite.begin")
        .map_err(|error| StorageFault::Io {
            path: path.to_path_buf(),
            what: error.to_string(),
        })
        .and_then(|()| files.check())
        .and_then(|()| {
            db.prepare_cached("BEGIN IMMEDIATE")
                .and_then(|mut s| s.execute([]))
                .map_err(|error| fault(&error))
        });
    let mut kept = Vec::with_capacity(group.len());
    let outcome = match begun {
        Err(refused) => {
            // No transaction, so each closure is answered without being run.
            for job in group {
                job(Err(refused.clone()));
            }
            return;
        }
        Ok(_) => {
            for job in group {
                if let Ran::Kept(answer) = job(Ok(db)) {
                    kept.push(answer);
                }
            }
            end_group(db, path)
        }
    };
    for answer in kept {
        answer(outcome.clone());
    }
}

fn end_group(db: &Connection, path: &Path) -> Result<(), StorageFault> {
    if db.is_autocommit() {
        // SQLite rolled the whole transaction back inside one of the closures (disk full, I/O error).
        return Err(StorageFault::Io {
            path: path.to_path_buf(),
            what: "the transaction was rolled back".to_owned(),
        });
    }
    let committed = failpoint::reach("sqlite.commit")
        .map_err(|error| StorageFault::Io {
            path: path.to_path_buf(),
            what: error.to_string(),
        })
        .and_then(|()| {
            db.prepare_cached("COMMIT")
                .and_then(|mut s| s.execute([]))
                .map_err(|error| StorageFault::from_sqlite(path, &error))
        });
    match committed {
        Ok(_) => {
            drop(failpoint::reach("sqlite.committed"));
            Ok(())
        }
        Err(error) => {
            if !db.is_autocommit() {
                drop(db.prepare_cached("ROLLBACK").and_then(|mut s| s.execute([])));
            }
            Err(error)
        }
    }
}
