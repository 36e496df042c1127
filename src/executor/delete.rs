//! One batch of DELETEs, each step in its order (design 4). In: jobs under our lease. Out: settled jobs; nothing sent twice.
//!
//! ```text
//! lock path ─ other role's list ─ approval ─ object ─ vault bytes
//!   ─ 1 recovery copy ─ publish ─ 2 judge again, spent.log ─ 3 EXECUTING + RESERVED ─ 4 lease check, delete, look ─ 5 settle
//! ```
//! Not here: the gates (approval/claim, roles/delete), what an answer means (settlement/delete).

use super::steps::{
    self, BYTES_AT_ONCE, Finished, Held, NoIntent, denied, fetch, finish, finished, last_look, lock_path,
    look, publish, react, target_down,
};
use super::work::settle_all;
use super::{Gear, approvals};
use crate::approval::{Approved, DenyDetail, Policy};
use crate::failpoint;
use crate::fence::PathGuard;
use crate::job::document::{DeleteJob, Job};
use crate::job::{Code, Sha256, State};
use crate::ledger::control;
use crate::ledger::jobs::Claimed;
use crate::ledger::settle::{Attempt, Intent, Settlement};
use crate::recovery::{RecoveryBatch, RecoveryStore};
use crate::roles::delete as plan;
use crate::settlement::delete as outcome;
use crate::spent::{SpendVerdict, SpentEntry, SpentFaultClass};
use crate::target::{Content, DeleteOrder, Seen};

/// What health calls trouble with recovery copies.
const RECOVERY: &str = "recovery";
/// Nothing was spent: look again later, ms.
const AGAIN_MS: i64 = 5_000;

struct Prepared {
    claimed: Claimed,
    approved: Approved,
    object: Sha256,
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
pub fn run_batch(gear: &Gear, batch: Vec<Claimed>) {
    let policy = &gear.policy;
    let mut queue = batch.into_iter();
    loop {
        let mut prepared = Vec::new();
        let mut settled = Vec::new();
        let mut bytes = 0usize;
        let mut copies = gear.recovery.as_ref().map(RecoveryStore::batch);
        for claimed in queue.by_ref() {
            match prepare(gear, &claimed, policy, &mut copies) {
                Ok((approved, object, guard, len)) => {
                    bytes += len;
                    prepared.push(Prepared {
                        claimed,
                        approved,
                        object,
                        guard,
                    });
                }
                Err(settlement) => settled.push((claimed, State::Claimed, settlement)),
            }
            if bytes >= BYTES_AT_ONCE {
                break;
            }
        }
        // Step 1: the copies of the whole sub-batch, synced together.
        if let Some(Err(fault)) = copies.map(RecoveryBatch::commit) {
            tracing::error!(%fault, "no recovery copies; nothing is spent");
            gear.conditions.own_files(RECOVERY, Some(fault.to_string()));
            let again = |job: Prepared| {
                (
                    job.claimed,
                    State::Claimed,
                    Settlement::ready(Attempt::GivenBack, AGAIN_MS, Some("recovery_copy")),
                )
            };
            settled.extend(prepared.drain(..).map(again));
        }
        drop(failpoint::reach("delete.sealed"));
        settle_all(gear, settled);
        if prepared.is_empty() {
            return;
        }
        send(gear, prepared, policy);
    }
}

/// Every gate before step 2, and step 1. `Err` is what is recorded instead; the approval stays unspent.
fn prepare(
    gear: &Gear,
    claimed: &Claimed,
    policy: &Policy,
    copies: &mut Option<RecoveryBatch<'_>>,
) -> Result<(Approved, Sha256, PathGuard, usize), Settlement> {
    let Job::Delete(job) = &claimed.job else {
        return Err(Settlement::reject(Code::WrongRole, None));
    };
    if gear.is_stopping() {
        return Err(Settlement::ready(Attempt::GivenBack, 0, Some("stopping")));
    }
    let guard = lock_path(gear, &job.vault_path)?;
    let approved = approve(gear, claimed, job, policy)?;
    let object = fetch(gear, claimed)?;
    plan::judge_object(job, &object).map_err(denied)?;
    let bytes = match gear
        .vault
        .read(&job.vault_path, gear.config.source.limits.blob_bytes_max)
    {
        Err(down) => return Err(target_down(gear, &down.to_string())),
        Ok(Content::Bytes(bytes)) => bytes,
        Ok(other) => {
            let seen = match other {
                Content::Absent => Seen::Absent,
                Content::Bytes(_) | Content::TooLarge | Content::Unreadable => Seen::Unreadable,
            };
            return Err(
                plan::judge_target(&seen, object.content_sha256).map_or_else(denied, |()| {
                    Settlement::reject(Code::TargetDrift, Some("unreadable"))
                }),
            );
        }
    };
    let seen = Seen::Bytes {
        sha256: crate::job::sha256(&bytes),
        len: u64::try_from(bytes.len()).unwrap_or(0),
    };
    plan::judge_target(&seen, object.content_sha256).map_err(denied)?;
    let Some(copies) = copies else {
        gear.conditions
            .credential_refused("recovery-key is missing; no DELETE without a sealed recovery copy");
        return Err(Settlement::ready(Attempt::GivenBack, 0, Some("credential")));
    };
    let len = bytes.len();
    if let Err(fault) = copies.seal(job.job_id, &job.vault_path, bytes) {
        tracing::error!(%fault, job_id = %job.job_id, "no recovery copy; nothing is spent");
        gear.conditions.own_files(RECOVERY, Some(fault.to_string()));
        return Err(Settlement::ready(
            Attempt::GivenBack,
            AGAIN_MS,
            Some("recovery_copy"),
        ));
    }
    Ok((approved, object.content_sha256, guard, len))
}

fn approve(gear: &Gear, claimed: &Claimed, job: &DeleteJob, policy: &Policy) -> Result<Approved, Settlement> {
    match approvals::judge_claim(gear, job, claimed.uid, policy) {
        Ok(Ok(approved)) => Ok(approved),
        Ok(Err(detail)) => Err(deny(detail)),
        Err(fault) => {
            gear.conditions.storage_failed(&fault);
            Err(Settlement::ready(Attempt::GivenBack, 1000, Some("database")))
        }
    }
}

/// Expired and incomplete approvals wait for a replacement; everything else is a no.
fn deny(detail: DenyDetail) -> Settlement {
    match detail {
        DenyDetail::ApprovalExpired => Settlement::wait_for_approval("approval_expired"),
        DenyDetail::ClockUntrusted => {
            Settlement::ready(Attempt::GivenBack, AGAIN_MS, Some("clock_untrusted"))
        }
        DenyDetail::ApprovalMissing
        | DenyDetail::ApprovalMismatch(_)
        | DenyDetail::ApprovalSpent
        | DenyDetail::ApprovalVoid
        | DenyDetail::ApprovalWithdrawn
        | DenyDetail::KeyUnknown
        | DenyDetail::KeyExpired
        | DenyDetail::QuorumNotMet
        | DenyDetail::SeparateDuty => Settlement::reject(Code::DeleteDenied, Some(&detail.to_string())),
    }
}

/// Steps 2 to 5.
fn send(gear: &Gear, prepared: Vec<Prepared>, policy: &Policy) {
    if !publish(gear, &prepared) {
        let back = |job: Prepared| {
            let settlement = Settlement::ready(Attempt::GivenBack, AGAIN_MS, Some("fence_unreadable"));
            finished(job, State::Claimed, settlement)
        };
        finish(gear, prepared.into_iter().map(back).collect());
        return;
    }
    gear.conditions.own_files(RECOVERY, None);
    drop(failpoint::reach("delete.published"));
    let (spent, mut settled) = spend(gear, prepared, policy);
    drop(failpoint::reach("delete.spent"));
    let (sending, denied) = commit_intent(gear, spent);
    settled.extend(denied);
    drop(failpoint::reach("delete.executing"));
    let (sending, late) = last_look(gear, sending);
    for job in late {
        let why = "the last look before the send (lease, worker lock, epoch file) said no";
        settled.push(finished(job, State::Executing, not_sent(why)));
    }
    let answers = {
        let orders: Vec<DeleteOrder<'_>> = sending
            .iter()
            .map(|job| DeleteOrder {
                job_id: *job.claimed.job.job_id(),
                path: job.claimed.job.vault_path(),
                expected: job.object,
            })
            .collect();
        gear.vault.delete(&orders)
    };
    drop(failpoint::reach("delete.sent"));
    for (job, answer) in sending.into_iter().zip(answers) {
        react(gear, &answer);
        let seen = observe(gear, &job);
        let settlement = outcome::judge(&answer, seen.as_ref(), job.object);
        settled.push(finished(job, State::Executing, settlement));
    }
    finish(gear, settled);
}

fn observe(gear: &Gear, job: &Prepared) -> Option<Seen> {
    look(gear, job.claimed.job.vault_path()).ok()
}

/// After the approval was spent and nothing was sent.
fn not_sent(why: &str) -> Settlement {
    Settlement::reject(Code::DeleteDenied, Some("approval_spent")).with_message(format!(
        "{why}; nothing was sent, but the approval is spent: draft a new job and a new approval"
    ))
}

/// Step 2: everything that can change with time or by a person is judged again, then the approvals are spent, durably.
fn spend(gear: &Gear, prepared: Vec<Prepared>, policy: &Policy) -> (Vec<Prepared>, Vec<Finished>) {
    let mut finished = Vec::new();
    let mut still = Vec::new();
    for job in prepared {
        match judge_again(gear, &job, policy) {
            Ok(()) => still.push(job),
            Err(settlement) => finished.push((job.claimed, State::Claimed, settlement, job.guard)),
        }
    }
    let Some(log) = &gear.spent else {
        return (Vec::new(), finished);
    };
    let now = gear.clock.wall();
    let entries: Vec<SpentEntry> = still
        .iter()
        .map(|job| SpentEntry {
            approval_id: job.approved.approval().approval_id,
            nonce: job.approved.approval().nonce,
            job_id: *job.claimed.job.job_id(),
            lease_token: job.claimed.token.0,
            wall_ms: now,
        })
        .collect();
    match log.spend(&entries) {
        Ok(verdicts) => {
            let mut spent = Vec::new();
            for (job, verdict) in still.into_iter().zip(verdicts) {
                match verdict {
                    SpendVerdict::Spent => spent.push(job),
                    SpendVerdict::AlreadySpent => {
                        let settlement = deny(DenyDetail::ApprovalSpent);
                        finished.push((job.claimed, State::Claimed, settlement, job.guard));
                    }
                }
            }
            (spent, finished)
        }
        Err(fault) => {
            tracing::error!(%fault, "spent.log");
            if fault.class() == SpentFaultClass::NothingSpent {
                for job in still {
                    let settlement = Settlement::ready(Attempt::GivenBack, AGAIN_MS, Some("spent_log"));
                    finished.push((job.claimed, State::Claimed, settlement, job.guard));
                }
            } else {
                // A failed sync is not retried: the process ends, the approvals count as spent, the next start sorts the jobs.
                gear.end_now(&fault.to_string());
            }
            (Vec::new(), finished)
        }
    }
}

fn judge_again(gear: &Gear, job: &Prepared, policy: &Policy) -> Result<(), Settlement> {
    let Job::Delete(delete) = &job.claimed.job else {
        return Err(Settlement::reject(Code::WrongRole, None));
    };
    let flow = gear.ledger.read(control::flow).map_err(|fault| {
        gear.conditions.storage_failed(&fault);
        Settlement::ready(Attempt::GivenBack, 1000, Some("database"))
    })?;
    if flow != control::Flow::Running || gear.is_frozen_by_file() {
        return Err(Settlement::ready(Attempt::GivenBack, 0, Some("paused")));
    }
    approve(gear, &job.claimed, delete, policy).map(|_| ())
}

/// Step 3: one transaction; the guards in it are the last word.
fn commit_intent(gear: &Gear, spent: Vec<Prepared>) -> (Vec<Prepared>, Vec<Finished>) {
    if spent.is_empty() {
        return (Vec::new(), Vec::new());
    }
    // The kill switch, once more before the transaction that makes the send durable.
    if gear.is_frozen_by_file() {
        let frozen = |job| {
            finished(
                job,
                State::Claimed,
                not_sent("the host was frozen before the send"),
            )
        };
        return (Vec::new(), spent.into_iter().map(frozen).collect());
    }
    let intent_of = |job: &Prepared| Intent {
        before: Some(job.object),
        new: None,
    };
    steps::commit_intent(gear, spent, intent_of, |why| match why {
        NoIntent::Refused(why) => not_sent(&format!("a guard refused at the last moment ({why})")),
        NoIntent::Storage => not_sent("the intent could not be made durable"),
    })
}
