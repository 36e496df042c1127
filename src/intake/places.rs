//! The directories of one intake, kept open and watched. In: their paths. Out: open directories, and a sentence whenever one
//! is lost or back.
//!
//! A directory that was replaced or removed is opened again, with growing pauses; the others go on.
//!
//! Not here: what is in them.

use super::drop_dir::{DropDir, Ownership};
use super::error::IntakeError;
use super::scan::Source;
use super::watch::{Poker, Watcher, Woken};
use crate::clock::{BootMs, SharedClock};
use crate::throttle::{Answer, Breaker, Delays};
use std::io;
use std::time::Duration;

/// Pauses between two attempts to open a directory that is gone.
const REOPEN: Delays = Delays {
    first: Duration::from_secs(1),
    longest: Duration::from_secs(60),
};

#[derive(Debug)]
struct Place {
    source: Source,
    dir: Option<DropDir>,
    reopen: Breaker,
    /// The last sentence about it: said once.
    trouble: Option<String>,
}

#[derive(Debug)]
pub(super) struct Places {
    places: Vec<Place>,
    ownership: Ownership,
    watcher: Watcher,
    clock: SharedClock,
}

impl Places {
    pub(super) fn open(
        sources: Vec<Source>,
        ownership: Ownership,
        clock: SharedClock,
    ) -> Result<Places, IntakeError> {
        let watcher = Watcher::new(sources.len(), clock.clone()).map_err(IntakeError::Watch)?;
        let mut places = Vec::new();
        for source in sources {
            let dir = Some(DropDir::open(&source.path, source.kind, ownership)?);
            places.push(Place {
                source,
                dir,
                reopen: Breaker::new(REOPEN),
                trouble: None,
            });
        }
        let mut opened = Places {
            places,
            ownership,
            watcher,
            clock,
        };
        // Watched from the start, so that a wait before the first scan already sees what is dropped.
        opened.refresh(&mut Vec::new());
        Ok(opened)
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn dir(&self, place: usize) -> Option<&DropDir> {
        self.places.get(place)?.dir.as_ref()
    }

    /// What is wrong with each directory that cannot be used.
    pub(super) fn troubles(&self) -> Vec<String> {
        let lost = self.places.iter().filter(|place| place.dir.is_none());
        lost.map(|place| {
            let why = place.trouble.as_deref().unwrap_or("gone");
            format!("{}: {why}", place.source.path.display())
        })
        .collect()
    }

    pub(super) fn wait(&mut self, timeout: Duration) -> io::Result<Woken> {
        self.watcher.wait(timeout)
    }

    pub(super) fn poker(&self) -> Poker {
        self.watcher.poker()
    }

    /// Looks after every directory before it is listed.
    pub(super) fn refresh(&mut self, notices: &mut Vec<String>) {
        let now = self.clock.boot();
        for (at, place) in self.places.iter_mut().enumerate() {
            if place.dir.as_ref().is_some_and(|dir| !dir.is_in_place()) {
                place.dir = None;
            }
            if place.dir.is_none() {
                self.watcher.unwatch(at);
                place.reopen(self.ownership, now, notices);
            }
            if let Some(dir) = &place.dir {
                let watched = if self.watcher.is_watched(at) {
                    Ok(())
                } else {
                    self.watcher.watch(at, dir)
                };
                // The path may have been given to another directory just before it was watched.
                if !dir.is_in_place() {
                    self.watcher.unwatch(at);
                }
                place.say(
                    watched
                        .err()
                        .map(|error| format!("not watched, only polled: {error}")),
                    notices,
                );
            }
        }
    }

    /// The kernel could not list a directory to its end.
    pub(super) fn listing_failed(
        &mut self,
        place: usize,
        error: rustix::io::Errno,
        notices: &mut Vec<String>,
    ) {
        if let Some(place) = self.places.get_mut(place) {
            place.say(Some(format!("cannot be listed: {error}")), notices);
        }
    }
}

impl Place {
    fn reopen(&mut self, ownership: Ownership, now: BootMs, notices: &mut Vec<String>) {
        match self.reopen.ask(now) {
            Answer::Wait(_) => return,
            Answer::Go | Answer::Trial => {}
        }
        match DropDir::open(&self.source.path, self.source.kind, ownership) {
            Ok(dir) => {
                self.reopen.succeeded();
                self.dir = Some(dir);
                notices.push(format!(
                    "{}: another directory than before; opened",
                    self.source.path.display()
                ));
            }
            Err(error) => {
                self.reopen.failed(now);
                self.say(Some(format!("gone: {error}")), notices);
            }
        }
    }

    fn say(&mut self, trouble: Option<String>, notices: &mut Vec<String>) {
        if self.trouble == trouble {
            return;
        }
        let path = self.source.path.display();
        notices.push(match &trouble {
            Some(trouble) => format!("{path}: {trouble}"),
            None => format!("{path}: read and watched again"),
        });
        self.trouble = trouble;
    }
}
