//! From a commit's root tree along a path to a blob. In: tree ids and a path. Out: the blob's id, or what is there instead.
//!
//! Trees that were re-hashed once are kept in memory, parsed, up to a bound: a batch of jobs reads the same few.
//! Not here: reading and re-hashing (read.rs).

use super::fault::{Refusal, SourceFault};
use super::read::{Reader, damaged};
use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::tree::{EntryKind, name_order};
use gix::objs::{Kind, TreeRef};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of tree objects kept; parsed they take about twice that.
const KEPT_BYTES_MAX: usize = 16 << 20;
/// Trees kept, however small.
const KEPT_MAX: usize = 4096;

#[derive(Debug)]
struct Entry {
    name: Box<[u8]>,
    kind: EntryKind,
    id: ObjectId,
}

/// A tree whose names are in git's order and differ, so that a search finds the one entry of a name.
#[derive(Debug)]
struct Tree {
    entries: Vec<Entry>,
}

impl Tree {
    fn parse(id: &ObjectId, bytes: &[u8]) -> Result<Tree, SourceFault> {
        let malformed = |why: &str| damaged(Kind::Tree, id, why.to_owned());
        let parsed = TreeRef::from_bytes(bytes, id.kind()).map_err(|_| malformed("it is malformed"))?;
        let entries: Vec<Entry> = parsed
            .entries
            .iter()
            .map(|entry| Entry {
                name: entry.filename.as_bytes().into(),
                kind: entry.mode.kind(),
                id: entry.oid.to_owned(),
            })
            .collect();
        let in_order = entries.windows(2).all(|pair| {
            let is_tree = |entry: &Entry| entry.kind == EntryKind::Tree;
            name_order(&pair[0].name, is_tree(&pair[0]), &pair[1].name, is_tree(&pair[1])).is_lt()
        });
        if !in_order {
            return Err(malformed("its names are not in git's order, or not unique"));
        }
        Ok(Tree { entries })
    }

    fn entry(&self, name: &str, is_tree: bool) -> Option<&Entry> {
        let order = |entry: &Entry| {
            name_order(
                &entry.name,
                entry.kind == EntryKind::Tree,
                name.as_bytes(),
                is_tree,
            )
        };
        self.entries
            .binary_search_by(order)
            .ok()
            .and_then(|at| self.entries.get(at))
    }

    /// The one entry of this name, if a file and a directory do not share it.
    fn find(&self, id: &ObjectId, name: &str) -> Result<Option<&Entry>, SourceFault> {
        match (self.entry(name, false), self.entry(name, true)) {
            (Some(_), Some(_)) => Err(damaged(
                Kind::Tree,
                id,
                "a file and a directory in it have the same name".to_owned(),
            )),
            (file, directory) => Ok(file.or(directory)),
        }
    }
}

/// Trees seen before.
#[derive(Debug, Default)]
pub(super) struct Trees {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    trees: HashMap<ObjectId, Arc<Tree>>,
    bytes: usize,
}

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A file's content.
    Blob(ObjectId),
    /// The job is refused.
    Not(Refusal),
}

impl Trees {
    fn get(&self, reader: &Reader, id: &ObjectId) -> Result<Arc<Tree>, SourceFault> {
        let kept = |trees: &Mutex<Kept>| {
            trees
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .trees
                .get(id)
                .cloned()
        };
        if let Some(tree) = kept(&self.kept) {
            return Ok(tree);
        }
        let bytes = reader.tree(id)?;
        let tree = Arc::new(Tree::parse(id, &bytes)?);
        if bytes.len() <= KEPT_BYTES_MAX / 2 {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.bytes + bytes.len() > KEPT_BYTES_MAX || kept.trees.len() >= KEPT_MAX {
                *kept = Kept::default();
            }
            kept.bytes += bytes.len();
            kept.trees.insert(*id, Arc::clone(&tree));
        }
        Ok(tree)
    }

    /// Follows `path` from the tree `root`.
    pub(super) fn find(
        &self,
        reader: &Reader,
        root: ObjectId,
        path: &str,
        depth_max: usize,
    ) -> Result<Found, SourceFault> {
        let mut id = root;
        let mut parts = path.split('/').peekable();
        for _ in 0..depth_max {
            let Some(part) = parts.next() else { break };
            let tree = self.get(reader, &id)?;
            let Some(entry) = tree.find(&id, part)? else {
                return Ok(Found::Not(Refusal::NoSuchObject));
            };
            let is_last = parts.peek().is_none();
            match entry.kind {
                EntryKind::Blob | EntryKind::BlobExecutable if is_last => return Ok(Found::Blob(entry.id)),
                EntryKind::Tree if !is_last => id = entry.id,
                EntryKind::Blob | EntryKind::BlobExecutable => return Ok(Found::Not(Refusal::NoSuchObject)),
                EntryKind::Tree => return Ok(Found::Not(Refusal::NotAFile { what: "a directory" })),
                EntryKind::Link => {
                    return Ok(Found::Not(Refusal::NotAFile {
                        what: "a symbolic link",
                    }));
                }
                EntryKind::Commit => return Ok(Found::Not(Refusal::NotAFile { what: "a submodule" })),
            }
        }
        Ok(Found::Not(Refusal::TooDeep { max: depth_max }))
    }

    /// Reads the root tree, for a check of the source.
    pub(super) fn check(&self, reader: &Reader, root: ObjectId) -> Result<(), SourceFault> {
        self.get(reader, &root).map(drop)
    }
}
