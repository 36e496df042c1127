//! Copies that open, copies that must not, batches that were cut off.

use super::*;
use crate::clock::TestClock;
use crate::credentials::Secret;
use crate::job::VaultPath;
use crate::keyring::{KeyringFault, Purpose};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const CHILD: &str = "recovery::tests::child";

fn secret(byte: u8) -> Arc<Secret> {
    Arc::new(Secret::new(Zeroizing::new(vec![byte; 32])))
}

fn ring(byte: u8, older: &[Arc<Secret>]) -> Keyring {
    Keyring::new(Purpose::Recovery, &secret(byte), older).unwrap()
}

fn store(dir: &Path) -> RecoveryStore {
    RecoveryStore::open_dir(&dir.join("recovery"), ring(1, &[])).unwrap()
}

fn path(name: &str) -> VaultPath {
    VaultPath::parse("/app/vault/", &format!("/app/vault/{name}")).unwrap()
}

fn keep(store: &RecoveryStore, job: JobId, name: &str, bytes: &[u8]) {
    let mut batch = store.batch();
    batch.seal(job, &path(name), bytes.to_vec()).unwrap();
    batch.commit().unwrap();
}

fn names(store: &RecoveryStore) -> Vec<String> {
    let entries = std::fs::read_dir(&store.dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_committed_copy_opens_after_a_restart_and_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (JobId::random(), JobId::random());
    {
        let store = store(dir.path());
        let mut batch = store.batch();
        batch
            .seal(one, &path("notes/a.md"), b"canary-object".to_vec())
            .unwrap();
        batch.seal(two, &path("b.md"), Vec::new()).unwrap();
        assert!(
            matches!(store.open(&one), Err(RecoveryFault::NoCopy { .. })),
            "not visible before the commit"
        );
        batch.commit().unwrap();
    }
    let store = store(dir.path());
    let copy = store.open(&one).unwrap();
    assert_eq!(
        (copy.vault_path.as_str(), copy.bytes.as_slice()),
        ("/app/vault/notes/a.md", b"canary-object".as_slice())
    );
    assert!(!format!("{copy:?}").contains("canary"));
    assert!(store.open(&two).unwrap().bytes.is_empty());
    let stored = std::fs::read(store.path_of(&one)).unwrap();
    assert!(!stored.windows(6).any(|bytes| bytes == b"canary"));
    assert_eq!(
        store.path_of(&one).metadata().unwrap().permissions().mode() & 0o7777,
        0o600
    );
    assert_eq!(store.dir.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(names(&store).len(), 2);
}

#[test]
fn a_batch_that_is_dropped_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let mut batch = store.batch();
    batch.seal(JobId::random(), &path("a"), b"a".to_vec()).unwrap();
    assert_eq!(names(&store).len(), 1);
    drop(batch);
    assert_eq!(names(&store), Vec::<String>::new());
    store.batch().commit().unwrap();
    assert_eq!(names(&store), Vec::<String>::new());
}

#[test]
fn a_later_copy_of_the_same_job_replaces_the_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let job = JobId::random();
    keep(&store, job, "a", b"first");
    let mut batch = store.batch();
    batch.seal(job, &path("a"), b"second".to_vec()).unwrap();
    batch.seal(job, &path("a"), b"third".to_vec()).unwrap();
    assert_eq!(store.open(&job).unwrap().bytes.as_slice(), b"first");
    batch.commit().unwrap();
    assert_eq!(store.open(&job).unwrap().bytes.as_slice(), b"third");
    assert_eq!(names(&store).len(), 1);
}

#[test]
fn a_copy_changed_in_any_bit_does_not_open() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let job = JobId::random();
    keep(&store, job, "a", b"object");
    let file = store.path_of(&job);
    let good = std::fs::read(&file).unwrap();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&file, &bytes).unwrap();
        let fault = store.open(&job).unwrap_err();
        assert!(
            fault.to_string().contains(file.to_str().unwrap()),
            "{bit}: {fault}"
        );
    }
    for cut in 0..good.len() {
        std::fs::write(&file, &good[..cut]).unwrap();
        store.open(&job).unwrap_err();
    }
    std::fs::write(&file, [&good[..], b"x"].concat()).unwrap();
    store.open(&job).unwrap_err();
    std::fs::write(&file, &good).unwrap();
    store.open(&job).unwrap();
}

#[test]
fn a_copy_given_to_another_job_does_not_open() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let (one, other) = (JobId::random(), JobId::random());
    keep(&store, one, "a", b"object");
    std::fs::copy(store.path_of(&one), store.path_of(&other)).unwrap();
    let fault = store.open(&other).unwrap_err();
    assert!(
        matches!(
            fault,
            RecoveryFault::NotOpened {
                fault: KeyringFault::NotAuthentic,
                ..
            }
        ),
        "{fault}"
    );
    std::fs::remove_file(store.path_of(&other)).unwrap();
    std::os::unix::fs::symlink(store.path_of(&one), store.path_of(&other)).unwrap();
    assert!(matches!(
        store.open(&other).unwrap_err(),
        RecoveryFault::Io { .. }
    ));
}

#[test]
fn after_a_rotation_the_older_key_still_opens() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (JobId::random(), JobId::random());
    keep(&store(dir.path()), old, "a", b"old");
    let with = |ring| RecoveryStore::open_dir(&dir.path().join("recovery"), ring).unwrap();
    let rotated = with(ring(2, &[secret(1)]));
    assert_eq!(rotated.open(&old).unwrap().bytes.as_slice(), b"old");
    keep(&rotated, new, "b", b"new");
    let fault = with(ring(2, &[])).open(&old).unwrap_err();
    assert!(
        matches!(
            fault,
            RecoveryFault::NotOpened {
                fault: KeyringFault::UnknownKey(_),
                ..
            }
        ),
        "{fault}"
    );
    assert_eq!(with(ring(2, &[])).open(&new).unwrap().bytes.as_slice(), b"new");
}

#[test]
fn what_is_too_old_is_pruned_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::at(WallMs(1_000_000)));
    let store = store(dir.path()).with_clock(Arc::clone(&clock) as SharedClock);
    let (old, new, damaged) = (JobId::random(), JobId::random(), JobId::random());
    keep(&store, old, "a", b"old");
    clock.advance(1000);
    keep(&store, new, "b", b"new");
    // Its head says nothing; its file was made just now.
    std::fs::write(store.path_of(&damaged), b"x").unwrap();
    std::fs::write(store.dir.join("README"), b"x").unwrap();
    assert_eq!(store.open(&new).unwrap().sealed_at, WallMs(1_001_000));
    assert_eq!(store.prune(WallMs(1_000_000)).unwrap(), 0);
    assert_eq!(store.prune(WallMs(1_001_000)).unwrap(), 1);
    assert!(matches!(
        store.open(&old).unwrap_err(),
        RecoveryFault::NoCopy { .. }
    ));
    store.open(&new).unwrap();
    assert_eq!(store.prune(WallMs(i64::MAX)).unwrap(), 2);
    assert_eq!(names(&store), ["README"]);
}

#[test]
fn one_copy_that_cannot_be_pruned_is_told_and_stops_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    keep(&store, JobId::random(), "a", b"old");
    std::fs::create_dir(store.path_of(&JobId::random())).unwrap();
    store.prune(WallMs(i64::MAX)).unwrap_err();
    assert_eq!(names(&store).len(), 1);
}

#[test]
fn a_directory_open_to_others_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o750)).unwrap();
    let fault = RecoveryStore::open_dir(dir.path(), ring(1, &[])).unwrap_err();
    assert!(
        matches!(fault, RecoveryFault::OpenToOthers { mode: 0o750, .. }),
        "{fault}"
    );
    std::fs::write(dir.path().join("file"), b"").unwrap();
    RecoveryStore::open_dir(&dir.path().join("file"), ring(1, &[])).unwrap_err();
}

#[test]
fn a_batch_of_a_living_process_is_not_swept() {
    let dir = tempfile::tempdir().unwrap();
    let first = store(dir.path());
    let job = JobId::random();
    let mut batch = first.batch();
    batch.seal(job, &path("a"), b"object".to_vec()).unwrap();
    let second = store(dir.path());
    batch.commit().unwrap();
    second.open(&job).unwrap();
}

/// What a killed process does; nothing in the parent's own run of it.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test that runs itself again hands the case over in the environment"
)]
fn child() {
    let Some(dir) = std::env::var_os("LOCKGATE_TEST_RECOVERY").map(PathBuf::from) else {
        return;
    };
    let store = store(&dir);
    let mut batch = store.batch();
    for name in ["a", "b"] {
        if let Err(fault) = batch.seal(JobId::random(), &path(name), b"object".to_vec()) {
            println!("not sealed: {fault}");
        }
    }
    match batch.commit() {
        Ok(()) => println!("committed"),
        Err(fault) => println!("not committed: {fault}"),
    }
}

fn run(dir: &Path, failpoint: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--nocapture"])
        .env("LOCKGATE_TEST_RECOVERY", dir)
        .env("LOCKGATE_FAILPOINT", failpoint)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_process_killed_between_any_two_steps_leaves_whole_copies_or_none() {
    let cases = [
        ("recovery.written", 0),
        ("recovery.synced#2", 0),
        ("recovery.named", 2),
        ("recovery.committed", 2),
        ("none", 2),
    ];
    for (point, copies) in cases {
        let dir = tempfile::tempdir().unwrap();
        let text = run(dir.path(), point);
        assert_eq!(text.contains("committed"), point == "none", "{point}: {text}");
        let left = dir.path().join("recovery").read_dir().unwrap().count();
        assert!(
            point == "none" || left > copies || copies == 2,
            "{point}: the child left nothing to sweep"
        );
        let store = store(dir.path());
        let names = names(&store);
        assert_eq!(names.len(), copies, "{point}: {names:?}");
        for name in names {
            store
                .open(&JobId::parse(name.strip_suffix(SUFFIX).unwrap()).unwrap())
                .unwrap();
        }
    }
}

#[test]
fn a_step_that_fails_is_told_and_leaves_no_half_copy() {
    let dir = tempfile::tempdir().unwrap();
    for point in ["recovery.written=error", "recovery.synced=error"] {
        let text = run(dir.path(), point);
        assert!(
            text.contains("not sealed") && text.contains("\ncommitted"),
            "{text}"
        );
    }
    assert_eq!(names(&store(dir.path())).len(), 2);
    for point in ["recovery.named=error", "recovery.committed=error"] {
        let text = run(dir.path(), point);
        assert!(text.contains("not committed"), "{text}");
    }
}
