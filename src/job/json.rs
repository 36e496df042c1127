//! The strict, bounded JSON reader every document passes first (contract 1). In: bytes and a size limit. Out: a [`Value`],
//! or the first refusal in the order size, JSON, depth, duplicate keys.
//!
//! A general reader would keep the last of two equal keys and round numbers; a signature or a digest over such a
//! document would say less than it seems to. This one never recurses and never keeps more than 16 levels.
//!
//! Not here: which fields a document has (`fields`, `document`), writing (`canonical`).

use super::code::{Code, Refusal};
use super::pointer;
use std::collections::HashSet;

/// Bytes a single document may have; what is longer is not read to its end.
pub const DOCUMENT_BYTES_MAX: usize = 65_536;
/// Levels of arrays and objects a document may have; the outermost object is the first.
pub const DEPTH_MAX: usize = 16;
/// The largest integer that every JSON reader keeps exactly; RFC 8785 would round what is beyond.
const INTEGER_MAX: u64 = 9_007_199_254_740_991;

/// A JSON value without duplicate keys, at most [`DEPTH_MAX`] levels deep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer within ±(2^53 − 1), written without fraction or exponent.
    Int(i64),
    /// Any other number, as it was written: no field takes one, so the field's check refuses it by name.
    Float(String),
    /// A string after unescaping.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// An object's fields as they stood.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }
    }
    /// The value of an object's field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields()?
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }
    /// The fields, if it is an object.
    pub fn fields(&self) -> Option<&[(String, Value)]> {
        match self {
            Value::Object(fields) => Some(fields),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Array(_) => None,
        }
    }
    /// What it is, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a number that is not a plain integer",
            Value::Text(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
    /// Whether a number that is not a plain integer stands anywhere in it.
    pub fn has_float(&self) -> bool {
        match self {
            Value::Float(_) => true,
            Value::Array(items) => items.iter().any(Value::has_float),
            Value::Object(fields) => fields.iter().any(|(_, value)| value.has_float()),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Text(_) => false,
        }
    }
}

/// Reads one document of at most `limit` bytes.
///
/// # Errors
/// `too_large`, then `malformed_json`, then `too_deep`, then `duplicate_key` with a pointer to the second key.
pub fn parse(bytes: &[u8], limit: usize) -> Result<Value, Refusal> {
    if bytes.len() > limit {
        return Err(Refusal::new(
            Code::TooLarge,
            "",
            format!("the document is larger than {limit} bytes"),
        ));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(bad) => return Err(malformed("not UTF-8", bad.valid_up_to())),
    };
    if text.starts_with('\u{FEFF}') {
        return Err(malformed("a byte order mark; write plain UTF-8", 0));
    }
    let mut reader = Reader {
        text,
        at: 0,
        open: Vec::new(),
        kept: Vec::new(),
        too_deep: false,
        duplicate: None,
    };
    let value = reader.document()?;
    if reader.too_deep {
        let message = format!("arrays and objects are nested more than {DEPTH_MAX} levels deep");
        return Err(Refusal::new(Code::TooDeep, "", message));
    }
    match reader.duplicate {
        Some(at) => Err(Refusal::new(
            Code::DuplicateKey,
            at,
            "this key stands twice in its object; keep one",
        )),
        None => Ok(value),
    }
}

fn malformed(what: &str, at: usize) -> Refusal {
    Refusal::new(
        Code::MalformedJson,
        "",
        format!("not valid JSON at byte {at}: {what}"),
    )
}

/// One bit of syntax per open level, so that a megabyte of brackets costs a megabyte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Array,
    Object,
}

/// An array or object that is being filled.
#[derive(Debug)]
enum Partial {
    Array(Vec<Value>),
    Object {
        fields: Vec<(String, Value)>,
        key: String,
    },
}

#[derive(Debug)]
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Every open level.
    open: Vec<Level>,
    /// The first [`DEPTH_MAX`] of them; what is deeper is checked and dropped.
    kept: Vec<Partial>,
    too_deep: bool,
    duplicate: Option<String>,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Value, Refusal> {
        loop {
            // A value is due here. Containers that hold something open and go round; the rest is complete.
            let Some(mut value) = self.value_or_open()? else {
                continue;
            };
            // A complete value closes as many levels as end right after it.
            loop {
                let Some(level) = self.open.last().copied() else {
                    self.skip_space();
                    return match self.peek() {
                        None => Ok(value),
                        Some(_) => Err(malformed("something follows the document", self.at)),
                    };
                };
                self.put(value);
                self.skip_space();
                match (self.next_byte(), level) {
                    (Some(b','), Level::Array) => break,
                    (Some(b','), Level::Object) => {
                        self.key()?;
                        break;
                    }
                    (Some(b']'), Level::Array) | (Some(b'}'), Level::Object) => value = self.close(),
                    _ => return Err(self.unexpected("a comma or the end of the array or object")),
                }
            }
        }
    }

    /// A complete value, or `None` if a container was opened whose first value is due.
    fn value_or_open(&mut self) -> Result<Option<Value>, Refusal> {
        self.skip_space();
        match self.next_byte() {
            Some(b'{') => {
                self.enter(Level::Object);
                self.skip_space();
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    return Ok(Some(self.close()));
                }
                self.key()?;
                Ok(None)
            }
            Some(b'[') => {
                self.enter(Level::Array);
                self.skip_space();
                if self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(Some(self.close()));
                }
                Ok(None)
            }
            Some(b'"') => self.string().map(|text| Some(Value::Text(text))),
            Some(b'n') => self.word("ull", Value::Null).map(Some),
            Some(b't') => self.word("rue", Value::Bool(true)).map(Some),
            Some(b'f') => self.word("alse", Value::Bool(false)).map(Some),
            Some(b'-' | b'0'..=b'9') => self.number().map(Some),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn enter(&mut self, level: Level) {
        self.open.push(level);
        if self.open.len() > DEPTH_MAX {
            self.too_deep = true;
            return;
        }
        self.kept.push(match level {
            Level::Array => Partial::Array(Vec::new()),
            Level::Object => Partial::Object {
                fields: Vec::new(),
                key: String::new(),
            },
        });
    }

    fn close(&mut self) -> Value {
        let within = self.open.len() <= DEPTH_MAX;
        self.open.pop();
        if !within {
            return Value::Null;
        }
        match self.kept.pop() {
            Some(Partial::Array(items)) => Value::Array(items),
            Some(Partial::Object { fields, .. }) => {
                self.note_duplicate(&fields);
                Value::Object(fields)
            }
            None => Value::Null,
        }
    }

    fn put(&mut self, value: Value) {
        if self.open.len() > DEPTH_MAX {
            return;
        }
        match self.kept.last_mut() {
            Some(Partial::Array(items)) => items.push(value),
            Some(Partial::Object { fields, key }) => fields.push((std::mem::take(key), value)),
            None => {}
        }
    }

    /// Reads `"key" :` inside the object just opened or continued.
    fn key(&mut self) -> Result<(), Refusal> {
        self.skip_space();
        if self.next_byte() != Some(b'"') {
            return Err(self.unexpected("a key in double quotes"));
        }
        let name = self.string()?;
        self.skip_space();
        if self.next_byte() != Some(b':') {
            return Err(self.unexpected("a colon"));
        }
        if self.open.len() <= DEPTH_MAX
            && let Some(Partial::Object { key, .. }) = self.kept.last_mut()
        {
            *key = name;
        }
        Ok(())
    }

    fn note_duplicate(&mut self, fields: &[(String, Value)]) {
        if self.duplicate.is_some() {
            return;
        }
        let mut seen = HashSet::with_capacity(fields.len());
        if let Some((twice, _)) = fields.iter().find(|(key, _)| !seen.insert(key.as_str())) {
            let above = self.kept.iter().map(|partial| match partial {
                Partial::Array(items) => items.len().to_string(),
                Partial::Object { key, .. } => key.clone(),
            });
            self.duplicate = Some(pointer::of(above.chain([twice.clone()])));
        }
    }

    fn word(&mut self, rest: &str, value: Value) -> Result<Value, Refusal> {
        if self.text.as_bytes()[self.at..].starts_with(rest.as_bytes()) {
            self.at += rest.len();
            return Ok(value);
        }
        Err(malformed("expected null, true or false", self.at))
    }

    /// A number whose first byte was just read.
    fn number(&mut self) -> Result<Value, Refusal> {
        let start = self.at - 1;
        let bytes = self.text.as_bytes();
        let mut first = bytes[start];
        if first == b'-' {
            match self.next_byte() {
                Some(digit @ b'0'..=b'9') => first = digit,
                _ => return Err(self.unexpected("a digit after the minus")),
            }
        }
        if first == b'0' && matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(malformed("a number with a leading zero", self.at));
        }
        self.skip_digits();
        let mut whole = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            whole = false;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            whole = false;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let written = &self.text[start..self.at];
        // `-0` is a number that no integer is: its canonical form is another text.
        let exact = written
            .parse::<i64>()
            .ok()
            .filter(|n| n.unsigned_abs() <= INTEGER_MAX && written != "-0");
        match exact {
            Some(n) if whole => Ok(Value::Int(n)),
            Some(_) | None => Ok(Value::Float(written.to_owned())),
        }
    }

    fn skip_digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        let before = self.at;
        self.skip_digits();
        if self.at == before {
            Err(malformed("expected a digit", self.at))
        } else {
            Ok(())
        }
    }

    /// A string whose opening quote was just read.
    fn string(&mut self) -> Result<String, Refusal> {
        let mut out = String::new();
        let mut plain = self.at;
        loop {
            match self.next_byte() {
                Some(b'"') => {
                    out.push_str(&self.text[plain..self.at - 1]);
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[plain..self.at - 1]);
                    out.push(self.escape()?);
                    plain = self.at;
                }
                Some(0..0x20) => return Err(malformed("a bare control character in a string", self.at - 1)),
                Some(_) => {}
                None => return Err(malformed("a string that does not end", self.at)),
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<char, Refusal> {
        match self.next_byte() {
            Some(b'"') => Ok('"'),
            Some(b'\\') => Ok('\\'),
            Some(b'/') => Ok('/'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'u') => self.unicode_escape(),
            _ => Err(self.unexpected("a known escape after the backslash")),
        }
    }

    fn unicode_escape(&mut self) -> Result<char, Refusal> {
        let start = self.at;
        let lone = || malformed("half of a surrogate pair", start);
        let first = self.four_hex()?;
        let code = match first {
            0xD800..=0xDBFF => {
                if self.next_byte() != Some(b'\\') || self.next_byte() != Some(b'u') {
                    return Err(lone());
                }
                match self.four_hex()? {
                    low @ 0xDC00..=0xDFFF => 0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00),
                    _ => return Err(lone()),
                }
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(lone)
    }

    fn four_hex(&mut self) -> Result<u32, Refusal> {
        let mut code = 0u32;
        for _ in 0..4 {
            let digit = self.next_byte().and_then(|c| char::from(c).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("four hex digits after \\u"));
            };
            code = code << 4 | digit;
        }
        Ok(code)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next_byte(&mut self) -> Option<u8> {
        let byte = self.peek();
        if byte.is_some() {
            self.at += 1;
        }
        byte
    }

    /// Whatever was read last is not what is due.
    fn unexpected(&self, due: &str) -> Refusal {
        if self.at >= self.text.len() {
            return malformed(&format!("it ends where {due} is due"), self.at);
        }
        malformed(&format!("expected {due}"), self.at.saturating_sub(1))
    }
}

#[cfg(test)]
#[path = "json_test.rs"]
mod tests;
