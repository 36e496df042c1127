//! Opens beneath a directory and never outside of it. In: a root and a relative path. Out: descriptors that no symbolic
//! link led to, at any depth.
//!
//! The kernel does it in one call (`openat2`); where a sandbox or an old kernel has none, each component is opened from
//! the one before it, without following. Both hold against links swapped in while they run. A directory that is itself
//! moved out of the root while it is held is still written to: whoever may move it owns its contents.
//! Mounts below the root are part of it.
//!
//! Not here: what is done with the descriptors.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// How components are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS`.
    Kernel,
    /// One `openat` with `O_NOFOLLOW` for each component.
    Stepwise,
}

/// Why there is no descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEntry {
    /// Nothing has this name.
    Absent,
    /// Something is in the way: a link, a file where a directory should be, no permission, a name that is not allowed.
    Blocked,
    /// The file system or this process is in trouble; says nothing about the name.
    Trouble(Errno),
}

impl From<Errno> for NoEntry {
    fn from(errno: Errno) -> NoEntry {
        match errno {
            Errno::NOENT => NoEntry::Absent,
            Errno::LOOP
            | Errno::NOTDIR
            | Errno::XDEV
            | Errno::ACCESS
            | Errno::PERM
            | Errno::NAMETOOLONG
            | Errno::INVAL
            | Errno::ISDIR
            | Errno::NXIO
            | Errno::IO => NoEntry::Blocked,
            other => NoEntry::Trouble(other),
        }
    }
}

/// A directory that everything is opened beneath.
#[derive(Debug)]
pub struct Confined {
    root: OwnedFd,
    way: Way,
}

/// What stands at a name in a directory.
#[derive(Debug)]
pub enum Standing {
    /// Nothing.
    Absent,
    /// A regular file, open for reading.
    File(File),
    /// A regular file that may not be read.
    Locked,
    /// A directory, link, socket, pipe or device.
    Other,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Confined {
    /// Opens the root (links on the way to the root are the administrator's and are followed) and finds out which way
    /// works here.
    ///
    /// # Errors
    /// The system's reason.
    pub fn open(root: &Path) -> Result<Confined, Errno> {
        let root = retry_on_intr(|| rustix::fs::open(root, DIRECTORY, Mode::empty()))?;
        let probe = retry_on_intr(|| {
            openat2(
                &root,
                ".",
                OFlags::PATH | OFlags::CLOEXEC,
                Mode::empty(),
                beneath(),
            )
        });
        let way = match probe {
            // A sandbox answers EPERM or ENOSYS, a kernel older than 5.6 ENOSYS.
            Err(Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP) => Way::Stepwise,
            Ok(_) | Err(_) => Way::Kernel,
        };
        Ok(Confined { root, way })
    }

    /// The same root, resolved in the given way.
    #[must_use]
    pub fn by(self, way: Way) -> Confined {
        Confined { root: self.root, way }
    }

    /// The root itself.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Opens a directory, readable so that it can be listed and synced. The empty path is the root.
    ///
    /// # Errors
    /// [`NoEntry`].
    pub fn directory(&self, relative: &str) -> Result<OwnedFd, NoEntry> {
        if relative.is_empty() {
            return Ok(retry_on_intr(|| {
                openat(&self.root, ".", DIRECTORY, Mode::empty())
            })?);
        }
        if !relative.split('/').all(plain_name) {
            return Err(NoEntry::Blocked);
        }
        match self.way {
            Way::Kernel => self.directory_by_kernel(relative),
            Way::Stepwise => self.directory_by_step(relative),
        }
    }

    fn directory_by_kernel(&self, relative: &str) -> Result<OwnedFd, NoEntry> {
        // EAGAIN: a rename elsewhere disturbed the walk. It passes; a bound keeps an adversary from holding us here.
        for _ in 0..64 {
            match retry_on_intr(|| openat2(&self.root, relative, DIRECTORY, Mode::empty(), beneath())) {
                Err(Errno::AGAIN) => {}
                answer => return Ok(answer?),
            }
        }
        Err(NoEntry::Trouble(Errno::AGAIN))
    }

    fn directory_by_step(&self, relative: &str) -> Result<OwnedFd, NoEntry> {
        let (above, last) = relative.rsplit_once('/').unwrap_or(("", relative));
        let mut held: Option<OwnedFd> = None;
        for name in above.split('/').filter(|name| !name.is_empty()) {
            let at = held.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
            let passing = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            held = Some(retry_on_intr(|| openat(at, name, passing, Mode::empty()))?);
        }
        let at = held.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
        Ok(open_child(at, last)?)
    }
}

/// Opens the directory `name` directly in `directory`, not following.
///
/// # Errors
/// The system's reason.
pub fn open_child(directory: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()))
}

/// Opens the regular file `name` directly in `directory`: never a link, never waiting for a pipe, never a device.
///
/// # Errors
/// The system's reason, where it says nothing about the file.
pub fn open_file(directory: BorrowedFd<'_>, name: &str) -> Result<Standing, Errno> {
    let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(Standing::Absent),
        Err(Errno::ACCESS) => return Ok(Standing::Locked),
        Err(errno) => return Err(errno),
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(Standing::Other);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match retry_on_intr(|| openat(directory, name, flags, Mode::empty())) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(Standing::Absent),
        Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => return Ok(Standing::Other),
        Err(Errno::ACCESS | Errno::PERM) => return Ok(Standing::Locked),
        Err(errno) => return Err(errno),
    };
    // Something else may have taken the name since.
    let opened = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(opened.st_mode) == FileType::RegularFile {
        Ok(Standing::File(file))
    } else {
        Ok(Standing::Other)
    }
}

fn beneath() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

/// Paths arrive judged; this holds even if one did not.
fn plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains('\0')
}
