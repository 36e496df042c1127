//! A role's directories in a temporary place, for the tests of this room.

use super::{Ask, Batch, Intake, IntakeError, Kind, Ownership, Room, Settings, Source};
use crate::clock::{SharedClock, TestClock, WallMs};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// `drop/`, `gate/` and the state directory, with a clock that begins now.
pub(super) struct Yard {
    pub(super) _temporary: Option<tempfile::TempDir>,
    pub(super) drop: PathBuf,
    pub(super) gate: PathBuf,
    pub(super) state: PathBuf,
    pub(super) clock: Arc<TestClock>,
    pub(super) refused_uids: Vec<u32>,
    pub(super) gateway: u32,
}

impl Yard {
    pub(super) fn new() -> Yard {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().to_owned();
        Yard {
            _temporary: Some(temporary),
            ..Yard::at(&at)
        }
    }

    /// In a directory that somebody else looks after.
    pub(super) fn at(root: &Path) -> Yard {
        let [drop, gate, state] = ["drop", "gate", "state"].map(|name| root.join(name));
        for dir in [&drop, &gate, &state] {
            fs::create_dir_all(dir).unwrap();
        }
        let now = fs::metadata(&state).unwrap();
        let clock = Arc::new(TestClock::at(WallMs(
            now.ctime() * 1000 + now.ctime_nsec() / 1_000_000,
        )));
        Yard {
            _temporary: None,
            drop,
            gate,
            state,
            clock,
            refused_uids: Vec::new(),
            gateway: me(),
        }
    }

    pub(super) fn open(&self) -> Result<Intake, IntakeError> {
        self.open_with(Arc::clone(&self.clock) as _)
    }

    pub(super) fn open_with(&self, clock: SharedClock) -> Result<Intake, IntakeError> {
        Intake::open(Settings {
            state_dir: self.state.clone(),
            sources: vec![
                Source {
                    path: self.drop.clone(),
                    kind: Kind::Drop,
                },
                Source {
                    path: self.gate.clone(),
                    kind: Kind::Gate {
                        gateway: self.gateway,
                    },
                },
            ],
            ownership: Ownership::Ours,
            refused_uids: self.refused_uids.clone(),
            quarantine_bytes_max: 1 << 20,
            clock,
        })
    }

    pub(super) fn intake(&self) -> Intake {
        self.open().unwrap()
    }

    /// As the drop protocol wants it, syncs aside.
    pub(super) fn drop(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let unfinished = self.drop.join(format!(".{name}"));
        fs::write(&unfinished, bytes).unwrap();
        let path = self.drop.join(name);
        fs::rename(unfinished, &path).unwrap();
        path
    }

    /// As the gateway does it for `uid`.
    pub(super) fn gate(&self, uid: u32, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.gate.join(format!("{uid}-{name}")), bytes).unwrap();
    }

    /// What lies in drop/ and gate/, sorted.
    pub(super) fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = [&self.drop, &self.gate]
            .into_iter()
            .flat_map(|dir| fs::read_dir(dir).unwrap())
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

pub(super) const EVERYTHING: Ask<'static> = Ask {
    files_max: 1024,
    bytes_max: 1 << 30,
    room: &|_| Room::UNLIMITED,
};

pub(super) fn scan(intake: &mut Intake) -> Batch {
    intake.scan_once(&EVERYTHING).unwrap()
}

/// Commits all of it; says how many could not be removed.
pub(super) fn commit(intake: &mut Intake, batch: &Batch) -> usize {
    intake.finish(&batch.tickets()).unwrap().len()
}

/// Names of the files that were read, in the order of the batch.
pub(super) fn names(batch: &Batch) -> Vec<String> {
    batch.files.iter().map(|file| file.name().to_owned()).collect()
}

/// Code and message of each refusal, sorted.
pub(super) fn refusals(batch: &Batch) -> Vec<String> {
    let mut all: Vec<String> = batch.refused.iter().map(|one| one.refusal.to_string()).collect();
    all.sort();
    all
}
