//! A20 in a process of its own: killed between two steps, somebody else than root, counted in its memory.

use super::test_support::{EVERYTHING, Yard, commit, me, names, refusals, scan};
use super::*;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs [`act`] in a process of its own, as `uid` if that is possible, to be killed at `failpoint`.
fn child(root: &Path, order: &str, failpoint: &str, uid: Option<u32>) {
    fs::write(root.join("order"), order).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "intake::tests_child::act", "--ignored", "--quiet"])
        .current_dir(root)
        .env("LOCKGATE_FAILPOINT", failpoint)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(uid) = uid {
        command.uid(uid).gid(uid);
    }
    let status = command.status().unwrap();
    assert!(status.success() || !failpoint.is_empty(), "{order}: {status}");
}

#[test]
#[ignore = "run by other tests, in a directory with an order in it"]
fn act() {
    let Ok(order) = fs::read_to_string("order") else {
        return;
    };
    let yard = Yard::at(&std::env::current_dir().unwrap());
    let mut intake = yard.intake();
    match order.as_str() {
        "take" => {
            let batch = scan(&mut intake);
            fs::write("committed", names(&batch).join(" ")).unwrap();
            commit(&mut intake, &batch);
        }
        "unreadable" => unreadable(&yard, &mut intake),
        "flood" => flood(&mut intake),
        other => panic!("{other}"),
    }
}

#[test]
fn a18_a_kill_between_any_two_steps_loses_no_file_that_was_not_committed() {
    for point in [
        "intake.counted",
        "intake.opened",
        "intake.committed",
        "intake.unlinked",
    ] {
        let root = tempfile::tempdir().unwrap();
        let yard = Yard::at(root.path());
        yard.drop("a.json", "{}");
        yard.drop("b.json", "{}");
        child(root.path(), "take", point, None);
        let committed = fs::read_to_string(root.path().join("committed")).unwrap_or_default();
        let was_committed = ["intake.committed", "intake.unlinked"].contains(&point);
        assert_eq!(
            committed,
            if was_committed { "a.json b.json" } else { "" },
            "{point}"
        );
        let left = if point == "intake.unlinked" {
            vec![]
        } else {
            vec!["a.json", "b.json"]
        };
        assert_eq!(yard.left(), left, "{point}");
        // The next process reads them one by one, for it cannot know on which the other died.
        child(root.path(), "take", "", None);
        child(root.path(), "take", "", None);
        assert_eq!(yard.left(), Vec::<String>::new(), "{point}");
    }
}

#[test]
fn a20_files_that_the_role_may_not_read() {
    let root = tempfile::tempdir().unwrap();
    let yard = Yard::at(root.path());
    for (name, mode) in [("fine.json", 0o640), ("none.json", 0o000)] {
        fs::set_permissions(yard.drop(name, "{}"), Permissions::from_mode(mode)).unwrap();
    }
    // Root reads everything, so the reader is somebody else's process, if it can be.
    let uid = (me() == 0).then_some(65_534);
    if uid.is_some() {
        let group = Some(4711);
        fs::set_permissions(root.path(), Permissions::from_mode(0o777)).unwrap();
        for (name, mode) in [("others.json", 0o600), ("ours.json", 0o640)] {
            let path = yard.drop(name, "{}");
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            chown(path, None, group).unwrap();
        }
        for path in [
            yard.drop.join("fine.json"),
            yard.drop.join("none.json"),
            yard.drop.clone(),
        ] {
            chown(path, uid, group).unwrap();
        }
        chown(&yard.gate, uid, uid).unwrap();
        chown(&yard.state, uid, uid).unwrap();
    }
    child(root.path(), "unreadable", "", uid);
    let left = if uid.is_some() { vec!["ours.json"] } else { vec![] };
    assert_eq!(yard.left(), left);
}

/// What its mode forbids us is its owner's mistake. What its mode would allow our group is a fault of this host (here
/// the role is not in its directory's group): it is said once, and stays.
fn unreadable(yard: &Yard, intake: &mut Intake) {
    let as_somebody_else = yard.drop.join("ours.json").exists();
    let batch = scan(intake);
    assert_eq!(names(&batch), ["fine.json"]);
    let due = "not_allowed: the role may not read the file; chmod it 0640 before renaming it";
    assert_eq!(refusals(&batch), vec![due; if as_somebody_else { 2 } else { 1 }]);
    assert_eq!(batch.stuck.len(), usize::from(as_somebody_else));
    assert!(
        batch
            .stuck
            .iter()
            .all(|one| one.name == "ours.json" && one.why.contains("though its mode allows it"))
    );
    assert_eq!(commit(intake, &batch), 0);
    let batch = scan(intake);
    assert!(batch.is_empty() && batch.stuck.is_empty() && !batch.more);
}

#[test]
fn a20_ten_thousand_files_cost_little_memory_and_are_all_read() {
    let root = tempfile::tempdir().unwrap();
    let yard = Yard::at(root.path());
    for at in 0..10_000 {
        fs::write(yard.drop.join(format!("{at}.json")), [b'x'; 512]).unwrap();
    }
    child(root.path(), "flood", "", None);
    assert_eq!(yard.left(), Vec::<String>::new());
}

fn flood(intake: &mut Intake) {
    let before = resident_kib("VmRSS:");
    let mut read = BTreeSet::new();
    loop {
        let batch = intake
            .scan_once(&Ask {
                files_max: 256,
                ..EVERYTHING
            })
            .unwrap();
        assert!(batch.files.len() <= 256);
        read.extend(batch.files.iter().map(|file| file.name().to_owned()));
        commit(intake, &batch);
        if !batch.more {
            break;
        }
    }
    assert_eq!(read.len(), 10_000);
    let grown = resident_kib("VmHWM:") - before;
    assert!(grown < 16 * 1024, "{grown} KiB");
}

fn resident_kib(field: &str) -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
