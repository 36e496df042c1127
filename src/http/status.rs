//! status.sock: what the gateway may ask a role. In: requests from the gateway's user id, each naming the requester it asks
//! for. Out: that requester's receipts and drafts; nothing here changes anything.
//!
//! | endpoint | answer |
//! |---|---|
//! | `GET /health` | as on admin.sock |
//! | `GET /v1/receipts/{job_id}?uid=N` | the receipt; 404 unless uid N submitted the job |
//! | `GET /v1/submissions/{digest}?uid=N` | accepted or refused, with code; 404 likewise |
//! | `GET /v1/jobs/{job_id}/approval-draft?uid=N` | the draft; 404 likewise |
//! | `GET /v1/watch?job=ID&uid=N&since=CURSOR` | `{"cursor","receipt"}` once the receipt differs from what CURSOR stands for, or after 25 s; `receipt` is null while the role has no such job for uid N; without `since` at once |
//! | `POST /v1/door` with `[{"job_id","digest","uid"}, …]` (at most 1,000) | `{"frozen":false,"conflicts":[0]}`: whether the role admits, and which of these it would refuse because it knows the job_id with another digest |
//!
//! Not here: the requesters' own endpoints (gateway/).

use super::answer::{Answer, ApiError, Health};
use super::lane::Lane;
use super::request::{BodyLimit, Permission, Ready, Request};
use super::server::{Endpoints, LocalAnswer};
use crate::job::{JobId, Sha256, sha256};
use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Tells waiting requests that something in the ledger changed. Cheap when nobody waits; callable from any thread.
#[derive(Debug, Clone)]
pub struct Changes {
    count: Arc<watch::Sender<u64>>,
}

impl Default for Changes {
    fn default() -> Changes {
        Changes::new()
    }
}

impl Changes {
    /// Nothing changed yet.
    pub fn new() -> Changes {
        Changes {
            count: Arc::new(watch::Sender::new(0)),
        }
    }
    /// Called after a commit that may have changed a receipt.
    pub fn bump(&self) {
        self.count.send_modify(|count| *count = count.wrapping_add(1));
    }
    fn subscribe(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }
}

/// A submission the gateway is about to drop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtDoor {
    /// Its job_id.
    pub job_id: JobId,
    /// Its digest.
    pub digest: Sha256,
    /// Who submits it.
    pub uid: u32,
}

/// What the role says to submissions at the door.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoorAnswer {
    /// The role admits nothing now.
    pub frozen: bool,
    /// Positions in the question of those whose job_id is taken by another digest.
    pub conflicts: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAtDoor {
    job_id: String,
    digest: String,
    uid: u32,
}

/// The body of a question at the door.
pub(crate) fn door_question(asked: &[AtDoor]) -> Value {
    let all = asked.iter().map(
        |one| json!({"job_id": one.job_id.to_string(), "digest": one.digest.to_string(), "uid": one.uid}),
    );
    Value::Array(all.collect())
}

/// What the daemon provides; calls may block, but for `health` and `changes`.
pub trait StatusPort: Send + Sync + 'static {
    /// Fit to work? As [`super::admin::AdminPort::health`].
    fn health(&self) -> Health;
    /// The receipt of a job that `uid` submitted.
    ///
    /// # Errors
    /// `unavailable` if the database does not answer; likewise below.
    fn receipt(&self, id: JobId, uid: u32) -> Result<Option<Value>, ApiError>;
    /// What became of a document that `uid` submitted.
    ///
    /// # Errors
    /// `unavailable`.
    fn submission(&self, digest: Sha256, uid: u32) -> Result<Option<Value>, ApiError>;
    /// The approval payload a job that `uid` submitted needs; `None` too where the role knows no approvals.
    ///
    /// # Errors
    /// `unavailable`, or a refusal with its own code.
    fn approval_draft(&self, id: JobId, uid: u32) -> Result<Option<Value>, ApiError>;
    /// Whether submissions would be admitted.
    ///
    /// # Errors
    /// `unavailable`.
    fn door(&self, asked: &[AtDoor]) -> Result<DoorAnswer, ApiError>;
    /// Bumped after every commit that may change a receipt.
    fn changes(&self) -> Changes;
}

/// The endpoints of one role's status.sock.
pub struct StatusEndpoints {
    port: Arc<dyn StatusPort>,
    lane: Lane,
}

impl std::fmt::Debug for StatusEndpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatusEndpoints").finish_non_exhaustive()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Endpoint {
    Health,
    Receipt(JobId),
    Submission(Sha256),
    Draft(JobId),
    Watch,
    Door,
}

fn find(method: &Method, path: &str) -> Option<Endpoint> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    Some(match (method.as_str(), parts.as_slice()) {
        ("GET", ["health"]) => Endpoint::Health,
        ("GET", ["v1", "receipts", id]) => Endpoint::Receipt(JobId::parse(id)?),
        ("GET", ["v1", "submissions", digest]) => Endpoint::Submission(Sha256::parse(digest)?),
        ("GET", ["v1", "jobs", id, "approval-draft"]) => Endpoint::Draft(JobId::parse(id)?),
        ("GET", ["v1", "watch"]) => Endpoint::Watch,
        ("POST", ["v1", "door"]) => Endpoint::Door,
        _ => return None,
    })
}

/// How long a watch waits for news; the gateway asks again.
pub(crate) const WATCH_TIME: Duration = Duration::from_secs(25);
/// Between two looks at the ledger for one watch: a busy role commits hundreds of times a second.
const WATCH_PAUSE: Duration = Duration::from_millis(50);
/// One watched job in a question at the door is at most this many bytes of JSON.
const DOOR_ENTRY_BYTES: usize = 200;
const DOOR_ENTRIES_MAX: usize = 1000;

impl StatusEndpoints {
    /// The endpoints over a port.
    pub fn new(port: Arc<dyn StatusPort>) -> Arc<StatusEndpoints> {
        Arc::new(StatusEndpoints {
            port,
            lane: Lane::new(4),
        })
    }

    async fn route(&self, request: Request) -> Result<Answer, ApiError> {
        let endpoint = find(request.method(), request.path());
        let endpoint = endpoint.ok_or_else(|| ApiError::not_found("no such endpoint"))?;
        let (permission, limit) = match &endpoint {
            Endpoint::Health => (Permission::Probe, BodyLimit::Nothing),
            Endpoint::Door => (
                Permission::ReadStatus,
                BodyLimit::Bytes(DOOR_ENTRY_BYTES * DOOR_ENTRIES_MAX),
            ),
            Endpoint::Receipt(_) | Endpoint::Submission(_) | Endpoint::Draft(_) | Endpoint::Watch => {
                (Permission::ReadStatus, BodyLimit::Nothing)
            }
        };
        let ready = request.permit(permission)?.read_body(limit).await?;
        let port = self.port.clone();
        let found = match endpoint {
            Endpoint::Health => return Ok(Answer::health(self.port.health())),
            Endpoint::Watch => return self.watch(&ready).await,
            Endpoint::Door => {
                let asked = parse_door(ready.body())?;
                let answer = self.lane.run(move || port.door(&asked)).await??;
                return Ok(Answer::ok(
                    &json!({"frozen": answer.frozen, "conflicts": answer.conflicts}),
                ));
            }
            Endpoint::Receipt(id) => {
                let uid = requester(ready.query(["uid"])?[0])?;
                self.lane.run(move || port.receipt(id, uid)).await??
            }
            Endpoint::Submission(digest) => {
                let uid = requester(ready.query(["uid"])?[0])?;
                self.lane.run(move || port.submission(digest, uid)).await??
            }
            Endpoint::Draft(id) => {
                let uid = requester(ready.query(["uid"])?[0])?;
                self.lane.run(move || port.approval_draft(id, uid)).await??
            }
        };
        found
            .map(|value| Answer::ok(&value))
            .ok_or_else(|| ApiError::not_found("nothing that this requester submitted"))
    }

    async fn watch(&self, ready: &Ready) -> Result<Answer, ApiError> {
        let [job, uid, since] = ready.query(["job", "uid", "since"])?;
        let id = job
            .and_then(JobId::parse)
            .ok_or_else(|| ApiError::bad_request("job is a job_id"))?;
        let uid = requester(uid)?;
        let mut changes = self.port.changes().subscribe();
        let mut stopping = ready.stopping();
        let until = tokio::time::Instant::now() + WATCH_TIME;
        loop {
            changes.mark_unchanged();
            let port = self.port.clone();
            let receipt = self.lane.run(move || port.receipt(id, uid)).await??;
            let receipt = receipt.unwrap_or(Value::Null);
            let cursor = cursor_of(&receipt);
            let news = async {
                // A ledger that is gone has no news: then only the time ends this.
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(WATCH_PAUSE).await;
            };
            if since == Some(cursor.as_str()) {
                tokio::select! {
                    () = news => continue,
                    () = tokio::time::sleep_until(until) => {}
                    _ = stopping.wait_for(|stop| *stop) => return Err(ApiError::unavailable("the role is stopping")),
                }
            }
            return Ok(Answer::ok(&json!({"cursor": cursor, "receipt": receipt})));
        }
    }
}

/// Stands for exactly this receipt.
fn cursor_of(receipt: &Value) -> String {
    let mut hex = sha256(receipt.to_string().as_bytes()).to_string();
    hex.truncate(32);
    hex
}

fn requester(text: Option<&str>) -> Result<u32, ApiError> {
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| ApiError::bad_request("uid is the requester's user id"))
}

fn parse_door(body: &[u8]) -> Result<Vec<AtDoor>, ApiError> {
    let raw: Vec<RawAtDoor> = serde_json::from_slice(body)
        .map_err(|_| ApiError::bad_request("send a list of {job_id, digest, uid}"))?;
    if raw.len() > DOOR_ENTRIES_MAX {
        return Err(ApiError::bad_request("more than 1,000 at once"));
    }
    let parsed = raw.iter().map(|one| {
        Some(AtDoor {
            job_id: JobId::parse(&one.job_id)?,
            digest: Sha256::parse(&one.digest)?,
            uid: one.uid,
        })
    });
    parsed
        .collect::<Option<_>>()
        .ok_or_else(|| ApiError::bad_request("not a job_id or digest"))
}

impl Endpoints for StatusEndpoints {
    fn answer(self: Arc<Self>, request: Request) -> LocalAnswer {
        Box::pin(async move { self.route(request).await.unwrap_or_else(Answer::from) })
    }
    fn deadline(&self, _method: &Method, path: &str) -> Duration {
        if path == "/v1/watch" {
            WATCH_TIME + Duration::from_secs(5)
        } else {
            Duration::from_secs(5)
        }
    }
}
