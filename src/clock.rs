//! The only reader of time. In: nothing. Out: wall milliseconds, boot-scoped monotonic milliseconds, the boot id.
//!
//! Not here: parsing or printing of times in documents (`job::time`), waiting (each loop waits on its own signal).

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Milliseconds since 1970-01-01T00:00:00Z by the wall clock; may jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallMs(pub i64);

/// Milliseconds since boot, suspend included (CLOCK_BOOTTIME); never jumps, ends with the boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootMs(pub i64);

/// What every room that needs the time is handed.
pub trait Clock: Send + Sync + Debug {
    /// Wall time now.
    fn wall(&self) -> WallMs;
    /// Monotonic time since boot now.
    fn boot(&self) -> BootMs;
    /// Identifies this boot: leases of another boot are dead.
    fn boot_id(&self) -> String;
}

/// A shared handle to a clock.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's clock.
#[derive(Debug, Clone)]
pub struct SystemClock {
    boot_id: String,
}

impl SystemClock {
    /// A clock for the boot named `boot_id` (found by `daemon::boot_id`).
    pub fn new(boot_id: String) -> SystemClock {
        SystemClock { boot_id }
    }
}

fn read(id: rustix::time::ClockId) -> i64 {
    let at = rustix::time::clock_gettime(id);
    at.tv_sec.saturating_mul(1000).saturating_add(at.tv_nsec / 1_000_000)
}

impl Clock for SystemClock {
    fn wall(&self) -> WallMs {
        WallMs(read(rustix::time::ClockId::Realtime))
    }
    fn boot(&self) -> BootMs {
        BootMs(read(rustix::time::ClockId::Boottime))
    }
    fn boot_id(&self) -> String {
        self.boot_id.clone()
    }
}

/// A clock that moves only when told to: for tests and the simulation.
#[derive(Debug)]
pub struct TestClock {
    wall: AtomicI64,
    boot: AtomicI64,
    boot_id: String,
}

impl TestClock {
    /// Starts at the given wall time, one second after boot.
    pub fn at(wall: WallMs) -> TestClock {
        TestClock { wall: AtomicI64::new(wall.0), boot: AtomicI64::new(1000), boot_id: "test-boot-1".to_owned() }
    }
    /// Both clocks move forward together.
    pub fn advance(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.boot.fetch_add(ms, Ordering::SeqCst);
    }
    /// Only the wall clock jumps, as NTP or a person would make it.
    pub fn jump_wall(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn wall(&self) -> WallMs {
        WallMs(self.wall.load(Ordering::SeqCst))
    }
    fn boot(&self) -> BootMs {
        BootMs(self.boot.load(Ordering::SeqCst))
    }
    fn boot_id(&self) -> String {
        self.boot_id.clone()
    }
}
