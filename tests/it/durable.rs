//! What must be on disk before the next step, seen from outside the process: synced in which order, and what a sync that fails, a kill
//! or a pause between two steps leaves.

use crate::support::process::Daemon;
use crate::support::*;
use lockgate::clock::{SystemClock, WallMs};
use lockgate::job::Role;
use lockgate::ledger::Ledger;
use lockgate::ledger::control::Switch;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn wall_now() -> WallMs {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    WallMs(i64::try_from(since.as_millis()).unwrap())
}

/// A site with `a.md` in source and vault, and a DELETE of it with its approval, not dropped yet.
fn approved() -> (Site, Value, Value) {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    site.put_in_vault("a.md", "text");
    let job = site.delete_job("a.md", &commit, "text");
    let envelope = site.envelope(&site.payload(&job, wall_now()));
    (site, job, envelope)
}

fn drop_both(site: &Site, job: &Value, envelope: &Value) {
    site.drop_json(Role::Delete, job);
    site.drop_json(Role::Delete, envelope);
}

/// The C library's fsync and fdatasync, replaced: they are noted, and fail where a test says so.
fn sync_library(site: &Site) -> String {
    let library = site.dir().join("sync_log.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/sync_log.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .status()
        .unwrap();
    assert!(built.success(), "cc, which SQLite needs as well");
    library.to_str().unwrap().to_owned()
}

/// A role whose syncs fail, once it has started, for files whose path contains `fail` (`$` is its end).
fn failing(site: &Site, role: Role, fail: &str) -> Daemon {
    let when = site.dir().join("syncs-fail");
    let variables = [
        ("LD_PRELOAD", &*sync_library(site)),
        ("SYNC_FAIL", fail),
        ("SYNC_FAIL_WHEN", when.to_str().unwrap()),
    ];
    let daemon = Daemon::with(site, role, &variables);
    std::fs::write(when, "").unwrap();
    daemon
}

fn wait_detail(daemon: &Daemon, job: &Value, detail: &str) {
    let end = Instant::now() + Duration::from_secs(10);
    let path = format!("/v1/jobs/{}", job["job_id"].as_str().unwrap());
    loop {
        let (_, found) = daemon.get(&path);
        if found.to_string().contains(&format!("\"{detail}\"")) {
            return;
        }
        assert!(Instant::now() < end, "{path} is {found}, without {detail}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn inbox(site: &Site, role: Role) -> PathBuf {
    site.dir().join(format!("state/{role}/inbox.db"))
}

fn approval_state(site: &Site) -> String {
    let db = rusqlite::Connection::open(inbox(site, Role::Delete)).unwrap();
    db.query_row("SELECT state FROM approvals", [], |row| row.get(0))
        .unwrap()
}

fn is_spent(site: &Site, job: &Value) -> bool {
    let log = std::fs::read_to_string(site.dir().join("state/delete/spent.log")).unwrap();
    log.contains(job["approval_id"].as_str().unwrap())
}

fn copies(site: &Site) -> usize {
    let dir = std::fs::read_dir(site.dir().join("state/delete/recovery")).unwrap();
    dir.flatten().filter(|entry| entry.path().is_file()).count()
}

#[test]
fn m_o_m_n_m_y_each_step_of_a_delete_is_synced_before_the_next() {
    let (site, job, envelope) = approved();
    let log = site.dir().join("syncs");
    let library = sync_library(&site);
    let daemon = Daemon::with(
        &site,
        Role::Delete,
        &[("LD_PRELOAD", &library), ("SYNC_LOG", log.to_str().unwrap())],
    );
    drop_both(&site, &job, &envelope);
    daemon.wait_state(&job, &["SUCCEEDED"]);
    let text = std::fs::read_to_string(log).unwrap();
    let synced: Vec<&str> = text.lines().collect();
    let last = |what: &str| {
        synced
            .iter()
            .rposition(|line| line.contains(what))
            .unwrap_or_else(|| panic!("{what} is never synced: {text}"))
    };
    let spent = last("/spent.log");
    let first_copy = synced
        .iter()
        .position(|line| line.contains("/recovery/"))
        .unwrap_or_else(|| panic!("no copy is synced: {text}"));
    assert!(
        first_copy < last("/unresolved.delete") && last("/unresolved.delete") < spent,
        "{text}"
    );
    assert!(
        synced[spent..].iter().any(|line| line.ends_with("/inbox.db-wal")),
        "EXECUTING and the settlement after it: {text}"
    );
}

#[test]
fn m_o_a_spent_log_that_cannot_be_synced_ends_the_role_and_sends_nothing() {
    let (site, job, envelope) = approved();
    let mut daemon = failing(&site, Role::Delete, "/spent.log$");
    drop_both(&site, &job, &envelope);
    assert!(!daemon.wait_end().success(), "the role ends");
    assert_eq!(site.in_vault("a.md").as_deref(), Some("text"));
    // The line may be there or not: it counts as spent, and the job is for a person.
    let daemon = Daemon::start(&site, Role::Delete);
    daemon.wait_state(&job, &["OUTCOME_UNKNOWN"]);
    assert_eq!(site.in_vault("a.md").as_deref(), Some("text"));
}

#[test]
fn m_q_paths_that_cannot_be_published_are_not_sent() {
    let (site, job, envelope) = approved();
    let daemon = failing(&site, Role::Delete, "/unresolved.delete$");
    drop_both(&site, &job, &envelope);
    wait_detail(&daemon, &job, "fence_unreadable");
    assert_eq!(
        (
            site.in_vault("a.md").as_deref(),
            is_spent(&site, &job),
            approval_state(&site)
        ),
        (Some("text"), false, "VERIFIED".into())
    );
}

#[test]
fn m_q_a_save_that_cannot_be_published_is_not_sent() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let daemon = failing(&site, Role::Save, "/unresolved.save$");
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    wait_detail(&daemon, &job, "fence_unreadable");
    assert_eq!(site.in_vault("a.md"), None);
}

#[test]
fn m_y_a_recovery_copy_that_cannot_be_synced_spends_nothing() {
    let (site, job, envelope) = approved();
    let daemon = failing(&site, Role::Delete, "/recovery/");
    drop_both(&site, &job, &envelope);
    wait_detail(&daemon, &job, "recovery_copy");
    assert_eq!(
        (
            site.in_vault("a.md").as_deref(),
            is_spent(&site, &job),
            approval_state(&site)
        ),
        (Some("text"), false, "VERIFIED".into())
    );
    assert_eq!(copies(&site), 0);
}

#[test]
fn m_y_copies_that_cannot_be_named_durably_spend_nothing_and_are_made_again() {
    let (site, job, envelope) = approved();
    let daemon = Daemon::armed(&site, Role::Delete, "recovery.named=error");
    drop_both(&site, &job, &envelope);
    wait_detail(&daemon, &job, "recovery_copy");
    assert_eq!(
        (site.in_vault("a.md").as_deref(), is_spent(&site, &job)),
        (Some("text"), false)
    );
    daemon.wait_state(&job, &["SUCCEEDED"]);
    assert_eq!((site.in_vault("a.md"), copies(&site)), (None, 1));
}

#[test]
fn m_y_t24_a_kill_while_spending_leaves_the_copy_the_file_and_an_unknown_outcome() {
    let (site, job, envelope) = approved();
    let mut daemon = Daemon::armed(&site, Role::Delete, "spent.appended");
    drop_both(&site, &job, &envelope);
    daemon.wait_end();
    assert_eq!(
        (copies(&site), site.in_vault("a.md").as_deref()),
        (1, Some("text")),
        "the copy was there first"
    );
    let daemon = Daemon::start(&site, Role::Delete);
    let found = daemon.wait_state(&job, &["OUTCOME_UNKNOWN"]);
    assert!(found.to_string().contains("spent_not_sent"), "m_h: {found}");
    let verb = format!("/v1/jobs/{}/requeue", job["job_id"].as_str().unwrap());
    let (status, _) = daemon.post(&verb, &json!({ "reason": "test" }));
    assert_ne!(status, 200, "what is spent is never tried again");
    daemon.wait_state(&job, &["OUTCOME_UNKNOWN"]);
}

#[test]
fn m_u_a_pause_or_the_frozen_file_after_spending_still_stops_the_send() {
    for how in ["pause", "freeze", "frozen file"] {
        let (site, job, envelope) = approved();
        let daemon = Daemon::armed(&site, Role::Delete, "delete.spent=pause");
        drop_both(&site, &job, &envelope);
        daemon.wait_paused();
        stop_role(&site, Role::Delete, how);
        daemon.go_on();
        let found = daemon.wait_state(&job, &["REJECTED"]).to_string();
        assert!(
            found.contains("delete_denied") && found.contains("approval_spent"),
            "{how}: {found}"
        );
        assert_eq!(site.in_vault("a.md").as_deref(), Some("text"), "{how}");
        assert!(is_spent(&site, &job), "{how}: it was spent before");
    }
}

#[test]
fn m_u_a_pause_after_publishing_still_stops_a_save() {
    for how in ["pause", "freeze"] {
        let site = Site::new();
        let commit = site.commit(&[("a.md", Some("text"))]);
        let daemon = Daemon::armed(&site, Role::Save, "save.published=pause");
        let job = site.save_job("a.md", &commit, "text");
        site.drop_json(Role::Save, &job);
        daemon.wait_paused();
        stop_role(&site, Role::Save, how);
        daemon.go_on();
        daemon.wait_state(&job, &["READY"]);
        assert_eq!(site.in_vault("a.md"), None, "{how}");
    }
}

/// As an operator would, while the role's own process stands still.
fn stop_role(site: &Site, role: Role, how: &str) {
    let switch = match how {
        "pause" => Switch::Pause,
        "freeze" => Switch::Freeze,
        _ => return std::fs::write(site.dir().join("state/frozen"), "").unwrap(),
    };
    let ledger = Ledger::open(
        &inbox(site, role),
        role,
        Arc::new(SystemClock::new("another".to_owned())),
    )
    .unwrap();
    ledger
        .write(move |tx| tx.switch(switch, true, 0, "test"))
        .unwrap();
}
