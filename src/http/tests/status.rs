//! status.sock: what the gateway is told, and nobody else.

use super::support::{SOON, tight};
use crate::http::client::{Client, ClientFault};
use crate::http::socket::bind_unix;
use crate::http::status::{AtDoor, Changes, DoorAnswer, StatusEndpoints, StatusPort};
use crate::http::{Access, ApiError, Door, Health, Listener, Server, ServerHandle};
use crate::job::{JobId, Sha256, sha256};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const UID: u32 = 1000;

#[derive(Default)]
struct Role {
    receipt: Mutex<Option<(JobId, Value)>>,
    changes: Changes,
}

impl Role {
    fn tells(&self, id: JobId, state: &str) {
        *self.receipt.lock().unwrap() = Some((id, json!({"state": state})));
        self.changes.bump();
    }
}

impl StatusPort for Role {
    fn health(&self) -> Health {
        Health::Unhealthy("disk")
    }
    fn receipt(&self, id: JobId, uid: u32) -> Result<Option<Value>, ApiError> {
        let receipt = self.receipt.lock().unwrap();
        Ok(receipt
            .as_ref()
            .filter(|(of, _)| *of == id && uid == UID)
            .map(|(_, value)| value.clone()))
    }
    fn submission(&self, digest: Sha256, uid: u32) -> Result<Option<Value>, ApiError> {
        Ok((uid == UID).then(|| json!({"digest": digest.to_string()})))
    }
    fn approval_draft(&self, _: JobId, _: u32) -> Result<Option<Value>, ApiError> {
        Err(ApiError::unavailable("the database does not answer"))
    }
    fn door(&self, asked: &[AtDoor]) -> Result<DoorAnswer, ApiError> {
        Ok(DoorAnswer {
            frozen: false,
            conflicts: (0..asked.len()).filter(|at| asked[*at].uid == 7).collect(),
        })
    }
    fn changes(&self) -> Changes {
        self.changes.clone()
    }
}

struct Place {
    _dir: tempfile::TempDir,
    role: Arc<Role>,
    client: Client,
    _server: ServerHandle,
}

fn place(readers: Vec<u32>) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("status.sock");
    let role = Arc::new(Role::default());
    let door = Door {
        listener: Listener::Unix(bind_unix(&path, 0o660).unwrap()),
        access: Access::StatusReaders { uids: readers },
        endpoints: StatusEndpoints::new(role.clone()),
    };
    let server = Server {
        name: "status",
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

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn status(place: &mut Place, target: &str) -> u16 {
    place.client.get_raw(target).unwrap().status
}

#[test]
fn only_the_gateway_reads_receipts() {
    let mut place = place(vec![own_uid() + 1]);
    for target in [
        format!("/v1/receipts/{}?uid={UID}", JobId::random()),
        format!("/v1/watch?job={}&uid={UID}", JobId::random()),
        "/health".to_owned(),
    ] {
        assert_eq!(status(&mut place, &target), 403, "{target}");
    }
    let no = place.client.post("/v1/door", &json!([])).unwrap_err();
    assert!(matches!(no, ClientFault::Refused { status: 403, .. }), "{no}");
}

#[test]
fn a_receipt_is_for_the_requester_it_is_asked_for() {
    let mut place = place(vec![own_uid()]);
    let id = JobId::random();
    place.role.tells(id, "READY");
    let found = place.client.get(&format!("/v1/receipts/{id}?uid={UID}")).unwrap();
    assert_eq!(found, json!({"state": "READY"}));
    assert_eq!(status(&mut place, &format!("/v1/receipts/{id}?uid=1001")), 404);
    for target in [
        format!("/v1/receipts/{id}"),
        format!("/v1/receipts/{id}?uid=-1"),
        format!("/v1/receipts/{id}?uid=root"),
        format!("/v1/receipts/{id}?uid=1&uid=2"),
    ] {
        assert_eq!(status(&mut place, &target), 400, "{target}");
    }
    let digest = sha256(b"x");
    assert_eq!(
        status(&mut place, &format!("/v1/submissions/{digest}?uid={UID}")),
        200
    );
    assert_eq!(
        status(&mut place, &format!("/v1/submissions/{digest}?uid=1")),
        404
    );
    assert_eq!(
        status(&mut place, &format!("/v1/jobs/{id}/approval-draft?uid={UID}")),
        503
    );
    assert_eq!(status(&mut place, "/v1/nothing"), 404);
    let health = place.client.get_raw("/health").unwrap();
    assert_eq!(health.status, 503);
    assert_eq!(&health.body[..], br#"{"status":"unhealthy","reason":"disk"}"#);
}

#[test]
fn a_watch_answers_at_once_without_a_cursor_and_with_one_when_something_changed() {
    let mut place = place(vec![own_uid()]);
    let id = JobId::random();
    let target = format!("/v1/watch?job={id}&uid={UID}");
    let first = place.client.get(&target).unwrap();
    assert_eq!(first["receipt"], json!(null));
    let since = |value: &Value| format!("{target}&since={}", value["cursor"].as_str().unwrap());
    let role = place.role.clone();
    let telling = std::thread::spawn(move || {
        for _ in 0..3 {
            // News of other jobs wake nobody for long.
            role.changes.bump();
            std::thread::park_timeout(std::time::Duration::from_millis(30));
        }
        role.tells(id, "READY");
    });
    let second = place.client.get(&since(&first)).unwrap();
    assert_eq!(second["receipt"]["state"], "READY");
    assert_ne!(second["cursor"], first["cursor"]);
    telling.join().unwrap();
    let old = place.client.get(&since(&first)).unwrap();
    assert_eq!(old, second, "an old cursor is news at once");
    assert_eq!(status(&mut place, &format!("/v1/watch?job=x&uid={UID}")), 400);
}

#[test]
fn the_door_takes_a_thousand_and_nothing_odd() {
    let mut place = place(vec![own_uid()]);
    let one = |uid: u32| json!({"job_id": JobId::random().to_string(), "digest": sha256(b"").to_string(), "uid": uid});
    let many: Vec<Value> = (0..1000).map(|at| one(if at == 500 { 7 } else { 8 })).collect();
    let told = place.client.post("/v1/door", &json!(many)).unwrap();
    assert_eq!(told, json!({"frozen": false, "conflicts": [500]}));
    assert_eq!(
        place.client.post("/v1/door", &json!([])).unwrap()["conflicts"],
        json!([])
    );
    let mut more = many;
    more.push(one(8));
    for odd in [
        json!(more),
        json!({}),
        json!([{"job_id": "x", "digest": "y", "uid": 1}]),
        json!([{"job_id": JobId::random().to_string(), "digest": sha256(b"").to_string(), "uid": 1, "more": 1}]),
    ] {
        let no = place.client.post("/v1/door", &odd).unwrap_err();
        assert!(matches!(no, ClientFault::Refused { status: 400, .. }), "{no}");
    }
}
