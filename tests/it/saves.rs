//! SAVE from the drop directory to the vault, on a clock that stands still.

use crate::support::vault::{Fate, Scripted};
use crate::support::*;
use lockgate::job::Role;
use lockgate::target::{Answer, FaultText};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn scripted(site: &Site, fates: &[Fate]) -> (Rig, Arc<Scripted>) {
    site.scripted(Role::Save, fates)
}

#[test]
fn t01_a_save_appears_with_the_sources_exact_bytes() {
    let site = Site::new();
    let text = "héllo\r\n\u{0}binary too\n";
    let commit = site.commit(&[("notes/a.md", Some(text))]);
    let mut rig = site.role(Role::Save);
    let job = site.save_job("notes/a.md", &commit, text);
    site.drop_json(Role::Save, &job);
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
    assert_eq!(site.in_vault("notes/a.md").as_deref(), Some(text));
    assert_eq!(
        std::fs::read_dir(site.spool(Role::Save).join("drop"))
            .unwrap()
            .count(),
        0,
        "the file is gone once it is admitted"
    );
    assert!(rig.published().is_empty());
    rig.verify();
}

#[test]
fn t03_to_t20_what_is_refused_at_the_door_says_code_and_field_and_takes_nothing() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let mut rig = site.role(Role::Save);
    let good = site.save_job("a.md", &commit, "text");
    let with = |field: &str, value: serde_json::Value| {
        let mut document = good.clone();
        document[field] = value;
        document
    };
    let delete = site.delete_job("a.md", &commit, "text");
    let bad = [
        (with("job_version", json!(2)), "unknown_version", "/job_version"),
        (
            with("job_type", json!("c5_save_object")),
            "unknown_job_type",
            "/job_type",
        ),
        (
            with("job_type", json!("C5_SAVE_OBJECT ")),
            "unknown_job_type",
            "/job_type",
        ),
        (delete.clone(), "wrong_role", "/job_type"),
        (with("handler", json!("sh")), "unknown_field", "/handler"),
        (
            with("job_id", json!(good["job_id"].as_str().unwrap().to_uppercase())),
            "bad_uuid",
            "/job_id",
        ),
        (
            with("provenance_hash", json!("AB".repeat(32))),
            "bad_hash",
            "/provenance_hash",
        ),
        (
            with("created_at", json!("2026-11-30T12:00:60Z")),
            "bad_time",
            "/created_at",
        ),
        (
            with("vault_path", json!("/app/vault/../etc/passwd")),
            "path_traversal",
            "/vault_path",
        ),
        (
            with("vault_path", json!("/app/vaultx/a.md")),
            "path_outside_root",
            "/vault_path",
        ),
        (
            with("vault_path", json!("/app/vault/%2e%2e/a.md")),
            "path_ambiguous",
            "/vault_path",
        ),
        (
            with("vault_path", json!("/app/vault/.git/config")),
            "path_hidden",
            "/vault_path",
        ),
        (
            with("vault_path", json!("/app/vault/a\u{200b}.md")),
            "path_ambiguous",
            "/vault_path",
        ),
        (with("job_version", json!("1")), "wrong_type", "/job_version"),
    ];
    for (document, _, _) in &bad {
        site.drop_json(Role::Save, document);
    }
    rig.settle();
    for (document, code, pointer) in &bad {
        let found = rig
            .refusal(document.to_string().as_bytes())
            .unwrap_or_else(|| panic!("accepted: {document}"));
        assert_eq!(
            (found.0.as_str(), found.1.as_str()),
            (*code, *pointer),
            "{document}"
        );
        assert!(!found.2.is_empty(), "{code} says what to do");
    }
    assert_eq!(site.in_vault("a.md"), None);
    // Nothing of it took the id or the key: the good one is still admitted.
    site.drop_json(Role::Save, &good);
    rig.settle();
    rig.assert_outcome(&good, "SUCCEEDED", "saved", "");
    rig.verify();
}

#[test]
fn t09_t11_what_is_not_a_document_is_refused_quickly_and_the_next_file_goes_on() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let mut rig = site.role(Role::Save);
    let good = site.save_job("a.md", &commit, "text");
    let mut deep = "[".repeat(1000);
    deep.push_str(&"]".repeat(1000));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "malformed_json"),
        (b"{".to_vec(), "malformed_json"),
        (b"\xff\xfe{}".to_vec(), "malformed_json"),
        (b"\xef\xbb\xbf{}".to_vec(), "malformed_json"),
        (b"{}\0".to_vec(), "malformed_json"),
        (deep.into_bytes(), "too_deep"),
        (
            format!(r#"{{"job_version":1,"job\u005fversion":1{}}}"#, "").into_bytes(),
            "duplicate_key",
        ),
        (vec![b' '; 64 * 1024 + 1], "too_large"),
    ];
    for (n, (bytes, _)) in cases.iter().enumerate() {
        site.drop_file(Role::Save, &format!("bad-{n}.json"), bytes);
    }
    site.drop_json(Role::Save, &good);
    rig.settle();
    let counts = rig.gear.ledger.overview().unwrap().counts;
    for code in ["malformed_json", "too_deep", "duplicate_key", "too_large"] {
        assert!(
            counts["refused"].get(code).copied().unwrap_or(0) > 0,
            "{code}: {counts:?}"
        );
    }
    assert_eq!(counts["refused"].values().sum::<i64>(), cases.len() as i64);
    rig.assert_outcome(&good, "SUCCEEDED", "saved", "");
}

#[test]
fn t27_t29_the_same_job_again_changes_nothing() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    rig.settle();
    site.drop_file(
        Role::Save,
        "again.json",
        format!("{}\n", serde_json::to_string_pretty(&job).unwrap()).as_bytes(),
    );
    rig.settle();
    assert_eq!(vault.sent(), 1);
    assert_eq!(rig.row(&job).attempt, 1);
    // Another job for bytes that are there already.
    let other = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &other);
    rig.settle();
    rig.assert_outcome(&other, "SUCCEEDED", "already_at_target", "");
    assert_eq!(vault.sent(), 1, "t29: no write is sent");
    rig.verify();
}

#[test]
fn m_p_a_persons_edit_is_not_overwritten_until_it_is_adopted() {
    let site = Site::new();
    let first = site.commit(&[("a.md", Some("one"))]);
    let mut rig = site.role(Role::Save);
    let save = site.save_job("a.md", &first, "one");
    site.drop_json(Role::Save, &save);
    rig.settle();
    site.put_in_vault("a.md", "a person was here");
    let second = site.commit(&[("a.md", Some("two"))]);
    let job = site.save_job("a.md", &second, "two");
    site.drop_json(Role::Save, &job);
    rig.settle();
    let (state, code, _) = rig.outcome(&job);
    assert_eq!((state.as_str(), code.as_str()), ("REJECTED", "target_drift"));
    assert_eq!(site.in_vault("a.md").as_deref(), Some("a person was here"));
    let seen = Some(lockgate::job::sha256(b"a person was here"));
    rig.gear
        .ledger
        .write(move |tx| tx.adopt("/app/vault/a.md", seen, 0, "I looked"))
        .unwrap();
    let again = site.save_job("a.md", &second, "two");
    site.drop_json(Role::Save, &again);
    rig.settle();
    rig.assert_outcome(&again, "SUCCEEDED", "saved", "");
    assert_eq!(site.in_vault("a.md").as_deref(), Some("two"));
    rig.verify();
}

#[test]
fn t37_bytes_and_provenance_are_recomputed_never_believed() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let (mut rig, vault) = scripted(&site, &[]);
    let mut state = site.save_job("a.md", &commit, "text");
    state["expected_state"] = json!(format!("sha256:{}", lockgate::job::sha256(b"other")));
    let mut provenance = site.save_job("a.md", &commit, "text");
    provenance["provenance_hash"] = json!("ab".repeat(32));
    let mut object = site.save_job("a.md", &commit, "text");
    object["object_id"] = json!("b.md");
    let missing = site.save_job("absent.md", &commit, "text");
    for job in [&state, &provenance, &object, &missing] {
        site.drop_json(Role::Save, job);
    }
    rig.settle();
    assert_eq!(rig.outcome(&state).1, "expected_state_mismatch");
    assert_eq!(rig.outcome(&provenance).1, "provenance_mismatch", "m_l");
    assert_eq!(rig.outcome(&object).1, "object_id_mismatch");
    assert_eq!(rig.outcome(&missing).1, "source_missing");
    assert_eq!(vault.sent(), 0);
    assert_eq!(site.in_vault("a.md"), None);
    rig.verify();
}

#[test]
fn t38_an_outage_of_the_source_for_two_days_costs_no_attempt() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let mut rig = site.role(Role::Save);
    let job = site.save_job("a.md", &commit, "text");
    let (source, away) = (site.dir().join("source"), site.dir().join("source.away"));
    std::fs::rename(&source, &away).unwrap();
    site.drop_json(Role::Save, &job);
    rig.settle();
    rig.wait(2 * 86_400_000, 60_000);
    let row = rig.row(&job);
    assert_eq!((row.state.as_str(), row.attempt), ("READY", 0));
    assert!(
        rig.gear
            .conditions
            .list()
            .iter()
            .any(|condition| condition.reason == "source")
    );
    assert_eq!(site.in_vault("a.md"), None);
    std::fs::rename(&away, &source).unwrap();
    rig.wait(120_000, 10_000);
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
    assert!(
        rig.gear.conditions.list().is_empty(),
        "{:?}",
        rig.gear.conditions.list()
    );
}

#[test]
fn t38_m_w_a_commit_must_be_on_the_ref_and_not_older_than_what_was_saved() {
    let site = Site::new();
    let old = site.commit(&[("a.md", Some("one"))]);
    let new = site.commit(&[("a.md", Some("two"))]);
    let mut rig = site.role(Role::Save);
    let job = site.save_job("a.md", &new, "two");
    site.drop_json(Role::Save, &job);
    rig.settle();
    let stale = site.save_job("a.md", &old, "one");
    site.drop_json(Role::Save, &stale);
    rig.settle();
    rig.assert_outcome(&stale, "REJECTED", "stale_commit", "");
    assert_eq!(site.in_vault("a.md").as_deref(), Some("two"));
    // A commit on another branch only: the main branch goes back to before it.
    let elsewhere = site.commit(&[("b.md", Some("side"))]);
    let main = site.dir().join("source/.git/refs/heads/main");
    std::fs::write(&main, format!("{}\n", new.as_str())).unwrap();
    let side = site.save_job("b.md", &elsewhere, "side");
    site.drop_json(Role::Save, &side);
    rig.settle();
    rig.assert_outcome(&side, "REJECTED", "commit_not_on_ref", "");
    assert_eq!(site.in_vault("b.md"), None);
}

#[test]
fn f07_an_unreachable_vault_is_not_claimed_for_and_nothing_is_lost() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let (mut rig, vault) = scripted(&site, &[]);
    vault.down.store(true, Ordering::SeqCst);
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    rig.settle();
    rig.wait(3_600_000, 30_000);
    assert_eq!(
        (rig.row(&job).state.as_str(), rig.row(&job).attempt),
        ("READY", 0)
    );
    assert_eq!(rig.gear.conditions.list()[0].reason, "target");
    vault.down.store(false, Ordering::SeqCst);
    rig.wait(120_000, 10_000);
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
    assert_eq!(vault.sent(), 1);
}

#[test]
fn f09_no_answer_is_probed_and_settled_by_what_is_there() {
    let unclear = Answer::NoAnswer {
        detail: "sync_failed",
    };
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a")), ("b.md", Some("b"))]);
    let (mut rig, vault) = scripted(&site, &[Fate::Done(unclear.clone())]);
    let done = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &done);
    rig.settle();
    rig.assert_outcome(&done, "SUCCEEDED", "saved", "");
    assert_eq!(vault.sent(), 1, "m_k: it is looked at, not sent again");
    let (mut rig, vault) = {
        drop(rig);
        scripted(&site, &[Fate::NotDone(unclear)])
    };
    let lost = site.save_job("b.md", &commit, "b");
    site.drop_json(Role::Save, &lost);
    rig.settle();
    let row = rig.row(&lost);
    assert_eq!(
        (row.state.as_str(), row.attempt, row.hold.as_deref()),
        ("READY", 1, Some("retry"))
    );
    rig.wait(30_000, 10_000);
    rig.assert_outcome(&lost, "SUCCEEDED", "saved", "");
    assert_eq!((vault.sent(), rig.row(&lost).attempt), (2, 2));
    rig.verify();
}

#[test]
fn f09_a_vault_that_goes_away_after_the_send_is_probed_until_it_is_back() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let (mut rig, vault) = scripted(
        &site,
        &[Fate::Done(Answer::NoAnswer {
            detail: "read_failed",
        })],
    );
    vault.down_after.store(true, Ordering::SeqCst);
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    rig.settle();
    rig.wait(3_600_000, 20_000);
    assert_eq!(rig.row(&job).state, "EXECUTING");
    assert_eq!(rig.published(), ["/app/vault/a.md"]);
    vault.down_after.store(false, Ordering::SeqCst);
    vault.down.store(false, Ordering::SeqCst);
    rig.wait(600_000, 20_000);
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
    assert_eq!(vault.sent(), 1);
    assert!(rig.published().is_empty());
    rig.verify();
}

#[test]
fn f11_f13_f15_f17_each_clear_answer_has_its_own_end() {
    let site = Site::new();
    let commit = site.commit(&[
        ("a.md", Some("a")),
        ("b.md", Some("b")),
        ("c.md", Some("c")),
        ("d.md", Some("d")),
    ]);
    let fates = [
        Fate::NotDone(Answer::Refused {
            detail: "not_a_regular_file",
        }),
        Fate::NotDone(Answer::ServerError),
        Fate::NotDone(Answer::Busy {
            retry_after_ms: Some(90_000),
        }),
        Fate::NotDone(Answer::Credential),
    ];
    let (mut rig, _vault) = scripted(&site, &fates);
    let jobs: Vec<_> = [("a.md", "a"), ("b.md", "b"), ("c.md", "c")]
        .iter()
        .map(|(path, text)| site.save_job(path, &commit, text))
        .collect();
    for job in &jobs {
        site.drop_json(Role::Save, job);
        // A target that failed is left alone for a moment.
        rig.wait(1_000, 1_000);
    }
    rig.assert_outcome(&jobs[0], "FAILED", "target_refused", "not_a_regular_file");
    rig.assert_outcome(&jobs[1], "FAILED", "target_error", "");
    assert_eq!(
        (rig.row(&jobs[2]).state.as_str(), rig.row(&jobs[2]).attempt),
        ("READY", 1)
    );
    rig.clock.advance(88_000);
    rig.settle();
    assert_eq!(rig.row(&jobs[2]).state, "READY", "not before the time given");
    let last = site.save_job("d.md", &commit, "d");
    rig.wait(3_000, 1_000);
    // The credential answer went to c.md's second try: claiming stops for everybody.
    rig.assert_outcome(&jobs[2], "FAILED", "target_refused", "credential");
    site.drop_json(Role::Save, &last);
    rig.settle();
    rig.wait(86_400_000, 3_600_000);
    assert_eq!(
        (rig.row(&last).state.as_str(), rig.row(&last).attempt),
        ("READY", 0),
        "t39: no second job is burnt"
    );
    assert_eq!(rig.gear.conditions.list()[0].reason, "credential");
    rig.gear.conditions.credential_ok();
    rig.settle();
    rig.assert_outcome(&last, "SUCCEEDED", "saved", "");
    rig.verify();
}

#[test]
fn attempts_end_at_eight_over_their_schedule() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let fates: Vec<Fate> = (0..8)
        .map(|_| {
            Fate::NotDone(Answer::NotSent {
                why: FaultText::new("step", Some(5)),
            })
        })
        .collect();
    let (mut rig, vault) = scripted(&site, &fates);
    let job = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &job);
    rig.settle();
    let schedule = [
        30_000, 120_000, 600_000, 3_600_000, 21_600_000, 21_600_000, 21_600_000,
    ];
    for (tried, wait) in schedule.into_iter().enumerate() {
        assert_eq!(vault.sent(), tried + 1);
        rig.clock.advance(wait - 1);
        rig.settle();
        assert_eq!(vault.sent(), tried + 1, "not before its time");
        rig.clock.advance(1);
        rig.settle();
    }
    rig.assert_outcome(&job, "FAILED", "attempts_exhausted", "");
    assert_eq!(vault.sent(), 8);
    rig.verify();
}

#[test]
fn a15_a16_m_u_what_changes_between_the_gates_and_the_send_stops_it() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let (mut rig, vault) = scripted(&site, &[]);
    let file = site.dir().join("vault/a.md");
    *vault.before.lock().unwrap() = Some(Box::new(move || {
        std::fs::write(&file, "somebody was faster").unwrap()
    }));
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    rig.settle();
    assert_eq!(rig.outcome(&job).1, "target_drift");
    assert_eq!(site.in_vault("a.md").as_deref(), Some("somebody was faster"));
    rig.verify();
}

#[test]
fn the_kill_switch_stops_admission_and_claims_until_it_is_gone() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let mut rig = site.role(Role::Save);
    std::fs::write(site.dir().join("state/frozen"), "").unwrap();
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    rig.settle();
    assert!(rig.gear.ledger.job(id(&job)).unwrap().is_none(), "the file waits");
    std::fs::remove_file(site.dir().join("state/frozen")).unwrap();
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
}

#[test]
fn a_try_that_was_due_in_an_earlier_boot_is_made_although_nothing_else_happens() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a"))]);
    let lost = Fate::NotDone(Answer::NoAnswer {
        detail: "read_failed",
    });
    let (mut rig, _vault) = scripted(&site, &[lost]);
    let job = site.save_job("a.md", &commit, "a");
    site.drop_json(Role::Save, &job);
    rig.settle();
    assert_eq!(rig.row(&job).hold.as_deref(), Some("retry"));
    drop(rig);
    // As a reboot leaves it: another boot, whose clock had run for ten days.
    let db = rusqlite::Connection::open(site.dir().join("state/save/inbox.db")).unwrap();
    db.execute(
        "UPDATE jobs SET due_boot_id = 'another', due_boot_ms = 864000000",
        [],
    )
    .unwrap();
    drop(db);
    let mut rig = site.role(Role::Save);
    rig.settle();
    assert_eq!(rig.row(&job).state, "READY", "not before its time");
    rig.wait(30_000, 10_000);
    rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
}
