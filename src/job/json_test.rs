//! What is JSON, how deep, how large, and no key twice.

use super::*;
use proptest::prelude::*;

fn code(text: &str) -> Code {
    parse(text.as_bytes(), DOCUMENT_BYTES_MAX).unwrap_err().code
}

fn read(text: &str) -> Value {
    parse(text.as_bytes(), DOCUMENT_BYTES_MAX).unwrap()
}

#[test]
fn t09_truncated_empty_and_broken_documents_are_malformed() {
    #[rustfmt::skip]
    let cases = [
        "", " ", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "[1,]", "{,}", "{\"a\":1,}",
        "[1 2]", "{} {}", "{}x", "nul", "tru", "falsey", "01", "-", "-a", "1.", "1.e1", "1e", "1e+", ".5",
        "+1", "NaN", "Infinity", "'a'", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"",
        "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800\\ud800\"", "\"\t\"", "\"\n\"", "{1:2}", "{a:1}",
        "[}", "{]", "//", "{}\0", "\0{}", "\"\0\"", "{\"a\":1]", "[1}", "\u{a0}{}", "-01", "00", "1_000",
        "0x10", "{\"a\" 1}", "[,1]", "\"\\", "\"\\u", "{\"a\":1}{", "[1],", "/**/{}", "{\"a\":undefined}",
        "\u{feff}{}", "{}\u{feff}", "\u{2028}{}", "\u{b}{}", "True", "NULL", "{\"a\":1;}", "\"\\U0041\"",
        "\"\\u+041\"", "--1", "1e1.5", "[\"a\":1]",
    ];
    for text in cases {
        assert_eq!(code(text), Code::MalformedJson, "{text:?}");
    }
    for bytes in [
        &b"\xff"[..],
        b"{\"a\":\"\xc3\"}",
        b"\xc0\xaf",
        b"\"\xed\xa0\x80\"",
        b"{}\xff",
        b"\xff\xfe{\0}\0",
    ] {
        let refusal = parse(bytes, DOCUMENT_BYTES_MAX).unwrap_err();
        assert_eq!(refusal.code, Code::MalformedJson, "{bytes:?}");
        assert!(refusal.message.contains("UTF-8"), "{}", refusal.message);
    }
}

#[test]
fn t09_every_prefix_of_a_document_is_malformed() {
    let text = "{\"a\":[1,{\"b\":\"\\u00e9\\n😀\"},null],\"c\":-1.5e+3}";
    for (cut, _) in text.char_indices() {
        assert_eq!(code(&text[..cut]), Code::MalformedJson, "{cut}");
    }
    assert!(parse(text.as_bytes(), text.len()).is_ok());
}

#[test]
fn t20_a_bare_control_character_stands_in_no_string() {
    for c in (0u8..0x20).map(char::from) {
        assert_eq!(code(&format!("\"a{c}\"")), Code::MalformedJson, "{c:?}");
    }
    assert_eq!(read("\"\u{20}\u{7f}\""), Value::Text("\u{20}\u{7f}".to_owned()));
}

#[test]
fn a_malformed_document_is_told_where() {
    for (text, due) in [
        (
            "{\"a\":nul}",
            "not valid JSON at byte 6: expected null, true or false",
        ),
        (
            "{\"a\":1",
            "not valid JSON at byte 6: it ends where a comma or the end of the array or object is due",
        ),
        ("{} x", "not valid JSON at byte 3: something follows the document"),
        (
            "\u{feff}{}",
            "not valid JSON at byte 0: a byte order mark; write plain UTF-8",
        ),
    ] {
        let refusal = parse(text.as_bytes(), 100).unwrap_err();
        assert_eq!((refusal.message.as_str(), refusal.pointer.as_str()), (due, ""));
    }
}

#[test]
fn values_are_read_as_they_are_written() {
    let text = " { \"a\" : [ null , true , false , 0 , -7 , \"\" ] ,\t\"b\":{},\r\n\"c\":[]} \n";
    let items = vec![
        Value::Null,
        Value::Bool(true),
        Value::Bool(false),
        Value::Int(0),
        Value::Int(-7),
        Value::Text(String::new()),
    ];
    let due = Value::Object(vec![
        ("a".to_owned(), Value::Array(items)),
        ("b".to_owned(), Value::Object(Vec::new())),
        ("c".to_owned(), Value::Array(Vec::new())),
    ]);
    assert_eq!(read(text), due);
    assert_eq!(due.get("b"), Some(&Value::Object(Vec::new())));
    assert_eq!(due.get("d"), None);
    let escapes = r#""\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00\u0000""#;
    assert_eq!(
        read(escapes),
        Value::Text("\"\\/\u{8}\u{c}\n\r\tAé€😀\0".to_owned())
    );
}

#[test]
fn a06_only_plain_integers_that_every_reader_keeps_are_integers() {
    for (text, n) in [("0", 0), ("-1", -1), ("9007199254740991", 9_007_199_254_740_991)] {
        assert_eq!(read(text), Value::Int(n));
    }
    #[rustfmt::skip]
    let cases = [
        "-0", "1.0", "1e0", "1E2", "0.5", "1e400", "9007199254740992", "-9007199254740992",
        "18446744073709551616", "-1.0e-5",
    ];
    for text in cases {
        assert_eq!(read(text), Value::Float(text.to_owned()));
        assert!(read(&format!("[{{\"a\":{text}}}]")).has_float());
    }
    assert!(!read("[{\"a\":1},\"1.5\",null,true]").has_float());
}

#[test]
fn t09_nesting_beyond_sixteen_levels_is_refused_at_any_size() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(parse(nested(16).as_bytes(), DOCUMENT_BYTES_MAX).is_ok());
    for levels in [17, 1000, DOCUMENT_BYTES_MAX / 2] {
        assert_eq!(code(&nested(levels)), Code::TooDeep, "{levels}");
    }
    let objects = |levels: usize| "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels);
    assert!(parse(objects(16).as_bytes(), DOCUMENT_BYTES_MAX).is_ok());
    assert_eq!(code(&objects(17)), Code::TooDeep);
    // Broken JSON comes first, however deep it is.
    assert_eq!(code(&"[".repeat(1000)), Code::MalformedJson);
    assert_eq!(code(&(nested(1000) + "]")), Code::MalformedJson);
}

#[test]
fn t10_a01_equal_keys_are_refused_at_any_depth_and_however_they_are_written() {
    for (text, pointer) in [
        (r#"{"a":1,"a":1}"#, "/a"),
        (r#"{"run":1,"ru\u006E":2}"#, "/run"),
        (r#"{"a":{"b":[0,{"c":1,"d":2,"c":3}]}}"#, "/a/b/1/c"),
        (r#"[{"x/y":1,"x\u002fy":2}]"#, "/0/x~1y"),
        (r#"{"":1,"":2}"#, "/"),
        (r#"{"😀":1,"\ud83d\ude00":2}"#, "/😀"),
        (r#"{"a":1,"b":{"c":1,"c":2},"a":2}"#, "/b/c"),
    ] {
        let refusal = parse(text.as_bytes(), 1000).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.pointer.as_str()),
            (Code::DuplicateKey, pointer),
            "{text}"
        );
    }
    // Equal looks are not equal keys, and equal keys of different objects are no duplicates.
    for text in [
        r#"{"é":1,"e\u0301":2}"#,
        r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}"#,
        r#"{"a":1,"A":2}"#,
    ] {
        assert!(parse(text.as_bytes(), 1000).is_ok(), "{text}");
    }
    // Size, JSON and depth come first.
    assert_eq!(code("{\"a\":1,\"a\":1"), Code::MalformedJson);
    let deep = format!("{{\"a\":1,\"a\":{}{}}}", "[".repeat(16), "]".repeat(16));
    assert_eq!(code(&deep), Code::TooDeep);
}

#[test]
fn t11_a07_one_byte_too_many_is_refused_without_being_read() {
    let fits = format!("\"{}\"", "a".repeat(DOCUMENT_BYTES_MAX - 2));
    assert!(parse(fits.as_bytes(), DOCUMENT_BYTES_MAX).is_ok());
    assert_eq!(code(&format!("{fits} ")), Code::TooLarge);
    assert_eq!(parse(&[0xff; 11], 10).unwrap_err().code, Code::TooLarge);
    assert_eq!(parse(&[0xff; 10], 10).unwrap_err().code, Code::MalformedJson);
}

/// Parts whose sequences are often JSON, and often nearly.
fn nearly_json() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    const PARTS: [&str; 30] = [
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"\\u0061\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"",
        "null", "true", "false", "0", "1", "-", "1.5", "-0", "01", "1e5", "e", " ", "\n", "\"", "\\",
        "\"\u{1}\"", "é", "\"é\"", "\u{0}",
    ];
    prop::collection::vec(prop::sample::select(&PARTS[..]), 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// Another reader accepts the same texts, duplicate keys aside, and reads the same values.
    #[test]
    fn t09_what_is_json_is_decided_as_elsewhere(text in nearly_json()) {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match parse(text.as_bytes(), DOCUMENT_BYTES_MAX) {
            Ok(ours) => {
                let written = crate::job::canonical::canonical(&ours);
                prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&written).ok(), theirs.ok());
            }
            Err(refusal) => prop_assert!(theirs.is_err() || refusal.code == Code::DuplicateKey, "{}", refusal),
        }
    }

    #[test]
    fn t09_no_bytes_make_the_reader_fail_otherwise(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(refusal) = parse(&bytes, 100) {
            let known = [Code::TooLarge, Code::MalformedJson, Code::TooDeep, Code::DuplicateKey];
            prop_assert!(known.contains(&refusal.code));
        }
    }
}
