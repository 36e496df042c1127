//! Faults that were found by breaking things, and stay mended.

use crate::support::process::{Daemon, PATIENCE, spawn};
use crate::support::{Site, uuid};
use lockgate::clock::WallMs;
use lockgate::job::Role;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn now() -> WallMs {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    WallMs(i64::try_from(since.unwrap().as_millis()).unwrap())
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
