//! The gateway as a requester meets it: real sockets, real directories, roles that are only a status socket.

mod ask;
mod papers;
mod rig;
mod stream;
mod submit;
