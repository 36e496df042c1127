//! SAVEs that may have been sent, to be looked at: after an unclear answer, or left by a dead holder. In: what was there before
//! and what was being written. Out: a settlement from what is there now; never a second send.
//!
//! A vault that does not answer keeps the job EXECUTING under a renewed lease, and is asked again with a growing delay.
//! Not here: DELETE, which a person looks at.

use super::Gear;
use super::conditions::Side;
use super::cut_off::CutOff;
use super::steps::finish;
use crate::clock::BootMs;
use crate::fence::PathGuard;
use crate::job::{Sha256, State};
use crate::ledger::jobs::Claimed;
use crate::ledger::settle::Settlement;
use crate::settlement::save::{self as outcome, Why};
use crate::sqlite::StorageFault;
use crate::target::{Before, Seen, Trace};

/// First and longest pause between two looks, ms.
const PAUSE_MS: (i64, i64) = (1_000, 60_000);

/// One job that waits for a look.
#[derive(Debug)]
pub struct Pending {
    claimed: Claimed,
    before: Option<Sha256>,
    new: Sha256,
    why: Why,
    guard: Option<PathGuard>,
    due: BootMs,
    pause: i64,
}

impl Pending {
    /// After our own send.
    pub fn new(claimed: Claimed, before: Option<Sha256>, new: Sha256, why: Why, guard: PathGuard) -> Pending {
        Pending {
            claimed,
            before,
            new,
            why,
            guard: Some(guard),
            due: BootMs(0),
            pause: PAUSE_MS.0,
        }
    }
    /// After a dead holder: the path is still to be locked.
    pub fn of_dead(claimed: Claimed) -> Option<Pending> {
        let (before, new) = (claimed.before?, claimed.new?);
        Some(Pending {
            claimed,
            before,
            new,
            why: Why::Unclear,
            guard: None,
            due: BootMs(0),
            pause: PAUSE_MS.0,
        })
    }
}

/// The jobs of one thread that wait for a look.
#[derive(Debug, Default)]
pub struct Probing {
    pending: Vec<Pending>,
    /// Deletes that may have left something beside their paths.
    pub(super) cut_off: CutOff,
}

impl Probing {
    /// Looks at it later.
    pub fn add(&mut self, gear: &Gear, mut pending: Pending) {
        pending.due = BootMs(gear.clock.boot().0 + pending.pause);
        pending.pause = (pending.pause * 2).min(PAUSE_MS.1);
        self.pending.push(pending);
    }

    /// Looks at it in the next pass.
    pub fn add_now(&mut self, pending: Pending) {
        self.pending.push(pending);
    }

    /// When the next look is due.
    pub fn next_due(&self) -> Option<BootMs> {
        let looks = self.pending.iter().map(|pending| pending.due);
        looks.chain(self.cut_off.next_due()).min()
    }

    /// Looks at everything that is due.
    ///
    /// # Errors
    /// A storage fault; what is due stays due.
    pub fn run_due(&mut self, gear: &Gear) -> Result<(), StorageFault> {
        self.cut_off.run_due(gear)?;
        let now = gear.clock.boot();
        let (due, later): (Vec<Pending>, Vec<Pending>) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|pending| pending.due <= now);
        self.pending = later;
        let mut finished = Vec::new();
        for mut pending in due {
            let path = pending.claimed.job.vault_path().clone();
            if pending.guard.is_none() {
                // A path whose list is published is ours across roles; the lock only keeps looks apart.
                match gear.fence.try_lock(&path) {
                    Ok(guard @ Some(_)) => pending.guard = guard,
                    Ok(None) | Err(_) => {
                        self.add(gear, pending);
                        continue;
                    }
                }
            }
            let seen = look_after(gear, &pending.claimed, pending.before, pending.new, &pending.why);
            let attempt = pending.claimed.attempt;
            match outcome::judge_probe(&pending.why, seen.as_ref(), pending.before, pending.new, attempt) {
                None => self.add(gear, pending),
                Some(settlement) => {
                    if let Some(guard) = pending.guard {
                        finished.push((pending.claimed, State::Executing, settlement, guard));
                    }
                }
            }
        }
        if !finished.is_empty() {
            finish(gear, finished);
        }
        Ok(())
    }

    /// At the end of the process: the jobs stay EXECUTING; the next start looks at them.
    pub fn release(self, gear: &Gear) {
        for pending in self.pending {
            gear.leases.drop_one(pending.claimed.seq);
        }
    }
}

/// Puts right what an interrupted send left at the path, then looks. `None`: the vault does not answer.
pub fn look_after(
    gear: &Gear,
    claimed: &Claimed,
    before: Option<Sha256>,
    new: Sha256,
    why: &Why,
) -> Option<Seen> {
    let path = claimed.job.vault_path();
    if *why != Why::Confirm {
        let trace = Trace {
            job_id: *claimed.job.job_id(),
            path,
            new: Some(new),
            before: Some(before.map_or(Before::Absent, Before::Bytes)),
        };
        if let Err(down) = gear.vault.settle_leftovers(&[trace]) {
            gear.conditions.failed(Side::Target, &down.to_string());
            return None;
        }
    }
    let seen = gear.vault.look(path).and_then(|seen| {
        // Bytes that are there by an answer we never got may not be on disk yet; nothing is settled on them before they are.
        if *why != Why::Confirm && matches!(seen, Seen::Bytes { sha256, .. } if sha256 == new) {
            gear.vault.persist(&[path])?;
        }
        Ok(seen)
    });
    match seen {
        Ok(seen) => Some(seen),
        Err(down) => {
            gear.conditions.failed(Side::Target, &down.to_string());
            None
        }
    }
}

/// A job taken over whose intent does not read back cannot be judged by its bytes.
pub fn unjudgeable() -> Settlement {
    Settlement::unknown("intent_unreadable")
}
