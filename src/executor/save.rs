//! One batch of SAVEs, each step in its order (design 4). In: jobs under our lease. Out: settled jobs.
//!
//! ```text
//! lock path ─ other role's list ─ object ─ gates ─ vault bytes ─ drift ─ preflight
//!   ─ publish ─ EXECUTING (durable) ─ lease check ─ send ─ read back ─ settle ─ unpublish
//! ```
//! Not here: the gates (roles/save), what an answer means (settlement/save).

use super::conditions::Side;
use super::work::settle_all;
use super::{Gear, probe};
use crate::failpoint;
use crate::fence::PathGuard;
use crate::job::document::{Job, SaveJob};
use crate::job::{JobKind, Sha256, State, VaultPath};
use crate::ledger::jobs::Claimed;
use crate::ledger::settle::{Attempt, Intent, Settlement};
use crate::ledger::{LedgerError, operator::PathKnown};
use crate::roles::save::{self as plan, Age, Denied, Drift};
use crate::settlement::save::{self as outcome, Next};
use crate::source::{SourceFault, SourceObject};
use crate::sqlite::WriteError;
use crate::target::{Answer, Before, Intent as Order, Preflight, Seen, WriteOrder};

/// Objects of one sub-batch held in memory at once, bytes; one larger object goes alone.
const BYTES_AT_ONCE: usize = 64 << 20;
/// The other role holds the path: look again soon.
const LOCKED_MS: i64 = 250;
/// The other role left something unresolved, or cannot be asked: look again later.
const UNRESOLVED_MS: i64 = 5_000;
/// What health calls trouble with the fence.
pub(super) const FENCE: &str = "fence";
/// One object is damaged at the source: other jobs go on.
const DAMAGED_MS: i64 = 60_000;

/// A job ready to be sent.
struct Prepared {
    claimed: Claimed,
    object: SourceObject,
    before: Before,
    guard: PathGuard,
}

type Settled = (Claimed, State, Settlement);

/// Runs a batch to its end.
pub fn run_batch(gear: &Gear, batch: Vec<Claimed>, probing: &mut probe::Probing) {
    let mut queue = batch.into_iter();
    loop {
        let mut prepared = Vec::new();
        let mut settled = Vec::new();
        let mut bytes = 0usize;
        for claimed in queue.by_ref() {
            match prepare(gear, &claimed) {
                Ok(Ready::Send {
                    object,
                    before,
                    guard,
                }) => {
                    bytes += object.bytes.len();
                    prepared.push(Prepared {
                        claimed,
                        object,
                        before,
                        guard,
                    });
                }
                Ok(Ready::AlreadyThere { new, guard }) => already_there(gear, claimed, new, guard),
                Err(settlement) => settled.push((claimed, State::Claimed, settlement)),
            }
            if bytes >= BYTES_AT_ONCE {
                break;
            }
        }
        settle_all(gear, settled);
        if prepared.is_empty() {
            return;
        }
        send(gear, prepared, probing);
    }
}

enum Ready {
    Send {
        object: SourceObject,
        before: Before,
        guard: PathGuard,
    },
    AlreadyThere {
        new: Sha256,
        guard: PathGuard,
    },
}

/// Every gate before EXECUTING. `Err` is what is recorded instead.
fn prepare(gear: &Gear, claimed: &Claimed) -> Result<Ready, Settlement> {
    let Job::Save(job) = &claimed.job else {
        return Err(Settlement::reject(crate::job::Code::WrongRole, None));
    };
    if gear.is_stopping() {
        return Err(Settlement::ready(Attempt::GivenBack, 0, Some("stopping")));
    }
    let guard = lock_path(gear, &job.vault_path)?;
    let object = fetch(gear, claimed)?;
    plan::judge_object(job, &object).map_err(denied)?;
    let known = gear
        .ledger
        .path_known(job.vault_path.as_str())
        .map_err(|fault| give_back_storage(gear, &fault))?;
    let age = age(gear, job, &known)?;
    let seen = look(gear, &job.vault_path)?;
    plan::judge_age(age, &seen, &known).map_err(denied)?;
    let before = match plan::judge_drift(&seen, object.content_sha256, &known) {
        Drift::AlreadyThere => {
            // Whoever wrote it: it is on disk before we say that it is there.
            gear.vault
                .persist(&[&job.vault_path])
                .map_err(|down| target_down(gear, &down.to_string()))?;
            return Ok(Ready::AlreadyThere {
                new: object.content_sha256,
                guard,
            });
        }
        Drift::Write(before) => before,
        Drift::AskParents(found) => {
            let parents = gear
                .source
                .at_parents(&job.source_commit, job.vault_path.relative())
                .map_err(|fault| source_fault(gear, &fault, JobKind::Save))?;
            plan::judge_parents(found, &parents).map_err(denied)?
        }
        Drift::Unreadable => {
            return Err(
                Settlement::reject(crate::job::Code::TargetDrift, Some("unreadable"))
                    .with_message("what is at the path is not a readable file; look at it"),
            );
        }
    };
    match gear.vault.preflight(&job.vault_path, Order::Write) {
        Ok(Preflight::Clear) => Ok(Ready::Send {
            object,
            before,
            guard,
        }),
        Ok(Preflight::Refused { detail }) => {
            Err(
                Settlement::reject(crate::job::Code::TargetRefused, Some(detail)).with_message(
                    "owner, group or mode of the file or its directory do not allow it; nothing was written",
                ),
            )
        }
        Err(down) => Err(target_down(gear, &down.to_string())),
    }
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

fn give_back_storage(gear: &Gear, fault: &crate::sqlite::StorageFault) -> Settlement {
    gear.conditions.storage_failed(fault);
    Settlement::ready(Attempt::GivenBack, 1000, Some("database"))
}

fn age(gear: &Gear, job: &SaveJob, known: &PathKnown) -> Result<Age, Settlement> {
    let Some(saved) = &known.commit else {
        return Ok(Age::Fresh);
    };
    if *saved == job.source_commit {
        return Ok(Age::Same);
    }
    match gear.source.is_ancestor(&job.source_commit, saved) {
        Ok(true) => Ok(Age::Older),
        Ok(false) => Ok(Age::Fresh),
        Err(fault) => Err(source_fault(gear, &fault, JobKind::Save)),
    }
}

/// The bytes are there: EXECUTING and SUCCEEDED in one transaction, because the table knows no shorter way, and nothing is sent.
fn already_there(gear: &Gear, claimed: Claimed, new: Sha256, guard: PathGuard) {
    let job = claimed.clone();
    let written = gear.ledger.write(move |tx| {
        tx.executing(
            &job,
            &Intent {
                before: Some(new),
                new: Some(new),
            },
        )?;
        let settlement = Settlement::succeed(crate::job::Code::AlreadyAtTarget).saved(new);
        tx.settle(&job, State::Executing, &settlement)
    });
    gear.leases.drop_one(claimed.seq);
    match written {
        Ok(()) => {
            tracing::info!(job_id = %claimed.job.job_id(), state = "SUCCEEDED", code = "already_at_target", "settled")
        }
        Err(WriteError::Inner(LedgerError::Stopped(_))) => {
            let settlement = Settlement::ready(Attempt::GivenBack, 0, Some("paused"));
            settle_all(gear, vec![(claimed, State::Claimed, settlement)]);
        }
        Err(WriteError::Storage(fault)) => {
            let settlement = give_back_storage(gear, &fault);
            settle_all(gear, vec![(claimed, State::Claimed, settlement)]);
        }
        Err(WriteError::Inner(error)) => tracing::warn!(%error, "not settled by this worker"),
    }
    drop(guard);
}

fn paths_of(jobs: &[Prepared]) -> Vec<VaultPath> {
    jobs.iter()
        .map(|job| job.claimed.job.vault_path().clone())
        .collect()
}

/// From the durable intent to the settlement.
fn send(gear: &Gear, prepared: Vec<Prepared>, probing: &mut probe::Probing) {
    if let Err(fault) = gear.fence.publish(&paths_of(&prepared)) {
        tracing::error!(%fault, "not published to the other role; nothing is sent");
        gear.conditions.own_files(FENCE, Some(fault.to_string()));
        let back = |job: Prepared| {
            let settlement = Settlement::ready(Attempt::GivenBack, UNRESOLVED_MS, Some("fence_unreadable"));
            (job.claimed, State::Claimed, settlement)
        };
        settle_all(gear, prepared.into_iter().map(back).collect());
        return;
    }
    gear.conditions.own_files(FENCE, None);
    drop(failpoint::reach("save.published"));
    let (sending, mut settled) = commit_intent(gear, prepared);
    drop(failpoint::reach("save.executing"));
    gear.changes.bump();
    let is_noted = note_epoch(gear);
    // Right before sending: is there more time on each lease than the target may take?
    let deadline = gear.vault.deadline_ms();
    let is_visible = gear.is_visible();
    let (sending, late): (Vec<Prepared>, Vec<Prepared>) = sending
        .into_iter()
        .partition(|job| is_noted && is_visible && gear.leases.outlasts(&job.claimed, deadline));
    for job in late {
        let settlement = Settlement::ready(Attempt::Counted, LOCKED_MS, Some("not_sent"));
        settled.push((job.claimed, State::Executing, settlement, job.guard));
    }
    let answers = {
        let orders: Vec<WriteOrder<'_>> = sending
            .iter()
            .map(|job| WriteOrder {
                job_id: *job.claimed.job.job_id(),
                path: job.claimed.job.vault_path(),
                bytes: &job.object.bytes,
                new: job.object.content_sha256,
                before: job.before,
            })
            .collect();
        gear.vault.write(&orders)
    };
    drop(failpoint::reach("save.sent"));
    for (job, answer) in sending.into_iter().zip(answers) {
        if let Some(entry) = conclude(gear, job, &answer, probing) {
            settled.push(entry);
        }
    }
    finish(gear, settled);
}

type Finished = (Claimed, State, Settlement, PathGuard);

/// CLAIMED → EXECUTING for the whole batch, durable before anything is sent.
fn commit_intent(gear: &Gear, prepared: Vec<Prepared>) -> (Vec<Prepared>, Vec<Finished>) {
    let intents: Vec<(Claimed, Intent)> = prepared
        .iter()
        .map(|job| {
            let before = match job.before {
                Before::Absent => None,
                Before::Bytes(hash) => Some(hash),
            };
            (
                job.claimed.clone(),
                Intent {
                    before,
                    new: Some(job.object.content_sha256),
                },
            )
        })
        .collect();
    let written = gear.ledger.write(move |tx| {
        let mut refused = Vec::new();
        for (job, intent) in &intents {
            match tx.executing(job, intent) {
                Ok(()) => {}
                Err(error @ (LedgerError::LostLease { .. } | LedgerError::Stopped(_))) => {
                    refused.push((job.seq, error))
                }
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    });
    let mut finished = Vec::new();
    match written {
        Ok(refused) => {
            let mut sending = Vec::new();
            for job in prepared {
                match refused.iter().find(|(seq, _)| *seq == job.claimed.seq) {
                    None => sending.push(job),
                    Some((_, LedgerError::LostLease { .. })) => gear.leases.drop_one(job.claimed.seq),
                    Some(_) => {
                        let settlement = Settlement::ready(Attempt::GivenBack, 0, Some("paused"));
                        finished.push((job.claimed, State::Claimed, settlement, job.guard));
                    }
                }
            }
            (sending, finished)
        }
        Err(error) => {
            if let WriteError::Storage(fault) = &error {
                gear.conditions.storage_failed(fault);
            }
            for job in prepared {
                let settlement = Settlement::ready(Attempt::GivenBack, 1000, Some("database"));
                finished.push((job.claimed, State::Claimed, settlement, job.guard));
            }
            (Vec::new(), finished)
        }
    }
}

/// One answer: a settlement, or a job that stays EXECUTING until the vault can be looked at.
fn conclude(gear: &Gear, job: Prepared, answer: &Answer, probing: &mut probe::Probing) -> Option<Finished> {
    let new = job.object.content_sha256;
    let before = match job.before {
        Before::Absent => None,
        Before::Bytes(hash) => Some(hash),
    };
    react(gear, answer);
    let why = match outcome::judge_answer(answer) {
        Next::Settle(settlement) => return Some((job.claimed, State::Executing, settlement, job.guard)),
        Next::Probe(why) => why,
    };
    let seen = probe::look_after(gear, &job.claimed, before, new, &why);
    match outcome::judge_probe(&why, seen.as_ref(), before, new, job.claimed.attempt) {
        Some(settlement) => Some((job.claimed, State::Executing, settlement, job.guard)),
        None => {
            probing.add(
                gear,
                probe::Pending::new(job.claimed, before, new, why, job.guard),
            );
            None
        }
    }
}

/// The head that an older copy of the database would not have, on disk before anything is sent.
/// `false`: it is not, and nothing may be sent.
pub(super) fn note_epoch(gear: &Gear) -> bool {
    let noted = gear.epochs.note(&gear.ledger);
    if let Err(why) = &noted {
        tracing::error!(
            why,
            "the epoch file was not written; nothing is sent before it can be"
        );
    }
    let is_noted = noted.is_ok();
    gear.conditions.own_files("epoch", noted.err());
    is_noted
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
    let settled: Vec<Settled> = finished
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
        .filter(|(_, settlement)| settlement.fence == crate::ledger::settle::Fence::Release)
        .map(|(job, _)| job.job.vault_path().clone())
        .collect();
    if let Err(fault) = gear.fence.remove(&free) {
        tracing::warn!(%fault, "settled paths stay published until the next start");
    }
    drop(guards);
}
