//! The command line as people use it, on real processes: exit codes, backup and restore, freeze, audit files.

use crate::support::process::Daemon;
use crate::support::*;
use lockgate::clock::{Clock, SystemClock};
use lockgate::job::Role;
use serde_json::{Value, json};
use std::process::{Command, Output, Stdio};

fn lockgate(site: &Site, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command
        .arg("--dir")
        .arg(site.dir())
        .args(words)
        .stdin(Stdio::null());
    command.output().unwrap()
}

fn told(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs a verb that must end with this status.
fn run(site: &Site, status: i32, words: &[&str]) -> String {
    let output = lockgate(site, words);
    assert_eq!(output.status.code(), Some(status), "{words:?}: {}", told(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn as_json(site: &Site, words: &[&str]) -> Value {
    let all: Vec<&str> = std::iter::once("--json").chain(words.iter().copied()).collect();
    let text = run(site, 0, &all);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
}

fn write(site: &Site, name: &str, document: &Value) -> String {
    let path = site.dir().join(name);
    std::fs::write(&path, document.to_string()).unwrap();
    path.display().to_string()
}

#[test]
fn submit_says_by_its_status_what_became_of_the_document() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a")), ("b.md", Some("b"))]);
    // No daemon runs: it is queued all the same.
    let job = site.save_job("a.md", &commit, "a");
    run(&site, 0, &["submit", &write(&site, "job.json", &job)]);
    let mut bad = site.save_job("a.md", &commit, "a");
    bad["vault_path"] = json!("/app/vault/../x");
    let output = lockgate(&site, &["submit", &write(&site, "bad.json", &bad)]);
    assert_eq!(output.status.code(), Some(65));
    let said = told(&output);
    assert!(
        said.contains("path_traversal") && said.contains("vault_path"),
        "{said}"
    );
    run(&site, 2, &["submit", "--nonsense"]);
    run(&site, 69, &["overview"]);
    let daemon = Daemon::start(&site, Role::Save);
    daemon.wait_state(&job, &["SUCCEEDED"]);
    let _delete = Daemon::start(&site, Role::Delete);
    let _gateway = Gateway::start(&site);
    let other = site.save_job("b.md", &commit, "b");
    run(
        &site,
        0,
        &["submit", "--wait", &write(&site, "other.json", &other)],
    );
    let mut wrong = site.save_job("b.md", &commit, "b");
    wrong["provenance_hash"] = json!("ab".repeat(32));
    let text = run(
        &site,
        3,
        &["submit", "--wait", &write(&site, "wrong.json", &wrong)],
    );
    assert!(text.contains("provenance_mismatch"), "{text}");
    let receipt = as_json(&site, &["status", other["job_id"].as_str().unwrap()]);
    assert_eq!(
        (&receipt["state"], &receipt["code"]),
        (&json!("SUCCEEDED"), &json!("saved")),
        "{receipt}"
    );
    for field in [
        "job_id",
        "digest",
        "job_type",
        "object_id",
        "vault_path",
        "commit",
        "detail",
        "message",
        "attempt",
        "created_at",
        "updated_at",
        "settled_at",
    ] {
        assert!(
            receipt.get(field).is_some(),
            "contract 4 names {field}: {receipt}"
        );
    }
    assert!(
        receipt["message"].is_string(),
        "a receipt has a sentence: {receipt}"
    );
    run(&site, 1, &["show", &uuid()]);
}

/// The gateway's process.
struct Gateway(std::process::Child);

impl Gateway {
    fn start(site: &Site) -> Gateway {
        let child = crate::support::process::spawn(site, Role::Gateway, "");
        let end = std::time::Instant::now() + crate::support::process::PATIENCE;
        let socket = site.dir().join("run/gateway.sock");
        while crate::support::process::ask(&socket, "GET", "/health", None).is_none() {
            assert!(std::time::Instant::now() < end, "the gateway does not answer");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Gateway(child)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn t36_backup_and_restore_by_the_verbs_keep_what_was_spent() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    site.put_in_vault("a.md", "text");
    let mut daemon = Daemon::start(&site, Role::Delete);
    run(&site, 0, &["pause", "delete", "--reason", "test"]);
    let job = site.delete_job("a.md", &commit, "text");
    let now = SystemClock::new("test".to_owned()).wall();
    let envelope = site.envelope(&site.payload(&job, now));
    site.drop_json(Role::Delete, &envelope);
    site.drop_json(Role::Delete, &job);
    daemon.wait_state(&job, &["READY"]);
    run(&site, 0, &["backup", "create", "delete"]);
    let listed = as_json(&site, &["backup", "list", "delete"]);
    let name = find_name(&listed).unwrap_or_else(|| panic!("no backup in {listed}"));
    let file = site.dir().join("state/delete/backups").join(&name);
    assert!(file.is_file(), "{}", file.display());
    run(&site, 0, &["backup", "verify", "delete"]);
    run(&site, 0, &["resume", "delete", "--reason", "test"]);
    daemon.wait_state(&job, &["SUCCEEDED"]);
    let running = lockgate(&site, &["restore", "delete", file.to_str().unwrap()]);
    assert_ne!(
        running.status.code(),
        Some(0),
        "not while the role runs: {}",
        told(&running)
    );
    assert_eq!(daemon.terminate().code(), Some(0));
    site.put_in_vault("a.md", "text");
    let spent = std::fs::read(site.dir().join("state/delete/spent.log")).unwrap();
    run(&site, 0, &["restore", "delete", file.to_str().unwrap()]);
    assert_eq!(
        std::fs::read(site.dir().join("state/delete/spent.log")).unwrap(),
        spent,
        "spent.log is never replaced"
    );
    let daemon = Daemon::start(&site, Role::Delete);
    assert_eq!(daemon.get("/v1/overview").1["flow"], "paused");
    run(&site, 0, &["resume", "delete", "--reason", "looked"]);
    site.drop_json(Role::Delete, &envelope);
    let again = daemon.wait_state(&job, &["READY", "REJECTED"]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_ne!(again["state"], "SUCCEEDED");
    assert_eq!(
        site.in_vault("a.md").as_deref(),
        Some("text"),
        "what was approved before the restore is void"
    );
    run(&site, 0, &["audit", "verify", "delete"]);
}

fn find_name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.ends_with(".db") => {
            Some(std::path::Path::new(text).file_name()?.to_str()?.to_owned())
        }
        Value::Array(list) => list.iter().find_map(find_name),
        Value::Object(fields) => fields.values().find_map(find_name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[test]
fn freeze_all_stops_every_role_and_names_those_it_could_not_reach() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let save = Daemon::start(&site, Role::Save);
    let output = lockgate(&site, &["freeze", "--all", "--reason", "stop everything"]);
    assert_eq!(output.status.code(), Some(69), "{}", told(&output));
    assert!(told(&output).contains("delete"), "{}", told(&output));
    assert!(
        site.dir().join("state/frozen").exists(),
        "the file freezes the roles that do not run, too"
    );
    let job = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &job);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(
        save.get(&format!("/v1/jobs/{}", job["job_id"].as_str().unwrap()))
            .0,
        404,
        "not even admitted"
    );
    let _delete = Daemon::start(&site, Role::Delete);
    run(&site, 0, &["unfreeze", "--all", "--reason", "go on"]);
    assert!(!site.dir().join("state/frozen").exists());
    save.wait_state(&job, &["SUCCEEDED"]);
}

#[test]
fn an_audit_kept_elsewhere_finds_a_cut_and_one_altered_byte() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let daemon = Daemon::start(&site, Role::Save);
    let job = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &job);
    daemon.wait_state(&job, &["SUCCEEDED"]);
    let head = run(&site, 0, &["audit", "checkpoint", "save"]);
    let head_file = site.dir().join("head");
    std::fs::write(&head_file, &head).unwrap();
    let exported = run(&site, 0, &["audit", "export", "save"]);
    assert_eq!(
        exported.lines().filter(|line| line.contains("SETTLED")).count(),
        1,
        "{exported}"
    );
    let copy = site.dir().join("copy.db");
    let db = rusqlite::Connection::open(site.dir().join("state/save/inbox.db")).unwrap();
    db.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    let copy = copy.to_str().unwrap();
    run(
        &site,
        0,
        &[
            "audit",
            "verify",
            "--file",
            copy,
            "--against",
            head_file.to_str().unwrap(),
        ],
    );
    let db = rusqlite::Connection::open(copy).unwrap();
    db.execute_batch(
        "DROP TRIGGER audit_append_only_update; UPDATE audit SET at_ms = at_ms + 1 WHERE seq = 2",
    )
    .unwrap();
    drop(db);
    let found = lockgate(&site, &["audit", "verify", "--file", copy]);
    assert_eq!(found.status.code(), Some(1), "{}", told(&found));
    assert!(told(&found).contains("row 2"), "{}", told(&found));
}

#[test]
fn a_deleted_object_comes_back_out_of_its_sealed_copy() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("precious"))]);
    site.put_in_vault("a.md", "precious");
    let daemon = Daemon::start(&site, Role::Delete);
    let job = site.delete_job("a.md", &commit, "precious");
    let now = SystemClock::new("test".to_owned()).wall();
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, now)));
    site.drop_json(Role::Delete, &job);
    daemon.wait_state(&job, &["SUCCEEDED"]);
    assert_eq!(
        run(&site, 0, &["recover", job["job_id"].as_str().unwrap()]),
        "precious"
    );
    let audit = run(&site, 0, &["audit", "export", "delete"]);
    assert!(
        audit.contains("OPERATOR") && audit.contains("recover"),
        "a recovery is on record: {audit}"
    );
}

#[test]
fn t28_a_wait_follows_the_job_that_answers_and_is_not_misled_by_a_reused_id() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a")), ("b.md", Some("b"))]);
    let _save = Daemon::start(&site, Role::Save);
    let _gateway = Gateway::start(&site);
    let first = site.save_job("a.md", &commit, "a");
    run(
        &site,
        0,
        &["submit", "--wait", &write(&site, "first.json", &first)],
    );
    // The same request again, with a fresh job_id.
    let mut again = first.clone();
    again["job_id"] = json!(uuid());
    let text = run(
        &site,
        0,
        &["submit", "--wait", &write(&site, "again.json", &again)],
    );
    assert!(
        text.contains(first["job_id"].as_str().unwrap()),
        "it is answered by the first job: {text}"
    );
    let receipt = as_json(&site, &["status", again["job_id"].as_str().unwrap()]);
    assert_eq!(receipt["job_id"], first["job_id"], "{receipt}");
    // Another request under the first one's id.
    let mut other = site.save_job("b.md", &commit, "b");
    other["job_id"] = first["job_id"].clone();
    let text = run(
        &site,
        65,
        &["submit", "--wait", &write(&site, "other.json", &other)],
    );
    assert!(text.contains("idempotency_conflict"), "{text}");
    assert_eq!(site.in_vault("b.md"), None);
}

#[test]
fn a_broken_approvers_file_is_named_by_the_check_and_at_the_door() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    site.put_in_vault("a.md", "a");
    let job = site.delete_job("a.md", &commit, "a");
    let now = SystemClock::new("test".to_owned()).wall();
    let envelope = site.envelope(&site.payload(&job, now));
    std::fs::write(site.dir().join("approvers"), "garbage line\n").unwrap();
    let checked = lockgate(&site, &["config", "check"]);
    assert_ne!(checked.status.code(), Some(0));
    assert!(told(&checked).contains("approvers"), "{}", told(&checked));
    let _delete = Daemon::start(&site, Role::Delete);
    let _gateway = Gateway::start(&site);
    let text = run(
        &site,
        65,
        &["submit", "--wait", &write(&site, "envelope.json", &envelope)],
    );
    assert!(text.contains("cannot be read"), "{text}");
}
