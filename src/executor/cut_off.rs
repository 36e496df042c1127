//! Deletes that were cut off may have set the file aside: it is put back, and the job stays OUTCOME_UNKNOWN. In: the jobs of dead
//! workers. Out: a vault in which a path that looks empty is empty.
//!
//! Tried again until the vault answered under the path's lock, also after a restart: whoever is to judge such a job looks at the
//! path, and must not be shown an absence that is only ours.
//! Not here: what a person says of the job (ledger/operator).

use super::Gear;
use crate::clock::BootMs;
use crate::job::{JobKind, Role, State};
use crate::ledger::jobs::JobRow;
use crate::sqlite::StorageFault;
use crate::target::{Before, Settlement, Trace};
use std::collections::BTreeSet;

/// First and longest pause between two tries, ms.
const PAUSE_MS: (i64, i64) = (1_000, 60_000);
/// Rows read at once.
const PAGE: i64 = 500;

/// The jobs of one thread whose paths are not put right yet, by the ledger's number.
#[derive(Debug, Default)]
pub struct CutOff {
    waiting: BTreeSet<i64>,
    due: i64,
    pause: i64,
    is_listed: bool,
}

/// What was found beside the path of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Found {
    /// Nothing of ours.
    Nothing,
    /// Something, and it is where it belongs now.
    PutRight,
    /// It cannot be told: the vault does not answer, or somebody works on the path.
    Unknown,
}

impl CutOff {
    /// When the next try is due.
    pub fn next_due(&self) -> Option<BootMs> {
        (!self.waiting.is_empty()).then_some(BootMs(self.due))
    }

    /// Tries what is due; the first time, whatever earlier processes left.
    ///
    /// # Errors
    /// A storage fault.
    pub fn run_due(&mut self, gear: &Gear) -> Result<(), StorageFault> {
        if gear.role != Role::Delete {
            return Ok(());
        }
        if !self.is_listed {
            self.add(gear, |_| true)?;
            self.is_listed = true;
        }
        let now = gear.clock.boot();
        if self.waiting.is_empty() || self.due > now.0 {
            return Ok(());
        }
        for seq in self.waiting.clone() {
            let row = gear.ledger.job_by_number(seq)?;
            let is_done = row.is_none_or(|row| put_right(gear, &row) != Found::Unknown);
            if is_done {
                self.waiting.remove(&seq);
            }
        }
        self.pause = (self.pause * 2).clamp(PAUSE_MS.0, PAUSE_MS.1);
        self.due = now.0 + self.pause;
        Ok(())
    }

    /// The jobs of a worker that just turned out to be dead, in the next pass.
    ///
    /// # Errors
    /// A storage fault.
    pub fn of_dead(&mut self, gear: &Gear, worker: &str) -> Result<(), StorageFault> {
        self.add(gear, |row| row.last_worker.as_deref() == Some(worker))
    }

    fn add(&mut self, gear: &Gear, wanted: impl Fn(&JobRow) -> bool) -> Result<(), StorageFault> {
        let mut before = None;
        loop {
            let rows = gear.ledger.page(Some(State::OutcomeUnknown), before, PAGE)?;
            before = rows.last().map(|row| row.seq);
            let found = rows.iter().filter(|row| may_have_set_aside(row) && wanted(row));
            self.waiting.extend(found.map(|row| row.seq));
            if i64::try_from(rows.len()).unwrap_or(0) < PAGE {
                break;
            }
        }
        if !self.waiting.is_empty() {
            (self.due, self.pause) = (gear.clock.boot().0, 0);
        }
        Ok(())
    }
}

fn may_have_set_aside(row: &JobRow) -> bool {
    row.kind == JobKind::Delete.as_str() && row.sent_ms.is_some()
}

/// Puts right what an OUTCOME_UNKNOWN delete left beside its path. The path's lock keeps out whoever may still work on it.
pub fn put_right(gear: &Gear, row: &JobRow) -> Found {
    if !may_have_set_aside(row) || row.state().ok() != Some(State::OutcomeUnknown) {
        return Found::Nothing;
    }
    let Some(job) = row.document(&gear.rules()) else {
        return Found::Nothing;
    };
    let Ok(Some(_guard)) = gear.fence.try_lock(job.vault_path()) else {
        return Found::Unknown;
    };
    let trace = Trace {
        job_id: *job.job_id(),
        path: job.vault_path(),
        new: None,
        before: row.before().flatten().map(Before::Bytes),
    };
    match gear.vault.settle_leftovers(&[trace]) {
        Ok(settled) => {
            let done: Vec<Settlement> = settled.into_iter().flatten().map(|one| one.done).collect();
            if done.is_empty() {
                return Found::Nothing;
            }
            tracing::warn!(job_id = %job.job_id(), ?done, "what an interrupted delete set aside was put right; check first, then resolve");
            if done.contains(&Settlement::Failed) {
                Found::Unknown
            } else {
                Found::PutRight
            }
        }
        Err(down) => {
            tracing::warn!(%down, job_id = %job.job_id(), "leftovers of an interrupted delete stay for now");
            Found::Unknown
        }
    }
}
