//! Whether a role is stopped, for verbs that touch its files. In: its state directory. Out: a lock that keeps it from starting meanwhile,
//! or who still runs.
//!
//! Not here: what the verbs do.

use super::Ctx;
use crate::durable::open_lock_file;
use crate::exit::Exit;
use crate::job::{Role, Uuid4};
use crate::workers;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::path::Path;

/// While it is held no process of the role gets past its start.
#[derive(Debug)]
pub(super) struct Stopped {
    _start: File,
}

impl Stopped {
    /// Takes the role's start lock and looks at every worker lock.
    pub(super) fn hold(ctx: &Ctx, role: Role, state_dir: &Path) -> Result<Stopped, Exit> {
        let fail = |what: &str, error: &io::Error| {
            ctx.ui.say(&format!("{}: {what}: {error}", state_dir.display()));
            super::ui::exit_of_io(error)
        };
        let start = open_lock_file(&state_dir.join("start.lock"))
            .map_err(|error| fail("start.lock cannot be opened", &error))?;
        if flock(&start, FlockOperation::NonBlockingLockExclusive).is_err() {
            ctx.ui.say(&format!(
                "the role {role} is starting, or another command works on its state"
            ));
            return Err(Exit::TryAgain);
        }
        let running = running(state_dir).map_err(|error| fail("its worker locks cannot be read", &error))?;
        if let Some(worker) = running.first() {
            ctx.ui.say(&format!(
                "the role {role} runs (worker {worker}): stop it first (`systemctl stop lockgate-{role}.service`, or end `lockgate up`)"
            ));
            return Err(Exit::TryAgain);
        }
        Ok(Stopped { _start: start })
    }
}

/// Workers whose lock somebody holds.
fn running(state_dir: &Path) -> io::Result<Vec<Uuid4>> {
    let mut running = Vec::new();
    for entry in std::fs::read_dir(state_dir)? {
        let name = entry?.file_name();
        let id = name
            .to_str()
            .and_then(|name| name.strip_prefix("worker-")?.strip_suffix(".lock"))
            .and_then(Uuid4::parse);
        if let Some(id) = id
            && workers::is_alive(state_dir, id)?
        {
            running.push(id);
        }
    }
    Ok(running)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workers::WorkerLock;

    #[test]
    fn only_workers_that_live_count() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(format!("worker-{}.lock", Uuid4::random())), "").unwrap();
        assert!(running(dir.path()).unwrap().is_empty());
        let lock = WorkerLock::acquire(dir.path()).unwrap();
        assert_eq!(running(dir.path()).unwrap(), [lock.id()]);
    }
}
