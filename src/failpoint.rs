//! Named crash points between durable steps. In: a name. Out: nothing, or the end of the process.
//!
//! Compiled to nothing unless the `failpoints` feature is on (test builds only). A test arms one with the environment:
//! `LOCKGATE_FAILPOINT=name` kills the process with SIGKILL the first time it is reached, `name=pause` stops it there with
//! SIGSTOP, `name#3` acts on the third time, `name=error` makes the step fail with an I/O error.
//!
//! Not here: faults inside SQLite (sqlite/).

/// Reaches the crash point `name`.
///
/// # Errors
/// An I/O error if the point is armed with `=error`; never in a build without the feature.
#[cfg(feature = "failpoints")]
pub fn reach(name: &'static str) -> std::io::Result<()> {
    armed::reach(name)
}

/// Reaches the crash point `name`: nothing, in a build without the feature.
///
/// # Errors
/// Never.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn reach(_name: &'static str) -> std::io::Result<()> {
    Ok(())
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Act {
        Kill,
        Pause,
        Error,
    }
    #[derive(Debug)]
    struct Armed {
        name: String,
        act: Act,
        on_visit: u64,
    }
    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
    static VISITS: AtomicU64 = AtomicU64::new(0);

    #[expect(
        clippy::disallowed_methods,
        reason = "the one way to arm a crash point in a child process of a test"
    )]
    fn armed() -> Option<&'static Armed> {
        ARMED
            .get_or_init(|| {
                let text = std::env::var("LOCKGATE_FAILPOINT").ok()?;
                let (name, act) = text.split_once('=').unwrap_or((&text, "kill"));
                let (name, visit) = name.split_once('#').unwrap_or((name, "1"));
                let act = match act {
                    "pause" => Act::Pause,
                    "error" => Act::Error,
                    _ => Act::Kill,
                };
                Some(Armed {
                    name: name.to_owned(),
                    act,
                    on_visit: visit.parse().unwrap_or(1),
                })
            })
            .as_ref()
    }

    pub(super) fn reach(name: &'static str) -> std::io::Result<()> {
        let Some(armed) = armed() else { return Ok(()) };
        if armed.name != name || VISITS.fetch_add(1, Ordering::SeqCst) + 1 != armed.on_visit {
            return Ok(());
        }
        let pid = rustix::process::getpid();
        match armed.act {
            Act::Error => Err(std::io::Error::other(format!("injected at {name}"))),
            Act::Kill => {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).map_err(Into::into)
            }
            Act::Pause => {
                rustix::process::kill_process(pid, rustix::process::Signal::STOP)?;
                // Any thread may take the signal, and this one would run on until that one is scheduled.
                let until_stopped = rustix::time::Timespec {
                    tv_sec: 0,
                    tv_nsec: 200_000_000,
                };
                let _passed = rustix::thread::nanosleep(&until_stopped);
                Ok(())
            }
        }
    }
}
