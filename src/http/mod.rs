//! HTTP/1.1 on unix sockets, and on an inherited loopback TCP socket for probes. In: listeners and a port each table of
//! endpoints calls. Out: bounded answers, with the peer's kernel-attested identity on every request.
//!
//! - [`server`]: one thread, one accept loop a listener, connection caps, graceful stop.
//! - [`request`]: the stages every request goes through: permission, then a bounded body, then the handler.
//! - [`answer`]: the only way to answer: closed content types, one error shape.
//! - [`admin`], [`status`]: the endpoint tables of admin.sock and status.sock.
//! - [`client`]: the other end, for the command line and the gateway.
//! - [`metrics`]: OpenMetrics text with closed label sets.
//! - [`socket`]: binding and connecting unix sockets by path.
//!
//! Not here: what the answers say (the daemon implements the ports over the ledger's views), the requesters' endpoints
//! (gateway/).

mod accept;
pub mod admin;
mod admin_body;
pub mod answer;
pub(crate) mod caller;
pub mod client;
mod connections;
pub mod lane;
pub mod metrics;
pub mod request;
pub mod server;
pub mod socket;
pub mod status;
mod stream;
#[cfg(test)]
pub(crate) mod tests;

pub use answer::{Answer, ApiError, Health, json_int};
pub use request::{Access, BodyLimit, Media, Peer, Permission, Permitted, Ready, Request};
pub use server::{Door, Endpoints, HttpFault, Limits, Listener, LocalAnswer, Server, ServerHandle, Stop};
