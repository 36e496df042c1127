//! Documents and facts for the tests of this room.

use super::{Facts, GatewayFacts};
use crate::job::document::DocumentRules;
use crate::job::{JobKind, Role, VaultPath};
use serde_json::{Value, json};

pub(super) const UID: u32 = 1000;

pub(super) fn rules() -> DocumentRules {
    DocumentRules {
        vault_root: "/app/vault/".to_owned(),
        object_id_is_path: true,
    }
}

pub(super) fn everyone(_: u32, _: JobKind, _: &VaultPath) -> bool {
    true
}

pub(super) fn facts(role: Role, rules: &DocumentRules) -> Facts<'_> {
    Facts {
        role,
        rules,
        may_ask: &everyone,
        uid: UID,
    }
}

pub(super) fn gateway(rules: &DocumentRules) -> GatewayFacts<'_> {
    GatewayFacts {
        rules,
        may_ask: &everyone,
        uid: UID,
    }
}

pub(super) fn save() -> Value {
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

pub(super) fn delete() -> Value {
    json!({
        "job_version": 1,
        "job_id": "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0002",
        "mission_id": "0b0f3a5c-6a0f-4b1e-9a57-0c2f0a7d1e11",
        "delete_request_id": "9c5b94b1-35ad-49bb-b118-8e8fc24abf81",
        "job_type": "C5_DELETE_OBJECT",
        "object_id": "notes/a.md",
        "vault_path": "/app/vault/notes/a.md",
        "expected_commit": "1f".repeat(20),
        "expected_provenance_hash": "dd".repeat(32),
        "approval_id": "3b241101-e2bb-4255-8caf-4136c566a962",
        "created_at": "2026-11-30T12:00:00Z",
        "idempotency_key": "9c5b94b1-35ad-49bb-b118-8e8fc24abf82",
    })
}

/// `document` with one field changed.
pub(super) fn with(mut document: Value, name: &str, value: Value) -> Value {
    document[name] = value;
    document
}
