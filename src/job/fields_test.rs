//! The order of checks inside one object.

use super::*;
use crate::job::json::{DOCUMENT_BYTES_MAX, parse};

const SPECS: [FieldSpec; 4] = [
    ("version", FieldType::Int),
    ("name", FieldType::Text),
    ("items", FieldType::Array),
    ("more", FieldType::Object),
];

fn value(text: &str) -> Value {
    parse(text.as_bytes(), DOCUMENT_BYTES_MAX).unwrap()
}

fn said(result: Result<(), Refusal>) -> (Code, String) {
    let refusal = result.unwrap_err();
    assert!(!refusal.message.is_empty());
    (refusal.code, refusal.pointer)
}

#[test]
fn t06_t07_t08_unknown_comes_before_missing_comes_before_type() {
    for (text, code, pointer) in [
        (r#"{"z":1,"version":"1","a/b":2}"#, Code::UnknownField, "/z"),
        (r#"{"a/b":2,"version":"1","z":1}"#, Code::UnknownField, "/a~1b"),
        (r#"{"Version":1}"#, Code::UnknownField, "/Version"),
        (r#"{"version ":1}"#, Code::UnknownField, "/version "),
        (
            r#"{"more":1,"items":1,"version":"1"}"#,
            Code::MissingField,
            "/name",
        ),
        (r#"{}"#, Code::MissingField, "/version"),
        (
            r#"{"version":"1","name":1,"items":1,"more":1}"#,
            Code::WrongType,
            "/version",
        ),
        (
            r#"{"more":1,"items":1,"name":1,"version":1}"#,
            Code::WrongType,
            "/name",
        ),
        (
            r#"{"version":1,"name":"","items":{},"more":{}}"#,
            Code::WrongType,
            "/items",
        ),
        (
            r#"{"version":1,"name":"","items":[],"more":[]}"#,
            Code::WrongType,
            "/more",
        ),
        (
            r#"{"version":null,"name":"","items":[],"more":{}}"#,
            Code::WrongType,
            "/version",
        ),
        (
            r#"{"version":true,"name":"","items":[],"more":{}}"#,
            Code::WrongType,
            "/version",
        ),
        (
            r#"{"version":1.0,"name":"","items":[],"more":{}}"#,
            Code::WrongType,
            "/version",
        ),
    ] {
        let value = value(text);
        let fields = Fields::of(&value, "").unwrap();
        assert_eq!(said(fields.exactly(&SPECS)), (code, pointer.to_owned()), "{text}");
    }
    let value = value(r#"{"more":{},"items":[],"name":"","version":-3}"#);
    assert_eq!(Fields::of(&value, "").unwrap().exactly(&SPECS), Ok(()));
}

#[test]
fn pointers_begin_at_the_document() {
    let value = value(r#"{"a":"x","b":1}"#);
    let fields = Fields::of(&value, "/signatures/3").unwrap();
    assert_eq!(fields.uuid("a").unwrap_err().pointer, "/signatures/3/a");
    assert_eq!(fields.text("b").unwrap_err().pointer, "/signatures/3/b");
    assert_eq!(fields.text("c").unwrap_err().pointer, "/signatures/3/c");
    assert_eq!(
        fields.refuse(Code::BadHash, "x~y", "no").pointer,
        "/signatures/3/x~0y"
    );
    assert_eq!(
        Fields::of(&Value::Null, "/signatures/3").unwrap_err().pointer,
        "/signatures/3"
    );
    assert!(fields.has("b") && !fields.has("c"));
}

#[test]
fn t03_a_version_is_one_plain_integer() {
    for (text, code) in [
        (r#"{"v":2}"#, Code::UnknownVersion),
        (r#"{"v":0}"#, Code::UnknownVersion),
        (r#"{"v":-1}"#, Code::UnknownVersion),
        (r#"{"v":"1"}"#, Code::WrongType),
        (r#"{"v":1.0}"#, Code::WrongType),
        (r#"{"v":1e0}"#, Code::WrongType),
        (r#"{"v":true}"#, Code::WrongType),
        (r#"{"v":null}"#, Code::WrongType),
        (r#"{"v":[1]}"#, Code::WrongType),
        (r#"{"V":1}"#, Code::MissingField),
    ] {
        let value = value(text);
        let (found, pointer) = said(Fields::of(&value, "").unwrap().version("v", 1));
        assert_eq!((found, pointer.as_str()), (code, "/v"), "{text}");
    }
    assert_eq!(
        Fields::of(&value(r#"{"v":1,"w":2}"#), "")
            .unwrap()
            .version("v", 1),
        Ok(())
    );
}

#[test]
fn each_reader_names_field_code_and_what_is_due() {
    let value = value(r#"{"n":1,"t":"x","a":[]}"#);
    let fields = Fields::of(&value, "").unwrap();
    assert_eq!((fields.int("n"), fields.text("t")), (Ok(1), Ok("x")));
    assert_eq!(fields.array("a").map(<[Value]>::len), Ok(0));
    let refusals = [
        (fields.uuid("t").map(drop), Code::BadUuid, "version 4 UUID"),
        (fields.sha256("t").map(drop), Code::BadHash, "64 lower-case hex"),
        (fields.sha256_prefixed("t").map(drop), Code::BadHash, "`sha256:`"),
        (fields.commit("t").map(drop), Code::BadHash, "40 or 64"),
        (fields.nonce("t").map(drop), Code::BadHash, "64 lower-case hex"),
        (fields.time("t").map(drop), Code::BadTime, "2026-11-30T12:00:00Z"),
        (
            fields.int("t").map(drop),
            Code::WrongType,
            "an integer, found a string",
        ),
        (
            fields.array("t").map(drop),
            Code::WrongType,
            "an array, found a string",
        ),
        (
            fields.text("a").map(drop),
            Code::WrongType,
            "a string, found an array",
        ),
        (
            fields.uuid("n").map(drop),
            Code::WrongType,
            "a string, found an integer",
        ),
        (fields.time("none").map(drop), Code::MissingField, "add it"),
    ];
    for (result, code, due) in refusals {
        let refusal = result.unwrap_err();
        assert_eq!(refusal.code, code, "{refusal}");
        assert!(refusal.message.contains(due), "{refusal}");
    }
}
