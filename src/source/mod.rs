//! Where objects come from. In: a commit and a path. Out: the object's bytes with their hash and provenance, re-hashed on
//! the way from commit to blob, or a fault that says whether to wait, to look, or that the job is refused.
//!
//! Reading order: [`settings`] → [`local`] (the driver) → `open` (which repository is taken) → `read` (one object, bounded,
//! re-hashed) → `tree` (a path) → `history` (ancestors) → `front_matter`, [`provenance`]; [`fault`] for what may go wrong;
//! [`playground`] makes repositories.
//!
//! What is trusted: nothing that git writes down about itself. Names are looked up only below the configured ref, ids are
//! complete, every object's id is computed from its bytes (SHA-1 with collision detection, or SHA-256). The repository's
//! configuration is read for its object format alone; environment, includes, hooks, replace refs and the commit-graph play
//! no part; alternates and grafts are refused.
//!
//! A known limit: packs and loose objects are memory-mapped by the git library. Whoever owns the repository and shortens
//! such a file while it is read can end this process with SIGBUS, as can a pack made to break the library's own
//! assumptions. The end of a process is safe: the crash rules cover every instant (design 3, 4). Git itself never shortens
//! such a file: gc and repack replace whole files.
//!
//! Git LFS is not followed: an object that is an LFS pointer is the pointer's text.
//!
//! Not here: what a job wants with the object (roles/), any write to the source, other hosts.

pub mod fault;
mod front_matter;
mod history;
pub mod local;
mod open;
pub mod playground;
pub mod provenance;
mod read;
pub mod settings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_forged;
#[cfg(test)]
mod tests_hostile;
#[cfg(test)]
mod tests_moving;
#[cfg(test)]
mod tests_ref;
#[cfg(test)]
mod tests_support;
mod tree;

pub use fault::{Refusal, SourceFault};
pub use local::LocalGit;
pub use provenance::provenance_hash;
pub use settings::{ObjectIdRule, SourceSettings};

use crate::job::{CommitId, Sha256};
use std::fmt;

/// A source of objects. Calls may come from several threads at once and may block on the disk.
pub trait Source: fmt::Debug + Send + Sync {
    /// The object at `commit`, which must be on the configured ref. `relative` is the part of the vault path below the
    /// vault's root, as in `notes/a.md`.
    ///
    /// # Errors
    /// [`SourceFault`]; [`SourceFault::refusal`] tells a job that is refused from one that waits.
    fn object(&self, commit: &CommitId, relative: &str) -> Result<SourceObject, SourceFault>;

    /// Whether the source can be read now: it opens, the ref exists, its tip and the tip's root tree are sound.
    ///
    /// # Errors
    /// [`SourceFault`]
    fn check(&self) -> Result<(), SourceFault>;

    /// Whether `ancestor` is a strict ancestor of `descendant`, over every parent of every merge. A commit that the source
    /// does not have (any more) is nobody's descendant; neither has to be on the ref.
    ///
    /// # Errors
    /// [`SourceFault`], also if the history is cut off or too long to tell.
    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool, SourceFault>;

    /// SHA-256 of the object's bytes at each parent of `commit`, in their order; `None` where the parent has no such object,
    /// or one that is no file or is too large.
    ///
    /// # Errors
    /// [`SourceFault`]
    fn at_parents(&self, commit: &CommitId, relative: &str) -> Result<Vec<Option<Sha256>>, SourceFault>;

    /// The commit that the ref names now.
    ///
    /// # Errors
    /// [`SourceFault`]
    fn tip(&self) -> Result<CommitId, SourceFault>;
}

/// One object at one commit.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceObject {
    /// The commit it was read at.
    pub commit: CommitId,
    /// Its path in the repository.
    pub repository_path: String,
    /// Its id by the configured rule.
    pub object_id: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// SHA-256 of `bytes`.
    pub content_sha256: Sha256,
    /// Its provenance hash (contract 2).
    pub provenance: Sha256,
}

impl fmt::Debug for SourceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceObject")
            .field("commit", &self.commit)
            .field("repository_path", &self.repository_path)
            .field("bytes", &self.bytes.len())
            .field("content_sha256", &self.content_sha256)
            .finish_non_exhaustive()
    }
}

/// The object that a draft describes: at `commit`, or at the ref's tip if none is given.
///
/// # Errors
/// [`SourceFault`]
pub fn describe(
    source: &dyn Source,
    relative: &str,
    commit: Option<CommitId>,
) -> Result<SourceObject, SourceFault> {
    let commit = match commit {
        Some(commit) => commit,
        None => source.tip()?,
    };
    source.object(&commit, relative)
}
