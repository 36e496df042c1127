//! gateway.sock: what requesters see and do. In: requests, each from a UID the kernel names. Out: JSON, lines, events.
//!
//! | endpoint | body | answer |
//! |---|---|---|
//! | `POST /v1/jobs` | a job | 202 `{"job_id","digest","state":"CREATED"}` |
//! | `POST /v1/jobs`, `application/jsonl` | up to 1,000 jobs, one a line | a line for each, that or an error; 202 if any was queued |
//! | `GET /v1/jobs/{id}` | | the receipt |
//! | `GET /v1/jobs/{id}/events` | | server-sent: `receipt` at each change until it is settled, or `refused` |
//! | `POST /v1/jobs/{id}/cancel` | | 202 `{"job_id","digest","state"}`, the digest of the cancel |
//! | `GET /v1/jobs/{id}/approval-draft` | | what an approver signs |
//! | `GET /v1/submissions/{digest}` | | what became of a document of any kind |
//! | `POST /v1/approvals` | an approval or a withdrawal | 202 `{"digest","state":"CREATED"}` |
//! | `GET /health` | | 200 `{"status":"ok"}`, 503 `{"status":"unhealthy","reason":"disk"}` |
//! | `GET /metrics` | | OpenMetrics; on the loopback socket only |
//!
//! 404 for anything else and for what is not the caller's, 405 for another method. Errors are
//! `{"error":{"code","message","pointer"}}`.
//!
//! Not here: what each does (`jobs`, `papers`, `find`, `events`).

use super::{Gateway, counts};
use crate::http::{Answer, ApiError, BodyLimit, Endpoints, Health, LocalAnswer, Permission, Request};
use crate::job::{JobId, Sha256};
use hyper::Method;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Health,
    Metrics,
    Submit,
    Receipt(JobId),
    Events(JobId),
    Cancel(JobId),
    Draft(JobId),
    Submission(Sha256),
    Approve,
}

struct Table {
    gateway: Arc<Gateway>,
}

impl Endpoint {
    pub(super) fn table(gateway: Arc<Gateway>) -> Arc<dyn Endpoints> {
        Arc::new(Table { gateway })
    }

    fn at(path: &str) -> Option<Endpoint> {
        let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        Some(match parts.as_slice() {
            ["health"] => Endpoint::Health,
            ["metrics"] => Endpoint::Metrics,
            ["v1", "jobs"] => Endpoint::Submit,
            ["v1", "jobs", id] => Endpoint::Receipt(JobId::parse(id)?),
            ["v1", "jobs", id, "events"] => Endpoint::Events(JobId::parse(id)?),
            ["v1", "jobs", id, "cancel"] => Endpoint::Cancel(JobId::parse(id)?),
            ["v1", "jobs", id, "approval-draft"] => Endpoint::Draft(JobId::parse(id)?),
            ["v1", "submissions", digest] => Endpoint::Submission(Sha256::parse(digest)?),
            ["v1", "approvals"] => Endpoint::Approve,
            _ => return None,
        })
    }

    fn method(self) -> Method {
        match self {
            Endpoint::Submit | Endpoint::Cancel(_) | Endpoint::Approve => Method::POST,
            Endpoint::Health
            | Endpoint::Metrics
            | Endpoint::Receipt(_)
            | Endpoint::Events(_)
            | Endpoint::Draft(_)
            | Endpoint::Submission(_) => Method::GET,
        }
    }

    fn permission(self) -> Permission {
        match self {
            Endpoint::Health => Permission::Probe,
            Endpoint::Metrics => Permission::Scrape,
            Endpoint::Submit
            | Endpoint::Receipt(_)
            | Endpoint::Events(_)
            | Endpoint::Cancel(_)
            | Endpoint::Draft(_)
            | Endpoint::Submission(_)
            | Endpoint::Approve => Permission::Ask,
        }
    }
}

impl Table {
    async fn route(&self, request: Request) -> Result<Answer, ApiError> {
        let gateway = &self.gateway;
        let endpoint = Endpoint::at(request.path());
        let endpoint = endpoint.ok_or_else(|| ApiError::not_found("no such endpoint"))?;
        let asked = request.method().clone();
        let permitted = request.permit(endpoint.permission())?;
        if asked != endpoint.method() {
            return Err(ApiError::wrong_method(endpoint.method()));
        }
        match endpoint {
            Endpoint::Submit => return gateway.jobs(permitted).await,
            Endpoint::Approve => return gateway.approve(permitted).await,
            Endpoint::Health
            | Endpoint::Metrics
            | Endpoint::Receipt(_)
            | Endpoint::Events(_)
            | Endpoint::Cancel(_)
            | Endpoint::Draft(_)
            | Endpoint::Submission(_) => {}
        }
        let ready = permitted.read_body(BodyLimit::Nothing).await?;
        let [] = ready.query([])?;
        let uid = ready.uid();
        match endpoint {
            Endpoint::Health => Ok(Answer::health(gateway.health())),
            Endpoint::Metrics => Ok(Answer::metrics(counts::page(gateway))),
            Endpoint::Receipt(id) => gateway.receipt(uid, id).await,
            Endpoint::Events(id) => gateway.events(&ready, id).await,
            Endpoint::Cancel(id) => gateway.cancel(uid, id).await,
            Endpoint::Draft(id) => gateway.draft(uid, id).await,
            Endpoint::Submission(digest) => gateway.submission(uid, digest).await,
            Endpoint::Submit | Endpoint::Approve => Err(ApiError::internal()),
        }
    }
}

impl Endpoints for Table {
    fn answer(self: Arc<Self>, request: Request) -> LocalAnswer {
        Box::pin(async move { self.route(request).await.unwrap_or_else(Answer::from) })
    }
    fn deadline(&self, _method: &Method, _path: &str) -> Duration {
        // A slow body, two roles that do not answer, and a busy disk.
        Duration::from_secs(30)
    }
}

impl Gateway {
    /// Fit as long as files can be dropped; that a role is down keeps nobody from handing in.
    fn health(&self) -> Health {
        if self.roles.iter().all(|door| can_take(&door.places.gate)) {
            Health::Ok
        } else {
            Health::Unhealthy("disk")
        }
    }
}

fn can_take(gate: &Path) -> bool {
    let allowed = rustix::fs::access(gate, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK);
    allowed.is_ok() && rustix::fs::statvfs(gate).is_ok_and(|disk| disk.f_bavail > 0)
}
