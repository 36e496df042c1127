//! The door: whose signatures hold, when, for what. And the review of stored ones.

use super::super::test_support::{
    INSTANCE, approvers, approvers_with, at, ground, key, now, payload, payload_text, rules, signed_by,
    signed_for, vector,
};
use super::super::{ApproversError, envelope::SIGNATURES_MAX};
use super::*;
use crate::job::canonical::canonical;
use crate::job::json::{self, Value};
use crate::signing::Scheme;

fn code(envelope: &Envelope, approvers: &Approvers, now: WallMs) -> Result<(), Code> {
    verify(envelope, &ground(approvers, &rules()), now)
        .map(|_| ())
        .map_err(|refusal| refusal.code)
}

fn vector_envelope() -> Envelope {
    Envelope::from_value(vector().get("envelope").unwrap()).unwrap()
}
fn vector_approvers() -> Approvers {
    Approvers::parse(vector().get("approvers_line").unwrap().as_text().unwrap()).unwrap()
}

#[test]
fn the_published_vector_verifies_at_its_time_in_both_schemes() {
    let approvers = vector_approvers();
    let verify_at = at(vector().get("verify_at").unwrap().as_text().unwrap());
    let verified = verify(&vector_envelope(), &ground(&approvers, &rules()), verify_at).unwrap();
    assert_eq!(verified.document, Document::Approval(Box::new(payload())));
    assert_eq!(verified.payload_bytes, payload_text().into_bytes());
    assert_eq!(verified.signers.len(), 2);
    for (signer, stored) in verified.signers.iter().zip(vector_envelope().signatures()) {
        assert_eq!(signer.principal, "alice@example.test");
        assert_eq!(
            signer.fingerprint.to_string(),
            "SHA256:+VaDCyzPI3hoebRbSJxvAJu93YOzgF788KHYYFZz8mQ"
        );
        assert_eq!((signer.holder, &signer.signature), (Holder::NotVerified, stored));
    }
}

#[test]
fn t32_every_changed_byte_of_the_vectors_payload_is_refused() {
    let approvers = vector_approvers();
    let value = vector();
    let value = value.get("envelope").unwrap();
    let bytes = payload_text().into_bytes();
    use base64::Engine as _;
    for at in 0..bytes.len() {
        for flip in [1u8, 2, 0x20, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            let mut fields = value.fields().unwrap().to_vec();
            fields[0].1 = Value::Text(base64::engine::general_purpose::STANDARD.encode(&changed));
            let envelope = Envelope::from_value(&Value::Object(fields)).unwrap();
            let found = code(&envelope, &approvers, now()).unwrap_err();
            let json_first = Payload::meant(&changed).err().map(|refusal| refusal.code);
            assert_eq!(found, json_first.unwrap_or(Code::SignatureInvalid), "byte {at}");
        }
    }
}

#[test]
fn t32_every_changed_letter_of_a_signature_is_refused() {
    let approvers = vector_approvers();
    for at in 0..2 {
        let EnvelopeSignature::Ed25519 { key, signature_b64 } = vector_envelope().signatures()[1].clone()
        else {
            unreachable!("the second signature is a raw one")
        };
        let EnvelopeSignature::Sshsig { armour } = vector_envelope().signatures()[0].clone() else {
            unreachable!("the first signature is an SSH one")
        };
        let whole = if at == 0 { armour } else { signature_b64 };
        for place in 0..whole.len() {
            let mut text = whole.clone().into_bytes();
            text[place] = if text[place] == b'A' { b'B' } else { b'A' };
            let text = String::from_utf8(text).unwrap();
            let changed = if at == 0 {
                EnvelopeSignature::Sshsig { armour: text }
            } else {
                EnvelopeSignature::Ed25519 {
                    key,
                    signature_b64: text,
                }
            };
            let mut envelope = Envelope::unsigned(payload_text().into_bytes());
            envelope.add(changed).unwrap();
            let found = code(&envelope, &approvers, now());
            assert_eq!(found, Err(Code::SignatureInvalid), "{at} {place}");
        }
    }
}

#[test]
fn t32_raw_signatures_that_are_cut_padded_or_malleated_are_refused() {
    let approvers = vector_approvers();
    let EnvelopeSignature::Ed25519 { key, signature_b64 } = vector_envelope().signatures()[1].clone() else {
        unreachable!("the second signature is a raw one")
    };
    // The same signature with S + L instead of S.
    let malleated =
        "/yzzeuF8CVn7mgayY8wA66kJQtYxs0HxpOZeyO5OsA+vBUFcBsRM2sDQiqM7/fNuby+sLRQ3Q7VzSgpdvfVOEg==".to_owned();
    let bytes = crate::approval::raw::decode(&malleated).unwrap();
    assert_eq!(
        bytes[..32],
        crate::approval::raw::decode(&signature_b64).unwrap()[..32]
    );
    let unpadded = signature_b64.trim_end_matches('=').to_owned();
    for bad in [
        malleated,
        String::new(),
        unpadded.clone(),
        unpadded[..84].to_owned(),
        format!("{signature_b64}AAAA"),
        format!("{signature_b64}\n"),
        format!(" {signature_b64}"),
        format!("{}h==", &unpadded[..85]),
    ] {
        let mut envelope = Envelope::unsigned(payload_text().into_bytes());
        envelope
            .add(EnvelopeSignature::Ed25519 {
                key,
                signature_b64: bad.clone(),
            })
            .unwrap();
        assert_eq!(
            code(&envelope, &approvers, now()),
            Err(Code::SignatureInvalid),
            "{bad}"
        );
    }
}

#[test]
fn t32_a_signature_for_another_instance_or_purpose_is_refused() {
    let approvers = approvers();
    let bytes = payload_text().into_bytes();
    let other = "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0002";
    for scheme in [Scheme::Sshsig, Scheme::Ed25519] {
        for (purpose, instance, verdict) in [
            (Purpose::Approval, INSTANCE, Ok(())),
            (Purpose::Approval, other, Err(Code::SignatureInvalid)),
            (Purpose::Approval, "", Err(Code::SignatureInvalid)),
            (Purpose::Withdrawal, INSTANCE, Err(Code::SignatureInvalid)),
        ] {
            let mut envelope = Envelope::unsigned(bytes.clone());
            envelope
                .add(key(1).sign(scheme, purpose, instance, &bytes))
                .unwrap();
            assert_eq!(
                code(&envelope, &approvers, now()),
                verdict,
                "{scheme:?} {purpose:?} {instance}"
            );
        }
    }
}

#[test]
fn t32_one_bad_signature_refuses_the_envelope_and_is_named() {
    let bytes = payload_text().into_bytes();
    let mut envelope = signed_by(&[1, 2], &bytes);
    envelope
        .add(signed_by(&[3], b"other").signatures()[0].clone())
        .unwrap();
    let refused = verify(&envelope, &ground(&approvers(), &rules()), now()).unwrap_err();
    assert_eq!(
        (refused.code, refused.pointer.as_str()),
        (Code::SignatureInvalid, "/signatures/2")
    );
}

#[test]
fn t33_unknown_keys_and_keys_outside_their_window_are_refused() {
    let bytes = payload_text().into_bytes();
    for scheme in [Scheme::Sshsig, Scheme::Ed25519] {
        for (seed, options, verdict) in [
            (1, "", Ok(())),
            (9, "", Err(Code::KeyUnknown)),
            (1, "valid-before=\"20261130122959Z\"", Err(Code::KeyExpired)),
            (1, "valid-before=\"20261130123000Z\"", Ok(())),
            (1, "valid-after=\"20261130123001Z\"", Err(Code::KeyExpired)),
            (1, "valid-after=\"20261130123000Z\"", Ok(())),
            (1, "namespaces=\"git\"", Err(Code::KeyUnknown)),
            (1, "namespaces=\"lockgate-withdrawal@*\"", Err(Code::KeyUnknown)),
            (1, "namespaces=\"lockgate-approval@*\"", Ok(())),
        ] {
            let mut envelope = Envelope::unsigned(bytes.clone());
            envelope
                .add(key(seed).sign(scheme, Purpose::Approval, INSTANCE, &bytes))
                .unwrap();
            let approvers = approvers_with(options, "");
            assert_eq!(
                code(&envelope, &approvers, now()),
                verdict,
                "{scheme:?} {options}"
            );
        }
    }
}

#[test]
fn t33_without_an_approvers_file_nothing_verifies() {
    let documents = rules();
    let ground = Ground {
        instance: INSTANCE,
        documents: &documents,
        approvers: None,
    };
    for envelope in [vector_envelope(), signed_by(&[1], payload_text().as_bytes())] {
        assert_eq!(
            verify(&envelope, &ground, now()).unwrap_err().code,
            Code::KeyUnknown
        );
    }
    assert!(code(&vector_envelope(), &Approvers::default(), now()) == Err(Code::KeyUnknown));
}

/// The payload with one field changed to another good value.
fn changed(name: &str, value: Value) -> Vec<u8> {
    let mut fields = json::parse(payload_text().as_bytes(), 65_536)
        .unwrap()
        .fields()
        .unwrap()
        .to_vec();
    let field = fields.iter_mut().find(|(key, _)| key == name).unwrap();
    assert_ne!(field.1, value, "{name}");
    field.1 = value;
    canonical(&Value::Object(fields))
}

#[test]
fn t34_each_field_changed_without_signing_again_is_signature_invalid() {
    let approvers = approvers();
    let signed = signed_by(&[1], payload_text().as_bytes());
    let other_uuid = "0b0f3a5c-6a0f-4b1e-9a57-0c2f0a7d1e12";
    for (name, value) in [
        ("approval_version", Value::Int(2)),
        ("approval_id", Value::Text(other_uuid.to_owned())),
        ("mission_id", Value::Text(other_uuid.to_owned())),
        ("delete_request_id", Value::Text(other_uuid.to_owned())),
        ("operation", Value::Text("SAVE".to_owned())),
        ("object_id", Value::Text("notes/b.md".to_owned())),
        ("vault_path", Value::Text("/app/vault/notes/b.md".to_owned())),
        ("expected_commit", Value::Text("2f".repeat(20))),
        ("expected_provenance_hash", Value::Text("ed".repeat(32))),
        ("nonce", Value::Text("6b".repeat(32))),
        ("issued_at", Value::Text("2026-11-30T12:00:01Z".to_owned())),
        ("expires_at", Value::Text("2026-12-01T12:00:01Z".to_owned())),
    ] {
        let bytes = changed(name, value);
        let mut envelope = Envelope::unsigned(bytes.clone());
        envelope.add(signed.signatures()[0].clone()).unwrap();
        assert_eq!(
            code(&envelope, &approvers, now()),
            Err(Code::SignatureInvalid),
            "{name}"
        );
        // Signed again, only version and operation are refused at the door.
        let verdict = match name {
            "approval_version" => Err(Code::UnknownVersion),
            "operation" => Err(Code::UnknownJobType),
            _ => Ok(()),
        };
        assert_eq!(
            code(&signed_by(&[1], &bytes), &approvers, now()),
            verdict,
            "{name}"
        );
    }
}

#[test]
fn t34_signed_bytes_that_are_not_canonical_are_refused() {
    let bytes = format!("{}\n", payload_text());
    assert_eq!(
        code(&signed_by(&[1], bytes.as_bytes()), &approvers(), now()),
        Err(Code::ApprovalNotCanonical)
    );
    assert_eq!(
        code(&signed_by(&[1], b"{}"), &approvers(), now()),
        Err(Code::MissingField)
    );
    assert_eq!(
        code(&signed_by(&[1], b"x"), &approvers(), now()),
        Err(Code::MalformedJson)
    );
}

#[test]
fn t35_an_approval_holds_from_a_minute_before_issue_to_its_last_millisecond() {
    let envelope = signed_by(&[1], payload_text().as_bytes());
    let (issued, expires) = (at("2026-11-30T12:00:00Z").0, at("2026-12-01T12:00:00Z").0);
    for (ms, verdict) in [
        (issued - 60_001, Err(Code::ApprovalNotYetValid)),
        (issued - 60_000, Ok(())),
        (expires - 1, Ok(())),
        (expires, Err(Code::ApprovalExpired)),
        (i64::MAX, Err(Code::ApprovalExpired)),
        (i64::MIN, Err(Code::ApprovalNotYetValid)),
    ] {
        assert_eq!(code(&envelope, &approvers(), WallMs(ms)), verdict, "{ms}");
    }
}

#[test]
fn t35_an_approval_that_ends_before_it_begins_is_never_valid() {
    for expires in ["2026-11-30T12:00:00Z", "2026-11-30T11:59:30Z"] {
        let bytes = changed("expires_at", Value::Text(expires.to_owned()));
        let now = at("2026-11-30T11:59:10Z");
        assert_eq!(
            code(&signed_by(&[1], &bytes), &approvers(), now),
            Err(Code::ApprovalExpired),
            "{expires}"
        );
    }
}

fn withdrawal() -> Vec<u8> {
    WithdrawalPayload::new(payload().approval_id, now())
        .unwrap()
        .to_canonical()
}

#[test]
fn a_withdrawal_needs_its_own_namespace_and_outlives_the_keys_window() {
    let bytes = withdrawal();
    let signed = signed_for(Purpose::Withdrawal, INSTANCE, &[1], &bytes);
    for (options, standing) in [
        ("", Ok(Standing::Current)),
        ("namespaces=\"lockgate-approval@*\"", Ok(Standing::Current)),
        ("namespaces=\"lockgate-withdrawal@*\"", Ok(Standing::Current)),
        ("namespaces=\"git\"", Err(Code::KeyUnknown)),
        ("valid-before=\"20200101Z\"", Ok(Standing::OutsideWindow)),
        (
            "namespaces=\"lockgate-approval@*\",valid-before=\"20200101Z\"",
            Ok(Standing::OutsideWindow),
        ),
    ] {
        let approvers = approvers_with(options, "");
        let verified = verify(&signed, &ground(&approvers, &rules()), now());
        let found = verified
            .map(|verified| verified.signers[0].standing)
            .map_err(|refusal| refusal.code);
        assert_eq!(found, standing, "{options}");
    }
    for (purpose, instance) in [(Purpose::Approval, INSTANCE), (Purpose::Withdrawal, "other")] {
        let envelope = signed_for(purpose, instance, &[1], &bytes);
        assert_eq!(code(&envelope, &approvers(), now()), Err(Code::SignatureInvalid));
    }
    assert_eq!(
        code(
            &signed_for(Purpose::Withdrawal, INSTANCE, &[9], &bytes),
            &approvers(),
            now()
        ),
        Err(Code::KeyUnknown)
    );
}

#[test]
fn the_gateway_gives_the_doors_answer_or_none() {
    let documents = rules();
    let bytes = payload_text().into_bytes();
    let pre = |envelope: &Envelope| precheck(envelope, INSTANCE, &documents).map_err(|refusal| refusal.code);
    assert_eq!(pre(&vector_envelope()), Ok(()));
    assert_eq!(pre(&signed_by(&[9], &bytes)), Ok(()));
    assert_eq!(
        pre(&signed_for(Purpose::Approval, "other", &[1], &bytes)),
        Err(Code::SignatureInvalid)
    );
    assert_eq!(pre(&signed_by(&[1], b"{}")), Err(Code::MissingField));
    assert_eq!(pre(&signed_by(&[1], b"x")), Err(Code::MalformedJson));
    let version = changed("approval_version", Value::Int(2));
    assert_eq!(pre(&signed_by(&[1], &version)), Err(Code::UnknownVersion));
    // With a signature whose key it does not have, it cannot know which refusal comes first.
    let mut unsigned = Envelope::unsigned(version);
    unsigned.add(vector_envelope().signatures()[1].clone()).unwrap();
    assert_eq!(pre(&unsigned), Ok(()));
    assert_eq!(
        code(&unsigned, &vector_approvers(), now()),
        Err(Code::SignatureInvalid)
    );
}

#[test]
fn t33_stored_signatures_are_judged_one_by_one() {
    let bytes = payload_text().into_bytes();
    let stored = signed_by(&[1, 2, 9], &bytes);
    let text = format!(
        "a {}\nb valid-before=\"20200101Z\" {}",
        key(1).public().to_openssh(),
        key(2).public().to_openssh()
    );
    let approvers: Result<Approvers, ApproversError> = Approvers::parse(&text);
    let approvers = approvers.unwrap();
    let documents = rules();
    let ground = ground(&approvers, &documents);
    let review = review(&bytes, stored.signatures(), Purpose::Approval, &ground, now());
    assert_eq!(
        review
            .signers
            .iter()
            .map(|signer| signer.principal.as_str())
            .collect::<Vec<_>>(),
        ["a"]
    );
    assert_eq!(review.lost, [Unsigned::KeyExpired, Unsigned::KeyUnknown]);
    let other = super::review(b"other", stored.signatures(), Purpose::Approval, &ground, now());
    assert!(other.signers.is_empty());
    assert_eq!(other.lost.len(), 3);
    assert!(other.lost.iter().all(|why| why.code() == Code::SignatureInvalid));
}

#[test]
fn sixteen_signatures_verify() {
    let seeds: Vec<u8> = (1..=16).collect();
    assert_eq!(seeds.len(), SIGNATURES_MAX);
    let text: String = seeds
        .iter()
        .map(|seed| format!("p{seed} {}\n", key(*seed).public().to_openssh()))
        .collect();
    let approvers = Approvers::parse(&text).unwrap();
    assert_eq!(
        code(&signed_by(&seeds, payload_text().as_bytes()), &approvers, now()),
        Ok(())
    );
}
