//! The steps that SAVE and DELETE have in common, each once. In: jobs under our lease. Out: a locked path, an object, a durable intent, a
//! settlement with its path let go; or what is recorded instead.
//!
//! Not here: the order of the steps (save.rs, delete.rs), what an answer means (settlement/).

use super::Gear;
use super::conditions::Side;
use super::work::settle_all;
use crate::failpoint;
use crate::fence::PathGuard;
use crate::job::{JobKind, State, VaultPath};
use crate::ledger::LedgerError;
use crate::ledger::jobs::Claimed;
use crate::ledger::settle::{Attempt, Fence, Intent, Settlement};
use crate::roles::save::Denied;
use crate::source::{SourceFault, SourceObject};
use crate::sqlite::{StorageFault, WriteError};
use crate::target::{Answer, Seen};

/// Bytes of objects handled in one sub-batch; one larger object goes alone.
pub(super) const BYTES_AT_ONCE: usize = 64 << 20;
/// The other role holds the path: look again soon.
pub(super) const LOCKED_MS: i64 = 250;
/// The other role left something unresolved, or cannot be asked: look again later.
pub(super) const UNRESOLVED_MS: i64 = 5_000;
/// One object is damaged at the source: other jobs go on.
const DAMAGED_MS: i64 = 60_000;
/// What health calls trouble with the fence.
const FENCE: &str = "fence";

/// A job that passed its gates, with its path locked.
pub(super) trait Held {
    /// The job.
    fn claimed(&self) -> &Claimed;
    /// The job and its path's lock.
    fn into_parts(self) -> (Claimed, PathGuard);
}

/// What is recorded of a job, and its path's lock.
pub(super) type Finished = (Claimed, State, Settlement, PathGuard);

/// `settlement` for a job that stays in `from` until then.
pub(super) fn finished(job: impl Held, from: State, settlement: Settlement) -> Finished {
    let (claimed, guard) = job.into_parts();
    (claimed, from, settlement, guard)
}

/// The path's lock across roles, and the other role's word that nothing is unresolved on it.
pub(super) fn lock_path(gear: &Gear, path: &VaultPath) -> Result<PathGuard, Settlement> {
    let waits = |detail: &str, ms: i64| Settlement::ready(Attempt::GivenBack, ms, Some(detail));
    let guard = match gear.fence.try_lock(path) {
        Ok(Some(guard)) => guard,
        Ok(None) => return Err(waits("fence_other_role", LOCKED_MS)),
        Err(fault) => {
            tracing::error!(%fault, "the fence between roles cannot be used; nothing is sent");
            gear.conditions.own_files(FENCE, Some(fault.to_string()));
            return Err(waits("fence_unreadable", UNRESOLVED_MS));
        }
    };
    match gear.fence.other_holds(&guard) {
        Ok(false) => {
            gear.conditions.own_files(FENCE, None);
            Ok(guard)
        }
        Ok(true) => Err(waits("fence_unresolved_other_role", UNRESOLVED_MS)),
        Err(fault) => {
            tracing::error!(%fault, "the other role's list cannot be read; nothing is sent");
            gear.conditions.own_files(FENCE, Some(fault.to_string()));
            Err(waits("fence_unreadable", UNRESOLVED_MS))
        }
    }
}

/// The object, re-hashed from commit to blob.
pub(super) fn fetch(gear: &Gear, claimed: &Claimed) -> Result<SourceObject, Settlement> {
    let job = &claimed.job;
    match gear.source.object(job.commit(), job.vault_path().relative()) {
        Ok(object) => {
            gear.conditions.answered(Side::Source);
            Ok(object)
        }
        Err(fault) => Err(source_fault(gear, &fault, job.kind())),
    }
}

pub(super) fn source_fault(gear: &Gear, fault: &SourceFault, kind: JobKind) -> Settlement {
    if let Some((code, message)) = fault.refusal(kind) {
        return Settlement::reject(code, None).with_message(message.to_owned());
    }
    match fault {
        SourceFault::Unavailable { .. } => {
            gear.conditions.failed(Side::Source, &fault.to_string());
            Settlement::ready(Attempt::GivenBack, 0, Some("source_unavailable"))
        }
        SourceFault::Damaged { .. } | SourceFault::Forged { .. } | SourceFault::Refused { .. } => {
            tracing::error!(%fault, "one job waits; the others go on");
            Settlement::ready(Attempt::GivenBack, DAMAGED_MS, Some("source_damaged"))
        }
    }
}

pub(super) fn target_down(gear: &Gear, why: &str) -> Settlement {
    gear.conditions.failed(Side::Target, why);
    Settlement::ready(Attempt::GivenBack, 0, Some("target_unavailable"))
}

pub(super) fn look(gear: &Gear, path: &VaultPath) -> Result<Seen, Settlement> {
    gear.vault
        .look(path)
        .map_err(|down| target_down(gear, &down.to_string()))
}

pub(super) fn denied(denied: Denied) -> Settlement {
    Settlement::reject(denied.code, denied.detail).with_message(denied.message)
}

pub(super) fn give_back_storage(gear: &Gear, fault: &StorageFault) -> Settlement {
    gear.conditions.storage_failed(fault);
    Settlement::ready(Attempt::GivenBack, 1000, Some("database"))
}

/// Tells the other role which paths are about to be worked on, on disk. `false`: it is not told, and nothing may be sent.
pub(super) fn publish<J: Held>(gear: &Gear, jobs: &[J]) -> bool {
    let paths: Vec<VaultPath> = jobs
        .iter()
        .map(|job| job.claimed().job.vault_path().clone())
        .collect();
    let published = gear.fence.publish(&paths);
    if let Err(fault) = &published {
        tracing::error!(%fault, "not published to the other role; nothing is sent");
    }
    let is_published = published.is_ok();
    gear.conditions
        .own_files(FENCE, published.err().map(|fault| fault.to_string()));
    is_published
}

/// Why an intent did not become durable.
pub(super) enum NoIntent<'a> {
    /// A guard in the transaction said no.
    Refused(&'a LedgerError),
    /// The storage failed.
    Storage,
}

/// CLAIMED → EXECUTING for the whole batch, durable before anything is sent. Out: the jobs that are EXECUTING, and what `settle` says of
/// those that are not; a job whose lease is lost is let go without a word.
pub(super) fn commit_intent<J: Held>(
    gear: &Gear,
    jobs: Vec<J>,
    intent_of: impl Fn(&J) -> Intent,
    settle: impl Fn(NoIntent<'_>) -> Settlement,
) -> (Vec<J>, Vec<Finished>) {
    let back = |job: J, why: NoIntent<'_>| finished(job, State::Claimed, settle(why));
    let intents: Vec<(Claimed, Intent)> = jobs
        .iter()
        .map(|job| (job.claimed().clone(), intent_of(job)))
        .collect();
    let refused = match write_intents(gear, intents) {
        Ok(refused) => refused,
        Err(error) => {
            if let WriteError::Storage(fault) = &error {
                gear.conditions.storage_failed(fault);
            }
            return (
                Vec::new(),
                jobs.into_iter().map(|job| back(job, NoIntent::Storage)).collect(),
            );
        }
    };
    let (mut sending, mut others) = (Vec::new(), Vec::new());
    for job in jobs {
        let seq = job.claimed().seq;
        match refused.iter().find(|(refused, _)| *refused == seq) {
            None => sending.push(job),
            Some((_, LedgerError::LostLease { .. })) => gear.leases.drop_one(seq),
            Some((_, why)) => others.push(back(job, NoIntent::Refused(why))),
        }
    }
    (sending, others)
}

/// One transaction; the answer names the jobs that a guard refused, with the reason.
fn write_intents(
    gear: &Gear,
    intents: Vec<(Claimed, Intent)>,
) -> Result<Vec<(i64, LedgerError)>, WriteError<LedgerError>> {
    gear.ledger.write(move |tx| {
        let mut refused = Vec::new();
        for (job, intent) in &intents {
            match tx.executing(job, intent) {
                Ok(()) => {}
                Err(
                    error @ (LedgerError::LostLease { .. }
                    | LedgerError::Stopped(_)
                    | LedgerError::Denied { .. }),
                ) => refused.push((job.seq, error)),
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    })
}

/// The last look before the send: the epoch file is on disk, our worker lock stands, and each lease lasts longer than the target may take.
/// Out: the jobs that may be sent, and those that may not.
pub(super) fn last_look<J: Held>(gear: &Gear, executing: Vec<J>) -> (Vec<J>, Vec<J>) {
    gear.changes.bump();
    let is_noted = gear.note_epoch();
    let deadline = gear.vault.deadline_ms();
    let is_visible = gear.is_visible();
    let may_send = |job: &J| is_noted && is_visible && gear.leases.outlasts(job.claimed(), deadline);
    executing.into_iter().partition(may_send)
}

/// What an answer means for the jobs that come after.
pub(super) fn react(gear: &Gear, answer: &Answer) {
    match answer {
        Answer::Credential => gear
            .conditions
            .credential_refused("the target refuses our credential (401 or 403)"),
        Answer::Busy { retry_after_ms } => gear
            .conditions
            .hold_off(Side::Target, retry_after_ms.unwrap_or(30_000)),
        Answer::ServerError | Answer::NoAnswer { .. } => gear
            .conditions
            .failed(Side::Target, "the target failed or gave no answer"),
        Answer::Done | Answer::Drift { .. } | Answer::NotSent { .. } | Answer::Refused { .. } => {}
    }
}

/// Settles, then takes settled paths off the published list, then lets the paths go.
pub(super) fn finish(gear: &Gear, finished: Vec<Finished>) {
    drop(failpoint::reach("save.observed"));
    let mut guards = Vec::with_capacity(finished.len());
    let settled: Vec<(Claimed, State, Settlement)> = finished
        .into_iter()
        .map(|(job, from, settlement, guard)| {
            guards.push(guard);
            (job, from, settlement)
        })
        .collect();
    let done = settle_all(gear, settled);
    drop(failpoint::reach("save.settled"));
    let free: Vec<VaultPath> = done
        .iter()
        .filter(|(_, settlement)| settlement.fence == Fence::Release)
        .map(|(job, _)| job.job.vault_path().clone())
        .collect();
    if let Err(fault) = gear.fence.remove(&free) {
        tracing::warn!(%fault, "settled paths stay published until the next start");
    }
    drop(guards);
}
