//! Connections. In: a path. Out: a connection whose pragmas were set and read back.
//!
//! Not here: who may write (writer.rs) and for how long a reader may read (readers.rs).

use super::StorageFault;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a connection waits for another process's lock before it answers `Busy`.
const BUSY: Duration = Duration::from_secs(5);
/// Page cache of the writer, KiB: room for the live indexes of a batch.
const WRITER_CACHE_KIB: i64 = 8192;
/// Page cache of a reader, KiB: small, because each idle role must stay within a few MiB.
const READER_CACHE_KIB: i64 = 512;
/// Largest row we ever write is a job body of 64 KiB and a signature list; 4 MiB is far above and far below harm.
const ROW_BYTES_MAX: i32 = 4 << 20;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The one that writes.
    Write,
    /// Short reads.
    Read,
}

/// Opens `path`, refusing a symbolic link in its last component.
///
/// # Errors
/// [`StorageFault`] naming the path.
pub fn open(path: &Path, purpose: Use) -> Result<Connection, StorageFault> {
    let real = real_path(path)?;
    let flags = match purpose {
        Use::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Use::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
    } | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let fault = |error: rusqlite::Error| StorageFault::from_sqlite(path, &error);
    let db = Connection::open_with_flags(&real, flags).map_err(fault)?;
    db.busy_timeout(BUSY).map_err(fault)?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX)
        .map_err(fault)?;
    db.set_prepared_statement_cache_capacity(96);
    let cache = match purpose {
        Use::Write => WRITER_CACHE_KIB,
        Use::Read => READER_CACHE_KIB,
    };
    if purpose == Use::Write {
        pragma(&db, path, "journal_mode", "wal", "wal")?;
    }
    pragma(&db, path, "synchronous", "FULL", "2")?;
    pragma(&db, path, "foreign_keys", "ON", "1")?;
    pragma(&db, path, "trusted_schema", "OFF", "0")?;
    pragma(&db, path, "cell_size_check", "ON", "1")?;
    pragma(&db, path, "mmap_size", "0", "0")?;
    pragma(&db, path, "wal_autocheckpoint", "1000", "1000")?;
    pragma(&db, path, "temp_store", "MEMORY", "2")?;
    pragma(
        &db,
        path,
        "cache_size",
        &(-cache).to_string(),
        &(-cache).to_string(),
    )?;
    if purpose == Use::Read {
        pragma(&db, path, "query_only", "ON", "1")?;
    }
    Ok(db)
}

/// The schema version of an existing file, read without changing it; `None` if there is no file.
///
/// # Errors
/// [`StorageFault`] naming the path.
pub fn schema_version(path: &Path) -> Result<Option<i64>, StorageFault> {
    if !path.exists() {
        return Ok(None);
    }
    let fault = |error: rusqlite::Error| StorageFault::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = Connection::open_with_flags(real_path(path)?, flags).map_err(fault)?;
    db.busy_timeout(BUSY).map_err(fault)?;
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
        .map(Some)
        .map_err(fault)
}

/// Resolves the directory, so that only the file itself must not be a link.
fn real_path(path: &Path) -> Result<PathBuf, StorageFault> {
    let cannot = |what: String| StorageFault::CannotOpen {
        path: path.to_path_buf(),
        what,
    };
    let dir = path.parent().ok_or_else(|| cannot("no directory".to_owned()))?;
    let name = path
        .file_name()
        .ok_or_else(|| cannot("no file name".to_owned()))?;
    let dir = dir
        .canonicalize()
        .map_err(|error| cannot(format!("its directory: {error}")))?;
    Ok(dir.join(name))
}

fn pragma(
    db: &Connection,
    path: &Path,
    name: &'static str,
    set: &str,
    wanted: &str,
) -> Result<(), StorageFault> {
    let fault = |error: rusqlite::Error| StorageFault::from_sqlite(path, &error);
    let text = |row: &rusqlite::Row<'_>| -> rusqlite::Result<String> {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(n) => n.to_string(),
            rusqlite::types::ValueRef::Text(t) => String::from_utf8_lossy(t).into_owned(),
            rusqlite::types::ValueRef::Null
            | rusqlite::types::ValueRef::Real(_)
            | rusqlite::types::ValueRef::Blob(_) => String::new(),
        })
    };
    // Some pragmas answer with a row when set, some with none.
    {
        let mut statement = db.prepare(&format!("PRAGMA {name} = {set}")).map_err(fault)?;
        let mut rows = statement.query([]).map_err(fault)?;
        while rows.next().map_err(fault)?.is_some() {}
    }
    let found = db.query_row(&format!("PRAGMA {name}"), [], text).map_err(fault)?;
    if found == wanted {
        return Ok(());
    }
    Err(StorageFault::Pragma {
        path: path.to_path_buf(),
        pragma: name,
        found,
        wanted: wanted.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_has_full_durability_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let db = open(&path, Use::Write).unwrap();
        db.execute_batch("CREATE TABLE t(a)").unwrap();
        for purpose in [Use::Write, Use::Read] {
            let db = open(&path, purpose).unwrap();
            let synchronous: i64 = db.query_row("PRAGMA synchronous", [], |r| r.get(0)).unwrap();
            assert_eq!(synchronous, 2);
            let mode: String = db.query_row("PRAGMA journal_mode", [], |r| r.get(0)).unwrap();
            assert_eq!(mode, "wal");
        }
        assert!(
            open(&path, Use::Read)
                .unwrap()
                .execute("INSERT INTO t VALUES (1)", [])
                .is_err()
        );
    }

    #[test]
    fn a_link_in_place_of_the_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        drop(open(&path, Use::Write).unwrap());
        let link = dir.path().join("b.db");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(
            open(&link, Use::Write),
            Err(StorageFault::CannotOpen { .. })
        ));
    }
}
