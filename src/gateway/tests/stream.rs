//! Event streams.

use super::rig::{Rig, delete, digest_of, own_uid, parts, save};
use crate::http::client::Event;
use crate::job::{JobId, Role};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Reads a stream to its end on a thread of its own.
fn read(rig: &Rig, id: JobId) -> (Receiver<Event>, JoinHandle<bool>) {
    let (sender, receiver) = channel();
    let mut client = rig.client();
    let thread = std::thread::spawn(move || {
        let mut each = |event| match sender.send(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        client.events(&format!("/v1/jobs/{id}/events"), &mut each).is_ok()
    });
    (receiver, thread)
}

fn next(events: &Receiver<Event>) -> (String, Value) {
    let event = events.recv_timeout(Duration::from_secs(10)).unwrap();
    (event.name, serde_json::from_str(&event.data).unwrap())
}

/// Nothing more is said, and the server is who ends it.
fn ends(events: &Receiver<Event>, thread: JoinHandle<bool>) {
    let more = events.recv_timeout(Duration::from_secs(10));
    assert_eq!(more, Err(RecvTimeoutError::Disconnected), "the stream goes on");
    assert!(thread.join().unwrap());
}

#[test]
fn a_stream_tells_every_change_from_the_spool_to_the_end_and_ends() {
    let rig = Rig::new();
    let id = JobId::random();
    let document = save(id);
    rig.submit(&document);
    let (events, thread) = read(&rig, id);
    let (name, receipt) = next(&events);
    assert_eq!((name.as_str(), &receipt["state"]), ("receipt", &json!("CREATED")));
    for state in ["READY", "EXECUTING", "SUCCEEDED"] {
        rig.save.tells(id, own_uid(), state, digest_of(&document));
        if state == "READY" {
            rig.take(Role::Save);
        }
        let (name, receipt) = next(&events);
        assert_eq!(
            (name.as_str(), receipt["state"].as_str()),
            ("receipt", Some(state))
        );
    }
    ends(&events, thread);
}

#[test]
fn a_settled_job_is_told_once() {
    let rig = Rig::new();
    let id = JobId::random();
    rig.delete
        .tells(id, own_uid(), "OUTCOME_UNKNOWN", digest_of(&delete(id)));
    let (events, thread) = read(&rig, id);
    assert_eq!(next(&events).1["state"], "OUTCOME_UNKNOWN");
    ends(&events, thread);
}

#[test]
fn a_job_its_role_refuses_ends_with_the_refusal() {
    let rig = Rig::new();
    let id = JobId::random();
    let document = save(id);
    rig.submit(&document);
    let (events, thread) = read(&rig, id);
    assert_eq!(next(&events).1["state"], "CREATED");
    let refusal =
        json!({"digest": digest_of(&document).to_string(), "accepted": false, "code": "not_allowed"});
    let key = (digest_of(&document), own_uid());
    rig.save.knows().submissions.insert(key, refusal.clone());
    rig.take(Role::Save);
    assert_eq!(next(&events), ("refused".to_owned(), refusal));
    ends(&events, thread);
}

#[test]
fn streams_end_when_the_gateway_stops_and_when_nobody_reads() {
    let mut rig = Rig::new();
    let id = JobId::random();
    rig.save.tells(id, own_uid(), "READY", digest_of(&save(id)));
    let (gone, thread) = read(&rig, id);
    next(&gone);
    drop(gone);
    rig.save.tells(id, own_uid(), "CLAIMED", digest_of(&save(id)));
    assert!(thread.join().unwrap());
    let (events, thread) = read(&rig, id);
    assert_eq!(next(&events).1["state"], "CLAIMED");
    rig.stop();
    thread.join().unwrap();
    assert!(events.recv().is_err());
}

#[test]
fn a_requester_has_a_bounded_number_of_streams_and_gets_its_places_back() {
    let rig = Rig::new();
    let id = JobId::random();
    rig.save.tells(id, own_uid(), "READY", digest_of(&save(id)));
    let all: Vec<_> = (0..16).map(|_| read(&rig, id)).collect();
    for (events, _) in &all {
        next(events);
    }
    let reply = rig.client().get_raw(&format!("/v1/jobs/{id}/events")).unwrap();
    assert_eq!((reply.status, reply.retry_after_s), (429, Some(5)));
    assert_eq!(parts(&reply).1["error"]["code"], "rate_limited");
    rig.save.tells(id, own_uid(), "SUCCEEDED", digest_of(&save(id)));
    for (events, thread) in all {
        assert_eq!(next(&events).1["state"], "SUCCEEDED");
        ends(&events, thread);
    }
    let (events, thread) = read(&rig, id);
    assert_eq!(next(&events).1["state"], "SUCCEEDED");
    ends(&events, thread);
}
