//! Files that survive a power cut whole. In: a path and bytes. Out: the new file, durable under its name, or the old
//! state; never half a file.
//!
//! ```text
//! .NAME.UUID.new ─ write ─ fsync ─ rename ─ fsync of the directory
//! ```
//! Not here: files that grow (spent/), SQLite (sqlite/).

use crate::failpoint;
use crate::job::Uuid4;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Whether this call made something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It was not there and is now.
    New,
    /// It was there and is unchanged.
    WasThere,
}

/// Makes what was created, renamed or removed in a directory durable.
///
/// # Errors
/// The directory cannot be opened or synced. A failed sync must not be taken for done by trying it again.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(dir, flags, Mode::empty())?;
    Ok(rustix::fs::fsync(dir)?)
}

/// Puts `bytes` under `path` with exactly this mode, replacing what was there; durable when it returns.
///
/// # Errors
/// Any step. Before the rename the old file is unchanged; after it, the new one may not be durable yet.
pub fn write_file_atomically(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let unfinished = Unfinished::write(path, bytes, mode)?;
    std::fs::rename(&unfinished.temp, path)?;
    unfinished.named();
    failpoint::reach("durable.renamed")?;
    sync_dir(dir_of(path))
}

/// As [`write_file_atomically`], but leaves alone what is already there: two that start at once agree on one file.
///
/// # Errors
/// Any step.
pub fn create_file_atomically(path: &Path, bytes: &[u8], mode: u32) -> io::Result<Made> {
    if path.symlink_metadata().is_ok() {
        return Ok(Made::WasThere);
    }
    // Dropped at the end: the temporary name goes, the linked one stays.
    let unfinished = Unfinished::write(path, bytes, mode)?;
    let made = match std::fs::hard_link(&unfinished.temp, path) {
        Ok(()) => Made::New,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Made::WasThere,
        Err(error) => return Err(error),
    };
    failpoint::reach("durable.linked")?;
    drop(unfinished);
    sync_dir(dir_of(path))?;
    Ok(made)
}

/// Opens a file that is only ever locked; 0600 if it is new.
///
/// # Errors
/// What the system says.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Removes what killed writers of `path` left beside it. Only for one who keeps other writers of it away meanwhile.
///
/// # Errors
/// The directory cannot be listed, or a leftover cannot be removed.
pub fn sweep_unfinished(path: &Path) -> io::Result<usize> {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else {
        return Ok(0);
    };
    let mut removed = 0;
    for entry in std::fs::read_dir(dir_of(path))? {
        let entry = entry?;
        let found = entry.file_name();
        let middle = found
            .to_str()
            .and_then(|found| found.strip_prefix(&format!(".{name}."))?.strip_suffix(".new"));
        if middle.is_some_and(|id| Uuid4::parse(id).is_some()) {
            std::fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Makes a directory with mode 0700 if it is not there, durable in its parent. One that is there keeps its mode.
///
/// # Errors
/// It cannot be made, or something else has the name.
pub fn make_private_dir(dir: &Path) -> io::Result<Made> {
    match std::fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {
            // The umask may have taken bits away.
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
            sync_dir(dir_of(dir))?;
            Ok(Made::New)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if dir.symlink_metadata()?.is_dir() {
                Ok(Made::WasThere)
            } else {
                Err(io::Error::new(
                    io::ErrorKind::NotADirectory,
                    "something that is not a directory has its name",
                ))
            }
        }
        Err(error) => Err(error),
    }
}

/// The directory a path is in; `.` for a bare name.
fn dir_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

/// A complete, synced file that does not have its name yet; removed when dropped.
struct Unfinished {
    temp: PathBuf,
}

impl Unfinished {
    fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<Unfinished> {
        let name = path.file_name().and_then(OsStr::to_str).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path has no file name that is UTF-8",
            )
        })?;
        let temp = dir_of(path).join(format!(".{name}.{}.new", Uuid4::random()));
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temp)?;
        let unfinished = Unfinished { temp };
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        failpoint::reach("durable.written")?;
        file.sync_all()?;
        failpoint::reach("durable.synced")?;
        Ok(unfinished)
    }

    /// The temporary name is no more.
    fn named(mut self) {
        self.temp = PathBuf::new();
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.temp != Path::new("") {
            drop(std::fs::remove_file(&self.temp));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_writers_left_is_swept_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("epoch");
        let ours = format!(".epoch.{}.new", Uuid4::random());
        let others = format!(".other.{}.new", Uuid4::random());
        for name in ["epoch", &ours, &others, ".epoch.x.new", ".epoch.new"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        assert_eq!(sweep_unfinished(&path).unwrap(), 1);
        let mut left = names(dir.path());
        left.sort();
        assert_eq!(left, [".epoch.new", ".epoch.x.new", &others, "epoch"]);
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_with_exactly_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("epoch");
        write_file_atomically(&path, b"one, and longer", 0o600).unwrap();
        write_file_atomically(&path, b"two", 0o640).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(names(dir.path()), ["epoch"]);
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_state_and_no_leftover() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("x"), b"").unwrap();
        write_file_atomically(&path, b"new", 0o600).unwrap_err();
        assert_eq!(names(dir.path()), ["taken"]);
        write_file_atomically(&dir.path().join("gone/epoch"), b"new", 0o600).unwrap_err();
    }

    #[test]
    fn what_is_there_is_not_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        assert_eq!(create_file_atomically(&path, b"first", 0o600).unwrap(), Made::New);
        assert_eq!(
            create_file_atomically(&path, b"second", 0o600).unwrap(),
            Made::WasThere
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(names(dir.path()), ["key"]);
    }

    #[test]
    fn many_that_create_one_file_at_once_agree() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let made: Vec<Made> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8u8)
                .map(|n| {
                    scope.spawn({
                        let path = &path;
                        move || create_file_atomically(path, &[n; 32], 0o600).unwrap()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made == Made::New).count(), 1);
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() == 32 && bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(names(dir.path()), ["key"]);
    }

    #[test]
    fn a_private_directory_is_0700_and_a_file_in_its_place_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recovery");
        assert_eq!(make_private_dir(&path).unwrap(), Made::New);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        assert_eq!(make_private_dir(&path).unwrap(), Made::WasThere);
        std::fs::write(dir.path().join("file"), b"").unwrap();
        make_private_dir(&dir.path().join("file")).unwrap_err();
    }

    #[test]
    fn a_directory_that_is_not_there_cannot_be_synced() {
        let dir = tempfile::tempdir().unwrap();
        sync_dir(dir.path()).unwrap();
        sync_dir(&dir.path().join("gone")).unwrap_err();
    }
}
