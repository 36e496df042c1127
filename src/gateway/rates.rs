//! How fast each requester may send. In: a UID and how many documents. Out: go, or 429 with the seconds to wait.
//!
//! The buckets live in memory: a restart refills them. A requester cannot cause one, so a restart gives everybody at most
//! one burst; a database of levels would buy no more than that.
//!
//! Not here: the rate (daemon/gate), how much may wait (`pending`).

use crate::clock::SharedClock;
use crate::http::ApiError;
use crate::job::Code;
use crate::throttle::{Level, Rate, Take};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Buckets kept before full ones are forgotten: a full bucket says nothing.
const BUCKETS_KEPT: usize = 1024;

/// One bucket for each requester.
#[derive(Debug)]
pub(super) struct Rates {
    rate: Rate,
    clock: SharedClock,
    levels: Mutex<HashMap<u32, Level>>,
}

impl Rates {
    pub(super) fn new(rate: Rate, clock: SharedClock) -> Rates {
        Rates {
            rate,
            clock,
            levels: Mutex::new(HashMap::new()),
        }
    }

    /// Takes `documents` from the bucket of `uid`, all or none.
    ///
    /// # Errors
    /// 429 `rate_limited`.
    pub(super) fn take(&self, uid: u32, documents: usize) -> Result<(), ApiError> {
        let now = self.clock.boot();
        let wanted = u32::try_from(documents).unwrap_or(u32::MAX);
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.len() >= BUCKETS_KEPT && !levels.contains_key(&uid) {
            let full = self.rate.full(now).parts;
            levels.retain(|_, level| self.rate.refilled(*level, now).parts < full);
        }
        let level = levels.get(&uid).copied().unwrap_or_else(|| self.rate.full(now));
        match self.rate.take(level, wanted, now) {
            Take::Taken(level) => {
                levels.insert(uid, level);
                Ok(())
            }
            Take::Wait(Some(wait)) => {
                let message =
                    "this user sends faster than limits.submissions_per_minute; nothing was accepted";
                Err(limited(message).retry_after(whole_seconds(wait)))
            }
            Take::Wait(None) => Err(limited(format!(
                "limits.submissions_per_minute takes at most {} documents at once; split the upload",
                self.rate.burst
            ))
            .retry_after(60)),
        }
    }
}

fn whole_seconds(wait: std::time::Duration) -> u32 {
    u32::try_from(wait.as_millis().div_ceil(1000))
        .unwrap_or(u32::MAX)
        .max(1)
}

/// 429.
pub(super) fn limited(message: impl Into<String>) -> ApiError {
    ApiError::field(Code::RateLimited, "", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{TestClock, WallMs};
    use std::sync::Arc;

    #[test]
    fn f190_each_uid_has_its_own_bucket_and_is_told_when_to_come_back() {
        let clock = Arc::new(TestClock::at(WallMs(0)));
        let rate = Rate {
            burst: 2,
            per_minute: 60,
        };
        let rates = Rates::new(rate, clock.clone());
        rates.take(1, 2).unwrap();
        let no = rates.take(1, 2).unwrap_err();
        assert_eq!(
            (no.status, no.code, no.retry_after_s),
            (429, "rate_limited", Some(2))
        );
        rates.take(2, 1).unwrap();
        clock.jump_wall(3_600_000);
        assert!(rates.take(1, 1).is_err(), "the wall clock refills nothing");
        clock.advance(2_000);
        rates.take(1, 2).unwrap();
        let never = rates.take(3, 3).unwrap_err();
        assert!(never.message.contains("at most 2"), "{never}");
    }

    #[test]
    fn full_buckets_are_forgotten_and_empty_ones_are_not() {
        let clock = Arc::new(TestClock::at(WallMs(0)));
        let rate = Rate {
            burst: 1,
            per_minute: 60,
        };
        let rates = Rates::new(rate, clock.clone());
        for uid in 0..1500 {
            rates.take(uid, 1).unwrap();
        }
        assert_eq!(rates.levels.lock().unwrap().len(), 1500);
        clock.advance(1_000);
        rates.take(0, 1).unwrap();
        rates.take(9_999, 1).unwrap();
        assert_eq!(rates.levels.lock().unwrap().len(), 2);
        assert!(rates.take(0, 1).is_err());
    }
}
