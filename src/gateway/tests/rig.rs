//! A gateway in a directory of its own, and fake roles behind real status sockets.

use crate::clock::{TestClock, WallMs};
use crate::gateway::{
    EnvelopeAtGate, GatewaySettings, JobAtGate, Judges, Meant, PendingLimits, RolePlaces, run,
};
use crate::http::client::{Client, Reply};
use crate::http::socket::bind_unix;
use crate::http::status::{AtDoor, Changes, DoorAnswer, StatusEndpoints, StatusPort};
use crate::http::{
    Access, ApiError, Door, Health, HttpFault, Limits, Listener, Media, Server, ServerHandle, Stop,
};
use crate::job::document::{DocumentRules, parse_job};
use crate::job::{Code, JobId, Refusal, Role, Sha256, Uuid4, document_digest, json};
use crate::throttle::Rate;
use serde_json::{Value, json as value};
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a fake role knows.
#[derive(Debug, Default)]
pub(super) struct Knows {
    pub(super) receipts: HashMap<(JobId, u32), Value>,
    pub(super) submissions: HashMap<(Sha256, u32), Value>,
    pub(super) drafts: HashMap<(JobId, u32), Value>,
    pub(super) taken: HashSet<JobId>,
    pub(super) frozen: bool,
}

/// A fake role.
#[derive(Debug, Clone, Default)]
pub(super) struct FakeRole {
    knows: Arc<Mutex<Knows>>,
    changes: Changes,
}

impl FakeRole {
    pub(super) fn knows(&self) -> MutexGuard<'_, Knows> {
        self.knows.lock().unwrap()
    }
    /// The ledger has this receipt from now on.
    pub(super) fn tells(&self, id: JobId, uid: u32, state: &str, digest: Sha256) {
        let receipt = value!({"job_id": id.to_string(), "digest": digest.to_string(), "state": state});
        self.knows().receipts.insert((id, uid), receipt);
        self.changes.bump();
    }
}

impl StatusPort for FakeRole {
    fn health(&self) -> Health {
        Health::Ok
    }
    fn receipt(&self, id: JobId, uid: u32) -> Result<Option<Value>, ApiError> {
        Ok(self.knows().receipts.get(&(id, uid)).cloned())
    }
    fn submission(&self, digest: Sha256, uid: u32) -> Result<Option<Value>, ApiError> {
        Ok(self.knows().submissions.get(&(digest, uid)).cloned())
    }
    fn approval_draft(&self, id: JobId, uid: u32) -> Result<Option<Value>, ApiError> {
        Ok(self.knows().drafts.get(&(id, uid)).cloned())
    }
    fn door(&self, asked: &[AtDoor]) -> Result<DoorAnswer, ApiError> {
        let knows = self.knows();
        let conflicts = asked
            .iter()
            .enumerate()
            .filter(|(_, one)| knows.taken.contains(&one.job_id));
        Ok(DoorAnswer {
            frozen: knows.frozen,
            conflicts: conflicts.map(|(at, _)| at).collect(),
        })
    }
    fn changes(&self) -> Changes {
        self.changes.clone()
    }
}

/// What a test may choose.
#[derive(Debug, Clone)]
pub(super) struct Choices {
    pub(super) rate: Rate,
    pub(super) pending: PendingLimits,
    pub(super) refused_uids: Vec<u32>,
    pub(super) probes: bool,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            rate: Rate {
                burst: 100_000,
                per_minute: 100_000,
            },
            pending: PendingLimits {
                documents_per_uid: 10_000,
                bytes_per_uid: 64 << 20,
                documents: 20_000,
                bytes: 128 << 20,
            },
            refused_uids: Vec::new(),
            probes: false,
        }
    }
}

/// The whole installation as far as the gateway sees it.
pub(super) struct Rig {
    pub(super) dir: tempfile::TempDir,
    pub(super) save: FakeRole,
    pub(super) delete: FakeRole,
    pub(super) clock: Arc<TestClock>,
    pub(super) probes: Option<std::net::SocketAddr>,
    choices: Choices,
    servers: Vec<ServerHandle>,
    stop: Stop,
    thread: Option<JoinHandle<Result<(), HttpFault>>>,
}

impl Rig {
    pub(super) fn new() -> Rig {
        Rig::with(Choices::default())
    }

    pub(super) fn with(choices: Choices) -> Rig {
        let mut rig = Rig::without_roles(choices);
        for (role, fake) in [("save", rig.save.clone()), ("delete", rig.delete.clone())] {
            let listener = bind_unix(&rig.dir.path().join(format!("{role}.sock")), 0o660).unwrap();
            let door = Door {
                listener: Listener::Unix(listener),
                access: Access::StatusReaders {
                    uids: vec![own_uid()],
                },
                endpoints: StatusEndpoints::new(Arc::new(fake)),
            };
            let server = Server {
                name: "role",
                doors: vec![door],
                limits: Limits::default(),
            };
            rig.servers.push(server.start(|| ()).unwrap());
        }
        rig
    }

    /// Both roles are down.
    pub(super) fn without_roles(choices: Choices) -> Rig {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for role in ["save", "delete"] {
            std::fs::create_dir_all(dir.path().join(role).join("gate")).unwrap();
        }
        let mut rig = Rig {
            dir,
            save: FakeRole::default(),
            delete: FakeRole::default(),
            clock: Arc::new(TestClock::at(WallMs(1_700_000_000_000))),
            probes: None,
            choices,
            servers: Vec::new(),
            stop: Stop::new(),
            thread: None,
        };
        rig.start();
        rig
    }

    fn start(&mut self) {
        let probes = self
            .choices
            .probes
            .then(|| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        self.probes = probes.as_ref().map(|listener| listener.local_addr().unwrap());
        let places = |role: Role| RolePlaces {
            role,
            gate: self.gate(role),
            status: self.dir.path().join(format!("{role}.sock")),
        };
        let settings = GatewaySettings {
            requests: bind_unix(&self.socket(), 0o666).unwrap(),
            probes,
            roles: Role::EXECUTORS.into_iter().map(places).collect(),
            frozen_file: self.frozen_file(),
            refused_uids: self.choices.refused_uids.clone(),
            rate: self.choices.rate,
            pending: self.choices.pending,
            body_bytes_max: 1 << 20,
            limits: Limits::default(),
            judges: judges(),
            rules: rules(),
            clock: self.clock.clone(),
        };
        let (ready, is_ready) = std::sync::mpsc::channel();
        self.stop = Stop::new();
        let stop = self.stop.clone();
        self.thread = Some(std::thread::spawn(move || {
            run(settings, &stop, || ready.send(()).unwrap())
        }));
        is_ready.recv_timeout(Duration::from_secs(10)).unwrap();
    }

    pub(super) fn stop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
    /// A gateway that died and came back.
    pub(super) fn restart(&mut self) {
        self.stop();
        self.start();
    }

    pub(super) fn gate(&self, role: Role) -> PathBuf {
        self.dir.path().join(role.as_str()).join("gate")
    }
    pub(super) fn socket(&self) -> PathBuf {
        self.dir.path().join("gateway.sock")
    }
    pub(super) fn frozen_file(&self) -> PathBuf {
        self.dir.path().join("frozen")
    }
    /// What waits for a role: names and bytes, in the order of names.
    pub(super) fn waiting(&self, role: Role) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.gate(role)).unwrap();
        let mut all: Vec<(String, Vec<u8>)> = entries
            .map(|entry| {
                let entry = entry.unwrap();
                let bytes = std::fs::read(entry.path()).unwrap();
                (entry.file_name().into_string().unwrap(), bytes)
            })
            .collect();
        all.sort();
        all
    }
    /// The role takes everything that waits.
    pub(super) fn take(&self, role: Role) {
        for (name, _) in self.waiting(role) {
            std::fs::remove_file(self.gate(role).join(name)).unwrap();
        }
    }

    pub(super) fn client(&self) -> Client {
        Client::new(&self.socket(), Duration::from_secs(20)).unwrap()
    }
    pub(super) fn get(&self, target: &str) -> (u16, Value) {
        parts(&self.client().get_raw(target).unwrap())
    }
    pub(super) fn reply(&self, target: &str, media: Media, body: &[u8]) -> Reply {
        self.client().post_raw(target, media, body.to_vec()).unwrap()
    }
    pub(super) fn post(&self, target: &str, body: &[u8]) -> (u16, Value) {
        parts(&self.reply(target, Media::Json, body))
    }
    pub(super) fn submit(&self, document: &Value) -> (u16, Value) {
        self.post("/v1/jobs", document.to_string().as_bytes())
    }
    /// Status and one value a line.
    pub(super) fn submit_lines(&self, documents: &[Value]) -> (u16, Vec<Value>) {
        let body = documents.iter().map(|one| format!("{one}\n")).collect::<String>();
        let reply = self.reply("/v1/jobs", Media::JsonLines, body.as_bytes());
        let text = String::from_utf8(reply.body.to_vec()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        (reply.status, lines.collect())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop.request();
    }
}

pub(super) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(super) fn parts(reply: &Reply) -> (u16, Value) {
    (
        reply.status,
        serde_json::from_slice(&reply.body).unwrap_or_default(),
    )
}

/// The word of an error.
pub(super) fn code(body: &Value) -> &str {
    body["error"]["code"].as_str().unwrap_or_default()
}

pub(super) fn save(id: JobId) -> Value {
    value!({
        "job_version": 1, "job_id": id.to_string(), "mission_id": Uuid4::random().to_string(),
        "job_type": "C5_SAVE_OBJECT", "object_id": "notes/a.md", "vault_path": "/app/vault/notes/a.md",
        "source_commit": "a".repeat(40), "provenance_hash": "b".repeat(64),
        "expected_state": format!("sha256:{}", "c".repeat(64)), "created_at": "2026-01-01T00:00:00Z",
        "idempotency_key": Uuid4::random().to_string(),
    })
}

pub(super) fn delete(id: JobId) -> Value {
    value!({
        "job_version": 1, "job_id": id.to_string(), "mission_id": Uuid4::random().to_string(),
        "delete_request_id": Uuid4::random().to_string(), "job_type": "C5_DELETE_OBJECT",
        "object_id": "notes/a.md", "vault_path": "/app/vault/notes/a.md", "expected_commit": "a".repeat(40),
        "expected_provenance_hash": "b".repeat(64), "approval_id": Uuid4::random().to_string(),
        "created_at": "2026-01-01T00:00:00Z", "idempotency_key": Uuid4::random().to_string(),
    })
}

pub(super) fn digest_of(document: &Value) -> Sha256 {
    document_digest(document.to_string().as_bytes())
}

fn rules() -> DocumentRules {
    DocumentRules {
        vault_root: "/app/vault/".to_owned(),
        object_id_is_path: true,
    }
}

fn judges() -> Judges {
    Judges {
        job: Arc::new(|_, bytes| {
            let value = json::parse(bytes, json::DOCUMENT_BYTES_MAX)?;
            let job = parse_job(&value, &rules(), Role::Gateway)?;
            Ok(JobAtGate {
                role: job.kind().role(),
                job_id: *job.job_id(),
                digest: job.digest(),
            })
        }),
        envelope: Arc::new(|_, bytes| {
            let value = json::parse(bytes, json::DOCUMENT_BYTES_MAX)?;
            let payload = value.get("payload_b64").and_then(|payload| payload.as_text());
            let payload =
                payload.ok_or_else(|| Refusal::new(Code::MissingField, "/payload_b64", "missing"))?;
            Ok(EnvelopeAtGate {
                role: Role::Delete,
                digest: document_digest(bytes),
                meant: if payload == "withdrawal" {
                    Meant::Withdrawal
                } else {
                    Meant::Approval
                },
            })
        }),
    }
}

pub(super) fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
