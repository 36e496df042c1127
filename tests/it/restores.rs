//! T36, F25, F26: an older database, a torn spent.log, a row edited by hand. What was spent stays spent.

use crate::support::*;
use lockgate::clock::WallMs;
use lockgate::job::Role;
use lockgate::ledger::control::Switch;
use serde_json::Value;
use std::path::PathBuf;

struct Spent {
    site: Site,
    job: Value,
    envelope: Value,
    commit: lockgate::job::CommitId,
}

fn inbox(site: &Site, role: Role) -> PathBuf {
    site.dir().join(format!("state/{role}/inbox.db"))
}

fn copy_of(site: &Site, role: Role) -> PathBuf {
    let to = site.dir().join(format!("{role}.copy"));
    let db = rusqlite::Connection::open(inbox(site, role)).unwrap();
    db.execute("VACUUM INTO ?1", [to.to_str().unwrap()]).unwrap();
    to
}

fn put_back(site: &Site, role: Role, copy: &PathBuf) {
    for suffix in ["-wal", "-shm"] {
        drop(std::fs::remove_file(format!(
            "{}{suffix}",
            inbox(site, role).display()
        )));
    }
    std::fs::copy(copy, inbox(site, role)).unwrap();
}

/// A delete that is done; `copy` is called after the approval is on file and before it is spent.
fn spent(copy: impl FnOnce(&Site)) -> Spent {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    site.put_in_vault("a.md", "text");
    let mut rig = site.role(Role::Delete);
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, true, 0, "test"))
        .unwrap();
    let job = site.delete_job("a.md", &commit, "text");
    let envelope = site.envelope(&site.payload(&job, WallMs(NOW)));
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &envelope);
    rig.settle();
    copy(&site);
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, false, 0, "test"))
        .unwrap();
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
    drop(rig);
    // The file is there again, as after a restore of the vault: a second delete would show.
    site.put_in_vault("a.md", "text");
    Spent {
        site,
        job,
        envelope,
        commit,
    }
}

fn again(spent: &Spent) -> Value {
    let mut again = spent.site.delete_job("a.md", &spent.commit, "text");
    for field in ["approval_id", "mission_id", "delete_request_id"] {
        again[field] = spent.job[field].clone();
    }
    again
}

fn unpause(rig: &Rig) {
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, false, 0, "looked"))
        .unwrap();
}

#[test]
fn t36_a_spent_approval_is_denied_after_a_restart() {
    let spent = spent(|_| {});
    let mut rig = spent.site.role(Role::Delete);
    let again = again(&spent);
    spent.site.drop_json(Role::Delete, &again);
    spent.site.drop_json(Role::Delete, &spent.envelope);
    rig.settle();
    rig.assert_outcome(&again, "REJECTED", "delete_denied", "approval_spent");
    assert_eq!(spent.site.in_vault("a.md").as_deref(), Some("text"));
}

#[test]
fn t36_f26_m_r_an_older_database_is_noticed_paused_and_its_approvals_are_void() {
    for forget_epoch in [false, true] {
        let mut copy = PathBuf::new();
        let spent = spent(|site| copy = copy_of(site, Role::Delete));
        put_back(&spent.site, Role::Delete, &copy);
        if forget_epoch {
            // Even without the file that would show it first.
            drop(std::fs::remove_file(spent.site.dir().join("state/delete/epoch")));
        }
        let mut rig = spent.site.role(Role::Delete);
        let overview = rig.gear.ledger.overview().unwrap();
        assert_eq!(
            (overview.flow, overview.epoch),
            (lockgate::ledger::control::Flow::Paused, 1)
        );
        rig.settle();
        unpause(&rig);
        let again = again(&spent);
        spent.site.drop_json(Role::Delete, &again);
        spent.site.drop_json(Role::Delete, &spent.envelope);
        rig.settle();
        rig.wait(60_000, 10_000);
        for job in [&spent.job, &again] {
            assert_ne!(rig.row(job).state, "SUCCEEDED");
            assert_eq!(rig.row(job).attempt, 0, "{:?}", rig.outcome(job));
        }
        assert_eq!(
            spent.site.in_vault("a.md").as_deref(),
            Some("text"),
            "forget_epoch {forget_epoch}"
        );
        rig.verify();
    }
}

#[test]
fn t36_a_new_database_beside_a_spent_log_is_a_restore() {
    let spent = spent(|_| {});
    let dir = spent.site.dir().join("state/delete");
    for name in ["inbox.db", "inbox.db-wal", "inbox.db-shm", "epoch"] {
        drop(std::fs::remove_file(dir.join(name)));
    }
    let mut rig = spent.site.role(Role::Delete);
    assert_eq!(rig.gear.ledger.overview().unwrap().epoch, 1);
    unpause(&rig);
    spent.site.drop_json(Role::Delete, &spent.job);
    spent.site.drop_json(Role::Delete, &spent.envelope);
    rig.settle();
    rig.wait(60_000, 10_000);
    assert_eq!(spent.site.in_vault("a.md").as_deref(), Some("text"));
    assert_ne!(rig.row(&spent.job).state, "SUCCEEDED");
}

#[test]
fn t36_a12_rows_edited_by_hand_do_not_bring_an_approval_back() {
    let spent = spent(|_| {});
    let db = rusqlite::Connection::open(inbox(&spent.site, Role::Delete)).unwrap();
    for trigger in ["jobs_transition", "approvals_spent_once", "jobs_fixed"] {
        db.execute(&format!("DROP TRIGGER {trigger}"), []).unwrap();
    }
    db.execute("UPDATE approvals SET state = 'VERIFIED', job_id = NULL", [])
        .unwrap();
    db.execute(
        "UPDATE jobs SET state = 'READY', hold = NULL, settled_ms = NULL, code = NULL",
        [],
    )
    .unwrap();
    drop(db);
    let mut rig = spent.site.role(Role::Delete);
    let again = again(&spent);
    spent.site.drop_json(Role::Delete, &again);
    rig.settle();
    rig.wait(60_000, 10_000);
    rig.assert_outcome(&again, "REJECTED", "delete_denied", "approval_spent");
    rig.assert_outcome(&spent.job, "REJECTED", "tampered", "");
    assert_eq!(spent.site.in_vault("a.md").as_deref(), Some("text"), "m_c");
    let report = lockgate::ledger::verify::verify_file(rig.gear.ledger.path(), None).unwrap();
    assert!(report.found > 0, "audit verify reports it");
}

#[test]
fn t36_a_torn_spent_log_line_counts_as_spent() {
    let spent = spent(|_| {});
    let log = spent.site.dir().join("state/delete/spent.log");
    let text = std::fs::read_to_string(&log).unwrap();
    // Only the id and the nonce of the last line are left, as a power cut would leave them.
    let last = text.lines().last().unwrap().to_owned();
    let cut = last.split(' ').take(4).collect::<Vec<_>>().join(" ");
    std::fs::write(&log, text.replace(&format!("{last}\n"), &cut)).unwrap();
    let db = rusqlite::Connection::open(inbox(&spent.site, Role::Delete)).unwrap();
    db.execute("DROP TRIGGER approvals_spent_once", []).unwrap();
    db.execute("UPDATE approvals SET state = 'VERIFIED', job_id = NULL", [])
        .unwrap();
    drop(db);
    let mut rig = spent.site.role(Role::Delete);
    let again = again(&spent);
    spent.site.drop_json(Role::Delete, &again);
    rig.settle();
    rig.wait(60_000, 10_000);
    assert_ne!(rig.row(&again).state, "SUCCEEDED");
    assert_eq!(spent.site.in_vault("a.md").as_deref(), Some("text"));
}

#[test]
fn a_missing_spent_log_beside_a_used_database_stops_the_role() {
    let spent = spent(|_| {});
    std::fs::remove_file(spent.site.dir().join("state/delete/spent.log")).unwrap();
    let config = spent.site.config();
    let outside = lockgate::daemon::start::Outside::configured(&config);
    let clock = std::sync::Arc::new(lockgate::clock::TestClock::at(WallMs(NOW)));
    let no = lockgate::daemon::start::executor_on(config, Role::Delete, clock, outside).unwrap_err();
    assert_eq!(no.exit.code(), 78);
    assert!(no.message.contains("spent.log"), "{}", no.message);
}

#[test]
fn f25_a_save_in_flight_in_an_older_database_is_probed_not_sent_blindly() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let mut rig = site.role(Role::Save);
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, true, 0, "test"))
        .unwrap();
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    rig.settle();
    let copy = copy_of(&site, Role::Save);
    unpause(&rig);
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
    drop(rig);
    put_back(&site, Role::Save, &copy);
    let mut rig = site.role(Role::Save);
    assert_eq!(rig.gear.ledger.overview().unwrap().epoch, 1);
    unpause(&rig);
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "already_at_target", "");
    rig.verify();
}
