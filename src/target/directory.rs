//! The directory driver: a vault that is a directory on this machine. In: orders, and a root with a marker file. Out:
//! whole old bytes or whole new bytes at every instant, durable before `Done`.
//!
//! The root is opened anew for each call and the marker `.lockgate-vault` is read through that same descriptor, so that an
//! unmounted vault is unreachable and never empty, and a mount that comes back is seen.
//!
//! Rooms inside: `marker` (identity), `parents` (missing directories), `keep` (owner, group, mode), `write`, `delete`,
//! `leftover` (after a crash), `names` (temporary names), `sync` (durability), `file` (hashing).
//!
//! A file with several hard links is treated by its name: a write leaves the old bytes under the other names, a delete
//! removes this name only. A person who still has the old file open and writes into it after it was replaced or deleted
//! loses that write, as with any editor that saves by renaming.
//!
//! Not here: which bytes may be written (roles/), the fence, other processes' caches.

mod back;
mod batch;
mod delete;
mod file;
mod keep;
mod leftover;
mod marker;
mod names;
mod parents;
mod sweep;
mod sync;
#[cfg(test)]
mod tests;
mod write;

pub use sync::{Disk, Durability};

use super::open::{Confined, NoEntry, Standing, Way, open_file};
use super::{
    Answer, Content, DeleteOrder, FaultText, Intent, Preflight, Seen, Settled, Sweep, Trace, Vault,
    VaultDown, WriteOrder,
};
use crate::job::VaultPath;
use rustix::io::Errno;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What the driver is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The vault's directory on this machine.
    pub path: PathBuf,
    /// The id its marker must hold; `None` takes any well-formed marker.
    pub id: Option<String>,
    /// Files larger than this are unreadable: hashing a huge sparse file would stall a worker for hours.
    pub bytes_max: u64,
    /// See [`Vault::deadline_ms`].
    pub deadline_ms: i64,
    /// Threads that sync one batch's files; more than 16 gained nothing where it was measured.
    pub sync_threads: usize,
}

impl Settings {
    /// The defaults: 1 GiB, 30 s, 16 threads.
    pub fn new(path: impl Into<PathBuf>, id: Option<String>) -> Settings {
        Settings {
            path: path.into(),
            id,
            bytes_max: 1 << 30,
            deadline_ms: 30_000,
            sync_threads: 16,
        }
    }
}

/// The directory driver.
#[derive(Debug)]
pub struct DirectoryVault {
    settings: Settings,
    disk: Arc<dyn Durability>,
    way: Option<Way>,
    /// Device of the file system that was seen to exchange names.
    exchanges_on: Mutex<Option<u64>>,
}

impl DirectoryVault {
    /// A driver for the vault the settings name. Nothing is opened yet.
    pub fn open(settings: Settings) -> DirectoryVault {
        DirectoryVault {
            settings,
            disk: Arc::new(Disk),
            way: None,
            exchanges_on: Mutex::new(None),
        }
    }

    /// The same, with another way to make things durable (for tests and slowed measurements).
    #[must_use]
    pub fn with_durability(mut self, disk: Arc<dyn Durability>) -> DirectoryVault {
        self.disk = disk;
        self
    }

    /// The same, resolving paths in the given way whatever the kernel offers.
    #[must_use]
    pub fn resolving(mut self, way: Way) -> DirectoryVault {
        self.way = Some(way);
        self
    }

    /// Makes the directory (0775) if it is absent and puts the marker in it, durably. A marker with the same id is left
    /// alone.
    ///
    /// # Errors
    /// [`VaultDown`]; `WrongMarker` if it is another vault already, or the id is not 1–128 of `A–Z a–z 0–9 . _ : -`.
    pub fn create(path: &Path, id: &str) -> Result<(), VaultDown> {
        marker::create(path, id)
    }

    /// The root, with its marker just checked through this very descriptor.
    fn enter(&self) -> Result<Confined, VaultDown> {
        let confined = Confined::open(&self.settings.path).map_err(|errno| VaultDown::Unreachable {
            path: self.settings.path.clone(),
            why: fault("opening the vault's directory", errno),
        })?;
        marker::check(&confined, &self.settings)?;
        Ok(match self.way {
            Some(way) => confined.by(way),
            None => confined,
        })
    }

    fn trouble(&self, step: &'static str, errno: Errno) -> VaultDown {
        VaultDown::Fault {
            path: self.settings.path.clone(),
            why: fault(step, errno),
        }
    }

    /// The directory a path's file lies in.
    fn directory_of(
        &self,
        confined: &Confined,
        path: &VaultPath,
    ) -> Result<Result<OwnedFd, Seen>, VaultDown> {
        match confined.directory(names::split(path.relative()).0) {
            Ok(directory) => Ok(Ok(directory)),
            Err(NoEntry::Absent) => Ok(Err(Seen::Absent)),
            Err(NoEntry::Blocked) => Ok(Err(Seen::Unreadable)),
            Err(NoEntry::Trouble(errno)) => Err(self.trouble("opening a directory in the vault", errno)),
        }
    }

    /// Once for each file system: refuses one that cannot exchange names, before anything is written there.
    fn ensure_exchange(&self, confined: &Confined) -> Result<(), VaultDown> {
        let device = rustix::fs::fstat(confined.root())
            .map_err(|e| self.trouble("reading the vault's directory", e))?;
        let mut seen = self.exchanges_on.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == Some(device.st_dev) {
            return Ok(());
        }
        if marker::exchange_works(confined, &self.settings)? {
            *seen = Some(device.st_dev);
        }
        Ok(())
    }
}

impl Vault for DirectoryVault {
    fn check(&self) -> Result<(), VaultDown> {
        let confined = self.enter()?;
        marker::writable(&confined, &self.settings)?;
        self.ensure_exchange(&confined)
    }

    fn look(&self, path: &VaultPath) -> Result<Seen, VaultDown> {
        let confined = self.enter()?;
        let directory = match self.directory_of(&confined, path)? {
            Ok(directory) => directory,
            Err(seen) => return Ok(seen),
        };
        file::look_at(
            directory.as_fd(),
            names::split(path.relative()).1,
            self.settings.bytes_max,
        )
        .map_err(|errno| self.trouble("opening a file in the vault", errno))
    }

    fn read(&self, path: &VaultPath, bytes_max: u64) -> Result<Content, VaultDown> {
        let confined = self.enter()?;
        let directory = match self.directory_of(&confined, path)? {
            Ok(directory) => directory,
            Err(Seen::Absent) => return Ok(Content::Absent),
            Err(Seen::Unreadable | Seen::Bytes { .. }) => return Ok(Content::Unreadable),
        };
        let opened = open_file(directory.as_fd(), names::split(path.relative()).1)
            .map_err(|errno| self.trouble("opening a file in the vault", errno))?;
        let file = match opened {
            Standing::File(file) => file,
            Standing::Absent => return Ok(Content::Absent),
            Standing::Locked | Standing::Other => return Ok(Content::Unreadable),
        };
        let expected = file.metadata().map_or(0, |metadata| metadata.len());
        if expected > bytes_max {
            return Ok(Content::TooLarge);
        }
        // Reserved once: growing by doubling would hold the object twice.
        let mut bytes = Vec::new();
        let room = usize::try_from(expected.saturating_add(1)).unwrap_or(usize::MAX);
        if bytes.try_reserve_exact(room).is_err() {
            return Ok(Content::TooLarge);
        }
        match file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes) {
            Ok(_) if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > bytes_max => Ok(Content::TooLarge),
            Ok(_) => Ok(Content::Bytes(bytes)),
            Err(_) => Ok(Content::Unreadable),
        }
    }

    fn persist(&self, paths: &[&VaultPath]) -> Result<(), VaultDown> {
        leftover::persist(self, &self.enter()?, paths)
    }

    fn preflight(&self, path: &VaultPath, intent: Intent) -> Result<Preflight, VaultDown> {
        let confined = self.enter()?;
        marker::writable(&confined, &self.settings)?;
        keep::preflight(&confined, path, intent)
            .map_err(|errno| self.trouble("reading permissions in the vault", errno))
    }

    fn write(&self, orders: &[WriteOrder<'_>]) -> Vec<Answer> {
        let entered = self.enter().and_then(|confined| {
            self.ensure_exchange(&confined)?;
            Ok(confined)
        });
        match entered {
            Ok(confined) => write::write(self, &confined, orders),
            Err(down) => vec![
                Answer::NotSent {
                    why: down_text(&down)
                };
                orders.len()
            ],
        }
    }

    fn delete(&self, orders: &[DeleteOrder<'_>]) -> Vec<Answer> {
        match self.enter() {
            Ok(confined) => delete::delete(self, &confined, orders),
            Err(down) => vec![
                Answer::NotSent {
                    why: down_text(&down)
                };
                orders.len()
            ],
        }
    }

    fn settle_leftovers(&self, traces: &[Trace<'_>]) -> Result<Vec<Vec<Settled>>, VaultDown> {
        let confined = self.enter()?;
        leftover::settle(self, &confined, traces)
    }

    fn sweep(&self) -> Result<Sweep, VaultDown> {
        Ok(sweep::sweep(&self.enter()?))
    }

    fn deadline_ms(&self) -> i64 {
        self.settings.deadline_ms
    }

    fn kind(&self) -> &'static str {
        "directory"
    }
}

fn fault(step: &'static str, errno: Errno) -> FaultText {
    FaultText::new(step, Some(errno.raw_os_error()))
}

/// An I/O error as a fault's text: the number only.
fn io_fault(step: &'static str, error: &std::io::Error) -> FaultText {
    FaultText::new(step, error.raw_os_error())
}

fn down_text(down: &VaultDown) -> FaultText {
    match down {
        VaultDown::Unreachable { why, .. } | VaultDown::Fault { why, .. } => *why,
        VaultDown::NoMarker { .. } => FaultText::new("the vault has no marker; is it mounted?", None),
        VaultDown::WrongMarker { .. } => FaultText::new("the vault's marker names another vault", None),
        VaultDown::ReadOnly { .. } => FaultText::new("the vault is mounted read-only", None),
        VaultDown::Unsupported { .. } => {
            FaultText::new("the vault's file system cannot exchange names", None)
        }
    }
}
