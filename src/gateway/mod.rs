//! The requesters' gate: HTTP on gateway.sock. In: documents and questions of requesters, whom the kernel names. Out: durable
//! files in the roles' gate directories, and what the roles say about what is the requester's own.
//!
//! ```text
//! POST ─▶ size, rate ─▶ judge (pure) ─▶ ask the role's door ─▶ room ─▶ gate/UID-NAME durable ─▶ 202
//! GET  ─▶ the role's status.sock ─▶ what gate/ still holds ─▶ 200 or 404
//! ```
//!
//! - [`mod@drop`]: the drop protocol, also `lockgate submit`'s.
//! - `endpoints`: the table. `jobs`, `papers` (approvals, cancels): what comes in. `find`, `events`: what is told.
//! - `pending`, `waiting`: what the roles have not taken yet. `rates`: how fast. `roles`: asking the roles.
//!
//! It holds no credential and opens no database: a role that is down only means that its files wait, and rate limits
//! live in memory (`rates` says why that is enough).
//!
//! Not here: judging (handed in as [`Judges`]), taking files in (intake/), sockets and signals (daemon/gate).

mod counts;
pub mod drop;
mod endpoints;
mod events;
mod find;
mod jobs;
mod papers;
mod pending;
mod rates;
mod roles;
mod waiting;

#[cfg(test)]
mod tests;

pub use pending::PendingLimits;
pub use roles::RolePlaces;

use crate::clock::SharedClock;
use crate::http::lane::Lane;
use crate::http::{Access, ApiError, Door, HttpFault, Limits, Listener, Server, Stop};
use crate::job::document::DocumentRules;
use crate::job::{Code, JobId, Refusal, Role, Sha256};
use crate::throttle::Rate;
use counts::Counts;
use endpoints::Endpoint;
use events::Streams;
use pending::Pending;
use rates::Rates;
use roles::RoleDoor;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

/// A job the pure part of admission would admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobAtGate {
    /// Who executes it.
    pub role: Role,
    /// Its id.
    pub job_id: JobId,
    /// SHA-256 of its canonical form.
    pub digest: Sha256,
}

/// What an envelope is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// It gives a permission.
    Approval,
    /// It takes one back: a frozen role is no reason to turn it away.
    Withdrawal,
}

/// An envelope whose shape and, as far as can be said without approvers, signatures are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvelopeAtGate {
    /// Who keeps approvals.
    pub role: Role,
    /// SHA-256 of its canonical form.
    pub digest: Sha256,
    /// What it is for.
    pub meant: Meant,
}

/// Judges one document of a requester.
pub type Judge<T> = Arc<dyn Fn(u32, &[u8]) -> Result<T, Refusal> + Send + Sync>;

/// The pure judgements, so that this room depends on neither admission nor approval.
#[derive(Clone)]
pub struct Judges {
    /// Of what is sent as a job.
    pub job: Judge<JobAtGate>,
    /// Of what is sent as an approval or withdrawal.
    pub envelope: Judge<EnvelopeAtGate>,
}

impl std::fmt::Debug for Judges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judges").finish_non_exhaustive()
    }
}

/// Everything the gateway needs.
#[derive(Debug)]
pub struct GatewaySettings {
    /// gateway.sock.
    pub requests: UnixListener,
    /// An inherited loopback socket for /health and /metrics.
    pub probes: Option<TcpListener>,
    /// The roles with an inbox.
    pub roles: Vec<RolePlaces>,
    /// While it exists nothing is taken in.
    pub frozen_file: PathBuf,
    /// Never requesters: the roles and the gateway itself.
    pub refused_uids: Vec<u32>,
    /// Documents of one requester.
    pub rate: Rate,
    /// What may wait unread.
    pub pending: PendingLimits,
    /// Bytes of a jsonl upload.
    pub body_bytes_max: usize,
    /// Of the server.
    pub limits: Limits,
    /// The pure judgements.
    pub judges: Judges,
    /// To read waiting jobs again.
    pub rules: DocumentRules,
    /// The time.
    pub clock: SharedClock,
}

/// What all requests share.
#[derive(Debug)]
struct Gateway {
    roles: Vec<RoleDoor>,
    pending: Arc<Pending>,
    rates: Rates,
    judges: Judges,
    rules: DocumentRules,
    frozen_file: PathBuf,
    body_bytes_max: usize,
    streams: Arc<Streams>,
    counts: Counts,
    /// For what only computes or reads.
    looking: Lane,
    /// For what waits for the disk.
    dropping: Lane,
}

/// Serves until `stop`; `ready` is called once every socket is being served.
///
/// # Errors
/// [`HttpFault`]: it could not start, or it ended by itself.
pub fn run(settings: GatewaySettings, stop: &Stop, ready: impl FnOnce()) -> Result<(), HttpFault> {
    let gates = settings.roles.iter().map(|one| (one.role, one.gate.clone()));
    let gateway = Arc::new(Gateway {
        pending: Pending::open(gates.collect(), settings.pending, settings.clock.clone()),
        roles: settings.roles.into_iter().map(RoleDoor::new).collect(),
        rates: Rates::new(settings.rate, settings.clock),
        judges: settings.judges,
        rules: settings.rules,
        frozen_file: settings.frozen_file,
        body_bytes_max: settings.body_bytes_max,
        streams: Streams::new(),
        counts: Counts::new(),
        looking: Lane::new(3),
        dropping: Lane::new(4),
    });
    let mut doors = vec![Door {
        listener: Listener::Unix(settings.requests),
        access: Access::Requesters {
            except: settings.refused_uids,
        },
        endpoints: Endpoint::table(gateway.clone()),
    }];
    doors.extend(settings.probes.map(|listener| Door {
        listener: Listener::Loopback(listener),
        access: Access::Probes,
        endpoints: Endpoint::table(gateway),
    }));
    let server = Server {
        name: "gateway",
        doors,
        limits: settings.limits,
    };
    let ended = stop.clone();
    let server = server.start(move || ended.request())?;
    ready();
    stop.wait();
    server.join()
}

impl Gateway {
    fn role(&self, role: Role) -> Result<&RoleDoor, ApiError> {
        let found = self.roles.iter().find(|door| door.places.role == role);
        found
            .ok_or_else(|| ApiError::unavailable(format!("the {role} role is not part of this installation")))
    }

    /// Whether the host is frozen by the file that freezes all of it.
    fn refuse_if_frozen(&self) -> Result<(), ApiError> {
        match std::fs::symlink_metadata(&self.frozen_file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Ok(_) => Err(frozen("the host is frozen")),
            // Who cannot see whether it is frozen takes nothing in.
            Err(error) => {
                let file = self.frozen_file.display();
                Err(frozen(&format!("{file} cannot be looked at ({})", error.kind())))
            }
        }
    }
}

/// 503: nothing is taken in now.
fn frozen(why: &str) -> ApiError {
    let message = format!("{why}; nothing was accepted, send it again once an operator unfreezes");
    ApiError::field(Code::Frozen, "", message).retry_after(60)
}
