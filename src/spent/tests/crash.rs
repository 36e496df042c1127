//! Processes that die or meet a fault between two steps. Each test runs itself again as a child with one of them armed.

use super::*;
use rustix::fs::FlockOperation;
use rustix::process::{Resource, Rlimit};
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;

const CHILD: &str = "spent::tests::crash::child";

/// What the child does; nothing in the parent's own run of it.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test that runs itself again hands the case over in the environment"
)]
fn child() {
    let Ok(case) = std::env::var("LOCKGATE_TEST_SPENT") else {
        return;
    };
    let (what, path) = case.split_once(':').unwrap();
    match what {
        "spend" => spend_and_tell(Path::new(path)),
        "full" => fill_and_go_on(Path::new(path)),
        other => panic!("{other}"),
    }
}

fn run(what: &str, path: &Path, failpoint: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--nocapture"])
        .env("LOCKGATE_TEST_SPENT", format!("{what}:{}", path.display()))
        .env("LOCKGATE_FAILPOINT", failpoint)
        .output()
        .unwrap()
}

fn spend_and_tell(path: &Path) {
    let log = SpentLog::create_or_open(path, true).unwrap();
    let entry = entry(1);
    match log.spend(&[entry]) {
        Ok(verdicts) => println!("class=none {verdicts:?}"),
        Err(fault) => println!("class={:?} {fault}", fault.class()),
    }
    println!("contains={}", log.contains(&entry.approval_id));
    let refresh = log
        .refresh()
        .map_or_else(|fault| format!("{:?}", fault.class()), |()| "ok".to_owned());
    println!("refresh={refresh} entries={}", log.entries().is_ok());
    println!("again={:?}", log.spend(&[entry]).map_err(|fault| fault.class()));
}

/// The kernel refuses to make the file longer, first within the second line.
fn fill_and_go_on(path: &Path) {
    signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        std::sync::Arc::new(AtomicBool::new(false)),
    )
    .unwrap();
    let log = SpentLog::create_or_open(path, true).unwrap();
    log.spend(&[entry(1)]).unwrap();
    let before = std::fs::read(path).unwrap();
    let limit = |bytes| {
        let maximum = rustix::process::getrlimit(Resource::Fsize).maximum;
        rustix::process::setrlimit(
            Resource::Fsize,
            Rlimit {
                current: bytes,
                maximum,
            },
        )
        .unwrap();
    };
    let entries = [entry(2), entry(3), entry(4)];
    for more in [0, 1, 330, 500] {
        limit(Some(before.len() as u64 + more));
        let fault = log.spend(&entries).unwrap_err();
        assert_eq!(fault.class(), SpentFaultClass::NothingSpent, "{fault}");
        assert_eq!(std::fs::read(path).unwrap(), before, "{more}");
        assert!(entries.iter().all(|entry| !log.contains(&entry.approval_id)));
    }
    limit(rustix::process::getrlimit(Resource::Fsize).maximum);
    assert_eq!(log.spend(&entries).unwrap(), [SpendVerdict::Spent; 3]);
    println!("went on");
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_full_disk_spends_nothing_and_the_log_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    let output = run("full", &path, "none");
    assert!(told(&output).contains("went on"), "{}", told(&output));
    assert_eq!(all(&reopen(&path)).len(), 4);
}

#[test]
fn a_sync_that_failed_is_not_tried_again_and_the_approval_counts_as_spent() {
    for point in ["spent.appended=error", "spent.synced=error"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spent.log");
        let text = told(&run("spend", &path, point));
        assert!(
            text.contains("class=MaybeSpent") && text.contains("count as spent"),
            "{text}"
        );
        assert!(text.contains("contains=true"), "{text}");
        assert!(text.contains("refresh=MaybeSpent entries=false"), "{text}");
        assert!(text.contains("again=Err(MaybeSpent)"), "{text}");
        assert_eq!(all(&reopen(&path)).len(), 1);
    }
}

#[test]
fn a_fault_before_the_write_spends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    let text = told(&run("spend", &path, "spent.locked=error"));
    assert!(
        text.contains("class=NothingSpent") && text.contains("nothing was spent"),
        "{text}"
    );
    assert!(
        text.contains("contains=false") && text.contains("refresh=ok"),
        "{text}"
    );
    assert!(text.contains("again=Ok([Spent])"), "{text}");
}

#[test]
fn t36_a_process_killed_between_any_two_steps_leaves_a_file_that_opens() {
    for (point, entries) in [
        ("spent.created", 0),
        ("spent.locked", 0),
        ("spent.appended", 1),
        ("spent.synced", 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spent.log");
        let output = run("spend", &path, point);
        assert!(
            !output.status.success() && !told(&output).contains("class="),
            "{point}: {}",
            told(&output)
        );
        let log = reopen(&path);
        assert_eq!(all(&log).len(), entries, "{point}");
        assert_eq!(log.spend(&[entry(2)]).unwrap(), [SpendVerdict::Spent]);
    }
    // Unarmed, the same child spends once: the test above tests something.
    let dir = tempfile::tempdir().unwrap();
    let text = told(&run("spend", &dir.path().join("spent.log"), "none"));
    assert!(
        text.contains("class=none [Spent]") && text.contains("again=Ok([AlreadySpent])"),
        "{text}"
    );
}

#[test]
fn a_lock_that_another_process_holds_is_waited_for() {
    let (_dir, path, log) = fresh();
    let other = File::options().read(true).write(true).open(&path).unwrap();
    rustix::fs::flock(&other, FlockOperation::LockExclusive).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            log.spend(&[entry(1)]).unwrap();
            tell.send(()).unwrap();
        });
        told.recv_timeout(std::time::Duration::from_millis(50))
            .unwrap_err();
        assert_eq!(path.metadata().unwrap().len(), 0);
        drop(other);
        told.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
    });
}
