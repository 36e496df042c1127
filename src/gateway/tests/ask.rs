//! What a requester is told, and what it is not.

use super::rig::{Choices, Rig, code, delete, digest_of, own_uid, save};
use crate::http::Media;
use crate::http::tests::support::as_uid;
use crate::job::{JobId, Role};
use serde_json::{Value, json};
use std::io::{Read, Write};

#[test]
fn a_receipt_is_created_while_only_the_spool_has_it_and_the_roles_from_then_on() {
    let rig = Rig::new();
    let (id, other) = (JobId::random(), JobId::random());
    let document = save(id);
    let (status, _) = rig.submit_lines(&[save(other), document.clone()]);
    assert_eq!(status, 202);
    let target = format!("/v1/jobs/{id}");
    let (status, receipt) = rig.get(&target);
    assert_eq!(status, 200);
    assert_eq!(receipt["state"], "CREATED");
    for field in ["job_id", "job_type", "object_id", "vault_path", "created_at"] {
        assert_eq!(receipt[field], document[field], "{field}");
    }
    assert_eq!(receipt["digest"], digest_of(&document).to_string());
    rig.save.tells(id, own_uid(), "READY", digest_of(&document));
    assert_eq!(
        rig.get(&target).1["state"],
        "READY",
        "the role's word comes first"
    );
    rig.take(Role::Save);
    assert_eq!(rig.get(&target).1["state"], "READY");
    assert_eq!(
        rig.get(&format!("/v1/jobs/{other}")).0,
        404,
        "taken, and no job: refused"
    );
}

#[test]
fn another_users_job_is_404_in_the_ledger_and_in_the_spool() {
    let rig = Rig::new();
    let id = JobId::random();
    rig.save.tells(id, own_uid() + 1, "READY", digest_of(&save(id)));
    for target in [
        format!("/v1/jobs/{id}"),
        format!("/v1/jobs/{id}/events"),
        format!("/v1/jobs/{id}/approval-draft"),
    ] {
        let (status, body) = rig.get(&target);
        assert_eq!((status, code(&body)), (404, "not_found"), "{target}");
    }
    assert_eq!(rig.post(&format!("/v1/jobs/{id}/cancel"), b"").0, 404);
    let mine = JobId::random();
    rig.submit(&save(mine));
    if let Some(status) = as_uid(4321, || rig.get(&format!("/v1/jobs/{mine}")).0) {
        assert_eq!(status, 404);
    }
}

#[test]
fn a_role_that_is_down_is_no_404() {
    let rig = Rig::without_roles(Choices::default());
    let id = JobId::random();
    rig.submit(&save(id));
    assert_eq!(rig.get(&format!("/v1/jobs/{id}")).1["state"], "CREATED");
    for target in [
        format!("/v1/jobs/{}", JobId::random()),
        format!("/v1/submissions/{}", "0".repeat(64)),
        format!("/v1/jobs/{id}/approval-draft"),
    ] {
        let (status, body) = rig.get(&target);
        assert_eq!((status, code(&body)), (503, "unavailable"), "{target}");
        assert!(!body.to_string().contains(".sock"), "{body}");
    }
}

#[test]
fn a_submission_is_told_from_the_spool_and_then_from_the_role() {
    let rig = Rig::new();
    let id = JobId::random();
    let document = delete(id);
    rig.submit(&document);
    let digest = digest_of(&document);
    let target = format!("/v1/submissions/{digest}");
    let (status, told) = rig.get(&target);
    assert_eq!(status, 200);
    assert_eq!(
        told,
        json!({"digest": digest.to_string(), "accepted": null, "state": "CREATED", "code": null, "job_id": id.to_string()})
    );
    let refused = json!({"digest": digest.to_string(), "accepted": false, "code": "not_allowed"});
    rig.delete
        .knows()
        .submissions
        .insert((digest, own_uid()), refused.clone());
    assert_eq!(rig.get(&target), (200, refused));
    rig.take(Role::Delete);
    rig.delete.knows().submissions.clear();
    assert_eq!(rig.get(&target).0, 404);
}

#[test]
fn a_restart_forgets_nothing_that_waits_and_removes_what_was_not_finished() {
    let mut rig = Rig::new();
    let (id, second) = (JobId::random(), JobId::random());
    rig.submit(&save(id));
    rig.submit_lines(&[delete(JobId::random()), delete(second)]);
    let uid = own_uid();
    let left = rig.gate(Role::Save).join(format!(".{uid}-half.json"));
    std::fs::write(&left, "{").unwrap();
    let foreign = rig.gate(Role::Save).join(".notes");
    std::fs::write(&foreign, "").unwrap();
    rig.restart();
    for id in [id, second] {
        assert_eq!(rig.get(&format!("/v1/jobs/{id}")).1["state"], "CREATED");
    }
    assert!(!left.exists() && foreign.exists());
}

#[test]
fn everything_else_is_404_and_another_method_405_with_allow() {
    let rig = Rig::new();
    let id = JobId::random();
    let upper = id.to_string().to_uppercase();
    for target in [
        "/".to_owned(),
        "/v1".to_owned(),
        "/v1/jobs/".to_owned(),
        "/v1/jobs/1".to_owned(),
        format!("/v1/jobs/{upper}"),
        format!("/v1/jobs/{id}/why"),
        format!("/v1/jobs/{id}/"),
        format!("//v1/jobs/{id}"),
        format!("/v1/jobs/%61{}", &id.to_string()[1..]),
        "/v1/submissions/abc".to_owned(),
        "/v1/receipts/x".to_owned(),
        "/metrics".to_owned(),
        "/v1/door".to_owned(),
    ] {
        assert_eq!(rig.get(&target).0, 404, "{target}");
    }
    for (target, allow) in [("/v1/jobs", "POST"), ("/v1/approvals", "POST")] {
        let (status, body) = rig.get(target);
        assert_eq!((status, code(&body)), (405, "wrong_method"));
        assert!(
            raw(
                &rig,
                &format!("GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            )
            .contains(&format!("allow: {allow}\r\n"))
        );
    }
    assert_eq!(rig.post(&format!("/v1/jobs/{id}"), b"").0, 405);
    assert_eq!(rig.post("/health", b"").0, 405);
    assert_eq!(
        rig.get(&format!("/v1/jobs/{id}?uid=0")).0,
        400,
        "nobody asks for somebody else"
    );
}

fn raw(rig: &Rig, text: &str) -> String {
    let mut stream = std::os::unix::net::UnixStream::connect(rig.socket()).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn other_media_types_are_415_and_a_get_takes_no_body() {
    let rig = Rig::new();
    let answer = raw(
        &rig,
        "POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
    );
    assert!(answer.starts_with("HTTP/1.1 415 "), "{answer}");
    let answer = raw(
        &rig,
        "GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
    );
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[test]
fn a_refused_uid_is_no_requester_but_may_ask_for_health() {
    let rig = Rig::with(Choices {
        refused_uids: vec![own_uid()],
        ..Choices::default()
    });
    let (status, body) = rig.submit(&save(JobId::random()));
    assert_eq!((status, code(&body)), (403, "not_allowed"));
    for target in [
        format!("/v1/jobs/{}", JobId::random()),
        format!("/v1/submissions/{}", "0".repeat(64)),
    ] {
        assert_eq!(rig.get(&target).0, 403);
    }
    assert_eq!(rig.post("/v1/approvals", b"{}").0, 403);
    assert_eq!(rig.get("/health").0, 200);
    assert!(rig.waiting(Role::Save).is_empty());
}

#[test]
fn the_loopback_socket_has_health_and_metrics_only() {
    let rig = Rig::with(Choices {
        probes: true,
        ..Choices::default()
    });
    rig.submit(&save(JobId::random()));
    rig.submit(&json!({}));
    let ask = |target: &str, method: &str| {
        let mut stream = std::net::TcpStream::connect(rig.probes.unwrap()).unwrap();
        let head = format!("{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("/health", "GET").contains("{\"status\":\"ok\"}"));
    let page = ask("/metrics", "GET");
    for line in [
        "content-type: application/openmetrics-text",
        "lockgate_gateway_queued_total{role=\"save\"} 1\n",
        "lockgate_gateway_queued_total{role=\"delete\"} 0\n",
        "lockgate_gateway_refused_total{code=\"missing_field\"} 1\n",
        "lockgate_gateway_waiting_files{role=\"save\"} 1\n",
        "lockgate_gateway_streams 0\n",
        "# EOF\n",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
    for (method, target) in [
        ("POST", "/v1/jobs"),
        ("GET", "/v1/jobs"),
        ("GET", "/v1/submissions/x"),
        ("POST", "/v1/approvals"),
    ] {
        assert!(
            ask(target, method).starts_with("HTTP/1.1 404 "),
            "{method} {target}"
        );
    }
}

#[test]
fn a_draft_is_the_delete_roles() {
    let rig = Rig::new();
    let id = JobId::random();
    let target = format!("/v1/jobs/{id}/approval-draft");
    assert_eq!(rig.get(&target).0, 404);
    let document: Value = delete(id);
    rig.reply("/v1/jobs", Media::Json, document.to_string().as_bytes());
    let (status, body) = rig.get(&target);
    assert_eq!((status, code(&body)), (503, "unavailable"), "not judged yet");
    let draft = json!({"instance": "i", "payload": "{}"});
    rig.delete.knows().drafts.insert((id, own_uid()), draft.clone());
    assert_eq!(rig.get(&target), (200, draft));
}
