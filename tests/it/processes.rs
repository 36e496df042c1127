//! Real processes, killed at every boundary between two durable steps and at random. Nothing is lost, nothing happens twice,
//! nothing is guessed.

use crate::support::process::{Daemon, PATIENCE, spawn};
use crate::support::*;
use lockgate::clock::{Clock, SystemClock, WallMs};
use lockgate::job::{CommitId, Role};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn now() -> WallMs {
    SystemClock::new("test".to_owned()).wall()
}

fn ready() -> (Site, CommitId) {
    let site = Site::with("\n[vault.deadlines]\nsend = \"1s\"\n");
    let commit = site.commit(&[("a.md", Some("text")), ("b.md", Some("more"))]);
    (site, commit)
}

fn approved_delete(site: &Site, path: &str, commit: &CommitId, text: &str) -> Value {
    site.put_in_vault(path, text);
    let job = site.delete_job(path, commit, text);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, now())));
    site.drop_json(Role::Delete, &job);
    job
}

fn spent_lines(site: &Site, job: &Value) -> usize {
    let log = std::fs::read_to_string(site.dir().join("state/delete/spent.log")).unwrap_or_default();
    log.lines()
        .filter(|line| line.contains(job["approval_id"].as_str().unwrap()))
        .count()
}

fn audit_is_sound(site: &Site, role: Role) {
    let report =
        lockgate::ledger::verify::verify_file(&site.dir().join(format!("state/{role}/inbox.db")), None)
            .unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
}

#[test]
fn t01_t02_two_roles_save_and_delete() {
    let (site, commit) = ready();
    let (save, delete) = (
        Daemon::start(&site, Role::Save),
        Daemon::start(&site, Role::Delete),
    );
    let job = site.save_job("b.md", &commit, "more");
    site.drop_json(Role::Save, &job);
    let settled = save.wait_state(&job, &["SUCCEEDED"]);
    assert_eq!(settled["code"], "saved", "{settled}");
    assert_eq!(site.in_vault("b.md").as_deref(), Some("more"));
    let gone = approved_delete(&site, "a.md", &commit, "text");
    delete.wait_state(&gone, &["SUCCEEDED"]);
    assert_eq!(site.in_vault("a.md"), None);
    for daemon in [&save, &delete] {
        assert_eq!(daemon.get("/health"), (200, json!({ "status": "ok" })));
    }
}

#[test]
fn t24_f21_a_save_killed_at_each_step_is_done_exactly_once_in_the_end() {
    for point in [
        "intake.read",
        "intake.committed",
        "save.published",
        "save.executing",
        "save.sent",
        "save.observed",
        "save.settled",
        "fence.written",
        "fence.published",
    ] {
        let (site, commit) = ready();
        let job = site.save_job("a.md", &commit, "text");
        let mut daemon = Daemon::armed(&site, Role::Save, point);
        site.drop_json(Role::Save, &job);
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&daemon.wait_end()),
            Some(9),
            "{point} is reached"
        );
        let daemon = Daemon::start(&site, Role::Save);
        if point == "save.executing" {
            // Nothing was sent: the look says so, and the next try comes after half a minute.
            let end = Instant::now() + PATIENCE;
            while daemon.wait_state(&job, &["READY", "EXECUTING"])["detail"] != "not_applied" {
                assert!(Instant::now() < end, "{point}");
            }
            assert_eq!(site.in_vault("a.md"), None, "{point}");
            continue;
        }
        daemon.wait_state(&job, &["SUCCEEDED"]);
        assert_eq!(site.in_vault("a.md").as_deref(), Some("text"), "{point}");
        let left: Vec<_> = std::fs::read_dir(site.dir().join("vault"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(
            left.len(),
            2,
            "{point}: the marker and the file, nothing else: {left:?}"
        );
        drop(daemon);
        audit_is_sound(&site, Role::Save);
    }
}

#[test]
fn t23_f20_f22_a18_a19_a_delete_killed_at_each_step_is_never_sent_twice_and_never_guessed() {
    // The point, whether the approval may be spent, the state after the restart, its detail.
    let points = [
        ("delete.sealed", false, "OUTCOME_UNKNOWN", "not_started"),
        ("delete.published", false, "OUTCOME_UNKNOWN", "not_started"),
        ("delete.spent", true, "OUTCOME_UNKNOWN", "spent_not_sent"),
        ("delete.executing", true, "OUTCOME_UNKNOWN", "worker_died"),
        ("delete.sent", true, "OUTCOME_UNKNOWN", "worker_died"),
        ("save.observed", true, "OUTCOME_UNKNOWN", "worker_died"),
        ("save.settled", true, "SUCCEEDED", ""),
    ];
    for (point, spent, state, detail) in points {
        let (site, commit) = ready();
        let mut daemon = Daemon::armed(&site, Role::Delete, point);
        let job = approved_delete(&site, "a.md", &commit, "text");
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&daemon.wait_end()),
            Some(9),
            "{point} is reached"
        );
        assert_eq!(spent_lines(&site, &job), usize::from(spent), "{point}");
        let gone = site.in_vault("a.md").is_none();
        let daemon = Daemon::start(&site, Role::Delete);
        let found = daemon.wait_state(&job, &[state]);
        assert_eq!(found["detail"].as_str().unwrap_or(""), detail, "{point} {found}");
        // Time passes, and still nothing is sent again.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(site.in_vault("a.md").is_none(), gone, "{point}");
        assert_eq!(spent_lines(&site, &job), usize::from(spent), "{point}");
        assert_eq!(
            daemon.get("/v1/overview").1["flow"],
            "running",
            "{point}: a crash is not a restore"
        );
        if state == "OUTCOME_UNKNOWN" {
            let list = std::fs::read_to_string(site.dir().join("fence/unresolved.delete")).unwrap();
            assert!(
                list.contains("+ /app/vault/a.md"),
                "{point}: the path is fenced across roles: {list}"
            );
        }
        drop(daemon);
        audit_is_sound(&site, Role::Delete);
    }
}

#[test]
fn t23_a_delete_that_was_not_started_is_requeued_by_a_person_and_then_done() {
    let (site, commit) = ready();
    let mut daemon = Daemon::armed(&site, Role::Delete, "delete.sealed");
    let job = approved_delete(&site, "a.md", &commit, "text");
    daemon.wait_end();
    let daemon = Daemon::start(&site, Role::Delete);
    daemon.wait_state(&job, &["OUTCOME_UNKNOWN"]);
    // Not even an absent file is evidence for something that was not sent.
    std::fs::rename(site.dir().join("vault/a.md"), site.dir().join("aside")).unwrap();
    let probe = format!("/v1/jobs/{}/probe", job["job_id"].as_str().unwrap());
    let (_, seen) = daemon.post(&probe, &json!({ "reason": "look" }));
    assert_eq!(seen["evidence"], "not_sent", "{seen}");
    std::fs::rename(site.dir().join("aside"), site.dir().join("vault/a.md")).unwrap();
    let path = format!("/v1/jobs/{}/requeue", job["job_id"].as_str().unwrap());
    let (status, answer) = daemon.post(&path, &json!({ "reason": "looked: nothing was sent" }));
    assert_eq!(status, 200, "{answer}");
    daemon.wait_state(&job, &["SUCCEEDED"]);
    assert_eq!(site.in_vault("a.md"), None);
    assert_eq!(spent_lines(&site, &job), 1);
}

#[test]
fn an_unknown_delete_is_resolved_by_a_person_who_is_told_to_check_first() {
    let (site, commit) = ready();
    let mut daemon = Daemon::armed(&site, Role::Delete, "delete.sent");
    let job = approved_delete(&site, "a.md", &commit, "text");
    daemon.wait_end();
    let daemon = Daemon::start(&site, Role::Delete);
    daemon.wait_state(&job, &["OUTCOME_UNKNOWN"]);
    let id = job["job_id"].as_str().unwrap();
    let (_, why) = daemon.get(&format!("/v1/jobs/{id}/why"));
    assert!(why.to_string().to_lowercase().contains("check first"), "{why}");
    assert!(!why.to_string().contains("try again"), "{why}");
    let resolve = || {
        daemon.post(
            &format!("/v1/jobs/{id}/resolve"),
            &json!({ "reason": "the file is gone", "outcome": "applied" }),
        )
    };
    let end = Instant::now() + PATIENCE;
    let answer = loop {
        let (status, answer) = resolve();
        if status == 200 {
            break answer;
        }
        assert!(
            answer.to_string().contains("heck first"),
            "too early says so: {answer}"
        );
        assert!(Instant::now() < end, "{answer}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(
        (&answer["state"], &answer["code"]),
        (&json!("SUCCEEDED"), &json!("resolved_applied")),
        "{answer}"
    );
    let list = std::fs::read_to_string(site.dir().join("fence/unresolved.delete")).unwrap();
    assert!(
        list.trim_end().ends_with("- /app/vault/a.md") || !list.contains("a.md"),
        "{list}"
    );
}

#[test]
fn a_role_told_to_stop_settles_what_it_holds_and_exits_0() {
    let (site, commit) = ready();
    let mut daemon = Daemon::start(&site, Role::Save);
    let jobs: Vec<Value> = (0..50)
        .map(|_| {
            let job = site.save_job("a.md", &commit, "text");
            site.drop_json(Role::Save, &job);
            job
        })
        .collect();
    let started = Instant::now();
    let status = daemon.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(20));
    drop(daemon);
    let db = rusqlite::Connection::open(site.dir().join("state/save/inbox.db")).unwrap();
    let held: i64 = db
        .query_row(
            "SELECT count(*) FROM jobs WHERE state IN ('CLAIMED', 'EXECUTING')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(held, 0, "nothing is left under a lease");
    drop(db);
    let daemon = Daemon::start(&site, Role::Save);
    for job in &jobs {
        daemon.wait_state(job, &["SUCCEEDED"]);
    }
}

#[test]
fn t21_t22_a10_eight_processes_2000_jobs_and_random_kills() {
    const JOBS: usize = 1000;
    let extra = "\n[vault.deadlines]\nsend = \"1s\"\n\n[limits]\njobs_per_uid = 100000\n";
    let site = Site::with(extra);
    let names: Vec<String> = (0..JOBS).map(|n| format!("n/{n:04}.md")).collect();
    let gone: Vec<String> = (0..JOBS).map(|n| format!("d/{n:04}.md")).collect();
    let changes: Vec<(&str, Option<&str>)> = names
        .iter()
        .chain(&gone)
        .map(|name| (name.as_str(), Some(name.as_str())))
        .collect();
    let commit = site.commit(&changes);
    let mut saves = Vec::new();
    let mut deletes = Vec::new();
    let (mut save_lines, mut delete_lines) = (String::new(), String::new());
    for (save, delete) in names.iter().zip(&gone) {
        let job = site.save_job(save, &commit, save);
        save_lines.push_str(&format!("{job}\n"));
        saves.push(job);
        site.put_in_vault(delete, delete);
        let job = site.delete_job(delete, &commit, delete);
        delete_lines.push_str(&format!("{}\n{job}\n", site.envelope(&site.payload(&job, now()))));
        deletes.push(job);
    }
    let lines: Vec<&str> = delete_lines.lines().collect();
    for (n, part) in lines.chunks(1000).enumerate() {
        site.drop_file(
            Role::Delete,
            &format!("part-{n}.jsonl"),
            part.join("\n").as_bytes(),
        );
    }
    site.drop_file(Role::Save, "all.jsonl", save_lines.as_bytes());
    // All of them are admitted before the storm: a file on which a process died three times would go to quarantine.
    for role in Role::EXECUTORS {
        let clock = std::sync::Arc::new(lockgate::clock::TestClock::at(now()));
        site.role_on(role, clock).read_files();
        assert_eq!(count(&site, role, "1"), JOBS as i64);
    }
    let mut processes: Vec<_> = (0..8)
        .map(|n| (role_of(n), spawn(&site, role_of(n), "")))
        .collect();
    let mut dice = 0x9e37_79b9_u32;
    let (mut kills, mut save_kills, started) = (0, 0, Instant::now());
    while kills < 60 && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(u64::from(roll(&mut dice) % 120)));
        let at = (roll(&mut dice) % 8) as usize;
        let (role, child) = &mut processes[at];
        // Each death of its holder costs a save one of its eight tries.
        if *role == Role::Save && save_kills == 6 {
            continue;
        }
        save_kills += usize::from(*role == Role::Save);
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        *child = spawn(&site, *role, "");
    }
    for (_, child) in &mut processes {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // What the storm left is sorted on a clock that does not make us wait for the next tries.
    for role in Role::EXECUTORS {
        let clock = std::sync::Arc::new(lockgate::clock::TestClock::at(now()));
        let mut rig = site.role_on(role, clock);
        rig.settle();
        for _ in 0..200 {
            if unsettled(&site, role) == 0 {
                break;
            }
            rig.wait(600_000, 60_000);
        }
        assert_eq!(unsettled(&site, role), 0, "{:?}", standing(&site, role));
    }
    for name in &names {
        assert_eq!(site.in_vault(name).as_ref(), Some(name), "no save is lost");
    }
    let log = std::fs::read_to_string(site.dir().join("state/delete/spent.log")).unwrap();
    let mut spent: BTreeMap<&str, usize> = BTreeMap::new();
    for line in log.lines().filter(|line| !line.contains(" torn ")) {
        *spent.entry(line.split(' ').nth(1).unwrap()).or_default() += 1;
    }
    assert!(
        spent.values().all(|times| *times == 1),
        "no approval is spent twice"
    );
    let states = states(&site);
    let mut unknown = 0;
    for (job, name) in deletes.iter().zip(&gone) {
        let state = states[job["job_id"].as_str().unwrap()].as_str();
        match state {
            "SUCCEEDED" => assert_eq!(site.in_vault(name), None),
            "OUTCOME_UNKNOWN" => unknown += 1,
            _ => panic!("{job} is {state}"),
        }
        if site.in_vault(name).is_none() {
            assert!(
                spent.contains_key(job["approval_id"].as_str().unwrap()),
                "nothing is deleted without a spent approval"
            );
        }
    }
    assert!(kills >= 10, "only {kills} kills");
    println!("{kills} kills, {unknown} deletes unknown");
    for role in Role::EXECUTORS {
        audit_is_sound(&site, role);
    }
}

fn role_of(n: usize) -> Role {
    if n.is_multiple_of(2) {
        Role::Save
    } else {
        Role::Delete
    }
}

fn roll(dice: &mut u32) -> u32 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    *dice ^= *dice << 5;
    *dice
}

fn count(site: &Site, role: Role, which: &str) -> i64 {
    let path = site.dir().join(format!("state/{role}/inbox.db"));
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(db) = rusqlite::Connection::open_with_flags(path, flags) else {
        return -1;
    };
    drop(db.busy_timeout(Duration::from_secs(5)));
    db.query_row(&format!("SELECT count(*) FROM jobs WHERE {which}"), [], |row| {
        row.get(0)
    })
    .unwrap_or(-1)
}

/// How many jobs stand where, with how many tries.
fn standing(site: &Site, role: Role) -> Vec<(String, i64, i64)> {
    let db = rusqlite::Connection::open(site.dir().join(format!("state/{role}/inbox.db"))).unwrap();
    let sql = "SELECT state || ' ' || coalesce(hold, '') || ' ' || coalesce(detail, ''), attempt, count(*) FROM jobs GROUP BY 1, 2";
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn unsettled(site: &Site, role: Role) -> i64 {
    let open = count(site, role, "state IN ('READY', 'CLAIMED', 'EXECUTING')");
    if open < 0 { 1 } else { open }
}

fn states(site: &Site) -> BTreeMap<String, String> {
    let db = rusqlite::Connection::open(site.dir().join("state/delete/inbox.db")).unwrap();
    let mut statement = db.prepare("SELECT job_id, state FROM jobs").unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}
