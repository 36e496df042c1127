//! A desk that answers simple questions behind a real socket, and a peer that writes bytes as it likes.

use crate::http::socket::bind_unix;
use crate::http::{
    Access, Answer, ApiError, BodyLimit, Door, Endpoints, Limits, Listener, LocalAnswer, Peer, Permission,
    Request, Server, ServerHandle,
};
use hyper::Method;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The longest a test waits for what must come.
pub(super) const SOON: Duration = Duration::from_secs(10);
/// What `POST /echo` takes.
pub(super) const ECHO_MAX: usize = 1000;
/// What `GET /big` gives: more than any socket buffer.
pub(super) const BIG: usize = 32 << 20;

/// The endpoints.
pub(super) struct Desk {
    /// One for each `GET /wait` that may be answered.
    pub(super) tickets: Semaphore,
    /// `GET /wait`s that came so far.
    pub(super) waiting: AtomicUsize,
}

impl Desk {
    async fn route(&self, request: Request) -> Result<Answer, ApiError> {
        let path = request.path().to_owned();
        let permission = match path.as_str() {
            "/who" | "/wait" => Permission::Probe,
            "/operate" => Permission::Operate,
            "/scrape" => Permission::Scrape,
            _ => Permission::Ask,
        };
        let limit = match path.as_str() {
            "/echo" => BodyLimit::Bytes(ECHO_MAX),
            _ => BodyLimit::Nothing,
        };
        let permitted = request.permit(permission)?;
        let media = format!("{:?}", permitted.media()?);
        let ready = permitted.read_body(limit).await?;
        Ok(match path.as_str() {
            "/echo" => Answer::ok(&json!({"bytes": ready.body().len(), "media": media})),
            "/wait" => {
                self.waiting.fetch_add(1, Ordering::SeqCst);
                let ticket = self.tickets.acquire().await;
                ticket.map_err(|_| ApiError::internal())?.forget();
                Answer::ok(&json!("waited"))
            }
            "/slow" => std::future::pending().await,
            "/big" => Answer::octets(vec![b'x'; BIG]),
            "/query" => {
                let [a, b] = ready.query(["a", "b"])?;
                Answer::ok(&json!([a, b]))
            }
            "/stream" => {
                let (sender, receiver) = tokio::sync::mpsc::channel(1);
                let mut stopping = ready.stopping();
                drop(tokio::task::spawn_local(async move {
                    drop(sender.send("data: 1\n\n".into()).await);
                    drop(stopping.wait_for(|stop| *stop).await);
                }));
                Answer::events(receiver)
            }
            "/who" | "/operate" | "/scrape" => match ready.peer() {
                Peer::Unix { uid, gid, pid } => Answer::ok(&json!({"uid": uid, "gid": gid, "pid": pid})),
                Peer::Loopback => Answer::ok(&json!("somebody")),
            },
            _ => return Err(ApiError::not_found("no such thing")),
        })
    }
}

impl Endpoints for Desk {
    fn answer(self: Arc<Self>, request: Request) -> LocalAnswer {
        Box::pin(async move { self.route(request).await.unwrap_or_else(Answer::from) })
    }
    fn deadline(&self, _method: &Method, path: &str) -> Duration {
        if path == "/slow" {
            Duration::from_millis(100)
        } else {
            SOON
        }
    }
}

/// Short times, small numbers.
pub(super) fn tight() -> Limits {
    Limits {
        connections_max: 8,
        per_uid_max: 4,
        head_bytes_max: 8 * 1024,
        head_time: SOON,
        body_time: SOON,
        write_stall: SOON,
        drain: SOON,
    }
}

/// A running server with one unix socket.
pub(super) struct Site {
    pub(super) dir: tempfile::TempDir,
    pub(super) desk: Arc<Desk>,
    pub(super) server: ServerHandle,
}

impl Site {
    pub(super) fn new(limits: Limits) -> Site {
        Site::with(limits, Access::Requesters { except: Vec::new() })
    }
    pub(super) fn with(limits: Limits, access: Access) -> Site {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let desk = Arc::new(Desk {
            tickets: Semaphore::new(0),
            waiting: AtomicUsize::new(0),
        });
        let door = Door {
            listener: Listener::Unix(bind_unix(&dir.path().join("s"), 0o666).unwrap()),
            access,
            endpoints: desk.clone(),
        };
        let server = Server {
            name: "desk",
            doors: vec![door],
            limits,
        };
        Site {
            server: server.start(|| ()).unwrap(),
            dir,
            desk,
        }
    }
    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("s")
    }
    pub(super) fn wire(&self) -> Wire {
        Wire::new(UnixStream::connect(self.path()).unwrap())
    }
    /// A connection whose request is being answered until there is a ticket.
    pub(super) fn busy(&self) -> Wire {
        let before = self.desk.waiting.load(Ordering::SeqCst);
        let mut wire = self.wire();
        wire.say(&get("/wait"));
        for _ in 0..1000 {
            if self.desk.waiting.load(Ordering::SeqCst) > before {
                return wire;
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
        panic!("the request never came");
    }
    /// A whole exchange on a connection of its own.
    pub(super) fn ask(&self, text: &str) -> Got {
        let mut wire = self.wire();
        wire.say(text);
        wire.hear()
    }
    pub(super) fn get(&self, path: &str) -> Got {
        self.ask(&get(path))
    }
}

pub(super) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")
}
pub(super) fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Value,
}

impl Got {
    pub(super) fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }
}

/// A peer.
pub(super) struct Wire {
    pub(super) stream: UnixStream,
}

impl Wire {
    pub(super) fn new(stream: UnixStream) -> Wire {
        stream.set_read_timeout(Some(SOON)).unwrap();
        Wire { stream }
    }
    /// A peer that the server closed meanwhile sees that when it reads.
    pub(super) fn say(&mut self, text: &str) {
        drop(self.stream.write_all(text.as_bytes()));
    }
    /// One answer of known length.
    pub(super) fn hear(&mut self) -> Got {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).unwrap();
            head.push(char::from(byte[0]));
        }
        let head = head.to_ascii_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        Got {
            status: head[9..12].parse().unwrap(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            head,
        }
    }
    /// Everything up to the end; panics if there is none.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        match self.stream.read_to_end(&mut all) {
            Ok(_) => all,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => all,
            Err(error) => panic!("not closed: {error}"),
        }
    }
}

/// Runs `work` as another user; `None` where this user may not become another.
pub(crate) fn as_uid<T: Send>(uid: u32, work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let user = rustix::process::Uid::from_raw(uid);
            // Of this thread alone.
            rustix::thread::set_thread_res_uid(user, user, user).ok()?;
            Some(work())
        });
        other.join().unwrap()
    })
}
