//! `GET /v1/jobs/{id}/events`. In: a job of the requester. Out: server-sent events: `receipt` now and at each change until it
//! is settled; `refused` with what `/v1/submissions` says if its role refuses it.
//!
//! While only the spool has the job, the file is looked at (0.1 s to 1 s apart); from then on the role says when something
//! changes. Nothing runs while no stream is open.
//!
//! Not here: finding the job (`find`), the text of receipts (the role).

use super::Gateway;
use super::find::{Found, Holder, is_settled};
use super::rates::limited;
use super::roles::Told;
use crate::http::caller::Caller;
use crate::http::status::WATCH_TIME;
use crate::http::{Answer, ApiError, Ready};
use crate::job::JobId;
use hyper::body::Bytes;
use serde_json::Value;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Streams open at once; each holds a connection here and one to its role.
const STREAMS_MAX: usize = 64;
/// Of one requester.
const STREAMS_PER_UID_MAX: usize = 16;
/// A comment this often tells both ends that the other is there; the client gives up after a minute without.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
const LOOK_FIRST: Duration = Duration::from_millis(100);
const LOOK_LAST: Duration = Duration::from_secs(1);
/// Before a role that is away is asked again.
const AWAY_PAUSE: Duration = Duration::from_secs(1);

/// Open streams by requester.
#[derive(Debug)]
pub(super) struct Streams {
    open: Mutex<HashMap<u32, usize>>,
}

/// A place among them.
#[derive(Debug)]
struct Stream {
    streams: Arc<Streams>,
    uid: u32,
}

impl Streams {
    pub(super) fn new() -> Arc<Streams> {
        Arc::new(Streams {
            open: Mutex::new(HashMap::new()),
        })
    }
    pub(super) fn open(&self) -> usize {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .sum()
    }
    fn enter(self: &Arc<Streams>, uid: u32) -> Result<Stream, ApiError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = open.values().sum();
        let own = open.get(&uid).copied().unwrap_or(0);
        if own >= STREAMS_PER_UID_MAX || all >= STREAMS_MAX {
            let message = "too many event streams are open; close one, or ask for the receipt";
            return Err(limited(message).retry_after(5));
        }
        open.insert(uid, own + 1);
        Ok(Stream {
            streams: self.clone(),
            uid,
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        let left = open.get(&self.uid).copied().unwrap_or(0).saturating_sub(1);
        if left == 0 {
            open.remove(&self.uid);
        } else {
            open.insert(self.uid, left);
        }
    }
}

impl Gateway {
    pub(super) async fn events(self: &Arc<Gateway>, ready: &Ready, id: JobId) -> Result<Answer, ApiError> {
        let uid = ready.uid();
        let place = self.streams.enter(uid)?;
        let found = self.find(uid, id).await?;
        let found = found.ok_or_else(|| ApiError::not_found("no such job of yours"))?;
        let (sender, receiver) = mpsc::channel(4);
        let follow = Follow {
            gateway: self.clone(),
            uid,
            id,
            sender,
            stopping: ready.stopping(),
            sign: tokio::time::interval(SIGN_OF_LIFE),
        };
        drop(tokio::task::spawn_local(async move {
            // None is the ordinary end of a stream whose reader went away.
            let _ended: Option<()> = follow.run(found).await;
            drop(place);
        }));
        Ok(Answer::events(receiver))
    }
}

/// One stream.
struct Follow {
    gateway: Arc<Gateway>,
    uid: u32,
    id: JobId,
    sender: mpsc::Sender<Bytes>,
    stopping: watch::Receiver<bool>,
    sign: tokio::time::Interval,
}

impl Follow {
    /// Ends when there is nothing more to say; `None` when nobody listens or the server stops.
    async fn run(mut self, found: Found) -> Option<()> {
        self.sign.reset();
        let Found {
            role,
            holder,
            receipt,
        } = found;
        self.send("receipt", &receipt).await?;
        if is_settled(&receipt) {
            return Some(());
        }
        match holder {
            Holder::Spool => self.while_spooled().await?,
            Holder::Ledger => {}
        }
        let gateway = self.gateway.clone();
        let status = &gateway.role(role).ok()?.places.status;
        self.watch(Caller::new(status, WATCH_TIME + Duration::from_secs(10)), receipt)
            .await
    }

    async fn while_spooled(&mut self) -> Option<()> {
        let mut pause = LOOK_FIRST;
        while self.gateway.pending.job(self.uid, self.id).is_some() {
            self.during(tokio::time::sleep(pause)).await?;
            pause = (pause * 2).min(LOOK_LAST);
        }
        Some(())
    }

    async fn watch(&mut self, mut role: Caller, mut last: Value) -> Option<()> {
        let asked = format!("/v1/watch?job={}&uid={}", self.id, self.uid);
        let mut target = asked.clone();
        loop {
            let reply = self.during(role.get(&target)).await?;
            let news: Option<Value> = reply
                .ok()
                .filter(|reply| reply.status == 200)
                .and_then(|reply| serde_json::from_slice(&reply.body).ok());
            let Some(mut news) = news else {
                self.during(tokio::time::sleep(AWAY_PAUSE)).await?;
                continue;
            };
            let receipt = news["receipt"].take();
            if receipt.is_null() {
                return self.refused(&last).await;
            }
            if receipt != last {
                self.send("receipt", &receipt).await?;
                last = receipt;
            }
            if is_settled(&last) {
                return Some(());
            }
            let cursor = news["cursor"].as_str().unwrap_or_default();
            target = format!("{asked}&since={cursor}");
        }
    }

    /// The role took the file and has no job: it refused it, and says why.
    async fn refused(&mut self, last: &Value) -> Option<()> {
        let digest = last["digest"].as_str()?.to_owned();
        let target = format!("/v1/submissions/{digest}?uid={}", self.uid);
        let gateway = self.gateway.clone();
        for door in &gateway.roles {
            let told = self.during(door.get(&target)).await?;
            if let Told::Yes(body) = told
                && let Ok(value) = serde_json::from_slice::<Value>(&body)
            {
                return self.send("refused", &value).await;
            }
        }
        Some(())
    }

    /// Waits for `work` as long as somebody listens, with a sign of life now and then.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                _ = self.stopping.wait_for(|stop| *stop) => return None,
                () = self.sender.closed() => return None,
                done = work.as_mut() => return Some(done),
                _ = self.sign.tick() => self.sender.send(Bytes::from_static(b":\n\n")).await.ok()?,
            }
        }
    }

    async fn send(&mut self, name: &str, value: &Value) -> Option<()> {
        let text = format!("event: {name}\ndata: {value}\n\n");
        self.sender.send(text.into()).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_bounded_for_one_requester_and_for_all_and_places_come_back() {
        let streams = Streams::new();
        let mut held: Vec<Stream> = (0..STREAMS_PER_UID_MAX)
            .map(|_| streams.enter(1).unwrap())
            .collect();
        let no = streams.enter(1).unwrap_err();
        assert_eq!((no.status, no.retry_after_s), (429, Some(5)));
        held.pop();
        held.push(streams.enter(1).unwrap());
        for uid in 2..=4 {
            held.extend((0..STREAMS_PER_UID_MAX).map(|_| streams.enter(uid).unwrap()));
        }
        assert_eq!(streams.enter(9).unwrap_err().status, 429);
        drop(held);
        assert_eq!(streams.open(), 0);
    }
}
