//! One object: found, bounded before it is inflated, and re-hashed. In: an id. Out: bytes whose id was computed from them.
//!
//! Not here: which object (tree.rs, history.rs), which repository (open.rs).

use super::fault::SourceFault;
use super::open::Opened;
use super::settings::SourceSettings;
use gix::ObjectId;
use gix::objs::commit::ref_iter::Token;
use gix::objs::{CommitRefIter, FindHeader, Kind, TagRefIter};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of a commit or tag object: a message, signatures, and thousands of parents fit.
const COMMIT_BYTES_MAX: u64 = 4 << 20;
/// Bytes of a tree object: about 800,000 entries.
const TREE_BYTES_MAX: u64 = 32 << 20;
/// Tag objects followed from a ref to its commit.
const TAGS_MAX: usize = 8;

/// What one read may cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    blob_bytes_max: u64,
}

impl Limits {
    pub(super) fn new(settings: &SourceSettings) -> Limits {
        Limits {
            blob_bytes_max: settings.blob_bytes_max,
        }
    }

    fn bytes_max(self, kind: Kind) -> u64 {
        match kind {
            Kind::Blob => self.blob_bytes_max,
            Kind::Tree => TREE_BYTES_MAX,
            Kind::Commit | Kind::Tag => COMMIT_BYTES_MAX,
        }
    }

    /// Bytes of one allocation in the library: to undo a delta it holds the base, the result and the delta in one buffer.
    pub(super) fn allocation_max(self) -> usize {
        let largest = self.blob_bytes_max.max(TREE_BYTES_MAX);
        usize::try_from(largest.saturating_mul(3).saturating_add(TREE_BYTES_MAX)).unwrap_or(usize::MAX)
    }
}

/// What is kept under an id.
#[derive(Debug)]
pub(super) enum Got {
    /// The content, re-hashed.
    Bytes(Vec<u8>),
    /// An object of another kind, re-hashed.
    Other,
    /// More than the limit; not read.
    TooLarge(u64),
    /// Nothing.
    Absent,
}

/// A commit's header.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
    /// Seconds, as the committer's clock had it: a hint for the order of a walk, never a fact.
    pub(super) time: i64,
}

/// A handle for one call.
pub(super) struct Reader {
    pub(super) opened: Arc<Opened>,
    handle: gix::odb::store::Handle<Arc<gix::odb::Store>>,
    limits: Limits,
    path: PathBuf,
}

impl Reader {
    pub(super) fn new(opened: Arc<Opened>, settings: &SourceSettings) -> Reader {
        let mut handle = opened.store.to_handle_arc();
        handle.ignore_replacements = true;
        Reader {
            handle,
            opened,
            limits: Limits::new(settings),
            path: settings.path.clone(),
        }
    }

    /// Reads the object `id` of kind `kind`.
    pub(super) fn read(&self, id: &ObjectId, kind: Kind) -> Result<Got, SourceFault> {
        let max = self.limits.bytes_max(kind);
        let broken = |error: &gix::Error| self.broken(id, kind, error);
        let Some(header) = self.handle.try_header(id).map_err(|error| broken(&error))? else {
            return Ok(Got::Absent);
        };
        if header.size > max {
            return Ok(Got::TooLarge(header.size));
        }
        let mut bytes = Vec::new();
        let found =
            gix::objs::Find::try_find(&self.handle, id, &mut bytes).map_err(|error| broken(&error))?;
        let Some(found) = found else {
            return Ok(Got::Absent);
        };
        let (found_kind, len) = (found.kind, found.data.len());
        bytes.truncate(len);
        self.verify(id, found_kind, &bytes)?;
        if found_kind != kind {
            return Ok(Got::Other);
        }
        // Undoing a delta leaves a buffer of several times the result.
        if bytes.capacity() / 2 > len {
            bytes.shrink_to_fit();
        }
        Ok(Got::Bytes(bytes))
    }

    /// The id, computed from the bytes.
    fn verify(&self, id: &ObjectId, kind: Kind, bytes: &[u8]) -> Result<(), SourceFault> {
        let forged = |why: String| SourceFault::Forged {
            what: format!("{kind} {id}"),
            why,
        };
        match gix::objs::compute_hash(self.opened.hash, kind, bytes) {
            Ok(computed) if computed == *id => Ok(()),
            Ok(computed) => Err(forged(format!(
                "its bytes have the id {computed}; run `git fsck` there"
            ))),
            Err(_) => Err(forged(
                "its bytes are made for a SHA-1 collision; find out who wrote them".to_owned(),
            )),
        }
    }

    fn broken(&self, id: &ObjectId, kind: Kind, error: &gix::Error) -> SourceFault {
        let what = words(error);
        if is_ours(error) {
            let why = format!("{kind} {id} could not be read ({what})");
            return SourceFault::Unavailable {
                path: self.path.clone(),
                why,
            };
        }
        damaged(
            kind,
            id,
            format!("it cannot be read ({what}); run `git fsck` there"),
        )
    }

    /// The commit, `None` if there is no such commit.
    pub(super) fn commit(&self, id: &ObjectId) -> Result<Option<Commit>, SourceFault> {
        match self.read(id, Kind::Commit)? {
            Got::Bytes(bytes) => parse_commit(id, &bytes, self.opened.hash).map(Some),
            Got::Absent | Got::Other => Ok(None),
            Got::TooLarge(size) => Err(too_large(Kind::Commit, id, size, COMMIT_BYTES_MAX)),
        }
    }

    /// The content of a tree that must be there.
    pub(super) fn tree(&self, id: &ObjectId) -> Result<Vec<u8>, SourceFault> {
        match self.read(id, Kind::Tree)? {
            Got::Bytes(bytes) => Ok(bytes),
            Got::Absent => Err(missing(Kind::Tree, id)),
            Got::Other => Err(damaged(
                Kind::Tree,
                id,
                "the id belongs to an object of another kind".to_owned(),
            )),
            Got::TooLarge(size) => Err(too_large(Kind::Tree, id, size, TREE_BYTES_MAX)),
        }
    }

    /// From what a ref holds to a commit: tag objects are followed, each re-hashed.
    pub(super) fn peel(&self, from: ObjectId) -> Result<ObjectId, SourceFault> {
        let mut id = from;
        for _ in 0..TAGS_MAX {
            if self.commit(&id)?.is_some() {
                return Ok(id);
            }
            id = match self.read(&id, Kind::Tag)? {
                Got::Bytes(bytes) => TagRefIter::from_bytes(&bytes, self.opened.hash)
                    .target_id()
                    .map_err(|_| damaged(Kind::Tag, &id, "it names no object".to_owned()))?,
                Got::Absent => return Err(missing(Kind::Commit, &id)),
                Got::Other => {
                    return Err(damaged(
                        Kind::Commit,
                        &id,
                        "the ref names neither commit nor tag".to_owned(),
                    ));
                }
                Got::TooLarge(size) => return Err(too_large(Kind::Tag, &id, size, COMMIT_BYTES_MAX)),
            };
        }
        Err(damaged(
            Kind::Tag,
            &from,
            "it leads from tag to tag without end".to_owned(),
        ))
    }
}

fn parse_commit(id: &ObjectId, bytes: &[u8], hash: gix::hash::Kind) -> Result<Commit, SourceFault> {
    let malformed = || damaged(Kind::Commit, id, "its header is malformed".to_owned());
    let (mut tree, mut parents, mut time) = (None, Vec::new(), 0);
    for token in CommitRefIter::from_bytes(bytes, hash) {
        match token {
            Ok(Token::Tree { id }) => tree = Some(id),
            Ok(Token::Parent { id }) => parents.push(id),
            Ok(Token::Committer { signature }) => {
                time = signature.seconds();
                break;
            }
            Ok(Token::Author { .. }) => {}
            Ok(Token::Encoding(_) | Token::ExtraHeader(_) | Token::Message(_)) | Err(_) => break,
        }
    }
    // Old repositories hold odd authors, which do not matter here; a parent that was not understood does.
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .skip(1)
        .take_while(|line| line.starts_with(b"parent"))
        .count();
    match tree {
        Some(tree) if lines == parents.len() => Ok(Commit { tree, parents, time }),
        _ => Err(malformed()),
    }
}

pub(super) fn damaged(kind: Kind, id: &ObjectId, why: String) -> SourceFault {
    SourceFault::Damaged {
        what: format!("{kind} {id}"),
        why,
    }
}

pub(super) fn missing(kind: Kind, id: &ObjectId) -> SourceFault {
    damaged(
        kind,
        id,
        "it is missing; fetch it again, or run `git fsck` there".to_owned(),
    )
}

fn too_large(kind: Kind, id: &ObjectId, size: u64, max: u64) -> SourceFault {
    damaged(
        kind,
        id,
        format!("it has {size} bytes, more than the {max} that are read of a {kind}"),
    )
}

/// What went wrong, in our own words: the library's may repeat content.
pub(super) fn words(error: &gix::Error) -> String {
    if let Some(io) = error.downcast_any_ref::<std::io::Error>() {
        return io.kind().to_string();
    }
    let word = if error.is_resource_exhausted() {
        "more memory than source.limits.blob_bytes_max allows"
    } else if error.is_permission_denied() {
        "permission denied"
    } else if error.is_not_found() {
        "not found"
    } else if error.is_unsupported() {
        "a format that is not supported"
    } else {
        "corrupt or malformed"
    };
    word.to_owned()
}

/// Whether this process or the machine ran out of something: that is not the object's fault.
fn is_ours(error: &gix::Error) -> bool {
    use rustix::io::Errno;
    let number = error
        .downcast_any_ref::<std::io::Error>()
        .and_then(std::io::Error::raw_os_error);
    [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::STALE,
        Errno::TIMEDOUT,
    ]
    .iter()
    .any(|errno| number == Some(errno.raw_os_error()))
}
