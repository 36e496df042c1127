//! The canonical form (RFC 8785) and digests over it. In: a [`Value`] or a document's bytes. Out: the one sequence of
//! bytes that equal documents share, and its SHA-256.
//!
//! Not here: reading (`json`).

use super::ids::{Sha256, sha256};
use super::json::{self, DOCUMENT_BYTES_MAX, Value};

/// The RFC 8785 form: keys sorted by UTF-16 code units, no space, the shortest escapes. A number that is not a plain
/// integer is written as it stood, so that no two documents share a form by rounding; no document may hold one.
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut out = String::new();
    write_value(&mut out, value);
    out.into_bytes()
}

/// SHA-256 of the canonical form if the bytes are a document that the reader accepts (within 64 KiB, no duplicate key,
/// at most 16 levels, plain integers only), else of the bytes as they are.
pub fn document_digest(bytes: &[u8]) -> Sha256 {
    match json::parse(bytes, DOCUMENT_BYTES_MAX) {
        Ok(value) => value_digest(&value, bytes),
        Err(_) => sha256(bytes),
    }
}

/// [`document_digest`] for one who has read the bytes already.
pub fn value_digest(value: &Value, bytes: &[u8]) -> Sha256 {
    if value.has_float() {
        return sha256(bytes);
    }
    sha256(&canonical(value))
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(n) => out.push_str(&n.to_string()),
        Value::Float(written) => out.push_str(written),
        Value::Text(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<&(String, Value)> = fields.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < '\u{20}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
#[path = "canonical_test.rs"]
mod tests;
