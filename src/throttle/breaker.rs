//! A breaker in front of something that is down. In: successes, failures and the time. Out: go, try one, or wait.
//!
//! closed —failure→ open —delay over→ one trial —success→ closed, —failure→ open for twice as long. An outage of days costs
//! one trial a [`Delays::longest`], and no job an attempt.
//!
//! Not here: what counts as a failure.

use crate::clock::BootMs;
use std::time::Duration;

/// How long a breaker stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delays {
    /// After the first failure; each further one in a row doubles it.
    pub first: Duration,
    /// And never longer than this.
    pub longest: Duration,
}

/// May something be tried now?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Answer {
    /// Yes.
    Go,
    /// Yes, and it is the one trial: everybody else waits until it is reported.
    Trial,
    /// No, not before this much time has passed.
    Wait(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open {
        until: BootMs,
    },
    /// Somebody is trying. If nobody reports by `until`, the trial is given to the next who asks.
    Trying {
        until: BootMs,
    },
}

/// A breaker; a value that its owner keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    delays: Delays,
    state: State,
    /// Failures in a row, those that opened it: what was under way at the time does not count again.
    failures: u32,
    /// When it opened first, for health and `why`.
    since: Option<BootMs>,
}

impl Breaker {
    /// A closed one.
    pub fn new(delays: Delays) -> Breaker {
        Breaker {
            delays,
            state: State::Closed,
            failures: 0,
            since: None,
        }
    }

    /// May something be tried at `now`? [`Answer::Trial`] must be followed by [`Breaker::succeeded`] or [`Breaker::failed`].
    pub fn ask(&mut self, now: BootMs) -> Answer {
        match self.state {
            State::Closed => Answer::Go,
            State::Open { until } | State::Trying { until } if now < until => Answer::Wait(from(now, until)),
            State::Open { .. } | State::Trying { .. } => {
                self.state = State::Trying {
                    until: after(now, self.delays.longest),
                };
                Answer::Trial
            }
        }
    }

    /// What [`Breaker::ask`] would say, without taking the trial.
    pub fn wait(&self, now: BootMs) -> Option<Duration> {
        match self.state {
            State::Closed => None,
            State::Open { until } | State::Trying { until } => (now < until).then(|| from(now, until)),
        }
    }

    /// It works (again).
    pub fn succeeded(&mut self) {
        self.state = State::Closed;
        self.failures = 0;
        self.since = None;
    }

    /// It does not. While the breaker is open, what was sent before it opened changes nothing.
    pub fn failed(&mut self, now: BootMs) {
        match self.state {
            State::Open { .. } => {}
            State::Closed | State::Trying { .. } => {
                self.failures = self.failures.saturating_add(1);
                self.open_until(now, after(now, self.delay()));
            }
        }
    }

    /// The other side named a time (429 with Retry-After): nothing before it, and it is no failure of its own.
    pub fn hold(&mut self, now: BootMs, wait: Duration) {
        let asked = after(now, wait);
        let until = match self.state {
            State::Closed => asked,
            State::Open { until } => until.max(asked),
            State::Trying { .. } => asked,
        };
        self.open_until(now, until);
    }

    /// An operator resumed, or the credential changed: the next one may try at once.
    pub fn reset(&mut self) {
        self.succeeded();
    }

    /// Since when it has not worked.
    pub fn since(&self) -> Option<BootMs> {
        self.since
    }

    fn open_until(&mut self, now: BootMs, until: BootMs) {
        self.since.get_or_insert(now);
        self.state = State::Open { until };
    }

    fn delay(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(31);
        self.delays
            .first
            .saturating_mul(1 << doublings)
            .min(self.delays.longest)
    }
}

fn after(now: BootMs, wait: Duration) -> BootMs {
    BootMs(
        now.0
            .saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)),
    )
}

fn from(now: BootMs, until: BootMs) -> Duration {
    Duration::from_millis(u64::try_from(until.0.saturating_sub(now.0)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    const SECOND: Duration = Duration::from_secs(1);
    const DELAYS: Delays = Delays {
        first: SECOND,
        longest: Duration::from_secs(60),
    };

    #[test]
    fn it_opens_tries_once_and_closes() {
        let mut breaker = Breaker::new(DELAYS);
        assert_eq!(breaker.ask(BootMs(0)), Answer::Go);
        breaker.failed(BootMs(0));
        assert_eq!(breaker.ask(BootMs(1)), Answer::Wait(Duration::from_millis(999)));
        assert_eq!(breaker.ask(BootMs(1000)), Answer::Trial);
        assert!(
            matches!(breaker.ask(BootMs(1000)), Answer::Wait(_)),
            "one trial at a time"
        );
        breaker.succeeded();
        assert_eq!(breaker.ask(BootMs(1000)), Answer::Go);
        assert_eq!(breaker.since(), None);
        breaker.failed(BootMs(2000));
        assert_eq!(
            breaker.wait(BootMs(2000)),
            Some(SECOND),
            "a success forgets the failures before it"
        );
    }

    #[test]
    fn the_delay_doubles_up_to_the_longest() {
        let mut breaker = Breaker::new(DELAYS);
        let (mut now, mut delays) = (BootMs(0), Vec::new());
        for _ in 0..9 {
            breaker.failed(now);
            let wait = breaker.wait(now).unwrap();
            delays.push(wait.as_secs());
            now = after(now, wait);
            assert_eq!(breaker.ask(now), Answer::Trial);
        }
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(breaker.since(), Some(BootMs(0)));
    }

    #[test]
    fn sixteen_workers_failing_at_once_are_one_failure() {
        let mut breaker = Breaker::new(DELAYS);
        for at in 0..16 {
            breaker.failed(BootMs(at));
        }
        assert_eq!(breaker.wait(BootMs(0)), Some(SECOND));
    }

    #[test]
    fn a_trial_that_nobody_reports_is_given_to_the_next() {
        let mut breaker = Breaker::new(DELAYS);
        breaker.failed(BootMs(0));
        assert_eq!(breaker.ask(BootMs(1000)), Answer::Trial);
        assert_eq!(breaker.ask(BootMs(61_000)), Answer::Trial);
    }

    #[test]
    fn a_time_that_was_named_is_kept_and_never_shortened() {
        let mut breaker = Breaker::new(DELAYS);
        breaker.hold(BootMs(0), Duration::from_secs(300));
        breaker.hold(BootMs(0), SECOND);
        breaker.failed(BootMs(10));
        assert_eq!(breaker.wait(BootMs(0)), Some(Duration::from_secs(300)));
        breaker.reset();
        assert_eq!(breaker.ask(BootMs(1)), Answer::Go);
    }

    proptest! {
        #[test]
        fn an_outage_costs_few_trials_and_ends_with_it(steps in proptest::collection::vec(1i64..30_000, 1..300)) {
            let mut breaker = Breaker::new(DELAYS);
            breaker.failed(BootMs(0));
            let (mut now, mut trials) = (0i64, 0i64);
            for step in steps {
                now += step;
                match breaker.ask(BootMs(now)) {
                    Answer::Trial => {
                        trials += 1;
                        breaker.failed(BootMs(now));
                    }
                    Answer::Wait(wait) => prop_assert!(wait <= DELAYS.longest),
                    Answer::Go => prop_assert!(false, "open breakers do not say go"),
                }
            }
            prop_assert!(trials <= 6 + now / 60_000, "{trials} trials in {now} ms");
            breaker.succeeded();
            prop_assert!(breaker.ask(BootMs(now)) == Answer::Go);
        }
    }
}
