//! A small pool of read-only connections whose reads end by themselves. In: a closure. Out: its answer.
//!
//! A reader that stays open keeps the WAL from being reused, so every read has a deadline.
//! Not here: writing.

use super::{StorageFault, open};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Connections kept: health and one list at a time is the normal load.
const POOL: u32 = 3;
/// Longest wait for a free connection.
const WAIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct Manager {
    path: PathBuf,
}

impl r2d2::ManageConnection for Manager {
    type Connection = Connection;
    type Error = StorageFault;
    fn connect(&self) -> Result<Connection, StorageFault> {
        open::open(&self.path, open::Use::Read)
    }
    fn is_valid(&self, db: &mut Connection) -> Result<(), StorageFault> {
        db.execute_batch("SELECT 1")
            .map_err(|error| StorageFault::from_sqlite(&self.path, &error))
    }
    fn has_broken(&self, _db: &mut Connection) -> bool {
        false
    }
}

/// The pool.
#[derive(Debug, Clone)]
pub struct Readers {
    pool: r2d2::Pool<Manager>,
    path: PathBuf,
}

impl Readers {
    /// A pool on `path`; connections are made when first needed.
    pub fn new(path: &Path) -> Readers {
        let manager = Manager {
            path: path.to_path_buf(),
        };
        let pool = r2d2::Pool::builder()
            .max_size(POOL)
            .min_idle(Some(0))
            .test_on_check_out(false)
            .connection_timeout(WAIT)
            .idle_timeout(None)
            .max_lifetime(None)
            .build_unchecked(manager);
        Readers {
            pool,
            path: path.to_path_buf(),
        }
    }

    /// Runs one short read in a transaction of its own, so that it sees one moment.
    ///
    /// # Errors
    /// [`StorageFault`] if no connection is to be had or the read fails.
    pub fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StorageFault> {
        let mut db = self.pool.get().map_err(|_| StorageFault::Busy {
            path: self.path.clone(),
        })?;
        let fault = |error: rusqlite::Error| StorageFault::from_sqlite(&self.path, &error);
        let tx = db.transaction().map_err(fault)?;
        let answer = read(&tx).map_err(fault)?;
        tx.finish().map_err(fault)?;
        Ok(answer)
    }
}
