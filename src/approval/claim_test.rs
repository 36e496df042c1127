//! Job and approval together, at the claim; and who may withdraw.

use super::super::deny::BoundField;
use super::super::policy::{RuleSpec, SeparateDuty};
use super::super::test_support::{
    approvers, approvers_with, at, ground, key, now, payload, payload_text, rules, signed_by,
};
use super::super::withdrawal::{OnFile, permit};
use super::super::{Approvers, Envelope, Signer, verify};
use super::*;
use crate::job::canonical::canonical;
use crate::job::json::{self, Value};
use crate::job::{Code, Job, Role, parse_job};

fn job_with(name: &str, value: &str) -> DeleteJob {
    let approval = payload();
    let mut fields = vec![
        ("job_version".to_owned(), Value::Int(1)),
        ("job_type".to_owned(), Value::Text("C5_DELETE_OBJECT".to_owned())),
    ];
    for (key, text) in [
        ("job_id", "7c0e7f0e-5f1d-4d0a-8b0a-6d4f3b1c2a01".to_owned()),
        ("mission_id", approval.mission_id.to_string()),
        ("delete_request_id", approval.delete_request_id.to_string()),
        ("object_id", approval.object_id.to_string()),
        ("vault_path", approval.vault_path.to_string()),
        ("expected_commit", approval.expected_commit.to_string()),
        (
            "expected_provenance_hash",
            approval.expected_provenance_hash.to_string(),
        ),
        ("approval_id", approval.approval_id.to_string()),
        ("created_at", "2026-11-30T12:00:00Z".to_owned()),
        (
            "idempotency_key",
            "7c0e7f0e-5f1d-4d0a-8b0a-6d4f3b1c2a02".to_owned(),
        ),
    ] {
        let text = if key == name { value.to_owned() } else { text };
        fields.push((key.to_owned(), Value::Text(text)));
    }
    match parse_job(&Value::Object(fields), &rules(), Role::Delete).unwrap() {
        Job::Delete(job) => job,
        Job::Save(_) => unreachable!("the document is a DELETE job"),
    }
}
fn job() -> DeleteJob {
    job_with("", "")
}
fn policy(required: u32) -> Policy {
    let rule = RuleSpec {
        paths: vec!["/app/vault/**".to_owned()],
        required,
        groups: Vec::new(),
        max_age_ms: None,
        verify_required: false,
    };
    Policy::new(&[rule], SeparateDuty::Required).unwrap()
}

fn judged(
    job: &DeleteJob,
    envelope: &Envelope,
    approvers: &Approvers,
    required: u32,
    now: WallMs,
) -> Result<Approved, DenyDetail> {
    let stored = Stored {
        payload_bytes: envelope.payload(),
        signatures: envelope.signatures(),
    };
    judge(
        job,
        1000,
        stored,
        &ground(approvers, &rules()),
        &policy(required),
        now,
    )
}
fn envelope(keys: &[u8]) -> Envelope {
    signed_by(keys, payload_text().as_bytes())
}

#[test]
fn a_matching_approval_by_enough_people_is_proof() {
    let approved = judged(&job(), &envelope(&[1, 2]), &approvers(), 2, now()).unwrap();
    assert_eq!(approved.approval(), &payload());
    assert_eq!(approved.principals().iter().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn t34_a14_each_field_that_differs_from_the_job_is_named() {
    let uuid = "0b0f3a5c-6a0f-4b1e-9a57-0c2f0a7d1e12";
    for (field, value) in [
        (BoundField::ApprovalId, uuid.to_owned()),
        (BoundField::MissionId, uuid.to_owned()),
        (BoundField::DeleteRequestId, uuid.to_owned()),
        (BoundField::ObjectId, "notes/b.md".to_owned()),
        (BoundField::VaultPath, "/app/vault/notes/b.md".to_owned()),
        (BoundField::ExpectedCommit, "1f".repeat(32)),
        (BoundField::ExpectedProvenanceHash, "ab".repeat(32)),
    ] {
        let other = job_with(field.as_str(), &value);
        let denied = judged(&other, &envelope(&[1]), &approvers(), 1, now()).unwrap_err();
        assert_eq!(denied, DenyDetail::ApprovalMismatch(field));
        assert_eq!(
            denied.to_string(),
            format!("approval_mismatch:{}", field.as_str())
        );
        // The other way round: the approval was changed and signed again.
        let mut fields = json::parse(payload_text().as_bytes(), 65_536)
            .unwrap()
            .fields()
            .unwrap()
            .to_vec();
        fields
            .iter_mut()
            .find(|(key, _)| key == field.as_str())
            .unwrap()
            .1 = Value::Text(value);
        let resigned = signed_by(&[1], &canonical(&Value::Object(fields)));
        let denied = judged(&job(), &resigned, &approvers(), 1, now()).unwrap_err();
        assert_eq!(denied, DenyDetail::ApprovalMismatch(field));
    }
    assert_eq!(BoundField::ALL.len(), 7);
}

#[test]
fn t33_a_key_that_went_away_since_the_door_denies_when_it_is_needed() {
    let both = envelope(&[1, 2]);
    let line =
        |name: &str, options: &str, seed| format!("{name} {options} {}\n", key(seed).public().to_openssh());
    for (text, required, verdict) in [
        (line("a", "", 1), 1, Ok(())),
        (line("a", "", 1), 2, Err(DenyDetail::KeyUnknown)),
        (String::new(), 1, Err(DenyDetail::KeyUnknown)),
        (
            line("a", "", 1) + &line("b", "valid-before=\"20261130Z\"", 2),
            1,
            Ok(()),
        ),
        (
            line("a", "", 1) + &line("b", "valid-before=\"20261130Z\"", 2),
            2,
            Err(DenyDetail::KeyExpired),
        ),
        (line("a", "namespaces=\"git\"", 1), 1, Err(DenyDetail::KeyUnknown)),
    ] {
        let approvers = Approvers::parse(&text).unwrap();
        let found = judged(&job(), &both, &approvers, required, now()).map(|_| ());
        assert_eq!(found, verdict, "{text} {required}");
    }
    let documents = rules();
    let nobody = Approvers::default();
    let blind = Ground {
        approvers: None,
        ..ground(&nobody, &documents)
    };
    let stored = Stored {
        payload_bytes: both.payload(),
        signatures: both.signatures(),
    };
    assert_eq!(
        judge(&job(), 1000, stored, &blind, &policy(1), now()),
        Err(DenyDetail::KeyUnknown)
    );
}

#[test]
fn t35_times_are_judged_again_at_the_claim() {
    for (time, verdict) in [
        ("2026-12-01T11:59:59.999Z", Ok(())),
        ("2026-12-01T12:00:00Z", Err(DenyDetail::ApprovalExpired)),
        ("2026-11-30T11:59:00Z", Ok(())),
        ("2026-11-30T11:58:59.999Z", Err(DenyDetail::ClockUntrusted)),
    ] {
        let found = judged(&job(), &envelope(&[1]), &approvers(), 1, at(time)).map(|_| ());
        assert_eq!(found, verdict, "{time}");
    }
}

#[test]
fn too_few_and_the_requester_alone_are_denied() {
    let with_uid = approvers_with("", "# uid a: 1000");
    assert_eq!(
        judged(&job(), &envelope(&[1]), &approvers(), 2, now()),
        Err(DenyDetail::QuorumNotMet)
    );
    assert_eq!(
        judged(&job(), &envelope(&[1]), &with_uid, 1, now()),
        Err(DenyDetail::SeparateDuty)
    );
    assert!(judged(&job(), &envelope(&[2]), &with_uid, 1, now()).is_ok());
}

#[test]
fn a12_stored_bytes_or_signatures_changed_by_hand_are_no_approval() {
    let good = envelope(&[1]);
    let documents = rules();
    let approvers = approvers();
    let ground = ground(&approvers, &documents);
    let judge = |payload_bytes: &[u8], signatures: &[EnvelopeSignature]| {
        judge(
            &job(),
            1000,
            Stored {
                payload_bytes,
                signatures,
            },
            &ground,
            &policy(1),
            now(),
        )
        .map(|_| ())
    };
    assert_eq!(judge(good.payload(), good.signatures()), Ok(()));
    assert_eq!(judge(good.payload(), &[]), Err(DenyDetail::ApprovalMissing));
    assert_eq!(judge(b"", good.signatures()), Err(DenyDetail::ApprovalMissing));
    let longer = payload_text().replace("2026-12-01T12", "2026-12-02T12");
    assert_eq!(
        judge(longer.as_bytes(), good.signatures()),
        Err(DenyDetail::ApprovalMissing)
    );
    let foreign = signed_by(&[1], b"something else");
    assert_eq!(
        judge(good.payload(), foreign.signatures()),
        Err(DenyDetail::ApprovalMissing)
    );
}

#[test]
fn who_signed_or_could_have_signed_may_withdraw() {
    let approvers = approvers_with("", "# group ops: a");
    let rule = RuleSpec {
        paths: vec!["/app/vault/**".to_owned()],
        required: 1,
        groups: vec!["ops".to_owned()],
        max_age_ms: None,
        verify_required: false,
    };
    let policy = Policy::new(&[rule], SeparateDuty::NotRequired).unwrap();
    let path = payload().vault_path;
    let signer = |seed, standing| -> Signer {
        let documents = rules();
        let verified = verify(&envelope(&[seed]), &ground(&approvers, &documents), now()).unwrap();
        Signer {
            standing,
            ..verified.signers[0].clone()
        }
    };
    use super::super::approvers::Standing;
    let b_signed = [key(2).public().fingerprint()];
    let code = |signers: &[Signer], on_file: Option<OnFile<'_>>| {
        permit(signers, on_file, &policy, &approvers).map_err(|refusal| refusal.code)
    };
    let on_file = Some(OnFile {
        path: &path,
        signed_by: &b_signed,
    });
    for (seed, standing, known, unknown) in [
        (1, Standing::Current, Ok(()), Ok(())),
        (2, Standing::Current, Ok(()), Ok(())),
        (3, Standing::Current, Err(Code::KeyUnknown), Ok(())),
        (
            1,
            Standing::OutsideWindow,
            Err(Code::KeyExpired),
            Err(Code::KeyExpired),
        ),
        (2, Standing::OutsideWindow, Ok(()), Err(Code::KeyExpired)),
    ] {
        let signers = [signer(seed, standing)];
        assert_eq!(code(&signers, on_file), known, "{seed} {standing:?}");
        assert_eq!(code(&signers, None), unknown, "{seed} {standing:?}");
    }
    assert_eq!(
        code(
            &[signer(3, Standing::Current), signer(1, Standing::Current)],
            on_file
        ),
        Ok(())
    );
}
