//! Job documents: every kind of value, spoilt in every way we know.

use super::*;
use crate::job::test_support::{both, delete, each_refused, read, refused, rules, save, with};
use serde_json::{Value as Json, json};

#[test]
fn t12_only_version_4_uuids_in_the_one_form() {
    #[rustfmt::skip]
    let bad = [
        "", "6F0C2E9E-9A51-4A0F-9D0B-5D5D5D5D0001", "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d000A",
        "{6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001}", "urn:uuid:6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001",
        "6f0c2e9e9a514a0f9d0b5d5d5d5d0001", "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff", "6f0c2e9e-9a51-1a0f-9d0b-5d5d5d5d0001",
        "6f0c2e9e-9a51-7a0f-9d0b-5d5d5d5d0001", "6f0c2e9e-9a51-4a0f-7d0b-5d5d5d5d0001",
        "6f0c2e9e-9a51-4a0f-cd0b-5d5d5d5d0001", "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d000",
        "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d00011", " 6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001",
        "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001\n", "6f0c2e9e_9a51_4a0f_9d0b_5d5d5d5d0001",
        "6f0c2e9-e9a51-4a0f-9d0b-5d5d5d5d0001", "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5dg001",
        "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0é1",
    ];
    for name in [
        "job_id",
        "mission_id",
        "delete_request_id",
        "approval_id",
        "idempotency_key",
    ] {
        each_refused(name, Code::BadUuid, bad.map(|text| json!(text)));
    }
    for good in [
        "6f0c2e9e-9a51-4a0f-8d0b-5d5d5d5d0001",
        "00000000-0000-4000-a000-000000000000",
        "ffffffff-ffff-4fff-bfff-ffffffffffff",
    ] {
        assert_eq!(
            read(&with(save(), "job_id", json!(good)))
                .unwrap()
                .job_id()
                .to_string(),
            good
        );
    }
}

#[test]
fn t13_hashes_have_exactly_their_digits() {
    let hex = |digits: usize| "a".repeat(digits);
    let commits = [0, 1, 7, 39, 41, 63, 65, 128].map(hex).into_iter();
    let odd = [
        "A".repeat(40),
        "g".repeat(40),
        format!(" {}", hex(39)),
        format!("{}\n", hex(40)),
        "HEAD".to_owned(),
        format!("0x{}", hex(38)),
        "é".repeat(20),
        "ａ".repeat(40),
        format!("{}-", hex(39)),
        format!("{}A", hex(63)),
    ];
    let commits: Vec<Json> = commits.chain(odd.clone()).map(Json::from).collect();
    for name in ["source_commit", "expected_commit"] {
        each_refused(name, Code::BadHash, commits.clone());
    }
    let hashes = [0, 1, 39, 40, 41, 63, 65, 128]
        .map(hex)
        .into_iter()
        .chain(odd)
        .chain([format!("sha256:{}", hex(64))]);
    let hashes: Vec<Json> = hashes.map(Json::from).collect();
    for name in ["provenance_hash", "expected_provenance_hash"] {
        each_refused(name, Code::BadHash, hashes.clone());
    }
    let states = [
        hex(64),
        format!("SHA256:{}", hex(64)),
        format!("sha256:{}", hex(63)),
        format!("sha256:{}", hex(65)),
        format!("sha256:{}", "A".repeat(64)),
        format!("sha1:{}", hex(40)),
        format!("sha256: {}", hex(64)),
        format!("sha256:{} ", hex(64)),
        "sha256:".to_owned(),
        format!("sha256:sha256:{}", hex(64)),
        String::new(),
    ];
    each_refused("expected_state", Code::BadHash, states.map(Json::from));
    for digits in [40, 64] {
        assert_eq!(
            read(&with(save(), "source_commit", json!(hex(digits))))
                .unwrap()
                .commit()
                .as_str(),
            hex(digits)
        );
    }
}

#[test]
fn t14_times_in_any_other_form_are_refused() {
    #[rustfmt::skip]
    let bad = [
        "", "2026-11-30T12:00:00", "2026-11-30T12:00:00+00:00", "2026-12-31T23:59:60Z",
        "10000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2026-11-30T12:00:00.0000Z", "2026-11-30",
    ];
    each_refused("created_at", Code::BadTime, bad.map(|text| json!(text)));
    each_refused("created_at", Code::WrongType, [json!(1_796_040_000)]);
}

#[test]
fn t15_t16_t17_a_paths_own_code_stands_at_its_field() {
    for (path, code) in [
        ("/etc/passwd", Code::PathOutsideRoot),
        ("/app/vault/../x", Code::PathTraversal),
        ("/app/vault/.git/config", Code::PathHidden),
        ("/app/vault/a%2e", Code::PathAmbiguous),
    ] {
        each_refused("vault_path", code, [json!(path)]);
    }
    // The same text is an object id's fault there, and object ids come first.
    #[rustfmt::skip]
    let object_ids = [
        "", "../x", "/etc/passwd", ".git/config", "a%2e", "a//b", "a\\b", "notes/", "e\u{301}",
        "a\u{200b}",
    ];
    each_refused("object_id", Code::BadObjectId, object_ids.map(|text| json!(text)));
    let any = DocumentRules {
        object_id_is_path: false,
        ..rules()
    };
    let free = with(save(), "object_id", json!("../x"));
    let value = json::parse(free.to_string().as_bytes(), DOCUMENT_BYTES_MAX).unwrap();
    assert!(parse_job(&value, &any, Role::Save).is_ok());
}

#[test]
fn t20_control_characters_fit_no_text_field() {
    for document in both() {
        for (name, right) in document.as_object().unwrap() {
            let Some(text) = right.as_str() else { continue };
            for c in [
                '\0', '\u{1}', '\t', '\n', '\r', '\u{1b}', '\u{1f}', '\u{7f}', '\u{85}', '\u{9b}',
            ] {
                for odd in [
                    format!("{c}{text}"),
                    format!("{text}{c}"),
                    format!("{}{c}{}", &text[..3], &text[3..]),
                ] {
                    let (_, pointer) = refused(&with(document.clone(), name, json!(odd)));
                    assert_eq!(pointer, format!("/{name}"), "{c:?}");
                }
            }
        }
    }
}

#[test]
fn values_are_judged_in_the_order_of_the_fields() {
    for (document, fields) in [(save(), &SAVE_FIELDS[..]), (delete(), &DELETE_FIELDS[..])] {
        let free = |name: &str| !["job_version", "job_type"].contains(&name);
        let names: Vec<&str> = fields
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| free(name))
            .collect();
        let mut bad = document.clone();
        for name in &names {
            bad[*name] = json!("");
        }
        for name in names {
            assert_eq!(refused(&bad).1, format!("/{name}"));
            bad[name] = document[name].clone();
        }
        assert!(read(&bad).is_ok());
    }
}
