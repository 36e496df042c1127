//! The intake loop: files become admitted jobs, received approvals, cancels and refusals. In: drop directories. Out: one
//! transaction for a batch, then the files are removed, then the workers are woken.
//!
//! Not here: opening hostile files (intake/), judging a document (admission/), verifying an envelope (approval/).

use super::Gear;
use super::approvals::{self, AtTheDoor};
use crate::admission::{self, Facts, Verdict};
use crate::approval::{Approvers, Document, Envelope};
use crate::failpoint;
use crate::intake::{Ask, Batch, Intake, Room, Via};
use crate::job::document::{DocumentRules, Job};
use crate::job::{JobId, JobKind, Refusal, Role, Sha256, VaultPath};
use crate::ledger::admit::{Admission, AdmitSettings, Route};
use crate::ledger::approve::Received;
use crate::ledger::control::{self, Flow};
use crate::ledger::{LedgerError, Tx};
use crate::sqlite::{StorageFault, WriteError};
use std::sync::Arc;
use std::time::Duration;

/// Files and bytes of one batch: bounds memory and the length of a transaction.
const FILES: usize = 256;
const BYTES: u64 = 8 << 20;
/// Behind a lost wake-up, and while the role may not admit, ms.
const RESCAN_MS: u64 = 30_000;
/// While another process of this role reads the directories, ms.
const ELSEWHERE_MS: u64 = 5_000;
/// First and longest pause after a fault, ms.
const FAULT_MS: (u64, u64) = (1_000, 60_000);

/// One judged document with its requester.
struct Judged {
    uid: u32,
    route: Route,
    what: What,
}

enum What {
    Job(Box<Job>),
    Cancel { digest: Sha256, job_id: JobId },
    Envelope { digest: Sha256, door: AtTheDoor },
    Refusal { digest: Sha256, refusal: Refusal },
}

/// Runs until the process stops.
pub fn run(gear: &Gear, mut intake: Intake) {
    drop(gear.intake.set(intake.poker()));
    let mut pause = FAULT_MS.0;
    while !gear.is_stopping() {
        let wait = match pass(gear, &mut intake) {
            Ok(Pass::More) => 0,
            Ok(Pass::Done) => RESCAN_MS,
            Ok(Pass::HeldElsewhere) => ELSEWHERE_MS,
            Err(fault) => {
                gear.conditions.intake_failed(fault.reason, &fault.why);
                let wait = pause;
                pause = (pause * 2).min(FAULT_MS.1);
                wait_quietly(gear, wait);
                continue;
            }
        };
        pause = FAULT_MS.0;
        let troubles = intake.troubles();
        let wait = if troubles.is_empty() {
            gear.conditions.intake_ok();
            wait
        } else {
            gear.conditions.intake_failed("disk", &troubles.join("; "));
            wait.min(FAULT_MS.0)
        };
        if wait > 0
            && !gear.is_stopping()
            && let Err(error) = intake.wait(Duration::from_millis(wait))
        {
            tracing::error!(%error, "the directories cannot be watched; they are listed again and again");
            wait_quietly(gear, FAULT_MS.0);
        }
    }
}

fn wait_quietly(gear: &Gear, ms: u64) {
    let seen = gear.wake.seen();
    gear.wake.wait(seen, ms);
}

/// Why nothing was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassFault {
    /// Health word of contract 7.
    pub reason: &'static str,
    /// The file and what is wrong with it.
    pub why: String,
}

impl PassFault {
    fn of_files(error: &crate::intake::IntakeError) -> PassFault {
        PassFault {
            reason: "disk",
            why: error.to_string(),
        }
    }
}

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// There are more files.
    More,
    /// Everything is read.
    Done,
    /// Another process of this role reads the directories.
    HeldElsewhere,
}

/// One batch from the directories to the ledger.
///
/// # Errors
/// [`PassFault`]; the files stay.
pub fn pass(gear: &Gear, intake: &mut Intake) -> Result<Pass, PassFault> {
    let flow = gear
        .ledger
        .read(control::flow)
        .map_err(|fault| note(gear, &fault))?;
    if flow == Flow::Frozen || gear.is_frozen_by_file() || !gear.has_disk_space() {
        return Ok(Pass::Done);
    }
    let limits = &gear.config.limits;
    let (jobs_max, bytes_max) = (limits.jobs_per_uid, limits.bytes_per_uid);
    let room = |uid: u32| {
        let live = gear.ledger.live_of(uid).unwrap_or((i64::MAX, i64::MAX));
        let left = |max: u64, used: i64| max.saturating_sub(u64::try_from(used).unwrap_or(0));
        Room {
            jobs_left: left(jobs_max, live.0),
            jobs_max,
            bytes_left: left(bytes_max, live.1),
            bytes_max,
        }
    };
    let ask = Ask {
        files_max: FILES,
        bytes_max: BYTES,
        room: &room,
    };
    let batch = intake
        .scan_once(&ask)
        .map_err(|error| PassFault::of_files(&error))?;
    for notice in &batch.notices {
        tracing::warn!(notice, "drop directories");
    }
    for stuck in &batch.stuck {
        tracing::warn!(dir = %stuck.dir.display(), name = stuck.name, uid = stuck.uid, why = stuck.why,
            "an entry can be neither read nor removed; it stays");
    }
    if batch.held_elsewhere {
        return Ok(Pass::HeldElsewhere);
    }
    if batch.is_empty() {
        return Ok(if batch.more { Pass::More } else { Pass::Done });
    }
    drop(failpoint::reach("intake.read"));
    let judged = judge(gear, &batch);
    commit(gear, judged).map_err(|fault| note(gear, &fault))?;
    drop(failpoint::reach("intake.committed"));
    for stuck in intake
        .finish(&batch.tickets())
        .map_err(|error| PassFault::of_files(&error))?
    {
        tracing::warn!(dir = %stuck.dir.display(), name = stuck.name, uid = stuck.uid, why = stuck.why,
            "an entry cannot be removed; it stays and is not counted again");
    }
    gear.wake.poke();
    gear.changes.bump();
    Ok(if batch.more { Pass::More } else { Pass::Done })
}

fn note(gear: &Gear, fault: &StorageFault) -> PassFault {
    if !fault.is_passing() {
        gear.storage_failed(fault);
    }
    PassFault {
        reason: fault.health_reason(),
        why: fault.to_string(),
    }
}

/// Judges every document of a batch; the only slow part is verifying signatures, which is why it is outside the transaction.
fn judge(gear: &Gear, batch: &Batch) -> Vec<Judged> {
    let rules = gear.rules();
    let may_ask =
        |uid: u32, kind: JobKind, path: &VaultPath| gear.config.requesters.allows(uid, kind, path.as_str());
    let mut judged = Vec::new();
    for file in &batch.files {
        let facts = Facts {
            role: gear.role,
            rules: &rules,
            may_ask: &may_ask,
            uid: file.uid,
        };
        for document in file.documents() {
            let what = match admission::judge(document, &facts) {
                Verdict::Admit(admitted) => What::Job(Box::new(admitted.into_job())),
                Verdict::Cancel { cancel, digest } => What::Cancel {
                    digest,
                    job_id: cancel.job_id,
                },
                Verdict::Envelope { value, digest } => match Envelope::from_value(&value) {
                    Ok(envelope) => What::Envelope {
                        digest,
                        door: approvals::door(gear, &envelope, gear.clock.wall()),
                    },
                    Err(refusal) => What::Refusal { digest, refusal },
                },
                Verdict::Refuse { digest, refusal } => What::Refusal { digest, refusal },
            };
            judged.push(Judged {
                uid: file.uid,
                route: route(file.via),
                what,
            });
        }
    }
    let mut refused = |uid: u32, via: Via, digest: Sha256, refusal: &Refusal| {
        let refusal = refusal.clone();
        let what = What::Refusal { digest, refusal };
        judged.push(Judged {
            uid,
            route: route(via),
            what,
        });
    };
    for one in &batch.refused {
        refused(one.uid, one.via, one.digest, &one.refusal);
    }
    for one in &batch.poisoned {
        tracing::error!(
            name = one.name,
            kept_as = one.kept_as,
            uid = one.uid,
            "the process died on this file three times; it is in quarantine"
        );
        refused(one.uid, one.via, one.digest, &one.refusal);
    }
    judged
}

fn route(via: Via) -> Route {
    match via {
        Via::Drop => Route::Drop,
        Via::Gateway => Route::Gateway,
    }
}

/// What the transaction needs of the configuration.
struct Ground {
    settings: AdmitSettings,
    rules: DocumentRules,
    instance: String,
    approvers: Option<Arc<Approvers>>,
    policy: crate::approval::Policy,
    role: Role,
}

fn commit(gear: &Gear, judged: Vec<Judged>) -> Result<(), StorageFault> {
    let ground = Ground {
        settings: gear.admit_settings(),
        rules: gear.rules(),
        instance: gear.config.instance.clone(),
        approvers: gear.approvers.current(),
        policy: gear.policy.clone(),
        role: gear.role,
    };
    let written = gear.ledger.write(move |tx| {
        for one in &judged {
            take(tx, one, &ground)?;
        }
        tx.note_clock()?;
        Ok(())
    });
    match written {
        Ok(()) => Ok(()),
        Err(WriteError::Storage(fault)) => Err(fault),
        Err(WriteError::Inner(error)) => {
            tracing::error!(%error, "a batch of documents was not admitted; the files stay");
            Err(StorageFault::Refused {
                path: gear.ledger.path().to_path_buf(),
                what: error.to_string(),
            })
        }
    }
}

/// Writes what one document means.
fn take(tx: &mut Tx<'_>, one: &Judged, ground: &Ground) -> Result<(), LedgerError> {
    let keep = ground.settings.submissions_kept;
    match &one.what {
        What::Job(job) => {
            let _admission: Admission = tx.admit(job, one.uid, one.route, &ground.rules, &ground.settings)?;
            Ok(())
        }
        What::Refusal { digest, refusal } => tx.refuse(one.uid, *digest, refusal, keep),
        What::Cancel { digest, job_id } => tx.cancel_by_requester(*job_id, one.uid, *digest, keep),
        What::Envelope { digest, door } => match door {
            AtTheDoor::Refused(refusal) => tx.refuse(one.uid, *digest, refusal, keep),
            AtTheDoor::Approval(verified) => {
                let Document::Approval(payload) = &verified.document else {
                    return Ok(());
                };
                let received = Received {
                    uid: one.uid,
                    digest: *digest,
                    payload: (**payload).clone(),
                    payload_bytes: verified.payload_bytes.clone(),
                    signatures: approvals::to_store(verified),
                };
                let now = tx.now;
                let complete = |payload: &[u8], stored: &[crate::ledger::approve::StoredSignature]| {
                    let approvers = ground.approvers.as_deref();
                    approvals::is_complete(
                        payload,
                        stored,
                        &ground.instance,
                        &ground.rules,
                        approvers,
                        &ground.policy,
                        now,
                    )
                };
                tx.receive_approval(&received, &complete, &ground.rules, &ground.settings)
                    .map(|_| ())
            }
            AtTheDoor::Withdrawal { verified, principal } => {
                let Document::Withdrawal(payload) = &verified.document else {
                    return Ok(());
                };
                debug_assert_eq!(ground.role, Role::Delete);
                tx.receive_withdrawal(
                    one.uid,
                    *digest,
                    payload,
                    principal,
                    &ground.rules,
                    &ground.settings,
                )
            }
        },
    }
}
