//! An installation in a temporary directory, roles in this process on a clock that stands still, and roles as real processes.

pub mod process;
pub mod vault;

use lockgate::approval::{ApprovalPayload, Purpose};
use lockgate::clock::{SharedClock, TestClock, WallMs};
use lockgate::config::{self, Installation};
use lockgate::credentials::{CredentialName, create_playground_key};
use lockgate::daemon::start::{self, Outside};
use lockgate::executor::probe::Probing;
use lockgate::executor::{Gear, intake as intake_loop, work};
use lockgate::intake::Intake;
use lockgate::job::document::{DocumentRules, Job, parse_job};
use lockgate::job::{CommitId, JobId, Role, Uuid4, json, sha256};
use lockgate::ledger::jobs::JobRow;
use lockgate::signing::key::{ApproverKey, Scheme};
use lockgate::source::playground::{self, Format};
use lockgate::target::DirectoryVault;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const NOW: i64 = 1_796_000_000_000;
pub const REPOSITORY: &str = "local/source";

/// An installation's directory, with one approver.
pub struct Site {
    temp: tempfile::TempDir,
    pub key: ApproverKey,
    pub instance: String,
}

impl Site {
    pub fn new() -> Site {
        Site::with("")
    }

    /// `extra` is appended to lockgate.toml.
    pub fn with(extra: &str) -> Site {
        let temp = tempfile::Builder::new().prefix("lg").tempdir().unwrap();
        let dir = temp.path();
        let (instance, vault_id) = (Uuid4::random().to_string(), Uuid4::random().to_string());
        let key = ApproverKey::generate().unwrap();
        std::fs::write(
            dir.join("lockgate.toml"),
            config::default_toml(&instance, &vault_id) + extra,
        )
        .unwrap();
        std::fs::write(
            dir.join("approvers"),
            format!("ada@example.org {}\n", key.public().to_openssh()),
        )
        .unwrap();
        playground::create(
            &dir.join("source"),
            Format::Sha1,
            &[("README.md", Some(b"notes\n"))],
            NOW / 1000 - 10_000,
        )
        .unwrap();
        DirectoryVault::create(&dir.join("vault"), &vault_id).unwrap();
        lockgate::fence::create_for_development(&dir.join("fence")).unwrap();
        for role in Role::EXECUTORS {
            for one in [
                format!("state/{role}"),
                format!("spool/{role}/drop"),
                format!("spool/{role}/gate"),
                format!("run/{role}"),
            ] {
                std::fs::create_dir_all(dir.join(one)).unwrap();
            }
            std::fs::set_permissions(
                dir.join(format!("state/{role}")),
                std::os::unix::fs::PermissionsExt::from_mode(0o700),
            )
            .unwrap();
        }
        std::fs::create_dir_all(dir.join("state/gateway")).unwrap();
        create_playground_key(
            &dir.join("credentials"),
            Role::Delete,
            CredentialName::RecoveryKey,
        )
        .unwrap();
        let site = Site { temp, key, instance };
        // Each role once, so that its list of unresolved paths is there for the other.
        for role in Role::EXECUTORS {
            let others = Role::EXECUTORS
                .into_iter()
                .filter(|other| *other != role)
                .collect();
            let fence = lockgate::fence::FenceDir::open(&site.dir().join("fence"), role, others).unwrap();
            fence.begin_reset().unwrap().finish(&[]).unwrap();
        }
        site
    }

    pub fn dir(&self) -> &Path {
        self.temp.path()
    }

    pub fn config(&self) -> config::Config {
        config::load(&Installation::Dir(self.dir().to_path_buf())).unwrap()
    }

    /// Commits files to the source.
    pub fn commit(&self, changes: &[(&str, Option<&str>)]) -> CommitId {
        let changes: Vec<(&str, Option<&[u8]>)> = changes
            .iter()
            .map(|(path, text)| (*path, text.map(str::as_bytes)))
            .collect();
        playground::commit(&self.dir().join("source"), &changes, "change", NOW / 1000 - 5_000).unwrap()
    }

    pub fn in_vault(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.dir().join("vault").join(path)).ok()
    }

    pub fn put_in_vault(&self, path: &str, text: &str) {
        let file = self.dir().join("vault").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub fn save_job(&self, path: &str, commit: &CommitId, text: &str) -> Value {
        json!({
            "job_version": 1, "job_id": uuid(), "mission_id": uuid(), "job_type": "C5_SAVE_OBJECT", "object_id": path,
            "vault_path": format!("/app/vault/{path}"), "source_commit": commit.as_str(),
            "provenance_hash": provenance(commit, path, text), "expected_state": format!("sha256:{}", sha256(text.as_bytes())),
            "created_at": "2026-11-30T12:00:00Z", "idempotency_key": uuid(),
        })
    }

    pub fn delete_job(&self, path: &str, commit: &CommitId, text: &str) -> Value {
        json!({
            "job_version": 1, "job_id": uuid(), "mission_id": uuid(), "delete_request_id": uuid(), "job_type": "C5_DELETE_OBJECT",
            "object_id": path, "vault_path": format!("/app/vault/{path}"), "expected_commit": commit.as_str(),
            "expected_provenance_hash": provenance(commit, path, text), "approval_id": uuid(),
            "created_at": "2026-11-30T12:00:00Z", "idempotency_key": uuid(),
        })
    }

    /// The approval of a DELETE document, from now on.
    pub fn payload(&self, job: &Value, now: WallMs) -> ApprovalPayload {
        let Job::Delete(job) = parsed(job, Role::Delete) else {
            panic!("a DELETE")
        };
        lockgate::approval::draft(&job, now, 3_600_000).unwrap()
    }

    pub fn envelope(&self, payload: &ApprovalPayload) -> Value {
        self.envelope_by(&[&self.key], &payload.to_canonical())
    }

    pub fn envelope_by(&self, keys: &[&ApproverKey], bytes: &[u8]) -> Value {
        let mut envelope = lockgate::approval::Envelope::unsigned(bytes.to_vec());
        for key in keys {
            envelope
                .add(key.sign(Scheme::Ed25519, Purpose::Approval, &self.instance, bytes))
                .unwrap();
        }
        serde_json::from_slice(&envelope.to_canonical()).unwrap()
    }

    /// Drops a document as a requester does.
    pub fn drop_file(&self, role: Role, name: &str, bytes: &[u8]) {
        let dir = self.dir().join(format!("spool/{role}/drop"));
        let hidden = dir.join(format!(".{name}"));
        std::fs::write(&hidden, bytes).unwrap();
        std::fs::rename(hidden, dir.join(name)).unwrap();
    }

    pub fn drop_json(&self, role: Role, document: &Value) {
        self.drop_file(role, &format!("{}.json", uuid()), document.to_string().as_bytes());
    }

    /// A role in this process.
    pub fn role(&self, role: Role) -> Rig {
        self.role_on(role, Arc::new(TestClock::at(WallMs(NOW))))
    }

    pub fn role_on(&self, role: Role, clock: Arc<TestClock>) -> Rig {
        let config = self.config();
        let outside = Outside::configured(&config);
        self.role_with(role, clock, outside)
    }

    /// A role whose vault answers as `fates` say.
    pub fn scripted(&self, role: Role, fates: &[vault::Fate]) -> (Rig, Arc<vault::Scripted>) {
        let outside = Outside::configured(&self.config());
        let scripted = vault::Scripted::new(outside.vault.clone(), fates);
        let clock = Arc::new(TestClock::at(WallMs(NOW)));
        let vault = scripted.clone();
        (
            self.role_with(role, clock, Outside { vault, ..outside }),
            scripted,
        )
    }

    pub fn role_with(&self, role: Role, clock: Arc<TestClock>, outside: Outside) -> Rig {
        let shared: SharedClock = clock.clone();
        let gear = start::executor_on(self.config(), role, shared, outside)
            .unwrap_or_else(|no| panic!("{}", no.message));
        let intake = Intake::open(lockgate::daemon::role::intake_settings(&gear)).unwrap();
        Rig {
            gear,
            intake,
            probing: Probing::default(),
            clock,
        }
    }

    pub fn spool(&self, role: Role) -> PathBuf {
        self.dir().join(format!("spool/{role}"))
    }
}

/// A role in this process: nothing runs by itself.
pub struct Rig {
    pub gear: Gear,
    intake: Intake,
    probing: Probing,
    pub clock: Arc<TestClock>,
}

impl Rig {
    /// Reads the drop directories and works until there is nothing to do.
    pub fn settle(&mut self) {
        for _ in 0..200 {
            let more_files =
                intake_loop::pass(&self.gear, &mut self.intake).unwrap() == intake_loop::Pass::More;
            let more_work = work::pass(&self.gear, &mut self.probing).unwrap();
            self.gear.conditions.passed();
            if !more_files && !more_work {
                return;
            }
        }
        panic!("a role that never comes to rest");
    }

    /// Only the drop directories.
    pub fn read_files(&mut self) {
        while intake_loop::pass(&self.gear, &mut self.intake).unwrap() == intake_loop::Pass::More {}
    }

    /// One pass over the jobs.
    pub fn try_work(&mut self) -> Result<bool, lockgate::sqlite::StorageFault> {
        work::pass(&self.gear, &mut self.probing)
    }

    /// Only the jobs.
    pub fn work(&mut self) {
        while work::pass(&self.gear, &mut self.probing).unwrap() {}
    }

    /// Time passes in steps, with the role at work between them.
    pub fn wait(&mut self, ms: i64, step: i64) {
        let mut left = ms;
        while left > 0 {
            let now = step.min(left);
            self.clock.advance(now);
            self.settle();
            left -= now;
        }
    }

    pub fn row(&self, job: &Value) -> JobRow {
        self.gear
            .ledger
            .job(id(job))
            .unwrap()
            .unwrap_or_else(|| panic!("no such job: {job}"))
    }

    /// State, code and detail.
    pub fn outcome(&self, job: &Value) -> (String, String, String) {
        let row = self.row(job);
        (
            row.state,
            row.code.unwrap_or_default(),
            row.detail.unwrap_or_default(),
        )
    }

    pub fn assert_outcome(&self, job: &Value, state: &str, code: &str, detail: &str) {
        let row = self.row(job);
        let found = (
            row.state.as_str(),
            row.code.as_deref().unwrap_or(""),
            row.detail.as_deref().unwrap_or(""),
        );
        assert_eq!(found, (state, code, detail), "{:?}", row.message);
    }

    /// The refusal of a document, if it is on record.
    pub fn refusal(&self, document: &[u8]) -> Option<(String, String, String)> {
        let digest = lockgate::job::document_digest(document);
        let found = self.gear.ledger.submission(digest, own_uid()).unwrap()?;
        (!found.accepted).then(|| {
            (
                found.code.unwrap_or_default(),
                found.pointer.unwrap_or_default(),
                found.message.unwrap_or_default(),
            )
        })
    }

    pub fn refusal_code(&self, document: &Value) -> String {
        self.refusal(document.to_string().as_bytes())
            .map_or_else(|| "accepted".to_owned(), |(code, _, _)| code)
    }

    /// Audit chain, counts and states agree.
    pub fn verify(&self) {
        let report = lockgate::ledger::verify::verify_file(self.gear.ledger.path(), None).unwrap();
        assert_eq!(report.findings, Vec::<String>::new());
    }

    pub fn published(&self) -> Vec<String> {
        self.gear.fence.listed().unwrap()
    }
}

pub fn own_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

pub fn id(document: &Value) -> JobId {
    JobId::parse(document["job_id"].as_str().unwrap()).unwrap()
}

pub fn uuid() -> String {
    Uuid4::random().to_string()
}

pub fn rules() -> DocumentRules {
    DocumentRules {
        vault_root: "/app/vault/".to_owned(),
        object_id_is_path: true,
    }
}

pub fn parsed(document: &Value, role: Role) -> Job {
    let value = json::parse(document.to_string().as_bytes(), json::DOCUMENT_BYTES_MAX).unwrap();
    parse_job(&value, &rules(), role).unwrap()
}

/// Made from the contract alone, not by the program's own function.
pub fn provenance(commit: &CommitId, path: &str, text: &str) -> String {
    let canonical = format!(
        r#"{{"commit":"{}","content_sha256":"{}","object_id":"{path}","path":"{path}","repository":"{REPOSITORY}"}}"#,
        commit.as_str(),
        sha256(text.as_bytes())
    );
    sha256(format!("lockgate-provenance-v1\n{canonical}").as_bytes()).to_string()
}
