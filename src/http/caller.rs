//! One exchange with a unix socket. In: a socket's path, a target, a body. Out: the answer, or a fault that says whether
//! anybody runs there and what to do.
//!
//! Not here: blocking, event streams (client), what the answers mean.

use super::request::Media;
use super::socket::connect_unix;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why there is no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientFault {
    /// No socket there.
    #[error("{path}: there is no such socket: is the role running?")]
    Missing {
        /// The socket.
        path: PathBuf,
    },
    /// A socket that nobody listens on.
    #[error("{path}: nobody listens there: is the role running?")]
    NotRunning {
        /// The socket.
        path: PathBuf,
    },
    /// The socket's mode or its directory's keeps this user out.
    #[error("{path}: this user may not connect; see the group of the socket")]
    Forbidden {
        /// The socket.
        path: PathBuf,
    },
    /// Nothing in time.
    #[error("{path}: no answer within {} s", .deadline.as_secs_f32())]
    Deadline {
        /// The socket.
        path: PathBuf,
        /// How long was waited.
        deadline: Duration,
    },
    /// An answer that broke off, or none.
    #[error("{path}: the connection broke off: {what}; what was asked for may have been done")]
    Broken {
        /// The socket.
        path: PathBuf,
        /// What happened.
        what: String,
    },
    /// An answer that is not one of ours.
    #[error("{path}: not an answer of lockgate: {what}")]
    Strange {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A "no".
    #[error("{message} ({code})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The stable word.
        code: String,
        /// One sentence.
        message: String,
        /// JSON pointer, or empty.
        pointer: String,
        /// Seconds after which to try again.
        retry_after_s: Option<u32>,
    },
    /// This side failed: no runtime, or the output cannot be written.
    #[error("cannot {step}")]
    Here {
        /// What was being done.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl ClientFault {
    /// The exit status of contract 6 for a command that ends with this.
    pub fn exit_status(&self) -> u8 {
        match self {
            ClientFault::Missing { .. }
            | ClientFault::NotRunning { .. }
            | ClientFault::Deadline { .. }
            | ClientFault::Broken { .. }
            | ClientFault::Strange { .. } => 69,
            ClientFault::Forbidden { .. } => 77,
            ClientFault::Refused { status, code, .. } => match status {
                400 | 415 => 2,
                403 => 77,
                409 if code == "idempotency_conflict" => 65,
                413 | 422 => 65,
                408 | 429 | 503 => 75,
                _ => 1,
            },
            ClientFault::Here { .. } => 1,
        }
    }
    /// Whether the role at the other end may be down or hung, rather than having answered.
    pub fn is_unreachable(&self) -> bool {
        match self {
            ClientFault::Missing { .. }
            | ClientFault::NotRunning { .. }
            | ClientFault::Forbidden { .. }
            | ClientFault::Deadline { .. }
            | ClientFault::Broken { .. }
            | ClientFault::Strange { .. }
            | ClientFault::Here { .. } => true,
            ClientFault::Refused { .. } => false,
        }
    }
}

/// Whether a request may be sent again when a kept connection turns out to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It changes nothing: a kept connection is used.
    Safe,
    /// It may change something: always on a connection of its own.
    Never,
}

/// A whole answer of any status.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Seconds of Retry-After.
    pub retry_after_s: Option<u32>,
    /// The body.
    pub body: Bytes,
}

/// No answer of ours but a recovered object is larger.
pub(super) const REPLY_BYTES_MAX: usize = 32 << 20;

/// One socket and perhaps an open connection to it.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(super) path: PathBuf,
    pub(super) deadline: Duration,
    pub(super) kept: Option<SendRequest<Full<Bytes>>>,
}

/// A request before it is bound to a connection.
#[derive(Debug, Clone)]
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) target: &'a str,
    pub(super) media: Media,
    pub(super) body: Bytes,
}

impl Caller {
    pub(crate) fn new(path: &Path, deadline: Duration) -> Caller {
        Caller {
            path: path.to_owned(),
            deadline,
            kept: None,
        }
    }
    /// GET, whole.
    pub(crate) async fn get(&mut self, target: &str) -> Result<Reply, ClientFault> {
        let ask = Ask {
            method: Method::GET,
            target,
            media: Media::Json,
            body: Bytes::new(),
        };
        self.whole(ask, Repeat::Safe).await
    }
    /// POST, whole.
    pub(crate) async fn post(
        &mut self,
        target: &str,
        media: Media,
        body: Bytes,
        repeat: Repeat,
    ) -> Result<Reply, ClientFault> {
        self.whole(
            Ask {
                method: Method::POST,
                target,
                media,
                body,
            },
            repeat,
        )
        .await
    }

    async fn whole(&mut self, ask: Ask<'_>, repeat: Repeat) -> Result<Reply, ClientFault> {
        let deadline = self.deadline;
        let exchange = async {
            let response = self.exchange(ask, repeat).await?;
            let status = response.status().as_u16();
            let retry_after = response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            let retry_after_s = retry_after.and_then(|text| text.parse().ok());
            let mut body = response.into_body();
            let mut whole = Vec::new();
            while let Some(piece) = self.piece(&mut body).await? {
                if whole.len() + piece.len() > REPLY_BYTES_MAX {
                    return Err(self.strange("it is too long"));
                }
                whole.extend_from_slice(&piece);
            }
            Ok(Reply {
                status,
                retry_after_s,
                body: whole.into(),
            })
        };
        let ended = tokio::time::timeout(deadline, exchange).await;
        if !matches!(ended, Ok(Ok(_))) {
            // Whatever is still to come on it belongs to nobody.
            self.kept = None;
        }
        ended.unwrap_or_else(|_| {
            Err(ClientFault::Deadline {
                path: self.path.clone(),
                deadline,
            })
        })
    }

    pub(super) async fn exchange(
        &mut self,
        ask: Ask<'_>,
        repeat: Repeat,
    ) -> Result<Response<Incoming>, ClientFault> {
        if repeat == Repeat::Safe
            && let Some(mut kept) = self.kept.take()
            && kept.ready().await.is_ok()
            && let Ok(response) = kept.send_request(request(&ask)?).await
        {
            self.kept = Some(kept);
            return Ok(response);
        }
        let mut fresh = self.connect().await?;
        let response = fresh
            .send_request(request(&ask)?)
            .await
            .map_err(|error| self.broken(&error))?;
        self.kept = Some(fresh);
        Ok(response)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientFault> {
        let stream = loop {
            match connect_unix(&self.path) {
                Ok(stream) => break stream,
                // Its queue is full: a busy role. The exchange's deadline ends this.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error) => return Err(self.cannot_connect(&error)),
            }
        };
        let here = |source| ClientFault::Here {
            step: "watch the socket",
            source,
        };
        stream.set_nonblocking(true).map_err(here)?;
        let stream = tokio::net::UnixStream::from_std(stream).map_err(here)?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.broken(&error))?;
        // It ends with the sender; whoever waits for an answer sees its error.
        drop(tokio::spawn(connection));
        Ok(sender)
    }

    pub(super) async fn piece(&self, body: &mut Incoming) -> Result<Option<Bytes>, ClientFault> {
        while let Some(frame) = body.frame().await {
            if let Ok(piece) = frame.map_err(|error| self.broken(&error))?.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    fn cannot_connect(&self, error: &io::Error) -> ClientFault {
        let path = self.path.clone();
        let kind = error.kind();
        if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            ClientFault::Missing { path }
        } else if kind == io::ErrorKind::ConnectionRefused {
            ClientFault::NotRunning { path }
        } else if kind == io::ErrorKind::PermissionDenied {
            ClientFault::Forbidden { path }
        } else {
            ClientFault::Broken {
                path,
                what: error.to_string(),
            }
        }
    }
    fn broken(&self, error: &hyper::Error) -> ClientFault {
        ClientFault::Broken {
            path: self.path.clone(),
            what: error.to_string(),
        }
    }
    pub(super) fn strange(&self, what: impl Into<String>) -> ClientFault {
        ClientFault::Strange {
            path: self.path.clone(),
            what: what.into(),
        }
    }

    /// The JSON of a 2xx answer; any other is a refusal.
    pub(super) fn value(&self, reply: &Reply) -> Result<Value, ClientFault> {
        if !(200..300).contains(&reply.status) {
            return Err(self.refusal(reply));
        }
        serde_json::from_slice(&reply.body).map_err(|error| self.strange(error.to_string()))
    }
    pub(super) fn refusal(&self, reply: &Reply) -> ClientFault {
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let text = |name: &str| body["error"][name].as_str().map(str::to_owned);
        match (text("code"), text("message")) {
            (Some(code), Some(message)) => ClientFault::Refused {
                status: reply.status,
                code,
                message,
                pointer: text("pointer").unwrap_or_default(),
                retry_after_s: reply.retry_after_s,
            },
            _ => self.strange(format!("status {} without an error of ours", reply.status)),
        }
    }
}

fn request(ask: &Ask<'_>) -> Result<hyper::Request<Full<Bytes>>, ClientFault> {
    let media = match ask.media {
        Media::Json => "application/json",
        Media::JsonLines => "application/jsonl",
    };
    let mut builder = hyper::Request::builder()
        .method(ask.method.clone())
        .uri(ask.target)
        .header(HOST, "lockgate");
    if ask.method == Method::POST {
        builder = builder.header(CONTENT_TYPE, media);
    }
    let odd = |error| ClientFault::Here {
        step: "make the request",
        source: io::Error::other(error),
    };
    builder.body(Full::new(ask.body.clone())).map_err(odd)
}
