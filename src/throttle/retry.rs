//! When a SAVE may be tried again (design 3). In: the attempt that failed, and times. Out: a delay, or that it was the last.
//!
//! Not here: whether it may be tried again at all (settlement/); DELETE never is.

use crate::clock::{BootMs, WallMs};
use std::time::Duration;

/// Attempts a SAVE has, counted at the claim. More would keep a job alive that nobody waits for any more.
pub const SAVE_ATTEMPTS_MAX: u32 = 8;

/// The delay after the first, second, … failed attempt; the last one holds for all that follow.
const DELAYS_S: [u64; 5] = [30, 2 * 60, 10 * 60, 60 * 60, 6 * 60 * 60];

/// The delay after attempt number `attempt` (from 1) failed; `None`: it was the last, the job is `attempts_exhausted`.
pub fn save_retry_delay(attempt: u32) -> Option<Duration> {
    if attempt >= SAVE_ATTEMPTS_MAX {
        return None;
    }
    let at = usize::try_from(attempt.saturating_sub(1))
        .unwrap_or(usize::MAX)
        .min(DELAYS_S.len() - 1);
    DELAYS_S.get(at).map(|seconds| Duration::from_secs(*seconds))
}

/// A time before which a job is left alone, as it is stored with the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotBefore {
    /// The boot in which `boot` means something.
    pub boot_id: String,
    /// Due, in milliseconds since that boot.
    pub boot: BootMs,
    /// Due by the wall clock.
    pub wall: WallMs,
    /// The delay it was made from: whatever the wall clock says after a reboot, it is never longer than this.
    pub nominal: Duration,
}

impl NotBefore {
    /// `delay` from now.
    pub fn after(delay: Duration, boot_id: &str, boot: BootMs, wall: WallMs) -> NotBefore {
        let ms = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        NotBefore {
            boot_id: boot_id.to_owned(),
            boot: BootMs(boot.0.saturating_add(ms)),
            wall: WallMs(wall.0.saturating_add(ms)),
            nominal: delay,
        }
    }

    /// How long to wait still; zero when due. In the same boot the wall clock does not matter.
    pub fn remaining(&self, boot_id: &str, boot: BootMs, wall: WallMs) -> Duration {
        let ms = if self.boot_id == boot_id {
            self.boot.0.saturating_sub(boot.0)
        } else {
            self.wall.0.saturating_sub(wall.0)
        };
        Duration::from_millis(u64::try_from(ms).unwrap_or(0)).min(self.nominal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};

    #[test]
    fn eight_attempts_with_the_delays_of_the_design() {
        let seconds: Vec<Option<u64>> = (1..=9)
            .map(|attempt| save_retry_delay(attempt).map(|delay| delay.as_secs()))
            .collect();
        let six_hours = Some(21_600);
        assert_eq!(
            seconds,
            [
                Some(30),
                Some(120),
                Some(600),
                Some(3600),
                six_hours,
                six_hours,
                six_hours,
                None,
                None
            ]
        );
        assert_eq!(save_retry_delay(u32::MAX), None);
    }

    #[test]
    fn in_one_boot_a_jumping_wall_clock_changes_nothing() {
        let due = NotBefore::after(Duration::from_secs(30), "a", BootMs(1000), WallMs(0));
        for wall in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert_eq!(
                due.remaining("a", BootMs(11_000), WallMs(wall)),
                Duration::from_secs(20)
            );
        }
    }

    #[test]
    fn after_a_reboot_the_wall_clock_counts_but_never_for_longer_than_the_delay() {
        let due = NotBefore::after(Duration::from_secs(30), "a", BootMs(1000), WallMs(1_000_000));
        assert_eq!(
            due.remaining("b", BootMs(0), WallMs(1_010_000)),
            Duration::from_secs(20)
        );
        assert_eq!(
            due.remaining("b", BootMs(0), WallMs(-1_000_000_000)),
            Duration::from_secs(30)
        );
        assert_eq!(due.remaining("b", BootMs(0), WallMs(2_000_000)), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn never_longer_than_the_delay(ms in 0u64..100_000_000, boot in any::<i64>(), wall in any::<i64>(), then in any::<i64>()) {
            let delay = Duration::from_millis(ms);
            let due = NotBefore::after(delay, "a", BootMs(boot), WallMs(wall));
            prop_assert!(due.remaining("a", BootMs(then), WallMs(then)) <= delay);
            prop_assert!(due.remaining("b", BootMs(then), WallMs(then)) <= delay);
        }
    }
}
