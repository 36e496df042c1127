//! Looks at files with constant memory, and renames them without losing any. In: a directory and a name. Out: hashes,
//! renames.
//!
//! Not here: in which order renames are safe (write, delete, leftover).

use super::names;
use crate::job::{JobId, Sha256};
use crate::target::Seen;
use crate::target::open::{Standing, open_file};
use rustix::fs::{AtFlags, RenameFlags, renameat_with, unlinkat};
use rustix::io::Errno;
use sha2::Digest;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;

/// Bytes read at a time: beyond this nothing gets faster, and a batch holds one such buffer.
const BUFFER_BYTES: u64 = 64 * 1024;

/// SHA-256 and length of an open file; `None` if it is larger than `bytes_max`.
pub(super) fn hash(mut file: &File, bytes_max: u64) -> std::io::Result<Option<(Sha256, u64)>> {
    let expected = file.metadata()?.len();
    if expected > bytes_max {
        return Ok(None);
    }
    let buffer_bytes = usize::try_from(BUFFER_BYTES.min(expected.saturating_add(1))).unwrap_or(1);
    let mut buffer = vec![0u8; buffer_bytes];
    let mut hasher = sha2::Sha256::new();
    let mut len = 0u64;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(Some((Sha256(hasher.finalize().into()), len))),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        len = len.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        // It may grow while it is read.
        if len > bytes_max {
            return Ok(None);
        }
        hasher.update(&buffer[..count]);
    }
}

/// What is at a name.
pub(super) fn look_at(directory: BorrowedFd<'_>, name: &str, bytes_max: u64) -> Result<Seen, Errno> {
    match open_file(directory, name)? {
        Standing::Absent => Ok(Seen::Absent),
        Standing::Locked | Standing::Other => Ok(Seen::Unreadable),
        Standing::File(file) => Ok(look_into(&file, bytes_max)),
    }
}

/// What an open file holds.
pub(super) fn look_into(file: &File, bytes_max: u64) -> Seen {
    match hash(file, bytes_max) {
        Ok(Some((sha256, len))) => Seen::Bytes { sha256, len },
        Ok(None) | Err(_) => Seen::Unreadable,
    }
}

/// Whether what was seen is a file with these bytes.
pub(super) fn is(seen: Seen, wanted: Sha256) -> bool {
    match seen {
        Seen::Bytes { sha256, .. } => sha256 == wanted,
        Seen::Absent | Seen::Unreadable => false,
    }
}

/// How a rename ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    Yes,
    /// The new name is taken (only without exchange).
    Taken,
    /// A name that must exist does not.
    Missing,
    /// It did not happen, for sure.
    No(Errno),
    /// It failed in a way that leaves open whether it happened.
    Unclear(Errno),
}

pub(super) fn move_free(directory: BorrowedFd<'_>, from: &str, to: &str) -> Moved {
    moved(renameat_with(
        directory,
        from,
        directory,
        to,
        RenameFlags::NOREPLACE,
    ))
}

pub(super) fn exchange(directory: BorrowedFd<'_>, one: &str, other: &str) -> Moved {
    moved(renameat_with(
        directory,
        one,
        directory,
        other,
        RenameFlags::EXCHANGE,
    ))
}

fn moved(answer: Result<(), Errno>) -> Moved {
    match answer {
        Ok(()) => Moved::Yes,
        Err(Errno::EXIST) => Moved::Taken,
        Err(Errno::NOENT) => Moved::Missing,
        Err(
            errno @ (Errno::ACCESS
            | Errno::PERM
            | Errno::ROFS
            | Errno::NOSPC
            | Errno::DQUOT
            | Errno::INVAL
            | Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::XDEV
            | Errno::LOOP
            | Errno::NOTDIR
            | Errno::ISDIR
            | Errno::NAMETOOLONG
            | Errno::BUSY
            | Errno::MLINK
            | Errno::NOMEM),
        ) => Moved::No(errno),
        Err(errno) => Moved::Unclear(errno),
    }
}

/// Removes a file of ours; that it is gone already is fine.
pub(super) fn remove(directory: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Gives a file a name under which it waits for a person. False if it still has its old name.
pub(super) fn keep_aside(directory: BorrowedFd<'_>, name: &str, job: JobId) -> bool {
    (1..=names::KEPT_MAX).any(|number| move_free(directory, name, &names::kept(job, number)) == Moved::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limit_is_not_hashed_and_one_at_the_limit_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, vec![7u8; 200_000]).unwrap();
        let open = || File::open(&path).unwrap();
        assert_eq!(
            hash(&open(), 200_000).unwrap(),
            Some((crate::job::sha256(&[7u8; 200_000]), 200_000))
        );
        assert_eq!(hash(&open(), 199_999).unwrap(), None);
    }
}
