//! Drop directories, read without trusting anything in them. In: directories that requesters and the gateway write to.
//! Out: [`Batch`]es of raw documents with their requester's UID, and what was refused on sight.
//!
//! ```text
//! scan_once ─▶ list (bounded, fair) ─▶ count ─▶ open, fstat, read, fstat ─▶ Batch ─▶ the caller's commit ─▶ finish ─▶ unlink
//! ```
//!
//! - A file is removed only after the caller committed what it says; until then any crash leaves it where it is.
//! - Before a file is read it is counted in `intake.attempts`. A file on which the process died three times goes to
//!   `quarantine/`; one that was there when it died once is read alone from then on, so that only the culprit collects
//!   deaths.
//! - Several processes of one role may share its directories: the lock on `intake.attempts` lets one at a time read, from a
//!   batch's count to its end.
//! - Memory is bounded whatever lies there: at most [`QUEUED_MAX`] names are remembered, [`QUEUED_PER_UID_MAX`] of one UID;
//!   the rest is seen at a later listing.
//!
//! Not here: what a document says (admission/), whether this role takes anything in now (executor/), the limits' numbers.

mod allowance;
mod attempts;
mod batch;
mod drop_dir;
mod error;
mod listing;
mod name;
mod places;
mod quarantine;
mod queue;
mod reading;
mod rules;
mod scan;
mod seen;
mod watch;

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_child;
#[cfg(test)]
mod tests_hostile;

pub use allowance::Room;
pub use batch::{Batch, FileRefusal, Form, Poisoned, RawFile, Stuck, Ticket, Via};
pub use drop_dir::{DropDir, Kind, Ownership};
pub use error::IntakeError;
pub use quarantine::{Kept, Quarantine};
pub use queue::{QUEUED_MAX, QUEUED_PER_UID_MAX};
pub use scan::{Ask, FILES_MAX, Intake, Settings, Source};
pub use seen::FileId;
pub use watch::{Poker, Woken};
