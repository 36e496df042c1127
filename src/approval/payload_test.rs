//! Signed documents: the one form that is taken, and the code for each other.

use super::super::test_support::{payload, payload_text, rules};
use super::*;
use proptest::prelude::*;

fn refusal(bytes: &str) -> (Code, String) {
    let refusal = Payload::parse(bytes.as_bytes(), &rules()).expect_err(bytes);
    (refusal.code, refusal.pointer)
}

/// The payload with one field replaced, added or removed, in canonical form again.
fn with(name: &str, value: Option<Value>) -> String {
    let mut fields = json::parse(payload_text().as_bytes(), 65_536)
        .unwrap()
        .fields()
        .unwrap()
        .to_vec();
    fields.retain(|(key, _)| key != name);
    fields.extend(value.map(|value| (name.to_owned(), value)));
    String::from_utf8(canonical(&Value::Object(fields))).unwrap()
}

fn text(value: &str) -> Option<Value> {
    Some(Value::Text(value.to_owned()))
}

#[test]
fn the_bytes_to_sign_are_those_of_the_vector() {
    assert_eq!(payload().to_canonical(), payload_text().as_bytes());
    assert_eq!(Payload::meant(payload_text().as_bytes()), Ok(Purpose::Approval));
    assert_eq!(payload().lasts_ms(), 24 * 3_600_000);
    let elsewhere = Payload::parse_elsewhere(payload_text().as_bytes()).unwrap();
    assert_eq!(elsewhere.purpose(), Purpose::Approval);
}

#[test]
fn t34_bytes_that_are_not_their_canonical_form_are_refused() {
    let canonical = payload_text();
    for bytes in [
        format!("{canonical}\n"),
        format!(" {canonical}"),
        canonical.replace("\",\"", "\", \""),
        canonical.replace("DELETE", "D\\u0045LETE"),
        canonical.replace("/app/", "\\/app/"),
        canonical
            .replacen("\"approval_version\":1,", "", 1)
            .replace("\"}", "\",\"approval_version\":1}"),
    ] {
        assert_eq!(
            refusal(&bytes),
            (Code::ApprovalNotCanonical, "/payload_b64".to_owned()),
            "{bytes}"
        );
    }
}

#[test]
fn t34_version_and_operation_are_refused_by_name() {
    for (name, value, code) in [
        ("approval_version", Some(Value::Int(2)), Code::UnknownVersion),
        ("approval_version", Some(Value::Int(0)), Code::UnknownVersion),
        ("approval_version", text("1"), Code::WrongType),
        ("approval_version", None, Code::MissingField),
        ("operation", text("SAVE"), Code::UnknownJobType),
        ("operation", text("delete"), Code::UnknownJobType),
        ("operation", text("DELETE "), Code::UnknownJobType),
        ("operation", Some(Value::Int(1)), Code::WrongType),
        ("operation", None, Code::MissingField),
    ] {
        assert_eq!(
            refusal(&with(name, value.clone())),
            (code, format!("/{name}")),
            "{name} {value:?}"
        );
    }
}

#[test]
fn a08_each_missing_extra_and_mistyped_field_is_refused_by_name() {
    for (name, _) in APPROVAL_FIELDS {
        assert_eq!(
            refusal(&with(name, None)),
            (Code::MissingField, format!("/{name}"))
        );
        for wrong in [
            Value::Null,
            Value::Bool(true),
            Value::Array(Vec::new()),
            Value::Object(Vec::new()),
        ] {
            assert_eq!(
                refusal(&with(name, Some(wrong))),
                (Code::WrongType, format!("/{name}"))
            );
        }
    }
    for extra in ["note", "Operation", "withdrawal_version", "job_version"] {
        assert_eq!(
            refusal(&with(extra, Some(Value::Int(1)))),
            (Code::UnknownField, format!("/{extra}"))
        );
    }
}

#[test]
fn each_bad_value_is_refused_with_its_own_code() {
    for (name, value, code) in [
        (
            "approval_id",
            "3B241101-e2bb-4255-8caf-4136c566a962",
            Code::BadUuid,
        ),
        (
            "mission_id",
            "00000000-0000-0000-0000-000000000000",
            Code::BadUuid,
        ),
        ("delete_request_id", "", Code::BadUuid),
        ("object_id", "", Code::BadObjectId),
        ("vault_path", "/app/vaultx/a.md", Code::PathOutsideRoot),
        ("vault_path", "/app/vault/../a.md", Code::PathTraversal),
        ("vault_path", "/app/vault/.a.md", Code::PathHidden),
        ("vault_path", "/app/vault/a\u{202e}.md", Code::PathAmbiguous),
        ("expected_commit", "1f1f1f", Code::BadHash),
        ("expected_provenance_hash", "DD", Code::BadHash),
        ("nonce", "5a", Code::BadHash),
        ("issued_at", "2026-11-30T12:00:00+00:00", Code::BadTime),
        ("expires_at", "10000-01-01T00:00:00Z", Code::BadTime),
    ] {
        assert_eq!(
            refusal(&with(name, text(value))),
            (code, format!("/{name}")),
            "{name} {value}"
        );
    }
}

#[test]
fn a01_payloads_that_are_no_strict_json_are_refused_before_anything_else() {
    let canonical = payload_text();
    for (bytes, code) in [
        (String::new(), Code::MalformedJson),
        (canonical[..canonical.len() - 1].to_owned(), Code::MalformedJson),
        (format!("\u{feff}{canonical}"), Code::MalformedJson),
        (canonical.replacen('{', "{\"nonce\":\"\",", 1), Code::DuplicateKey),
        (
            canonical.replacen('{', "{\"no\\u006ece\":\"\",", 1),
            Code::DuplicateKey,
        ),
        (format!("{}{}", "[".repeat(1000), "]".repeat(1000)), Code::TooDeep),
        (" ".repeat(65_537), Code::TooLarge),
        ("[]".to_owned(), Code::WrongType),
        ("null".to_owned(), Code::WrongType),
    ] {
        assert_eq!(refusal(&bytes).0, code, "{bytes:.40}");
        if code != Code::WrongType {
            assert_eq!(Payload::meant(bytes.as_bytes()).unwrap_err().code, code);
        }
    }
}

#[test]
fn a_withdrawal_has_three_fields_and_no_other_version() {
    let id = payload().approval_id;
    let payload = WithdrawalPayload::new(id, WallMs(1_796_000_000_123)).unwrap();
    let bytes = payload.to_canonical();
    assert_eq!(Payload::meant(&bytes), Ok(Purpose::Withdrawal));
    assert_eq!(Payload::parse(&bytes, &rules()), Ok(Payload::Withdrawal(payload)));
    let bytes = String::from_utf8(bytes).unwrap();
    for (from, to, code) in [
        ("_version\":1", "_version\":2", Code::UnknownVersion),
        ("_version\":1", "_version\":\"1\"", Code::WrongType),
        ("\"withdrawn_at\"", "\"withdrawn_by\"", Code::UnknownField),
        (
            ",\"withdrawn_at\":\"2026-11-30T00:53:20.123Z\"",
            "",
            Code::MissingField,
        ),
        ("Z\"", "\"", Code::BadTime),
        ("{\"approval_id\":\"3b", "{\"approval_id\":\"3B", Code::BadUuid),
        ("{\"app", "{ \"app", Code::ApprovalNotCanonical),
    ] {
        let changed = bytes.replacen(from, to, 1);
        assert_ne!(changed, bytes, "{from}");
        assert_eq!(refusal(&changed).0, code, "{changed}");
    }
    assert!(WithdrawalPayload::new(id, WallMs(-1)).is_some());
}

proptest! {
    #[test]
    fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100), at in 0usize..700, byte: u8) {
        drop(Payload::parse(&bytes, &rules()));
        let mut changed = payload_text().into_bytes();
        let at = at % changed.len();
        changed[at] = byte;
        drop(Payload::parse(&changed, &rules()));
    }
}
