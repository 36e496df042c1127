//! The other end for whoever may block: the command line. In: a socket's path, targets, bodies. Out: JSON, bytes, events,
//! or a fault with its exit status.
//!
//! Not here: connections and deadlines (caller), what the answers mean.

use super::caller::{Ask, Caller, REPLY_BYTES_MAX, Repeat};
pub use super::caller::{ClientFault, Reply};
use super::request::Media;
use hyper::Method;
use hyper::body::Bytes;
use serde_json::Value;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Event streams carry a sign of life every 15 s.
const EVENT_SILENCE_MAX: Duration = Duration::from_secs(60);
const EVENT_LINE_MAX: usize = 1 << 20;

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// `receipt` or `refused`.
    pub name: String,
    /// JSON text.
    pub data: String,
}

/// A client that blocks.
#[derive(Debug)]
pub struct Client {
    runtime: tokio::runtime::Runtime,
    caller: Caller,
}

impl Client {
    /// A client for one socket; each request has `deadline` to be answered in full.
    ///
    /// # Errors
    /// [`ClientFault::Here`] if this process cannot wait on sockets.
    pub fn new(path: &Path, deadline: Duration) -> Result<Client, ClientFault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| ClientFault::Here {
            step: "wait on sockets",
            source,
        })?;
        Ok(Client {
            runtime,
            caller: Caller::new(path, deadline),
        })
    }
    /// GET: the JSON of a 2xx answer.
    ///
    /// # Errors
    /// [`ClientFault`], a refusal included.
    pub fn get(&mut self, target: &str) -> Result<Value, ClientFault> {
        let reply = self.runtime.block_on(self.caller.get(target))?;
        self.caller.value(&reply)
    }
    /// GET: the answer as it is, whatever its status (health, metrics).
    ///
    /// # Errors
    /// [`ClientFault`], but no refusal.
    pub fn get_raw(&mut self, target: &str) -> Result<Reply, ClientFault> {
        self.runtime.block_on(self.caller.get(target))
    }
    /// POST: the JSON of a 2xx answer.
    ///
    /// # Errors
    /// [`ClientFault`], a refusal included.
    pub fn post(&mut self, target: &str, body: &Value) -> Result<Value, ClientFault> {
        let reply = self.post_raw(target, Media::Json, body.to_string().into_bytes())?;
        self.caller.value(&reply)
    }
    /// POST of bytes as they are: the answer as it is.
    ///
    /// # Errors
    /// [`ClientFault`], but no refusal.
    pub fn post_raw(&mut self, target: &str, media: Media, body: Vec<u8>) -> Result<Reply, ClientFault> {
        self.runtime
            .block_on(self.caller.post(target, media, body.into(), Repeat::Never))
    }

    /// POST whose 2xx answer is bytes, written to `into` as they come. Returns how many.
    ///
    /// # Errors
    /// [`ClientFault`]; what was written so far stays written.
    pub fn download(
        &mut self,
        target: &str,
        body: &Value,
        into: &mut dyn io::Write,
    ) -> Result<u64, ClientFault> {
        let Client { runtime, caller } = self;
        let ask = Ask {
            method: Method::POST,
            target,
            media: Media::Json,
            body: body.to_string().into(),
        };
        let deadline = caller.deadline;
        let exchange = async {
            let response = caller.exchange(ask, Repeat::Never).await?;
            caller.kept = None;
            let status = response.status().as_u16();
            let mut body = response.into_body();
            let (mut count, mut text) = (0u64, Vec::new());
            while let Some(piece) = caller.piece(&mut body).await? {
                if (200..300).contains(&status) {
                    into.write_all(&piece).map_err(|source| ClientFault::Here {
                        step: "write",
                        source,
                    })?;
                    count += u64::try_from(piece.len()).unwrap_or(0);
                } else if text.len() + piece.len() <= REPLY_BYTES_MAX {
                    text.extend_from_slice(&piece);
                }
            }
            if (200..300).contains(&status) {
                return Ok(count);
            }
            Err(caller.refusal(&Reply {
                status,
                retry_after_s: None,
                body: text.into(),
            }))
        };
        let ended = runtime.block_on(async { tokio::time::timeout(deadline, exchange).await });
        ended.unwrap_or_else(|_| {
            Err(ClientFault::Deadline {
                path: self.caller.path.clone(),
                deadline,
            })
        })
    }

    /// GET of an event stream: each event is handed to `each` until it breaks or the stream ends.
    ///
    /// # Errors
    /// [`ClientFault`]; `Deadline` after a minute without any sign of life.
    pub fn events(
        &mut self,
        target: &str,
        each: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<(), ClientFault> {
        let Client { runtime, caller } = self;
        let ask = Ask {
            method: Method::GET,
            target,
            media: Media::Json,
            body: Bytes::new(),
        };
        let silent = || ClientFault::Deadline {
            path: caller.path.clone(),
            deadline: EVENT_SILENCE_MAX,
        };
        let silence = silent();
        runtime.block_on(async {
            let response = tokio::time::timeout(caller.deadline, caller.exchange(ask, Repeat::Never)).await;
            let Ok(response) = response else {
                return Err(silence);
            };
            let response = response?;
            caller.kept = None;
            let status = response.status().as_u16();
            let mut body = response.into_body();
            let mut lines = EventLines::default();
            let mut refusal = Vec::new();
            loop {
                let piece = tokio::time::timeout(EVENT_SILENCE_MAX, caller.piece(&mut body)).await;
                let Ok(piece) = piece else { return Err(silence) };
                let Some(piece) = piece? else { break };
                if status != 200 {
                    refusal.extend_from_slice(&piece);
                } else if lines.feed(&piece, each).is_break() {
                    return Ok(());
                }
                if lines.pending.len().max(refusal.len()) > EVENT_LINE_MAX {
                    return Err(caller.strange("an endless line"));
                }
            }
            if status == 200 {
                return Ok(());
            }
            Err(caller.refusal(&Reply {
                status,
                retry_after_s: None,
                body: refusal.into(),
            }))
        })
    }
}

/// Bytes of an event stream, put together to events.
#[derive(Debug, Default)]
struct EventLines {
    pending: Vec<u8>,
    event: Event,
}

impl EventLines {
    fn feed(&mut self, piece: &[u8], each: &mut dyn FnMut(Event) -> ControlFlow<()>) -> ControlFlow<()> {
        self.pending.extend_from_slice(piece);
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                if !self.event.data.is_empty() {
                    each(std::mem::take(&mut self.event))?;
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                self.event.data.push_str(data.trim_start());
            } else if let Some(name) = line.strip_prefix("event:") {
                name.trim_start().clone_into(&mut self.event.name);
            }
        }
        ControlFlow::Continue(())
    }
}
