//! Faults that were found by breaking things, and stay mended.

use crate::support::process::{Daemon, PATIENCE, spawn};
use crate::support::{Site, uuid};
use lockgate::clock::{Clock, SystemClock, WallMs};
use lockgate::job::Role;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn now() -> WallMs {
    SystemClock::new("test".to_owned()).wall()
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn worker_locks(site: &Site, role: Role) -> usize {
    let entries = std::fs::read_dir(site.dir().join(format!("state/{role}"))).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("worker-")).count()
}

#[test]
fn t21_several_processes_of_one_role_run_at_once_and_one_of_them_answers() {
    let site = Site::new();
    let mut first = Daemon::start(&site, Role::Save);
    let mut second = spawn(&site, Role::Save, "");
    eventually("the second process does not start", || {
        worker_locks(&site, Role::Save) == 2
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(second.try_wait().unwrap().is_none(), "the second process ended");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let answers = || {
        first
            .try_get("/v1/overview")
            .is_some_and(|(status, _)| status == 200)
    };
    eventually("nobody answers after the death of the first", answers);
    let commit = site.commit(&[("a.md", Some("one"))]);
    let job = site.save_job("a.md", &commit, "one");
    site.drop_json(Role::Save, &job);
    first.wait_state(&job, &["SUCCEEDED"]);
    second.kill().unwrap();
    second.wait().unwrap();
}

/// A delete that was killed while the file was aside.
fn killed_with_the_file_aside() -> (Site, Value) {
    let site = Site::with("\n[vault.deadlines]\nsend = \"100ms\"\n");
    let commit = site.commit(&[("a.md", Some("one"))]);
    site.put_in_vault("a.md", "one");
    let job = site.delete_job("a.md", &commit, "one");
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, now())));
    site.drop_json(Role::Delete, &job);
    let mut killed = spawn(&site, Role::Delete, "vault.aside");
    killed.wait().unwrap();
    assert_eq!(site.in_vault("a.md"), None);
    (site, job)
}

#[test]
fn f22_what_a_killed_delete_set_aside_goes_back_once_the_vault_answers() {
    let (site, job) = killed_with_the_file_aside();
    let marker = site.dir().join("vault/.lockgate-vault");
    std::fs::rename(&marker, site.dir().join("marker")).unwrap();
    let mut delete = Daemon::start(&site, Role::Delete);
    delete.wait_state(&job, &["OUTCOME_UNKNOWN"]);
    delete.terminate();
    let delete = Daemon::start(&site, Role::Delete);
    std::fs::rename(site.dir().join("marker"), &marker).unwrap();
    eventually("the file is not put back", || site.in_vault("a.md").is_some());
    let path = format!("/v1/jobs/{}/probe", job["job_id"].as_str().unwrap());
    let (status, found) = delete.post(&path, &json!({ "reason": "looking" }));
    assert_eq!(
        (status, &found["evidence"]),
        (200, &json!("not_applied")),
        "{found}"
    );
}

#[test]
fn f22_an_absence_that_is_only_ours_is_no_evidence() {
    let (site, job) = killed_with_the_file_aside();
    let marker = site.dir().join("vault/.lockgate-vault");
    std::fs::rename(&marker, site.dir().join("marker")).unwrap();
    let delete = Daemon::start(&site, Role::Delete);
    delete.wait_state(&job, &["OUTCOME_UNKNOWN"]);
    std::thread::sleep(Duration::from_millis(200));
    std::fs::rename(site.dir().join("marker"), &marker).unwrap();
    let id = job["job_id"].as_str().unwrap();
    let body = json!({ "reason": "the file is gone", "outcome": "applied" });
    let (status, answer) = delete.post(&format!("/v1/jobs/{id}/resolve"), &body);
    // Unless the role was faster than we were, it says that it has just put the file back.
    assert!(site.in_vault("a.md").is_some(), "{status} {answer}");
    let (_, found) = delete.post(&format!("/v1/jobs/{id}/probe"), &json!({ "reason": uuid() }));
    assert_eq!(found["evidence"], json!("not_applied"), "{found}");
}

#[test]
fn an_approval_that_arrives_behind_another_job_is_not_called_missing() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("one"))]);
    site.put_in_vault("a.md", "one");
    let mut rig = site.role(Role::Delete);
    let job = site.delete_job("a.md", &commit, "one");
    site.drop_json(Role::Delete, &job);
    rig.settle();
    rig.assert_outcome(&job, "READY", "", "approval_missing");
    rig.gear
        .ledger
        .write(|tx| tx.switch(lockgate::ledger::control::Switch::Pause, true, 0, "test"))
        .unwrap();
    let payload = site.payload(&job, WallMs(crate::support::NOW));
    site.drop_json(Role::Delete, &site.envelope(&payload));
    rig.settle();
    rig.assert_outcome(&job, "READY", "", "");
}

fn pause(rig: &crate::support::Rig, on: bool) {
    rig.gear
        .ledger
        .write(move |tx| tx.switch(lockgate::ledger::control::Switch::Pause, on, 0, "test"))
        .unwrap();
}

#[test]
fn a_job_that_waits_for_a_path_hears_of_it_when_the_one_before_it_is_cancelled() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("one"))]);
    let mut rig = site.role(Role::Save);
    let jobs: Vec<Value> = (0..3).map(|_| site.save_job("a.md", &commit, "one")).collect();
    for job in &jobs {
        site.drop_json(Role::Save, job);
        rig.read_files();
    }
    let claimer = rig.gear.claimer();
    let batch = rig.gear.ledger.write(move |tx| tx.claim(&claimer, 10)).unwrap();
    assert_eq!(batch.claimed.len(), 1);
    let first = batch.claimed[0].clone();
    rig.gear
        .ledger
        .write(move |tx| {
            let back = lockgate::ledger::settle::Settlement::reject(lockgate::job::Code::TargetDrift, None);
            tx.settle(&first, lockgate::job::State::Claimed, &back)
        })
        .unwrap();
    let heir = crate::support::id(&jobs[1]);
    rig.gear
        .ledger
        .write(move |tx| tx.cancel(heir, 0, true, "test"))
        .unwrap();
    rig.settle();
    rig.assert_outcome(&jobs[2], "SUCCEEDED", "saved", "");
}

#[test]
fn of_several_deletes_with_one_approval_one_is_done_and_the_others_are_denied_at_once() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("one"))]);
    site.put_in_vault("a.md", "one");
    let mut rig = site.role(Role::Delete);
    let first = site.delete_job("a.md", &commit, "one");
    let mut jobs = vec![first.clone()];
    for _ in 0..5 {
        let mut job = first.clone();
        job["job_id"] = json!(uuid());
        job["idempotency_key"] = json!(uuid());
        jobs.push(job);
    }
    let fresh = site.delete_job("a.md", &commit, "one");
    pause(&rig, true);
    site.drop_json(
        Role::Delete,
        &site.envelope(&site.payload(&first, WallMs(crate::support::NOW))),
    );
    site.drop_json(
        Role::Delete,
        &site.envelope(&site.payload(&fresh, WallMs(crate::support::NOW))),
    );
    for job in jobs.iter().chain([&fresh]) {
        site.drop_json(Role::Delete, job);
        rig.read_files();
    }
    pause(&rig, false);
    rig.settle();
    let outcomes: Vec<_> = jobs.iter().map(|job| rig.outcome(job)).collect();
    let of = |state: &str, detail: &str| {
        outcomes
            .iter()
            .filter(|one| one.0 == state && one.2 == detail)
            .count()
    };
    assert_eq!(
        (of("SUCCEEDED", ""), of("REJECTED", "approval_spent")),
        (1, 5),
        "{outcomes:?}"
    );
    rig.assert_outcome(&fresh, "REJECTED", "target_drift", "absent");
    rig.verify();
}

#[test]
fn a_spent_log_that_was_cut_stops_the_role() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("one"))]);
    site.put_in_vault("a.md", "one");
    let mut rig = site.role(Role::Delete);
    let job = site.delete_job("a.md", &commit, "one");
    site.drop_json(
        Role::Delete,
        &site.envelope(&site.payload(&job, WallMs(crate::support::NOW))),
    );
    site.drop_json(Role::Delete, &job);
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
    drop(rig);
    let log = site.dir().join("state/delete/spent.log");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, "").unwrap();
    let mut child = spawn(&site, Role::Delete, "");
    assert_eq!(child.wait().unwrap().code(), Some(78));
    let said = std::fs::read_to_string(site.dir().join("delete.log")).unwrap();
    assert!(said.contains(job["approval_id"].as_str().unwrap()), "{said}");
    std::fs::write(&log, whole).unwrap();
    drop(Daemon::start(&site, Role::Delete));
}

#[test]
fn a_database_that_is_taken_away_from_a_running_role_stops_it_before_anything_is_sent() {
    for name in ["inbox.db", "inbox.db-wal"] {
        let site = Site::new();
        let commit = site.commit(&[("a.md", Some("one")), ("b.md", Some("two"))]);
        let mut save = Daemon::start(&site, Role::Save);
        let job = site.save_job("a.md", &commit, "one");
        site.drop_json(Role::Save, &job);
        save.wait_state(&job, &["SUCCEEDED"]);
        std::fs::remove_file(site.dir().join("state/save").join(name)).unwrap();
        site.drop_json(Role::Save, &site.save_job("b.md", &commit, "two"));
        assert_eq!(save.wait_end().code(), Some(78), "{name}");
        assert_eq!(site.in_vault("b.md"), None, "{name}");
        let left = std::fs::read_dir(site.spool(Role::Save).join("drop"))
            .unwrap()
            .count();
        assert_eq!(left, 1, "{name}: the file stays for the next start");
    }
}

#[test]
fn a_role_that_cannot_send_for_its_own_files_says_so_in_its_health() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("one"))]);
    let mut rig = site.role(Role::Save);
    let list = site.dir().join("fence/unresolved.delete");
    let kept = std::fs::read(&list).unwrap();
    std::fs::remove_file(&list).unwrap();
    let job = site.save_job("a.md", &commit, "one");
    site.drop_json(Role::Save, &job);
    rig.settle();
    rig.assert_outcome(&job, "READY", "", "fence_unreadable");
    let conditions = rig.gear.conditions.list();
    assert_eq!(conditions.len(), 1, "{conditions:?}");
    assert_eq!(conditions[0].reason, "disk");
    assert!(conditions[0].text.contains("unresolved.delete"), "{conditions:?}");
    std::fs::write(&list, kept).unwrap();
    rig.wait(6_000, 1_000);
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
    assert!(rig.gear.conditions.list().is_empty());
}

#[test]
fn a_fence_lock_that_was_replaced_keeps_nobody_out_and_stops_sending() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("one"))]);
    let mut rig = site.role(Role::Save);
    let lock = site.dir().join("fence/lock");
    std::fs::rename(&lock, site.dir().join("fence/lock.old")).unwrap();
    std::fs::write(&lock, "").unwrap();
    let job = site.save_job("a.md", &commit, "one");
    site.drop_json(Role::Save, &job);
    rig.settle();
    rig.assert_outcome(&job, "READY", "", "fence_unreadable");
    assert!(
        rig.gear.conditions.list()[0]
            .text
            .contains("start every role again")
    );
    drop(rig);
    let mut rig = site.role(Role::Save);
    rig.clock.advance(6_000);
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
}

#[test]
fn a_worker_whose_lock_file_was_removed_sends_nothing_more() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("one"))]);
    site.put_in_vault("a.md", "one");
    let job = site.delete_job("a.md", &commit, "one");
    let mut delete = Daemon::armed(&site, Role::Delete, "delete.executing=pause");
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, now())));
    site.drop_json(Role::Delete, &job);
    delete.wait_paused();
    for entry in std::fs::read_dir(site.dir().join("state/delete")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("worker-") {
            std::fs::remove_file(path).unwrap();
        }
    }
    delete.go_on();
    assert_eq!(delete.wait_end().code(), Some(1));
    assert!(site.in_vault("a.md").is_some(), "nothing was sent");
    let delete = Daemon::start(&site, Role::Delete);
    let ended = delete.wait_state(&job, &["REJECTED"]);
    assert_eq!(ended["detail"], json!("approval_spent"), "{ended}");
}
