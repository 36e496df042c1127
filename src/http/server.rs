//! The server: one thread, one accept loop a listener. In: listeners, who may use them, and their endpoints. Out: answered
//! requests until it is told to stop.
//!
//! Everything a peer can make us hold or wait for has a bound in [`Limits`].
//!
//! Not here: accepting (accept), what is answered (endpoint tables), binding (socket).

use super::accept;
use super::answer::Answer;
use super::request::{Access, Request};
use hyper::Method;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// What a handler returns; it stays on the server's thread.
pub type LocalAnswer = Pin<Box<dyn Future<Output = Answer>>>;

/// A table of endpoints.
pub trait Endpoints: Send + Sync + 'static {
    /// Answers one request.
    fn answer(self: Arc<Self>, request: Request) -> LocalAnswer;
    /// How long answering may take before the peer is told 503 `timeout`. Streams count only until they begin.
    fn deadline(&self, _method: &Method, _path: &str) -> Duration {
        Duration::from_secs(15)
    }
}

/// Where requests come in.
#[derive(Debug)]
pub enum Listener {
    /// A unix socket, bound by us or inherited.
    Unix(std::os::unix::net::UnixListener),
    /// A TCP socket on a loopback address; anything else is refused at start.
    Loopback(std::net::TcpListener),
}

/// A listener, who may do what there, and what there is to do.
pub struct Door {
    /// Where requests come in.
    pub listener: Listener,
    /// Who holds which permission.
    pub access: Access,
    /// What there is.
    pub endpoints: Arc<dyn Endpoints>,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door")
            .field("listener", &self.listener)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// What a peer can make us hold, and for how long. Each door has its own.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections a door; lowered at start to what the descriptor limit can bear.
    pub connections_max: usize,
    /// Open connections one user id may hold at a door.
    pub per_uid_max: usize,
    /// Bytes of a request's head; more is answered 431. At least 8 KiB.
    pub head_bytes_max: usize,
    /// Time for a request's head to arrive, which is also how long a kept-alive connection may idle.
    pub head_time: Duration,
    /// Time for a body to arrive.
    pub body_time: Duration,
    /// How long a peer may leave an answer unread.
    pub write_stall: Duration,
    /// How long requests in progress may go on after a stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 256,
            per_uid_max: 128,
            head_bytes_max: 16 * 1024,
            head_time: Duration::from_secs(30),
            body_time: Duration::from_secs(10),
            write_stall: Duration::from_secs(10),
            drain: Duration::from_secs(3),
        }
    }
}

impl Limits {
    /// The same for a process that may open `descriptors`, shared by `doors`: half of them are left to everything else.
    fn within(mut self, descriptors: u64, doors: usize) -> Limits {
        let share = usize::try_from(descriptors / 2).unwrap_or(usize::MAX) / doors.max(1);
        self.connections_max = self.connections_max.clamp(1, share.max(4));
        self.per_uid_max = self.per_uid_max.clamp(1, self.connections_max);
        self.head_bytes_max = self.head_bytes_max.max(8 * 1024);
        self
    }
}

/// Why the server does not run, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum HttpFault {
    /// It could not start.
    #[error("the HTTP server {name} cannot start")]
    Start {
        /// The server's name.
        name: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A TCP socket that others could reach.
    #[error("the HTTP server {name} was given {address}, which is not a loopback address")]
    NotLoopback {
        /// The server's name.
        name: &'static str,
        /// The socket's address.
        address: String,
    },
    /// A listener is beyond use.
    #[error("the HTTP server {name} lost a listener")]
    Lost {
        /// The server's name.
        name: &'static str,
        /// What accept(2) said.
        source: io::Error,
    },
    /// Its thread ended in a panic.
    #[error("the HTTP server {name} ended in a panic")]
    Panicked {
        /// The server's name.
        name: &'static str,
    },
}

/// A wish to stop, shared between whoever may have it and whoever waits for it.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    inner: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// Nobody wants to stop yet.
    pub fn new() -> Stop {
        Stop::default()
    }
    /// Wakes every waiter, now and later.
    pub fn request(&self) {
        *self.inner.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.inner.1.notify_all();
    }
    /// Blocks until somebody wants to stop, or for `time`; true if somebody does.
    pub fn wait_for(&self, time: Duration) -> bool {
        let wanted = self.inner.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.inner.1.wait_timeout_while(wanted, time, |wanted| !*wanted);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
    /// Blocks until somebody wants to stop.
    pub fn wait(&self) {
        let mut wanted = self.inner.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*wanted {
            wanted = self.inner.1.wait(wanted).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A server to be.
#[derive(Debug)]
pub struct Server {
    /// Names its thread and its faults.
    pub name: &'static str,
    /// Its listeners.
    pub doors: Vec<Door>,
    /// Bounds for each of them.
    pub limits: Limits,
}

/// A running server; dropping it stops it.
#[derive(Debug)]
pub struct ServerHandle {
    name: &'static str,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<Result<(), HttpFault>>>,
}

impl Server {
    /// Starts the thread and returns once every listener is being served. `on_fatal` is called if it later ends by itself.
    ///
    /// # Errors
    /// [`HttpFault`]: no thread, no runtime, an unusable listener.
    pub fn start(self, on_fatal: impl FnOnce() + Send + 'static) -> Result<ServerHandle, HttpFault> {
        let name = self.name;
        let (stop, stopping) = watch::channel(false);
        let (ready, is_ready) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let mut started = false;
                let ended = self.run(stopping, || {
                    started = true;
                    if ready.send(()).is_err() {
                        tracing::debug!("nobody waits for the HTTP server to start");
                    }
                });
                if started && ended.is_err() {
                    on_fatal();
                }
                ended
            })
            .map_err(|source| HttpFault::Start { name, source })?;
        let handle = ServerHandle {
            name,
            stop,
            thread: Some(thread),
        };
        match is_ready.recv() {
            Ok(()) => Ok(handle),
            // The thread dropped its end without a word: it holds the reason.
            Err(_) => match handle.join() {
                Err(fault) => Err(fault),
                Ok(()) => Err(HttpFault::Panicked { name }),
            },
        }
    }

    fn run(self, stopping: watch::Receiver<bool>, ready: impl FnOnce()) -> Result<(), HttpFault> {
        let name = self.name;
        let start = |source| HttpFault::Start { name, source };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(8)
            .thread_keep_alive(Duration::from_secs(2))
            .build()
            .map_err(start)?;
        let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let limits = self
            .limits
            .within(descriptors.unwrap_or(u64::MAX), self.doors.len());
        let local = tokio::task::LocalSet::new();
        let ended = local.block_on(&runtime, async {
            let mut loops = tokio::task::JoinSet::new();
            let mut tables = Vec::new();
            for door in self.doors {
                let (shared, listener) = accept::open(name, door, limits, &stopping)?;
                tables.push(shared.table.clone());
                loops.spawn_local(shared.accept_all(listener));
            }
            ready();
            while let Some(ended) = loops.join_next().await {
                ended.map_err(|_| HttpFault::Panicked { name })??;
            }
            let drained = async {
                for table in tables {
                    while table.count() > 0 {
                        table.changed().await;
                    }
                }
            };
            drop(tokio::time::timeout(limits.drain, drained).await);
            Ok(())
        });
        drop(local);
        runtime.shutdown_background();
        ended
    }
}

impl ServerHandle {
    /// Asks it to stop: no new connections, requests in progress are finished within the drain time.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
    /// Stops it and waits for its end.
    ///
    /// # Errors
    /// [`HttpFault`] if it had ended by itself.
    pub fn join(mut self) -> Result<(), HttpFault> {
        self.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(HttpFault::Panicked { name: self.name }),
            None => Ok(()),
        }
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.stop();
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!(server = self.name, "the HTTP server ended in a panic");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f206_connection_caps_stay_below_the_descriptor_limit() {
        let limits = Limits::default();
        assert_eq!(limits.within(32, 1).connections_max, 16);
        assert_eq!(limits.within(32, 2).connections_max, 8);
        assert_eq!(limits.within(1 << 20, 3).connections_max, 256);
        assert!(limits.within(32, 1).per_uid_max <= 16);
    }
}
