//! Doing nothing for a while, for verbs that have nothing to wait on. In: milliseconds. Out: nothing.
//!
//! Not here: the roles, which wait on signals only.

use rustix::event::Timespec;

/// Returns after so many milliseconds, or earlier if a signal comes.
pub(super) fn pause_ms(ms: i64) {
    let time = Timespec {
        tv_sec: ms / 1000,
        tv_nsec: (ms % 1000) * 1_000_000,
    };
    // An interrupted pause is only a shorter one.
    let _interrupted = rustix::event::poll(&mut [], Some(&time));
}
