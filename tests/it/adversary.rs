//! Rows A and the rest of F and T against a whole role: replays, stale documents, clocks, secrets, links.

use crate::support::process::{Daemon, PATIENCE};
use crate::support::*;
use lockgate::clock::{Clock, SystemClock, TestClock, WallMs};
use lockgate::job::Role;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

#[test]
fn a08_a09_a_stale_mission_and_a_stale_provenance_delete_nothing() {
    let site = Site::new();
    let old = site.commit(&[("a.md", Some("one"))]);
    let new = site.commit(&[("a.md", Some("two"))]);
    site.put_in_vault("a.md", "two");
    let mut rig = site.role(Role::Delete);
    // Provenance of the old bytes under the new commit, and the other way round.
    let mut mixed = site.delete_job("a.md", &new, "two");
    mixed["expected_provenance_hash"] = json!(provenance(&old, "a.md", "one"));
    let stale = site.delete_job("a.md", &old, "one");
    for job in [&mixed, &stale] {
        site.drop_json(Role::Delete, job);
        site.drop_json(Role::Delete, &site.envelope(&site.payload(job, WallMs(NOW))));
    }
    rig.settle();
    assert_eq!(rig.outcome(&mixed).1, "provenance_mismatch");
    assert_eq!(rig.outcome(&stale).1, "target_drift");
    // An approval of another mission for the same object.
    let mine = site.delete_job("a.md", &new, "two");
    let mut payload = site.payload(&mine, WallMs(NOW));
    payload.mission_id = lockgate::job::MissionId::random();
    site.drop_json(Role::Delete, &mine);
    site.drop_json(Role::Delete, &site.envelope(&payload));
    rig.settle();
    rig.assert_outcome(&mine, "REJECTED", "delete_denied", "approval_mismatch:mission_id");
    assert_eq!(site.in_vault("a.md").as_deref(), Some("two"));
    assert_eq!(
        std::fs::read_to_string(site.dir().join("state/delete/spent.log"))
            .unwrap()
            .lines()
            .count(),
        0
    );
    rig.verify();
}

#[test]
fn a11_everything_dropped_again_after_a_restart_changes_nothing() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a")), ("b.md", Some("b"))]);
    site.put_in_vault("b.md", "b");
    let save = site.save_job("a.md", &commit, "a");
    let delete = site.delete_job("b.md", &commit, "b");
    let envelope = site.envelope(&site.payload(&delete, WallMs(NOW)));
    let drop_all = || {
        site.drop_json(Role::Save, &save);
        site.drop_json(Role::Delete, &delete);
        site.drop_json(Role::Delete, &envelope);
    };
    drop_all();
    for role in Role::EXECUTORS {
        site.role(role).settle();
    }
    let heads: Vec<_> = Role::EXECUTORS
        .iter()
        .map(|role| site.role(*role).gear.ledger.head().unwrap())
        .collect();
    std::fs::remove_file(site.dir().join("vault/a.md")).unwrap();
    site.put_in_vault("b.md", "b");
    for _ in 0..2 {
        drop_all();
        for role in Role::EXECUTORS {
            site.role(role).settle();
        }
    }
    assert_eq!(
        (site.in_vault("a.md"), site.in_vault("b.md").as_deref()),
        (None, Some("b"))
    );
    let again: Vec<_> = Role::EXECUTORS
        .iter()
        .map(|role| site.role(*role).gear.ledger.head().unwrap())
        .collect();
    assert_eq!(heads, again, "not even an audit row");
}

#[test]
fn a22_a_wall_clock_that_jumps_ten_years_and_back_again_and_again() {
    const YEARS: i64 = 10 * 365 * 86_400_000;
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a")), ("b.md", Some("b")), ("c.md", Some("c"))]);
    site.put_in_vault("b.md", "b");
    let mut rig = site.role(Role::Save);
    for (jump, path, text) in [
        (YEARS, "a.md", "a"),
        (-2 * YEARS, "b.md", "b"),
        (YEARS, "c.md", "c"),
    ] {
        rig.clock.jump_wall(jump);
        let job = site.save_job(path, &commit, text);
        site.drop_json(Role::Save, &job);
        rig.settle();
        assert_eq!(
            rig.row(&job).state,
            "SUCCEEDED",
            "a save does not depend on the wall clock: {jump}"
        );
    }
    rig.verify();
    drop(rig);
    let mut rig = site.role(Role::Delete);
    let job = site.delete_job("b.md", &commit, "b");
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
    rig.read_files();
    // Ten years later the approval is over; back again, the clock is not believed, and a second backwards every second changes nothing.
    rig.clock.jump_wall(YEARS);
    rig.settle();
    rig.wait(1_000, 1_000);
    assert_eq!(rig.row(&job).attempt, 0);
    assert_eq!(
        rig.row(&job).state,
        "REJECTED",
        "no approval in time, as far as this clock knows"
    );
    rig.clock.jump_wall(-YEARS);
    let other = site.delete_job("b.md", &commit, "b");
    site.drop_json(Role::Delete, &other);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&other, WallMs(NOW))));
    for _ in 0..100 {
        rig.settle();
        rig.clock.advance(1_000);
        rig.clock.jump_wall(-2_000);
    }
    assert_eq!(
        rig.row(&other).attempt,
        0,
        "not claimed before a person accepts the clock"
    );
    assert_eq!(site.in_vault("b.md").as_deref(), Some("b"));
    assert!(
        rig.gear
            .conditions
            .list()
            .iter()
            .any(|condition| condition.reason == "clock")
    );
    rig.gear
        .ledger
        .write(|tx| tx.accept_clock(0, "it is right now"))
        .unwrap();
    rig.gear
        .ledger
        .write(|tx| tx.keep("clock_accepted_over_ms", &i64::MAX.to_string()))
        .unwrap();
    // Its issued_at is still a little ahead of this clock.
    rig.wait(200_000, 10_000);
    rig.assert_outcome(&other, "SUCCEEDED", "deleted", "");
    rig.verify();
}

#[test]
fn a22_a_suspended_host_keeps_its_leases_by_the_clock_that_counts_sleep() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let clock = Arc::new(TestClock::at(WallMs(NOW)));
    let mut rig = site.role_on(Role::Save, clock.clone());
    let job = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &job);
    rig.read_files();
    let claimer = rig.gear.claimer();
    let claimed = rig
        .gear
        .ledger
        .write(move |tx| tx.claim(&claimer, 1))
        .unwrap()
        .claimed;
    rig.gear.leases.add(&claimed);
    assert!(rig.gear.leases.outlasts(&claimed[0], 30_000));
    clock.advance(3_600_000);
    assert!(
        !rig.gear.leases.outlasts(&claimed[0], 30_000),
        "m_z: nothing is sent after a sleep"
    );
    rig.settle();
    assert_eq!(
        rig.row(&job).state,
        "CLAIMED",
        "an expired lease whose holder lives moves nothing"
    );
}

#[test]
fn f03_f04_unknown_versions_and_types_are_refused_for_both_roles() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    for role in Role::EXECUTORS {
        let mut rig = site.role(role);
        let good = if role == Role::Save {
            site.save_job("a.md", &commit, "a")
        } else {
            site.delete_job("a.md", &commit, "a")
        };
        for (field, value, code) in [
            ("job_version", json!(2), "unknown_version"),
            ("job_version", json!(0), "unknown_version"),
            ("job_type", json!("C5_RUN_COMMAND"), "unknown_job_type"),
            ("command", json!("rm -rf /"), "unknown_field"),
            ("url", json!("http://127.0.0.1/"), "unknown_field"),
        ] {
            let mut document = good.clone();
            document[field] = value;
            site.drop_json(role, &document);
            rig.settle();
            assert_eq!(rig.refusal_code(&document), code, "{role} {field}");
        }
        site.drop_file(role, "cut.json", &good.to_string().as_bytes()[..100]);
        rig.settle();
        assert_eq!(
            rig.refusal(&good.to_string().as_bytes()[..100]).unwrap().0,
            "malformed_json"
        );
        assert!(rig.gear.ledger.job(id(&good)).unwrap().is_none());
    }
}

#[test]
fn f05_f23_what_a_save_cannot_have_costs_nothing_and_needs_no_credential() {
    // A source without its ref is unavailable: nothing is judged by it, nothing is lost by it.
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let head = site.dir().join("source/.git/refs/heads/main");
    let text = std::fs::read_to_string(&head).unwrap();
    std::fs::remove_file(&head).unwrap();
    // f23: the directory vault takes no credential, so none that is missing can stop a save.
    std::fs::remove_dir_all(site.dir().join("credentials")).unwrap();
    let mut rig = site.role(Role::Save);
    let job = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &job);
    rig.settle();
    rig.wait(600_000, 60_000);
    assert_eq!(
        (rig.row(&job).state.as_str(), rig.row(&job).attempt),
        ("READY", 0)
    );
    std::fs::write(&head, text).unwrap();
    rig.wait(120_000, 10_000);
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
}

#[test]
fn f19_a_save_whose_worker_died_after_the_claim_is_claimed_again() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let mut daemon = Daemon::armed(&site, Role::Save, "save.published");
    let job = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &job);
    daemon.wait_end();
    let daemon = Daemon::start(&site, Role::Save);
    let done = daemon.wait_state(&job, &["SUCCEEDED"]);
    assert_eq!(done["attempt"], 2, "the dead worker's attempt stays counted");
}

#[test]
fn t19_a_link_in_the_vault_is_never_followed_by_a_role() {
    let site = Site::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a.md"), "mine").unwrap();
    std::os::unix::fs::symlink(outside.path(), site.dir().join("vault/linked")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("a.md"), site.dir().join("vault/file.md")).unwrap();
    let commit = site.commit(&[("linked/a.md", Some("theirs")), ("file.md", Some("theirs"))]);
    let (mut save, mut delete) = (site.role(Role::Save), site.role(Role::Delete));
    for path in ["linked/a.md", "file.md"] {
        let job = site.save_job(path, &commit, "theirs");
        site.drop_json(Role::Save, &job);
        let gone = site.delete_job(path, &commit, "theirs");
        site.drop_json(Role::Delete, &gone);
        site.drop_json(Role::Delete, &site.envelope(&site.payload(&gone, WallMs(NOW))));
        save.settle();
        delete.settle();
        assert_eq!(
            save.row(&job).state,
            "REJECTED",
            "{path}: {:?}",
            save.outcome(&job)
        );
        assert_eq!(
            delete.row(&gone).state,
            "REJECTED",
            "{path}: {:?}",
            delete.outcome(&gone)
        );
    }
    assert_eq!(
        std::fs::read_to_string(outside.path().join("a.md")).unwrap(),
        "mine"
    );
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a20_a_hostile_drop_directory_neither_stops_a_role_nor_leads_it_elsewhere() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let daemon = Daemon::start(&site, Role::Save);
    let dir = site.spool(Role::Save).join("drop");
    std::os::unix::fs::symlink("/etc/passwd", dir.join("link.json")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.join("fifo.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    std::fs::create_dir(dir.join("dir.json")).unwrap();
    std::fs::write(dir.join("dir.json/inside"), "x").unwrap();
    let sparse = std::fs::File::create(dir.join("sparse.json")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    std::fs::write(site.dir().join("other"), "{}").unwrap();
    std::fs::hard_link(site.dir().join("other"), dir.join("hard.json")).unwrap();
    for name in ["..json", "a b.json", "x.txt", "-rf.json", "%2e%2e.json"] {
        std::fs::write(dir.join(name), "{}").unwrap();
    }
    let job = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &job);
    daemon.wait_state(&job, &["SUCCEEDED"]);
    assert_eq!(daemon.get("/health").0, 200);
    assert_eq!(
        std::fs::read_to_string(site.dir().join("other")).unwrap(),
        "{}",
        "what it was linked to is untouched"
    );
    assert!(std::fs::metadata("/etc/passwd").unwrap().len() > 0);
}

/// Every file below a directory, read whole.
fn all_bytes(dir: &std::path::Path, skip: &[&str], found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if skip.iter().any(|part| path.ends_with(part)) {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all_bytes(&path, skip, found);
        } else if kind.is_file() {
            found.push((
                path.display().to_string(),
                std::fs::read(&path).unwrap_or_default(),
            ));
        }
    }
}

#[test]
fn t40_a_secret_and_the_content_of_objects_appear_nowhere() {
    const CONTENT: &str = "canary-content-7d1f0c55";
    let site = Site::with("\n[log]\nlevel = \"trace\"\n");
    // The key as it lies in the credential, and as bytes.
    let key = std::fs::read_to_string(site.dir().join("credentials/delete/recovery-key"))
        .unwrap()
        .trim()
        .to_owned();
    assert!(key.len() >= 32);
    let commit = site.commit(&[("a.md", Some(CONTENT)), ("b.md", Some(CONTENT))]);
    site.put_in_vault("b.md", CONTENT);
    let (save, delete) = (
        Daemon::start(&site, Role::Save),
        Daemon::start(&site, Role::Delete),
    );
    let job = site.save_job("a.md", &commit, CONTENT);
    site.drop_json(Role::Save, &job);
    save.wait_state(&job, &["SUCCEEDED"]);
    let gone = site.delete_job("b.md", &commit, CONTENT);
    let now = SystemClock::new("test".to_owned()).wall();
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&gone, now)));
    site.drop_json(Role::Delete, &gone);
    delete.wait_state(&gone, &["SUCCEEDED"]);
    // A refusal of a document that holds both.
    let mut odd = job.clone();
    odd["note"] = json!(format!("{key} {CONTENT}"));
    site.drop_json(Role::Save, &odd);
    let end = Instant::now() + PATIENCE;
    while save.get("/metrics").0 == 200 && save.get("/v1/overview").1["refused"]["unknown_field"] != 1 {
        assert!(Instant::now() < end, "{}", save.get("/v1/overview").1);
    }
    let mut seen: Vec<(String, Vec<u8>)> = Vec::new();
    for (daemon, document) in [(&save, &job), (&delete, &gone)] {
        for page in ["/v1/overview", "/v1/audit", "/health", "/v1/jobs"] {
            seen.push((page.to_owned(), daemon.get(page).1.to_string().into_bytes()));
        }
        let page = format!("/v1/jobs/{}", document["job_id"].as_str().unwrap());
        seen.push((page.clone(), daemon.get(&page).1.to_string().into_bytes()));
        let pid = daemon.child.id();
        for file in ["environ", "cmdline"] {
            seen.push((
                format!("{pid} {file}"),
                std::fs::read(format!("/proc/{pid}/{file}")).unwrap(),
            ));
        }
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core file size"))
            .unwrap();
        assert!(
            core.split_whitespace().nth(4) == Some("0"),
            "no core dumps: {core}"
        );
    }
    all_bytes(site.dir(), &["vault", "source", "credentials"], &mut seen);
    let kinds: BTreeSet<&str> = ["inbox.db", "spent.log", "delete.log", "save.log"].into();
    for kind in kinds {
        assert!(
            seen.iter()
                .any(|(name, bytes)| name.ends_with(kind) && !bytes.is_empty()),
            "{kind} was looked at"
        );
    }
    let log = seen
        .iter()
        .find(|(name, _)| name.ends_with("delete.log"))
        .unwrap();
    assert!(
        String::from_utf8_lossy(&log.1).contains("ready"),
        "the log was written"
    );
    for (name, bytes) in &seen {
        for canary in [key.as_str(), CONTENT] {
            let found = bytes
                .windows(canary.len())
                .any(|window| window == canary.as_bytes());
            assert!(!found, "{name} holds {canary}");
        }
    }
}

#[test]
fn a01_a07_the_odd_ones_of_the_matrix_are_refused_by_a_whole_role() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let mut rig = site.role(Role::Save);
    let good = site.save_job("a.md", &commit, "a");
    let text = good.to_string();
    let cases: Vec<(String, &str)> = vec![
        (text.replacen("{", "{\"job_version\":1,", 1), "duplicate_key"),
        (
            text.replacen("{", "{\"job_versio\\u006e\":1,", 1),
            "duplicate_key",
        ),
        (
            text.replace("/app/vault/a.md", "/app/vault/\u{2024}\u{2024}/b.md"),
            "path_ambiguous",
        ),
        (
            text.replace("/app/vault/a.md", "/app/vault/a%2f..%2fb.md"),
            "path_ambiguous",
        ),
        (
            text.replace("C5_SAVE_OBJECT", "C5_Save_Object"),
            "unknown_job_type",
        ),
        (text.replace("\"C5_SAVE_OBJECT\"", "1"), "wrong_type"),
        (
            text.replace("\"job_version\":1", "\"job_version\":\"1\""),
            "wrong_type",
        ),
        (
            text.replace("\"job_version\":1", "\"job_version\":1.0"),
            "wrong_type",
        ),
        (format!("{text}{}", " ".repeat(70_000)), "too_large"),
    ];
    for (n, (document, _)) in cases.iter().enumerate() {
        site.drop_file(Role::Save, &format!("{n}.json"), document.as_bytes());
    }
    rig.settle();
    for (document, code) in &cases {
        if *code == "too_large" {
            continue;
        }
        let found = rig
            .refusal(document.as_bytes())
            .unwrap_or_else(|| panic!("accepted: {document}"));
        assert_eq!(found.0, *code, "{document}");
    }
    assert_eq!(
        rig.gear.ledger.overview().unwrap().counts["refused"]["too_large"],
        1
    );
    assert_eq!(
        rig.gear
            .ledger
            .overview()
            .unwrap()
            .counts
            .get("jobs")
            .map_or(0, |jobs| jobs.values().sum::<i64>()),
        0
    );
    let _: Value = good;
}
