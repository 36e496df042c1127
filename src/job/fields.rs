//! The fields of an object, judged in the one order: unknown → missing → types → values. In: a [`Value`]. Out: typed
//! values, or a refusal with a pointer to the field.
//!
//! Not here: what the fields of a document are (`document`, approval/).

use super::code::{Code, Refusal};
use super::ids::{CommitId, Nonce, Sha256, Uuid4};
use super::json::Value;
use super::pointer;
use super::time::Timestamp;

/// The JSON type a field must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A plain integer.
    Int,
    /// A string.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl FieldType {
    fn name(self) -> &'static str {
        match self {
            FieldType::Int => "an integer",
            FieldType::Text => "a string",
            FieldType::Array => "an array",
            FieldType::Object => "an object",
        }
    }
    fn fits(self, value: &Value) -> bool {
        match value {
            Value::Int(_) => self == FieldType::Int,
            Value::Text(_) => self == FieldType::Text,
            Value::Array(_) => self == FieldType::Array,
            Value::Object(_) => self == FieldType::Object,
            Value::Null | Value::Bool(_) | Value::Float(_) => false,
        }
    }
}

/// A field's name and type.
pub type FieldSpec = (&'static str, FieldType);

/// The fields of one object of a document.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    base: String,
    fields: &'a [(String, Value)],
}

impl<'a> Fields<'a> {
    /// The fields of `value`, which `base` points to (empty for the document itself).
    ///
    /// # Errors
    /// `wrong_type` if it is not an object.
    pub fn of(value: &'a Value, base: &str) -> Result<Fields<'a>, Refusal> {
        match value.fields() {
            Some(fields) => Ok(Fields {
                base: base.to_owned(),
                fields,
            }),
            None => {
                let message = format!("expected an object, found {}", value.type_name());
                Err(Refusal::new(Code::WrongType, base, message))
            }
        }
    }

    /// Judges the version field, which comes before everything else about the document.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`, or `unknown_version` if it is not `known`.
    pub fn version(&self, name: &'static str, known: i64) -> Result<(), Refusal> {
        if self.int(name)? == known {
            return Ok(());
        }
        Err(self.refuse(Code::UnknownVersion, name, format!("the known {name} is {known}")))
    }

    /// Exactly the fields of `specs` are there, each with its type.
    ///
    /// # Errors
    /// `unknown_field` for the first in the document's order, then `missing_field`, then `wrong_type`, both in the
    /// order of `specs`.
    pub fn exactly(&self, specs: &[FieldSpec]) -> Result<(), Refusal> {
        let known = |key: &String| specs.iter().any(|(name, _)| name == key);
        if let Some((key, _)) = self.fields.iter().find(|(key, _)| !known(key)) {
            return Err(self.refuse(Code::UnknownField, key, "this field is not known here; remove it"));
        }
        for (name, _) in specs {
            self.find(name)?;
        }
        for (name, field_type) in specs {
            self.typed(name, *field_type)?;
        }
        Ok(())
    }

    /// A refusal that concerns field `name` of this object.
    pub fn refuse(&self, code: Code, name: &str, message: impl Into<String>) -> Refusal {
        Refusal::new(code, pointer::child(&self.base, name), message)
    }

    /// Whether the field is there, with whatever type.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    fn find(&self, name: &str) -> Result<&'a Value, Refusal> {
        match self.fields.iter().find(|(key, _)| key == name) {
            Some((_, value)) => Ok(value),
            None => Err(self.refuse(Code::MissingField, name, format!("{name} is missing; add it"))),
        }
    }

    fn typed(&self, name: &str, due: FieldType) -> Result<&'a Value, Refusal> {
        let value = self.find(name)?;
        if due.fits(value) {
            return Ok(value);
        }
        let message = format!("{name} is {}, found {}", due.name(), value.type_name());
        Err(self.refuse(Code::WrongType, name, message))
    }

    /// An integer.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`.
    pub fn int(&self, name: &str) -> Result<i64, Refusal> {
        match self.typed(name, FieldType::Int)? {
            Value::Int(n) => Ok(*n),
            Value::Null
            | Value::Bool(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Array(_)
            | Value::Object(_) => Err(self.refuse(Code::WrongType, name, format!("{name} is an integer"))),
        }
    }

    /// A string.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`.
    pub fn text(&self, name: &str) -> Result<&'a str, Refusal> {
        self.typed(name, FieldType::Text)?
            .as_text()
            .ok_or_else(|| self.refuse(Code::WrongType, name, format!("{name} is a string")))
    }

    /// An array's items.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`.
    pub fn array(&self, name: &str) -> Result<&'a [Value], Refusal> {
        match self.typed(name, FieldType::Array)? {
            Value::Array(items) => Ok(items),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Object(_) => Err(self.refuse(Code::WrongType, name, format!("{name} is an array"))),
        }
    }

    /// A string that `parse` accepts, or `code` with what is `due`.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`, `code`.
    pub fn parsed<T>(
        &self,
        name: &str,
        code: Code,
        due: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Refusal> {
        parse(self.text(name)?).ok_or_else(|| self.refuse(code, name, format!("{name} is {due}")))
    }

    /// A UUID in the one form (contract 1).
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`, `bad_uuid`.
    pub fn uuid(&self, name: &str) -> Result<Uuid4, Refusal> {
        let due = "a version 4 UUID in lower case with hyphens, not nil";
        self.parsed(name, Code::BadUuid, due, Uuid4::parse)
    }

    /// 64 lower-case hex digits.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`, `bad_hash`.
    pub fn sha256(&self, name: &str) -> Result<Sha256, Refusal> {
        self.parsed(name, Code::BadHash, "64 lower-case hex digits", Sha256::parse)
    }

    /// `sha256:` and 64 lower-case hex digits.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`, `bad_hash`.
    pub fn sha256_prefixed(&self, name: &str) -> Result<Sha256, Refusal> {
        self.parsed(
            name,
            Code::BadHash,
            "`sha256:` and 64 lower-case hex digits",
            Sha256::parse_prefixed,
        )
    }

    /// 40 or 64 lower-case hex digits.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`, `bad_hash`.
    pub fn commit(&self, name: &str) -> Result<CommitId, Refusal> {
        self.parsed(
            name,
            Code::BadHash,
            "a full commit id: 40 or 64 lower-case hex digits",
            CommitId::parse,
        )
    }

    /// 64 lower-case hex digits that are used once.
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`, `bad_hash`.
    pub fn nonce(&self, name: &str) -> Result<Nonce, Refusal> {
        self.parsed(name, Code::BadHash, "64 lower-case hex digits", Nonce::parse)
    }

    /// A time in the one form (contract 1).
    ///
    /// # Errors
    /// `missing_field`, `wrong_type`, `bad_time`.
    pub fn time(&self, name: &str) -> Result<Timestamp, Refusal> {
        let due = "a UTC time like 2026-11-30T12:00:00Z, years 1970 to 9999, no leap second";
        self.parsed(name, Code::BadTime, due, Timestamp::parse)
    }
}

#[cfg(test)]
#[path = "fields_test.rs"]
mod tests;
