//! The work loop of one thread. In: a wake-up. Out: a pass: what is due becomes claimable, what may run is claimed, done and settled.
//!
//! It never polls: it waits for a poke, for the next due time, or for at most a minute so that health can tell that it lives.
//! Not here: what one job does (save.rs, delete.rs).

use super::conditions::Side;
use super::{Gear, delete, holders, probe, published, save};
use crate::job::Role;
use crate::job::State;
use crate::ledger::claim::ClaimBatch;
use crate::ledger::jobs::Claimed;
use crate::ledger::settle::{Attempt, Settlement};
use crate::ledger::{LedgerError, control};
use crate::sqlite::{StorageFault, WriteError};

/// Longest wait with nothing due, ms: half of what health allows.
const IDLE_MS: i64 = 60_000;
/// First and longest pause after a storage fault, ms.
const FAULT_MS: (i64, i64) = (1_000, 60_000);
/// While other processes hold leases and their deaths cannot be watched, how often their locks are looked at, ms.
const WATCH_MS: i64 = 1_000;
/// Rows handled in one transaction of the sweeps.
const SWEEP: usize = 256;

/// Runs until the process stops. `first` also sorts what dead processes left.
pub fn run(gear: &Gear) {
    let mut pause = FAULT_MS.0;
    let mut probing = probe::Probing::default();
    while !gear.is_stopping() {
        let seen = gear.wake.seen();
        let wait = match pass(gear, &mut probing) {
            Ok(true) => {
                pause = FAULT_MS.0;
                0
            }
            Ok(false) => {
                pause = FAULT_MS.0;
                next_wait(gear, &probing)
            }
            Err(fault) => {
                gear.storage_failed(&fault);
                let wait = pause;
                pause = (pause * 2).min(FAULT_MS.1);
                wait
            }
        };
        // Whoever follows a receipt learns of what the sweeps and the batch did; costs nothing while nobody does.
        gear.changes.bump();
        gear.conditions.passed();
        if wait > 0 {
            gear.wake.wait(seen, u64::try_from(wait).unwrap_or(0));
        }
    }
    probing.release(gear);
}

/// One pass; `true` if there may be more to do at once.
///
/// # Errors
/// A storage fault; nothing was lost by it.
pub fn pass(gear: &Gear, probing: &mut probe::Probing) -> Result<bool, StorageFault> {
    holders::take_over_dead(gear, probing)?;
    probing.run_due(gear)?;
    sweep(gear)?;
    let clock_behind = gear.role == Role::Delete && is_clock_behind(gear)?;
    if !gear.ledger.has_ready()? {
        published::tidy(gear)?;
        gear.conditions.storage_ok();
        return Ok(false);
    }
    if clock_behind || !gear.can_note_epoch() || !gear.has_disk_space() || !may_claim(gear)? {
        gear.conditions.storage_ok();
        return Ok(false);
    }
    let batch = claim(gear)?;
    gear.conditions.storage_ok();
    if batch.claimed.is_empty() {
        return Ok(batch.set_aside > 0);
    }
    gear.leases.add(&batch.claimed);
    gear.changes.bump();
    match gear.role {
        Role::Save => save::run_batch(gear, batch.claimed, probing),
        Role::Delete => delete::run_batch(gear, batch.claimed),
        Role::Gateway => {}
    }
    Ok(true)
}

/// Jobs whose time has come, and jobs that waited too long. Writes only if there is something.
fn sweep(gear: &Gear) -> Result<(), StorageFault> {
    let (retry, approval) = gear.ledger.next_due()?;
    let (wall, boot) = (gear.clock.wall(), gear.clock.boot());
    let wait_ms = gear.terms.approval_wait_ms;
    let age_ms = gear.terms.job_max_age_ms;
    let overdue = approval.is_some_and(|admitted| admitted <= wall.0 - wait_ms);
    let retry_due = retry.is_some_and(|due| due <= boot.0);
    if retry_due {
        quiet(gear.ledger.write(|tx| tx.release_due()))?;
    }
    if overdue && gear.role == Role::Delete {
        quiet(gear.ledger.write(move |tx| tx.deny_overdue(wait_ms, SWEEP)))?;
        gear.changes.bump();
    }
    if age_ms > 0 && !gear.ledger.page(Some(State::Ready), None, 1)?.is_empty() {
        quiet(gear.ledger.write(move |tx| tx.expire_old(age_ms, SWEEP)))?;
        gear.changes.bump();
    }
    Ok(())
}

/// Paused, frozen, stopped for a credential, a breaker open, the vault down: no claim.
fn may_claim(gear: &Gear) -> Result<bool, StorageFault> {
    if gear.ledger.read(control::flow)? != control::Flow::Running || gear.is_frozen_by_file() {
        return Ok(false);
    }
    if gear.conditions.claiming_waits().is_some() {
        return Ok(false);
    }
    match gear.vault.check() {
        Ok(()) => {
            gear.conditions.answered(Side::Target);
            Ok(true)
        }
        Err(down) => {
            gear.conditions.failed(Side::Target, &down.to_string());
            Ok(false)
        }
    }
}

/// Whether the wall clock is behind the highest time that the ledger or spent.log has seen; health says so.
fn is_clock_behind(gear: &Gear) -> Result<bool, StorageFault> {
    let now = gear.clock.wall();
    let high = gear
        .spent
        .as_ref()
        .and_then(crate::spent::SpentLog::highest_wall_ms);
    let behind = !gear.ledger.read(|db| control::clock_trusted(db, now))?
        || high
            .is_some_and(|high| now.0 < high.0 - control::CLOCK_BEHIND_MS && !accepted_since(gear, high.0));
    gear.conditions.clock_behind(behind);
    Ok(behind)
}

/// Whether an operator accepted the clock after spent.log saw that time.
fn accepted_since(gear: &Gear, high_ms: i64) -> bool {
    let accepted = gear.ledger.kept("clock_accepted_over_ms").ok().flatten();
    accepted
        .and_then(|text| text.parse::<i64>().ok())
        .is_some_and(|over| over >= high_ms)
}

fn claim(gear: &Gear) -> Result<ClaimBatch, StorageFault> {
    let limit = gear.terms.batch;
    let claimer = gear.claimer();
    match gear.ledger.write(move |tx| {
        tx.release_due()?;
        tx.claim(&claimer, limit)
    }) {
        Ok(batch) => Ok(batch),
        Err(WriteError::Storage(fault)) => Err(fault),
        Err(WriteError::Inner(error)) => {
            tracing::error!(%error, "a claim was refused by the ledger; it is tried again");
            Ok(ClaimBatch::default())
        }
    }
}

/// How long to wait with nothing to do.
fn next_wait(gear: &Gear, probing: &probe::Probing) -> i64 {
    let (boot, wall) = (gear.clock.boot().0, gear.clock.wall().0);
    let mut wait = IDLE_MS;
    if let Ok((retry, approval)) = gear.ledger.next_due() {
        if let Some(due) = retry {
            wait = wait.min(due - boot);
        }
        if let Some(admitted) = approval {
            wait = wait.min(admitted + gear.terms.approval_wait_ms - wall);
        }
    }
    if let Some(breaker) = gear.conditions.claiming_waits() {
        wait = wait.min(breaker);
    }
    if let Some(due) = probing.next_due() {
        wait = wait.min(due.0 - boot);
    }
    if !holders::watched(gear) {
        wait = wait.min(WATCH_MS);
    }
    wait.max(20)
}

/// Settles jobs of one batch in one transaction; those whose lease is lost are left alone. Tried again while the storage
/// fails, because what happened at the target is known only here.
pub fn settle_all(gear: &Gear, settlements: Vec<(Claimed, State, Settlement)>) -> Vec<(Claimed, Settlement)> {
    if settlements.is_empty() {
        return Vec::new();
    }
    let shared = std::sync::Arc::new(settlements);
    let mut pause = FAULT_MS.0;
    loop {
        let batch = std::sync::Arc::clone(&shared);
        let written = gear.ledger.write(move |tx| {
            let mut lost = Vec::new();
            for (job, from, settlement) in batch.iter() {
                match tx.settle(job, *from, settlement) {
                    Ok(()) => {}
                    Err(LedgerError::LostLease { job }) => lost.push(job),
                    Err(error) => return Err(error),
                }
            }
            Ok(lost)
        });
        match written {
            Ok(lost) => return done(gear, &shared, &lost),
            Err(WriteError::Storage(fault)) if fault.is_passing() => {
                gear.conditions.storage_failed(&fault);
                let seen = gear.wake.seen();
                gear.wake.wait(seen, u64::try_from(pause).unwrap_or(0));
                pause = (pause * 2).min(FAULT_MS.1);
                if gear.is_stopping() && pause > 8 * FAULT_MS.0 {
                    tracing::error!(%fault, jobs = shared.len(), "could not be settled before the end; the next start sorts them");
                    return Vec::new();
                }
            }
            Err(error) => {
                tracing::error!(%error, jobs = shared.len(), "could not be settled; the next start sorts them");
                return Vec::new();
            }
        }
    }
}

fn done(gear: &Gear, batch: &[(Claimed, State, Settlement)], lost: &[i64]) -> Vec<(Claimed, Settlement)> {
    let mut settled = Vec::with_capacity(batch.len());
    for (job, _, settlement) in batch {
        gear.leases.drop_one(job.seq);
        if lost.contains(&job.seq) {
            tracing::warn!(job_id = %job.job.job_id(), "the lease was lost; nothing was recorded by this worker");
            continue;
        }
        if settlement.to != State::Ready || settlement.attempt == Attempt::Counted {
            tracing::info!(job_id = %job.job.job_id(), attempt = job.attempt, state = %settlement.to,
                code = settlement.code.map_or("", crate::job::Code::as_str), detail = settlement.detail.as_deref().unwrap_or(""), "settled");
        }
        settled.push((job.clone(), settlement.clone()));
    }
    gear.changes.bump();
    settled
}

/// Takes a write's storage fault out; a refusal by the ledger is logged and means nothing was done.
pub fn quiet<T>(written: crate::ledger::WriteResult<T>) -> Result<Option<T>, StorageFault> {
    match written {
        Ok(value) => Ok(Some(value)),
        Err(WriteError::Storage(fault)) => Err(fault),
        Err(WriteError::Inner(error)) => {
            tracing::warn!(%error, "refused by the ledger; nothing was changed");
            Ok(None)
        }
    }
}
