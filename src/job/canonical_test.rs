//! The published examples, the worked examples of the contract, and what is read back.

use super::*;
use crate::job::json::parse;
use proptest::prelude::*;

fn value(text: &str) -> Value {
    parse(text.as_bytes(), DOCUMENT_BYTES_MAX).unwrap()
}

fn form(text: &str) -> String {
    String::from_utf8(canonical(&value(text))).unwrap()
}

/// RFC 8785 section 3.2.2 and its reference test data, numbers that no document of ours may hold left out.
#[test]
fn the_published_examples_come_out_as_published() {
    for (text, due) in [
        (
            r#"{"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
            r#"{"literals":[null,true,false],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
        ),
        (
            r#"[56, {"d": true, "10": null, "1": [ ]}]"#,
            r#"[56,{"1":[],"10":null,"d":true}]"#,
        ),
        (
            r#"{"peach": "This sorting order", "péché": "is wrong according to French",
                "pêche": "but canonicalization MUST", "sin": "ignore locale"}"#,
            concat!(
                r#"{"peach":"This sorting order","péché":"is wrong according to French","#,
                r#""pêche":"but canonicalization MUST","sin":"ignore locale"}"#
            ),
        ),
        (
            r#"{"1": {"f": {"f": "hi","F": 5} ,"\n": 56}, "10": { }, "": "empty", "a": { },
                "111": [ {"e": "yes","E": "no" } ], "A": { }}"#,
            concat!(
                r#"{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"#,
                r#""111":[{"E":"no","e":"yes"}],"A":{},"a":{}}"#
            ),
        ),
        (
            "{\"Unnormalized Unicode\":\"A\u{30a}\"}",
            "{\"Unnormalized Unicode\":\"A\u{30a}\"}",
        ),
    ] {
        assert_eq!(form(text), due);
    }
}

/// RFC 8785 section 3.2.3: by UTF-16 code units, so that a surrogate pair comes before U+FB33.
#[test]
fn keys_are_sorted_by_utf16_code_units() {
    let text = r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"}"#;
    let formed = value(&form(text));
    let order: Vec<&str> = formed
        .fields()
        .unwrap()
        .iter()
        .filter_map(|(_, value)| value.as_text())
        .collect();
    assert_eq!(
        order,
        [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small Letter O With Diaeresis",
            "Euro Sign",
            "Emoji: Grinning Face",
            "Hebrew Letter Dalet With Dagesh"
        ]
    );
}

#[test]
fn only_what_must_be_escaped_is_and_in_the_shortest_way() {
    let all: String = (0u8..0x80).map(char::from).collect();
    let written = String::from_utf8(canonical(&Value::Text(all.clone()))).unwrap();
    assert_eq!(value(&written), Value::Text(all));
    for (c, due) in [
        ('\0', r"\u0000"),
        ('\u{8}', r"\b"),
        ('\t', r"\t"),
        ('\n', r"\n"),
        ('\u{b}', r"\u000b"),
        ('\u{c}', r"\f"),
        ('\r', r"\r"),
        ('\u{1f}', r"\u001f"),
        ('"', r#"\""#),
        ('\\', r"\\"),
        ('/', "/"),
        ('\u{7f}', "\u{7f}"),
        ('\u{2028}', "\u{2028}"),
        ('<', "<"),
        ('😀', "😀"),
    ] {
        let written = String::from_utf8(canonical(&Value::Text(c.to_string()))).unwrap();
        assert_eq!(written, format!("\"{due}\""));
    }
}

#[test]
fn integers_are_plain_and_other_numbers_stay_as_they_were_written() {
    for (text, due) in [
        (
            "[0, -1, 9007199254740991, -9007199254740991]",
            "[0,-1,9007199254740991,-9007199254740991]",
        ),
        (
            "[1.0, 1e0, 10e-1, -0, 9007199254740993]",
            "[1.0,1e0,10e-1,-0,9007199254740993]",
        ),
    ] {
        assert_eq!(form(text), due);
    }
}

#[test]
fn t27_a_documents_digest_is_of_its_form_and_of_its_bytes_only_if_it_is_none() {
    let one = document_digest(br#"{"a":1,"b":[true]}"#);
    assert_eq!(one, sha256(br#"{"a":1,"b":[true]}"#));
    for same in [
        "{\"b\":[true],\"a\":1}",
        " {\"a\" : 1,\n\"b\":[ true ]}\r\n",
        "{\"\\u0061\":1,\"b\":[true]}\n",
    ] {
        assert_eq!(document_digest(same.as_bytes()), one, "{same}");
    }
    for other in [
        "{\"a\":1,\"b\":[false]}",
        "{\"a\":\"1\",\"b\":[true]}",
        "{\"a\":1.0,\"b\":[true]}",
    ] {
        assert_ne!(document_digest(other.as_bytes()), one, "{other}");
    }
    for raw in ["", "{", "{\"a\":1,\"a\":1}", "{ \"a\": 1.0 }", "\u{feff}{}"] {
        assert_eq!(document_digest(raw.as_bytes()), sha256(raw.as_bytes()), "{raw}");
        assert_ne!(
            document_digest(raw.as_bytes()),
            document_digest(format!("{raw} ").as_bytes()),
            "{raw}"
        );
    }
}

#[test]
fn the_worked_examples_of_provenance_and_approval_come_out() {
    let provenance = value(include_str!("../../tests/vectors/provenance.json"));
    let Value::Array(examples) = &provenance else {
        panic!("not a list")
    };
    assert_eq!(examples.len(), 3);
    for example in examples {
        let mut bytes = b"lockgate-provenance-v1\n".to_vec();
        bytes.extend(canonical(example.get("input").unwrap()));
        assert_eq!(
            Some(bytes.as_slice()),
            example.get("preimage_utf8").unwrap().as_text().map(str::as_bytes)
        );
        assert_eq!(
            Some(sha256(&bytes).to_string().as_str()),
            example.get("provenance_hash").unwrap().as_text()
        );
    }
    let approval = value(include_str!("../../tests/vectors/approval.json"));
    let signed = canonical(approval.get("payload").unwrap());
    assert_eq!(
        Some(signed.as_slice()),
        approval
            .get("signed_bytes_utf8")
            .unwrap()
            .as_text()
            .map(str::as_bytes)
    );
    assert_eq!(
        Some(sha256(&signed).to_string().as_str()),
        approval.get("signed_bytes_sha256").unwrap().as_text()
    );
}

/// Any document within the limits, keys of an object all different.
fn documents() -> impl Strategy<Value = Value> {
    const EXACT: i64 = 9_007_199_254_740_991;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-EXACT..=EXACT).prop_map(Value::Int),
        any::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .rev()
                .map(|(key, value)| (key.clone(), reversed(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => value.clone(),
    }
}

proptest! {
    #[test]
    fn the_form_is_read_back_and_is_its_own_form(value in documents()) {
        let bytes = canonical(&value);
        let back = parse(&bytes, usize::MAX).unwrap();
        prop_assert_eq!(&canonical(&back), &bytes);
        prop_assert_eq!(canonical(&reversed(&value)), bytes.clone());
        // Another reader sees the same document.
        let ours: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let pretty = serde_json::to_vec_pretty(&ours).unwrap();
        prop_assert_eq!(canonical(&parse(&pretty, usize::MAX).unwrap()), bytes);
    }
}
