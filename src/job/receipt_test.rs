//! The receipt as it is printed.

use super::*;
use crate::job::document::{DocumentRules, parse_job};
use crate::job::json::{DOCUMENT_BYTES_MAX, parse};
use crate::job::kind::Role;

const SAVE: &str = r#"{"job_version":1,"job_id":"6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001",
    "mission_id":"0b0f3a5c-6a0f-4b1e-9a57-0c2f0a7d1e11","job_type":"C5_SAVE_OBJECT","object_id":"notes/a.md",
    "vault_path":"/app/vault/notes/a.md","source_commit":"1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f",
    "provenance_hash":"dd055c3d592982f9a27b24ceef39e4385e062aa3d882b40d5f2b838222abb5d6",
    "expected_state":"sha256:6ff64c30f3953d6ed33c797eae83c647bbd5e42d2e12cb227373559cff726b11",
    "created_at":"2026-11-30T12:00:00Z","idempotency_key":"9c5b94b1-35ad-49bb-b118-8e8fc24abf80"}"#;

fn job() -> Job {
    let rules = DocumentRules {
        vault_root: "/app/vault/".to_owned(),
        object_id_is_path: true,
    };
    parse_job(
        &parse(SAVE.as_bytes(), DOCUMENT_BYTES_MAX).unwrap(),
        &rules,
        Role::Save,
    )
    .unwrap()
}

#[test]
fn a_receipt_has_the_contracts_fields_in_the_contracts_order() {
    let settled = Receipt {
        code: Some(Code::Saved),
        detail: Some("word".to_owned()),
        attempt: 2,
        settled_at: Some(WallMs(1_796_040_001_000)),
        ..Receipt::of(
            &job(),
            ReceiptState::Admitted(State::Succeeded),
            WallMs(1_796_040_001_000),
        )
    };
    let due = format!(
        concat!(
            r#"{{"job_id":"6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001","digest":"{}","job_type":"C5_SAVE_OBJECT","#,
            r#""object_id":"notes/a.md","vault_path":"/app/vault/notes/a.md","#,
            r#""commit":"1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f","state":"SUCCEEDED","code":"saved","#,
            r#""detail":"word","message":"done","attempt":2,"created_at":"2026-11-30T12:00:00Z","#,
            r#""updated_at":"2026-11-30T12:00:01.000Z","settled_at":"2026-11-30T12:00:01.000Z"}}"#
        ),
        job().digest()
    );
    assert_eq!(serde_json::to_string(&settled).unwrap(), due);
}

#[test]
fn what_only_the_spool_has_is_created_with_nulls_for_what_is_not_known() {
    let receipt = Receipt::created(&job(), WallMs(0));
    let text = serde_json::to_value(&receipt).unwrap();
    assert_eq!(text["state"], "CREATED");
    assert_eq!(text["updated_at"], "1970-01-01T00:00:00.000Z");
    for name in ["code", "detail", "settled_at"] {
        assert!(text[name].is_null(), "{name}");
    }
    assert!(!receipt.state.is_settled());
    assert_eq!(text.as_object().unwrap().len(), 14);
}

#[test]
fn every_state_has_its_word_and_its_sentence() {
    let admitted = State::ALL.into_iter().map(ReceiptState::Admitted);
    let mut sentences = std::collections::HashSet::new();
    for state in admitted.chain([ReceiptState::Created]) {
        assert_eq!(ReceiptState::parse(state.as_str()), Some(state));
        assert_eq!(serde_json::to_value(state).unwrap(), state.to_string());
        assert!(
            sentences.insert(state_sentence(state)),
            "{state} shares its sentence"
        );
        let due = matches!(
            state.as_str(),
            "SUCCEEDED" | "FAILED" | "REJECTED" | "OUTCOME_UNKNOWN"
        );
        assert_eq!(state.is_settled(), due, "{state}");
    }
    assert_eq!(ReceiptState::parse("created"), None);
    assert_eq!(ReceiptState::parse("QUEUED"), None);
}
