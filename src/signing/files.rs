//! Files of the signing tool. In: paths the caller named. Out: bounded contents; files that are whole or not there.
//!
//! Not here: what is in them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// What to do when the file is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse: it may be somebody's only copy.
    Keep,
    /// Replace it whole.
    Replace,
}

/// The content, if it has at most `bytes_max` bytes.
///
/// # Errors
/// What the system says, or `FileTooLarge`.
pub fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, bytes_max)
}

/// Everything that comes, if it is at most `bytes_max` bytes.
///
/// # Errors
/// What the system says, or `FileTooLarge`.
pub fn bounded(from: impl io::Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read <= bytes_max) {
        Ok(bytes)
    } else {
        Err(io::Error::from(io::ErrorKind::FileTooLarge))
    }
}

/// Writes beside the file first, synced, and then puts it in its place.
///
/// # Errors
/// What the system says; `AlreadyExists` under [`Existing::Keep`].
pub fn write(path: &Path, bytes: &[u8], mode: u32, existing: Existing) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(format!(".{}", crate::job::Uuid4::random()));
    let beside = path.with_file_name(name);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&beside)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
    let placed = written.and_then(|()| match existing {
        Existing::Replace => std::fs::rename(&beside, path),
        // A link never replaces, a rename always does.
        Existing::Keep => std::fs::hard_link(&beside, path),
    });
    match existing {
        Existing::Replace if placed.is_ok() => {}
        Existing::Replace | Existing::Keep => std::fs::remove_file(&beside).unwrap_or_default(),
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_kept_unless_it_may_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write(&path, b"1", 0o600, Existing::Keep).unwrap();
        let refused = write(&path, b"2", 0o600, Existing::Keep).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read_bounded(&path, 1).unwrap(), b"1");
        write(&path, b"22", 0o600, Existing::Replace).unwrap();
        assert_eq!(read_bounded(&path, 2).unwrap(), b"22");
        assert_eq!(
            read_bounded(&path, 1).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
