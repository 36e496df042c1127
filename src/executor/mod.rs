//! Drives one role: what comes in is admitted, what may run is claimed, verified, executed and settled. In: a ledger, a
//! source, a vault and the files that guard them. Out: jobs in their final states, and nothing done twice.
//!
//! Threads of one process: `intake` (drop directory → admission), `work` × workers (claim → settle), `leases` (renewal), the
//! ledger's writer. They share [`Gear`] and wake each other; nothing polls.
//! Not here: sockets and signals (daemon/), what is decided (roles/, settlement/).

pub mod approvals;
pub mod conditions;
pub mod cut_off;
pub mod delete;
pub mod epochs;
pub mod holders;
pub mod intake;
pub mod leases;
pub mod probe;
pub mod published;
pub mod save;
mod steps;
pub mod wake;
pub mod work;

use crate::approval::Policy;
use crate::clock::SharedClock;
use crate::config::Config;
use crate::exit::Exit;
use crate::fence::FenceDir;
use crate::http::status::Changes;
use crate::job::Role;
use crate::job::document::DocumentRules;
use crate::ledger::Ledger;
use crate::ledger::admit::AdmitSettings;
use crate::ledger::claim::Claimer;
use crate::recovery::RecoveryStore;
use crate::source::Source;
use crate::spent::SpentLog;
use crate::sqlite::StorageFault;
use crate::target::Vault;
use crate::workers::{DeathWatch, WorkerLock};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// What health calls trouble with the epoch file.
const EPOCH: &str = "epoch";

/// Numbers and rules of the loops, from the configuration.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Rules for documents.
    pub rules: DocumentRules,
    /// How long a DELETE waits for its approval, ms; 0 denies at once.
    pub approval_wait_ms: i64,
    /// READY jobs older than this are rejected, ms; 0 is never.
    pub job_max_age_ms: i64,
    /// Jobs of one claim.
    pub batch: usize,
    /// Refusals and other answers kept, rows.
    pub submissions_kept: i64,
    /// What the target may take for one effect, ms.
    pub deadline_ms: i64,
}

/// The UIDs that never are requesters or operators, and the one that the gateway runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uids {
    /// Every role's, the gateway's among them; empty in development, where all share one.
    pub roles: Vec<u32>,
    /// The gateway's.
    pub gateway: u32,
}

/// What the loops of one process share.
#[derive(Debug)]
pub struct Gear {
    /// Which role this is.
    pub role: Role,
    /// Checked settings.
    pub config: Config,
    /// Numbers and rules from them.
    pub terms: Terms,
    /// UIDs that are never requesters, and the gateway's.
    pub uids: Uids,
    /// Time.
    pub clock: SharedClock,
    /// The truth.
    pub ledger: Ledger,
    /// Where objects come from.
    pub source: Arc<dyn Source>,
    /// Where effects go.
    pub vault: Arc<dyn Vault>,
    /// Holds on paths across roles.
    pub fence: FenceDir,
    /// Delete only.
    pub spent: Option<SpentLog>,
    /// Delete only; `None` while its key is missing.
    pub recovery: Option<RecoveryStore>,
    /// This process's proof of life.
    pub worker: WorkerLock,
    /// Tells when another process of this role dies.
    pub deaths: DeathWatch,
    /// Leases it holds.
    pub leases: Arc<leases::Leases>,
    /// What is wrong.
    pub conditions: conditions::Conditions,
    /// New work, or an operator changed something.
    pub wake: Arc<wake::Wake>,
    /// Something may have been written; the main thread keeps the epoch file near it.
    pub beat: wake::Wake,
    /// The public keys.
    pub approvers: approvals::ApproversFile,
    /// Who must sign what.
    pub policy: Policy,
    /// The `epoch` file.
    pub epochs: epochs::Epochs,
    /// The end is near: wakes the thread that waits for nothing else.
    pub halt: wake::Wake,
    /// Told after each commit that may change a receipt.
    pub changes: Changes,
    /// Wakes the intake thread, once it runs.
    pub intake: OnceLock<crate::intake::Poker>,
    /// Set once: stop claiming, finish, exit.
    pub stopping: AtomicBool,
    /// Set when the process must end at once, with the reason.
    pub ended: OnceLock<(Exit, String)>,
}

impl Gear {
    /// Whether the process is asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
    /// Whether other processes see this one live; if not, they take over what it holds, so it ends and sends nothing more.
    pub fn is_visible(&self) -> bool {
        let visible = self.worker.is_visible();
        if !visible && !self.is_stopping() {
            self.end_now("the worker lock of this process was removed from the state directory; others take it for dead");
        }
        visible
    }
    /// The head that an older copy of the database would not have, on disk before anything is sent. `false`: it is not, and nothing
    /// may be sent; health says so.
    pub fn note_epoch(&self) -> bool {
        let noted = self.epochs.note(&self.ledger);
        if let Err(why) = &noted {
            tracing::error!(
                why,
                "the epoch file was not written; nothing is sent before it can be"
            );
        }
        let is_noted = noted.is_ok();
        self.conditions.own_files(EPOCH, noted.err());
        is_noted
    }
    /// Whether the epoch file can be written, as far as is known: after a failure it is tried again before anything is claimed.
    pub fn can_note_epoch(&self) -> bool {
        !self.conditions.is_own_file_bad(EPOCH) || self.note_epoch()
    }
    /// Something changed that a waiting thread or requester may want to know.
    pub fn changed(&self) {
        self.wake.poke();
        self.beat.poke();
        self.changes.bump();
        if let Some(intake) = self.intake.get() {
            intake.poke();
        }
    }
    /// Asks every loop to finish and end.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.halt.poke();
        self.changed();
    }
    /// Something irreversible is not known to be on disk: the process ends, the next start sorts it out.
    pub fn end_now(&self, why: &str) {
        self.end_with(Exit::Failed, why);
    }
    /// As [`Gear::end_now`], with the status that tells whoever starts us whether to do it again.
    pub fn end_with(&self, exit: Exit, why: &str) {
        tracing::error!(why, "the process ends; the next start sorts what was under way");
        drop(self.ended.set((exit, why.to_owned())));
        self.stop();
    }
    /// A storage fault: health says it; one that time does not mend ends the process with advice.
    pub fn storage_failed(&self, fault: &StorageFault) {
        self.conditions.storage_failed(fault);
        if !fault.is_passing() && !self.is_stopping() {
            self.end_with(Exit::Configuration, &fault.to_string());
        }
    }
    /// Whether the disk of the state directory has the space that `limits.disk_free_bytes_min` asks for; health says it.
    pub fn has_disk_space(&self) -> bool {
        let dir = self.config.layout.state_dir(self.role);
        let free = rustix::fs::statvfs(&dir).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
        let enough = free.is_ok_and(|free| free >= self.config.limits.disk_free_bytes_min);
        self.conditions.disk_low(!enough);
        enough
    }
    /// Rules for documents under this configuration.
    pub fn rules(&self) -> DocumentRules {
        self.terms.rules.clone()
    }
    /// Who claims.
    pub fn claimer(&self) -> Claimer {
        Claimer {
            worker: self.worker.id(),
            lease_ms: leases::LEASE_MS,
            rules: self.rules(),
        }
    }
    /// Admission's settings.
    pub fn admit_settings(&self) -> AdmitSettings {
        AdmitSettings {
            approval_wait_ms: self.terms.approval_wait_ms,
            submissions_kept: self.terms.submissions_kept,
        }
    }
    /// The root-owned kill switch.
    pub fn frozen_file(&self) -> PathBuf {
        self.config.layout.frozen.clone()
    }
    /// Looks at the kill switch now; unreadable counts as frozen.
    pub fn is_frozen_by_file(&self) -> bool {
        let present = self
            .frozen_file()
            .symlink_metadata()
            .map_or_else(|error| error.kind() != std::io::ErrorKind::NotFound, |_| true);
        self.conditions.frozen_file(present);
        present
    }
}
