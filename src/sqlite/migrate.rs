//! Forward migrations, one transaction a file. In: a connection and a list of SQL texts. Out: a schema at the newest version.
//!
//! Not here: going back. A file from a newer program is refused before anything is written.

use super::{StorageFault, open};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// One file of schema/: its number is its place in the list plus one.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// File name, for messages.
    pub name: &'static str,
    /// Its text.
    pub sql: &'static str,
}

/// Refuses a file whose schema is newer than `known`, without writing to it.
///
/// # Errors
/// [`StorageFault::SchemaFromTheFuture`], or what kept the file from being read.
pub fn refuse_newer(path: &Path, known: &[Migration]) -> Result<(), StorageFault> {
    let known = i64::try_from(known.len()).unwrap_or(i64::MAX);
    match open::schema_version(path)? {
        Some(found) if found > known => Err(StorageFault::SchemaFromTheFuture {
            path: path.to_path_buf(),
            found,
            known,
        }),
        Some(_) | None => Ok(()),
    }
}

/// Applies what is missing. Interrupted anywhere, the next start goes on with the file that did not commit.
///
/// # Errors
/// [`StorageFault`] naming the file; nothing of a failed migration is kept.
pub fn apply(db: &mut Connection, path: &Path, migrations: &[Migration]) -> Result<(), StorageFault> {
    let fault = |error: rusqlite::Error| StorageFault::from_sqlite(path, &error);
    for (at, migration) in migrations.iter().enumerate() {
        let number = i64::try_from(at).unwrap_or(i64::MAX).saturating_add(1);
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fault)?;
        // Read inside the write lock: two processes may start at once.
        let version: i64 = tx
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(fault)?;
        if version >= number {
            continue;
        }
        tx.execute_batch(migration.sql)
            .map_err(|error| StorageFault::Refused {
                path: path.to_path_buf(),
                what: format!("{}: {error}", migration.name),
            })?;
        tx.pragma_update(None, "user_version", number).map_err(fault)?;
        tx.commit().map_err(fault)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Migration = Migration {
        name: "1",
        sql: "CREATE TABLE a(x);",
    };
    const TWO: Migration = Migration {
        name: "2",
        sql: "CREATE TABLE b(x); INSERT INTO b VALUES (1);",
    };
    const BAD: Migration = Migration {
        name: "3",
        sql: "CREATE TABLE c(x); INSERT INTO nowhere VALUES (1);",
    };

    #[test]
    fn a_failed_migration_leaves_the_version_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let mut db = open::open(&path, open::Use::Write).unwrap();
        assert!(apply(&mut db, &path, &[ONE, TWO, BAD]).is_err());
        assert_eq!(open::schema_version(&path).unwrap(), Some(2));
        assert!(db.prepare("SELECT * FROM c").is_err());
        apply(&mut db, &path, &[ONE, TWO]).unwrap();
        let rows: i64 = db.query_row("SELECT count(*) FROM b", [], |r| r.get(0)).unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn a_schema_from_the_future_is_refused_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let mut db = open::open(&path, open::Use::Write).unwrap();
        apply(&mut db, &path, &[ONE, TWO]).unwrap();
        drop(db);
        let before = std::fs::read(&path).unwrap();
        let refused = refuse_newer(&path, &[ONE]);
        assert!(matches!(
            refused,
            Err(StorageFault::SchemaFromTheFuture {
                found: 2,
                known: 1,
                ..
            })
        ));
        assert_eq!(before, std::fs::read(&path).unwrap());
    }
}
