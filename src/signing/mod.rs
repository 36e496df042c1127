//! The only code that can sign an approval: for `lockgate-sign` and the demo. In: a private key, a payload a person has
//! seen. Out: envelopes.
//!
//! The packaged daemon is built without the feature `signing` and does not contain this room.
//!
//! Not here: any verdict (approval/), any talk to a daemon.

pub mod external;
pub mod files;
pub mod key;
pub mod show;

pub use key::{ApproverKey, Scheme, SigningError};

#[cfg(test)]
mod tests;
