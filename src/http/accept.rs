//! The accept loop of one door and its connections. In: a listener. Out: every request handed to the door's endpoints.
//!
//! What accept(2) says is sorted into ignore, back off and fatal, so the loop neither spins nor goes deaf.
//!
//! Not here: threads and stopping (server), which connection makes room (connections).

use super::answer::{AnswerBody, ApiError};
use super::connections::{Busy, Connections, Entry, Slot};
use super::request::{Access, Peer, Request, Seen};
use super::server::{Door, Endpoints, HttpFault, Limits, Listener};
use super::stream::Unstalled;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::io::Errno;
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

/// A listener tokio waits on.
pub(super) enum Accepting {
    Unix(tokio::net::UnixListener),
    Loopback(tokio::net::TcpListener),
}

pub(super) enum Accepted {
    Unix(tokio::net::UnixStream),
    Loopback(tokio::net::TcpStream),
}

impl Accepting {
    async fn next(&self) -> io::Result<(Accepted, Peer)> {
        match self {
            Accepting::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let seen = stream.peer_cred()?;
                let peer = Peer::Unix {
                    uid: seen.uid(),
                    gid: seen.gid(),
                    pid: seen.pid(),
                };
                Ok((Accepted::Unix(stream), peer))
            }
            Accepting::Loopback(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Accepted::Loopback(stream), Peer::Loopback))
            }
        }
    }
}

/// What the connections of one door share.
pub(super) struct Shared {
    name: &'static str,
    endpoints: Arc<dyn Endpoints>,
    access: Rc<Access>,
    limits: Limits,
    pub(super) table: Rc<Connections>,
    stopping: watch::Receiver<bool>,
    protocol: http1::Builder,
}

pub(super) fn open(
    name: &'static str,
    door: Door,
    limits: Limits,
    stopping: &watch::Receiver<bool>,
) -> Result<(Rc<Shared>, Accepting), HttpFault> {
    let start = |source| HttpFault::Start { name, source };
    let listener = match door.listener {
        Listener::Unix(listener) => {
            listener.set_nonblocking(true).map_err(start)?;
            Accepting::Unix(tokio::net::UnixListener::from_std(listener).map_err(start)?)
        }
        Listener::Loopback(listener) => {
            let address = listener.local_addr().map_err(start)?;
            if !address.ip().is_loopback() {
                return Err(HttpFault::NotLoopback {
                    name,
                    address: address.to_string(),
                });
            }
            listener.set_nonblocking(true).map_err(start)?;
            Accepting::Loopback(tokio::net::TcpListener::from_std(listener).map_err(start)?)
        }
    };
    // Nobody in particular is on TCP, so there one peer is as good as another.
    let per_uid_max = match door.access {
        Access::Probes => limits.connections_max,
        Access::Operators { .. } | Access::StatusReaders { .. } | Access::Requesters { .. } => {
            limits.per_uid_max
        }
    };
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes_max)
        .max_headers(64);
    let shared = Shared {
        name,
        endpoints: door.endpoints,
        access: Rc::new(door.access),
        limits,
        table: Connections::new(limits.connections_max, per_uid_max),
        stopping: stopping.clone(),
        protocol,
    };
    Ok((Rc::new(shared), listener))
}

/// What to do about an error of accept(2).
#[derive(Debug, PartialEq, Eq)]
enum AcceptError {
    /// It concerned one connection that is gone.
    Ignore,
    /// Something ran out; it comes back.
    BackOff,
    /// The listener itself is no good.
    Fatal,
}

fn sort(error: &io::Error) -> AcceptError {
    match Errno::from_io_error(error) {
        Some(
            Errno::CONNABORTED
            | Errno::CONNRESET
            | Errno::INTR
            | Errno::AGAIN
            | Errno::PROTO
            | Errno::PERM
            | Errno::NOTCONN
            | Errno::NETDOWN
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::OPNOTSUPP
            | Errno::NETUNREACH
            | Errno::TIMEDOUT,
        ) => AcceptError::Ignore,
        Some(Errno::BADF | Errno::FAULT | Errno::INVAL | Errno::NOTSOCK) => AcceptError::Fatal,
        _ => AcceptError::BackOff,
    }
}

const BACK_OFF_FIRST: Duration = Duration::from_millis(10);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The sender being gone means the same.
    drop(stopping.wait_for(|stop| *stop).await);
}

impl Shared {
    pub(super) async fn accept_all(self: Rc<Shared>, listener: Accepting) -> Result<(), HttpFault> {
        let mut stopping = self.stopping.clone();
        let mut wait = BACK_OFF_FIRST;
        loop {
            let accepted = tokio::select! {
                biased;
                () = stopped(&mut stopping) => return Ok(()),
                accepted = listener.next() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    wait = BACK_OFF_FIRST;
                    tokio::select! {
                        biased;
                        () = stopped(&mut stopping) => return Ok(()),
                        () = self.clone().place(stream, peer) => {}
                    }
                }
                Err(error) => match sort(&error) {
                    AcceptError::Ignore => {}
                    AcceptError::BackOff => {
                        if wait == BACK_OFF_FIRST {
                            tracing::warn!(server = self.name, %error, "cannot accept; backing off");
                        }
                        self.table.evict_from_largest();
                        tokio::time::sleep(wait).await;
                        wait = (wait * 2).min(BACK_OFF_MAX);
                    }
                    AcceptError::Fatal => {
                        return Err(HttpFault::Lost {
                            name: self.name,
                            source: error,
                        });
                    }
                },
            }
        }
    }

    /// Finds room for a connection, waiting while every other is in use: each of those has a deadline.
    async fn place(self: Rc<Shared>, stream: Accepted, peer: Peer) {
        let slot = loop {
            match self.table.enter(peer.uid()) {
                Entry::Slot(slot) => break slot,
                Entry::AllBusy => self.table.changed().await,
                Entry::UidFull => {
                    turn_away(&stream);
                    return;
                }
            }
        };
        match stream {
            Accepted::Unix(stream) => drop(tokio::task::spawn_local(self.serve(stream, peer, slot))),
            Accepted::Loopback(stream) => {
                // Answers are small; waiting to fill a packet only delays them.
                drop(stream.set_nodelay(true));
                drop(tokio::task::spawn_local(self.serve(stream, peer, slot)));
            }
        }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Unpin>(self: Rc<Shared>, stream: S, peer: Peer, slot: Slot) {
        let io = TokioIo::new(Unstalled::new(stream, self.limits.write_stall));
        let slot = Rc::new(slot);
        let mut stopping = self.stopping.clone();
        let service = service_fn({
            let (shared, slot) = (self.clone(), slot.clone());
            move |request| shared.clone().answer(request, peer, slot.busy())
        });
        let mut connection = pin!(self.protocol.serve_connection(io, service));
        tokio::select! {
            biased;
            () = slot.evicted() => {}
            // Before the connection, so that an answer that is ready now still says that it is the last.
            () = stopped(&mut stopping) => {
                connection.as_mut().graceful_shutdown();
                drop(tokio::time::timeout(self.limits.drain, connection.as_mut()).await);
            }
            // How a peer broke off is its affair; what matters was answered or logged by the handler.
            _ = connection.as_mut() => {}
        }
    }

    async fn answer(
        self: Rc<Shared>,
        request: hyper::Request<hyper::body::Incoming>,
        peer: Peer,
        busy: Busy,
    ) -> Result<hyper::Response<AnswerBody<Busy>>, Infallible> {
        let (head, body) = request.into_parts();
        let deadline = self.endpoints.deadline(&head.method, head.uri.path());
        let seen = Seen {
            peer,
            access: self.access.clone(),
            body_time: self.limits.body_time,
            stopping: self.stopping.clone(),
        };
        let answering = self.endpoints.clone().answer(Request::new(head, body, seen));
        let answer = match tokio::time::timeout(deadline, answering).await {
            Ok(answer) => answer,
            Err(_) => ApiError::new(503, "timeout", "not answered within its deadline")
                .retry_after(1)
                .into(),
        };
        Ok(answer.into_response(busy))
    }
}

/// Says no to a connection without reading from it.
fn turn_away(stream: &Accepted) {
    const BODY: &str = "{\"error\":{\"code\":\"rate_limited\",\"message\":\"too many connections of this user\",\"pointer\":\"\"}}";
    let text = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{BODY}",
        BODY.len()
    );
    // If it cannot be said at once, closing says it.
    match stream {
        Accepted::Unix(stream) => drop(stream.try_write(text.as_bytes())),
        Accepted::Loopback(stream) => drop(stream.try_write(text.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_errors_are_sorted_and_unknown_ones_back_off() {
        let of = |errno: Errno| sort(&io::Error::from(errno));
        assert_eq!(of(Errno::CONNABORTED), AcceptError::Ignore);
        assert_eq!(of(Errno::INTR), AcceptError::Ignore);
        assert_eq!(of(Errno::MFILE), AcceptError::BackOff);
        assert_eq!(of(Errno::NFILE), AcceptError::BackOff);
        assert_eq!(of(Errno::NOMEM), AcceptError::BackOff);
        assert_eq!(of(Errno::BADF), AcceptError::Fatal);
        assert_eq!(sort(&io::Error::other("?")), AcceptError::BackOff);
    }
}
