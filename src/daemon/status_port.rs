//! What the gateway is told (status.sock). In: a requester's UID and what it asks about. Out: that requester's own receipts, drafts
//! and answers; nothing here changes anything.
//!
//! Not here: HTTP.

use super::render;
use crate::approval::{self, ApprovalPayload, DRAFT_LASTS_MS};
use crate::executor::Gear;
use crate::http::answer::{ApiError, Health};
use crate::http::status::{AtDoor, Changes, DoorAnswer, StatusPort};
use crate::job::document::Job;
use crate::job::{JobId, Sha256};
use crate::ledger::control::{self, Flow};
use crate::sqlite::StorageFault;
use serde_json::{Value, json};
use std::sync::Arc;

/// The port over one role's gear.
#[derive(Debug, Clone)]
pub struct Status {
    gear: Arc<Gear>,
}

impl Status {
    /// A port.
    pub fn new(gear: Arc<Gear>) -> Status {
        Status { gear }
    }
}

/// A storage fault as HTTP says it.
pub fn unavailable(fault: &StorageFault) -> ApiError {
    ApiError::unavailable(fault.to_string())
}

/// The first health reason that holds.
pub fn health(gear: &Gear) -> Health {
    match gear.conditions.list().first() {
        Some(condition) => Health::Unhealthy(condition.reason),
        None => match gear.ledger.read(control::epoch) {
            Ok(_) => Health::Ok,
            Err(fault) => Health::Unhealthy(fault.health_reason()),
        },
    }
}

/// The approval payload for a DELETE, with a fresh nonce.
pub fn draft(gear: &Gear, job: &Job) -> Option<ApprovalPayload> {
    let Job::Delete(delete) = job else { return None };
    let longest = gear
        .policy
        .longest_ms(&delete.vault_path)
        .unwrap_or(DRAFT_LASTS_MS);
    approval::draft(delete, gear.clock.wall(), DRAFT_LASTS_MS.min(longest))
}

impl StatusPort for Status {
    fn health(&self) -> Health {
        health(&self.gear)
    }

    fn receipt(&self, id: JobId, uid: u32) -> Result<Option<Value>, ApiError> {
        let ledger = &self.gear.ledger;
        let row = match ledger.job(id).map_err(|fault| unavailable(&fault))? {
            Some(row) => Some(row),
            None => ledger.answered_by(id, uid).map_err(|fault| unavailable(&fault))?,
        };
        Ok(row.filter(|row| row.uid == uid).map(|row| render::receipt(&row)))
    }

    fn submission(&self, digest: Sha256, uid: u32) -> Result<Option<Value>, ApiError> {
        let ledger = &self.gear.ledger;
        if let Some(row) = ledger
            .job_by_digest(digest, uid)
            .map_err(|fault| unavailable(&fault))?
        {
            return Ok(Some(json!({
                "digest": digest.to_string(), "accepted": true, "job_id": row.job_id, "state": row.state, "code": row.code,
            })));
        }
        let found = ledger
            .submission(digest, uid)
            .map_err(|fault| unavailable(&fault))?;
        Ok(found.map(|one| {
            json!({
                "digest": digest.to_string(),
                "accepted": one.accepted,
                "code": one.code,
                "pointer": one.pointer,
                "message": one.message,
                "subject": one.subject,
                "at": render::time(one.at_ms),
            })
        }))
    }

    fn approval_draft(&self, id: JobId, uid: u32) -> Result<Option<Value>, ApiError> {
        let row = self.gear.ledger.job(id).map_err(|fault| unavailable(&fault))?;
        let Some(row) = row.filter(|row| row.uid == uid) else {
            return Ok(None);
        };
        let Some(job) = row.document(&self.gear.rules()) else {
            return Ok(None);
        };
        let Some(payload) = draft(&self.gear, &job) else {
            return Ok(None);
        };
        let text = String::from_utf8(payload.to_canonical()).map_err(|_| ApiError::internal())?;
        Ok(Some(json!({
            "instance": self.gear.config.instance,
            "namespace": crate::approval::Purpose::Approval.namespace(&self.gear.config.instance),
            "payload": text,
        })))
    }

    fn door(&self, asked: &[AtDoor]) -> Result<DoorAnswer, ApiError> {
        let flow = self
            .gear
            .ledger
            .read(control::flow)
            .map_err(|fault| unavailable(&fault))?;
        let frozen = flow == Flow::Frozen || self.gear.is_frozen_by_file();
        let mut conflicts = Vec::new();
        for (at, one) in asked.iter().enumerate() {
            let row = self
                .gear
                .ledger
                .job(one.job_id)
                .map_err(|fault| unavailable(&fault))?;
            if row.is_some_and(|row| row.digest != one.digest.0 || row.uid != one.uid) {
                conflicts.push(at);
            }
        }
        Ok(DoorAnswer { frozen, conflicts })
    }

    fn changes(&self) -> Changes {
        self.gear.changes.clone()
    }
}
