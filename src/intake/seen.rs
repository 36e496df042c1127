//! What the kernel says about one directory entry. In: a `statx` answer. Out: plain numbers.
//!
//! Not here: what follows from them (`rules`).

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType, Statx, StatxFlags};

/// Names one state of one file: another inode, or any change to it, is another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Last change of content, mode, owner or name, in nanoseconds since 1970; nobody can set it at will. Zero for a
    /// directory, whose entries may come and go.
    pub ctime_ns: i64,
}

impl FileId {
    /// This inode, whatever happened to it since: for a file that does not hold still. Never a directory's id, so that
    /// a file that gets a removed directory's number is not taken for it.
    pub(crate) fn in_any_state(self) -> FileId {
        FileId {
            ctime_ns: i64::MIN,
            ..self
        }
    }

    /// Whether an entry that now is `now` is the one this names.
    pub(crate) fn names(&self, now: &FileId) -> bool {
        self == now || *self == now.in_any_state()
    }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    Regular,
    Directory,
    Symlink,
    /// FIFO, socket, device.
    Special,
}

/// One entry, as of one `statx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: FileId,
    pub(crate) nature: Nature,
    /// Permission bits.
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u32,
    pub(crate) bytes: u64,
    pub(crate) mtime_ns: i64,
    /// As in `id`, also for directories.
    pub(crate) ctime_ns: i64,
}

const WHAT: StatxFlags = StatxFlags::BASIC_STATS;

impl Seen {
    /// The entry `name` itself, not what a link points to.
    pub(crate) fn at(dir: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<Seen> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        rustix::fs::statx(dir, name, flags, WHAT).map(|answer| Seen::from_statx(&answer))
    }

    /// The file behind a descriptor.
    pub(crate) fn of(file: impl AsFd) -> rustix::io::Result<Seen> {
        rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, WHAT).map(|answer| Seen::from_statx(&answer))
    }

    fn from_statx(answer: &Statx) -> Seen {
        let nature = match FileType::from_raw_mode(u32::from(answer.stx_mode)) {
            FileType::RegularFile => Nature::Regular,
            FileType::Directory => Nature::Directory,
            FileType::Symlink => Nature::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Nature::Special,
        };
        let ns = |at: rustix::fs::StatxTimestamp| {
            at.tv_sec
                .saturating_mul(1_000_000_000)
                .saturating_add(i64::from(at.tv_nsec))
        };
        let ctime_ns = ns(answer.stx_ctime);
        Seen {
            id: FileId {
                dev: u64::from(answer.stx_dev_major) << 32 | u64::from(answer.stx_dev_minor),
                ino: answer.stx_ino,
                ctime_ns: if nature == Nature::Directory { 0 } else { ctime_ns },
            },
            nature,
            mode: answer.stx_mode & 0o7777,
            uid: answer.stx_uid,
            gid: answer.stx_gid,
            links: answer.stx_nlink,
            bytes: answer.stx_size,
            mtime_ns: ns(answer.stx_mtime),
            ctime_ns,
        }
    }
}
