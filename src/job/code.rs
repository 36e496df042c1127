//! The closed list of codes (contract 5) and the refusal that carries one. In: nothing. Out: words that never change.
//!
//! Not here: the pages `lockgate explain` prints (`job::explain`).

use super::unicode;
use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal),+ $(,)?) => {
        /// A stable word for what was decided or found.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* #[allow(missing_docs, reason = "the page of each code is in job::explain")] $name),+ }
        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];
            /// The word in documents, receipts and audit rows.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $word),+ }
            }
            /// The code a word names.
            pub fn parse(text: &str) -> Option<Code> {
                match text { $($word => Some(Code::$name),)+ _ => None }
            }
        }
    };
}

codes! {
    MalformedJson = "malformed_json", DuplicateKey = "duplicate_key", UnknownField = "unknown_field",
    MissingField = "missing_field", WrongType = "wrong_type", TooLarge = "too_large", TooDeep = "too_deep",
    UnknownVersion = "unknown_version", UnknownJobType = "unknown_job_type", WrongRole = "wrong_role",
    BadUuid = "bad_uuid", BadHash = "bad_hash", BadTime = "bad_time", BadObjectId = "bad_object_id",
    PathOutsideRoot = "path_outside_root", PathTraversal = "path_traversal", PathAmbiguous = "path_ambiguous",
    PathHidden = "path_hidden", IdempotencyConflict = "idempotency_conflict", NotAllowed = "not_allowed",
    RateLimited = "rate_limited", Frozen = "frozen",
    SignatureInvalid = "signature_invalid", KeyUnknown = "key_unknown", KeyExpired = "key_expired",
    ApprovalExpired = "approval_expired", ApprovalNotYetValid = "approval_not_yet_valid",
    ApprovalTooLong = "approval_too_long", ApprovalNotCanonical = "approval_not_canonical",
    ApprovalNonceReused = "approval_nonce_reused", ApprovalConflict = "approval_conflict",
    CommitNotOnRef = "commit_not_on_ref", StaleCommit = "stale_commit", SourceMissing = "source_missing",
    ObjectIdMismatch = "object_id_mismatch", ExpectedStateMismatch = "expected_state_mismatch",
    ProvenanceMismatch = "provenance_mismatch", ContentNotText = "content_not_text", TargetDrift = "target_drift",
    Tampered = "tampered", DeleteDenied = "delete_denied",
    Saved = "saved", AlreadyAtTarget = "already_at_target", Deleted = "deleted", Cancelled = "cancelled",
    Expired = "expired", TargetRefused = "target_refused", TargetError = "target_error",
    AttemptsExhausted = "attempts_exhausted", OutcomeUnknown = "outcome_unknown",
    ResolvedApplied = "resolved_applied", ResolvedNotApplied = "resolved_not_applied",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a document never became a job: the requester's fault, told to the requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The stable word.
    pub code: Code,
    /// JSON pointer of the field it concerns (`/vault_path`), empty for the document as a whole.
    pub pointer: String,
    /// One sentence: what is wrong and what to do. Never the document's content beyond the field's name.
    pub message: String,
}

impl Refusal {
    /// A refusal that concerns one field or, with an empty pointer, the whole document.
    pub fn new(code: Code, pointer: impl Into<String>, message: impl Into<String>) -> Refusal {
        Refusal {
            code,
            pointer: pointer.into(),
            message: message.into(),
        }
    }
}
/// For people and logs: a key that a requester chose cannot move a terminal's cursor or turn a line around.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            return write!(f, "{}: {}", self.code, self.message);
        }
        write!(f, "{} at ", self.code)?;
        for c in self.pointer.chars() {
            if c.is_control() || unicode::is_never_visible(c) {
                write!(f, "{}", c.escape_unicode())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        write!(f, ": {}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_word_and_is_found_by_it() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
        }
        assert_eq!(Code::parse("Saved"), None);
        assert_eq!(Code::parse("saved "), None);
    }

    #[test]
    fn a_printed_refusal_names_the_field_and_shows_control_characters_as_text() {
        let refusal = Refusal::new(Code::UnknownField, "/a\u{1b}[31m\u{202e}ä", "remove it");
        assert_eq!(
            refusal.to_string(),
            "unknown_field at /a\\u{1b}[31m\\u{202e}ä: remove it"
        );
        assert_eq!(
            Refusal::new(Code::TooDeep, "", "flatten it").to_string(),
            "too_deep: flatten it"
        );
    }
}
