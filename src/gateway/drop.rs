//! The drop protocol (design 2), for the gateway and for `lockgate submit`. In: a directory, a name, bytes. Out: a file
//! that a role will find whatever happens to this process or host from here on; or a fault, and then no file.
//!
//! ```text
//! .NAME written ─▶ fchmod ─▶ fsync ─▶ rename to NAME ─▶ fsync ─▶ the directory: fsync (gate/), syncfs (drop/)
//! ```
//!
//! A requester may not open drop/, so it cannot fsync it: it syncs the file system through the file's descriptor.
//!
//! Not here: what the bytes say, where the directories are.

use crate::intake::Form;
use crate::job::Uuid4;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Which directory, and so how its role tells the requester.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// `spool/ROLE/drop`: the file's owner is the requester; the role reads it as the directory's group (0640).
    Drop(&'a Path),
    /// `spool/ROLE/gate`: the gateway's own; the file's name states the requester (0644).
    Gate {
        /// The directory.
        dir: &'a Path,
        /// The requester.
        uid: u32,
    },
}

/// Bytes of a name before its ending; the roles ignore longer ones.
const STEM_BYTES_MAX: usize = 100;

/// Why nothing, or perhaps nothing, was dropped.
#[derive(Debug, thiserror::Error)]
pub enum DropFault {
    /// No role would read a file of this name.
    #[error(
        "{name:?}: a dropped file is named NAME.json or NAME.jsonl, with NAME of 1 to 100 of A-Z a-z 0-9 _ -"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The directory is not there, not a directory, or closed to this user.
    #[error("{path}: cannot use the directory; is the role installed, and this user in its group?")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Nothing was dropped.
    #[error("{path}: cannot {step}; nothing was handed in")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        step: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file has its name, but may be gone after a power cut.
    #[error(
        "{path}: cannot {step}; it may have been taken in all the same: sending the same document again is safe"
    )]
    Uncertain {
        /// The file.
        path: PathBuf,
        /// What was being done.
        step: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

impl DropFault {
    /// What the kernel said, where it was asked.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            DropFault::Name { .. } => None,
            DropFault::Directory { source, .. }
            | DropFault::Io { source, .. }
            | DropFault::Uncertain { source, .. } => Some(source),
        }
    }
}

/// A name nobody else has: `stem` (cut to what fits, everything unusual left out) and 128 random bits.
pub fn fresh_name(stem: &str, form: Form) -> String {
    let plain: String = stem
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        .take(STEM_BYTES_MAX - 37)
        .collect();
    let ending = match form {
        Form::One => "json",
        Form::Lines => "jsonl",
    };
    let random = Uuid4::random();
    if plain.is_empty() {
        format!("{random}.{ending}")
    } else {
        format!("{plain}-{random}.{ending}")
    }
}

/// Whether roles read a file of this name in drop/.
pub(super) fn is_plain(name: &str) -> bool {
    let stem = name
        .strip_suffix(".json")
        .or_else(|| name.strip_suffix(".jsonl"))
        .unwrap_or_default();
    (1..=STEM_BYTES_MAX).contains(&stem.len())
        && stem
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
}

/// Drops `bytes` as `name` (`UID-name` in gate/) and returns its path once the file is durable. A file that has the name
/// already is never replaced.
///
/// # Errors
/// [`DropFault`]; but for `Uncertain` nothing was handed in and nothing is left behind.
pub fn drop_document(place: &Place<'_>, name: &str, bytes: &[u8]) -> Result<PathBuf, DropFault> {
    if !is_plain(name) {
        return Err(DropFault::Name {
            name: name.to_owned(),
        });
    }
    let (dir_path, name, access, mode) = match place {
        Place::Drop(dir) => (*dir, name.to_owned(), OFlags::PATH, 0o640),
        Place::Gate { dir, uid } => (*dir, format!("{uid}-{name}"), OFlags::RDONLY, 0o644),
    };
    let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir =
        rustix::fs::openat(CWD, dir_path, flags, Mode::empty()).map_err(|errno| DropFault::Directory {
            path: dir_path.to_owned(),
            source: errno.into(),
        })?;
    let path = dir_path.join(&name);
    let io = |step: &'static str| {
        let path = path.clone();
        move |source: io::Error| DropFault::Io { path, step, source }
    };
    let hidden = format!(".{name}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&dir, &hidden, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| io("make the file")(errno.into()))?;
    let mut file = File::from(file);
    let renamed = write(&mut file, mode, bytes)
        .map_err(io("write the file"))
        .and_then(|()| rename(&dir, &hidden, &name).map_err(io("give the file its name")));
    if let Err(fault) = renamed {
        // What cannot be removed the role removes: its name says that it is not finished.
        if let Err(errno) = rustix::fs::unlinkat(&dir, &hidden, AtFlags::empty()) {
            tracing::debug!(%errno, hidden, "left behind");
        }
        return Err(fault);
    }
    settle(place, &dir, &file).map_err(|source| DropFault::Uncertain {
        path: path.clone(),
        step: "make the file durable",
        source,
    })?;
    Ok(path)
}

fn write(file: &mut File, mode: u32, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    // Before the name says that it is finished, and whatever the umask.
    rustix::fs::fchmod(&*file, Mode::from_raw_mode(mode))?;
    crate::failpoint::reach("drop.written")?;
    file.sync_all()?;
    crate::failpoint::reach("drop.synced")
}

fn rename(dir: &OwnedFd, hidden: &str, name: &str) -> io::Result<()> {
    match rustix::fs::renameat_with(dir, hidden, dir, name, RenameFlags::NOREPLACE) {
        // A file system without the flag: the names are random enough.
        Err(Errno::INVAL | Errno::NOSYS) => Ok(rustix::fs::renameat(dir, hidden, dir, name)?),
        done => Ok(done?),
    }
}

fn settle(place: &Place<'_>, dir: &OwnedFd, file: &File) -> io::Result<()> {
    crate::failpoint::reach("drop.renamed")?;
    file.sync_all()?;
    match place {
        Place::Drop(_) => rustix::fs::syncfs(file)?,
        Place::Gate { .. } => rustix::fs::fsync(dir)?,
    }
    crate::failpoint::reach("drop.durable")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn names(dir: &Path) -> Vec<String> {
        let mut all: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        all.sort();
        all
    }
    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_drop_has_its_bytes_its_mode_and_its_name_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let dropped = drop_document(&Place::Drop(dir.path()), "a-1.json", b"{}\n").unwrap();
        assert_eq!(dropped, dir.path().join("a-1.json"));
        assert_eq!(std::fs::read(&dropped).unwrap(), b"{}\n");
        assert_eq!(mode(&dropped), 0o640);
        let place = Place::Gate {
            dir: dir.path(),
            uid: 1000,
        };
        let gated = drop_document(&place, "b.jsonl", b"x").unwrap();
        assert_eq!(gated, dir.path().join("1000-b.jsonl"));
        assert_eq!(mode(&gated), 0o644);
        assert_eq!(names(dir.path()), ["1000-b.jsonl", "a-1.json"]);
    }

    #[test]
    fn a_file_of_that_name_is_never_replaced_and_a_failed_drop_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.json"), b"mine").unwrap();
        let fault = drop_document(&Place::Drop(dir.path()), "a.json", b"yours").unwrap_err();
        assert!(matches!(fault, DropFault::Io { .. }), "{fault}");
        assert_eq!(fault.io().unwrap().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(dir.path().join("a.json")).unwrap(), b"mine");
        assert_eq!(names(dir.path()), ["a.json"]);
    }

    #[test]
    fn names_no_role_would_read_and_directories_that_are_links_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("{}.json", "x".repeat(101));
        for name in [
            "",
            ".json",
            ".a.json",
            "a",
            "a.JSON",
            "../a.json",
            "a/b.json",
            "ä.json",
            &long,
        ] {
            let fault = drop_document(&Place::Drop(dir.path()), name, b"").unwrap_err();
            assert!(matches!(fault, DropFault::Name { .. }), "{name}");
        }
        assert!(names(dir.path()).is_empty());
        std::os::unix::fs::symlink(dir.path(), dir.path().join("link")).unwrap();
        for place in [dir.path().join("link"), dir.path().join("none")] {
            let fault = drop_document(&Place::Drop(&place), "a.json", b"").unwrap_err();
            assert!(matches!(fault, DropFault::Directory { .. }), "{fault}");
        }
    }

    #[test]
    fn fresh_names_are_plain_whatever_they_are_made_from() {
        for stem in ["", "cancel", "../../ä b\n", &"x".repeat(300)] {
            for form in [Form::One, Form::Lines] {
                let name = fresh_name(stem, form);
                assert!(is_plain(&name), "{name}");
                assert_ne!(name, fresh_name(stem, form));
            }
        }
    }

    #[test]
    fn a_directory_that_may_be_written_but_not_read_takes_drops() {
        // Root may do anything, so this runs as somebody else where it can.
        let dir = tempfile::tempdir().unwrap();
        let spool = dir.path().join("drop");
        std::fs::create_dir(&spool).unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
        std::fs::set_permissions(&spool, std::fs::Permissions::from_mode(0o3733)).unwrap();
        let path = spool.clone();
        let dropped = std::thread::spawn(move || {
            let nobody = rustix::process::Uid::from_raw(4321);
            // Where this is not root, its own user owns the directory and the open below is allowed anyway.
            let is_other = rustix::thread::set_thread_res_uid(nobody, nobody, nobody).is_ok();
            let listed = std::fs::read_dir(&path).is_ok();
            (
                is_other,
                listed,
                drop_document(&Place::Drop(&path), "a.json", b"{}"),
            )
        });
        let (is_other, listed, dropped) = dropped.join().unwrap();
        assert_eq!(std::fs::read(dropped.unwrap()).unwrap(), b"{}");
        assert!(!(is_other && listed), "the directory could be listed");
    }
}
