//! spent.log: approvals that can never be used again, kept apart from the ledger and older than any copy of it. In: entries
//! of approvals about to be used. Out: a verdict for each, durable before it is given.
//!
//! ```text
//! flock ─ read what other processes appended ─ check id and nonce ─ append all new ─ one fsync ─ verdicts
//! ```
//! One line an entry: `v1 approval_id nonce job_id lease_token wall_ms prev_hash hash`, each hashed over the line before it
//! ([`line`]). A write cut off by a crash is closed and followed by a line that names its hash ([`scan`]). A sync that
//! failed is never tried again: the handle is dead, the approvals count as spent. Nothing is ever removed.
//! Not here: whether an approval is good (approval/), what a start concludes from the entries (daemon/restored).

mod entries;
mod fault;
mod file;
mod index;
mod line;
mod open;
mod scan;

pub use entries::Entries;
pub use fault::{SpentFault, SpentFaultClass};
pub use line::SpentEntry;

use crate::clock::WallMs;
use crate::failpoint;
use crate::job::{ApprovalId, Sha256};
use fault::Step;
use index::Index;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What became of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum SpendVerdict {
    /// Spent by this call, durably.
    Spent,
    /// Its approval id or its nonce was spent before, or earlier in the same call.
    AlreadySpent,
}

/// One process's handle to a role's spent.log. Threads share it; processes meet at the file's lock.
#[derive(Debug)]
pub struct SpentLog {
    path: PathBuf,
    file: Arc<File>,
    state: Mutex<State>,
}

/// What is known of the file up to `end`; everything before it is verified.
#[derive(Debug)]
struct State {
    end: u64,
    lines: u64,
    prev: Sha256,
    index: Index,
    dead: Option<String>,
}

impl SpentLog {
    /// Opens the file, verifies all of it and closes a torn end. It is made, mode 0600, only if `ledger_is_empty`.
    ///
    /// # Errors
    /// [`SpentFault`] naming the file and what to do: the role must not start.
    pub fn create_or_open(path: &Path, ledger_is_empty: bool) -> Result<SpentLog, SpentFault> {
        let file = open::create_or_open(path, ledger_is_empty)?;
        let state = State {
            end: 0,
            lines: 0,
            prev: line::FIRST_PREV,
            index: Index::default(),
            dead: None,
        };
        let log = SpentLog {
            path: path.to_path_buf(),
            file: Arc::new(file),
            state: Mutex::new(state),
        };
        log.refresh()?;
        Ok(log)
    }

    /// Spends what can be spent. The verdicts are in the order of the entries, and durable.
    ///
    /// # Errors
    /// [`SpentFault`]; its class says whether anything of it may be spent.
    pub fn spend(&self, entries: &[SpentEntry]) -> Result<Vec<SpendVerdict>, SpentFault> {
        self.append_where(entries, |index, entry| {
            if index.has_approval(&entry.approval_id) || index.has_nonce(&entry.nonce) {
                SpendVerdict::AlreadySpent
            } else {
                SpendVerdict::Spent
            }
        })
    }

    /// Appends the entries whose approval id or nonce is not in the file yet (a restore, with the role stopped); their number.
    ///
    /// # Errors
    /// [`SpentFault`].
    pub fn append_missing(&self, entries: &[SpentEntry]) -> Result<usize, SpentFault> {
        let verdicts = self.append_where(entries, |index, entry| {
            if index.has_approval(&entry.approval_id) && index.has_nonce(&entry.nonce) {
                SpendVerdict::AlreadySpent
            } else {
                SpendVerdict::Spent
            }
        })?;
        Ok(verdicts
            .iter()
            .filter(|verdict| **verdict == SpendVerdict::Spent)
            .count())
    }

    /// Reads what other processes appended.
    ///
    /// # Errors
    /// [`SpentFault`].
    pub fn refresh(&self) -> Result<(), SpentFault> {
        let mut state = self.living_state()?;
        let _lock = self.lock()?;
        self.catch_up(&mut state)
    }

    /// Whether the approval is spent, as of the last spend or refresh.
    pub fn contains(&self, approval: &ApprovalId) -> bool {
        self.any_state().index.has_approval(approval)
    }

    /// The highest wall time in any entry: a clock far behind it is not to be trusted.
    pub fn highest_wall_ms(&self) -> Option<WallMs> {
        self.any_state().index.highest_wall_ms()
    }

    /// Every entry up to the last spend or refresh, oldest first, read from the file again. What was torn is not among them.
    ///
    /// # Errors
    /// [`SpentFault`], at once or as the last item.
    pub fn entries(&self) -> Result<Entries, SpentFault> {
        let state = self.living_state()?;
        Ok(Entries::new(&self.path, Arc::clone(&self.file), state.end))
    }

    fn any_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn living_state(&self) -> Result<MutexGuard<'_, State>, SpentFault> {
        let state = self.any_state();
        match &state.dead {
            None => Ok(state),
            Some(why) => Err(SpentFault::Dead {
                path: self.path.clone(),
                why: why.clone(),
            }),
        }
    }

    fn append_where(
        &self,
        entries: &[SpentEntry],
        judge: impl Fn(&Index, &SpentEntry) -> SpendVerdict,
    ) -> Result<Vec<SpendVerdict>, SpentFault> {
        let mut state = self.living_state()?;
        let _lock = self.lock()?;
        self.catch_up(&mut state)?;
        failpoint::reach("spent.locked").map_err(|error| self.nothing(Step::Read, error))?;
        let (mut text, mut prev, mut added) = (String::new(), state.prev, Index::default());
        let mut verdicts = Vec::with_capacity(entries.len());
        for entry in entries {
            let mut verdict = judge(&state.index, entry);
            if verdict == SpendVerdict::Spent {
                verdict = judge(&added, entry);
            }
            if verdict == SpendVerdict::Spent {
                prev = line::write_entry(&mut text, entry, prev);
                added.add(entry);
            }
            verdicts.push(verdict);
        }
        if text.is_empty() {
            return Ok(verdicts);
        }
        let lines = added.entries();
        let (end, written) = (state.end, self.append(&mut state, text.as_bytes()));
        // Whatever became of them, unless it is certain that they are not there, they count as spent.
        if written.as_ref().is_ok()
            || written
                .as_ref()
                .is_err_and(|fault| fault.class() != SpentFaultClass::NothingSpent)
        {
            state.index.join(added);
        }
        written?;
        state.end = end + text.len() as u64;
        state.lines += lines;
        state.prev = prev;
        Ok(verdicts)
    }
}

#[cfg(test)]
mod tests;
