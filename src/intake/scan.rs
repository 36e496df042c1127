//! One pass over all drop directories. In: how much may be taken, and of whom. Out: a [`Batch`]; and, once its caller has
//! committed it, the removal of its files.
//!
//! Not here: listing (`listing`), opening and judging files (`drop_dir`, `rules`), whose turn it is (`queue`).

use super::allowance::{Allowance, Room};
use super::attempts::{Attempts, DEATHS_MAX, Lock};
use super::batch::{Batch, Stuck, Ticket};
use super::drop_dir::{Kind, Ownership};
use super::error::IntakeError;
use super::listing::{Handling, Known, Listing};
use super::places::Places;
use super::quarantine::Quarantine;
use super::queue::{Entry, Queue};
use super::seen::FileId;
use super::watch::{Poker, Woken};
use crate::clock::{BootMs, SharedClock};
use crate::failpoint;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::PathBuf;
use std::time::Duration;

/// One directory to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Whose word counts there.
    pub kind: Kind,
}

/// What an intake needs to know.
#[derive(Debug)]
pub struct Settings {
    /// The role's own directory: `intake.attempts` and `quarantine/` are there.
    pub state_dir: PathBuf,
    /// What to read.
    pub sources: Vec<Source>,
    /// Whether they must be ours.
    pub ownership: Ownership,
    /// UIDs that are never requesters: the gateway's and the roles'. Empty in development, where everybody is one UID.
    pub refused_uids: Vec<u32>,
    /// Bytes kept in `quarantine/`.
    pub quarantine_bytes_max: u64,
    /// The time.
    pub clock: SharedClock,
}

/// How much one scan may take.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// Entries, refusals included; at most [`FILES_MAX`] are taken.
    pub files_max: usize,
    /// Bytes of all files together; one file is always taken.
    pub bytes_max: u64,
    /// What a requester may still bring (`limits.jobs_per_uid`, `limits.bytes_per_uid`); asked once a scan for each.
    pub room: &'a dyn Fn(u32) -> Room,
}

impl std::fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ask {
            files_max,
            bytes_max,
            room: _,
        } = self;
        write!(f, "Ask {{ files_max: {files_max}, bytes_max: {bytes_max} }}")
    }
}

/// Entries of one batch: its count is one write, its documents are one transaction.
pub const FILES_MAX: usize = 1024;

/// All drop directories of one role, for one thread.
#[derive(Debug)]
pub struct Intake {
    pub(super) places: Places,
    attempts: Attempts,
    attempts_path: PathBuf,
    pub(super) quarantine: Quarantine,
    queue: Queue,
    pub(super) known: Known,
    pub(super) refused_uids: Vec<u32>,
    clock: SharedClock,
    listed: Option<Listed>,
    out: Option<Out>,
    /// Our UID.
    pub(super) me: u32,
}

/// When the last listing began and how long it took.
#[derive(Debug, Clone, Copy)]
struct Listed {
    at: BootMs,
    took_ms: i64,
}

/// A batch that is out, and the lock held for it.
#[derive(Debug, Default)]
struct Out {
    tickets: usize,
    /// Moved to quarantine.
    poisoned: Vec<FileId>,
}

/// What one batch will look at.
#[derive(Debug, Default)]
struct Chosen {
    read: Vec<Entry>,
    poison: Vec<Entry>,
}

/// A listing is done anew after this many times its own duration: at most a ninth of the time goes into listing, however
/// many files lie there, and somebody who has just come is seen soon.
const LISTING_SHARE: i64 = 8;

impl Intake {
    /// Opens every directory. Nothing is read yet.
    ///
    /// # Errors
    /// A directory is missing or not ours, or the state directory cannot be written.
    pub fn open(settings: Settings) -> Result<Intake, IntakeError> {
        let attempts_path = settings.state_dir.join("intake.attempts");
        let attempts = Attempts::open(&attempts_path).map_err(|source| IntakeError::Attempts {
            path: attempts_path.clone(),
            source,
        })?;
        let path = settings.state_dir.join("quarantine");
        let quarantine = Quarantine::open(&path, settings.quarantine_bytes_max)
            .map_err(|source| IntakeError::Quarantine { path, source })?;
        Ok(Intake {
            places: Places::open(settings.sources, settings.ownership, settings.clock.clone())?,
            attempts,
            attempts_path,
            quarantine,
            queue: Queue::new(),
            known: Known::default(),
            refused_uids: settings.refused_uids,
            clock: settings.clock,
            listed: None,
            out: None,
            me: rustix::process::geteuid().as_raw(),
        })
    }

    /// Waits until something was dropped, somebody pokes, or `timeout` (at most 5 s) is over.
    ///
    /// # Errors
    /// The kernel's queue cannot be read.
    pub fn wait(&mut self, timeout: Duration) -> Result<Woken, IntakeError> {
        self.places.wait(timeout).map_err(IntakeError::Watch)
    }

    /// What is wrong with each drop directory that cannot be used now; the others are read.
    pub fn troubles(&self) -> Vec<String> {
        self.places.troubles()
    }

    /// Ends a wait from another thread.
    pub fn poker(&self) -> Poker {
        self.places.poker()
    }

    /// The quarantine, for those who look at it.
    pub fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    /// Takes the next files, fairly. A batch that is still out is given back first.
    ///
    /// # Errors
    /// The count could not be written (a full disk): then nothing was read.
    pub fn scan_once(&mut self, ask: &Ask<'_>) -> Result<Batch, IntakeError> {
        self.finish(&[])?;
        let mut batch = Batch::default();
        self.list_if_due(&mut batch);
        if self.queue.is_empty() {
            return Ok(batch);
        }
        match self
            .attempts
            .lock()
            .map_err(|source| self.attempts_failed(source))?
        {
            Lock::Elsewhere => {
                batch.held_elsewhere = true;
                return Ok(batch);
            }
            Lock::Held => self.out = Some(Out::default()),
        }
        let taken = self.take(ask, &mut batch);
        let keep = taken.is_ok() && !batch.is_empty();
        if !keep {
            self.finish(&[])?;
        }
        taken.map(|()| batch)
    }

    /// Ends the batch that is out. The entries behind `committed` are removed; all others are given back and come again.
    /// To be called after the commit, and only with what it covered. Says what could not be removed: it stays, and is not
    /// handed out again.
    ///
    /// # Errors
    /// The end could not be written down. What was removed stays removed.
    pub fn finish(&mut self, committed: &[Ticket]) -> Result<Vec<Stuck>, IntakeError> {
        let Some(out) = self.out.take() else {
            return Ok(Vec::new());
        };
        let removed = self.remove_all(committed);
        if committed.len() < out.tickets {
            // What was given back is no longer in the queue.
            self.listed = None;
        }
        let done: Vec<FileId> = committed
            .iter()
            .map(|ticket| ticket.id)
            .chain(out.poisoned)
            .collect();
        self.attempts
            .close(&done)
            .map_err(|source| self.attempts_failed(source))?;
        removed.map_err(IntakeError::Interrupted)
    }

    fn list_if_due(&mut self, batch: &mut Batch) {
        let now = self.clock.boot();
        let is_due = self.listed.is_none_or(|listed| {
            now.0.saturating_sub(listed.at.0) >= listed.took_ms.saturating_mul(LISTING_SHARE)
        });
        if !is_due && !self.queue.is_empty() {
            return;
        }
        self.places.refresh(&mut batch.notices);
        self.queue.clear();
        let mut failed = Vec::new();
        let mut listing = Listing {
            queue: &mut self.queue,
            known: &mut self.known,
            batch,
            refused_uids: &self.refused_uids,
            now: self.clock.wall(),
            suspects: self.attempts.suspects(),
            present: BTreeSet::new(),
            odd_names_removed: 0,
            complete: true,
        };
        for place in 0..self.places.len() {
            match self.places.dir(place).map(|dir| listing.list(place, dir)) {
                Some(Ok(())) => {}
                Some(Err(error)) => failed.push((place, error)),
                None => listing.complete = false,
            }
        }
        self.attempts.set_absent(listing.end());
        for (place, error) in failed {
            self.places.listing_failed(place, error, &mut batch.notices);
        }
        self.listed = Some(Listed {
            at: now,
            took_ms: self.clock.boot().0.saturating_sub(now.0),
        });
    }

    /// Counts, then reads.
    fn take(&mut self, ask: &Ask<'_>, batch: &mut Batch) -> Result<(), IntakeError> {
        let mut allowance = Allowance::new(ask.room);
        let chosen = self.choose(ask, &mut allowance);
        let under_way: Vec<FileId> = chosen.read.iter().map(|entry| entry.id).collect();
        self.attempts
            .begin(&under_way)
            .map_err(|source| self.attempts_failed(source))?;
        failpoint::reach("intake.counted").map_err(IntakeError::Interrupted)?;
        let mut out = Out::default();
        for entry in chosen.poison {
            out.poisoned.extend(self.poison(&entry, batch));
        }
        for entry in chosen.read {
            self.read(&entry, &mut allowance, batch);
        }
        failpoint::reach("intake.opened").map_err(IntakeError::Interrupted)?;
        out.tickets = batch.files.len() + batch.refused.len();
        let may_bring = |uid: u32| !allowance.is_blocked(uid);
        // What was forgotten is found by another listing; right away only if this one came to something.
        batch.more = self.queue.uids().any(may_bring) || (!batch.is_empty() && self.queue.forgot(may_bring));
        self.out = Some(out);
        Ok(())
    }

    /// Whose files, up to the limits. A file that was there when a process died is taken alone: if it happens again, it is
    /// certain on which.
    fn choose(&mut self, ask: &Ask<'_>, allowance: &mut Allowance<'_>) -> Chosen {
        let mut chosen = Chosen::default();
        let mut bytes = 0u64;
        while chosen.read.len() + chosen.poison.len() < ask.files_max.clamp(1, FILES_MAX) {
            let Some(entry) = self.queue.next(|entry| allowance.may(entry)) else {
                break;
            };
            let deaths = self.attempts.deaths(&entry.id);
            if deaths >= DEATHS_MAX {
                chosen.poison.push(entry);
                continue;
            }
            let total = bytes.saturating_add(entry.bytes_read());
            let is_first = chosen.read.is_empty();
            if !is_first && (deaths > 0 || total > ask.bytes_max) {
                self.queue.put_back(entry);
                break;
            }
            bytes = total;
            allowance.reserve(&entry);
            chosen.read.push(entry);
            if deaths > 0 {
                break;
            }
        }
        chosen
    }

    fn remove_all(&mut self, committed: &[Ticket]) -> std::io::Result<Vec<Stuck>> {
        failpoint::reach("intake.committed")?;
        let stuck = committed
            .iter()
            .filter_map(|ticket| self.remove(ticket))
            .collect();
        failpoint::reach("intake.unlinked")?;
        Ok(stuck)
    }

    pub(super) fn remove(&mut self, ticket: &Ticket) -> Option<Stuck> {
        let dir = self.places.dir(ticket.place)?;
        let name = CString::new(ticket.name.as_str()).ok()?;
        let error = dir.remove(&name, ticket.id).err()?;
        self.known.set_stuck(ticket.id, Handling::Remove).then(|| Stuck {
            dir: dir.path().to_owned(),
            name: ticket.name.clone(),
            uid: ticket.owner,
            why: format!("cannot be removed: {error}"),
        })
    }

    /// Nothing more can be opened now: what was chosen but not read comes again with a new listing.
    pub(super) fn list_again(&mut self) {
        self.listed = None;
    }

    fn attempts_failed(&self, source: std::io::Error) -> IntakeError {
        IntakeError::Attempts {
            path: self.attempts_path.clone(),
            source,
        }
    }
}
