//! What the roles know, asked over their status sockets. In: a requester's UID and what it asks about. Out: the role's
//! answer, or that it has none, or that it cannot be asked.
//!
//! Not here: what is done with an answer.

use crate::http::Media;
use crate::http::caller::{Caller, Repeat, Reply};
use crate::http::status::{AtDoor, DoorAnswer, door_question};
use crate::job::Role;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where a role is met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolePlaces {
    /// The role.
    pub role: Role,
    /// Its `spool/ROLE/gate`.
    pub gate: PathBuf,
    /// Its `run/ROLE/status.sock`.
    pub status: PathBuf,
}

/// A role that does not answer for this long counts as away.
const ANSWER_TIME: Duration = Duration::from_secs(3);
/// Connections kept for the next question. The role closes them when they idle.
const KEPT_MAX: usize = 4;

/// A role's places and open connections.
#[derive(Debug)]
pub(super) struct RoleDoor {
    pub(super) places: RolePlaces,
    kept: Mutex<Vec<Caller>>,
}

/// What a role said.
#[derive(Debug)]
pub(super) enum Told {
    /// 200, the body.
    Yes(hyper::body::Bytes),
    /// 404.
    Nothing,
    /// Another refusal.
    No(Reply),
    /// It cannot be asked, or cannot answer, now.
    Away(String),
}

impl RoleDoor {
    pub(super) fn new(places: RolePlaces) -> RoleDoor {
        RoleDoor {
            places,
            kept: Mutex::new(Vec::new()),
        }
    }

    fn caller(&self) -> Caller {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Caller::new(&self.places.status, ANSWER_TIME))
    }
    fn keep(&self, caller: Caller) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_MAX {
            kept.push(caller);
        }
    }

    /// Asks with GET.
    pub(super) async fn get(&self, target: &str) -> Told {
        let mut caller = self.caller();
        match caller.get(target).await {
            Ok(reply) => {
                self.keep(caller);
                told(reply)
            }
            Err(fault) => Told::Away(fault.to_string()),
        }
    }

    /// What the role says to submissions; `None` if it cannot say.
    pub(super) async fn at_door(&self, asked: &[AtDoor]) -> Option<DoorAnswer> {
        let mut caller = self.caller();
        let body = door_question(asked).to_string().into();
        let reply = caller.post("/v1/door", Media::Json, body, Repeat::Safe).await;
        let reply = reply.ok()?;
        self.keep(caller);
        match told(reply) {
            Told::Yes(body) => serde_json::from_slice(&body).ok(),
            Told::Nothing | Told::No(_) | Told::Away(_) => None,
        }
    }
}

fn told(reply: Reply) -> Told {
    match reply.status {
        200 => Told::Yes(reply.body),
        404 => Told::Nothing,
        500.. => Told::Away(format!("it answers {}", reply.status)),
        _ => Told::No(reply),
    }
}
