//! The driver for a repository on this host. In: settings, commits, paths. Out: objects whose whole way from the ref to the
//! bytes was checked.
//!
//! Every call: is the repository still the one that was opened? → tip of the ref → commit on the ref → root tree → path →
//! blob → hashes. If an object is missing or broken, the store is opened anew and the call made once more, because gc and
//! repack move objects while they are read.
//! Not here: each of these steps.

use super::fault::{Refusal, SourceFault};
use super::history::History;
use super::open::Opened;
use super::read::{Commit, Got, Limits, Reader, damaged, missing};
use super::settings::{ObjectIdRule, SourceSettings};
use super::tree::{Found, Trees};
use super::{Source, SourceObject, front_matter, provenance_hash};
use crate::job::{CommitId, Sha256, sha256};
use gix::ObjectId;
use gix::objs::Kind;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Parents of one commit that are read.
const PARENTS_MAX: usize = 64;

/// Commits kept that were re-hashed once: a batch of jobs names the same few, and each call needs the tip.
const COMMITS_MAX: usize = 256;

/// A git repository on this host.
#[derive(Debug)]
pub struct LocalGit {
    settings: SourceSettings,
    opened: Mutex<Option<Arc<Opened>>>,
    commits: Mutex<HashMap<ObjectId, Arc<Commit>>>,
    trees: Trees,
    history: History,
}

impl LocalGit {
    /// Nothing is opened until the first call.
    pub fn new(settings: SourceSettings) -> LocalGit {
        LocalGit {
            settings,
            opened: Mutex::new(None),
            commits: Mutex::default(),
            trees: Trees::default(),
            history: History::default(),
        }
    }

    fn opened(&self) -> Result<Arc<Opened>, SourceFault> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = opened.as_ref()
            && current.is_current(&self.settings)?
        {
            return Ok(Arc::clone(current));
        }
        *opened = None;
        let fresh = Arc::new(Opened::new(&self.settings, &Limits::new(&self.settings))?);
        *opened = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Drops what `used` holds, unless another thread did already.
    fn forget(&self, used: &Arc<Opened>) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.as_ref().is_some_and(|current| Arc::ptr_eq(current, used)) {
            *opened = None;
        }
    }

    /// Runs `call`, and once more on a fresh store if what it found may have been moved.
    fn with<T>(&self, call: impl Fn(&Reader) -> Result<T, SourceFault>) -> Result<T, SourceFault> {
        let opened = self.opened()?;
        match call(&Reader::new(Arc::clone(&opened), &self.settings)) {
            Err(fault) if fault.may_be_stale() => {
                self.forget(&opened);
                call(&Reader::new(self.opened()?, &self.settings))
            }
            done => done,
        }
    }

    /// The commit, `None` if there is no such commit.
    fn commit(&self, reader: &Reader, id: &ObjectId) -> Result<Option<Arc<Commit>>, SourceFault> {
        let commits = || self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = commits().get(id).cloned() {
            return Ok(Some(kept));
        }
        let Some(commit) = reader.commit(id)?.map(Arc::new) else {
            return Ok(None);
        };
        let mut commits = commits();
        if commit.parents.len() <= PARENTS_MAX {
            if commits.len() >= COMMITS_MAX {
                commits.clear();
            }
            commits.insert(*id, Arc::clone(&commit));
        }
        Ok(Some(commit))
    }

    fn tip_id(&self, reader: &Reader) -> Result<ObjectId, SourceFault> {
        let named = reader.opened.resolve(&self.settings)?;
        match self.commit(reader, &named)? {
            Some(_) => Ok(named),
            None => reader.peel(named),
        }
    }

    fn refused(&self, commit: &CommitId, path: &str, why: Refusal) -> SourceFault {
        SourceFault::Refused {
            commit: commit.clone(),
            path: path.to_owned(),
            why,
        }
    }

    /// The commit, which must exist and be on the ref.
    fn on_ref(&self, reader: &Reader, commit: &CommitId, path: &str) -> Result<Arc<Commit>, SourceFault> {
        let refused = |why| self.refused(commit, path, why);
        let id = parse_id(reader, commit).ok_or_else(|| {
            refused(Refusal::OtherFormat {
                digits: reader.opened.hash.len_in_hex(),
            })
        })?;
        let tip = self.tip_id(reader)?;
        let found = self
            .commit(reader, &id)?
            .ok_or_else(|| refused(Refusal::NoSuchCommit))?;
        if !self.history.is_on(reader, id, tip, self.settings.history_max)? {
            return Err(refused(Refusal::NotOnRef {
                git_ref: self.settings.full_ref(),
            }));
        }
        Ok(found)
    }

    fn read_object(
        &self,
        reader: &Reader,
        commit: &CommitId,
        relative: &str,
    ) -> Result<SourceObject, SourceFault> {
        let path = self.settings.repository_path(relative);
        let refused = |why| self.refused(commit, &path, why);
        let tree = self.on_ref(reader, commit, &path)?.tree;
        let blob = match self.trees.find(reader, tree, &path, self.settings.depth_max)? {
            Found::Blob(id) => id,
            Found::Not(why) => return Err(refused(why)),
        };
        let bytes = match reader.read(&blob, Kind::Blob)? {
            Got::Bytes(bytes) => bytes,
            Got::Absent => return Err(missing(Kind::Blob, &blob)),
            Got::Other => return Err(not_a_blob(&blob)),
            Got::TooLarge(bytes) => {
                return Err(refused(Refusal::TooLarge {
                    bytes,
                    max: self.settings.blob_bytes_max,
                }));
            }
        };
        let object_id = match &self.settings.object_id {
            ObjectIdRule::Path => path.clone(),
            ObjectIdRule::FrontMatter(key) => front_matter::value(&bytes, key)
                .ok_or_else(|| refused(Refusal::NoObjectId { key: key.clone() }))?
                .to_owned(),
        };
        let content_sha256 = sha256(&bytes);
        let provenance = provenance_hash(
            &self.settings.repository,
            commit,
            &path,
            &object_id,
            content_sha256,
        );
        Ok(SourceObject {
            commit: commit.clone(),
            repository_path: path,
            object_id,
            bytes,
            content_sha256,
            provenance,
        })
    }

    /// SHA-256 of the content at `path` in the commit `id`, `None` if there is none that could be compared.
    fn content_at(&self, reader: &Reader, id: &ObjectId, path: &str) -> Result<Option<Sha256>, SourceFault> {
        let parent = reader.commit(id)?.ok_or_else(|| missing(Kind::Commit, id))?;
        let Found::Blob(blob) = self
            .trees
            .find(reader, parent.tree, path, self.settings.depth_max)?
        else {
            return Ok(None);
        };
        match reader.read(&blob, Kind::Blob)? {
            Got::Bytes(bytes) => Ok(Some(sha256(&bytes))),
            Got::TooLarge(_) => Ok(None),
            Got::Absent => Err(missing(Kind::Blob, &blob)),
            Got::Other => Err(not_a_blob(&blob)),
        }
    }
}

fn not_a_blob(id: &ObjectId) -> SourceFault {
    damaged(
        Kind::Blob,
        id,
        "the id belongs to an object of another kind".to_owned(),
    )
}

/// The whole id and nothing else; `None` if it is one of the other object format.
fn parse_id(reader: &Reader, commit: &CommitId) -> Option<ObjectId> {
    ObjectId::from_hex(commit.as_str().as_bytes())
        .ok()
        .filter(|id| id.kind() == reader.opened.hash)
}

impl Source for LocalGit {
    fn object(&self, commit: &CommitId, relative: &str) -> Result<SourceObject, SourceFault> {
        self.with(|reader| self.read_object(reader, commit, relative))
    }

    fn check(&self) -> Result<(), SourceFault> {
        self.with(|reader| {
            let tip = self.tip_id(reader)?;
            let commit = reader.commit(&tip)?.ok_or_else(|| missing(Kind::Commit, &tip))?;
            self.trees.check(reader, commit.tree)
        })
    }

    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool, SourceFault> {
        self.with(|reader| {
            let (Some(ancestor), Some(descendant)) =
                (parse_id(reader, ancestor), parse_id(reader, descendant))
            else {
                return Ok(false);
            };
            if reader.commit(&descendant)?.is_none() {
                return Ok(false);
            }
            self.history
                .is_ancestor(reader, ancestor, descendant, self.settings.history_max)
        })
    }

    fn at_parents(&self, commit: &CommitId, relative: &str) -> Result<Vec<Option<Sha256>>, SourceFault> {
        let path = self.settings.repository_path(relative);
        self.with(|reader| {
            let commit_found = self.on_ref(reader, commit, &path)?;
            let parents = &commit_found.parents;
            if parents.len() > PARENTS_MAX {
                let why = format!(
                    "it has {} parents, more than the {PARENTS_MAX} that are read",
                    parents.len()
                );
                return Err(SourceFault::Damaged {
                    what: format!("commit {commit}"),
                    why,
                });
            }
            parents
                .iter()
                .map(|parent| self.content_at(reader, parent, &path))
                .collect()
        })
    }

    fn tip(&self) -> Result<CommitId, SourceFault> {
        self.with(|reader| {
            let tip = self.tip_id(reader)?;
            CommitId::parse(&tip.to_string()).ok_or_else(|| missing(Kind::Commit, &tip))
        })
    }
}
