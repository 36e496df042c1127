//! What a document is, and the smallest of them.

use super::*;
use crate::job::Code;
use crate::job::json::{DOCUMENT_BYTES_MAX, parse};

const ID: &str = "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001";

fn value(text: &str) -> Value {
    parse(text.replace("ID", ID).as_bytes(), DOCUMENT_BYTES_MAX).unwrap()
}

#[test]
fn a_documents_shape_is_told_by_its_version_key() {
    for (text, due) in [
        (r#"{"job_version":1}"#, Shape::Job),
        (r#"{"job_version":null}"#, Shape::Job),
        (r#"{"payload_b64":""}"#, Shape::Envelope),
        (r#"{"cancel_version":2}"#, Shape::Cancel),
        (
            r#"{"cancel_version":1,"job_version":1,"payload_b64":""}"#,
            Shape::Job,
        ),
        (r#"{"cancel_version":1,"payload_b64":""}"#, Shape::Envelope),
        (r#"{"job_type":"C5_SAVE_OBJECT"}"#, Shape::Job),
        (r#"{"job_type":"x","signatures":[]}"#, Shape::Job),
        (r#"{"signatures":[]}"#, Shape::Envelope),
        (r#"{"approval_version":1}"#, Shape::Envelope),
        (r#"{"withdrawal_version":1}"#, Shape::Envelope),
        (r#"{"job_id":"ID"}"#, Shape::Cancel),
        (r#"{"job_id":"ID","mission_id":"ID"}"#, Shape::Job),
        (r#"{"Job_version":1}"#, Shape::Job),
        ("{}", Shape::Job),
    ] {
        assert_eq!(shape(&value(text)), Ok(due), "{text}");
    }
    for text in ["[]", "1", "\"{}\"", "null", "true"] {
        let refusal = shape(&value(text)).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.pointer.as_str()),
            (Code::WrongType, ""),
            "{text}"
        );
    }
}

#[test]
fn t03_t06_t07_t08_t12_a_cancel_is_two_fields_exactly() {
    let good = parse_cancel(&value(r#"{"job_id":"ID","cancel_version":1}"#)).unwrap();
    assert_eq!(good.job_id.to_string(), ID);
    for (text, code, pointer) in [
        (
            r#"{"cancel_version":2,"job_id":1,"x":1}"#,
            Code::UnknownVersion,
            "/cancel_version",
        ),
        (
            r#"{"cancel_version":"1","job_id":"ID"}"#,
            Code::WrongType,
            "/cancel_version",
        ),
        (
            r#"{"cancel_version":1.0,"job_id":"ID"}"#,
            Code::WrongType,
            "/cancel_version",
        ),
        (r#"{"job_id":"ID"}"#, Code::MissingField, "/cancel_version"),
        (
            r#"{"cancel_version":1,"reason":"x"}"#,
            Code::UnknownField,
            "/reason",
        ),
        (r#"{"cancel_version":1}"#, Code::MissingField, "/job_id"),
        (
            r#"{"cancel_version":1,"job_id":null}"#,
            Code::WrongType,
            "/job_id",
        ),
        (
            r#"{"cancel_version":1,"job_id":["ID"]}"#,
            Code::WrongType,
            "/job_id",
        ),
        (r#"{"cancel_version":1,"job_id":"ID "}"#, Code::BadUuid, "/job_id"),
        (r#"{"cancel_version":1,"job_id":""}"#, Code::BadUuid, "/job_id"),
    ] {
        let refusal = parse_cancel(&value(text)).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.pointer.as_str()),
            (code, pointer),
            "{text}"
        );
    }
}
