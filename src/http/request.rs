//! The stages of a request. In: what hyper parsed, and who the kernel says is at the other end. Out: a [`Ready`] request,
//! which exists only after permission was judged and the body was read within its limit.
//!
//! A handler takes [`Ready`]; there is no other way to get at a body, and no other way to make one:
//!
//! ```compile_fail,E0599
//! async fn skips_permission(request: lockgate::http::Request) {
//!     let _ = request.read_body(lockgate::http::BodyLimit::Nothing).await; // only `Permitted` can read
//! }
//! ```
//! ```compile_fail,E0599
//! fn skips_the_limit(request: lockgate::http::Permitted) -> hyper::body::Bytes {
//!     request.body() // only `Ready` has a body
//! }
//! ```
//!
//! Not here: which permission an endpoint needs (the endpoint tables), the limits' values (server).

use super::answer::ApiError;
use crate::job::Code;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::{Method, header};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A process on a unix socket, as the kernel saw it when it connected (SO_PEERCRED).
    Unix {
        /// Its effective user id.
        uid: u32,
        /// Its effective group id.
        gid: u32,
        /// Its process id, where the kernel tells.
        pid: Option<i32>,
    },
    /// Somebody on the loopback interface: nobody in particular.
    Loopback,
}

impl Peer {
    /// The user id of a unix peer.
    pub fn uid(self) -> Option<u32> {
        match self {
            Peer::Unix { uid, .. } => Some(uid),
            Peer::Loopback => None,
        }
    }
}

/// The id the kernel shows for a user it cannot map into this process's user namespace. All such users look alike, so
/// none of them can be told from another.
const UNMAPPED_UIDS: [u32; 2] = [65534, u32::MAX];

/// What an endpoint needs its caller to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Ask whether the process is healthy.
    Probe,
    /// Read the metrics.
    Scrape,
    /// See and act as an operator.
    Operate,
    /// Read receipts on behalf of a stated requester: the gateway's alone.
    ReadStatus,
    /// Ask for work and see one's own.
    Ask,
}

/// Who holds which permission on a listener. A unix socket's mode has already decided who could connect.
#[derive(Debug, Clone)]
pub enum Access {
    /// admin.sock: everyone the socket's mode lets in, but the user ids listed (roles, gateway).
    Operators {
        /// Never operators, whatever group they got into.
        except: Vec<u32>,
    },
    /// status.sock: these user ids only.
    StatusReaders {
        /// The gateway's; in development everybody's own.
        uids: Vec<u32>,
    },
    /// gateway.sock: everyone the socket's mode lets in, but the user ids listed (roles, gateway).
    Requesters {
        /// Never requesters.
        except: Vec<u32>,
    },
    /// A loopback TCP socket: health and metrics.
    Probes,
}

impl Access {
    /// Whether `peer` holds `permission` on this listener.
    pub fn grants(&self, peer: Peer, permission: Permission) -> bool {
        let wanted = match (self, permission) {
            (Access::Operators { .. }, Permission::Probe | Permission::Scrape | Permission::Operate) => true,
            (Access::Operators { .. }, Permission::ReadStatus | Permission::Ask) => false,
            (Access::StatusReaders { .. }, Permission::Probe | Permission::ReadStatus) => true,
            (Access::StatusReaders { .. }, Permission::Scrape | Permission::Operate | Permission::Ask) => {
                false
            }
            (Access::Requesters { .. }, Permission::Probe | Permission::Ask) => true,
            (
                Access::Requesters { .. },
                Permission::Scrape | Permission::Operate | Permission::ReadStatus,
            ) => false,
            (Access::Probes, Permission::Probe | Permission::Scrape) => true,
            (Access::Probes, Permission::Operate | Permission::ReadStatus | Permission::Ask) => false,
        };
        wanted
            && match (self, peer) {
                (Access::Probes, _) => true,
                (_, Peer::Loopback) => false,
                (Access::Operators { except }, Peer::Unix { uid, .. }) => {
                    !except.contains(&uid) && !UNMAPPED_UIDS.contains(&uid)
                }
                (Access::StatusReaders { uids }, Peer::Unix { uid, .. }) => uids.contains(&uid),
                // Health says nothing about anybody, so a refused requester may still ask it.
                (Access::Requesters { .. }, Peer::Unix { .. }) if permission == Permission::Probe => true,
                (Access::Requesters { except }, Peer::Unix { uid, .. }) => {
                    !except.contains(&uid) && !UNMAPPED_UIDS.contains(&uid)
                }
            }
    }
    /// Whether an endpoint that needs `permission` exists at all on this listener.
    fn has(&self, permission: Permission) -> bool {
        match self {
            Access::Probes => matches!(permission, Permission::Probe | Permission::Scrape),
            Access::Requesters { .. } => permission != Permission::Scrape,
            Access::Operators { .. } | Access::StatusReaders { .. } => true,
        }
    }
}

/// How much of a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLimit {
    /// None at all: a request with a body is refused.
    Nothing,
    /// At most this many bytes.
    Bytes(usize),
}

impl BodyLimit {
    fn bytes_max(self) -> usize {
        match self {
            BodyLimit::Nothing => 0,
            BodyLimit::Bytes(max) => max,
        }
    }
}

/// First stage: a head, and nothing judged yet.
#[derive(Debug)]
pub struct Request {
    head: Parts,
    body: Incoming,
    seen: Seen,
}

/// What a listener knows about the connection a request came on.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) peer: Peer,
    pub(super) access: Rc<Access>,
    pub(super) body_time: Duration,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Request {
    pub(super) fn new(head: Parts, body: Incoming, seen: Seen) -> Request {
        Request { head, body, seen }
    }
    /// The method.
    pub fn method(&self) -> &Method {
        &self.head.method
    }
    /// The path, never decoded.
    pub fn path(&self) -> &str {
        self.head.uri.path()
    }
    /// Second stage.
    ///
    /// # Errors
    /// 403 `not_allowed`; 404 where such endpoints do not exist on this listener.
    pub fn permit(self, permission: Permission) -> Result<Permitted, ApiError> {
        if !self.seen.access.has(permission) {
            return Err(ApiError::not_found("no such endpoint here"));
        }
        if !self.seen.access.grants(self.seen.peer, permission) {
            let who = self
                .seen
                .peer
                .uid()
                .map_or_else(|| "this peer".to_owned(), |uid| format!("uid {uid}"));
            return Err(ApiError::not_allowed(format!(
                "{who} may not do this on this socket"
            )));
        }
        Ok(Permitted { request: self })
    }
}

/// What a body claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// One document.
    Json,
    /// One document a line.
    JsonLines,
}

/// Second stage: the peer may do what it asks; its body is unread.
#[derive(Debug)]
pub struct Permitted {
    request: Request,
}

/// How much of a refused body is read and thrown away so that the peer gets to see the answer, and for how long.
const LINGER_BYTES: usize = 4 << 20;
const LINGER_TIME: Duration = Duration::from_secs(2);

impl Permitted {
    /// What the body claims to be. No Content-Type at all, and the one curl sends unasked, count as JSON.
    ///
    /// # Errors
    /// 415 `wrong_media_type`.
    pub fn media(&self) -> Result<Media, ApiError> {
        let Some(value) = self.request.head.headers.get(header::CONTENT_TYPE) else {
            return Ok(Media::Json);
        };
        let text = value.to_str().unwrap_or_default();
        let kind = text
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match kind.as_str() {
            "application/json" | "application/x-www-form-urlencoded" => Ok(Media::Json),
            "application/jsonl" => Ok(Media::JsonLines),
            _ => Err(ApiError::new(
                415,
                "wrong_media_type",
                "send application/json, or application/jsonl where documents are taken",
            )),
        }
    }

    /// Third stage: reads the body, at most `limit`, within the server's body time.
    ///
    /// # Errors
    /// 413 `too_large` without reading the rest; 408 `timeout`; 400 `bad_request` if the peer breaks off.
    pub async fn read_body(self, limit: BodyLimit) -> Result<Ready, ApiError> {
        let Request { head, mut body, seen } = self.request;
        let max = limit.bytes_max();
        let announced = body.size_hint().lower();
        let ready = |body: Bytes| Ready {
            peer: seen.peer,
            query: head.uri.query().map(str::to_owned),
            body,
            stopping: seen.stopping.clone(),
        };
        if body.is_end_stream() {
            return Ok(ready(Bytes::new()));
        }
        if usize::try_from(announced).unwrap_or(usize::MAX) > max {
            linger(body);
            return Err(too_large(max));
        }
        match tokio::time::timeout(seen.body_time, collect(&mut body, max)).await {
            Ok(Ok(Some(bytes))) => Ok(ready(bytes)),
            Ok(Ok(None)) => {
                linger(body);
                Err(too_large(max))
            }
            Ok(Err(_)) => Err(ApiError::bad_request("the body broke off")),
            Err(_) => Err(ApiError::new(408, "timeout", "the body did not arrive in time")),
        }
    }
}

/// `None` if there is more than `max`.
async fn collect(body: &mut Incoming, max: usize) -> Result<Option<Bytes>, hyper::Error> {
    let mut whole: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        if whole.len() + piece.len() > max {
            return Ok(None);
        }
        if whole.is_empty() && body.is_end_stream() {
            return Ok(Some(piece));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Some(whole.into()))
}

/// A peer that is still sending would see a broken pipe instead of the 413, so a bounded rest is thrown away meanwhile.
fn linger(mut body: Incoming) {
    tokio::task::spawn_local(async move {
        let rest = async {
            let mut thrown = 0usize;
            while let Some(Ok(frame)) = body.frame().await {
                thrown += frame.data_ref().map_or(0, Bytes::len);
                if thrown > LINGER_BYTES {
                    return;
                }
            }
        };
        drop(tokio::time::timeout(LINGER_TIME, rest).await);
    });
}

fn too_large(max: usize) -> ApiError {
    let message = match max {
        0 => "this endpoint takes no body".to_owned(),
        max => format!("the body is larger than {max} bytes"),
    };
    ApiError::field(Code::TooLarge, "", message)
}

/// Third stage: all that a handler may look at.
#[derive(Debug)]
pub struct Ready {
    peer: Peer,
    query: Option<String>,
    body: Bytes,
    stopping: watch::Receiver<bool>,
}

impl Ready {
    /// Who asks.
    pub fn peer(&self) -> Peer {
        self.peer
    }
    /// The peer's user id; `u32::MAX` where there is none, which no access list grants anything.
    pub fn uid(&self) -> u32 {
        self.peer.uid().unwrap_or(u32::MAX)
    }
    /// The whole body.
    pub fn body(&self) -> &Bytes {
        &self.body
    }
    /// Turns true when the server is asked to stop: streams end then.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.clone()
    }
    /// The query's values for `names`, in that order. Values are plain (`A-Z a-z 0-9 _ . : -`), never decoded.
    ///
    /// # Errors
    /// 400 for another name, a name given twice, or another character.
    pub fn query<const N: usize>(&self, names: [&str; N]) -> Result<[Option<&str>; N], ApiError> {
        let mut found = [None; N];
        for pair in self
            .query
            .iter()
            .flat_map(|query| query.split('&'))
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(at) = names.iter().position(|known| *known == name) else {
                return Err(ApiError::bad_request(format!(
                    "the query takes only: {}",
                    names.join(", ")
                )));
            };
            let plain = value
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || b"_.:-".contains(&c));
            if !plain || value.is_empty() || value.len() > 200 {
                return Err(ApiError::bad_request(format!(
                    "the value of {} is not plain",
                    names[at]
                )));
            }
            if found[at].replace(value).is_some() {
                return Err(ApiError::bad_request(format!("{} is given twice", names[at])));
            }
        }
        Ok(found)
    }
}
