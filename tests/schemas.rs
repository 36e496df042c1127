//! Holds schema/*.schema.json and the readers together. In: one valid document of each sort and everything we know to spoil
//! it with. Out: both judge alike; where a schema cannot know better it is the looser one, and the rule is listed here.
//!
//! Not here: which code a document is refused with (src/job, src/approval).

#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

use base64::Engine as _;
use jsonschema::Validator;
use lockgate::approval::{Envelope, Payload};
use lockgate::clock::WallMs;
use lockgate::job::document::{DocumentRules, parse_job};
use lockgate::job::{Code, Receipt, ReceiptState, Role, State, canonical, json, parse_cancel};
use serde_json::{Value, json};

/// One sort of document: its schema, a valid one, and the reader.
struct Sort {
    name: &'static str,
    valid: Value,
    reads: fn(&Value) -> bool,
}

fn schema(name: &str) -> Value {
    let path = format!("{}/schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn validator(name: &str) -> Validator {
    jsonschema::draft202012::new(&schema(name)).unwrap()
}

fn rules() -> DocumentRules {
    DocumentRules {
        vault_root: "/app/vault/".to_owned(),
        object_id_is_path: false,
    }
}

fn bytes(document: &Value) -> Vec<u8> {
    document.to_string().into_bytes()
}

fn reads_job(document: &Value) -> bool {
    json::parse(&bytes(document), json::DOCUMENT_BYTES_MAX)
        .and_then(|value| parse_job(&value, &rules(), Role::Gateway))
        .is_ok()
}

fn reads_payload(document: &Value) -> bool {
    json::parse(&bytes(document), json::DOCUMENT_BYTES_MAX)
        .and_then(|value| Payload::parse(&canonical(&value), &rules()))
        .is_ok()
}

fn reads_envelope(document: &Value) -> bool {
    Envelope::parse(&bytes(document)).is_ok()
}

fn reads_cancel(document: &Value) -> bool {
    json::parse(&bytes(document), json::DOCUMENT_BYTES_MAX)
        .and_then(|value| parse_cancel(&value))
        .is_ok()
}

const ID: &str = "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001";

fn save() -> Value {
    json!({
        "job_version": 1, "job_id": ID, "mission_id": ID, "job_type": "C5_SAVE_OBJECT", "object_id": "notes/a.md",
        "vault_path": "/app/vault/notes/a.md", "source_commit": "1f".repeat(20), "provenance_hash": "dd".repeat(32),
        "expected_state": format!("sha256:{}", "6f".repeat(32)), "created_at": "2026-11-30T12:00:00Z",
        "idempotency_key": ID,
    })
}

fn delete() -> Value {
    json!({
        "job_version": 1, "job_id": ID, "mission_id": ID, "delete_request_id": ID, "job_type": "C5_DELETE_OBJECT",
        "object_id": "notes/a.md", "vault_path": "/app/vault/notes/a.md", "expected_commit": "1f".repeat(32),
        "expected_provenance_hash": "dd".repeat(32), "approval_id": ID, "created_at": "2026-11-30T12:00:00.5Z",
        "idempotency_key": ID,
    })
}

fn sorts() -> Vec<Sort> {
    let vector: Value = serde_json::from_str(include_str!("vectors/approval.json")).unwrap();
    let withdrawal =
        json!({"withdrawal_version": 1, "approval_id": ID, "withdrawn_at": "2026-11-30T12:00:00Z"});
    vec![
        Sort {
            name: "save-job",
            valid: save(),
            reads: reads_job,
        },
        Sort {
            name: "delete-job",
            valid: delete(),
            reads: reads_job,
        },
        Sort {
            name: "approval-payload",
            valid: vector["payload"].clone(),
            reads: reads_payload,
        },
        Sort {
            name: "withdrawal-payload",
            valid: withdrawal,
            reads: reads_payload,
        },
        Sort {
            name: "approval-envelope",
            valid: vector["envelope"].clone(),
            reads: reads_envelope,
        },
        Sort {
            name: "cancel",
            valid: json!({"cancel_version": 1, "job_id": ID}),
            reads: reads_cancel,
        },
    ]
}

/// Values that are wrong in most fields and right in some: both judges must say which.
fn values(right: &Value) -> Vec<Value> {
    let mut all = vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("x"),
        json!("1"),
        json!([]),
        json!({}),
        json!([right]),
        json!({"a": right}),
    ];
    #[rustfmt::skip]
    let texts = [
        "6F0C2E9E-9A51-4A0F-9D0B-5D5D5D5D0001", "6f0c2e9e-9a51-1a0f-9d0b-5d5d5d5d0001", "6f0c2e9e9a514a0f9d0b5d5d5d5d0001",
        "6f0c2e9e-9a51-4a0f-7d0b-5d5d5d5d0001", "00000000-0000-0000-0000-000000000000", "c5_save_object", "C5_SAVE_OBJECT ",
        "delete", "2026-11-30T12:00:00.123Z", "2026-11-30T12:00:00.1234Z", "2026-11-30T12:00:00.Z", "2026-11-30T12:00:00+00:00",
        "2026-11-30T12:00:00", "2026-11-31T12:00:00Z", "2026-02-30T12:00:00Z", "2024-02-29T12:00:00Z", "2026-12-31T23:59:60Z",
        "2026-11-30T24:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "10000-01-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01t00:00:00z",
        "/app/vault/a", "/app/vault/ä/日本.md", "/app/vault/👨‍👩‍👧 ❤️.md", "/app/vault/a b/100% done.md", "/app/vault/foo... bar", "/app/vault/a//b",
        "/app/vault/a/", "/app/vault/../x", "/app/vault/./x", "/app/vault/.git/config", "/app/vault/a\\b", "/app/vault/%2e%2e/x",
        "/app/vault/ a", "/app/vault/a ", "/app/vault/a /b", "/app/vault/\u{3000}a", "/app/vault/a\nb", "/app/vault/a\u{0}", "/app/vault/a\u{85}b",
        "/app/vault/a\u{202e}b", "/app/vault/a\u{ad}b", "/app/vault/a\u{200b}b", "/app/vault/a\u{2028}b", "/app/vault/\u{feff}a",
        "app/vault/a", "C:\\app\\vault\\a", "QQ==", "QR==", "QQ=", "QUI=", "QUJD", "Q", "QU JD", "QUJD\n", "QUJ_",
        "SHA256:+VaDCyzPI3hoebRbSJxvAJu93YOzgF788KHYYFZz8mQ", "SHA256:+VaDCyzPI3hoebRbSJxvAJu93YOzgF788KHYYFZz8mR",
        "SHA256:+VaDCyzPI3hoebRbSJxvAJu93YOzgF788KHYYFZz8mQ=", "sshsig", "ed25519", "SSHSIG",
    ];
    all.extend(texts.map(Value::from));
    for count in [39, 40, 41, 63, 64, 65] {
        all.push(json!("a".repeat(count)));
        all.push(json!("A".repeat(count)));
        all.push(json!(format!("sha256:{}", "0".repeat(count))));
    }
    all.push(json!("a".repeat(256)));
    all.push(json!("a".repeat(257)));
    all.push(json!(format!("/app/vault/{}", "a/".repeat(520))));
    if let Some(text) = right.as_str() {
        let chars: Vec<char> = text.chars().collect();
        let with = |at: usize, c: &str| -> String {
            chars
                .iter()
                .enumerate()
                .map(|(i, old)| if i == at { c.to_owned() } else { old.to_string() })
                .collect()
        };
        for at in 0..chars.len().min(80) {
            all.extend(["g", "G", "0", "-", "", "é", "\n"].map(|c| json!(with(at, c))));
        }
        all.extend([" ", "\n", "0", "Z", "\u{0}"].map(|tail| json!(format!("{text}{tail}"))));
        all.extend([" ", "\n", "0", "\u{feff}"].map(|head| json!(format!("{head}{text}"))));
    }
    all
}

/// Every document that differs from `valid` in one field, wherever that field is, or has one too many or too few.
fn spoilt(valid: &Value) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    match valid {
        Value::Object(fields) => {
            for (name, right) in fields {
                let mut missing = valid.clone();
                missing.as_object_mut().unwrap().remove(name);
                all.push(missing);
                let mut renamed = valid.clone();
                let value = renamed.as_object_mut().unwrap().remove(name).unwrap();
                renamed[name.to_uppercase()] = value;
                all.push(renamed);
                for inner in spoilt(right).into_iter().chain(values(right)) {
                    let mut other = valid.clone();
                    other[name] = inner;
                    all.push(other);
                }
            }
            for (name, value) in [
                ("x", json!(1)),
                ("", json!(null)),
                ("approval", json!({})),
                ("key_id", json!("x")),
            ] {
                if valid.get(name).is_none() {
                    let mut more = valid.clone();
                    more[name] = value;
                    all.push(more);
                }
            }
        }
        Value::Array(items) => {
            for (at, right) in items.iter().enumerate() {
                for inner in spoilt(right)
                    .into_iter()
                    .chain([json!(null), json!("x"), json!([]), json!({})])
                {
                    let mut other = valid.clone();
                    other[at] = inner;
                    all.push(other);
                }
            }
            for count in [1, 16, 17] {
                all.push(json!(items.iter().cycle().take(count).collect::<Vec<_>>()));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    all
}

#[test]
fn schemas_are_schemas_and_close_every_object() {
    fn closed(value: &Value) {
        if let Some(object) = value.as_object() {
            if object.contains_key("properties") {
                assert_eq!(object["additionalProperties"], false);
            }
            object.values().for_each(closed);
        }
        if let Some(items) = value.as_array() {
            items.iter().for_each(closed);
        }
    }
    for sort in sorts() {
        let schema = schema(sort.name);
        assert!(jsonschema::draft202012::meta::is_valid(&schema), "{}", sort.name);
        assert_eq!(schema["$id"], format!("urn:lockgate:schema:{}:1", sort.name));
        closed(&schema);
    }
    assert!(jsonschema::draft202012::meta::is_valid(&schema("receipt")));
    closed(&schema("receipt"));
}

/// What one schema does not know, by the field and the text that shows it.
fn beyond_the_schema(document: &Value) -> Option<&'static str> {
    let text = |name: &str| {
        document
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let path = text("vault_path");
    if path.starts_with('/') && !path.starts_with("/app/vault/") {
        return Some("vault.root is the installation's");
    }
    ["created_at", "issued_at", "expires_at", "withdrawn_at"]
        .iter()
        .any(|name| text(name).contains("-02-29"))
        .then_some("29 February in leap years only")
}

#[test]
fn t06_t07_t08_t12_t13_t14_schema_and_reader_judge_alike() {
    for sort in sorts() {
        let validator = validator(sort.name);
        assert!(
            validator.is_valid(&sort.valid) && (sort.reads)(&sort.valid),
            "{}",
            sort.name
        );
        let documents = spoilt(&sort.valid);
        let mut good = 0;
        for document in &documents {
            let (by_schema, by_reader) = (validator.is_valid(document), (sort.reads)(document));
            good += usize::from(by_reader);
            let looser = by_schema && !by_reader && beyond_the_schema(document).is_some();
            assert!(
                by_schema == by_reader || looser,
                "{}: schema {by_schema}, reader {by_reader}: {document}",
                sort.name
            );
        }
        assert!(
            good > 0 && good + 100 < documents.len(),
            "{}: {good} of {} are good",
            sort.name,
            documents.len()
        );
    }
    for other in [
        json!([]),
        json!(null),
        json!(1),
        json!("x"),
        json!({}),
        json!([save()]),
    ] {
        for sort in sorts() {
            assert!(
                !validator(sort.name).is_valid(&other) && !(sort.reads)(&other),
                "{}: {other}",
                sort.name
            );
        }
    }
}

/// The rules that no schema can say, one example each: the schema accepts, the reader does not.
#[test]
fn t18_what_only_the_reader_knows_is_on_this_list() {
    let schema = validator("save-job");
    let wide = format!("/app/vault/{}", "é".repeat(200));
    let deep = format!("/app/vault/{}", vec!["a"; 33].join("/"));
    for (rule, name, value) in [
        ("numbers are written as plain integers", "job_version", json!(1.0)),
        ("a date exists", "created_at", json!("2026-02-29T12:00:00Z")),
        (
            "object ids are counted in bytes",
            "object_id",
            json!("é".repeat(200)),
        ),
        ("object ids are NFC", "object_id", json!("e\u{301}")),
        ("paths are below vault.root", "vault_path", json!("/etc/passwd")),
        ("components are counted in bytes", "vault_path", json!(wide)),
        (
            "components are counted below vault.root",
            "vault_path",
            json!(deep),
        ),
        ("paths are NFC", "vault_path", json!("/app/vault/e\u{301}")),
        (
            "the NFKC form follows the rules",
            "vault_path",
            json!("/app/vault/\u{ff0e}\u{ff0e}/x"),
        ),
        (
            "joiners stand between emoji",
            "vault_path",
            json!("/app/vault/a\u{200d}b"),
        ),
        (
            "selectors follow emoji",
            "vault_path",
            json!("/app/vault/a\u{fe0f}"),
        ),
        (
            "tags stand in flags",
            "vault_path",
            json!("/app/vault/a\u{e0041}"),
        ),
    ] {
        let mut document = save();
        document[name] = value;
        assert!(schema.is_valid(&document), "the schema knows it: {rule}");
        assert!(!reads_job(&document), "the reader accepts it: {rule}");
    }
    let twice = save().to_string().replacen('{', "{\"job_version\":1,", 1);
    assert!(schema.is_valid(&serde_json::from_str(&twice).unwrap()));
    assert!(json::parse(twice.as_bytes(), json::DOCUMENT_BYTES_MAX).is_err());
}

#[test]
fn the_envelopes_of_signed_payloads_fit_their_schemas() {
    let envelope = sorts()
        .into_iter()
        .find(|sort| sort.name == "approval-envelope")
        .unwrap()
        .valid;
    let payload = base64::engine::general_purpose::STANDARD
        .decode(envelope["payload_b64"].as_str().unwrap())
        .unwrap();
    assert!(validator("approval-payload").is_valid(&serde_json::from_slice(&payload).unwrap()));
    assert!(!validator("withdrawal-payload").is_valid(&serde_json::from_slice(&payload).unwrap()));
}

#[test]
fn every_receipt_fits_its_schema_and_nothing_else_does() {
    let validator = validator("receipt");
    let value = json::parse(&bytes(&save()), json::DOCUMENT_BYTES_MAX).unwrap();
    let job = parse_job(&value, &rules(), Role::Save).unwrap();
    let mut receipts = vec![Receipt::created(&job, WallMs(0))];
    receipts.extend(
        State::ALL.map(|state| Receipt::of(&job, ReceiptState::Admitted(state), WallMs(1_796_040_000_123))),
    );
    let first = Code::ALL
        .iter()
        .position(|code| *code == Code::CommitNotOnRef)
        .unwrap();
    for code in &Code::ALL[first..] {
        receipts.push(Receipt {
            code: Some(*code),
            detail: Some("word".to_owned()),
            attempt: 8,
            settled_at: Some(WallMs(i64::MAX)),
            ..Receipt::of(&job, ReceiptState::Admitted(State::Failed), WallMs(0))
        });
    }
    assert!(!validator.is_valid(&json!(["receipt"])));
    let known = schema("receipt")["properties"]["code"]["enum"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(
        known,
        Code::ALL.len() - first + 1,
        "every code that settles a job, and null"
    );
    for receipt in receipts {
        let receipt = serde_json::to_value(&receipt).unwrap();
        assert!(validator.is_valid(&receipt), "{receipt}");
        for name in receipt.as_object().unwrap().keys() {
            let mut other = receipt.clone();
            other.as_object_mut().unwrap().remove(name);
            assert!(!validator.is_valid(&other), "without {name}");
            other[name] = json!(["x"]);
            assert!(!validator.is_valid(&other), "{name} is a list");
            other[name] = json!("x");
            let free = ["object_id", "vault_path", "detail", "message"].contains(&name.as_str());
            assert_eq!(validator.is_valid(&other), free, "{name} is a word");
        }
    }
    for (name, value) in [
        ("state", json!("QUEUED")),
        ("state", json!("ready")),
        ("code", json!("malformed_json")),
        ("code", json!("")),
        ("attempt", json!(-1)),
        ("attempt", json!("1")),
        ("updated_at", json!("2026-11-30T12:00:00Z")),
        ("settled_at", json!(1)),
        ("digest", json!("")),
        ("job_type", json!("SAVE")),
        ("extra", json!(1)),
    ] {
        let mut other = serde_json::to_value(Receipt::created(&job, WallMs(0))).unwrap();
        other[name] = value;
        assert!(!validator.is_valid(&other), "{other}");
    }
}
