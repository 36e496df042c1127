//! The door as a whole: one table for each rule that both roles and the gateway share.

use super::test_support::{UID, facts, gateway};
use super::*;
use crate::job::test_support::{delete, rules, save, with};
use crate::job::{Code, JobId, JobKind, Refusal, Role, Sha256, VaultPath, document_digest, sha256};
use serde_json::{Value, json};

const VECTOR: &str = include_str!("../../tests/vectors/approval.json");

fn envelope() -> Value {
    serde_json::from_str::<Value>(VECTOR).unwrap()["envelope"].clone()
}

fn say(document: &Value, role: Role) -> Verdict {
    judge(document.to_string().as_bytes(), &facts(role, &rules()))
}

fn refusal(verdict: Verdict) -> Refusal {
    let Verdict::Refuse { refusal, .. } = verdict else {
        panic!("not refused: {verdict:?}")
    };
    refusal
}

fn admitted(bytes: &[u8], role: Role) -> AdmittedJob {
    let verdict = judge(bytes, &facts(role, &rules()));
    let Verdict::Admit(job) = verdict else {
        panic!("not admitted: {verdict:?}")
    };
    *job
}

#[test]
fn t01_t02_each_role_admits_its_own_kind() {
    assert_eq!(
        admitted(save().to_string().as_bytes(), Role::Save).job().kind(),
        JobKind::Save
    );
    let job = admitted(delete().to_string().as_bytes(), Role::Delete);
    assert_eq!(job.job().kind(), JobKind::Delete);
    assert_eq!(job.digest(), job.clone().into_job().digest());
}

#[test]
fn t05_a13_the_other_roles_document_is_refused_and_says_where_to_go() {
    for (document, role, pointer, to) in [
        (delete(), Role::Save, "/job_type", "delete"),
        (save(), Role::Delete, "/job_type", "save"),
        (envelope(), Role::Save, "/payload_b64", "delete"),
        (json!({"signatures": []}), Role::Save, "/signatures", "delete"),
    ] {
        let refusal = refusal(say(&document, role));
        assert_eq!(
            (refusal.code, refusal.pointer.as_str()),
            (Code::WrongRole, pointer)
        );
        assert!(
            refusal.message.ends_with(&format!("give it to {to}")),
            "{}",
            refusal.message
        );
    }
}

#[test]
fn kinds_of_documents_are_told_apart_by_their_version_key() {
    assert!(
        matches!(say(&envelope(), Role::Delete), Verdict::Envelope { value, digest }
        if value.get("payload_b64").is_some() && digest == document_digest(envelope().to_string().as_bytes()))
    );
    let cancel = json!({"cancel_version": 1, "job_id": save()["job_id"]});
    for role in Role::EXECUTORS {
        let Verdict::Cancel { cancel: read, digest } = say(&cancel, role) else {
            panic!("{role}: not a cancel")
        };
        assert_eq!(json!(read.job_id.to_string()), save()["job_id"]);
        assert_eq!(digest, document_digest(cancel.to_string().as_bytes()));
    }
    // Two keys at once are one document of the first kind with an unknown field, never two documents.
    let both = with(cancel.clone(), "job_version", json!(1));
    assert_eq!(refusal(say(&both, Role::Save)).code, Code::MissingField);
    let both = with(save(), "cancel_version", json!(1));
    assert_eq!(refusal(say(&both, Role::Save)).pointer, "/cancel_version");
    let both = with(cancel, "payload_b64", json!(""));
    assert!(matches!(say(&both, Role::Delete), Verdict::Envelope { .. }));
    for document in [json!({}), json!({"kind": "save"})] {
        let refusal = refusal(say(&document, Role::Save));
        assert_eq!(
            (refusal.code, refusal.pointer.as_str()),
            (Code::MissingField, "/job_version")
        );
    }
    for document in [json!([]), json!(1), json!(null), json!("job"), json!([save()])] {
        let refusal = refusal(say(&document, Role::Save));
        assert_eq!((refusal.code, refusal.pointer.as_str()), (Code::WrongType, ""));
    }
}

/// Removes, step by step, the check that came first, and sees the next one answer.
#[test]
fn the_first_check_in_the_contracts_order_answers() {
    let mut bad = delete();
    bad["job_version"] = json!(2);
    bad["job_type"] = json!("c5_delete_object");
    bad["surplus"] = json!(1);
    bad.as_object_mut().unwrap().remove("created_at");
    bad["mission_id"] = json!(7);
    bad["job_id"] = json!("not a uuid");
    bad["object_id"] = json!("");
    bad["vault_path"] = json!("/etc/passwd");
    bad["expected_commit"] = json!("HEAD");
    let fixed = delete();
    let steps: [(&str, Value, Code, &str); 9] = [
        ("job_version", json!(1), Code::UnknownVersion, "/job_version"),
        (
            "job_type",
            json!("C5_DELETE_OBJECT"),
            Code::UnknownJobType,
            "/job_type",
        ),
        ("surplus", Value::Null, Code::UnknownField, "/surplus"),
        (
            "created_at",
            fixed["created_at"].clone(),
            Code::MissingField,
            "/created_at",
        ),
        (
            "mission_id",
            fixed["mission_id"].clone(),
            Code::WrongType,
            "/mission_id",
        ),
        ("job_id", fixed["job_id"].clone(), Code::BadUuid, "/job_id"),
        (
            "object_id",
            fixed["object_id"].clone(),
            Code::BadObjectId,
            "/object_id",
        ),
        (
            "vault_path",
            fixed["vault_path"].clone(),
            Code::PathOutsideRoot,
            "/vault_path",
        ),
        (
            "expected_commit",
            fixed["expected_commit"].clone(),
            Code::BadHash,
            "/expected_commit",
        ),
    ];
    for (name, value, code, pointer) in steps {
        let refusal = refusal(say(&bad, Role::Delete));
        assert_eq!((refusal.code, refusal.pointer.as_str()), (code, pointer));
        assert!(!refusal.message.is_empty());
        if code == Code::UnknownField {
            // The role comes before the fields.
            assert_eq!(self::refusal(say(&bad, Role::Save)).code, Code::WrongRole);
            bad.as_object_mut().unwrap().remove(name);
        } else {
            bad[name] = value;
        }
    }
    assert!(matches!(say(&bad, Role::Delete), Verdict::Admit(_)));
}

#[test]
fn t09_t10_t11_what_is_no_document_is_refused_with_the_digest_of_its_bytes() {
    let twice = save().to_string().replacen("{", "{\"ru\\u006E\":1,\"run\":2,", 1);
    let big = format!("{}{}", save(), " ".repeat(65_536));
    let deep = "[".repeat(1000) + &"]".repeat(1000);
    for (bytes, code) in [
        (twice.as_bytes(), Code::DuplicateKey),
        (big.as_bytes(), Code::TooLarge),
        (deep.as_bytes(), Code::TooDeep),
        (&b"\xff{}"[..], Code::MalformedJson),
        (&b""[..], Code::MalformedJson),
    ] {
        let Verdict::Refuse { digest, refusal } = judge(bytes, &facts(Role::Save, &rules())) else {
            panic!("{code}")
        };
        assert_eq!((refusal.code, digest), (code, sha256(bytes)));
    }
}

#[test]
fn t27_every_way_to_write_a_document_has_its_one_digest_refused_or_not() {
    let plain = save().to_string();
    let pretty = format!("\n {}\r\n", serde_json::to_string_pretty(&save()).unwrap());
    let escaped = plain.replace("notes", "\\u006eotes");
    let digest = admitted(plain.as_bytes(), Role::Save).digest();
    assert_eq!(digest, document_digest(plain.as_bytes()));
    for text in [pretty, escaped, format!("{plain}\n")] {
        assert_eq!(admitted(text.as_bytes(), Role::Save).digest(), digest);
        let Verdict::Refuse { digest: refused, .. } = judge(text.as_bytes(), &facts(Role::Delete, &rules()))
        else {
            panic!("admitted by the other role")
        };
        assert_eq!(refused, digest);
    }
    // A float is no document of ours: equal numbers written differently stay two documents.
    let float = |n: &str| plain.replacen("\"job_version\":1", &format!("\"job_version\":{n}"), 1);
    let digest_of = |text: &str| {
        let verdict = judge(text.as_bytes(), &facts(Role::Save, &rules()));
        let Verdict::Refuse { digest, refusal } = verdict else {
            panic!("{verdict:?}")
        };
        (digest, refusal.code)
    };
    let (one, ten) = (digest_of(&float("1.0")), digest_of(&float("1e0")));
    assert_eq!((one.1, ten.1), (Code::WrongType, Code::WrongType));
    assert_eq!(one.0, sha256(float("1.0").as_bytes()));
    assert_ne!(one.0, ten.0);
}

#[test]
fn a_requester_without_leave_is_refused_last_and_by_name() {
    let rules = rules();
    let may = |uid: u32, kind: JobKind, path: &VaultPath| {
        uid == UID && kind == JobKind::Save && path.as_str().starts_with("/app/vault/notes/")
    };
    let ask = |document: &Value, role: Role, uid: u32| {
        judge(
            document.to_string().as_bytes(),
            &Facts {
                role,
                rules: &rules,
                may_ask: &may,
                uid,
            },
        )
    };
    assert!(matches!(ask(&save(), Role::Save, UID), Verdict::Admit(_)));
    let elsewhere = with(save(), "vault_path", json!("/app/vault/other/a.md"));
    for (document, role, uid) in [
        (&save(), Role::Save, 7),
        (&delete(), Role::Delete, UID),
        (&elsewhere, Role::Save, UID),
    ] {
        let no = refusal(ask(document, role, uid));
        assert_eq!((no.code, no.pointer.as_str()), (Code::NotAllowed, "/vault_path"));
        assert!(no.message.contains(&uid.to_string()) && no.message.contains("[[requester]]"));
    }
    let broken = with(elsewhere, "created_at", json!("yesterday"));
    assert_eq!(refusal(ask(&broken, Role::Save, 7)).code, Code::BadTime);
}

#[test]
fn the_gateway_says_where_a_document_goes() {
    let rules = rules();
    let at = |document: &Value| judge_at_gateway(document.to_string().as_bytes(), &gateway(&rules));
    let id = |document: &Value| document["job_id"].as_str().and_then(JobId::parse);
    for (document, role, kind) in [
        (save(), Role::Save, JobKind::Save),
        (delete(), Role::Delete, JobKind::Delete),
    ] {
        let judged = at(&document);
        assert_eq!((judged.role, judged.job_id), (Some(role), id(&document)));
        assert_eq!(judged.outcome, Ok(Kind::Job(kind)));
        assert_eq!(judged.job.unwrap().digest(), judged.digest);
    }
    let judged = at(&envelope());
    assert_eq!(
        (judged.role, judged.job_id, judged.outcome),
        (Some(Role::Delete), None, Ok(Kind::Approval))
    );
    assert_eq!(judged.envelope.unwrap().signatures().len(), 2);
    let mut withdrawal = envelope();
    withdrawal["payload_b64"] = json!("eyJ3aXRoZHJhd2FsX3ZlcnNpb24iOjF9");
    assert_eq!(at(&withdrawal).outcome, Ok(Kind::Withdrawal));
    let judged = at(&json!({"cancel_version": 1, "job_id": save()["job_id"]}));
    assert_eq!(
        (judged.role, judged.job_id, judged.outcome),
        (None, id(&save()), Ok(Kind::Cancel))
    );

    let judged = at(&with(save(), "created_at", json!("now")));
    assert_eq!((judged.role, judged.job_id), (Some(Role::Save), id(&save())));
    assert_eq!(judged.outcome.unwrap_err().code, Code::BadTime);
    let judged = at(&json!({"payload_b64": "", "signatures": [], "x": 1}));
    assert_eq!(
        (judged.role, judged.outcome.unwrap_err().pointer.as_str()),
        (Some(Role::Delete), "/x")
    );
}

/// Whatever the bytes, the gateway refuses what the role would refuse, for the same reason, under the same digest.
#[test]
fn the_gateway_and_the_role_say_the_same() {
    let rules = rules();
    let mut documents = vec![
        "".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "{\"job_id\":1}".to_owned(),
        "1.5".to_owned(),
    ];
    for valid in [
        save(),
        delete(),
        json!({"cancel_version": 1, "job_id": save()["job_id"]}),
    ] {
        documents.push(valid.to_string());
        for name in valid.as_object().unwrap().keys() {
            let mut missing = valid.clone();
            missing.as_object_mut().unwrap().remove(name);
            documents.push(missing.to_string());
            for value in [
                json!(null),
                json!(1),
                json!(2),
                json!(1.5),
                json!(""),
                json!("x"),
                json!([]),
                json!({"a": 1.0}),
            ] {
                documents.push(with(valid.clone(), name, value).to_string());
            }
        }
    }
    for text in documents {
        let judged = judge_at_gateway(text.as_bytes(), &gateway(&rules));
        let role = judged.role.unwrap_or(Role::Save);
        let same = match judge(text.as_bytes(), &facts(role, &rules)) {
            Verdict::Admit(job) => judged.job == Some(job.clone()) && job.digest() == judged.digest,
            Verdict::Cancel { cancel, digest } => {
                judged.outcome == Ok(Kind::Cancel)
                    && (judged.job_id, judged.digest) == (Some(cancel.job_id), digest)
            }
            Verdict::Refuse { digest, refusal } => judged.outcome == Err(refusal) && judged.digest == digest,
            Verdict::Envelope { .. } => false,
        };
        assert!(same, "{text}: {judged:?}");
    }
}

fn identity(document: &Value, uid: u32) -> Identity {
    let role = if document["job_type"] == "C5_SAVE_OBJECT" {
        Role::Save
    } else {
        Role::Delete
    };
    Identity::of(admitted(document.to_string().as_bytes(), role).job(), uid)
}

fn known(document: &Value, uid: u32) -> Known {
    let Identity {
        job_id,
        digest,
        idempotency_digest,
        uid,
        ..
    } = identity(document, uid);
    Known {
        job_id,
        digest,
        idempotency_digest,
        uid,
    }
}

fn conflict_at(answer: Answer) -> String {
    let Answer::Conflict(refusal) = answer else {
        panic!("no conflict: {answer:?}")
    };
    assert_eq!(refusal.code, Code::IdempotencyConflict);
    refusal.pointer
}

#[test]
fn t27_the_same_job_again_gets_the_first_answer_and_only_for_the_same_uid() {
    for document in [save(), delete()] {
        let (new, first) = (identity(&document, UID), known(&document, UID));
        assert_eq!(idempotency(&new, None, None), Answer::New);
        let same = Answer::SameAnswer { job_id: first.job_id };
        assert_eq!(idempotency(&new, Some(&first), Some(&first)), same);
        assert_eq!(idempotency(&new, Some(&first), None), same);

        let stranger = identity(&document, 7);
        let other = identity(&with(document.clone(), "object_id", json!("notes/b.md")), 7);
        let answer = idempotency(&stranger, Some(&first), Some(&first));
        // The stranger does not learn that the document is the same one.
        assert_eq!(answer, idempotency(&other, Some(&first), Some(&first)));
        assert_eq!(conflict_at(answer), "/job_id");
    }
}

#[test]
fn t28_the_same_key_means_the_same_request() {
    let new_id = json!("6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0009");
    let again = with(
        with(save(), "job_id", new_id.clone()),
        "created_at",
        json!("2026-11-30T12:00:01Z"),
    );
    let first = known(&save(), UID);
    assert_eq!(
        idempotency(&identity(&again, UID), None, Some(&first)),
        Answer::SameAnswer { job_id: first.job_id }
    );
    assert_eq!(
        conflict_at(idempotency(&identity(&again, 7), None, Some(&first))),
        "/idempotency_key"
    );
    // The same id with another time is another document, whatever the key.
    let later = with(save(), "created_at", json!("2026-11-30T12:00:01Z"));
    assert_eq!(
        conflict_at(idempotency(&identity(&later, UID), Some(&first), Some(&first))),
        "/job_id"
    );

    let changes: [(&str, Value); 6] = [
        ("mission_id", json!("6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d000a")),
        ("object_id", json!("notes/b.md")),
        ("vault_path", json!("/app/vault/notes/b.md")),
        ("source_commit", json!("2f".repeat(20))),
        ("provenance_hash", json!("de".repeat(32))),
        ("expected_state", json!(format!("sha256:{}", "6e".repeat(32)))),
    ];
    for (name, value) in changes {
        let other = with(with(save(), "job_id", new_id.clone()), name, value);
        let answer = idempotency(&identity(&other, UID), None, Some(&first));
        assert_eq!(conflict_at(answer), "/idempotency_key", "{name}");
    }
    // A DELETE under a SAVE's key.
    let other = with(delete(), "idempotency_key", save()["idempotency_key"].clone());
    assert_eq!(
        conflict_at(idempotency(&identity(&other, UID), None, Some(&first))),
        "/idempotency_key"
    );
}

#[test]
fn a_taken_id_is_judged_before_a_taken_key() {
    let by_id = known(&delete(), UID);
    let by_key = known(&save(), UID);
    let new = identity(&with(save(), "job_id", delete()["job_id"].clone()), UID);
    assert_eq!(
        conflict_at(idempotency(&new, Some(&by_id), Some(&by_key))),
        "/job_id"
    );
    assert_ne!(by_id.digest, Sha256([0; 32]));
}
