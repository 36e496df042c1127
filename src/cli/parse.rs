//! How single arguments are understood. In: a word. Out: a checked value, or what would be right.
//!
//! Not here: which verb takes what (each verb's file).

use crate::config::LogLevel;
use crate::job::{JobId, JobKind, Role, Sha256, State};
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A job or the digest of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOrDigest {
    /// A job_id.
    Job(JobId),
    /// The digest that a submission was answered with.
    Digest(Sha256),
}

pub(super) fn job(text: &str) -> Result<JobId, String> {
    JobId::parse(text).ok_or_else(|| "not a job_id: a version 4 UUID in lower case".to_owned())
}

pub(super) fn job_or_digest(text: &str) -> Result<JobOrDigest, String> {
    let digest = || {
        Sha256::parse(text)
            .or_else(|| Sha256::parse_prefixed(text))
            .map(JobOrDigest::Digest)
    };
    JobId::parse(text)
        .map(JobOrDigest::Job)
        .or_else(digest)
        .ok_or_else(|| "neither a job_id (a UUID in lower case) nor a digest (64 hex digits)".to_owned())
}

/// Any role.
pub(super) fn role() -> impl TypedValueParser<Value = Role> {
    words(Role::ALL.iter().map(|role| role.as_str())).try_map(|word| Role::parse(&word).ok_or("not a role"))
}

/// A role with an inbox.
pub(super) fn executor() -> impl TypedValueParser<Value = Role> {
    words(Role::EXECUTORS.iter().map(|role| role.as_str()))
        .try_map(|word| Role::parse(&word).ok_or("not a role"))
}

/// `save` or `delete`, as the kind of a job.
pub(super) fn kind() -> impl TypedValueParser<Value = JobKind> {
    words(JobKind::ALL.iter().map(|kind| kind.role().as_str())).try_map(|word| {
        JobKind::ALL
            .into_iter()
            .find(|kind| kind.role().as_str() == word)
            .ok_or("not a kind of job")
    })
}

pub(super) fn state() -> impl TypedValueParser<Value = State> {
    words(State::ALL.iter().map(|state| state.as_str()))
        .try_map(|word| State::parse(&word).ok_or("not a state"))
}

pub(super) fn level() -> impl TypedValueParser<Value = LogLevel> {
    words(LogLevel::ALL.iter().map(|level| level.as_str()))
        .try_map(|word| LogLevel::parse(&word).ok_or("not a level"))
}

fn words(all: impl Iterator<Item = &'static str>) -> PossibleValuesParser {
    PossibleValuesParser::new(all.collect::<Vec<_>>())
}

/// Where a page ended; what it stands for is the role's affair, but it must fit into a query.
pub(super) fn cursor(text: &str) -> Result<String, String> {
    let plain = text
        .bytes()
        .all(|c| c.is_ascii_alphanumeric() || b"_.:-".contains(&c));
    if plain && (1..=200).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err("not a cursor: copy it from the page before".to_owned())
}

/// Why an operator does something: it goes into the audit, on one line.
pub(super) fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("say why: it goes into the audit".to_owned());
    }
    if text.chars().count() > 500 || text.chars().any(char::is_control) {
        return Err("at most 500 characters on one line".to_owned());
    }
    Ok(text.to_owned())
}
