//! The server and its tables over real sockets.

mod admin;
mod bounds;
mod client;
mod ends;
mod peers;
mod status;
pub(crate) mod support;
mod wire;
