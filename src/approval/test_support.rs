//! Keys, payloads and envelopes for this room's tests, and the published vector.

use super::approvers::Approvers;
use super::envelope::Envelope;
use super::payload::{ApprovalPayload, Payload};
use super::purpose::Purpose;
use super::verify::Ground;
use crate::clock::WallMs;
use crate::job::json::Value;
use crate::job::{DocumentRules, Timestamp, json};
use crate::signing::{ApproverKey, Scheme};

pub(super) const INSTANCE: &str = "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001";
const VECTOR: &str = include_str!("../../tests/vectors/approval.json");

pub(super) fn at(text: &str) -> WallMs {
    Timestamp::parse(text).unwrap().wall()
}
/// Within the payload's time.
pub(super) fn now() -> WallMs {
    at("2026-11-30T12:30:00Z")
}
pub(super) fn rules() -> DocumentRules {
    DocumentRules {
        vault_root: "/app/vault/".to_owned(),
        object_id_is_path: true,
    }
}
pub(super) fn key(seed: u8) -> ApproverKey {
    ApproverKey::from_seed(&[seed; 32]).unwrap()
}
/// `a` holds key 1, `b` key 2 and so on, each with these options.
pub(super) fn approvers_with(options: &str, extra: &str) -> Approvers {
    let mut text = format!("{extra}\n");
    for (seed, name) in (1u8..).zip(["a", "b", "c", "d"]) {
        text += &format!("{name} {options} {}\n", key(seed).public().to_openssh());
    }
    Approvers::parse(&text).unwrap()
}
pub(super) fn approvers() -> Approvers {
    approvers_with("", "")
}
pub(super) fn ground<'a>(approvers: &'a Approvers, documents: &'a DocumentRules) -> Ground<'a> {
    Ground {
        instance: INSTANCE,
        documents,
        approvers: Some(approvers),
    }
}

pub(super) fn vector() -> Value {
    json::parse(VECTOR.as_bytes(), 1 << 20).unwrap()
}
/// The vector's payload, typed.
pub(super) fn payload() -> ApprovalPayload {
    match Payload::parse(payload_text().as_bytes(), &rules()).unwrap() {
        Payload::Approval(payload) => *payload,
        Payload::Withdrawal(_) => unreachable!("the vector is an approval"),
    }
}
/// The vector's signed bytes.
pub(super) fn payload_text() -> String {
    vector()
        .get("signed_bytes_utf8")
        .unwrap()
        .as_text()
        .unwrap()
        .to_owned()
}

pub(super) fn signed_by(keys: &[u8], bytes: &[u8]) -> Envelope {
    signed_for(Purpose::Approval, INSTANCE, keys, bytes)
}
pub(super) fn signed_for(purpose: Purpose, instance: &str, keys: &[u8], bytes: &[u8]) -> Envelope {
    let mut envelope = Envelope::unsigned(bytes.to_vec());
    for seed in keys {
        envelope
            .add(key(*seed).sign(Scheme::Sshsig, purpose, instance, bytes))
            .unwrap();
    }
    envelope
}
