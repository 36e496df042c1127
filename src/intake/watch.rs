//! Sleeping until something was dropped. In: directories, a timeout, pokes from other threads. Out: why it woke.
//!
//! A hint only: every listing is complete, and nobody sleeps longer than [`RESCAN`], so a lost event, an overflowed queue
//! or a kernel without a free watch costs seconds, never a document.
//!
//! Not here: listing (`scan`).

use super::drop_dir::DropDir;
use crate::clock::{BootMs, SharedClock};
use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

/// The longest sleep: 0.2 wake-ups a second when idle, and the delay of what no event announces (a link, a FIFO).
pub(super) const RESCAN: Duration = Duration::from_secs(5);

/// A file renamed into place or closed after writing; the directory itself going away. Not the creation of a name: that
/// would wake us for each unfinished file.
const EVENTS: WatchMask = WatchMask::MOVED_TO
    .union(WatchMask::CLOSE_WRITE)
    .union(WatchMask::DELETE_SELF)
    .union(WatchMask::MOVE_SELF)
    .union(WatchMask::ONLYDIR)
    .union(WatchMask::DONT_FOLLOW);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something was dropped, or happened to a directory: scan.
    Dropped,
    /// Another thread poked.
    Poked,
    /// Nothing happened in time: scan all the same.
    Timeout,
}

/// Ends a wait from any thread, or the next one if nobody waits.
#[derive(Debug, Clone)]
pub struct Poker(Arc<OwnedFd>);

impl Poker {
    /// Pokes. A poke that is not yet taken is enough for any number of pokes.
    pub fn poke(&self) {
        // The only failure is a counter at its maximum, which is a pending poke as well.
        let _full = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

/// The watches of all directories.
#[derive(Debug)]
pub(super) struct Watcher {
    /// `None` while the kernel has none to give: then the timeout alone works.
    inotify: Option<Inotify>,
    watched: Vec<Option<WatchDescriptor>>,
    poked: Arc<OwnedFd>,
    clock: SharedClock,
    buffer: Vec<u8>,
}

impl Watcher {
    /// For `places` directories, none of them watched yet.
    pub(super) fn new(places: usize, clock: SharedClock) -> io::Result<Watcher> {
        let poked = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let watched = vec![None; places];
        Ok(Watcher {
            inotify: None,
            watched,
            poked: Arc::new(poked),
            clock,
            buffer: vec![0; 4096],
        })
    }

    pub(super) fn poker(&self) -> Poker {
        Poker(Arc::clone(&self.poked))
    }

    pub(super) fn is_watched(&self, place: usize) -> bool {
        self.watched.get(place).is_some_and(Option::is_some)
    }

    /// Watches the directory; before it is listed, so that nothing falls in between.
    pub(super) fn watch(&mut self, place: usize, dir: &DropDir) -> io::Result<()> {
        let inotify = match &mut self.inotify {
            Some(inotify) => inotify,
            none => none.insert(Inotify::init()?),
        };
        let watch = inotify.watches().add(dir.path(), EVENTS)?;
        if let Some(slot) = self.watched.get_mut(place) {
            *slot = Some(watch);
        }
        Ok(())
    }

    /// The directory is no longer there, or is another one.
    pub(super) fn unwatch(&mut self, place: usize) {
        let Some(watch) = self.watched.get_mut(place).and_then(Option::take) else {
            return;
        };
        if let Some(inotify) = &self.inotify {
            // It may have ended by itself with its directory.
            let _ended = inotify.watches().remove(watch);
        }
    }

    /// Waits for one of the reasons, at most `timeout` and at most [`RESCAN`].
    pub(super) fn wait(&mut self, timeout: Duration) -> io::Result<Woken> {
        let until = self.clock.boot().0.saturating_add(millis(timeout.min(RESCAN)));
        loop {
            let left = until.saturating_sub(self.clock.boot().0).max(0);
            let ready = self.sleep(BootMs(left))?;
            if ready.poked {
                self.take_poke()?;
                return Ok(Woken::Poked);
            }
            if ready.dropped && self.drain()? {
                return Ok(Woken::Dropped);
            }
            if !ready.dropped {
                return Ok(Woken::Timeout);
            }
        }
    }

    fn sleep(&self, left: BootMs) -> io::Result<Ready> {
        let timeout = Timespec {
            tv_sec: left.0 / 1000,
            tv_nsec: left.0 % 1000 * 1_000_000,
        };
        let mut fds = vec![PollFd::new(&self.poked, PollFlags::IN)];
        if let Some(inotify) = &self.inotify {
            fds.push(PollFd::new(inotify, PollFlags::IN));
        }
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            // A signal: as good as a poke, for whoever handles signals will want to be seen.
            Err(Errno::INTR) => {
                return Ok(Ready {
                    poked: true,
                    dropped: false,
                });
            }
            Err(error) => return Err(error.into()),
        }
        let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        Ok(Ready {
            poked: is_ready(0),
            dropped: is_ready(1),
        })
    }

    fn take_poke(&self) -> io::Result<()> {
        let mut count = [0u8; 8];
        match rustix::io::read(&*self.poked, &mut count) {
            Ok(_) | Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes all events; whether any is worth a scan.
    fn drain(&mut self) -> io::Result<bool> {
        let Some(inotify) = &mut self.inotify else {
            return Ok(false);
        };
        let mut worth = false;
        loop {
            let events = match inotify.read_events(&mut self.buffer) {
                Ok(events) => events,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(worth),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for event in events {
                let ended =
                    EventMask::DELETE_SELF | EventMask::MOVE_SELF | EventMask::IGNORED | EventMask::UNMOUNT;
                if event.mask.intersects(ended) {
                    for slot in self
                        .watched
                        .iter_mut()
                        .filter(|slot| slot.as_ref() == Some(&event.wd))
                    {
                        *slot = None;
                        worth = true;
                    }
                } else {
                    // A name with a leading dot is not finished. An overflow has no name, and is worth a look.
                    worth |= event
                        .name
                        .is_none_or(|name| name.as_bytes().first() != Some(&b'.'));
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Ready {
    poked: bool,
    dropped: bool,
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
