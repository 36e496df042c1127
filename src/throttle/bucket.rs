//! A token bucket as a value. In: a rate, a level and the time. Out: the next level, and yes or how long to wait.
//!
//! Not here: whose bucket it is, or where its level is stored.

use crate::clock::BootMs;
use std::time::Duration;

/// Parts of one token, so that a slow rate still fills in whole numbers: one token a minute is 1 part a millisecond.
const PARTS: u64 = 60_000;

/// How many tokens there may be, and how fast they come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Tokens a full bucket holds: the largest burst.
    pub burst: u32,
    /// Tokens that come back in a minute; 0 is never.
    pub per_minute: u32,
}

/// What is in a bucket. Plain numbers, so that it can be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Sixty-thousandths of a token.
    pub parts: u64,
    /// When that was true, in milliseconds since boot.
    pub at: BootMs,
}

/// The answer of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Take {
    /// The tokens were there and are taken.
    Taken(Level),
    /// They were not; nothing is taken. They are there after this time, `None` if never (more than a burst, or no refill).
    Wait(Option<Duration>),
}

impl Rate {
    /// A full bucket.
    pub fn full(self, now: BootMs) -> Level {
        Level {
            parts: self.capacity(),
            at: now,
        }
    }

    fn capacity(self) -> u64 {
        u64::from(self.burst) * PARTS
    }

    /// The level at `now`. A time before the level's own (another boot) refills nothing and starts counting anew.
    pub fn refilled(self, level: Level, now: BootMs) -> Level {
        let passed = u64::try_from(now.0.saturating_sub(level.at.0)).unwrap_or(0);
        let parts = level
            .parts
            .saturating_add(passed.saturating_mul(u64::from(self.per_minute)));
        Level {
            parts: parts.min(self.capacity()),
            at: now,
        }
    }

    /// Takes `tokens` at `now`, all or none.
    pub fn take(self, level: Level, tokens: u32, now: BootMs) -> Take {
        let level = self.refilled(level, now);
        let wanted = u64::from(tokens) * PARTS;
        if let Some(parts) = level.parts.checked_sub(wanted) {
            return Take::Taken(Level { parts, at: now });
        }
        if tokens > self.burst || self.per_minute == 0 {
            return Take::Wait(None);
        }
        let missing = wanted - level.parts;
        Take::Wait(Some(Duration::from_millis(
            missing.div_ceil(u64::from(self.per_minute)),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    const RATE: Rate = Rate {
        burst: 3,
        per_minute: 60,
    };

    fn taken(take: Take) -> Level {
        match take {
            Take::Taken(level) => level,
            Take::Wait(wait) => panic!("had to wait {wait:?}"),
        }
    }

    #[test]
    fn a_burst_is_served_and_then_one_a_second() {
        let mut level = RATE.full(BootMs(0));
        for _ in 0..3 {
            level = taken(RATE.take(level, 1, BootMs(0)));
        }
        assert_eq!(
            RATE.take(level, 1, BootMs(0)),
            Take::Wait(Some(Duration::from_secs(1)))
        );
        assert_eq!(
            RATE.take(level, 1, BootMs(999)),
            Take::Wait(Some(Duration::from_millis(1)))
        );
        level = taken(RATE.take(level, 1, BootMs(1000)));
        assert_eq!(level.parts, 0);
    }

    #[test]
    fn more_than_a_burst_never_comes() {
        assert_eq!(RATE.take(RATE.full(BootMs(0)), 4, BootMs(0)), Take::Wait(None));
        let closed = Rate {
            burst: 1,
            per_minute: 0,
        };
        let empty = taken(closed.take(closed.full(BootMs(0)), 1, BootMs(0)));
        assert_eq!(closed.take(empty, 1, BootMs(i64::MAX)), Take::Wait(None));
    }

    #[test]
    fn a_level_from_another_boot_gives_nothing_for_free() {
        let level = Level {
            parts: 0,
            at: BootMs(1_000_000),
        };
        assert_eq!(
            RATE.refilled(level, BootMs(5)),
            Level {
                parts: 0,
                at: BootMs(5)
            }
        );
    }

    proptest! {
        #[test]
        fn never_more_than_burst_plus_refill(
            burst in 1u32..50, per_minute in 0u32..5_000, steps in proptest::collection::vec((0i64..5_000, 1u32..4), 1..200)
        ) {
            let rate = Rate { burst, per_minute };
            let (mut now, mut level, mut served) = (0i64, rate.full(BootMs(0)), 0u64);
            for (wait, tokens) in steps {
                now += wait;
                if let Take::Taken(next) = rate.take(level, tokens, BootMs(now)) {
                    level = next;
                    served += u64::from(tokens);
                }
                let most = u64::from(burst) + u64::try_from(now).unwrap() * u64::from(per_minute) / 60_000;
                prop_assert!(served <= most, "{served} > {most}");
            }
        }

        #[test]
        fn after_the_wait_it_is_there(parts in 0u64..180_000, per_minute in 1u32..10_000, tokens in 1u32..=3) {
            let rate = Rate { burst: 3, per_minute };
            let level = Level { parts, at: BootMs(0) };
            if let Take::Wait(Some(wait)) = rate.take(level, tokens, BootMs(0)) {
                let then = i64::try_from(wait.as_millis()).unwrap();
                prop_assert!(matches!(rate.take(level, tokens, BootMs(then)), Take::Taken(_)));
                prop_assert!(matches!(rate.take(level, tokens, BootMs(then - 1)), Take::Wait(_)));
            }
        }

        #[test]
        fn no_number_overflows(parts in any::<u64>(), at in any::<i64>(), now in any::<i64>(), burst in any::<u32>(), rate in any::<u32>()) {
            let rate = Rate { burst, per_minute: rate };
            let level = rate.refilled(Level { parts, at: BootMs(at) }, BootMs(now));
            prop_assert!(level.parts <= u64::from(burst) * 60_000);
            prop_assert_eq!(level.at, BootMs(now));
        }
    }
}
