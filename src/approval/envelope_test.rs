//! Envelopes: their shape, and that nothing else passes for one.

use super::super::test_support::{signed_by, vector};
use super::*;
use proptest::prelude::*;

const ARMOUR: &str = "-----BEGIN SSH SIGNATURE-----";
const KEY_ID: &str = "SHA256:+VaDCyzPI3hoebRbSJxvAJu93YOzgF788KHYYFZz8mQ";

fn refusal(json: &str) -> (Code, String) {
    let refusal = Envelope::parse(json.as_bytes()).expect_err(json);
    (refusal.code, refusal.pointer)
}

fn sshsig() -> String {
    format!("{{\"scheme\":\"sshsig\",\"signature\":\"{ARMOUR}\"}}")
}

fn with_signature(signature: &str) -> String {
    format!("{{\"payload_b64\":\"e30=\",\"signatures\":[{signature}]}}")
}

#[test]
fn the_vectors_envelope_is_read_and_written_back() {
    let value = vector();
    let value = value.get("envelope").unwrap();
    let envelope = Envelope::from_value(value).unwrap();
    assert_eq!(envelope.to_canonical(), canonical(value));
    assert_eq!(Envelope::parse(&envelope.to_canonical()), Ok(envelope.clone()));
    assert_eq!(
        envelope
            .signatures()
            .iter()
            .map(EnvelopeSignature::scheme)
            .collect::<Vec<_>>(),
        ["sshsig", "ed25519"]
    );
    for signature in envelope.signatures() {
        assert_eq!(
            EnvelopeSignature::parse_text(&signature.to_text()).as_ref(),
            Ok(signature)
        );
    }
    assert!(Envelope::is_meant(value));
    assert!(!Envelope::is_meant(&Value::Object(Vec::new())));
}

#[test]
fn every_departure_of_the_whole_from_its_shape_is_refused_by_name() {
    let sshsig = sshsig();
    assert!(Envelope::parse(with_signature(&sshsig).as_bytes()).is_ok());
    let many = vec![sshsig.as_str(); 17].join(",");
    assert!(Envelope::parse(with_signature(&many[..many.len() - sshsig.len() - 1]).as_bytes()).is_ok());
    for (json, code, pointer) in [
        ("[]".to_owned(), Code::WrongType, ""),
        ("{}".to_owned(), Code::MissingField, "/payload_b64"),
        (
            "{\"payload_b64\":\"e30=\"}".to_owned(),
            Code::MissingField,
            "/signatures",
        ),
        (
            "{\"payload_b64\":\"e30=\",\"signatures\":{}}".to_owned(),
            Code::WrongType,
            "/signatures",
        ),
        (
            "{\"payload_b64\":1,\"signatures\":[]}".to_owned(),
            Code::WrongType,
            "/payload_b64",
        ),
        (
            "{\"payload_b64\":1,\"signatures\":[],\"x\":1}".to_owned(),
            Code::UnknownField,
            "/x",
        ),
        (with_signature(""), Code::SignatureInvalid, "/signatures"),
        (with_signature(&many), Code::TooLarge, "/signatures"),
    ] {
        assert_eq!(refusal(&json), (code, pointer.to_owned()), "{json}");
    }
}

#[test]
fn every_departure_of_a_signature_from_its_shape_is_refused_by_name() {
    for (json, code, pointer) in [
        (with_signature("1"), Code::WrongType, "/signatures/0"),
        (
            with_signature(&format!("{},null", sshsig())),
            Code::WrongType,
            "/signatures/1",
        ),
        (with_signature("{}"), Code::MissingField, "/signatures/0/scheme"),
        (
            with_signature("{\"scheme\":\"sshsig\"}"),
            Code::MissingField,
            "/signatures/0/signature",
        ),
        (
            with_signature("{\"scheme\":\"ed25519\",\"signature\":\"\"}"),
            Code::MissingField,
            "/signatures/0/key_id",
        ),
        (
            with_signature("{\"scheme\":\"sshsig\",\"signature\":\"\",\"key_id\":\"\"}"),
            Code::UnknownField,
            "/signatures/0/key_id",
        ),
        (
            with_signature("{\"scheme\":\"sshsig\",\"signature\":\"\",\"note\":\"\"}"),
            Code::UnknownField,
            "/signatures/0/note",
        ),
        (
            with_signature("{\"scheme\":1,\"signature\":\"\"}"),
            Code::WrongType,
            "/signatures/0/scheme",
        ),
        (
            with_signature("{\"scheme\":\"sshsig\",\"signature\":null}"),
            Code::WrongType,
            "/signatures/0/signature",
        ),
        (
            with_signature("{\"scheme\":\"SSHSIG\",\"signature\":\"\",\"key_id\":\"\"}"),
            Code::SignatureInvalid,
            "/signatures/0/scheme",
        ),
        (
            with_signature("{\"scheme\":\"ed25519\",\"signature\":\"\",\"key_id\":\"SHA256:x\"}"),
            Code::KeyUnknown,
            "/signatures/0/key_id",
        ),
    ] {
        assert_eq!(refusal(&json), (code, pointer.to_owned()), "{json}");
    }
    let named = with_signature(&format!(
        "{{\"scheme\":\"ed25519\",\"signature\":\"\",\"key_id\":\"{KEY_ID}\"}}"
    ));
    assert!(Envelope::parse(named.as_bytes()).is_ok());
}

#[test]
fn t34_payloads_in_any_other_base64_are_refused() {
    for payload in ["e30", "e30==", "e31=", "e3 0=", "e30=\\n", "e-0=", "%7B%7D"] {
        let json = format!(
            "{{\"payload_b64\":\"{payload}\",\"signatures\":[{{\"scheme\":\"sshsig\",\"signature\":\"\"}}]}}"
        );
        assert_eq!(
            refusal(&json),
            (Code::ApprovalNotCanonical, "/payload_b64".to_owned()),
            "{payload}"
        );
    }
}

#[test]
fn signatures_are_added_once_and_up_to_sixteen() {
    let mut envelope = signed_by(&[], b"{}");
    for seed in 1..=16 {
        for _twice in 0..2 {
            envelope
                .add(signed_by(&[seed], b"{}").signatures()[0].clone())
                .unwrap();
        }
    }
    assert_eq!(envelope.signatures().len(), 16);
    let refused = envelope.add(signed_by(&[17], b"{}").signatures()[0].clone());
    assert_eq!(refused.unwrap_err().code, Code::TooLarge);
}

proptest! {
    #[test]
    fn parsing_never_panics(text in ".{0,100}", name in "[a-z_]{0,12}", value in "[a-z0-9\\[\\]{}\",:]{0,20}") {
        drop(Envelope::parse(text.as_bytes()));
        drop(EnvelopeSignature::parse_text(&text));
        drop(Envelope::parse(with_signature(&format!("{{\"{name}\":{value}}}")).as_bytes()));
        let _known: Option<Fingerprint> = Fingerprint::parse(&text);
    }
}
