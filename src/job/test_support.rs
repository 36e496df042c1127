//! Valid documents, and small ways to spoil them, for the tests of this room and of admission/.

use super::document::{DocumentRules, Job, parse_job};
use super::json::{self, DOCUMENT_BYTES_MAX};
use super::{Code, Refusal, Role};
use serde_json::{Value as Json, json};

pub(crate) fn rules() -> DocumentRules {
    DocumentRules {
        vault_root: "/app/vault/".to_owned(),
        object_id_is_path: true,
    }
}

pub(crate) fn save() -> Json {
    json!({
        "job_version": 1,
        "job_id": "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001",
        "mission_id": "0b0f3a5c-6a0f-4b1e-9a57-0c2f0a7d1e11",
        "job_type": "C5_SAVE_OBJECT",
        "object_id": "notes/a.md",
        "vault_path": "/app/vault/notes/a.md",
        "source_commit": "1f".repeat(20),
        "provenance_hash": "dd".repeat(32),
        "expected_state": format!("sha256:{}", "6f".repeat(32)),
        "created_at": "2026-11-30T12:00:00Z",
        "idempotency_key": "9c5b94b1-35ad-49bb-b118-8e8fc24abf80",
    })
}

pub(crate) fn delete() -> Json {
    json!({
        "job_version": 1,
        "job_id": "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0002",
        "mission_id": "0b0f3a5c-6a0f-4b1e-9a57-0c2f0a7d1e11",
        "delete_request_id": "9c5b94b1-35ad-49bb-b118-8e8fc24abf81",
        "job_type": "C5_DELETE_OBJECT",
        "object_id": "notes/a.md",
        "vault_path": "/app/vault/notes/a.md",
        "expected_commit": "1f".repeat(32),
        "expected_provenance_hash": "dd".repeat(32),
        "approval_id": "3b241101-e2bb-4255-8caf-4136c566a962",
        "created_at": "2026-11-30T12:00:00.5Z",
        "idempotency_key": "9c5b94b1-35ad-49bb-b118-8e8fc24abf82",
    })
}

pub(crate) fn both() -> [Json; 2] {
    [save(), delete()]
}

pub(crate) fn with(mut document: Json, name: &str, value: Json) -> Json {
    document[name] = value;
    document
}

pub(crate) fn without(mut document: Json, name: &str) -> Json {
    document.as_object_mut().unwrap().remove(name);
    document
}

pub(crate) fn read_text(text: &str, role: Role) -> Result<Job, Refusal> {
    parse_job(&json::parse(text.as_bytes(), DOCUMENT_BYTES_MAX)?, &rules(), role)
}

/// By the gateway, which takes both kinds.
pub(crate) fn read(document: &Json) -> Result<Job, Refusal> {
    read_text(&document.to_string(), Role::Gateway)
}

pub(crate) fn refused(document: &Json) -> (Code, String) {
    let refusal = read(document).map(|_| document.to_string()).unwrap_err();
    assert!(!refusal.message.is_empty());
    (refusal.code, refusal.pointer)
}

/// Each of these values in field `name` is refused with `code`, naming the field, in every kind that has it.
pub(crate) fn each_refused(name: &str, code: Code, values: impl IntoIterator<Item = Json>) {
    for value in values {
        for document in both() {
            if document.get(name).is_some() {
                let found = refused(&with(document, name, value.clone()));
                assert_eq!(found, (code, format!("/{name}")), "{name} = {value}");
            }
        }
    }
}
