//! One drop directory. In: its path, and names that were seen in it. Out: its entries, one file's bytes, or the removal of
//! exactly the entry that was read.
//!
//! Every call goes through the directory's descriptor, so nobody can put another directory under us between two of them.
//! Files are opened without following links, without blocking, and only after `statx` said they are regular.
//!
//! Not here: which entries are read and in which order (`rules`, `queue`, `scan`).

use super::error::IntakeError;
use super::name;
use super::rules::{self, House, Look};
use super::seen::{FileId, Nature, Seen};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, SeekFrom};
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Whose word counts in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `drop/`: the owner of a file is the requester.
    Drop,
    /// `gate/`: the file's name states the requester, if the file is the gateway's.
    Gate {
        /// The gateway's UID.
        gateway: u32,
    },
}

/// Whether the directory must belong to this process's UID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Production: a directory of somebody else can be changed by somebody else.
    Ours,
    /// Development.
    Anyone,
}

/// An open drop directory.
#[derive(Debug)]
pub struct DropDir {
    fd: OwnedFd,
    path: PathBuf,
    kind: Kind,
    itself: Seen,
}

/// What reading a file came to.
#[derive(Debug)]
pub(super) enum Reading {
    /// All of it, or one byte more than allowed; and what the kernel said before, which still holds after.
    Read(Vec<u8>, Seen),
    /// No longer there.
    Gone,
    /// Not, or no longer, what was seen before.
    Changed,
    /// Somebody holds a lease on it.
    Busy,
    /// We may not.
    KeptOut(Errno),
    /// This file cannot be read.
    Broken(std::io::Error),
    /// Nothing could be opened now: descriptors or memory have run out.
    Exhausted(Errno),
}

/// What became of an entry that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    Removed,
    /// Somebody else removed it.
    Gone,
    /// Another file, or another content, has its name now; it stays and is looked at again.
    Replaced,
}

/// Bytes of one read of names from the kernel: a few hundred entries at a time, whatever lies in the directory.
const LISTING_BYTES: usize = 32 * 1024;

impl DropDir {
    /// Opens `path`, which must be a directory itself and no link to one.
    ///
    /// # Errors
    /// It is not there, not a directory, or (with [`Ownership::Ours`]) not ours.
    pub fn open(path: &Path, kind: Kind, ownership: Ownership) -> Result<DropDir, IntakeError> {
        let failed = |source: Errno| IntakeError::Directory {
            path: path.to_owned(),
            source: source.into(),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
        let itself = Seen::of(&fd).map_err(failed)?;
        let ours = rustix::process::geteuid().as_raw();
        if ownership == Ownership::Ours && itself.uid != ours {
            return Err(IntakeError::NotOurs {
                path: path.to_owned(),
                uid: itself.uid,
                ours,
            });
        }
        Ok(DropDir {
            fd,
            path: path.to_owned(),
            kind,
            itself,
        })
    }

    /// Its path, for messages and the watch.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its group: the one that files made in it have.
    pub fn gid(&self) -> u32 {
        self.itself.gid
    }

    /// Whether its path still leads to this directory.
    pub(super) fn is_in_place(&self) -> bool {
        Seen::at(CWD, &*self.path).is_ok_and(|there| there.id == self.itself.id)
    }

    /// Calls `each` with every entry, in the kernel's order, in bounded memory.
    pub(super) fn list(&self, mut each: impl FnMut(&CStr, Result<Seen, Errno>)) -> Result<(), Errno> {
        rustix::fs::seek(&self.fd, SeekFrom::Start(0))?;
        let mut buffer = Vec::with_capacity(LISTING_BYTES);
        let mut entries = RawDir::new(&self.fd, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                each(name, Seen::at(&self.fd, name));
            }
        }
        Ok(())
    }

    /// Judges an entry by its name and by what the kernel says; `None`: the name is not for us.
    pub(super) fn look(&self, name: &[u8], seen: &Seen, refused: &[u32]) -> Option<Look> {
        let (stated, form) = match self.kind {
            Kind::Drop => (None, name::of_drop(name)?),
            Kind::Gate { .. } => name::of_gate(name).map(|(uid, form)| (Some(uid), form))?,
        };
        let house = House {
            kind: self.kind,
            gid: self.itself.gid,
            refused,
        };
        Some(rules::look(house, form, stated, seen))
    }

    /// Reads the regular file that was seen as `id`, at most one byte more than `limit`.
    ///
    /// A change before, after or between the two looks at it is noticed. A single large write that is under way at both is
    /// not: then the bytes are a mixture of two states, both its owner's, and are judged as what they are.
    pub(super) fn read(&self, name: &str, id: FileId, limit: usize) -> Reading {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Reading::Gone,
            Err(Errno::LOOP | Errno::NXIO) => return Reading::Changed,
            Err(Errno::WOULDBLOCK) => return Reading::Busy,
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => return Reading::Exhausted(error),
            Err(error @ (Errno::ACCESS | Errno::PERM)) => return Reading::KeptOut(error),
            Err(error) => return Reading::Broken(error.into()),
        };
        let before = match Seen::of(&file) {
            Ok(seen) if seen.id == id && seen.nature == Nature::Regular => seen,
            Ok(_) => return Reading::Changed,
            Err(error) => return Reading::Broken(error.into()),
        };
        match read_bounded(&file, before.bytes, limit) {
            Ok(bytes) => match Seen::of(&file) {
                Ok(after) if after == before && fits(&bytes, before.bytes, limit) => {
                    Reading::Read(bytes, before)
                }
                Ok(_) => Reading::Changed,
                Err(error) => Reading::Broken(error.into()),
            },
            Err(error) => Reading::Broken(error),
        }
    }

    /// What the kernel says about an entry now.
    pub(super) fn see(&self, name: &CStr) -> Result<Seen, Errno> {
        Seen::at(&self.fd, name)
    }

    /// Removes the entry if it still is the one that was seen as `id`.
    ///
    /// Between the look and the removal the requester could put another file there by renaming it over the first; it would
    /// be lost unread. The window is one system call wide, and who reuses the name of a file that may not be read yet
    /// loses one of the two anyway: the drop protocol wants names of their own.
    pub(super) fn remove(&self, name: &CStr, id: FileId) -> Result<Removal, Errno> {
        let seen = match Seen::at(&self.fd, name) {
            Ok(seen) => seen,
            Err(Errno::NOENT) => return Ok(Removal::Gone),
            Err(error) => return Err(error),
        };
        if !id.names(&seen.id) {
            return Ok(Removal::Replaced);
        }
        let flags = match seen.nature {
            Nature::Directory => AtFlags::REMOVEDIR,
            Nature::Regular | Nature::Symlink | Nature::Special => AtFlags::empty(),
        };
        match rustix::fs::unlinkat(&self.fd, name, flags) {
            Ok(()) => Ok(Removal::Removed),
            Err(Errno::NOENT) => Ok(Removal::Gone),
            Err(error) => Err(error),
        }
    }
}

/// At most `limit` + 1 bytes; no more memory than the file had bytes a moment ago, and no more than that.
fn read_bounded(file: &File, bytes: u64, limit: usize) -> std::io::Result<Vec<u8>> {
    let most = limit.saturating_add(1);
    let expected = usize::try_from(bytes).unwrap_or(most).min(most);
    let mut read = Vec::with_capacity(expected.saturating_add(1));
    file.take(u64::try_from(most).unwrap_or(u64::MAX))
        .read_to_end(&mut read)?;
    Ok(read)
}

/// Whether as many bytes came as the kernel announced, or as many as were asked for.
fn fits(read: &[u8], bytes: u64, limit: usize) -> bool {
    read.len() > limit || u64::try_from(read.len()) == Ok(bytes)
}

/// A name for messages: printable, and nothing in it can imitate a line of a log.
pub(super) fn printable(name: &CStr) -> String {
    name.to_bytes().escape_ascii().to_string()
}
