//! Admission's durable half. In: a judged document. Out: a READY job, the stored answer of an earlier one, or a refusal
//! on record.
//!
//! A refusal takes neither job_id nor idempotency_key. Not here: the pure judgement (admission/).

use super::audit::{AuditKind, Entry};
use super::error::LedgerError;
use super::jobs::JobRow;
use super::tx::Tx;
use super::{clip, rows_jobs as sql, rows_views};
use crate::admission::{Answer, Identity, Known, idempotency};
use crate::job::document::{DocumentRules, Job};
use crate::job::{Code, Refusal, Sha256, State};
use rusqlite::{OptionalExtension, params};

/// How a document reached the role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// A file in drop/.
    Drop,
    /// A file in gate/, the requester stated by the gateway.
    Gateway,
}

impl Route {
    /// The stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Route::Drop => "drop",
            Route::Gateway => "gateway",
        }
    }
}

/// What became of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// A new job.
    Admitted { seq: i64 },
    /// The same document, or the same idempotency key: the first job's answer stands.
    Same { job_id: String },
    /// It never became a job.
    Refused(Refusal),
}

/// Settings that admission needs.
#[derive(Debug, Clone, Copy)]
pub struct AdmitSettings {
    /// How long a DELETE waits for its approval, ms; 0 denies at once.
    pub approval_wait_ms: i64,
    /// Refusals and other answers kept, rows.
    pub submissions_kept: i64,
}

impl Tx<'_> {
    /// Admits one judged job, or answers as the idempotency rules say.
    ///
    /// # Errors
    /// A storage error.
    pub fn admit(
        &mut self,
        job: &Job,
        uid: u32,
        route: Route,
        rules: &DocumentRules,
        settings: &AdmitSettings,
    ) -> Result<Admission, LedgerError> {
        let (job_id, key) = (job.job_id().to_string(), job.idempotency_key().to_string());
        let by_id = self.job_by(sql::BY_ID, &job_id)?;
        let by_key = self.job_by(sql::BY_KEY, &key)?;
        let (by_id, by_key) = (by_id.as_ref().and_then(known), by_key.as_ref().and_then(known));
        match idempotency(&Identity::of(job, uid), by_id.as_ref(), by_key.as_ref()) {
            Answer::New => {}
            Answer::SameAnswer { job_id: first } => {
                let first = first.to_string();
                if first != job_id {
                    // Another id with the same key: whoever asks for this document is told which job answers it.
                    self.submission(uid, job.digest(), None, Some(&first), settings.submissions_kept)?;
                    self.db
                        .prepare_cached(rows_views::SUBMISSION_ASKED)?
                        .execute(params![uid, job.digest().0, job_id])?;
                }
                return Ok(Admission::Same { job_id: first });
            }
            Answer::Conflict(refusal) => {
                self.refuse(uid, job.digest(), &refusal, settings.submissions_kept)?;
                return Ok(Admission::Refused(refusal));
            }
        }
        let seq = self.insert(job, &job_id, &key, uid, route)?;
        if let Job::Delete(delete) = job {
            self.reconsider(seq, delete, rules, settings.approval_wait_ms)?;
        }
        Ok(Admission::Admitted { seq })
    }

    fn insert(
        &mut self,
        job: &Job,
        job_id: &str,
        key: &str,
        uid: u32,
        route: Route,
    ) -> Result<i64, LedgerError> {
        let mission = job.mission_id().to_string();
        let approval = job.approval_id().map(|id| id.to_string());
        let canonical = job.canonical();
        self.db.prepare_cached(sql::INSERT)?.execute(params![
            job_id,
            job.kind().as_str(),
            uid,
            route.as_str(),
            job.digest().0,
            canonical,
            key,
            job.idempotency_digest().0,
            mission,
            job.object_id().as_str(),
            job.vault_path().as_str(),
            job.commit().as_str(),
            job.provenance().0,
            approval,
            job.created_at().as_str(),
            self.now.0,
            Option::<&str>::None,
        ])?;
        let seq = self.db.last_insert_rowid();
        self.audit(
            AuditKind::Requested,
            &Entry {
                job_seq: Some(seq),
                job_id: Some(job_id),
                mission_id: Some(&mission),
                job_type: Some(job.kind().as_str()),
                object_id: Some(job.object_id().as_str()),
                to: Some(State::Ready),
                attempt: Some(0),
                approval_id: approval.as_deref(),
                uid: Some(uid),
                provenance: Some(*job.provenance()),
                note: (route == Route::Gateway).then_some("via gateway"),
                ..Entry::default()
            },
        )?;
        self.count("jobs", State::Ready.as_str(), 1);
        self.count("admitted", job.kind().as_str(), 1);
        self.live(uid, 1, i64::try_from(canonical.len()).unwrap_or(i64::MAX));
        self.event(
            "job.admitted",
            ("job", job_id),
            Some(&mission),
            &serde_json::json!({ "job_id": job_id, "job_type": job.kind().as_str(), "object_id": job.object_id().as_str(),
                "vault_path": job.vault_path().as_str() }),
        )?;
        Ok(seq)
    }

    /// Puts a refusal on record: a bounded table keyed by requester and digest, and one audit row the first time.
    ///
    /// # Errors
    /// A storage error.
    pub fn refuse(
        &mut self,
        uid: u32,
        digest: Sha256,
        refusal: &Refusal,
        keep: i64,
    ) -> Result<(), LedgerError> {
        let first = self.submission(uid, digest, Some(refusal), None, keep)?;
        self.count("refused", refusal.code.as_str(), 1);
        if first {
            let note = format!("{} {}", digest, clip(&refusal.pointer, 200));
            self.audit(
                AuditKind::Refused,
                &Entry {
                    code: Some(refusal.code),
                    uid: Some(uid),
                    note: Some(&note),
                    ..Entry::default()
                },
            )?;
            self.event(
                "job.refused",
                ("submission", &digest.to_string()),
                None,
                &serde_json::json!({ "digest": digest.to_string(), "code": refusal.code.as_str(), "uid": uid }),
            )?;
        }
        Ok(())
    }

    /// Records what became of a document that is not a job of its own. `true` if it was not on record before.
    pub(super) fn submission(
        &mut self,
        uid: u32,
        digest: Sha256,
        refusal: Option<&Refusal>,
        subject: Option<&str>,
        keep: i64,
    ) -> Result<bool, LedgerError> {
        let times: i64 = self.db.prepare_cached(rows_views::SUBMISSION_PUT)?.query_row(
            params![
                uid,
                digest.0,
                refusal.is_none(),
                refusal.map(|r| r.code.as_str()),
                refusal.map(|r| clip(&r.pointer, 250)),
                refusal.map(|r| clip(&r.message, 500)),
                subject,
                self.now.0
            ],
            |row| row.get(0),
        )?;
        if times == 1 {
            self.db
                .prepare_cached(rows_views::SUBMISSION_TRIM)?
                .execute([keep])?;
        }
        Ok(times == 1)
    }

    pub(super) fn job_by(&self, statement: &str, id: &str) -> Result<Option<JobRow>, LedgerError> {
        Ok(self
            .db
            .prepare_cached(statement)?
            .query_row([id], JobRow::read)
            .optional()?)
    }

    /// Every job that a statement finds.
    pub(super) fn jobs_by(
        &self,
        statement: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<JobRow>, LedgerError> {
        let mut statement = self.db.prepare_cached(statement)?;
        let rows = statement.query_map(params, JobRow::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(super) fn job_by_seq(&self, seq: i64) -> Result<Option<JobRow>, LedgerError> {
        Ok(self
            .db
            .prepare_cached(sql::BY_SEQ)?
            .query_row([seq], JobRow::read)
            .optional()?)
    }

    /// READY → REJECTED or FAILED without a lease: expired, denied, cancelled, exhausted.
    pub(super) fn settle_ready(
        &mut self,
        row: &JobRow,
        to: State,
        code: Code,
        detail: Option<&str>,
        uid: Option<u32>,
    ) -> Result<(), LedgerError> {
        self.leave_unleased(row, State::Ready, to, code, detail, uid, None)
    }
}

fn known(row: &JobRow) -> Option<Known> {
    Some(Known {
        job_id: crate::job::JobId::parse(&row.job_id)?,
        digest: Sha256(row.digest.as_slice().try_into().ok()?),
        idempotency_digest: Sha256(row.idempotency_digest.as_slice().try_into().ok()?),
        uid: row.uid,
    })
}
