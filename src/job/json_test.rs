use super::*;

fn code(text: &str) -> Code {
    parse(text.as_bytes(), DOCUMENT_BYTES_MAX).unwrap_err().code
}

#[test]
fn t09_truncated_empty_and_broken_documents_are_malformed() {
    for text in [
        "", " ", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "[1,]", "{,}", "{\"a\":1,}", "[1 2]",
        "{} {}", "{}x", "nul", "tru", "falsey", "01", "-", "-a", "1.", "1.e1", "1e", "1e+", ".5", "+1", "NaN", "Infinity",
        "'a'", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"",
        "\"\\ud800\\ud800\"", "\"\t\"", "\"\n\"", "{1:2}", "{a:1}", "[}", "{]", "//", "{}\0", "\0{}", "\"\0\"", "{\"a\":1]",
        "[1}", "\u{a0}{}", "-01", "00", "1_000", "0x10", "{\"a\" 1}", "[,1]", "\"\\", "\"\\u",
    ] {
        assert_eq!(code(text), Code::MalformedJson, "{text:?}");
    }
}
