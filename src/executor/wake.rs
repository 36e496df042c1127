//! A signal between threads that is never lost. In: pokes. Out: a waiting thread goes on at once, or when its time is up.
//!
//! A poke while nobody waits is kept, so "look, then wait" has no gap. Not here: what there is to do.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// One waiting place; several threads may poke, each waiter consumes what was poked.
#[derive(Debug, Default)]
pub struct Wake {
    poked: Mutex<u64>,
    changed: Condvar,
}

impl Wake {
    /// Lets every waiter go on.
    pub fn poke(&self) {
        let mut poked = self.poked.lock().unwrap_or_else(PoisonError::into_inner);
        *poked = poked.wrapping_add(1);
        self.changed.notify_all();
    }

    /// What was poked so far; to be read before looking for work.
    pub fn seen(&self) -> u64 {
        *self.poked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something was poked since `seen`, at most `timeout_ms`.
    pub fn wait(&self, seen: u64, timeout_ms: u64) {
        let poked = self.poked.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.changed
                .wait_timeout_while(poked, Duration::from_millis(timeout_ms), |now| *now == seen),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_poke_between_looking_and_waiting_is_not_lost() {
        let wake = Arc::new(Wake::default());
        let seen = wake.seen();
        wake.poke();
        // Would hang for an hour if the poke were lost.
        wake.wait(seen, 3_600_000);
        let (other, seen) = (Arc::clone(&wake), wake.seen());
        let thread = std::thread::spawn(move || other.poke());
        wake.wait(seen, 3_600_000);
        thread.join().unwrap();
    }
}
