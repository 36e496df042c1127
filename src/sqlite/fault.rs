//! What can be wrong with a database file, sorted by what a caller does about it. In: SQLite's errors. Out: a class and advice.
//!
//! Not here: retrying (each loop owns its own back-off).

use rusqlite::ErrorCode;
use std::path::PathBuf;
use thiserror::Error;

/// Why a storage call did not do what was asked. Nothing of the failed transaction is kept.
#[derive(Debug, Clone, Error)]
pub enum StorageFault {
    /// Another process holds the write lock for longer than the busy time.
    #[error("{path}: another process holds the database; it will be tried again")]
    Busy { path: PathBuf },
    /// No space or quota left.
    #[error("{path}: the disk is full; make room, work goes on by itself")]
    DiskFull { path: PathBuf },
    /// A read or write failed below SQLite.
    #[error("{path}: I/O error ({what}); check the disk and the mount")]
    Io { path: PathBuf, what: String },
    /// The file cannot be opened or written with this owner and mode.
    #[error("{path}: cannot be opened ({what}); check that it exists, its owner and its mode")]
    CannotOpen { path: PathBuf, what: String },
    /// The file is damaged. Never repaired by itself.
    #[error(
        "{path}: the database is damaged ({what}); stop the role, keep the file, restore the last verified backup"
    )]
    Corrupt { path: PathBuf, what: String },
    /// The name leads to another file now, or to none: what is written here would be seen by nobody.
    #[error(
        "{path}: it is not the file this process opened any more (removed or replaced while the role ran); stop the role, put the file back or restore the last verified backup"
    )]
    Replaced { path: PathBuf },
    /// Written by a newer program.
    #[error(
        "{path}: schema {found} is newer than this program's {known}; install the newer version again, or restore a backup made before the upgrade"
    )]
    SchemaFromTheFuture { path: PathBuf, found: i64, known: i64 },
    /// A pragma did not take.
    #[error("{path}: {pragma} reads back {found}, wanted {wanted}")]
    Pragma {
        path: PathBuf,
        pragma: &'static str,
        found: String,
        wanted: String,
    },
    /// The database refused the statement: a constraint or one of our triggers.
    #[error("{path}: refused by the database ({what})")]
    Refused { path: PathBuf, what: String },
    /// The writer thread is gone (the process is stopping).
    #[error("{path}: the writer has stopped")]
    Stopped { path: PathBuf },
}

impl StorageFault {
    /// Sorts one of SQLite's errors.
    pub fn from_sqlite(path: &std::path::Path, error: &rusqlite::Error) -> StorageFault {
        let path = path.to_path_buf();
        let what = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StorageFault::Busy { path },
            Some(ErrorCode::DiskFull) => StorageFault::DiskFull { path },
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport,
            ) => StorageFault::Io { path, what },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
                StorageFault::CannotOpen { path, what }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StorageFault::Corrupt { path, what }
            }
            _ => StorageFault::Refused { path, what },
        }
    }
    /// Whether the cause can go away by itself.
    pub fn is_passing(&self) -> bool {
        match self {
            StorageFault::Busy { .. }
            | StorageFault::DiskFull { .. }
            | StorageFault::Io { .. }
            | StorageFault::CannotOpen { .. } => true,
            StorageFault::Corrupt { .. }
            | StorageFault::Replaced { .. }
            | StorageFault::SchemaFromTheFuture { .. }
            | StorageFault::Pragma { .. }
            | StorageFault::Refused { .. }
            | StorageFault::Stopped { .. } => false,
        }
    }
    /// The health reason it shows as (contract 7).
    pub fn health_reason(&self) -> &'static str {
        match self {
            StorageFault::DiskFull { .. } => "disk",
            StorageFault::Busy { .. }
            | StorageFault::Io { .. }
            | StorageFault::CannotOpen { .. }
            | StorageFault::Corrupt { .. }
            | StorageFault::Replaced { .. }
            | StorageFault::SchemaFromTheFuture { .. }
            | StorageFault::Pragma { .. }
            | StorageFault::Refused { .. }
            | StorageFault::Stopped { .. } => "database",
        }
    }
}

/// Why a write closure's result did not become durable.
#[derive(Debug, Error)]
pub enum WriteError<E: std::error::Error + 'static> {
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageFault),
    /// The closure itself said no; only its own writes were undone.
    #[error(transparent)]
    Inner(E),
}
