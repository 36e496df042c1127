//! admin.sock: which request becomes which call, and what becomes of the rest.

use super::support::{SOON, tight};
use crate::http::admin::{AdminEndpoints, AdminPort, AuditHead, JobsQuery, Verb, VerbBody, VerbTarget};
use crate::http::client::{Client, Reply};
use crate::http::socket::bind_unix;
use crate::http::{Access, ApiError, Door, Health, Listener, Media, Server, ServerHandle};
use crate::job::{JobId, State, sha256};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Writes down what it is asked.
#[derive(Default)]
struct Role {
    calls: Mutex<Vec<String>>,
}

impl Role {
    fn note(&self, call: impl Into<String>) -> Result<Value, ApiError> {
        self.calls.lock().unwrap().push(call.into());
        Ok(json!({}))
    }
}

impl AdminPort for Role {
    fn health(&self) -> Health {
        Health::Ok
    }
    fn metrics(&self) -> String {
        "# EOF\n".to_owned()
    }
    fn overview(&self) -> Result<Value, ApiError> {
        self.note("overview")
    }
    fn jobs(&self, query: JobsQuery) -> Result<Value, ApiError> {
        self.note(format!(
            "jobs {:?} {:?} {}",
            query.state, query.after, query.limit
        ))
    }
    fn job(&self, id: JobId) -> Result<Value, ApiError> {
        self.note(format!("job {id}"))
    }
    fn why(&self, id: JobId) -> Result<Value, ApiError> {
        self.note(format!("why {id}"))
    }
    fn audit(&self, after: Option<i64>, limit: usize) -> Result<Value, ApiError> {
        self.note(format!("audit {after:?} {limit}"))
    }
    fn checkpoint(&self) -> Result<Value, ApiError> {
        self.note("checkpoint")
    }
    fn audit_verify(&self, head: Option<AuditHead>) -> Result<Value, ApiError> {
        self.note(format!("verify {:?}", head.map(|head| head.size)))
    }
    fn verb(&self, verb: Verb, target: VerbTarget, by_uid: u32, body: VerbBody) -> Result<Value, ApiError> {
        assert_eq!(by_uid, rustix::process::geteuid().as_raw());
        self.note(format!("{verb:?} {target:?} {}", body.reason))
    }
    fn recover(&self, id: JobId, _: u32, body: VerbBody) -> Result<Vec<u8>, ApiError> {
        self.note(format!("recover {id} {}", body.reason))?;
        Ok(b"\0bytes".to_vec())
    }
    fn backups(&self) -> Result<Value, ApiError> {
        self.note("backups")
    }
}

struct Place {
    _dir: tempfile::TempDir,
    role: Arc<Role>,
    client: Client,
    _server: ServerHandle,
}

fn place(except: Vec<u32>) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("admin.sock");
    let role = Arc::new(Role::default());
    let door = Door {
        listener: Listener::Unix(bind_unix(&path, 0o660).unwrap()),
        access: Access::Operators { except },
        endpoints: AdminEndpoints::new(role.clone()),
    };
    let server = Server {
        name: "admin",
        doors: vec![door],
        limits: tight(),
    };
    Place {
        role,
        client: Client::new(&path, SOON).unwrap(),
        _server: server.start(|| ()).unwrap(),
        _dir: dir,
    }
}

impl Place {
    fn get(&mut self, target: &str) -> Reply {
        self.client.get_raw(target).unwrap()
    }
    fn post(&mut self, target: &str, body: &str) -> Reply {
        self.client
            .post_raw(target, Media::Json, body.as_bytes().to_vec())
            .unwrap()
    }
    fn last(&self) -> String {
        self.role
            .calls
            .lock()
            .unwrap()
            .last()
            .cloned()
            .unwrap_or_default()
    }
    fn calls(&self) -> usize {
        self.role.calls.lock().unwrap().len()
    }
}

#[test]
fn views_are_asked_with_what_the_query_says() {
    let mut place = place(Vec::new());
    let id = JobId::random();
    let hash = sha256(b"");
    for (target, call) in [
        ("/v1/overview".to_owned(), "overview".to_owned()),
        ("/v1/jobs".to_owned(), "jobs None None 100".to_owned()),
        (
            "/v1/jobs?state=READY&after=x.1&limit=1000".to_owned(),
            format!("jobs {:?} {:?} 1000", Some(State::Ready), Some("x.1")),
        ),
        (format!("/v1/jobs/{id}"), format!("job {id}")),
        (format!("/v1/jobs/{id}/why"), format!("why {id}")),
        ("/v1/audit".to_owned(), "audit None 100".to_owned()),
        (
            "/v1/audit?after=7&limit=1".to_owned(),
            "audit Some(7) 1".to_owned(),
        ),
        ("/v1/audit/checkpoint".to_owned(), "checkpoint".to_owned()),
        ("/v1/audit/verify".to_owned(), "verify None".to_owned()),
        (
            format!("/v1/audit/verify?size=3&hash={hash}"),
            "verify Some(3)".to_owned(),
        ),
        ("/v1/backups".to_owned(), "backups".to_owned()),
    ] {
        assert_eq!(place.get(&target).status, 200, "{target}");
        assert_eq!(place.last(), call);
    }
    assert_eq!(&place.get("/health").body[..], b"{\"status\":\"ok\"}");
    assert_eq!(&place.get("/metrics").body[..], b"# EOF\n");
}

#[test]
fn queries_out_of_bounds_are_400_and_ask_nothing() {
    let mut place = place(Vec::new());
    for target in [
        "/v1/jobs?limit=0",
        "/v1/jobs?limit=1001",
        "/v1/jobs?limit=x",
        "/v1/jobs?state=ready",
        "/v1/jobs?uid=1",
        "/v1/audit?after=-1",
        "/v1/audit?after=99999999999999999999",
        "/v1/audit/verify?size=3",
        "/v1/audit/verify?size=3&hash=00",
    ] {
        assert_eq!(place.get(target).status, 400, "{target}");
    }
    assert_eq!(place.calls(), 0);
}

#[test]
fn verbs_carry_their_target_and_reason() {
    let mut place = place(Vec::new());
    let id = JobId::random();
    for (target, body, call) in [
        (
            format!("/v1/jobs/{id}/cancel"),
            r#"{"reason":"r"}"#,
            format!("Cancel Job({id:?}) r"),
        ),
        (
            format!("/v1/jobs/{id}/resolve"),
            r#"{"reason":"r","outcome":"not_applied"}"#,
            format!("Resolve(NotApplied) Job({id:?}) r"),
        ),
        (
            "/v1/jobs/requeue".to_owned(),
            r#"{"reason":"r","all":true,"if_evidence":"not_started"}"#,
            "Requeue All { if_evidence: Some(\"not_started\") } r".to_owned(),
        ),
        (
            "/v1/adopt".to_owned(),
            r#"{"reason":"r","path":"/app/vault/a"}"#,
            "Adopt Path(\"/app/vault/a\") r".to_owned(),
        ),
        (
            "/v1/freeze".to_owned(),
            r#"{"reason":"r"}"#,
            "Freeze Role r".to_owned(),
        ),
        (
            "/v1/clock/accept".to_owned(),
            r#"{"reason":"r"}"#,
            "ClockAccept Role r".to_owned(),
        ),
        ("/v1/backups".to_owned(), "", "BackupCreate Role ".to_owned()),
        (
            "/v1/backups/b-1/verify".to_owned(),
            "",
            "BackupVerify Backup(\"b-1\") ".to_owned(),
        ),
    ] {
        let reply = place.post(&target, body);
        assert_eq!((reply.status, place.last()), (200, call), "{target}");
    }
    let reply = place.post(&format!("/v1/jobs/{id}/recover"), "");
    assert_eq!((reply.status, &reply.body[..]), (200, &b"\0bytes"[..]));
}

#[test]
fn a_verb_without_a_reason_or_with_too_much_does_nothing() {
    let mut place = place(Vec::new());
    let long = format!("{{\"reason\":\"{}\"}}", "x".repeat(20_000));
    for (target, body, status) in [
        ("/v1/pause", "", 422),
        ("/v1/pause", "{}", 422),
        ("/v1/pause", r#"{"reason":"r","force":true}"#, 422),
        ("/v1/pause", "[", 422),
        ("/v1/pause", long.as_str(), 413),
    ] {
        assert_eq!(place.post(target, body).status, status, "{body:.40}");
    }
    let lines = place
        .client
        .post_raw("/v1/pause", Media::JsonLines, br#"{"reason":"r"}"#.to_vec());
    assert_eq!(lines.unwrap().status, 415);
    assert_eq!(place.calls(), 0);
}

#[test]
fn everything_else_is_404_another_method_included() {
    let mut place = place(Vec::new());
    let id = JobId::random();
    for target in [
        "/".to_owned(),
        "/v1".to_owned(),
        "/v1/overview/".to_owned(),
        "/v1/pause".to_owned(),
        "/v1/jobs/x".to_owned(),
        format!("/v1/jobs/{id}/cancel"),
        format!("/v1/receipts/{id}"),
        "/v2/overview".to_owned(),
    ] {
        assert_eq!(place.get(&target).status, 404, "{target}");
    }
    for target in [
        "/health",
        "/metrics",
        "/v1/overview",
        "/v1/backups/../verify",
        "/v1/backups/.x/verify",
    ] {
        assert_eq!(place.post(target, r#"{"reason":"r"}"#).status, 404, "{target}");
    }
    assert_eq!(place.calls(), 0);
}

#[test]
fn a_role_is_no_operator_even_in_the_group() {
    let mut place = place(vec![rustix::process::geteuid().as_raw()]);
    assert_eq!(place.get("/v1/overview").status, 403);
    assert_eq!(place.get("/health").status, 403);
    assert_eq!(place.post("/v1/freeze", r#"{"reason":"r"}"#).status, 403);
    assert_eq!(place.calls(), 0);
}
