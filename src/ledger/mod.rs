//! inbox.db: the truth about one role's jobs. In: judged documents, claims, settlements, verbs. Out: durable changes of state with
//! their audit row, event and receipt in the same transaction, and views for people.
//!
//! ```text
//! admit ─▶ READY ─claim▶ CLAIMED ─executing▶ EXECUTING ─settle▶ SUCCEEDED | FAILED | REJECTED | OUTCOME_UNKNOWN
//! ```
//! Reading order: jobs (a row), tx (one write), audit (the chain), control (pause, freeze, epoch, clock), admit, approve, claim,
//! settle, operator, views, verify. SQL text is only in `rows_*.rs`.
//! Not here: files, sockets, targets; the decision what a settlement should be.

pub mod admit;
pub mod approve;
pub mod audit;
pub mod claim;
pub mod control;
mod error;
pub mod jobs;
pub mod operator;
mod rows_approvals;
mod rows_audit;
mod rows_control;
mod rows_jobs;
mod rows_views;
pub mod settle;
#[cfg(test)]
mod tests;
mod tx;
pub mod verify;
pub mod views;

pub use error::{LedgerError, WriteResult};
pub use tx::Tx;

use crate::clock::SharedClock;
use crate::job::Role;
use crate::sqlite::migrate::{self, Migration};
use crate::sqlite::{Readers, StorageFault, Writer, open};
use std::path::{Path, PathBuf};

/// schema/, in order.
pub const MIGRATIONS: [Migration; 1] = [Migration {
    name: "0001_create_ledger.sql",
    sql: include_str!("../../schema/0001_create_ledger.sql"),
}];

/// A handle to one role's ledger; clones share the writer thread and the readers.
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(crate) writer: Writer,
    readers: Readers,
    clock: SharedClock,
    path: PathBuf,
    role: Role,
}

/// Whose ledger a file says it is; refused if a newer program made it. For a copy that nobody has opened.
///
/// # Errors
/// [`StorageFault`] naming the file.
pub fn role_of_file(path: &Path) -> Result<Option<String>, StorageFault> {
    migrate::refuse_newer(path, &MIGRATIONS)?;
    let db = open::open(path, open::Use::Read)?;
    control::get(&db, "role").map_err(|error| StorageFault::from_sqlite(path, &error))
}

impl Ledger {
    /// Opens, migrates and starts the writer. A file of another role, or of a newer program, is refused unchanged.
    ///
    /// # Errors
    /// [`StorageFault`] naming the file.
    pub fn open(path: &Path, role: Role, clock: SharedClock) -> Result<Ledger, StorageFault> {
        migrate::refuse_newer(path, &MIGRATIONS)?;
        let mut db = open::open(path, open::Use::Write)?;
        let fault = |error: rusqlite::Error| StorageFault::from_sqlite(path, &error);
        migrate::apply(&mut db, path, &MIGRATIONS)?;
        match control::get(&db, "role").map_err(fault)? {
            Some(found) if found != role.as_str() => {
                return Err(StorageFault::Refused {
                    path: path.to_path_buf(),
                    what: format!(
                        "it is the ledger of the role {found}, not of {role}; give each role its own state directory"
                    ),
                });
            }
            Some(_) => {}
            None => {
                control::set(&db, "role", role.as_str()).map_err(fault)?;
            }
        }
        let writer = Writer::start(db, path)?;
        Ok(Ledger {
            writer,
            readers: Readers::new(path),
            clock,
            path: path.to_path_buf(),
            role,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Whose it is.
    pub fn role(&self) -> Role {
        self.role
    }
    /// The clock its writes are stamped with.
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// One short read.
    ///
    /// # Errors
    /// [`StorageFault`] naming the file.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StorageFault> {
        self.readers.read(read)
    }

    /// Copies the ledger to `to` with SQLite's online backup, a few pages at a time so that the writer goes on.
    ///
    /// # Errors
    /// [`StorageFault`] naming the file that failed.
    pub fn backup_to(&self, to: &Path) -> Result<(), StorageFault> {
        let from = open::open(&self.path, open::Use::Read)?;
        let fault = |error: rusqlite::Error| StorageFault::from_sqlite(to, &error);
        // The one reader that makes a file, so the guard of readers is lifted; the ledger itself stays opened read-only.
        from.pragma_update(None, "query_only", false).map_err(fault)?;
        // One statement in one read transaction: a consistent copy, no restarts under load.
        let name = to.to_str().ok_or_else(|| StorageFault::CannotOpen {
            path: to.to_path_buf(),
            what: "the name is not UTF-8".to_owned(),
        })?;
        from.execute("VACUUM INTO ?1", [name]).map_err(fault)?;
        Ok(())
    }
}

/// At most `max` bytes of `text`, cut at a character.
pub(crate) fn clip(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
