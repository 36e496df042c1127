//! DELETE: every factor, in its order, and the approval spent exactly once.

use crate::support::vault::{Fate, Scripted};
use crate::support::*;
use lockgate::approval::ApprovalPayload;
use lockgate::clock::{TestClock, WallMs};
use lockgate::daemon::start::Outside;
use lockgate::job::{CommitId, Role};
use lockgate::ledger::control::Switch;
use lockgate::signing::key::ApproverKey;
use lockgate::target::{Answer, FaultText, Seen};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn scripted(site: &Site, fates: &[Fate]) -> (Rig, Arc<Scripted>) {
    site.scripted(Role::Delete, fates)
}

/// A site whose vault holds `a.md` as the source has it.
fn ready() -> (Site, CommitId) {
    ready_with("")
}

fn ready_with(extra: &str) -> (Site, CommitId) {
    let site = Site::with(extra);
    let commit = site.commit(&[("a.md", Some("text")), ("b.md", Some("text"))]);
    site.put_in_vault("a.md", "text");
    site.put_in_vault("b.md", "text");
    (site, commit)
}

fn approval_state(rig: &Rig, job: &Value) -> String {
    rig.gear
        .ledger
        .approval(job["approval_id"].as_str().unwrap())
        .unwrap()
        .map_or_else(String::new, |(found, _)| found.state)
}

#[test]
fn t02_an_approved_delete_removes_exactly_that_file_and_keeps_a_sealed_copy() {
    let (site, commit) = ready();
    let mut rig = site.role(Role::Delete);
    let job = site.delete_job("a.md", &commit, "text");
    site.drop_json(Role::Delete, &job);
    rig.settle();
    assert_eq!(rig.row(&job).hold.as_deref(), Some("approval"));
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
    assert_eq!(
        (site.in_vault("a.md"), site.in_vault("b.md").as_deref()),
        (None, Some("text"))
    );
    assert_eq!(approval_state(&rig, &job), "CONSUMED");
    let copy = rig.gear.recovery.as_ref().unwrap().open(&id(&job)).unwrap();
    assert_eq!(
        (copy.vault_path.as_str(), copy.bytes.as_slice()),
        ("/app/vault/a.md", b"text".as_slice())
    );
    assert!(rig.published().is_empty());
    let spent = std::fs::read_to_string(site.dir().join("state/delete/spent.log")).unwrap();
    assert_eq!(
        spent
            .lines()
            .filter(|line| line.contains(job["approval_id"].as_str().unwrap()))
            .count(),
        1
    );
    rig.verify();
}

#[test]
fn t30_after_a_confirmed_delete_neither_the_job_nor_its_approval_ever_sends_again() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.delete_job("a.md", &commit, "text");
    let envelope = site.envelope(&site.payload(&job, WallMs(NOW)));
    for document in [&job, &envelope] {
        site.drop_json(Role::Delete, document);
    }
    rig.settle();
    assert_eq!(vault.sent(), 1);
    site.put_in_vault("a.md", "text");
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &envelope);
    let mut again = site.delete_job("a.md", &commit, "text");
    for field in ["approval_id", "mission_id", "delete_request_id"] {
        again[field] = job[field].clone();
    }
    site.drop_json(Role::Delete, &again);
    rig.settle();
    rig.assert_outcome(&again, "REJECTED", "delete_denied", "approval_spent");
    assert_eq!(vault.sent(), 1);
    assert_eq!(site.in_vault("a.md").as_deref(), Some("text"));
    rig.verify();
}

#[test]
fn t31_without_an_approval_nothing_is_ever_sent() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.delete_job("a.md", &commit, "text");
    site.drop_json(Role::Delete, &job);
    rig.settle();
    rig.wait(86_400_000 - 1, 3_600_000);
    assert_eq!(rig.row(&job).attempt, 0);
    rig.wait(60_001, 60_000);
    rig.assert_outcome(&job, "REJECTED", "delete_denied", "approval_missing");
    assert_eq!(vault.sent(), 0);
}

#[test]
fn approval_wait_zero_denies_at_once() {
    let (site, commit) = ready_with("\n[delete]\napproval_wait = \"0s\"\n");
    let mut rig = site.role(Role::Delete);
    let job = site.delete_job("a.md", &commit, "text");
    site.drop_json(Role::Delete, &job);
    rig.settle();
    rig.assert_outcome(&job, "REJECTED", "delete_denied", "approval_missing");
}

#[test]
fn a14_m_d_m_e_m_f_an_approval_of_another_delete_is_for_that_one_only() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    let (mine, other) = (
        site.delete_job("a.md", &commit, "text"),
        site.delete_job("b.md", &commit, "text"),
    );
    let base = site.payload(&other, WallMs(NOW));
    let job = lockgate_job(&mine);
    let fixed = |change: &dyn Fn(&mut ApprovalPayload)| {
        let mut payload = site.payload(&mine, WallMs(NOW));
        change(&mut payload);
        payload
    };
    let cases: [(&str, ApprovalPayload); 6] = [
        ("object_id", fixed(&|p| p.object_id = base.object_id.clone())),
        ("vault_path", fixed(&|p| p.vault_path = base.vault_path.clone())),
        (
            "expected_commit",
            fixed(&|p| p.expected_commit = CommitId::parse(&"1f".repeat(20)).unwrap()),
        ),
        (
            "expected_provenance_hash",
            fixed(&|p| p.expected_provenance_hash = base.expected_provenance_hash),
        ),
        ("mission_id", fixed(&|p| p.mission_id = base.mission_id)),
        (
            "delete_request_id",
            fixed(&|p| p.delete_request_id = base.delete_request_id),
        ),
    ];
    drop(job);
    for (field, payload) in cases {
        let mut document = mine.clone();
        for unique in ["job_id", "idempotency_key", "approval_id"] {
            document[unique] = json!(uuid());
        }
        let mut payload = payload;
        payload.approval_id =
            lockgate::job::ApprovalId::parse(document["approval_id"].as_str().unwrap()).unwrap();
        site.drop_json(Role::Delete, &document);
        site.drop_json(Role::Delete, &site.envelope(&payload));
        rig.settle();
        rig.assert_outcome(
            &document,
            "REJECTED",
            "delete_denied",
            &format!("approval_mismatch:{field}"),
        );
        assert_eq!(
            approval_state(&rig, &document),
            "VERIFIED",
            "a denial does not touch the approval"
        );
    }
    assert_eq!(vault.sent(), 0);
    rig.verify();
}

fn lockgate_job(document: &Value) -> lockgate::job::document::Job {
    parsed(document, Role::Delete)
}

#[test]
fn t32_t33_t34_m_a_m_v_envelopes_that_do_not_hold_are_refused_at_the_door() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.delete_job("a.md", &commit, "text");
    let payload = site.payload(&job, WallMs(NOW));
    let bytes = payload.to_canonical();
    let stranger = ApproverKey::generate().unwrap();
    let good = site.envelope(&payload);
    let mut flipped = good.clone();
    let signature = flipped["signatures"][0]["signature"].as_str().unwrap().to_owned();
    let first = if signature.starts_with('A') { "B" } else { "A" };
    flipped["signatures"][0]["signature"] = json!(format!("{first}{}", &signature[1..]));
    let mut changed = good.clone();
    let text = String::from_utf8(bytes.clone())
        .unwrap()
        .replace("\"a.md\"", "\"b.md\"");
    changed["payload_b64"] = json!(base64(text.as_bytes()));
    let elsewhere = {
        let mut envelope = lockgate::approval::Envelope::unsigned(bytes.clone());
        let scheme = lockgate::signing::key::Scheme::Ed25519;
        envelope
            .add(
                site.key
                    .sign(scheme, lockgate::approval::Purpose::Approval, &uuid(), &bytes),
            )
            .unwrap();
        serde_json::from_slice::<Value>(&envelope.to_canonical()).unwrap()
    };
    let mut late = payload.clone();
    late.expires_at =
        lockgate::job::Timestamp::parse(&lockgate::job::format_utc(WallMs(NOW + 25 * 3_600_000))).unwrap();
    let mut over = payload.clone();
    over.issued_at =
        lockgate::job::Timestamp::parse(&lockgate::job::format_utc(WallMs(NOW - 7_200_000))).unwrap();
    over.expires_at =
        lockgate::job::Timestamp::parse(&lockgate::job::format_utc(WallMs(NOW - 1000))).unwrap();
    let mut early = payload.clone();
    early.issued_at =
        lockgate::job::Timestamp::parse(&lockgate::job::format_utc(WallMs(NOW + 61_000))).unwrap();
    let cases = [
        (flipped, "signature_invalid"),
        (changed, "signature_invalid"),
        (elsewhere, "signature_invalid"),
        (site.envelope_by(&[&stranger], &bytes), "key_unknown"),
        (site.envelope(&late), "approval_too_long"),
        (site.envelope(&over), "approval_expired"),
        (site.envelope(&early), "approval_not_yet_valid"),
        (
            site.envelope_by(
                &[&site.key],
                format!(" {}", String::from_utf8(bytes.clone()).unwrap()).as_bytes(),
            ),
            "approval_not_canonical",
        ),
    ];
    site.drop_json(Role::Delete, &job);
    for (envelope, _) in &cases {
        site.drop_json(Role::Delete, envelope);
    }
    rig.settle();
    for (envelope, code) in &cases {
        assert_eq!(rig.refusal_code(envelope), *code, "{envelope}");
    }
    assert_eq!(approval_state(&rig, &job), "", "nothing of it is stored");
    assert_eq!((vault.sent(), rig.row(&job).attempt), (0, 0));
    site.drop_json(Role::Delete, &good);
    rig.settle();
    assert_eq!(rig.outcome(&job).1, "deleted");
}

fn base64(bytes: &[u8]) -> String {
    use std::fmt::Write;
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0u32, |word, byte| (word << 8) | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let sextet = (word >> (18 - 6 * at)) & 63;
            let letter = if at <= chunk.len() {
                char::from(ALPHABET[sextet as usize])
            } else {
                '='
            };
            write!(text, "{letter}").unwrap();
        }
    }
    text
}

#[test]
fn t33_a_key_taken_out_of_the_file_denies_at_the_claim() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, true, 0, "test"))
        .unwrap();
    let job = site.delete_job("a.md", &commit, "text");
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
    rig.settle();
    let other = ApproverKey::generate().unwrap();
    std::fs::write(
        site.dir().join("approvers"),
        format!("bob@example.org {}\n", other.public().to_openssh()),
    )
    .unwrap();
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, false, 0, "test"))
        .unwrap();
    rig.settle();
    rig.assert_outcome(&job, "REJECTED", "delete_denied", "key_unknown");
    assert_eq!(vault.sent(), 0);
    assert_eq!(approval_state(&rig, &job), "VERIFIED");
}

#[test]
fn m_s_two_signatures_of_one_person_are_one_person() {
    let rule = "\n[[delete.approval]]\npaths = [\"/app/vault/**\"]\nrequired = 2\nmax_age = \"24h\"\n";
    let (site, commit) = ready_with(rule);
    let second = ApproverKey::generate().unwrap();
    let bob = ApproverKey::generate().unwrap();
    let approvers = format!(
        "ada@example.org {}\nada@example.org {}\nbob@example.org {}\n",
        site.key.public().to_openssh(),
        second.public().to_openssh(),
        bob.public().to_openssh()
    );
    std::fs::write(site.dir().join("approvers"), approvers).unwrap();
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.delete_job("a.md", &commit, "text");
    let bytes = site.payload(&job, WallMs(NOW)).to_canonical();
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope_by(&[&site.key, &second], &bytes));
    rig.settle();
    assert_eq!(
        (rig.row(&job).hold.as_deref(), vault.sent()),
        (Some("approval"), 0)
    );
    site.drop_json(Role::Delete, &site.envelope_by(&[&bob], &bytes));
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
}

#[test]
fn a15_a16_a17_drift_leaves_the_approval_unspent() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    site.put_in_vault("a.md", "a person's words");
    std::fs::remove_file(site.dir().join("vault/b.md")).unwrap();
    let (edited, absent) = (
        site.delete_job("a.md", &commit, "text"),
        site.delete_job("b.md", &commit, "text"),
    );
    for job in [&edited, &absent] {
        site.drop_json(Role::Delete, job);
        site.drop_json(Role::Delete, &site.envelope(&site.payload(job, WallMs(NOW))));
    }
    rig.settle();
    assert_eq!(rig.outcome(&edited).1, "target_drift");
    rig.assert_outcome(&absent, "REJECTED", "target_drift", "absent");
    assert_eq!(
        (approval_state(&rig, &edited), approval_state(&rig, &absent)),
        ("VERIFIED".into(), "VERIFIED".into())
    );
    assert_eq!(vault.sent(), 0);
    assert_eq!(site.in_vault("a.md").as_deref(), Some("a person's words"));
    rig.verify();
}

#[test]
fn t35_an_approval_that_expires_and_a_clock_set_back_send_nothing() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.delete_job("a.md", &commit, "text");
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, true, 0, "test"))
        .unwrap();
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
    rig.settle();
    rig.clock.advance(3_600_000);
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, false, 0, "test"))
        .unwrap();
    rig.settle();
    assert_eq!(rig.row(&job).detail.as_deref(), Some("approval_expired"));
    let fresh = site.payload(&job, WallMs(NOW + 3_600_000));
    rig.clock.jump_wall(-10 * 60_000);
    site.drop_json(Role::Delete, &site.envelope(&fresh));
    rig.settle();
    assert_eq!(
        vault.sent(),
        0,
        "a22: with a clock that went back nothing is sent"
    );
    assert!(
        rig.gear
            .conditions
            .list()
            .iter()
            .any(|condition| condition.reason == "clock")
    );
    rig.clock.jump_wall(10 * 60_000);
    site.drop_json(
        Role::Delete,
        &site.envelope(&site.payload(&job, WallMs(NOW + 3_600_000))),
    );
    rig.settle();
    rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
}

#[test]
fn f08_f06_an_outage_spends_nothing() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.delete_job("a.md", &commit, "text");
    vault.down.store(true, Ordering::SeqCst);
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
    rig.settle();
    rig.wait(600_000, 30_000);
    assert_eq!(
        (
            rig.row(&job).state.as_str(),
            rig.row(&job).attempt,
            approval_state(&rig, &job).as_str()
        ),
        ("READY", 0, "VERIFIED")
    );
    vault.down.store(false, Ordering::SeqCst);
    let (source, away) = (site.dir().join("source"), site.dir().join("source.away"));
    std::fs::rename(&source, &away).unwrap();
    rig.wait(600_000, 30_000);
    assert_eq!(
        (
            rig.row(&job).state.as_str(),
            rig.row(&job).attempt,
            approval_state(&rig, &job).as_str()
        ),
        ("READY", 0, "VERIFIED")
    );
    std::fs::rename(&away, &source).unwrap();
    rig.wait(600_000, 30_000);
    rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
    assert_eq!(vault.sent(), 1);
}

#[test]
fn f10_f12_f14_f16_f18_each_answer_has_its_own_end_and_nothing_is_repeated() {
    let unclear = || Answer::NoAnswer { detail: "no_answer" };
    let cases = [
        (
            Fate::Done(unclear()),
            "OUTCOME_UNKNOWN",
            "outcome_unknown",
            "RESERVED",
        ),
        (
            Fate::NotDone(unclear()),
            "OUTCOME_UNKNOWN",
            "outcome_unknown",
            "RESERVED",
        ),
        (
            Fate::NotDone(Answer::Refused {
                detail: "not_a_regular_file",
            }),
            "FAILED",
            "target_refused",
            "CONSUMED",
        ),
        (
            Fate::NotDone(Answer::Credential),
            "FAILED",
            "target_refused",
            "CONSUMED",
        ),
        (
            Fate::NotDone(Answer::ServerError),
            "FAILED",
            "target_error",
            "CONSUMED",
        ),
        (
            Fate::Done(Answer::ServerError),
            "OUTCOME_UNKNOWN",
            "outcome_unknown",
            "RESERVED",
        ),
        (
            Fate::NotDone(Answer::Busy { retry_after_ms: None }),
            "FAILED",
            "target_refused",
            "CONSUMED",
        ),
        (
            Fate::NotDone(Answer::NotSent {
                why: FaultText::new("step", Some(5)),
            }),
            "FAILED",
            "target_error",
            "CONSUMED",
        ),
        (
            Fate::NotDone(Answer::Drift {
                found: Seen::Absent,
                kept_aside: false,
            }),
            "REJECTED",
            "target_drift",
            "CONSUMED",
        ),
        (
            Fate::NotDone(Answer::Done),
            "OUTCOME_UNKNOWN",
            "outcome_unknown",
            "RESERVED",
        ),
    ];
    for (fate, state, code, approval) in cases {
        let (site, commit) = ready();
        let (mut rig, vault) = scripted(&site, std::slice::from_ref(&fate));
        let job = site.delete_job("a.md", &commit, "text");
        site.drop_json(Role::Delete, &job);
        site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
        rig.settle();
        let found = rig.outcome(&job);
        assert_eq!((found.0.as_str(), found.1.as_str()), (state, code), "{fate:?}");
        assert_eq!(approval_state(&rig, &job), approval, "{fate:?}");
        rig.wait(3 * 86_400_000, 3_600_000);
        assert_eq!(vault.sent(), 1, "m_x m_k {fate:?}");
        assert_eq!(rig.published().is_empty(), state != "OUTCOME_UNKNOWN", "{fate:?}");
        rig.verify();
    }
}

#[test]
fn f24_t39_without_its_key_nothing_is_claimed_and_health_says_so() {
    let (site, commit) = ready();
    std::fs::remove_file(site.dir().join("credentials/delete/recovery-key")).unwrap();
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.delete_job("a.md", &commit, "text");
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
    rig.settle();
    rig.wait(3_600_000, 600_000);
    assert_eq!((rig.row(&job).attempt, vault.sent()), (0, 0));
    assert_eq!(rig.gear.conditions.list()[0].reason, "credential");
    assert_eq!(site.in_vault("a.md").as_deref(), Some("text"));
}

#[test]
fn m_q_a_path_that_the_other_role_left_unresolved_is_not_touched() {
    let (site, commit) = ready();
    let save = site.role(Role::Save);
    let path = parsed(&site.delete_job("a.md", &commit, "text"), Role::Delete)
        .vault_path()
        .clone();
    save.gear.fence.publish(std::slice::from_ref(&path)).unwrap();
    let (mut rig, vault) = scripted(&site, &[]);
    let job = site.delete_job("a.md", &commit, "text");
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
    rig.settle();
    rig.wait(60_000, 5_000);
    assert_eq!(
        (
            vault.sent(),
            rig.row(&job).attempt,
            approval_state(&rig, &job).as_str()
        ),
        (0, 0, "VERIFIED")
    );
    save.gear.fence.remove(std::slice::from_ref(&path)).unwrap();
    let guard = save.gear.fence.try_lock(&path).unwrap().unwrap();
    rig.wait(60_000, 5_000);
    assert_eq!(vault.sent(), 0, "locked by the other role");
    drop(guard);
    rig.wait(10_000, 5_000);
    rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
}

#[test]
fn m_u_a_pause_in_the_last_moment_sends_nothing_and_costs_the_approval() {
    for how in ["pause", "frozen file"] {
        let (site, commit) = ready();
        let mut rig = site.role(Role::Delete);
        let job = site.delete_job("a.md", &commit, "text");
        site.drop_json(Role::Delete, &job);
        if how == "pause" {
            rig.gear
                .ledger
                .write(|tx| tx.switch(Switch::Pause, true, 0, "test"))
                .unwrap();
        } else {
            std::fs::write(site.dir().join("state/frozen"), "").unwrap();
        }
        site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
        rig.settle();
        assert_eq!(site.in_vault("a.md").as_deref(), Some("text"), "{how}");
    }
}

#[test]
fn a_withdrawal_by_a_signer_takes_the_approval_back() {
    let (site, commit) = ready();
    let (mut rig, vault) = scripted(&site, &[]);
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, true, 0, "test"))
        .unwrap();
    let job = site.delete_job("a.md", &commit, "text");
    let payload = site.payload(&job, WallMs(NOW));
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope(&payload));
    rig.settle();
    let withdrawal = lockgate::approval::WithdrawalPayload::new(payload.approval_id, WallMs(NOW))
        .unwrap()
        .to_canonical();
    let sign = |key: &ApproverKey| {
        let mut envelope = lockgate::approval::Envelope::unsigned(withdrawal.clone());
        let scheme = lockgate::signing::key::Scheme::Sshsig;
        envelope
            .add(key.sign(
                scheme,
                lockgate::approval::Purpose::Withdrawal,
                &site.instance,
                &withdrawal,
            ))
            .unwrap();
        serde_json::from_slice::<Value>(&envelope.to_canonical()).unwrap()
    };
    let stranger = sign(&ApproverKey::generate().unwrap());
    site.drop_json(Role::Delete, &stranger);
    rig.settle();
    assert_eq!(rig.refusal_code(&stranger), "key_unknown");
    site.drop_json(Role::Delete, &sign(&site.key));
    rig.settle();
    rig.gear
        .ledger
        .write(|tx| tx.switch(Switch::Pause, false, 0, "test"))
        .unwrap();
    rig.settle();
    rig.assert_outcome(&job, "REJECTED", "delete_denied", "approval_withdrawn");
    assert_eq!(vault.sent(), 0);
}

#[test]
fn t22_many_approved_deletes_by_two_workers_are_each_sent_once() {
    let site = Site::new();
    let names: Vec<String> = (0..200).map(|n| format!("n/{n}.md")).collect();
    let changes: Vec<(&str, Option<&str>)> = names.iter().map(|name| (name.as_str(), Some("text"))).collect();
    let commit = site.commit(&changes);
    let mut lines = String::new();
    let mut jobs = Vec::new();
    for name in &names {
        site.put_in_vault(name, "text");
        let job = site.delete_job(name, &commit, "text");
        lines.push_str(&format!(
            "{job}\n{}\n",
            site.envelope(&site.payload(&job, WallMs(NOW)))
        ));
        jobs.push(job);
    }
    site.drop_file(Role::Delete, "all.jsonl", lines.as_bytes());
    let outside = Outside::configured(&site.config());
    let vault = Scripted::new(outside.vault.clone(), &[]);
    let clock = Arc::new(TestClock::at(WallMs(NOW)));
    let open = || {
        let outside = Outside {
            vault: vault.clone(),
            ..Outside::configured(&site.config())
        };
        site.role_with(Role::Delete, clock.clone(), outside)
    };
    let (mut first, mut second) = (open(), open());
    first.read_files();
    std::thread::scope(|scope| {
        scope.spawn(|| first.work());
        scope.spawn(|| second.work());
    });
    first.settle();
    for job in &jobs {
        first.assert_outcome(job, "SUCCEEDED", "deleted", "");
    }
    assert_eq!(vault.sent(), 200);
    first.verify();
}
