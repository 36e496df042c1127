//! Job documents: version, type, role, fields, digests.

use super::*;
use crate::job::canonical::document_digest;
use crate::job::test_support::{
    both, delete, each_refused, read, read_text, refused, rules, save, with, without,
};
use serde_json::{Value as Json, json};

#[test]
fn t01_t02_valid_jobs_carry_what_they_say() {
    let job = read_text(&save().to_string(), Role::Save).unwrap();
    let Job::Save(inner) = &job else {
        panic!("not a save")
    };
    assert_eq!(inner.expected_state.to_string(), "6f".repeat(32));
    assert_eq!(job.expected_state(), Some(&inner.expected_state));
    assert_eq!(
        (job.kind(), job.approval_id(), job.delete_request_id()),
        (JobKind::Save, None, None)
    );
    let delete_job = read_text(&delete().to_string(), Role::Delete).unwrap();
    assert_eq!(
        (delete_job.kind(), delete_job.expected_state()),
        (JobKind::Delete, None)
    );
    assert_eq!(
        json!(delete_job.approval_id().unwrap().to_string()),
        delete()["approval_id"]
    );
    assert_eq!(
        json!(delete_job.delete_request_id().unwrap().to_string()),
        delete()["delete_request_id"]
    );
    for (job, document, commit, provenance) in [
        (&job, save(), "source_commit", "provenance_hash"),
        (
            &delete_job,
            delete(),
            "expected_commit",
            "expected_provenance_hash",
        ),
    ] {
        assert_eq!(json!(job.job_id().to_string()), document["job_id"]);
        assert_eq!(json!(job.mission_id().to_string()), document["mission_id"]);
        assert_eq!(json!(job.object_id().as_str()), document["object_id"]);
        assert_eq!(json!(job.vault_path().as_str()), document["vault_path"]);
        assert_eq!(json!(job.commit().as_str()), document[commit]);
        assert_eq!(json!(job.provenance().to_string()), document[provenance]);
        assert_eq!(json!(job.created_at().as_str()), document["created_at"]);
        assert_eq!(
            json!(job.idempotency_key().to_string()),
            document["idempotency_key"]
        );
    }
}

#[test]
fn the_fields_are_the_contracts() {
    for (document, fields) in [(save(), &SAVE_FIELDS[..]), (delete(), &DELETE_FIELDS[..])] {
        let names: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, fields.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}

#[test]
fn t03_unknown_versions_are_refused() {
    each_refused(
        "job_version",
        Code::UnknownVersion,
        [json!(0), json!(2), json!(-1), json!(9_007_199_254_740_991i64)],
    );
}

#[test]
fn t04_a04_a05_only_the_two_types_exactly_as_written() {
    #[rustfmt::skip]
    let words = [
        "", "c5_save_object", "C5_save_object", "C5_SAVE_OBJECT ", " C5_SAVE_OBJECT", "C5_SAVE_OBJECT\0",
        "C5-SAVE-OBJECT", "C5_SAVE", "SAVE", "DELETE", "C5_DELETE_OBJECT\n", "C5_DELETE_OBJECTS",
        "C5_UPDATE_OBJECT", "Ｃ5_SAVE_OBJECT", "C5_ЅAVE_OBJECT", "C5_SAVE_OBJECT,C5_DELETE_OBJECT", "0",
        "null",
    ];
    each_refused("job_type", Code::UnknownJobType, words.map(|word| json!(word)));
    each_refused(
        "job_type",
        Code::WrongType,
        [
            json!(0),
            json!(null),
            json!(["C5_SAVE_OBJECT"]),
            json!({"C5_SAVE_OBJECT": {}}),
        ],
    );
    // The other kind's word makes it a document of that kind, which these fields are not.
    let other = with(save(), "job_type", json!("C5_DELETE_OBJECT"));
    assert_eq!(refused(&other), (Code::UnknownField, "/source_commit".to_owned()));
}

#[test]
fn t05_a13_a_role_takes_its_own_kind_only() {
    for (document, role) in [(save(), Role::Delete), (delete(), Role::Save)] {
        let refusal = read_text(&document.to_string(), role).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.pointer.as_str()),
            (Code::WrongRole, "/job_type")
        );
        // Before the fields are looked at, after version and type.
        let refusal = read_text(&with(document.clone(), "x", json!(1)).to_string(), role).unwrap_err();
        assert_eq!(refusal.code, Code::WrongRole);
        let refusal = read_text(&with(document, "job_version", json!(2)).to_string(), role).unwrap_err();
        assert_eq!(refusal.code, Code::UnknownVersion);
    }
}

#[test]
fn t06_an_extra_field_is_refused_by_name() {
    #[rustfmt::skip]
    let cases = [
        "x", "Job_id", "job_id ", "command", "url", "approval", "approval_version", "signatures", "",
        "a/b~c", "ｊob_id",
    ];
    for name in cases {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        for document in both() {
            for value in [json!(1), json!(null), json!({"deep": [{}]})] {
                assert_eq!(
                    refused(&with(document.clone(), name, value)),
                    (Code::UnknownField, pointer.clone())
                );
            }
        }
    }
    assert_eq!(
        refused(&with(save(), "approval_id", json!("x"))).0,
        Code::UnknownField
    );
    assert_eq!(
        refused(&with(delete(), "source_commit", json!("x"))).0,
        Code::UnknownField
    );
}

#[test]
fn t07_every_missing_field_is_named() {
    for document in both() {
        for name in document.as_object().unwrap().keys() {
            assert_eq!(
                refused(&without(document.clone(), name)),
                (Code::MissingField, format!("/{name}"))
            );
        }
    }
}

#[test]
fn t08_a06_every_wrong_type_is_named() {
    for document in both() {
        for (name, right) in document.as_object().unwrap() {
            let mut wrong = vec![
                json!(1.0),
                json!(true),
                json!(null),
                json!([]),
                json!({}),
                json!([right]),
                json!({"a": right}),
            ];
            wrong.push(if right.is_string() { json!(1) } else { json!("1") });
            for value in wrong {
                let found = refused(&with(document.clone(), name, value.clone()));
                assert_eq!(found, (Code::WrongType, format!("/{name}")), "{name} = {value}");
            }
        }
    }
    for number in ["1.0", "1e0", "-0", "10e-1", "1E+0"] {
        let text = save()
            .to_string()
            .replacen("\"job_version\":1", &format!("\"job_version\":{number}"), 1);
        assert_eq!(
            read_text(&text, Role::Save).unwrap_err().code,
            Code::WrongType,
            "{number}"
        );
    }
}

#[test]
fn t27_the_digest_is_of_the_document_not_of_its_spelling() {
    let job = read(&save()).unwrap();
    let mut backwards = serde_json::Map::new();
    for (name, value) in save().as_object().unwrap().iter().rev() {
        backwards.insert(name.clone(), value.clone());
    }
    let text = serde_json::to_string_pretty(&backwards)
        .unwrap()
        .replace("notes/a.md", "n\\u006ftes\\/a.md")
        + "\r\n";
    let again = read_text(&text, Role::Save).unwrap();
    assert_eq!(
        (again.digest(), again.canonical()),
        (job.digest(), job.canonical())
    );
    assert_eq!(job.digest(), document_digest(text.as_bytes()));
    assert_eq!(job.digest(), sha256(job.canonical()));
    let later = read(&with(save(), "created_at", json!("2026-11-30T12:00:00.0Z"))).unwrap();
    assert_ne!(later.digest(), job.digest());
}

#[test]
fn t28_the_idempotency_digest_leaves_out_the_id_and_the_time_only() {
    let changed: [(&str, Json); 8] = [
        ("mission_id", json!("0b0f3a5c-6a0f-4b1e-9a57-0c2f0a7d1e12")),
        ("object_id", json!("notes/b.md")),
        ("vault_path", json!("/app/vault/notes/b.md")),
        ("source_commit", json!("2f".repeat(20))),
        ("provenance_hash", json!("de".repeat(32))),
        ("expected_state", json!(format!("sha256:{}", "6e".repeat(32)))),
        ("idempotency_key", json!("9c5b94b1-35ad-49bb-b118-8e8fc24abf8f")),
        ("approval_id", json!("3b241101-e2bb-4255-8caf-4136c566a963")),
    ];
    for document in both() {
        let first = read(&document).unwrap().idempotency_digest();
        let again = with(
            document.clone(),
            "job_id",
            json!("6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0003"),
        );
        let again = with(again, "created_at", json!("2027-01-01T00:00:00Z"));
        assert_eq!(read(&again).unwrap().idempotency_digest(), first);
        for (name, value) in &changed {
            if document.get(name).is_some() {
                let other = with(document.clone(), name, value.clone());
                assert_ne!(read(&other).unwrap().idempotency_digest(), first, "{name}");
            }
        }
    }
}

#[test]
fn a_stored_job_is_read_again_only_in_its_own_form() {
    for document in both() {
        let job = read(&document).unwrap();
        assert_eq!(Job::from_stored(job.canonical(), &rules()), Ok(job.clone()));
        let mut spaced = job.canonical().to_vec();
        spaced.push(b'\n');
        assert_eq!(
            Job::from_stored(&spaced, &rules()).unwrap_err().code,
            Code::Tampered
        );
        assert_eq!(
            Job::from_stored(document.to_string().as_bytes(), &rules())
                .unwrap_err()
                .code,
            Code::Tampered
        );
        let elsewhere = DocumentRules {
            vault_root: "/srv/vault/".to_owned(),
            ..rules()
        };
        assert_eq!(
            Job::from_stored(job.canonical(), &elsewhere).unwrap_err().code,
            Code::PathOutsideRoot
        );
        assert_eq!(
            Job::from_stored(b"", &rules()).unwrap_err().code,
            Code::MalformedJson
        );
    }
}
