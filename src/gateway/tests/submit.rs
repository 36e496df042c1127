//! `POST /v1/jobs`: what becomes durable, and what is turned away.

use super::rig::{Choices, Rig, code, delete, digest_of, mode, own_uid, parts, save};
use crate::gateway::PendingLimits;
use crate::http::Media;
use crate::http::tests::support::as_uid;
use crate::job::{JobId, Role};
use crate::throttle::Rate;
use serde_json::{Value, json};

#[test]
fn a_job_is_in_its_roles_gate_directory_when_202_is_said() {
    let rig = Rig::new();
    let id = JobId::random();
    let text = format!("{}\n", save(id));
    let (status, body) = rig.post("/v1/jobs", text.as_bytes());
    assert_eq!(status, 202, "{body}");
    let digest = digest_of(&serde_json::from_str(&text).unwrap());
    assert_eq!(
        body,
        json!({"job_id": id.to_string(), "digest": digest.to_string(), "state": "CREATED"})
    );
    let waiting = rig.waiting(Role::Save);
    let [(name, bytes)] = waiting.as_slice() else {
        panic!("{waiting:?}");
    };
    assert!(
        name.starts_with(&format!("{}-{id}-", own_uid())) && name.ends_with(".json"),
        "{name}"
    );
    assert_eq!(bytes, text.as_bytes());
    assert_eq!(mode(&rig.gate(Role::Save).join(name)), 0o644);
    assert!(rig.waiting(Role::Delete).is_empty());
    rig.submit(&delete(JobId::random()));
    assert_eq!(rig.waiting(Role::Delete).len(), 1);
}

#[test]
fn the_same_document_twice_is_accepted_twice_and_never_replaces_a_file() {
    let rig = Rig::new();
    let document = save(JobId::random());
    let first = rig.submit(&document);
    let second = rig.submit(&document);
    assert_eq!((first.0, &first.1), (202, &second.1));
    assert_eq!(rig.waiting(Role::Save).len(), 2);
}

#[test]
fn what_the_pure_part_of_admission_refuses_is_422_with_code_and_pointer_and_leaves_nothing() {
    let rig = Rig::new();
    let mut document = save(JobId::random());
    document["command"] = json!("rm");
    let (status, body) = rig.submit(&document);
    assert_eq!((status, code(&body)), (422, "unknown_field"));
    assert_eq!(body["error"]["pointer"], "/command");
    assert!(body["error"]["message"].as_str().unwrap().len() > 10);
    for (text, status, word) in [
        (b"{".to_vec(), 422, "malformed_json"),
        (Vec::new(), 422, "malformed_json"),
        (b"{\"a\":1,\"a\":2}".to_vec(), 422, "duplicate_key"),
        (vec![b' '; 65_537], 413, "too_large"),
    ] {
        let (found, body) = rig.post("/v1/jobs", &text);
        assert_eq!((found, code(&body)), (status, word));
    }
    assert!(rig.waiting(Role::Save).is_empty() && rig.waiting(Role::Delete).is_empty());
}

#[test]
fn a_job_id_the_role_knows_with_another_document_is_409() {
    let rig = Rig::new();
    let id = JobId::random();
    rig.save.knows().taken.insert(id);
    let (status, body) = rig.submit(&save(id));
    assert_eq!((status, code(&body)), (409, "idempotency_conflict"));
    assert_eq!(body["error"]["pointer"], "/job_id");
    assert!(rig.waiting(Role::Save).is_empty());
}

#[test]
fn while_its_role_is_down_a_document_is_accepted_all_the_same() {
    let rig = Rig::without_roles(Choices::default());
    let id = JobId::random();
    assert_eq!(rig.submit(&save(id)).0, 202);
    assert_eq!(rig.waiting(Role::Save).len(), 1);
}

#[test]
fn a_frozen_host_and_a_frozen_role_take_nothing_in() {
    let rig = Rig::new();
    std::fs::write(rig.frozen_file(), "").unwrap();
    let reply = rig.reply(
        "/v1/jobs",
        Media::Json,
        save(JobId::random()).to_string().as_bytes(),
    );
    let (status, body) = parts(&reply);
    assert_eq!((status, code(&body)), (503, "frozen"));
    assert_eq!(reply.retry_after_s, Some(60));
    std::fs::remove_file(rig.frozen_file()).unwrap();
    rig.delete.knows().frozen = true;
    assert_eq!(rig.submit(&delete(JobId::random())).0, 503);
    assert_eq!(
        rig.submit(&save(JobId::random())).0,
        202,
        "the other role is not frozen"
    );
    assert!(rig.waiting(Role::Delete).is_empty());
    let (status, lines) = rig.submit_lines(&[save(JobId::random()), delete(JobId::random())]);
    assert_eq!(
        (status, &lines[0]["state"], code(&lines[1])),
        (202, &json!("CREATED"), "frozen")
    );
    let (status, lines) = rig.submit_lines(&[delete(JobId::random())]);
    assert_eq!((status, code(&lines[0])), (503, "frozen"));
}

#[test]
fn a_thousand_lines_are_answered_one_by_one_in_order() {
    let rig = Rig::new();
    let documents: Vec<Value> = (0..1000)
        .map(|at| {
            let id = JobId::random();
            match at % 4 {
                0 => delete(id),
                1 if at == 501 => json!({"job_version": 1}),
                _ => save(id),
            }
        })
        .collect();
    let conflicting = JobId::parse(documents[2]["job_id"].as_str().unwrap()).unwrap();
    rig.save.knows().taken.insert(conflicting);
    let (status, lines) = rig.submit_lines(&documents);
    assert_eq!((status, lines.len()), (202, 1000));
    for (at, (document, line)) in documents.iter().zip(&lines).enumerate() {
        match at {
            2 => assert_eq!(code(line), "idempotency_conflict"),
            501 => assert_eq!(code(line), "missing_field"),
            _ => {
                assert_eq!(line["job_id"], document["job_id"], "{at}");
                assert_eq!(line["digest"], digest_of(document).to_string());
                assert_eq!(line["state"], "CREATED");
            }
        }
    }
    let held = |role| {
        let files = rig.waiting(role);
        let text: Vec<u8> = files.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        (files.len(), String::from_utf8(text).unwrap().lines().count())
    };
    assert_eq!((held(Role::Save), held(Role::Delete)), ((1, 748), (1, 250)));
    let wanted: String = documents
        .iter()
        .filter(|one| one["job_type"] == "C5_DELETE_OBJECT")
        .map(|one| format!("{one}\n"))
        .collect();
    assert_eq!(rig.waiting(Role::Delete)[0].1, wanted.into_bytes());
}

#[test]
fn more_than_a_thousand_lines_and_more_than_a_megabyte_are_413() {
    let rig = Rig::new();
    for body in [b"{}\n".repeat(1001), vec![b'x'; (1 << 20) + 1]] {
        let (status, body) = parts(&rig.reply("/v1/jobs", Media::JsonLines, &body));
        assert_eq!((status, code(&body)), (413, "too_large"));
    }
    let (status, lines) = rig.submit_lines(&[json!({}), json!({"job_version": 2})]);
    assert_eq!(status, 422, "nothing was queued");
    assert_eq!(
        (code(&lines[0]), code(&lines[1])),
        ("missing_field", "unknown_version")
    );
}

#[test]
fn who_sends_too_fast_is_told_when_to_come_back() {
    let rig = Rig::with(Choices {
        rate: Rate {
            burst: 2,
            per_minute: 30,
        },
        ..Choices::default()
    });
    let (status, lines) = rig.submit_lines(&[save(JobId::random()), save(JobId::random())]);
    assert_eq!((status, lines.len()), (202, 2));
    let reply = rig.reply(
        "/v1/jobs",
        Media::Json,
        save(JobId::random()).to_string().as_bytes(),
    );
    assert_eq!((reply.status, reply.retry_after_s), (429, Some(2)));
    assert_eq!(code(&parts(&reply).1), "rate_limited");
    rig.clock.advance(2_000);
    assert_eq!(rig.submit(&save(JobId::random())).0, 202);
    assert_eq!(rig.waiting(Role::Save).len(), 2);
}

#[test]
fn what_waits_is_bounded_and_room_comes_back_when_the_role_takes_it() {
    let rig = Rig::with(Choices {
        pending: PendingLimits {
            documents_per_uid: 3,
            bytes_per_uid: 1 << 20,
            documents: 100,
            bytes: 1 << 20,
        },
        ..Choices::default()
    });
    for _ in 0..3 {
        assert_eq!(rig.submit(&save(JobId::random())).0, 202);
    }
    let reply = rig.reply(
        "/v1/jobs",
        Media::Json,
        save(JobId::random()).to_string().as_bytes(),
    );
    assert_eq!((reply.status, reply.retry_after_s), (429, Some(5)));
    assert_eq!(rig.waiting(Role::Save).len(), 3);
    rig.take(Role::Save);
    rig.clock.advance(1_000);
    assert_eq!(rig.submit(&save(JobId::random())).0, 202);
}

#[test]
fn the_file_states_the_uid_that_the_kernel_saw() {
    let rig = Rig::new();
    let id = JobId::random();
    let Some((status, _)) = as_uid(4321, || rig.submit(&save(id))) else {
        return;
    };
    assert_eq!(status, 202);
    assert!(rig.waiting(Role::Save)[0].0.starts_with(&format!("4321-{id}-")));
    assert_eq!(rig.get(&format!("/v1/jobs/{id}")).0, 404, "it is not this user's");
    assert_eq!(as_uid(4321, || rig.get(&format!("/v1/jobs/{id}")).0), Some(200));
}

#[test]
fn a_gate_directory_that_is_gone_is_503_and_unhealthy_and_heals() {
    let rig = Rig::new();
    assert_eq!(rig.get("/health"), (200, json!({"status": "ok"})));
    let aside = rig.dir.path().join("aside");
    std::fs::rename(rig.gate(Role::Save), &aside).unwrap();
    let (status, body) = rig.submit(&save(JobId::random()));
    assert_eq!((status, code(&body)), (503, "unavailable"));
    assert!(!body.to_string().contains("/gate"), "no path of ours: {body}");
    assert_eq!(
        rig.get("/health"),
        (503, json!({"status": "unhealthy", "reason": "disk"}))
    );
    std::fs::rename(&aside, rig.gate(Role::Save)).unwrap();
    assert_eq!(rig.submit(&save(JobId::random())).0, 202);
    assert_eq!(rig.get("/health").0, 200);
}
