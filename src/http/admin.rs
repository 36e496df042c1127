//! admin.sock: what operators see and do. In: requests from operators, and a port the daemon implements over the ledger.
//! Out: JSON, OpenMetrics, or recovered bytes. Everything not listed is 404, another method included.
//!
//! | endpoint | body or query | answer |
//! |---|---|---|
//! | `GET /health` | | 200 `{"status":"ok"}`, 503 `{"status":"unhealthy","reason"}` |
//! | `GET /metrics` | | OpenMetrics |
//! | `GET /v1/overview` | | counts, lags, pause and freeze |
//! | `GET /v1/jobs` | `?state=READY&after=CURSOR&limit=100` (limit at most 1,000) | a keyset page |
//! | `GET /v1/jobs/{id}` · `GET /v1/jobs/{id}/why` | | the job with its audit · why it is not done |
//! | `POST /v1/jobs/{id}/cancel` · `/requeue` · `/probe` | `{"reason"}` | what was done |
//! | `POST /v1/jobs/{id}/resolve` | `{"reason","outcome":"applied"}` or `"not_applied"` | what was done |
//! | `POST /v1/jobs/cancel` · `/requeue` · `/probe` · `/resolve` | the same and `"all":true,"if_evidence":WORD` (required for resolve) | what was done to each |
//! | `POST /v1/jobs/{id}/recover` | nothing, or `{"reason"}` | `application/octet-stream` |
//! | `POST /v1/adopt` | `{"reason","path"}` | what the ledger knows now |
//! | `POST /v1/pause` · `/resume` · `/freeze` · `/unfreeze` | `{"reason"}` | the role's state |
//! | `POST /v1/clock/accept` | `{"reason"}` | the time accepted |
//! | `GET /v1/audit` | `?after=SEQ&limit=100` | a page of rows |
//! | `GET /v1/audit/checkpoint` | | a head |
//! | `GET /v1/audit/verify` | nothing, or `?size=N&hash=HEX` (an old head) | the verdict |
//! | `GET /v1/backups` · `POST /v1/backups` · `POST /v1/backups/{name}/verify` | nothing, or `{"reason"}` | list · made · verdict |
//!
//! Errors are `{"error":{"code","message","pointer"}}`. On a loopback TCP socket only health and metrics exist.
//!
//! Not here: what the answers say (the port), the bodies' rules (`admin_body`).

use super::admin_body::{self, Wanted};
use super::answer::{Answer, ApiError, Health};
use super::lane::Lane;
use super::request::{BodyLimit, Media, Permission, Ready, Request};
use super::server::{Endpoints, LocalAnswer};
use crate::job::{JobId, Sha256, State};
use hyper::Method;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What an operator's verb does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// READY → REJECTED.
    Cancel,
    /// OUTCOME_UNKNOWN → SUCCEEDED or FAILED, by a person's knowledge.
    Resolve(Resolution),
    /// OUTCOME_UNKNOWN → READY.
    Requeue,
    /// Look at the target now.
    Probe,
    /// The vault's present bytes, or absence, become known to the ledger.
    Adopt,
    /// Stop claiming.
    Pause,
    /// Claim again.
    Resume,
    /// Stop claiming and admitting.
    Freeze,
    /// Undo freeze.
    Unfreeze,
    /// The wall clock is right although it went back.
    ClockAccept,
    /// Make a backup now.
    BackupCreate,
    /// Check a backup.
    BackupVerify,
}

/// What a person found out about an unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// It happened.
    Applied,
    /// It did not happen.
    NotApplied,
}

/// What a verb is applied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerbTarget {
    /// The role as a whole.
    Role,
    /// One job.
    Job(JobId),
    /// Every job the verb fits, narrowed to those with this evidence (`[a-z_]`, at most 64).
    All {
        /// For example `not_started`; always present for resolve.
        if_evidence: Option<String>,
    },
    /// A vault path as the operator wrote it, 1–1,024 bytes, not judged yet.
    Path(String),
    /// A backup by name.
    Backup(String),
}

/// What an operator says beside the verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbBody {
    /// 1–500 characters; empty only where none is required (backups).
    pub reason: String,
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobsQuery {
    /// Only jobs in this state.
    pub state: Option<State>,
    /// The cursor the page before ended with.
    pub after: Option<String>,
    /// 1–1,000.
    pub limit: usize,
}

/// A head that was kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditHead {
    /// How many rows the chain had.
    pub size: i64,
    /// The last row's hash.
    pub hash: Sha256,
}

/// What the daemon provides. Calls may block, but for `health`, which is answered on the server's own thread: it must
/// take microseconds (a prepared SELECT on an idle connection, or a value another thread keeps fresh).
pub trait AdminPort: Send + Sync + 'static {
    /// Fit to work?
    fn health(&self) -> Health;
    /// An OpenMetrics page (`http::metrics::Page`).
    fn metrics(&self) -> String;
    /// Counts, lags, pause and freeze.
    ///
    /// # Errors
    /// `unavailable` if the database does not answer; likewise below.
    fn overview(&self) -> Result<Value, ApiError>;
    /// A page of jobs.
    ///
    /// # Errors
    /// `bad_request` for a cursor it did not make.
    fn jobs(&self, query: JobsQuery) -> Result<Value, ApiError>;
    /// One job with its audit.
    ///
    /// # Errors
    /// `not_found`.
    fn job(&self, id: JobId) -> Result<Value, ApiError>;
    /// Why a job is not done yet, or ended as it did.
    ///
    /// # Errors
    /// `not_found`.
    fn why(&self, id: JobId) -> Result<Value, ApiError>;
    /// A page of audit rows after a sequence number.
    ///
    /// # Errors
    /// `unavailable`.
    fn audit(&self, after: Option<i64>, limit: usize) -> Result<Value, ApiError>;
    /// The chain's head.
    ///
    /// # Errors
    /// `unavailable`.
    fn checkpoint(&self) -> Result<Value, ApiError>;
    /// Checks the whole chain, and that it contains an old head.
    ///
    /// # Errors
    /// `unavailable`; a broken chain is an answer, not an error.
    fn audit_verify(&self, head: Option<AuditHead>) -> Result<Value, ApiError>;
    /// Carries out a verb.
    ///
    /// # Errors
    /// `not_found`; whatever the ledger refuses, with its code.
    fn verb(&self, verb: Verb, target: VerbTarget, by_uid: u32, body: VerbBody) -> Result<Value, ApiError>;
    /// The recovery copy of a deleted object.
    ///
    /// # Errors
    /// `not_found`.
    fn recover(&self, id: JobId, by_uid: u32, body: VerbBody) -> Result<Vec<u8>, ApiError>;
    /// The backups there are.
    ///
    /// # Errors
    /// `unavailable`.
    fn backups(&self) -> Result<Value, ApiError>;
}

/// The endpoints of one role's admin.sock.
pub struct AdminEndpoints {
    port: Arc<dyn AdminPort>,
    /// Views and verbs.
    quick: Lane,
    /// Whatever reads or writes whole files; kept from holding up the others.
    slow: Lane,
}

impl std::fmt::Debug for AdminEndpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminEndpoints").finish_non_exhaustive()
    }
}

/// Everything there is.
#[derive(Debug, PartialEq, Eq)]
enum Endpoint {
    Health,
    Metrics,
    Overview,
    Jobs,
    Job(JobId),
    Why(JobId),
    Recover(JobId),
    Verb(Wanted),
    Audit,
    Checkpoint,
    AuditVerify,
    Backups,
}

fn find(method: &Method, path: &str) -> Option<Endpoint> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let job = |text: &str| JobId::parse(text);
    let found = match (method.as_str(), parts.as_slice()) {
        ("GET", ["health"]) => Endpoint::Health,
        ("GET", ["metrics"]) => Endpoint::Metrics,
        ("GET", ["v1", "overview"]) => Endpoint::Overview,
        ("GET", ["v1", "jobs"]) => Endpoint::Jobs,
        ("GET", ["v1", "jobs", id]) => Endpoint::Job(job(id)?),
        ("GET", ["v1", "jobs", id, "why"]) => Endpoint::Why(job(id)?),
        ("GET", ["v1", "audit"]) => Endpoint::Audit,
        ("GET", ["v1", "audit", "checkpoint"]) => Endpoint::Checkpoint,
        ("GET", ["v1", "audit", "verify"]) => Endpoint::AuditVerify,
        ("GET", ["v1", "backups"]) => Endpoint::Backups,
        ("POST", ["v1", "jobs", id, "recover"]) => Endpoint::Recover(job(id)?),
        ("POST", ["v1", rest @ ..]) => Endpoint::Verb(admin_body::wanted(rest)?),
        _ => return None,
    };
    Some(found)
}

const BODY_BYTES_MAX: usize = 16 * 1024;
const PAGE_DEFAULT: usize = 100;
const PAGE_MAX: usize = 1000;
/// Verifying ten million rows or copying a large ledger is a matter of minutes.
const SLOW_DEADLINE: Duration = Duration::from_secs(1800);
const QUICK_DEADLINE: Duration = Duration::from_secs(15);

impl AdminEndpoints {
    /// The endpoints over a port.
    pub fn new(port: Arc<dyn AdminPort>) -> Arc<AdminEndpoints> {
        Arc::new(AdminEndpoints {
            port,
            quick: Lane::new(4),
            slow: Lane::new(2),
        })
    }

    async fn route(&self, request: Request) -> Result<Answer, ApiError> {
        let endpoint = find(request.method(), request.path());
        let Some(endpoint) = endpoint else {
            return Err(ApiError::not_found("no such endpoint"));
        };
        match endpoint {
            Endpoint::Health => {
                request
                    .permit(Permission::Probe)?
                    .read_body(BodyLimit::Nothing)
                    .await?;
                Ok(Answer::health(self.port.health()))
            }
            Endpoint::Metrics => {
                request
                    .permit(Permission::Scrape)?
                    .read_body(BodyLimit::Nothing)
                    .await?;
                let port = self.port.clone();
                Ok(Answer::metrics(self.quick.run(move || port.metrics()).await?))
            }
            Endpoint::Verb(wanted) => self.verb(wanted, body_of(request).await?).await,
            Endpoint::Recover(id) => {
                let ready = body_of(request).await?;
                let (by_uid, body) = (ready.uid(), admin_body::optional_reason(ready.body())?);
                let port = self.port.clone();
                let bytes = self.slow.run(move || port.recover(id, by_uid, body)).await??;
                Ok(Answer::octets(bytes))
            }
            Endpoint::Overview => {
                self.view(request, |port, _| Ok(Box::new(move || port.overview())))
                    .await
            }
            Endpoint::Jobs => self.view(request, jobs_page).await,
            Endpoint::Job(id) => {
                self.view(request, move |port, _| Ok(Box::new(move || port.job(id))))
                    .await
            }
            Endpoint::Why(id) => {
                self.view(request, move |port, _| Ok(Box::new(move || port.why(id))))
                    .await
            }
            Endpoint::Audit => self.view(request, audit_page).await,
            Endpoint::Checkpoint => {
                self.view(request, |port, _| Ok(Box::new(move || port.checkpoint())))
                    .await
            }
            Endpoint::Backups => {
                self.view(request, |port, _| Ok(Box::new(move || port.backups())))
                    .await
            }
            Endpoint::AuditVerify => {
                let ready = request
                    .permit(Permission::Operate)?
                    .read_body(BodyLimit::Nothing)
                    .await?;
                let head = old_head(&ready)?;
                let port = self.port.clone();
                Ok(Answer::ok(
                    &self.slow.run(move || port.audit_verify(head)).await??,
                ))
            }
        }
    }

    /// A read: `prepare` looks at the query and says what to call.
    async fn view(
        &self,
        request: Request,
        prepare: impl FnOnce(Arc<dyn AdminPort>, &Ready) -> Prepared,
    ) -> Result<Answer, ApiError> {
        let ready = request
            .permit(Permission::Operate)?
            .read_body(BodyLimit::Nothing)
            .await?;
        let call = prepare(self.port.clone(), &ready)?;
        Ok(Answer::ok(&self.quick.run(call).await??))
    }

    async fn verb(&self, wanted: Wanted, ready: Ready) -> Result<Answer, ApiError> {
        let lane = if wanted.is_slow() { &self.slow } else { &self.quick };
        let (verb, target, body) = wanted.with_body(ready.body())?;
        let (port, by_uid) = (self.port.clone(), ready.uid());
        Ok(Answer::ok(
            &lane.run(move || port.verb(verb, target, by_uid, body)).await??,
        ))
    }
}

type Prepared = Result<Box<dyn FnOnce() -> Result<Value, ApiError> + Send>, ApiError>;

async fn body_of(request: Request) -> Result<Ready, ApiError> {
    let permitted = request.permit(Permission::Operate)?;
    match permitted.media()? {
        Media::Json => permitted.read_body(BodyLimit::Bytes(BODY_BYTES_MAX)).await,
        Media::JsonLines => Err(ApiError::new(415, "wrong_media_type", "send application/json")),
    }
}

fn limit_of(text: Option<&str>) -> Result<usize, ApiError> {
    let Some(text) = text else { return Ok(PAGE_DEFAULT) };
    let limit = text
        .parse::<usize>()
        .ok()
        .filter(|limit| (1..=PAGE_MAX).contains(limit));
    limit.ok_or_else(|| ApiError::bad_request(format!("limit is a number from 1 to {PAGE_MAX}")))
}

fn jobs_page(port: Arc<dyn AdminPort>, ready: &Ready) -> Prepared {
    let [state, after, limit] = ready.query(["state", "after", "limit"])?;
    let parse = |word: &str| {
        let known = || State::ALL.map(State::as_str).join(", ");
        State::parse(word).ok_or_else(|| ApiError::bad_request(format!("state is one of {}", known())))
    };
    let query = JobsQuery {
        state: state.map(parse).transpose()?,
        after: after.map(str::to_owned),
        limit: limit_of(limit)?,
    };
    Ok(Box::new(move || port.jobs(query)))
}

fn audit_page(port: Arc<dyn AdminPort>, ready: &Ready) -> Prepared {
    let [after, limit] = ready.query(["after", "limit"])?;
    let limit = limit_of(limit)?;
    let after = after.map(sequence).transpose()?;
    Ok(Box::new(move || port.audit(after, limit)))
}

fn sequence(text: &str) -> Result<i64, ApiError> {
    let number = text.parse::<i64>().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| ApiError::bad_request("after and size are whole numbers from 0"))
}

fn old_head(ready: &Ready) -> Result<Option<AuditHead>, ApiError> {
    match ready.query(["size", "hash"])? {
        [None, None] => Ok(None),
        [Some(size), Some(hash)] => {
            let hash = Sha256::parse(hash)
                .ok_or_else(|| ApiError::bad_request("hash is 64 lower-case hex digits"))?;
            Ok(Some(AuditHead {
                size: sequence(size)?,
                hash,
            }))
        }
        [Some(_), None] | [None, Some(_)] => Err(ApiError::bad_request("a head is size and hash together")),
    }
}

impl Endpoints for AdminEndpoints {
    fn answer(self: Arc<Self>, request: Request) -> LocalAnswer {
        Box::pin(async move { self.route(request).await.unwrap_or_else(Answer::from) })
    }
    fn deadline(&self, method: &Method, path: &str) -> Duration {
        match find(method, path) {
            Some(Endpoint::Recover(_) | Endpoint::AuditVerify) => SLOW_DEADLINE,
            Some(Endpoint::Verb(wanted)) if wanted.is_slow() => SLOW_DEADLINE,
            _ => QUICK_DEADLINE,
        }
    }
}
