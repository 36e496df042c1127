//! What operators see and do (admin.sock). In: verbs with a UID and a reason. Out: views, and changes that leave an OPERATOR row.
//!
//! Not here: HTTP, the rules of each verb (ledger/operator).

use super::status_port::{health, unavailable};
use super::{backup, metrics, render, why};
use crate::executor::{Gear, cut_off, published};
use crate::http::admin::{AdminPort, AuditHead, JobsQuery, Resolution, Verb, VerbBody, VerbTarget};
use crate::http::answer::{ApiError, Health, json_int};
use crate::job::{JobId, Role, State, VaultPath};
use crate::ledger::control::Switch;
use crate::ledger::jobs::JobRow;
use crate::ledger::operator::{Evidence, WorkerFacts};
use crate::ledger::{LedgerError, Tx, WriteResult, verify};
use crate::sqlite::WriteError;
use crate::target::Seen;
use serde_json::{Value, json};
use std::sync::Arc;

/// Jobs handled by one bulk verb; the answer says if there are more.
const BULK_MAX: i64 = 500;

/// The port over one role's gear.
#[derive(Debug, Clone)]
pub struct Admin {
    gear: Arc<Gear>,
}

impl Admin {
    /// A port.
    pub fn new(gear: Arc<Gear>) -> Admin {
        Admin { gear }
    }

    fn row(&self, id: JobId) -> Result<JobRow, ApiError> {
        let row = self.gear.ledger.job(id).map_err(|fault| unavailable(&fault))?;
        row.ok_or_else(|| ApiError::not_found(format!("the role {} has no job {id}", self.gear.role)))
    }

    fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Tx<'_>) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let written = answer(self.gear.ledger.write(write));
        if written.is_ok() {
            self.gear.changed();
        }
        written
    }

    fn facts(&self, row: &JobRow) -> WorkerFacts {
        let state_dir = self.gear.config.layout.state_dir(self.gear.role);
        let holder = row.last_worker.as_deref().and_then(crate::job::Uuid4::parse);
        let lives = holder.is_some_and(|id| crate::workers::is_alive(&state_dir, id).unwrap_or(true));
        WorkerFacts {
            holder_lives: lives,
            deadline_ms: self.gear.vault.deadline_ms(),
        }
    }

    /// Looks at the target and says what is there, beside what was sent.
    fn evidence(&self, row: &JobRow) -> Result<(Value, &'static str), ApiError> {
        let Some(job) = row.document(&self.gear.rules()) else {
            return Err(ApiError::new(
                409,
                "tampered",
                "the stored job no longer is what was admitted",
            ));
        };
        // An absence that is only ours is no evidence: what an interrupted delete set aside goes back first.
        let is_clear = cut_off::put_right(&self.gear, row) != cut_off::Found::Unknown;
        let seen = self.gear.vault.look(job.vault_path());
        let (before, new) = (row.before(), row.new_bytes());
        let deletes = row.approval_id.is_some();
        let (now, evidence) = match &seen {
            Err(down) => (json!({ "unreachable": down.to_string() }), "unreachable"),
            Ok(Seen::Unreadable) => (json!("unreadable"), "unreadable"),
            Ok(Seen::Absent) if !is_clear => (json!("absent, but somebody works on the path"), "unreachable"),
            Ok(Seen::Absent) => (
                json!("absent"),
                if deletes { "applied" } else { absent_means(before) },
            ),
            Ok(Seen::Bytes { sha256, .. }) => {
                let word = if new == Some(*sha256) {
                    "applied"
                } else if before == Some(Some(*sha256)) {
                    "not_applied"
                } else {
                    "other_bytes"
                };
                (json!(format!("sha256:{sha256}")), word)
            }
        };
        // Whatever is there now, nothing of this job was sent.
        let evidence = if row.sent_ms.is_none() {
            "not_sent"
        } else {
            evidence
        };
        let value = json!({
            "job_id": row.job_id,
            "state": row.state,
            "vault_path": row.vault_path,
            "now": now,
            "before": before.map(|b| b.map_or_else(|| "absent".to_owned(), |hash| format!("sha256:{hash}"))),
            "new": new.map(|hash| format!("sha256:{hash}")),
            "intent_durable_at": row.sent_ms.map(render::time),
            "detail": row.detail,
            "evidence": evidence,
            "advice": "check first: this is what is there now, not who put it there",
        });
        Ok((value, evidence))
    }

    fn one(&self, verb: Verb, row: &JobRow, uid: u32, reason: &str) -> Result<Value, ApiError> {
        let id = JobId::parse(&row.job_id).ok_or_else(ApiError::internal)?;
        let reason = reason.to_owned();
        match verb {
            Verb::Cancel => self.write(move |tx| tx.cancel(id, uid, true, &reason))?,
            Verb::Resolve(resolution) => {
                self.nothing_set_aside(row)?;
                let facts = self.facts(row);
                let evidence = match resolution {
                    Resolution::Applied => Evidence::Applied,
                    Resolution::NotApplied => Evidence::NotApplied,
                };
                self.write(move |tx| tx.resolve(id, evidence, uid, &reason, &facts))?;
                self.unpublish(row);
            }
            Verb::Requeue => {
                let (facts, rules) = (self.facts(row), self.gear.rules());
                let wait = self.gear.terms.approval_wait_ms;
                self.write(move |tx| tx.requeue(id, uid, &reason, &facts, &rules, wait))?;
            }
            Verb::Probe => {
                let (value, evidence) = self.evidence(row)?;
                let note = format!("probe {id}: {evidence}; {reason}");
                self.write(move |tx| tx.record_operator(uid, &note))?;
                return Ok(value);
            }
            Verb::Adopt
            | Verb::Pause
            | Verb::Resume
            | Verb::Freeze
            | Verb::Unfreeze
            | Verb::ClockAccept
            | Verb::BackupCreate
            | Verb::BackupVerify => return Err(ApiError::not_found("not a verb for a job")),
        }
        Ok(render::job(&self.row(id)?))
    }

    /// Whoever resolves a job looked at a path from which nothing of it is missing.
    fn nothing_set_aside(&self, row: &JobRow) -> Result<(), ApiError> {
        match cut_off::put_right(&self.gear, row) {
            cut_off::Found::Nothing | cut_off::Found::Unknown => Ok(()),
            cut_off::Found::PutRight => Err(ApiError::new(
                409,
                "conflict",
                "the interrupted delete had set the file aside; it was put back just now: check again, then resolve",
            )),
        }
    }

    /// A resolved path is free for the other role.
    fn unpublish(&self, row: &JobRow) {
        let rules = self.gear.rules();
        if let Ok(path) = VaultPath::parse(&rules.vault_root, &row.vault_path)
            && let Err(fault) = published::take_off(&self.gear, &path)
        {
            tracing::warn!(%fault, "a resolved path stays published for now");
        }
    }

    fn all(&self, verb: Verb, if_evidence: Option<&str>, uid: u32, reason: &str) -> Result<Value, ApiError> {
        let state = match verb {
            Verb::Cancel => State::Ready,
            Verb::Resolve(_)
            | Verb::Requeue
            | Verb::Probe
            | Verb::Adopt
            | Verb::Pause
            | Verb::Resume
            | Verb::Freeze
            | Verb::Unfreeze
            | Verb::ClockAccept
            | Verb::BackupCreate
            | Verb::BackupVerify => State::OutcomeUnknown,
        };
        let rows = self
            .gear
            .ledger
            .page(Some(state), None, BULK_MAX)
            .map_err(|fault| unavailable(&fault))?;
        let (mut done, mut skipped) = (Vec::new(), Vec::new());
        let more = i64::try_from(rows.len()).unwrap_or(0) == BULK_MAX;
        for row in rows {
            if let Some(wanted) = if_evidence {
                let found = self.evidence(&row).map_or("unknown", |(_, word)| word);
                let matches = found == wanted || row.detail.as_deref() == Some(wanted);
                if !matches {
                    skipped.push(json!({ "job_id": row.job_id, "evidence": found }));
                    continue;
                }
            }
            match self.one(verb, &row, uid, reason) {
                Ok(value) => done.push(value),
                Err(error) => skipped.push(json!({ "job_id": row.job_id, "error": error.message })),
            }
        }
        Ok(json!({ "done": done, "skipped": skipped, "more": more }))
    }

    fn of_role(&self, verb: Verb, uid: u32, reason: &str) -> Result<Value, ApiError> {
        let text = reason.to_owned();
        let switch = |switch, on| {
            let text = reason.to_owned();
            self.write(move |tx| tx.switch(switch, on, uid, &text))
        };
        match verb {
            Verb::Pause => switch(Switch::Pause, true)?,
            Verb::Resume => {
                switch(Switch::Pause, false)?;
                self.gear.conditions.credential_ok();
                self.gear.changed();
            }
            Verb::Freeze => switch(Switch::Freeze, true)?,
            Verb::Unfreeze => switch(Switch::Freeze, false)?,
            Verb::ClockAccept => {
                let high = self
                    .gear
                    .spent
                    .as_ref()
                    .and_then(crate::spent::SpentLog::highest_wall_ms);
                self.write(move |tx| {
                    tx.accept_clock(uid, &text)?;
                    tx.keep(
                        "clock_accepted_over_ms",
                        &high.map_or(0, |high| high.0).to_string(),
                    )
                })?;
            }
            Verb::BackupCreate => return backup::create(&self.gear, uid, reason),
            Verb::Cancel
            | Verb::Resolve(_)
            | Verb::Requeue
            | Verb::Probe
            | Verb::Adopt
            | Verb::BackupVerify => {
                return Err(ApiError::not_found("not a verb for a role"));
            }
        }
        self.overview()
    }

    fn adopt(&self, path: &str, uid: u32, reason: &str) -> Result<Value, ApiError> {
        let rules = self.gear.rules();
        let path = VaultPath::parse(&rules.vault_root, path)
            .map_err(|error| ApiError::field(error.code, "/path", error.message))?;
        if self.gear.role != Role::Save {
            return Err(ApiError::not_found("adopt is for the role save"));
        }
        let seen = self
            .gear
            .vault
            .look(&path)
            .map_err(|down| ApiError::unavailable(down.to_string()))?;
        let bytes = match seen {
            Seen::Absent => None,
            Seen::Bytes { sha256, .. } => Some(sha256),
            Seen::Unreadable => {
                return Err(ApiError::new(
                    409,
                    "target_drift",
                    "what is at the path cannot be read as a file; look at it",
                ));
            }
        };
        let (text, reason) = (path.as_str().to_owned(), reason.to_owned());
        self.write(move |tx| tx.adopt(&text, bytes, uid, &reason))?;
        Ok(
            json!({ "vault_path": path.as_str(), "adopted": bytes.map_or_else(|| "absent".to_owned(), |hash| format!("sha256:{hash}")) }),
        )
    }
}

fn absent_means(before: Option<Option<crate::job::Sha256>>) -> &'static str {
    if before == Some(None) {
        "not_applied"
    } else {
        "other_bytes"
    }
}

/// A ledger's answer as HTTP says it.
fn answer<T>(written: WriteResult<T>) -> Result<T, ApiError> {
    written.map_err(|error| match error {
        WriteError::Storage(fault) => unavailable(&fault),
        WriteError::Inner(LedgerError::NoSuchJob(id)) => ApiError::not_found(format!("no job {id} here")),
        WriteError::Inner(error @ LedgerError::TooEarly { .. }) => {
            ApiError::new(409, "too_early", error.to_string()).retry_after(5)
        }
        WriteError::Inner(error @ LedgerError::WrongState { .. }) => {
            ApiError::new(409, "wrong_state", error.to_string())
        }
        WriteError::Inner(error) => ApiError::new(409, "conflict", error.to_string()),
    })
}

impl AdminPort for Admin {
    fn health(&self) -> Health {
        health(&self.gear)
    }

    fn metrics(&self) -> String {
        metrics::page(&self.gear)
    }

    fn overview(&self) -> Result<Value, ApiError> {
        let overview = self.gear.ledger.overview().map_err(|fault| unavailable(&fault))?;
        let conditions: Vec<Value> = self
            .gear
            .conditions
            .list()
            .into_iter()
            .map(|condition| json!({ "reason": condition.reason, "text": condition.text }))
            .collect();
        let flow = if self.gear.is_frozen_by_file() {
            "frozen"
        } else {
            overview.flow.as_str()
        };
        Ok(json!({
            "role": self.gear.role.as_str(),
            "version": env!("CARGO_PKG_VERSION"),
            "flow": flow,
            "frozen_by_file": self.gear.is_frozen_by_file(),
            "epoch": overview.epoch,
            "instance": self.gear.config.instance,
            "jobs": overview.counts.get("jobs"),
            "settled": overview.counts.get("settled"),
            "refused": overview.counts.get("refused"),
            "audit": { "size": json_int(overview.head.size), "hash": overview.head.hash.to_string() },
            "conditions": conditions,
            "leases": self.gear.leases.count(),
            "restored": self.gear.ledger.kept("restored_ms").ok().flatten().and_then(|ms| ms.parse().ok()).map(render::time),
        }))
    }

    fn jobs(&self, query: JobsQuery) -> Result<Value, ApiError> {
        let before = match &query.after {
            None => None,
            Some(text) => Some(
                text.parse::<i64>()
                    .map_err(|_| ApiError::bad_request("after is a cursor of the page before"))?,
            ),
        };
        let limit = i64::try_from(query.limit).unwrap_or(100).min(500);
        let rows = self
            .gear
            .ledger
            .page(query.state, before, limit)
            .map_err(|fault| unavailable(&fault))?;
        let next = if i64::try_from(rows.len()).unwrap_or(0) == limit {
            rows.last().map(|row| row.seq.to_string())
        } else {
            None
        };
        Ok(json!({ "jobs": rows.iter().map(render::job).collect::<Vec<_>>(), "next": next }))
    }

    fn job(&self, id: JobId) -> Result<Value, ApiError> {
        let row = self.row(id)?;
        let rows = self
            .gear
            .ledger
            .audit_of(row.seq)
            .map_err(|fault| unavailable(&fault))?;
        let document: Value = serde_json::from_slice(&row.body).unwrap_or(Value::Null);
        Ok(
            json!({ "job": render::job(&row), "document": document, "audit": rows.iter().map(render::audit).collect::<Vec<_>>() }),
        )
    }

    fn why(&self, id: JobId) -> Result<Value, ApiError> {
        why::explain(&self.gear, &self.row(id)?).map_err(|fault| unavailable(&fault))
    }

    fn audit(&self, after: Option<i64>, limit: usize) -> Result<Value, ApiError> {
        let limit = i64::try_from(limit).unwrap_or(100);
        let rows = self
            .gear
            .ledger
            .audit_page(after.unwrap_or(0), limit)
            .map_err(|fault| unavailable(&fault))?;
        let next = if i64::try_from(rows.len()).unwrap_or(0) == limit {
            rows.last().map(|row| json_int(row.seq))
        } else {
            None
        };
        Ok(json!({ "rows": rows.iter().map(render::audit).collect::<Vec<_>>(), "next": next }))
    }

    fn checkpoint(&self) -> Result<Value, ApiError> {
        let head = self.gear.ledger.head().map_err(|fault| unavailable(&fault))?;
        Ok(
            json!({ "role": self.gear.role.as_str(), "size": json_int(head.size), "hash": head.hash.to_string(),
            "at": render::time(self.gear.clock.wall().0) }),
        )
    }

    fn audit_verify(&self, head: Option<AuditHead>) -> Result<Value, ApiError> {
        let old = head.map(|head| (head.size, head.hash));
        let report =
            verify::verify_file(self.gear.ledger.path(), old).map_err(|fault| unavailable(&fault))?;
        Ok(render::verdict(&report))
    }

    fn verb(&self, verb: Verb, target: VerbTarget, by_uid: u32, body: VerbBody) -> Result<Value, ApiError> {
        match target {
            VerbTarget::Role => self.of_role(verb, by_uid, &body.reason),
            VerbTarget::Job(id) => {
                let row = self.row(id)?;
                self.one(verb, &row, by_uid, &body.reason)
            }
            VerbTarget::All { if_evidence } => self.all(verb, if_evidence.as_deref(), by_uid, &body.reason),
            VerbTarget::Path(path) => self.adopt(&path, by_uid, &body.reason),
            VerbTarget::Backup(name) => backup::verify(&self.gear, &name),
        }
    }

    fn recover(&self, id: JobId, by_uid: u32, body: VerbBody) -> Result<Vec<u8>, ApiError> {
        let row = self.row(id)?;
        let Some(recovery) = &self.gear.recovery else {
            return Err(ApiError::not_found(
                "this role keeps no recovery copies, or its recovery-key is missing",
            ));
        };
        let recovered = recovery
            .open(&id)
            .map_err(|fault| ApiError::new(409, "not_recovered", fault.to_string()))?;
        if recovered.vault_path != row.vault_path {
            return Err(ApiError::new(
                409,
                "not_recovered",
                "the recovery copy is of another path",
            ));
        }
        let note = format!("recover {id}: {}", body.reason);
        self.write(move |tx| tx.record_operator(by_uid, &note))?;
        Ok(recovered.bytes.to_vec())
    }

    fn backups(&self) -> Result<Value, ApiError> {
        backup::list(&self.gear)
    }
}
