//! Locks across real processes.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A process that holds the lock of a worker until it is killed.
struct Other {
    id: Uuid4,
    child: Child,
}

impl Other {
    /// `flock(1)` is not everywhere: the child is given the locked descriptor as its standard input.
    fn start(state_dir: &Path) -> Other {
        let id = Uuid4::random();
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(lock_path(state_dir, &id))
            .unwrap();
        assert!(try_lock(&file, FlockOperation::NonBlockingLockExclusive).unwrap());
        let child = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::from(file))
            .spawn()
            .unwrap();
        Other { id, child }
    }
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_worker_is_alive_until_it_lets_go() {
    let dir = tempfile::tempdir().unwrap();
    let lock = WorkerLock::acquire(dir.path()).unwrap();
    let (id, path) = (lock.id(), lock.path.clone());
    assert_eq!(
        path.file_name().unwrap().to_str().unwrap(),
        format!("worker-{id}.lock")
    );
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    assert!(is_alive(dir.path(), id).unwrap());
    assert!(
        is_alive(dir.path(), id).unwrap(),
        "looking must not take the lock away"
    );
    drop(lock);
    assert!(!is_alive(dir.path(), id).unwrap());
    assert!(!path.exists());
}

#[test]
fn t23_a_killed_process_is_dead_at_once_and_its_file_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Other::start(dir.path());
    assert!(is_alive(dir.path(), other.id).unwrap());
    assert_eq!(sweep(dir.path()).unwrap(), 0);
    other.kill();
    assert!(lock_path(dir.path(), &other.id).exists());
    // A child that another test is just starting may still have a copy of the descriptor, until it runs its program.
    let looking = open_to_look(&lock_path(dir.path(), &other.id)).unwrap().unwrap();
    rustix::fs::flock(&looking, FlockOperation::LockShared).unwrap();
    drop(looking);
    assert!(!is_alive(dir.path(), other.id).unwrap());
    assert_eq!(sweep(dir.path()).unwrap(), 1);
    assert!(!lock_path(dir.path(), &other.id).exists());
    assert!(!is_alive(dir.path(), other.id).unwrap());
}

#[test]
fn a_child_of_the_worker_does_not_keep_its_lock() {
    let dir = tempfile::tempdir().unwrap();
    let lock = WorkerLock::acquire(dir.path()).unwrap();
    let id = lock.id();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let path = lock.path.clone();
    drop(lock);
    // Another name for the same file would show a lock that outlived its holder; the file is gone, so ask the child.
    let held: Vec<_> = std::fs::read_dir(format!("/proc/{}/fd", child.id()))
        .unwrap()
        .filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok())
        .filter(|target| target.starts_with(&path) || target.to_string_lossy().contains(&id.to_string()))
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(held, Vec::<PathBuf>::new());
}

#[test]
fn the_living_and_everything_else_are_not_swept() {
    let dir = tempfile::tempdir().unwrap();
    let lock = WorkerLock::acquire(dir.path()).unwrap();
    for name in ["start.lock", "worker-.lock", "worker-x.lock", "inbox.db"] {
        std::fs::write(dir.path().join(name), b"").unwrap();
    }
    std::fs::write(lock_path(dir.path(), &Uuid4::random()), b"").unwrap();
    assert_eq!(sweep(dir.path()).unwrap(), 1);
    assert!(is_alive(dir.path(), lock.id()).unwrap());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 5);
}

#[test]
fn who_looks_does_not_look_alive_to_another_who_looks() {
    let dir = tempfile::tempdir().unwrap();
    let id = Uuid4::random();
    std::fs::write(lock_path(dir.path(), &id), b"").unwrap();
    let looking = open_to_look(&lock_path(dir.path(), &id)).unwrap().unwrap();
    assert!(try_lock(&looking, FlockOperation::NonBlockingLockShared).unwrap());
    assert!(!is_alive(dir.path(), id).unwrap());
}

#[test]
fn births_and_sweeps_at_once_lose_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when an assertion below fails: the sweeps must end for the test to end.
        struct Done<'a>(&'a std::sync::atomic::AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let _done = Done(&done);
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    sweep(dir.path()).unwrap();
                }
            });
        }
        for _ in 0..100 {
            let lock = WorkerLock::acquire(dir.path()).unwrap();
            assert!(lock.path.exists());
            assert!(is_alive(dir.path(), lock.id()).unwrap());
        }
    });
}

#[test]
fn a_file_that_lost_its_name_is_not_held() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let file = File::create(&path).unwrap();
    assert!(is_still_named(&file, &path));
    std::fs::remove_file(&path).unwrap();
    assert!(!is_still_named(&file, &path));
    std::fs::write(&path, b"").unwrap();
    assert!(!is_still_named(&file, &path));
}

#[test]
fn a_lock_that_cannot_be_judged_is_an_error_not_a_death() {
    let dir = tempfile::tempdir().unwrap();
    let id = Uuid4::random();
    std::os::unix::fs::symlink("/dev/null", lock_path(dir.path(), &id)).unwrap();
    is_alive(dir.path(), id).unwrap_err();
    let gone = dir.path().join("gone");
    let fault = WorkerLock::acquire(&gone).unwrap_err().to_string();
    assert!(fault.contains(gone.to_str().unwrap()), "{fault}");
    sweep(&gone).unwrap_err();
}

#[test]
fn a_death_is_told_once_and_the_lock_is_left_free() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Other::start(dir.path());
    let (tell, told) = mpsc::channel();
    let watch = DeathWatch::new(dir.path(), move |id| tell.send(id).unwrap());
    assert_eq!(watch.watch(other.id).unwrap(), Watching::Started);
    assert_eq!(watch.watch(other.id).unwrap(), Watching::Already);
    assert!(told.recv_timeout(Duration::from_millis(50)).is_err(), "it lives");
    assert!(
        is_alive(dir.path(), other.id).unwrap(),
        "a watched worker is still seen alive"
    );
    other.kill();
    assert_eq!(told.recv_timeout(Duration::from_secs(10)).unwrap(), other.id);
    assert!(!is_alive(dir.path(), other.id).unwrap());
    assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
    assert_eq!(watch.watch(other.id).unwrap(), Watching::Dead);
    assert_eq!(watch.watch(Uuid4::random()).unwrap(), Watching::Dead);
}

#[test]
fn a_stopped_watch_says_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Other::start(dir.path());
    let (tell, told) = mpsc::channel();
    let watch = DeathWatch::new(dir.path(), move |id| {
        let _sent = tell.send(id);
    });
    assert_eq!(watch.watch(other.id).unwrap(), Watching::Started);
    drop(watch);
    other.kill();
    // The channel closes without a word when the thread has ended.
    assert_eq!(
        told.recv_timeout(Duration::from_secs(10)),
        Err(mpsc::RecvTimeoutError::Disconnected)
    );
}
