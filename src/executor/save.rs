//! One batch of SAVEs, each step in its order (design 4). In: jobs under our lease. Out: settled jobs.
//!
//! ```text
//! lock path ─ other role's list ─ object ─ gates ─ vault bytes ─ drift ─ preflight
//!   ─ publish ─ EXECUTING (durable) ─ lease check ─ send ─ read back ─ settle ─ unpublish
//! ```
//! Not here: the gates (roles/save), what an answer means (settlement/save).

use super::steps::{
    BYTES_AT_ONCE, Finished, Held, LOCKED_MS, NoIntent, UNRESOLVED_MS, commit_intent, denied, fetch, finish,
    finished, give_back_storage, last_look, lock_path, look, publish, react, source_fault, target_down,
};
use super::work::settle_all;
use super::{Gear, probe};
use crate::failpoint;
use crate::fence::PathGuard;
use crate::job::document::{Job, SaveJob};
use crate::job::{JobKind, Sha256, State};
use crate::ledger::jobs::Claimed;
use crate::ledger::settle::{Attempt, Intent, Settlement};
use crate::ledger::{LedgerError, operator::PathKnown};
use crate::roles::save::{self as plan, Age, Drift};
use crate::settlement::save::{self as outcome, Next};
use crate::source::SourceObject;
use crate::sqlite::WriteError;
use crate::target::{Answer, Before, Intent as Order, Preflight, WriteOrder};

/// A job ready to be sent.
struct Prepared {
    claimed: Claimed,
    object: SourceObject,
    before: Before,
    guard: PathGuard,
}

impl Held for Prepared {
    fn claimed(&self) -> &Claimed {
        &self.claimed
    }
    fn into_parts(self) -> (Claimed, PathGuard) {
        (self.claimed, self.guard)
    }
}

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

fn intent_of(job: &Prepared) -> Intent {
    Intent {
        before: before_bytes(job),
        new: Some(job.object.content_sha256),
    }
}

/// What the vault held before, `None` for nothing.
fn before_bytes(job: &Prepared) -> Option<Sha256> {
    match job.before {
        Before::Absent => None,
        Before::Bytes(hash) => Some(hash),
    }
}

/// From the durable intent to the settlement.
fn send(gear: &Gear, prepared: Vec<Prepared>, probing: &mut probe::Probing) {
    if !publish(gear, &prepared) {
        let back = |job: Prepared| {
            let settlement = Settlement::ready(Attempt::GivenBack, UNRESOLVED_MS, Some("fence_unreadable"));
            (job.claimed, State::Claimed, settlement)
        };
        settle_all(gear, prepared.into_iter().map(back).collect());
        return;
    }
    drop(failpoint::reach("save.published"));
    let (sending, mut settled) = commit_intent(gear, prepared, intent_of, |why| match why {
        NoIntent::Refused(_) => Settlement::ready(Attempt::GivenBack, 0, Some("paused")),
        NoIntent::Storage => Settlement::ready(Attempt::GivenBack, 1000, Some("database")),
    });
    drop(failpoint::reach("save.executing"));
    let (sending, late) = last_look(gear, sending);
    for job in late {
        let settlement = Settlement::ready(Attempt::Counted, LOCKED_MS, Some("not_sent"));
        settled.push(finished(job, State::Executing, settlement));
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

/// One answer: a settlement, or a job that stays EXECUTING until the vault can be looked at.
fn conclude(gear: &Gear, job: Prepared, answer: &Answer, probing: &mut probe::Probing) -> Option<Finished> {
    let new = job.object.content_sha256;
    let before = before_bytes(&job);
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
