//! The ledger's tests, and what they share: a ledger in a temporary directory on a clock that stands still.

mod admit;
mod approvals;
mod claim;
mod settle;
mod tamper;
mod transitions;

use super::Ledger;
use super::admit::{Admission, AdmitSettings, Route};
use super::approve::{Received, StoredSignature};
use super::claim::Claimer;
use super::jobs::{Claimed, JobRow};
use super::settle::{Intent, Settlement};
use crate::approval::ApprovalPayload;
use crate::clock::{TestClock, WallMs};
use crate::job::document::{DeleteJob, DocumentRules, Job, parse_job};
use crate::job::{JobId, JobKind, Role, Sha256, State, Uuid4, json, sha256};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const NOW: i64 = 1_796_000_000_000;
pub(super) const UID: u32 = 1000;

pub(super) fn rules() -> DocumentRules {
    DocumentRules {
        vault_root: "/app/vault/".to_owned(),
        object_id_is_path: true,
    }
}

pub(super) fn settings() -> AdmitSettings {
    AdmitSettings {
        approval_wait_ms: 86_400_000,
        submissions_kept: 100,
    }
}

/// A ledger that is removed at the end of its test.
pub(super) struct Bench {
    pub(super) ledger: Ledger,
    pub(super) clock: Arc<TestClock>,
    pub(super) dir: tempfile::TempDir,
    pub(super) role: Role,
}

impl Bench {
    pub(super) fn new(role: Role) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock::at(WallMs(NOW)));
        let ledger = Ledger::open(&dir.path().join("inbox.db"), role, clock.clone()).unwrap();
        Bench {
            ledger,
            clock,
            dir,
            role,
        }
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("inbox.db")
    }

    /// The same file, by a second process as it were.
    pub(super) fn reopen(&self) -> Ledger {
        Ledger::open(&self.path(), self.role, self.clock.clone()).unwrap()
    }

    pub(super) fn job(&self, document: &Value) -> Job {
        let value = json::parse(document.to_string().as_bytes(), json::DOCUMENT_BYTES_MAX).unwrap();
        parse_job(&value, &rules(), self.role).unwrap()
    }

    pub(super) fn admit_as(&self, document: &Value, uid: u32) -> Admission {
        let job = self.job(document);
        self.ledger
            .write(move |tx| tx.admit(&job, uid, Route::Drop, &rules(), &settings()))
            .unwrap()
    }

    pub(super) fn admit(&self, document: &Value) -> JobId {
        match self.admit_as(document, UID) {
            Admission::Admitted { .. } => self.id(document),
            other @ (Admission::Same { .. } | Admission::Refused(_)) => panic!("not admitted: {other:?}"),
        }
    }

    pub(super) fn id(&self, document: &Value) -> JobId {
        JobId::parse(document["job_id"].as_str().unwrap()).unwrap()
    }

    pub(super) fn row(&self, id: JobId) -> JobRow {
        self.ledger.job(id).unwrap().unwrap()
    }

    pub(super) fn state(&self, id: JobId) -> (String, Option<String>, Option<String>) {
        let row = self.row(id);
        (row.state, row.code, row.detail)
    }

    pub(super) fn claim(&self, worker: Uuid4, limit: usize) -> Vec<Claimed> {
        let claimer = claimer(worker);
        self.ledger
            .write(move |tx| tx.claim(&claimer, limit))
            .unwrap()
            .claimed
    }

    pub(super) fn claim_one(&self, worker: Uuid4) -> Claimed {
        let mut claimed = self.claim(worker, 1);
        assert_eq!(claimed.len(), 1, "one job may run");
        claimed.remove(0)
    }

    pub(super) fn execute(&self, job: &Claimed) {
        let job = job.clone();
        let intent = Intent {
            before: None,
            new: Some(sha256(b"new")),
        };
        self.ledger.write(move |tx| tx.executing(&job, &intent)).unwrap();
    }

    pub(super) fn settle(&self, job: &Claimed, from: State, settlement: Settlement) {
        let job = job.clone();
        self.ledger
            .write(move |tx| tx.settle(&job, from, &settlement))
            .unwrap();
    }

    /// Files a complete approval of this DELETE.
    pub(super) fn approve(&self, document: &Value) {
        let Job::Delete(job) = self.job(document) else {
            panic!("a DELETE")
        };
        self.file(&draft(&job), true);
    }

    pub(super) fn file(&self, payload: &ApprovalPayload, complete: bool) -> Option<crate::job::Refusal> {
        let bytes = payload.to_canonical();
        let received = Received {
            uid: UID,
            digest: sha256(&bytes),
            payload: payload.clone(),
            payload_bytes: bytes,
            signatures: vec![StoredSignature {
                key_id: "SHA256:x".into(),
                scheme: "ed25519".into(),
                signature: "s".into(),
            }],
        };
        self.ledger
            .write(move |tx| tx.receive_approval(&received, &|_, _| complete, &rules(), &settings()))
            .unwrap()
    }

    /// What `audit verify` finds.
    pub(super) fn findings(&self) -> Vec<String> {
        super::verify::verify_file(&self.path(), None).unwrap().findings
    }

    /// SQL by hand, as somebody with the file would do it; triggers stay in force.
    pub(super) fn sql(&self, statement: &str) -> Result<usize, rusqlite::Error> {
        rusqlite::Connection::open(self.path())
            .unwrap()
            .execute(statement, [])
    }

    /// SQL by somebody who also drops the triggers.
    pub(super) fn tamper(&self, statement: &str) {
        let db = rusqlite::Connection::open(self.path()).unwrap();
        let triggers: Vec<String> = db
            .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for name in triggers {
            db.execute(&format!("DROP TRIGGER {name}"), []).unwrap();
        }
        assert_ne!(
            db.execute(statement, []).unwrap(),
            0,
            "the statement must change something: {statement}"
        );
    }
}

pub(super) fn claimer(worker: Uuid4) -> Claimer {
    Claimer {
        worker,
        lease_ms: 60_000,
        rules: rules(),
    }
}

pub(super) fn draft(job: &DeleteJob) -> ApprovalPayload {
    crate::approval::draft(job, WallMs(NOW), 3_600_000).unwrap()
}

fn uuid() -> String {
    Uuid4::random().to_string()
}

pub(super) fn save(path: &str) -> Value {
    json!({
        "job_version": 1, "job_id": uuid(), "mission_id": uuid(), "job_type": "C5_SAVE_OBJECT", "object_id": path,
        "vault_path": format!("/app/vault/{path}"), "source_commit": "1f".repeat(20), "provenance_hash": "dd".repeat(32),
        "expected_state": format!("sha256:{}", "6f".repeat(32)), "created_at": "2026-11-30T12:00:00Z", "idempotency_key": uuid(),
    })
}

pub(super) fn delete(path: &str) -> Value {
    json!({
        "job_version": 1, "job_id": uuid(), "mission_id": uuid(), "delete_request_id": uuid(), "job_type": "C5_DELETE_OBJECT",
        "object_id": path, "vault_path": format!("/app/vault/{path}"), "expected_commit": "1f".repeat(20),
        "expected_provenance_hash": "dd".repeat(32), "approval_id": uuid(), "created_at": "2026-11-30T12:00:00Z",
        "idempotency_key": uuid(),
    })
}

pub(super) fn kind_of(role: Role) -> JobKind {
    match role {
        Role::Save => JobKind::Save,
        Role::Delete | Role::Gateway => JobKind::Delete,
    }
}

#[test]
fn a_ledger_of_another_role_or_of_a_newer_program_is_refused_unchanged() {
    let bench = Bench::new(Role::Save);
    let wrong = Ledger::open(&bench.path(), Role::Delete, bench.clock.clone()).unwrap_err();
    assert!(wrong.to_string().contains("ledger of the role save"), "{wrong}");
    bench.sql("PRAGMA user_version = 999").unwrap_or(0);
    let db = rusqlite::Connection::open(bench.path()).unwrap();
    db.pragma_update(None, "user_version", 999).unwrap();
    drop(db);
    let newer = Ledger::open(&bench.path(), Role::Save, bench.clock.clone()).unwrap_err();
    assert!(newer.to_string().contains("newer"), "{newer}");
}

#[test]
fn the_schema_is_what_its_dump_says() {
    let bench = Bench::new(Role::Save);
    let dump = bench
        .ledger
        .read(|db| {
            let mut statement =
                db.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?.join(";\n\n") + ";\n")
        })
        .unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/current.sql");
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        kept == dump,
        "schema/current.sql is not what the migrations make; it should be:\n{dump}"
    );
}

pub(super) fn hash(byte: u8) -> Sha256 {
    Sha256([byte; 32])
}
