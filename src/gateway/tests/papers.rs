//! Approvals, withdrawals and cancels.

use super::rig::{Choices, Rig, code, digest_of, own_uid, save};
use crate::job::{JobId, Role, document_digest};
use crate::throttle::Rate;
use serde_json::json;

#[test]
fn an_approval_goes_to_the_delete_role_as_it_came() {
    let rig = Rig::new();
    let text = "{ \"signatures\": [], \"payload_b64\": \"approval\" }\n";
    let (status, body) = rig.post("/v1/approvals", text.as_bytes());
    let digest = document_digest(text.as_bytes());
    assert_eq!(
        (status, body),
        (202, json!({"digest": digest.to_string(), "state": "CREATED"}))
    );
    let waiting = rig.waiting(Role::Delete);
    let [(name, bytes)] = waiting.as_slice() else {
        panic!("{waiting:?}");
    };
    assert!(name.starts_with(&format!("{}-approval-", own_uid())) && name.ends_with(".json"));
    assert_eq!(bytes, text.as_bytes());
    let (status, told) = rig.get(&format!("/v1/submissions/{digest}"));
    assert_eq!(
        (status, &told["state"], &told["job_id"]),
        (200, &json!("CREATED"), &json!(null))
    );
}

#[test]
fn what_is_no_envelope_is_422_and_too_much_is_413() {
    let rig = Rig::new();
    let (status, body) = rig.post("/v1/approvals", b"{}");
    assert_eq!((status, code(&body)), (422, "missing_field"));
    assert_eq!(body["error"]["pointer"], "/payload_b64");
    assert_eq!(rig.post("/v1/approvals", &vec![b' '; 65_537]).0, 413);
    assert!(rig.waiting(Role::Delete).is_empty());
}

#[test]
fn a_freeze_turns_approvals_away_but_nothing_that_takes_back() {
    let rig = Rig::new();
    let id = JobId::random();
    rig.delete.tells(id, own_uid(), "READY", digest_of(&save(id)));
    let approval = json!({"payload_b64": "approval", "signatures": []}).to_string();
    let withdrawal = json!({"payload_b64": "withdrawal", "signatures": []}).to_string();
    let refused = |rig: &Rig| {
        let (status, body) = rig.post("/v1/approvals", approval.as_bytes());
        assert_eq!((status, code(&body)), (503, "frozen"));
    };
    rig.delete.knows().frozen = true;
    refused(&rig);
    rig.delete.knows().frozen = false;
    std::fs::write(rig.frozen_file(), "").unwrap();
    refused(&rig);
    assert!(rig.waiting(Role::Delete).is_empty());
    assert_eq!(rig.post("/v1/approvals", withdrawal.as_bytes()).0, 202);
    assert_eq!(rig.post(&format!("/v1/jobs/{id}/cancel"), b"").0, 202);
    assert_eq!(rig.waiting(Role::Delete).len(), 2);
}

#[test]
fn a_cancel_is_dropped_for_the_role_that_has_the_job() {
    let rig = Rig::new();
    let id = JobId::random();
    rig.delete.tells(id, own_uid(), "READY", digest_of(&save(id)));
    let (status, body) = rig.post(&format!("/v1/jobs/{id}/cancel"), b"");
    let wanted = format!("{{\"cancel_version\":1,\"job_id\":\"{id}\"}}");
    let digest = document_digest(wanted.as_bytes());
    assert_eq!(
        (status, body),
        (
            202,
            json!({"job_id": id.to_string(), "digest": digest.to_string(), "state": "READY"})
        )
    );
    assert_eq!(rig.waiting(Role::Delete)[0].1, wanted.into_bytes());
    assert!(rig.waiting(Role::Save).is_empty());
    let spooled = JobId::random();
    rig.submit(&save(spooled));
    let (status, body) = rig.post(&format!("/v1/jobs/{spooled}/cancel"), b"");
    assert_eq!((status, &body["state"]), (202, &json!("CREATED")));
    assert_eq!(rig.waiting(Role::Save).len(), 2);
}

#[test]
fn a_settled_or_unknown_job_is_not_cancelled() {
    let rig = Rig::new();
    let id = JobId::random();
    for state in ["SUCCEEDED", "FAILED", "REJECTED", "OUTCOME_UNKNOWN"] {
        rig.save.tells(id, own_uid(), state, digest_of(&save(id)));
        let (status, body) = rig.post(&format!("/v1/jobs/{id}/cancel"), b"");
        assert_eq!((status, code(&body)), (409, "too_late"), "{state}");
    }
    assert_eq!(
        rig.post(&format!("/v1/jobs/{}/cancel", JobId::random()), b"").0,
        404
    );
    assert!(rig.waiting(Role::Save).is_empty() && rig.waiting(Role::Delete).is_empty());
}

#[test]
fn papers_count_against_the_rate_too() {
    let rig = Rig::with(Choices {
        rate: Rate {
            burst: 1,
            per_minute: 1,
        },
        ..Choices::default()
    });
    assert_eq!(
        rig.post("/v1/approvals", b"{\"payload_b64\":\"approval\"}").0,
        202
    );
    assert_eq!(
        rig.post("/v1/approvals", b"{\"payload_b64\":\"approval\"}").0,
        429
    );
    assert_eq!(
        rig.post(&format!("/v1/jobs/{}/cancel", JobId::random()), b"").0,
        429
    );
}
