//! Why the role does not work as it should, right now. In: what each loop met. Out: one health reason, what `why` shows, and
//! whether claiming makes sense.
//!
//! Not here: persistent switches (ledger/control).

use crate::clock::{BootMs, SharedClock, WallMs};
use crate::sqlite::StorageFault;
use crate::throttle::{Breaker, Delays};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// No pass for longer than this is `dispatcher-stale`, ms (contract 7).
pub const STALE_MS: i64 = 120_000;

/// Between two looks at something that is down.
const DELAYS: Delays = Delays {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(60),
};

/// A thing outside that is down.
#[derive(Debug)]
struct Down {
    since: WallMs,
    why: String,
}

/// A thing outside, with its breaker.
#[derive(Debug)]
struct Outside {
    breaker: Breaker,
    down: Option<Down>,
}

impl Outside {
    fn new() -> Outside {
        Outside {
            breaker: Breaker::new(DELAYS),
            down: None,
        }
    }
}

#[derive(Debug)]
struct State {
    source: Outside,
    target: Outside,
    credential: Option<Down>,
    storage: Option<(&'static str, String, WallMs)>,
    intake: Option<(&'static str, String, WallMs)>,
    own: BTreeMap<&'static str, Down>,
    clock_behind: bool,
    disk_low: Option<WallMs>,
    frozen_file: bool,
    last_pass: BootMs,
}

/// Which outside thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Where objects come from.
    Source,
    /// The vault.
    Target,
}

/// Shared by the loops and the sockets of one process.
#[derive(Debug)]
pub struct Conditions {
    clock: SharedClock,
    state: Mutex<State>,
}

/// One condition, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Health word of contract 7.
    pub reason: &'static str,
    /// What is wrong and since when.
    pub text: String,
}

impl Conditions {
    /// All is well, as of now.
    pub fn new(clock: SharedClock) -> Conditions {
        let state = State {
            source: Outside::new(),
            target: Outside::new(),
            credential: None,
            storage: None,
            intake: None,
            own: BTreeMap::new(),
            clock_behind: false,
            disk_low: None,
            frozen_file: false,
            last_pass: clock.boot(),
        };
        Conditions {
            clock,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An outside thing did not answer: its breaker opens or stays open.
    pub fn failed(&self, side: Side, why: &str) {
        let (wall, boot) = (self.clock.wall(), self.clock.boot());
        let mut state = self.state();
        let outside = match side {
            Side::Source => &mut state.source,
            Side::Target => &mut state.target,
        };
        // Its time was over: this was the trial, and the next one comes later.
        if outside.breaker.wait(boot).is_none() {
            let _trial = outside.breaker.ask(boot);
        }
        outside.breaker.failed(boot);
        // Another cause is told as well: whoever mended the first must see what is left.
        if outside.down.as_ref().is_none_or(|down| down.why != why) {
            tracing::warn!(
                ?side,
                why,
                "unavailable; nothing is sent, attempts are given back, it is tried again"
            );
        }
        let since = outside.down.take().map_or(wall, |down| down.since);
        outside.down = Some(Down {
            since,
            why: why.to_owned(),
        });
    }

    /// An outside thing answered.
    pub fn answered(&self, side: Side) {
        let mut state = self.state();
        let outside = match side {
            Side::Source => &mut state.source,
            Side::Target => &mut state.target,
        };
        if outside.down.take().is_some() {
            tracing::info!(?side, "available again");
        }
        outside.breaker.succeeded();
    }

    /// A target asked for time: claiming waits until then.
    pub fn hold_off(&self, side: Side, delay_ms: i64) {
        let boot = self.clock.boot();
        let mut state = self.state();
        let outside = match side {
            Side::Source => &mut state.source,
            Side::Target => &mut state.target,
        };
        outside
            .breaker
            .hold(boot, Duration::from_millis(u64::try_from(delay_ms).unwrap_or(0)));
    }

    /// Milliseconds until claiming makes sense again; `None`: now.
    pub fn claiming_waits(&self) -> Option<i64> {
        let boot = self.clock.boot();
        let state = self.state();
        if state.credential.is_some() {
            return Some(i64::MAX);
        }
        let waits = [&state.source, &state.target]
            .into_iter()
            .filter_map(|outside| outside.breaker.wait(boot));
        waits
            .max()
            .map(|wait| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX).max(1))
    }

    /// The target said that our credential is not good, or there is none: claiming stops.
    pub fn credential_refused(&self, why: &str) {
        let since = self.clock.wall();
        let mut state = self.state();
        if state.credential.is_none() {
            tracing::error!(
                why,
                "credential missing or refused; claiming stops until it changes or an operator resumes"
            );
        }
        state.credential.get_or_insert(Down {
            since,
            why: why.to_owned(),
        });
    }

    /// The credential changed, or an operator resumed.
    pub fn credential_ok(&self) {
        self.state().credential = None;
    }

    /// A storage call failed.
    pub fn storage_failed(&self, fault: &StorageFault) {
        let now = self.clock.wall();
        let mut state = self.state();
        let reason = fault.health_reason();
        if state.storage.as_ref().is_none_or(|(old, _, _)| *old != reason) {
            tracing::error!(%fault, reason, "storage fault; nothing is sent until it is over");
        }
        state.storage = Some((reason, fault.to_string(), now));
    }

    /// Nothing can be taken in: the files stay where they are.
    pub fn intake_failed(&self, reason: &'static str, why: &str) {
        let now = self.clock.wall();
        let mut state = self.state();
        if state.intake.as_ref().is_none_or(|(_, old, _)| old != why) {
            tracing::error!(
                why,
                reason,
                "nothing is taken in until this is over; the files stay where they are"
            );
            state.intake = Some((reason, why.to_owned(), now));
        }
    }

    /// Intake works.
    pub fn intake_ok(&self) {
        if self.state().intake.take().is_some() {
            tracing::info!("intake works again");
        }
    }

    /// A storage call worked.
    pub fn storage_ok(&self) {
        if self.state().storage.take().is_some() {
            tracing::info!("storage works again");
        }
    }

    /// Whether files of this host that every send needs (the fence, recovery copies, the epoch file) can be used; `fault` is
    /// why not.
    pub fn own_files(&self, what: &'static str, fault: Option<String>) {
        let now = self.clock.wall();
        let mut state = self.state();
        match fault {
            None => drop(state.own.remove(what)),
            Some(why) => {
                let since = state.own.remove(what).map_or(now, |down| down.since);
                state.own.insert(what, Down { since, why });
            }
        }
    }

    /// Whether there is trouble with these files of the role's own, as last told.
    pub fn is_own_file_bad(&self, what: &str) -> bool {
        self.state().own.contains_key(what)
    }

    /// Whether the disk has less free space than the configuration asks for.
    pub fn disk_low(&self, low: bool) {
        let now = self.clock.wall();
        let mut state = self.state();
        if low && state.disk_low.is_none() {
            tracing::error!(
                "the disk has less free space than limits.disk_free_bytes_min; nothing is taken in or claimed until there is more"
            );
        }
        state.disk_low = low.then(|| state.disk_low.unwrap_or(now));
    }

    /// Whether the wall clock is behind the highest time seen.
    pub fn clock_behind(&self, behind: bool) {
        let mut state = self.state();
        if behind && !state.clock_behind {
            tracing::error!(
                "the wall clock is behind the highest time seen; no DELETE is claimed until `lockgate clock accept`"
            );
        }
        state.clock_behind = behind;
    }

    /// Whether the root-owned `frozen` file is present.
    pub fn frozen_file(&self, present: bool) {
        self.state().frozen_file = present;
    }

    /// As last told.
    pub fn is_frozen_by_file(&self) -> bool {
        self.state().frozen_file
    }

    /// A pass of the work loop ended.
    pub fn passed(&self) {
        let now = self.clock.boot();
        self.state().last_pass = now;
    }

    /// Whether the work loop did not pass for too long.
    pub fn is_stale(&self) -> bool {
        self.clock.boot().0 - self.state().last_pass.0 > STALE_MS
    }

    /// Everything that is wrong, worst first.
    pub fn list(&self) -> Vec<Condition> {
        let boot = self.clock.boot();
        let state = self.state();
        let mut list = Vec::new();
        for (reason, text, since) in [&state.storage, &state.intake].into_iter().flatten() {
            list.push(Condition {
                reason,
                text: format!("{text} (since {})", crate::job::time::format_utc(*since)),
            });
        }
        for down in state.own.values() {
            let since = crate::job::time::format_utc(down.since);
            let text = format!("{} (since {since})", down.why);
            list.push(Condition { reason: "disk", text });
        }
        if let Some(since) = state.disk_low {
            let since = crate::job::time::format_utc(since);
            let text = format!(
                "less free space than limits.disk_free_bytes_min (since {since}); make room, work goes on by itself"
            );
            list.push(Condition { reason: "disk", text });
        }
        if boot.0 - state.last_pass.0 > STALE_MS {
            let text = format!(
                "no pass of the work loop for {} s",
                (boot.0 - state.last_pass.0) / 1000
            );
            list.push(Condition {
                reason: "dispatcher-stale",
                text,
            });
        }
        let downs = [
            ("credential", &state.credential),
            ("target", &state.target.down),
            ("source", &state.source.down),
        ];
        for (reason, down) in downs {
            if let Some(down) = down {
                let since = crate::job::time::format_utc(down.since);
                list.push(Condition {
                    reason,
                    text: format!("{} (since {since})", down.why),
                });
            }
        }
        if state.clock_behind {
            let text =
                "the wall clock is behind the highest time seen; set it right, or `lockgate clock accept`"
                    .to_owned();
            list.push(Condition {
                reason: "clock",
                text,
            });
        }
        list
    }
}
