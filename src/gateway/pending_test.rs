//! What waits in the gate directories is counted, found and forgotten.

use super::*;
use crate::clock::{TestClock, WallMs};
use crate::job::sha256;

const UID: u32 = 1000;

struct Place {
    dir: tempfile::TempDir,
    clock: Arc<TestClock>,
    pending: Arc<Pending>,
}

fn place(documents_per_uid: u64, documents: u64) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(WallMs(0)));
    let limits = PendingLimits {
        documents_per_uid,
        bytes_per_uid: 1000,
        documents,
        bytes: 1500,
    };
    let gates = vec![(Role::Save, dir.path().to_owned())];
    let pending = Pending::open(gates, limits, clock.clone());
    Place { dir, clock, pending }
}

impl Place {
    fn put(&self, uid: u32, name: &str, id: JobId) {
        std::fs::write(self.dir.path().join(name), "x").unwrap();
        let filed = Filed {
            digest: sha256(name.as_bytes()),
            job_id: Some(id),
            range: 0..1,
        };
        let hold = self.pending.hold(uid, 1, 1).unwrap();
        hold.keep(Role::Save, name.to_owned(), vec![filed]);
    }
    fn held(&self) -> Load {
        self.pending.state().all
    }
}

#[test]
fn a_hold_that_is_not_kept_gives_its_room_back() {
    let place = place(2, 10);
    let hold = place.pending.hold(UID, 2, 10).unwrap();
    assert_eq!(place.pending.hold(UID, 1, 1).unwrap_err(), Full);
    drop(hold);
    assert_eq!(place.held(), Load::default());
    place.put(UID, "1000-a.json", JobId::random());
    assert_eq!(
        place.held(),
        Load {
            documents: 1,
            bytes: 1
        }
    );
}

#[test]
fn one_requester_cannot_take_all_the_room_and_all_together_are_bounded() {
    let place = place(2, 3);
    let _own = place.pending.hold(UID, 2, 1).unwrap();
    assert!(place.pending.hold(UID, 1, 1).is_err());
    let _other = place.pending.hold(UID + 1, 1, 1).unwrap();
    assert!(place.pending.hold(UID + 2, 1, 1).is_err());
    let place = self::place(100, 100);
    assert!(place.pending.hold(UID, 1, 1001).is_err(), "bytes of one");
    let _own = place.pending.hold(UID, 1, 1000).unwrap();
    assert!(place.pending.hold(UID + 1, 1, 501).is_err(), "bytes of all");
}

#[test]
fn at_the_limit_the_directory_is_looked_at_but_not_for_every_request() {
    let place = place(1, 10);
    place.put(UID, "1000-a.json", JobId::random());
    assert!(place.pending.hold(UID, 1, 1).is_err());
    std::fs::remove_file(place.dir.path().join("1000-a.json")).unwrap();
    assert!(place.pending.hold(UID, 1, 1).is_err(), "just looked");
    place.clock.advance(LOOK_PAUSE_MS);
    assert!(place.pending.hold(UID, 1, 1).is_ok());
}

#[test]
fn what_was_taken_is_forgotten_even_far_from_the_limit() {
    let place = place(100_000, 100_000);
    for at in 0..1000 {
        let name = format!("1000-{at}.json");
        place.put(UID, &name, JobId::random());
        std::fs::remove_file(place.dir.path().join(name)).unwrap();
    }
    let state = place.pending.state();
    assert!(
        state.files.len() <= LOOK_AT_FILES_MIN + 1,
        "{}",
        state.files.len()
    );
    assert_eq!(state.jobs.len(), state.files.len());
    assert_eq!(state.digests.len(), state.files.len());
    assert_eq!(state.all.documents, u64::try_from(state.files.len()).unwrap());
}

#[test]
fn a_job_in_two_files_is_found_as_long_as_the_later_one_waits() {
    let place = place(10, 10);
    let id = JobId::random();
    place.put(UID, "1000-a.json", id);
    place.put(UID, "1000-b.json", id);
    assert!(place.pending.job(UID + 1, id).is_none());
    std::fs::remove_file(place.dir.path().join("1000-a.json")).unwrap();
    assert!(place.pending.digest(UID, sha256(b"1000-a.json")).is_none());
    let found = place.pending.job(UID, id).unwrap();
    assert_eq!(found.path, place.dir.path().join("1000-b.json"));
    std::fs::remove_file(&found.path).unwrap();
    assert!(place.pending.job(UID, id).is_none());
    assert_eq!(place.held(), Load::default());
    assert!(place.pending.state().held.is_empty());
}
