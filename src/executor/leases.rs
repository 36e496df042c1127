//! The leases this process holds, and their renewal on a thread of its own. In: claims. Out: leases that stay alive while their
//! jobs are worked on, and an honest answer whether there is time left to send.
//!
//! Not here: what happens to a lost lease (the next write says `LostLease`).

use super::wake::Wake;
use crate::clock::BootMs;
use crate::ledger::Ledger;
use crate::ledger::jobs::{Claimed, LeaseToken};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Lease length, ms: must outlast a batch and the target's deadline; renewed three times within it.
pub const LEASE_MS: i64 = 120_000;
/// Time between renewals, ms.
const RENEW_MS: u64 = 40_000;

/// Leases held by this process.
#[derive(Debug)]
pub struct Leases {
    ledger: Ledger,
    held: Mutex<HashMap<i64, (LeaseToken, BootMs)>>,
    wake: Wake,
    stop: AtomicBool,
}

impl Leases {
    /// None yet.
    pub fn new(ledger: Ledger) -> Arc<Leases> {
        Arc::new(Leases {
            ledger,
            held: Mutex::default(),
            wake: Wake::default(),
            stop: AtomicBool::new(false),
        })
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<i64, (LeaseToken, BootMs)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These were claimed.
    pub fn add(&self, claimed: &[Claimed]) {
        if claimed.is_empty() {
            return;
        }
        self.held()
            .extend(claimed.iter().map(|job| (job.seq, (job.token, job.until))));
        self.wake.poke();
    }

    /// This one is settled or lost.
    pub fn drop_one(&self, seq: i64) {
        self.held().remove(&seq);
    }

    /// Whether the lease is ours for longer than `need_ms` from now: asked right before sending.
    pub fn outlasts(&self, job: &Claimed, need_ms: i64) -> bool {
        let now = self.ledger.clock().boot();
        self.held()
            .get(&job.seq)
            .is_some_and(|(token, until)| *token == job.token && until.0 - now.0 > need_ms)
    }

    /// How many are held.
    pub fn count(&self) -> usize {
        self.held().len()
    }

    /// Renews until told to stop. Runs on its own thread, so that a busy worker cannot starve it.
    pub fn run(&self) {
        while !self.stop.load(Ordering::SeqCst) {
            let seen = self.wake.seen();
            if self.held().is_empty() {
                self.wake.wait(seen, 3_600_000);
                continue;
            }
            // Waits a whole interval even if more is claimed meanwhile: those leases are younger.
            self.wait_interval();
            self.renew();
        }
    }

    fn wait_interval(&self) {
        let end = self.ledger.clock().boot().0 + i64::try_from(RENEW_MS).unwrap_or(0);
        while !self.stop.load(Ordering::SeqCst) {
            let seen = self.wake.seen();
            let left = end - self.ledger.clock().boot().0;
            if left <= 0 || self.held().is_empty() {
                return;
            }
            self.wake.wait(seen, u64::try_from(left).unwrap_or(0));
        }
    }

    /// One renewal of everything held.
    pub fn renew(&self) {
        let held: Vec<(i64, LeaseToken)> = self
            .held()
            .iter()
            .map(|(seq, (token, _))| (*seq, *token))
            .collect();
        if held.is_empty() {
            return;
        }
        let asked = held.clone();
        match self.ledger.write(move |tx| tx.renew(&asked, LEASE_MS)) {
            Ok((until, lost)) => {
                let mut map = self.held();
                for (seq, token) in held {
                    if lost.contains(&seq) {
                        map.remove(&seq);
                    } else if let Some(entry) = map.get_mut(&seq).filter(|entry| entry.0 == token) {
                        entry.1 = until;
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "leases were not renewed; they are checked again before anything is sent")
            }
        }
    }

    /// Ends [`Leases::run`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake.poke();
    }
}
