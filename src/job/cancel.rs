//! What a dropped document is, and the smallest of them. In: a [`Value`]. Out: its [`Shape`]; a [`Cancel`].
//!
//! Not here: jobs (`document`), envelopes (approval/).

use super::code::Refusal;
use super::fields::{FieldSpec, FieldType, Fields};
use super::ids::JobId;
use super::json::Value;

/// What a document is, told by its version key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `job_version`
    Job,
    /// `payload_b64`: an approval or a withdrawal with its signatures.
    Envelope,
    /// `cancel_version`
    Cancel,
}

/// Tells what a document is. With several of the keys it is the first of job, envelope, cancel, whose reader refuses
/// the others as unknown. With none it is what the rest of it looks like, by default a job, whose reader names the key
/// that is missing.
///
/// # Errors
/// `wrong_type` if it is not an object.
pub fn shape(value: &Value) -> Result<Shape, Refusal> {
    let fields = Fields::of(value, "")?;
    let first = |names: &[&str]| names.iter().any(|name| fields.has(name));
    if first(&["job_version"]) {
        return Ok(Shape::Job);
    }
    if first(&["payload_b64"]) {
        return Ok(Shape::Envelope);
    }
    if first(&["cancel_version"]) {
        return Ok(Shape::Cancel);
    }
    if first(&["job_type"]) {
        return Ok(Shape::Job);
    }
    if first(&["signatures", "approval_version", "withdrawal_version"]) {
        return Ok(Shape::Envelope);
    }
    let only_job_id = value.fields().is_some_and(|all| all.len() == 1) && fields.has("job_id");
    Ok(if only_job_id { Shape::Cancel } else { Shape::Job })
}

/// A requester takes a job back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancel {
    /// The job.
    pub job_id: JobId,
}

/// The fields of a cancel.
pub const CANCEL_FIELDS: [FieldSpec; 2] = [("cancel_version", FieldType::Int), ("job_id", FieldType::Text)];

/// Judges a cancel: version → unknown fields → missing fields → types → values.
///
/// # Errors
/// The first [`Refusal`] in that order.
pub fn parse_cancel(value: &Value) -> Result<Cancel, Refusal> {
    let fields = Fields::of(value, "")?;
    fields.version("cancel_version", 1)?;
    fields.exactly(&CANCEL_FIELDS)?;
    Ok(Cancel {
        job_id: JobId(fields.uuid("job_id")?),
    })
}

#[cfg(test)]
#[path = "cancel_test.rs"]
mod tests;
