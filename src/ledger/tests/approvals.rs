//! Approvals on file: merged, replaced, withdrawn, expired, spent once.

use super::*;
use crate::job::{Code, Nonce};
use crate::ledger::control::Switch;

fn delete_job(bench: &Bench, document: &Value) -> DeleteJob {
    match bench.job(document) {
        Job::Delete(job) => job,
        Job::Save(_) => panic!("a DELETE"),
    }
}

fn approval_state(bench: &Bench, payload: &ApprovalPayload) -> String {
    bench
        .ledger
        .approval(&payload.approval_id.to_string())
        .unwrap()
        .unwrap()
        .0
        .state
}

#[test]
fn t31_without_an_approval_in_time_it_is_denied_and_never_claimed() {
    let bench = Bench::new(Role::Delete);
    let id = bench.admit(&delete("a.md"));
    let sweep = || bench.ledger.write(|tx| tx.deny_overdue(86_400_000, 100)).unwrap();
    bench.clock.advance(86_399_999);
    assert_eq!(sweep(), 0);
    assert!(bench.claim(Uuid4::random(), 10).is_empty());
    bench.clock.advance(1);
    assert_eq!(sweep(), 1);
    assert_eq!(
        bench.state(id),
        (
            "REJECTED".into(),
            Some("delete_denied".into()),
            Some("approval_missing".into())
        )
    );
}

#[test]
fn job_and_approval_come_in_either_order() {
    let bench = Bench::new(Role::Delete);
    let (early, late) = (delete("a.md"), delete("b.md"));
    bench.approve(&early);
    bench.admit(&early);
    bench.admit(&late);
    bench.approve(&late);
    assert_eq!(bench.claim(Uuid4::random(), 10).len(), 2);
}

#[test]
fn t34_each_bound_field_that_differs_denies_at_once() {
    for field in [
        "mission_id",
        "delete_request_id",
        "object_id",
        "vault_path",
        "expected_commit",
        "expected_provenance_hash",
    ] {
        let bench = Bench::new(Role::Delete);
        let document = delete("a.md");
        let mut payload = draft(&delete_job(&bench, &document));
        let other = delete_job(&bench, &delete("b.md"));
        match field {
            "mission_id" => payload.mission_id = other.mission_id,
            "delete_request_id" => payload.delete_request_id = other.delete_request_id,
            "object_id" => payload.object_id = other.object_id,
            "vault_path" => payload.vault_path = other.vault_path,
            "expected_commit" => {
                payload.expected_commit = crate::job::CommitId::parse(&"2e".repeat(20)).unwrap()
            }
            _ => payload.expected_provenance_hash = hash(9),
        }
        bench.file(&payload, true);
        let id = bench.admit(&document);
        let (state, code, detail) = bench.state(id);
        // object_id and vault_path differ together where ids are paths: the first bound field that differs is named.
        assert_eq!(
            (state.as_str(), code.as_deref()),
            ("REJECTED", Some("delete_denied")),
            "{field}"
        );
        assert_eq!(detail.unwrap(), format!("approval_mismatch:{field}"));
        assert_eq!(
            approval_state(&bench, &payload),
            "VERIFIED",
            "a denial does not touch the approval"
        );
    }
}

#[test]
fn t34_a_nonce_is_used_once_and_an_id_gets_a_new_payload_only_when_the_old_one_expired_unspent() {
    let bench = Bench::new(Role::Delete);
    let payload = draft(&delete_job(&bench, &delete("a.md")));
    assert_eq!(bench.file(&payload, false), None);
    assert_eq!(
        bench.file(&payload, false),
        None,
        "the same envelope again is the same approval"
    );
    let mut reused = draft(&delete_job(&bench, &delete("b.md")));
    reused.nonce = payload.nonce;
    assert_eq!(bench.file(&reused, true).unwrap().code, Code::ApprovalNonceReused);
    let mut other = payload.clone();
    other.nonce = Nonce::random().unwrap();
    assert_eq!(bench.file(&other, true).unwrap().code, Code::ApprovalConflict);
    bench.clock.advance(3_600_001);
    assert_eq!(bench.file(&other, true), None);
    assert_eq!(approval_state(&bench, &other), "VERIFIED");
}

#[test]
fn t35_an_expired_approval_is_not_claimed_and_waits_for_a_replacement() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    let id = bench.admit(&document);
    bench.approve(&document);
    bench.clock.advance(3_600_000);
    assert!(bench.claim(Uuid4::random(), 10).is_empty(), "m_b");
    let row = bench.row(id);
    assert_eq!(
        (row.state.as_str(), row.hold.as_deref(), row.detail.as_deref()),
        ("READY", Some("approval"), Some("approval_expired"))
    );
    let mut fresh = draft(&delete_job(&bench, &document));
    fresh.expires_at =
        crate::job::Timestamp::parse(&crate::job::format_utc(WallMs(NOW + 7_200_000))).unwrap();
    assert_eq!(bench.file(&fresh, true), None);
    assert_eq!(bench.claim(Uuid4::random(), 10).len(), 1);
}

#[test]
fn t35_an_approval_that_expires_between_claim_and_send_reserves_nothing() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    bench.admit(&document);
    bench.approve(&document);
    let job = bench.claim_one(Uuid4::random());
    bench.clock.advance(3_600_000);
    let denied = bench.ledger.write(move |tx| {
        tx.executing(
            &job,
            &Intent {
                before: None,
                new: None,
            },
        )
    });
    assert!(denied.is_err_and(|error| error.to_string().contains("approval_expired")));
}

#[test]
fn t35_a_wall_clock_set_back_stops_deletes_until_a_person_accepts_it() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    bench.admit(&document);
    bench.approve(&document);
    bench.ledger.write(|tx| Ok(tx.note_clock()?)).unwrap();
    bench.clock.jump_wall(-6 * 60_000);
    assert!(bench.claim(Uuid4::random(), 10).is_empty());
    bench
        .ledger
        .write(|tx| tx.accept_clock(0, "NTP was wrong"))
        .unwrap();
    assert_eq!(bench.claim(Uuid4::random(), 10).len(), 1);
}

#[test]
fn m_t_a_withdrawn_approval_is_never_reserved_whenever_the_withdrawal_came() {
    for moment in ["before", "waiting", "claimed"] {
        let bench = Bench::new(Role::Delete);
        let document = delete("a.md");
        let payload = draft(&delete_job(&bench, &document));
        let withdraw = || {
            let withdrawal =
                crate::approval::WithdrawalPayload::new(payload.approval_id, WallMs(NOW)).unwrap();
            bench
                .ledger
                .write(move |tx| {
                    tx.receive_withdrawal(UID, hash(3), &withdrawal, "ada", &rules(), &settings())
                })
                .unwrap();
        };
        if moment == "before" {
            withdraw();
        }
        bench.file(&payload, true);
        let id = bench.admit(&document);
        if moment == "waiting" {
            withdraw();
        }
        if moment == "claimed" {
            let job = bench.claim_one(Uuid4::random());
            withdraw();
            let denied = bench.ledger.write(move |tx| {
                tx.executing(
                    &job,
                    &Intent {
                        before: None,
                        new: None,
                    },
                )
            });
            assert!(
                denied.is_err_and(|error| error.to_string().contains("approval_withdrawn")),
                "{moment}"
            );
        } else {
            assert_eq!(
                bench.state(id).2.as_deref(),
                Some("approval_withdrawn"),
                "{moment}"
            );
        }
        assert_eq!(approval_state(&bench, &payload), "WITHDRAWN", "{moment}");
    }
}

#[test]
fn an_incomplete_quorum_waits_and_a_further_signature_completes_it() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    let id = bench.admit(&document);
    let payload = draft(&delete_job(&bench, &document));
    bench.file(&payload, false);
    assert!(bench.claim(Uuid4::random(), 10).is_empty());
    assert_eq!(bench.row(id).detail.as_deref(), Some("quorum_not_met"));
    bench.file(&payload, true);
    assert_eq!(bench.claim(Uuid4::random(), 10).len(), 1);
}

#[test]
fn no_statement_takes_a_spent_approval_back() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    bench.admit(&document);
    bench.approve(&document);
    let job = bench.claim_one(Uuid4::random());
    bench.execute(&job);
    for state in ["RECEIVED", "VERIFIED", "EXPIRED", "WITHDRAWN", "VOID"] {
        assert!(
            bench
                .sql(&format!("UPDATE approvals SET state = '{state}'"))
                .is_err(),
            "RESERVED → {state}"
        );
    }
    bench.settle(&job, State::Executing, Settlement::fail(Code::TargetError, None));
    assert!(bench.sql("UPDATE approvals SET state = 'VERIFIED'").is_err());
    assert!(bench.sql("DELETE FROM nonces").is_err());
}

/// What the EXECUTING transaction says.
fn refusal_to_execute(bench: &Bench, job: &Claimed) -> String {
    let (job, intent) = (
        job.clone(),
        Intent {
            before: None,
            new: None,
        },
    );
    let refused = bench.ledger.write(move |tx| tx.executing(&job, &intent));
    refused.unwrap_err().to_string()
}

/// A restore, after which an operator looked.
fn restored(bench: &Bench) {
    let restored = bench.ledger.write(|tx| {
        tx.begin_epoch(1, "test")?;
        tx.switch(Switch::Pause, false, 0, "looked")
    });
    restored.unwrap();
}

#[test]
fn m_t_a_withdrawal_on_file_denies_whatever_the_approvals_state_says() {
    let bench = Bench::new(Role::Delete);
    let (document, late) = (delete("a.md"), delete("b.md"));
    let withdraw = |document: &Value| {
        let id = delete_job(&bench, document).approval_id;
        let withdrawal = crate::approval::WithdrawalPayload::new(id, WallMs(NOW)).unwrap();
        let digest = sha256(id.to_string().as_bytes());
        let written = bench
            .ledger
            .write(move |tx| tx.receive_withdrawal(UID, digest, &withdrawal, "ada", &rules(), &settings()));
        written.unwrap();
    };
    bench.admit(&document);
    bench.approve(&document);
    let job = bench.claim_one(Uuid4::random());
    withdraw(&document);
    bench.tamper("UPDATE approvals SET state = 'VERIFIED'");
    assert!(refusal_to_execute(&bench, &job).contains("approval_withdrawn"));
    // A job whose approval was taken back before it ever came.
    withdraw(&late);
    let id = bench.admit(&late);
    assert_eq!(bench.state(id).2.as_deref(), Some("approval_withdrawn"));
}

#[test]
fn t36_m_r_an_approval_from_before_a_restore_is_void_whatever_its_state_says() {
    let bench = Bench::new(Role::Delete);
    let (claimed, waiting, late) = (delete("a.md"), delete("b.md"), delete("c.md"));
    bench.admit(&claimed);
    for document in [&claimed, &waiting, &late] {
        bench.approve(document);
    }
    let job = bench.claim_one(Uuid4::random());
    bench.admit(&waiting);
    restored(&bench);
    bench.tamper("UPDATE approvals SET state = 'VERIFIED'");
    assert!(refusal_to_execute(&bench, &job).contains("approval_void"));
    assert!(bench.claim(Uuid4::random(), 10).is_empty());
    let id = bench.admit(&late);
    assert_eq!(bench.state(id).2.as_deref(), Some("approval_void"));
    // One that is brought after it counts.
    let fresh = delete("d.md");
    bench.admit(&fresh);
    bench.approve(&fresh);
    assert_eq!(bench.claim(Uuid4::random(), 10).len(), 1);
}

#[test]
fn t31_without_time_to_wait_a_missing_approval_denies_at_once() {
    for wait_ms in [0, 1] {
        let bench = Bench::new(Role::Delete);
        let document = delete("a.md");
        let job = bench.job(&document);
        let at_once = AdmitSettings {
            approval_wait_ms: wait_ms,
            ..settings()
        };
        let written = bench
            .ledger
            .write(move |tx| tx.admit(&job, UID, Route::Drop, &rules(), &at_once));
        written.unwrap();
        let expected = if wait_ms == 0 { "REJECTED" } else { "READY" };
        assert_eq!(bench.state(bench.id(&document)).0, expected);
    }
}

#[test]
fn t35_m_b_a_job_that_meets_an_expired_approval_waits_at_once() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    bench.approve(&document);
    bench.clock.advance(3_600_000);
    let row = bench.row(bench.admit(&document));
    let waits = (row.state.as_str(), row.hold.as_deref(), row.detail.as_deref());
    assert_eq!(waits, ("READY", Some("approval"), Some("approval_expired")));
}

#[test]
fn approvals_are_counted_once_and_keep_their_signatures() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    let payload = draft(&delete_job(&bench, &document));
    let counted = |state: &str| {
        let counts = bench.ledger.overview().unwrap().counts;
        counts["approvals"].get(state).copied().unwrap_or(0)
    };
    for _ in 0..2 {
        bench.file(&payload, true);
        assert_eq!((counted("RECEIVED"), counted("VERIFIED")), (1, 1));
    }
    let (_, signatures) = bench
        .ledger
        .approval(&payload.approval_id.to_string())
        .unwrap()
        .unwrap();
    assert_eq!(signatures.len(), 1, "of one key, however often it comes");
    let withdrawal = crate::approval::WithdrawalPayload::new(payload.approval_id, WallMs(NOW)).unwrap();
    for _ in 0..2 {
        let withdrawal = withdrawal.clone();
        let written = bench
            .ledger
            .write(move |tx| tx.receive_withdrawal(UID, hash(3), &withdrawal, "ada", &rules(), &settings()));
        written.unwrap();
        assert_eq!(counted("WITHDRAWN"), 1);
    }
    // The judge of the quorum is shown what is stored.
    let other = draft(&delete_job(&bench, &delete("b.md")));
    let received = Received {
        uid: UID,
        digest: hash(4),
        payload_bytes: other.to_canonical(),
        payload: other,
        signatures: vec![StoredSignature {
            key_id: "SHA256:y".into(),
            scheme: "ed25519".into(),
            signature: "s".into(),
        }],
    };
    let shown = bench.ledger.write(move |tx| {
        let shown = std::cell::Cell::new(0);
        let judge = |_: &[u8], stored: &[StoredSignature]| {
            shown.set(stored.len());
            false
        };
        tx.receive_approval(&received, &judge, &rules(), &settings())?;
        Ok(shown.get())
    });
    assert_eq!(shown.unwrap(), 1);
}

#[test]
fn m_s_an_approval_that_is_not_complete_is_not_claimed_for_though_nothing_holds_its_job() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    bench.approve(&document);
    let id = bench.admit(&document);
    assert_eq!(bench.row(id).hold, None);
    bench.tamper("UPDATE approvals SET state = 'RECEIVED'");
    let claimer = claimer(Uuid4::random());
    let batch = bench.ledger.write(move |tx| tx.claim(&claimer, 10)).unwrap();
    assert_eq!((batch.claimed.len(), batch.set_aside), (0, 1));
    let row = bench.row(id);
    let waits = (row.hold.as_deref(), row.detail.as_deref());
    assert_eq!(waits, (Some("approval"), Some("quorum_not_met")));
}
