//! What operators' verbs must say. In: a path's segments and a JSON body. Out: a verb with its target and reason, or the
//! refusal with the field's name.
//!
//! Not here: carrying verbs out.

use super::admin::{Resolution, Verb, VerbBody, VerbTarget};
use super::answer::ApiError;
use crate::job::{Code, JobId};
use serde::Deserialize;

/// A verb by its address; what it lacks is in the body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A verb on one job, or with `None` on all it fits.
    Job(JobWord, Option<JobId>),
    /// A verb on the role.
    Role(Verb),
    Adopt,
    BackupCreate,
    BackupVerify(String),
}

/// A verb on jobs by its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobWord {
    Cancel,
    Resolve,
    Requeue,
    Probe,
}

/// The verb `POST /v1/…` names.
pub(super) fn wanted(parts: &[&str]) -> Option<Wanted> {
    let word = |text: &str| match text {
        "cancel" => Some(JobWord::Cancel),
        "resolve" => Some(JobWord::Resolve),
        "requeue" => Some(JobWord::Requeue),
        "probe" => Some(JobWord::Probe),
        _ => None,
    };
    Some(match parts {
        ["jobs", id, verb] => Wanted::Job(word(verb)?, Some(JobId::parse(id)?)),
        ["jobs", verb] => Wanted::Job(word(verb)?, None),
        ["adopt"] => Wanted::Adopt,
        ["pause"] => Wanted::Role(Verb::Pause),
        ["resume"] => Wanted::Role(Verb::Resume),
        ["freeze"] => Wanted::Role(Verb::Freeze),
        ["unfreeze"] => Wanted::Role(Verb::Unfreeze),
        ["clock", "accept"] => Wanted::Role(Verb::ClockAccept),
        ["backups"] => Wanted::BackupCreate,
        ["backups", name, "verify"] if is_backup_name(name) => Wanted::BackupVerify((*name).to_owned()),
        _ => return None,
    })
}

fn is_backup_name(name: &str) -> bool {
    let plain = name
        .bytes()
        .all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c));
    plain && (1..=100).contains(&name.len()) && !name.starts_with('.')
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Raw {
    reason: Option<String>,
    outcome: Option<String>,
    path: Option<String>,
    all: Option<bool>,
    if_evidence: Option<String>,
}

impl Wanted {
    /// Whether it reads or writes whole files.
    pub(super) fn is_slow(&self) -> bool {
        match self {
            Wanted::BackupCreate | Wanted::BackupVerify(_) => true,
            Wanted::Job(_, None) => true,
            Wanted::Job(_, Some(_)) | Wanted::Role(_) | Wanted::Adopt => false,
        }
    }

    /// The whole verb.
    ///
    /// # Errors
    /// 422 with the code and field.
    pub(super) fn with_body(self, body: &[u8]) -> Result<(Verb, VerbTarget, VerbBody), ApiError> {
        let mut raw = parse(body)?;
        let reason = match &self {
            Wanted::BackupCreate | Wanted::BackupVerify(_) => optional(raw.reason.take())?,
            Wanted::Job(..) | Wanted::Role(_) | Wanted::Adopt => required(raw.reason.take())?,
        };
        let (verb, target) = match self {
            Wanted::Job(word, id) => {
                let target = job_target(word, id, &mut raw)?;
                (job_verb(word, &mut raw)?, target)
            }
            Wanted::Role(verb) => (verb, VerbTarget::Role),
            Wanted::Adopt => (Verb::Adopt, VerbTarget::Path(path(raw.path.take())?)),
            Wanted::BackupCreate => (Verb::BackupCreate, VerbTarget::Role),
            Wanted::BackupVerify(name) => (Verb::BackupVerify, VerbTarget::Backup(name)),
        };
        nothing_else(&raw)?;
        Ok((verb, target, VerbBody { reason }))
    }
}

fn job_verb(word: JobWord, raw: &mut Raw) -> Result<Verb, ApiError> {
    Ok(match word {
        JobWord::Cancel => Verb::Cancel,
        JobWord::Requeue => Verb::Requeue,
        JobWord::Probe => Verb::Probe,
        JobWord::Resolve => match raw.outcome.take().as_deref() {
            Some("applied") => Verb::Resolve(Resolution::Applied),
            Some("not_applied") => Verb::Resolve(Resolution::NotApplied),
            Some(_) => {
                return Err(ApiError::field(
                    Code::WrongType,
                    "/outcome",
                    "outcome is applied or not_applied",
                ));
            }
            None => {
                return Err(ApiError::field(
                    Code::MissingField,
                    "/outcome",
                    "say what you found: applied or not_applied",
                ));
            }
        },
    })
}

fn job_target(word: JobWord, id: Option<JobId>, raw: &mut Raw) -> Result<VerbTarget, ApiError> {
    if let Some(id) = id {
        return Ok(VerbTarget::Job(id));
    }
    if raw.all.take() != Some(true) {
        return Err(ApiError::field(
            Code::MissingField,
            "/all",
            "name a job in the path, or say \"all\":true",
        ));
    }
    let if_evidence = raw.if_evidence.take();
    match (&if_evidence, word) {
        (Some(word), _)
            if word.is_empty()
                || word.len() > 64
                || !word.bytes().all(|c| c.is_ascii_lowercase() || c == b'_') =>
        {
            Err(ApiError::field(
                Code::WrongType,
                "/if_evidence",
                "if_evidence is one lower-case word",
            ))
        }
        (None, JobWord::Resolve) => Err(ApiError::field(
            Code::MissingField,
            "/if_evidence",
            "resolving many at once needs if_evidence: jobs without that evidence are left alone",
        )),
        _ => Ok(VerbTarget::All { if_evidence }),
    }
}

fn path(path: Option<String>) -> Result<String, ApiError> {
    let path = path.ok_or_else(|| ApiError::field(Code::MissingField, "/path", "name the vault path"))?;
    if path.is_empty() || path.len() > 1024 {
        return Err(ApiError::field(
            Code::PathAmbiguous,
            "/path",
            "a vault path has 1 to 1,024 bytes",
        ));
    }
    Ok(path)
}

/// The body of a verb that needs no reason but keeps one.
///
/// # Errors
/// 422 with the code and field.
pub(super) fn optional_reason(body: &[u8]) -> Result<VerbBody, ApiError> {
    let mut raw = parse(body)?;
    let reason = optional(raw.reason.take())?;
    nothing_else(&raw)?;
    Ok(VerbBody { reason })
}

fn parse(body: &[u8]) -> Result<Raw, ApiError> {
    if body.is_empty() {
        return Ok(Raw::default());
    }
    serde_json::from_slice(body).map_err(|error| {
        let text = error.to_string();
        let code = match error.classify() {
            serde_json::error::Category::Data if text.starts_with("unknown field") => Code::UnknownField,
            serde_json::error::Category::Data if text.starts_with("duplicate field") => Code::DuplicateKey,
            serde_json::error::Category::Data => Code::WrongType,
            serde_json::error::Category::Syntax | serde_json::error::Category::Eof => Code::MalformedJson,
            serde_json::error::Category::Io => Code::MalformedJson,
        };
        ApiError::field(code, "", text)
    })
}

fn nothing_else(raw: &Raw) -> Result<(), ApiError> {
    let left = [
        ("/outcome", raw.outcome.is_some()),
        ("/path", raw.path.is_some()),
        ("/all", raw.all.is_some()),
        ("/if_evidence", raw.if_evidence.is_some()),
    ];
    match left.into_iter().find(|(_, given)| *given) {
        Some((pointer, _)) => Err(ApiError::field(
            Code::UnknownField,
            pointer,
            "this verb has no such field",
        )),
        None => Ok(()),
    }
}

fn required(reason: Option<String>) -> Result<String, ApiError> {
    let reason =
        reason.ok_or_else(|| ApiError::field(Code::MissingField, "/reason", "say why, for the audit"))?;
    judged(reason)
}

fn optional(reason: Option<String>) -> Result<String, ApiError> {
    reason.map_or_else(|| Ok(String::new()), judged)
}

/// A reason is read by people in audit listings: no control characters, and none that reorder or break lines.
fn judged(reason: String) -> Result<String, ApiError> {
    let misleads = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    let count = reason.chars().count();
    if count == 0 || count > 500 || reason.trim().is_empty() || reason.chars().any(misleads) {
        let mut error = ApiError::new(
            422,
            "bad_reason",
            "a reason is 1 to 500 characters without control characters",
        );
        error.pointer = "/reason".to_owned();
        return Err(error);
    }
    Ok(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "7f0c2f5e-3b0a-4c1e-9d55-0a1b2c3d4e5f";

    fn outcome(
        parts: &[&str],
        body: &str,
    ) -> Result<(Verb, VerbTarget, VerbBody), (u16, &'static str, String)> {
        wanted(parts)
            .unwrap()
            .with_body(body.as_bytes())
            .map_err(|e| (e.status, e.code, e.pointer))
    }
    fn refused(
        code: &'static str,
        pointer: &str,
    ) -> Result<(Verb, VerbTarget, VerbBody), (u16, &'static str, String)> {
        Err((422, code, pointer.to_owned()))
    }

    #[test]
    fn every_verb_of_an_operator_needs_a_reason() {
        for parts in [
            vec!["jobs", ID, "cancel"],
            vec!["jobs", ID, "resolve"],
            vec!["jobs", ID, "requeue"],
            vec!["jobs", ID, "probe"],
            vec!["jobs", "cancel"],
            vec!["adopt"],
            vec!["pause"],
            vec!["resume"],
            vec!["freeze"],
            vec!["unfreeze"],
            vec!["clock", "accept"],
        ] {
            assert_eq!(
                outcome(&parts, ""),
                refused("missing_field", "/reason"),
                "{parts:?}"
            );
            assert_eq!(
                outcome(&parts, r#"{"reason":null}"#),
                refused("missing_field", "/reason")
            );
            for bad in ["", "  ", r"a\nb", r"\u0000", r"\u202e", &"x".repeat(501)] {
                assert_eq!(
                    outcome(&parts, &format!(r#"{{"reason":"{bad}"}}"#)),
                    refused("bad_reason", "/reason")
                );
            }
        }
        let longest = format!(r#"{{"reason":"{}"}}"#, "ü".repeat(500));
        assert_eq!(
            outcome(&["pause"], &longest).unwrap().2.reason.chars().count(),
            500
        );
    }

    #[test]
    fn bodies_are_strict() {
        assert_eq!(
            outcome(&["pause"], r#"{"reason":"x","extra":1}"#),
            refused("unknown_field", "")
        );
        assert_eq!(
            outcome(&["pause"], r#"{"reason":"x","reason":"y"}"#),
            refused("duplicate_key", "")
        );
        assert_eq!(outcome(&["pause"], r#"{"reason":1}"#), refused("wrong_type", ""));
        assert_eq!(
            outcome(&["pause"], r#"{"reason":"x""#),
            refused("malformed_json", "")
        );
        assert_eq!(
            outcome(&["pause"], r#"{"reason":"x","path":"/y"}"#),
            refused("unknown_field", "/path")
        );
        assert_eq!(
            outcome(&["jobs", ID, "cancel"], r#"{"reason":"x","all":true}"#),
            refused("unknown_field", "/all")
        );
    }

    #[test]
    fn resolve_says_what_was_found_and_in_bulk_only_with_evidence() {
        let one = ["jobs", ID, "resolve"];
        assert_eq!(
            outcome(&one, r#"{"reason":"x"}"#),
            refused("missing_field", "/outcome")
        );
        assert_eq!(
            outcome(&one, r#"{"reason":"x","outcome":"yes"}"#),
            refused("wrong_type", "/outcome")
        );
        let (verb, target, _) = outcome(&one, r#"{"reason":"x","outcome":"applied"}"#).unwrap();
        assert_eq!(verb, Verb::Resolve(Resolution::Applied));
        assert_eq!(target, VerbTarget::Job(JobId::parse(ID).unwrap()));
        let all = ["jobs", "resolve"];
        assert_eq!(
            outcome(&all, r#"{"reason":"x","outcome":"applied"}"#),
            refused("missing_field", "/all")
        );
        assert_eq!(
            outcome(&all, r#"{"reason":"x","outcome":"not_applied","all":true}"#),
            refused("missing_field", "/if_evidence")
        );
        let body = r#"{"reason":"x","outcome":"not_applied","all":true,"if_evidence":"not_started"}"#;
        let (_, target, _) = outcome(&all, body).unwrap();
        assert_eq!(
            target,
            VerbTarget::All {
                if_evidence: Some("not_started".to_owned())
            }
        );
    }

    #[test]
    fn unknown_verbs_and_names_do_not_exist() {
        for parts in [
            vec!["jobs", ID, "delete"],
            vec!["jobs", "NOT-AN-ID", "cancel"],
            vec!["backups", "..", "verify"],
            vec!["backups", "a b", "verify"],
            vec!["clock"],
            vec![],
        ] {
            assert_eq!(wanted(&parts), None, "{parts:?}");
        }
        assert!(outcome(&["backups"], "").is_ok());
        assert!(outcome(&["adopt"], r#"{"reason":"x","path":"/app/vault/a.md"}"#).is_ok());
        assert_eq!(
            outcome(&["adopt"], r#"{"reason":"x"}"#),
            refused("missing_field", "/path")
        );
    }
}
