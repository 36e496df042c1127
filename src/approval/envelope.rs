//! The envelope: a payload and the signatures over it, as they travel and as they are stored. In: a JSON document. Out:
//! the payload's exact bytes and signatures whose shape is known; nothing is believed yet.
//!
//! Not here: what the payload says (`payload`), whether the signatures hold (`verify`).

use super::key::Fingerprint;
use crate::job::canonical::canonical;
use crate::job::json::{self, Value};
use crate::job::{Code, Refusal};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// More people than this never need to sign one delete; bounds the work an envelope can cause.
pub const SIGNATURES_MAX: usize = 16;

/// One signature and how to check it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EnvelopeSignature {
    /// What `ssh-keygen -Y sign` wrote.
    Sshsig {
        /// The whole block with its BEGIN and END lines.
        armour: String,
    },
    /// 64 bytes by a key that is named by its fingerprint.
    Ed25519 {
        /// Which key.
        key: Fingerprint,
        /// Padded base64.
        signature_b64: String,
    },
}

impl EnvelopeSignature {
    /// The `scheme` word.
    pub fn scheme(&self) -> &'static str {
        match self {
            EnvelopeSignature::Sshsig { .. } => "sshsig",
            EnvelopeSignature::Ed25519 { .. } => "ed25519",
        }
    }
    /// One line of JSON, for a column beside the payload.
    pub fn to_text(&self) -> String {
        String::from_utf8(canonical(&self.to_value())).unwrap_or_default()
    }
    /// Reads [`EnvelopeSignature::to_text`] back.
    ///
    /// # Errors
    /// The refusal an envelope with this signature would get.
    pub fn parse_text(text: &str) -> Result<EnvelopeSignature, Refusal> {
        let value = json::parse(text.as_bytes(), json::DOCUMENT_BYTES_MAX)?;
        let entry = Entry {
            value: &value,
            pointer: String::new(),
        };
        entry.check_unknown()?;
        entry.check_missing()?;
        entry.check_types()?;
        entry.read()
    }

    fn to_value(&self) -> Value {
        match self {
            EnvelopeSignature::Sshsig { armour } => {
                object([("scheme", text("sshsig")), ("signature", text(armour))])
            }
            EnvelopeSignature::Ed25519 { key, signature_b64 } => object([
                ("key_id", text(&key.to_string())),
                ("scheme", text("ed25519")),
                ("signature", text(signature_b64)),
            ]),
        }
    }
}

/// A payload and 1–16 signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload: Vec<u8>,
    signatures: Vec<EnvelopeSignature>,
}

impl Envelope {
    /// Reads a whole document.
    ///
    /// # Errors
    /// What [`json::parse`] and [`Envelope::from_value`] refuse.
    pub fn parse(bytes: &[u8]) -> Result<Envelope, Refusal> {
        Envelope::from_value(&json::parse(bytes, json::DOCUMENT_BYTES_MAX)?)
    }

    /// Whether a document is meant as an envelope: it has one of its keys.
    pub fn is_meant(value: &Value) -> bool {
        value.get("payload_b64").is_some() || value.get("signatures").is_some()
    }

    /// Checks the shape: unknown fields, then missing ones, then types, then values.
    ///
    /// # Errors
    /// Shape codes; `approval_not_canonical` for a payload that is not padded base64; `signature_invalid` for no
    /// signature or an unknown scheme; `key_unknown` for a `key_id` that is no fingerprint.
    pub fn from_value(value: &Value) -> Result<Envelope, Refusal> {
        let Some(fields) = value.fields() else {
            return Err(wrong_type("", value, "an object"));
        };
        let entries = Entry::all(value);
        if let Some((name, _)) = fields
            .iter()
            .find(|(name, _)| name != "payload_b64" && name != "signatures")
        {
            return Err(unknown_field("", name));
        }
        entries.iter().try_for_each(Entry::check_unknown)?;
        let payload = value
            .get("payload_b64")
            .ok_or_else(|| missing_field("", "payload_b64"))?;
        let signatures = value
            .get("signatures")
            .ok_or_else(|| missing_field("", "signatures"))?;
        entries.iter().try_for_each(Entry::check_missing)?;
        let payload = payload
            .as_text()
            .ok_or_else(|| wrong_type("/payload_b64", payload, "a string"))?;
        if !matches!(signatures, Value::Array(_)) {
            return Err(wrong_type("/signatures", signatures, "an array"));
        }
        entries.iter().try_for_each(Entry::check_types)?;
        let payload = STANDARD.decode(payload).map_err(|_| {
            Refusal::new(
                Code::ApprovalNotCanonical,
                "/payload_b64",
                "the payload is not padded base64; encode the exact bytes that were signed",
            )
        })?;
        if entries.is_empty() {
            return Err(Refusal::new(
                Code::SignatureInvalid,
                "/signatures",
                "the envelope holds no signature",
            ));
        }
        if entries.len() > SIGNATURES_MAX {
            return Err(too_many());
        }
        let signatures = entries.iter().map(Entry::read).collect::<Result<_, _>>()?;
        Ok(Envelope { payload, signatures })
    }

    /// One that is about to be signed.
    pub fn unsigned(payload: Vec<u8>) -> Envelope {
        Envelope {
            payload,
            signatures: Vec::new(),
        }
    }

    /// The bytes that were signed, exactly.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
    /// In the order in which they stand.
    pub fn signatures(&self) -> &[EnvelopeSignature] {
        &self.signatures
    }

    /// Adds a signature unless it is there already.
    ///
    /// # Errors
    /// `too_large` beyond [`SIGNATURES_MAX`].
    pub fn add(&mut self, signature: EnvelopeSignature) -> Result<(), Refusal> {
        if self.signatures.contains(&signature) {
            return Ok(());
        }
        if self.signatures.len() >= SIGNATURES_MAX {
            return Err(too_many());
        }
        self.signatures.push(signature);
        Ok(())
    }

    /// The document in RFC 8785 form.
    pub fn to_canonical(&self) -> Vec<u8> {
        canonical(&object([
            ("payload_b64", text(&STANDARD.encode(&self.payload))),
            (
                "signatures",
                Value::Array(self.signatures.iter().map(EnvelopeSignature::to_value).collect()),
            ),
        ]))
    }
}

/// One element of `signatures`, before its shape is known.
struct Entry<'a> {
    value: &'a Value,
    pointer: String,
}

impl<'a> Entry<'a> {
    fn all(envelope: &'a Value) -> Vec<Entry<'a>> {
        match envelope.get("signatures") {
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(at, value)| Entry {
                    value,
                    pointer: format!("/signatures/{at}"),
                })
                .collect(),
            Some(_) | None => Vec::new(),
        }
    }

    fn scheme(&self) -> Option<&str> {
        self.value.get("scheme").and_then(Value::as_text)
    }
    /// The fields of this scheme; of any scheme while it is not known which.
    fn names(&self) -> &'static [&'static str] {
        match self.scheme() {
            Some("sshsig") => &["scheme", "signature"],
            Some(_) | None => &["scheme", "key_id", "signature"],
        }
    }
    fn check_unknown(&self) -> Result<(), Refusal> {
        let fields = self.value.fields().unwrap_or_default();
        match fields
            .iter()
            .find(|(name, _)| !self.names().contains(&name.as_str()))
        {
            Some((name, _)) => Err(unknown_field(&self.pointer, name)),
            None => Ok(()),
        }
    }
    fn check_missing(&self) -> Result<(), Refusal> {
        if self.value.fields().is_none() {
            return Ok(());
        }
        for name in self.names() {
            let needed = *name != "key_id" || self.scheme() == Some("ed25519");
            if needed && self.value.get(name).is_none() {
                return Err(missing_field(&self.pointer, name));
            }
        }
        Ok(())
    }
    fn check_types(&self) -> Result<(), Refusal> {
        let Some(fields) = self.value.fields() else {
            return Err(wrong_type(&self.pointer, self.value, "an object"));
        };
        match fields.iter().find(|(_, value)| value.as_text().is_none()) {
            Some((name, value)) => Err(wrong_type(
                &crate::job::pointer::child(&self.pointer, name),
                value,
                "a string",
            )),
            None => Ok(()),
        }
    }
    /// After the three checks above.
    fn read(&self) -> Result<EnvelopeSignature, Refusal> {
        let field = |name: &str| {
            self.value
                .get(name)
                .and_then(Value::as_text)
                .unwrap_or_default()
                .to_owned()
        };
        match self.scheme() {
            Some("sshsig") => Ok(EnvelopeSignature::Sshsig {
                armour: field("signature"),
            }),
            Some("ed25519") => {
                let key = Fingerprint::parse(&field("key_id")).ok_or_else(|| {
                    let message = "key_id is not a fingerprint as `ssh-keygen -l` prints it";
                    Refusal::new(Code::KeyUnknown, format!("{}/key_id", self.pointer), message)
                })?;
                Ok(EnvelopeSignature::Ed25519 {
                    key,
                    signature_b64: field("signature"),
                })
            }
            Some(_) | None => {
                let message = "the scheme is neither sshsig nor ed25519";
                Err(Refusal::new(
                    Code::SignatureInvalid,
                    format!("{}/scheme", self.pointer),
                    message,
                ))
            }
        }
    }
}

fn too_many() -> Refusal {
    Refusal::new(
        Code::TooLarge,
        "/signatures",
        format!("an envelope holds at most {SIGNATURES_MAX} signatures"),
    )
}

fn unknown_field(base: &str, name: &str) -> Refusal {
    Refusal::new(
        Code::UnknownField,
        crate::job::pointer::child(base, name),
        "this field does not belong here; remove it",
    )
}

fn missing_field(base: &str, name: &str) -> Refusal {
    Refusal::new(
        Code::MissingField,
        crate::job::pointer::child(base, name),
        "this field is missing",
    )
}

fn wrong_type(pointer: &str, value: &Value, wanted: &str) -> Refusal {
    Refusal::new(
        Code::WrongType,
        pointer,
        format!("this is {}; it must be {wanted}", value.type_name()),
    )
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

#[cfg(test)]
#[path = "envelope_test.rs"]
mod tests;
