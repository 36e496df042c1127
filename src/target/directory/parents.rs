//! The directories of one batch: opened once, made where they are missing. In: relative paths. Out: descriptors, and the
//! list of directories whose names must be synced.
//!
//! A missing directory is made under a hidden name, given its group and mode, and only then its name: a crash leaves no
//! directory that people cannot enter. Group and set-group-ID bit are those of the directory above, the mode is 0775
//! whatever the umask.
//!
//! Not here: files.

use super::file::{Moved, move_free};
use super::{fault, io_fault, keep, names};
use crate::failpoint;
use crate::job::JobId;
use crate::target::open::{Confined, NoEntry, open_child};
use crate::target::{Answer, FaultText};
use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;

/// The set-group-ID bit.
pub(super) const SET_GROUP: u32 = 0o2000;

/// An open directory in the vault.
#[derive(Debug)]
pub(super) struct Directory {
    handle: File,
    /// Device and inode: two paths may lead to one directory.
    pub(super) id: (u64, u64),
    pub(super) gid: u32,
    pub(super) mode: u32,
}

impl Directory {
    pub(super) fn of(handle: File) -> std::io::Result<Directory> {
        let metadata = handle.metadata()?;
        let id = (metadata.dev(), metadata.ino());
        Ok(Directory {
            handle,
            id,
            gid: metadata.gid(),
            mode: metadata.mode(),
        })
    }
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

#[derive(Debug)]
struct Made {
    above: Arc<Directory>,
    name: String,
    relative: String,
}

/// The directories one batch uses.
#[derive(Debug)]
pub(super) struct Directories<'c> {
    confined: &'c Confined,
    open: HashMap<String, Arc<Directory>>,
    made: Vec<Made>,
}

impl<'c> Directories<'c> {
    pub(super) fn new(confined: &'c Confined) -> Directories<'c> {
        Directories {
            confined,
            open: HashMap::new(),
            made: Vec::new(),
        }
    }

    /// The directory, if it exists.
    pub(super) fn find(&mut self, relative: &str) -> Result<Option<Arc<Directory>>, Answer> {
        if let Some(directory) = self.open.get(relative) {
            return Ok(Some(Arc::clone(directory)));
        }
        match self.confined.directory(relative) {
            Ok(fd) => self.hold(relative, File::from(fd)).map(Some),
            Err(NoEntry::Absent) => Ok(None),
            Err(NoEntry::Blocked) => Err(Answer::Refused {
                detail: "path_blocked",
            }),
            Err(NoEntry::Trouble(errno)) => Err(Answer::NotSent {
                why: fault("opening a directory in the vault", errno),
            }),
        }
    }

    /// The directory, made if it is missing, and those above it.
    pub(super) fn ensure(&mut self, relative: &str, job: JobId) -> Result<Arc<Directory>, Answer> {
        if let Some(directory) = self.find(relative)? {
            return Ok(directory);
        }
        if relative.is_empty() {
            return Err(Answer::NotSent {
                why: FaultText::new("the vault's directory vanished", None),
            });
        }
        let (above_path, name) = names::split(relative);
        let above = self.ensure(above_path, job)?;
        let handle = self.make(&above, name, relative, job)?;
        self.hold(relative, handle)
    }

    fn make(
        &mut self,
        above: &Arc<Directory>,
        name: &str,
        relative: &str,
        job: JobId,
    ) -> Result<File, Answer> {
        let building = names::directory(job);
        let not_sent = |step| {
            move |errno| Answer::NotSent {
                why: fault(step, errno),
            }
        };
        mkdirat(above.fd(), building.as_str(), Mode::RWXU)
            .map_err(not_sent("making a directory in the vault"))?;
        let finished = finish(above, &building).and_then(|handle| {
            failpoint::reach("vault.directory_made").map_err(|error| Answer::NotSent {
                why: io_fault("making a directory in the vault", &error),
            })?;
            match move_free(above.fd(), &building, name) {
                Moved::Yes => Ok(Some(handle)),
                Moved::Taken => Ok(None),
                Moved::Missing => Err(not_sent("naming a directory in the vault")(
                    rustix::io::Errno::NOENT,
                )),
                Moved::No(errno) | Moved::Unclear(errno) => {
                    Err(not_sent("naming a directory in the vault")(errno))
                }
            }
        });
        match finished {
            Ok(Some(handle)) => {
                self.made.push(Made {
                    above: Arc::clone(above),
                    name: name.to_owned(),
                    relative: relative.to_owned(),
                });
                failpoint::reach("vault.directory_named").map_err(|error| Answer::NotSent {
                    why: io_fault("naming a directory in the vault", &error),
                })?;
                Ok(handle)
            }
            // Somebody else made it meanwhile: theirs is used.
            Ok(None) => {
                let _left = unlinkat(above.fd(), building.as_str(), AtFlags::REMOVEDIR);
                match open_child(above.fd(), name).map_err(NoEntry::from) {
                    Ok(fd) => Ok(File::from(fd)),
                    Err(_) => Err(Answer::Refused {
                        detail: "path_blocked",
                    }),
                }
            }
            Err(answer) => {
                let _left = unlinkat(above.fd(), building.as_str(), AtFlags::REMOVEDIR);
                Err(answer)
            }
        }
    }

    fn hold(&mut self, relative: &str, handle: File) -> Result<Arc<Directory>, Answer> {
        let directory = Directory::of(handle).map_err(|error| Answer::NotSent {
            why: io_fault("reading a directory in the vault", &error),
        })?;
        let directory = Arc::new(directory);
        self.open.insert(relative.to_owned(), Arc::clone(&directory));
        Ok(directory)
    }

    /// Removes again what was made for orders that then failed. A directory that is in use is not empty and stays.
    pub(super) fn undo_empty(&mut self) {
        while let Some(made) = self.made.last() {
            if unlinkat(made.above.fd(), made.name.as_str(), AtFlags::REMOVEDIR).is_err() {
                break;
            }
            self.open.remove(&made.relative);
            self.made.pop();
        }
    }

    /// The directories that must be synced for a file in `relative` to have its name after a power cut, beside its own:
    /// those above each directory made on the way.
    pub(super) fn above_made(&self, relative: &str) -> impl Iterator<Item = &Arc<Directory>> {
        self.made
            .iter()
            .filter(move |made| is_at_or_below(relative, &made.relative))
            .map(|made| &made.above)
    }
}

fn is_at_or_below(relative: &str, directory: &str) -> bool {
    relative
        .strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Gives a directory being made its group and mode.
fn finish(above: &Directory, building: &str) -> Result<File, Answer> {
    let io = |error: &std::io::Error| Answer::NotSent {
        why: io_fault("setting a directory's group and mode", error),
    };
    let handle = File::from(open_child(above.fd(), building).map_err(|errno| io(&errno.into()))?);
    keep::give_group(&handle, above.gid)?;
    let mode = 0o775 | (above.mode & SET_GROUP);
    handle
        .set_permissions(std::fs::Permissions::from_mode(mode))
        .map_err(|error| io(&error))?;
    let metadata = handle.metadata().map_err(|error| io(&error))?;
    if metadata.mode() & 0o7777 != mode || metadata.gid() != above.gid {
        return Err(Answer::Refused {
            detail: keep::PERMISSIONS,
        });
    }
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_a_longer_name_is_not_below() {
        assert!(is_at_or_below("a/b", "a"));
        assert!(is_at_or_below("a", "a"));
        assert!(!is_at_or_below("ab", "a"));
    }
}
