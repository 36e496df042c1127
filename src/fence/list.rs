//! `unresolved.ROLE`: the paths one role may have changed without knowing. In: paths to add or remove. Out: a file that other roles
//! read.
//!
//! ```text
//! lockgate-unresolved v1 save
//! + /app/vault/notes/a.md
//! - /app/vault/notes/a.md
//! ```
//! The file is appended to under a lock on itself and written anew when it has grown. Adding is synced, removing is not. A last line
//! without its newline was never synced, so nothing was sent after it: readers leave it out, the next writer cuts it off. Anything
//! else that is not this form is malformed, and nobody goes on. A file without its first line is one that its role has not filled
//! from its ledger yet: it is malformed too, to the role itself as well.
//!
//! Why a removal need not be synced: what a power cut brings back is a path that is free, and that only makes the other role wait
//! until this role starts or tidies its list.
//!
//! Not here: which paths belong there.

use super::error::FenceFault;
use crate::job::{Role, VaultPath};
use crate::{durable, failpoint};
use nix::libc;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Size from which the file is written anew once most of it is history, bytes: bounds what the other role reads for each job.
const COMPACT_BYTES: u64 = 16 << 10;
/// A list longer than this is not read, bytes: over 60,000 of the longest paths.
const BYTES_MAX: u64 = 64 << 20;
/// Tries to get the lock on a file that is replaced meanwhile.
const REPLACED_MAX: usize = 100;

/// One role's list.
#[derive(Debug)]
pub(super) struct List {
    path: PathBuf,
    role: Role,
    writers: Writers,
}

/// Who may have written a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    /// This user: our own list, or any list in development, where all roles share a user.
    User(u32),
    /// Another role: neither this user nor the one who owns the lock file. The directory is sticky, so nobody but its owner can
    /// have put the file there.
    Neither([u32; 2]),
}

impl Writers {
    /// Of another role's list, seen by `user`, beside a lock file of `lock_owner`.
    pub(super) fn of_other(user: u32, lock_owner: u32) -> Writers {
        if user == lock_owner {
            Writers::User(user)
        } else {
            Writers::Neither([user, lock_owner])
        }
    }
    pub(super) fn include(self, uid: u32) -> bool {
        match self {
            Writers::User(user) => uid == user,
            Writers::Neither(users) => !users.contains(&uid),
        }
    }
}

/// The file, locked for writing.
#[derive(Debug)]
pub(super) struct Held(File);

/// What a list says.
#[derive(Debug, Default)]
pub(super) struct Paths {
    held: HashSet<String>,
    /// Bytes up to the last complete line.
    complete: u64,
}

impl Paths {
    pub(super) fn into_paths(self) -> Vec<String> {
        self.held.into_iter().collect()
    }
    pub(super) fn contains(&self, path: &VaultPath) -> bool {
        self.held.contains(path.as_str())
    }
}

impl List {
    pub(super) fn new(path: PathBuf, role: Role, writers: Writers) -> List {
        List { path, role, writers }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn io(&self, error: &std::io::Error) -> FenceFault {
        FenceFault::io(&self.path, error)
    }

    fn header(&self) -> String {
        format!("lockgate-unresolved v1 {}\n", self.role)
    }

    /// A file to lock, if there is none. It says nothing yet: an empty list would tell the other role that every path is free before
    /// our ledger was asked.
    pub(super) fn create_if_absent(&self) -> Result<(), FenceFault> {
        durable::create_file_atomically(&self.path, b"", 0o640)
            .map(drop)
            .map_err(|error| self.io(&error))
    }

    fn open(&self, write: bool) -> Result<File, FenceFault> {
        let opened = File::options()
            .read(true)
            .write(write)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(FenceFault::Missing {
                    path: self.path.clone(),
                });
            }
            Err(error) => return Err(self.io(&error)),
        };
        let meta = file.metadata().map_err(|error| self.io(&error))?;
        if !meta.is_file() {
            return Err(FenceFault::malformed(&self.path, "it is not a regular file"));
        }
        if !self.writers.include(meta.uid()) || meta.mode() & 0o022 != 0 {
            return Err(FenceFault::malformed(
                &self.path,
                format!(
                    "user {} made it, or others than its owner may write to it (mode {:o}); only the role itself may",
                    meta.uid(),
                    meta.mode() & 0o7777
                ),
            ));
        }
        Ok(file)
    }

    /// What the list says now.
    pub(super) fn read(&self) -> Result<Paths, FenceFault> {
        let mut file = self.open(false)?;
        self.parse(&mut file)
    }

    fn parse(&self, file: &mut File) -> Result<Paths, FenceFault> {
        let malformed = |why: &str| FenceFault::malformed(&self.path, why);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).map_err(|error| self.io(&error))?;
        file.take(BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.io(&error))?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(malformed("it is too long to be a list of ours"));
        }
        let complete = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&bytes[..complete]).map_err(|_| malformed("it is not UTF-8"))?;
        let Some(lines) = text.strip_prefix(&self.header()) else {
            return Err(malformed("its first line is not that of this list"));
        };
        let mut held = HashSet::new();
        for line in lines.lines() {
            match line.split_at_checked(2) {
                Some(("+ ", path)) if path.starts_with('/') => drop(held.insert(path.to_owned())),
                Some(("- ", path)) if path.starts_with('/') => drop(held.remove(path)),
                Some(_) | None => return Err(malformed("a line is neither an addition nor a removal")),
            }
        }
        Ok(Paths {
            held,
            complete: complete as u64,
        })
    }

    /// Locks our own list against other workers of this role.
    pub(super) fn lock(&self) -> Result<Held, FenceFault> {
        for _ in 0..REPLACED_MAX {
            let file = self.open(true)?;
            rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
                .map_err(|error| self.io(&error.into()))?;
            // Somebody may have put another file in its place while we waited.
            let (ours, there) = (file.metadata(), std::fs::symlink_metadata(&self.path));
            if let (Ok(ours), Ok(there)) = (ours, there)
                && (ours.dev(), ours.ino()) == (there.dev(), there.ino())
            {
                return Ok(Held(file));
            }
        }
        Err(FenceFault::malformed(
            &self.path,
            "it is replaced again and again",
        ))
    }

    pub(super) fn add(&self, paths: &[VaultPath]) -> Result<(), FenceFault> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut held = self.lock()?;
        let length = self.append(&mut held, '+', paths)?;
        let synced = failpoint::reach("fence.written").and_then(|()| held.0.sync_data());
        if let Err(error) = synced {
            // Nothing is sent under these paths; if they are on disk all the same they only make the other role wait.
            drop(held.0.set_len(length));
            return Err(self.io(&error));
        }
        drop(failpoint::reach("fence.published"));
        Ok(())
    }

    pub(super) fn remove(&self, paths: &[VaultPath]) -> Result<(), FenceFault> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut held = self.lock()?;
        self.append(&mut held, '-', paths)?;
        let meta = held.0.metadata().map_err(|error| self.io(&error))?;
        if meta.len() > COMPACT_BYTES {
            let now = self.parse(&mut held.0)?;
            // A list that is long because much is unresolved is not written anew each time.
            let live: usize = now.held.iter().map(|path| path.len() + 3).sum();
            if meta.len() / 2 > live as u64 {
                self.rewrite(now.held.iter().map(String::as_str))?;
            }
        }
        Ok(())
    }

    /// Appends whole lines after the last complete one; the answer is the length before.
    fn append(&self, held: &mut Held, sign: char, paths: &[VaultPath]) -> Result<u64, FenceFault> {
        let length = self.complete_length(&mut held.0)?;
        let mut text = String::new();
        for path in paths {
            text.push(sign);
            text.push(' ');
            text.push_str(path.as_str());
            text.push('\n');
        }
        let written = held
            .0
            .set_len(length)
            .and_then(|()| held.0.seek(SeekFrom::Start(length)))
            .and_then(|_| held.0.write_all(text.as_bytes()));
        if let Err(error) = written {
            drop(held.0.set_len(length));
            return Err(self.io(&error));
        }
        Ok(length)
    }

    /// Where the last complete line ends: almost always the end of the file.
    fn complete_length(&self, file: &mut File) -> Result<u64, FenceFault> {
        let length = file.metadata().map_err(|error| self.io(&error))?.len();
        let mut last = [0u8];
        if length > 0 {
            file.seek(SeekFrom::Start(length - 1))
                .and_then(|_| file.read_exact(&mut last))
                .map_err(|error| self.io(&error))?;
        }
        if last == *b"\n" {
            return Ok(length);
        }
        Ok(self.parse(file)?.complete)
    }

    /// What the locked list says; `None`: it was never filled.
    pub(super) fn read_held(&self, held: &mut Held) -> Result<Option<Paths>, FenceFault> {
        if held.0.metadata().map_err(|error| self.io(&error))?.len() == 0 {
            return Ok(None);
        }
        self.parse(&mut held.0).map(Some)
    }

    pub(super) fn replace<'a>(
        &self,
        _held: &Held,
        paths: impl Iterator<Item = &'a str>,
    ) -> Result<(), FenceFault> {
        durable::sweep_unfinished(&self.path).map_err(|error| self.io(&error))?;
        self.rewrite(paths)
    }

    fn rewrite<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Result<(), FenceFault> {
        let mut text = self.header();
        for path in paths {
            text.push_str("+ ");
            text.push_str(path);
            text.push('\n');
        }
        durable::write_file_atomically(&self.path, text.as_bytes(), 0o640).map_err(|error| self.io(&error))
    }
}

/// The paths on a list.
#[cfg(test)]
pub(super) fn paths_in(file: &std::path::Path, role: Role) -> Result<HashSet<String>, FenceFault> {
    let user = Writers::User(rustix::process::geteuid().as_raw());
    List::new(file.to_path_buf(), role, user)
        .read()
        .map(|paths| paths.held)
}
