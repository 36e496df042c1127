//! Small repositories for `lockgate up`, the demo and tests, made without the git program. In: a directory and files. Out: a
//! repository with a work tree, an index and the branch `main`, one commit a call.
//!
//! Not here: the source of an installation, which lockgate never writes to.

use gix::ObjectId;
use gix::objs::Tree;
use gix::objs::tree::{Editor, EntryKind};
use std::path::{Component, Path, PathBuf};

/// The branch that commits go to.
const BRANCH: &str = "refs/heads/main";

/// How objects are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// 40 hex digits: what git makes by default.
    Sha1,
    /// 64 hex digits.
    Sha256,
}

/// Why there is no repository, or no commit.
#[derive(Debug, thiserror::Error)]
#[error("the repository {}: {why}", path.display())]
pub struct PlaygroundFault {
    /// The directory.
    pub path: PathBuf,
    /// What went wrong.
    pub why: String,
}

/// A file's new content, or `None` to remove it. The path is relative, with `/`.
pub type Change<'a> = (&'a str, Option<&'a [u8]>);

/// Makes a repository in `dir` (made if absent, without a `.git` yet) with one commit. `at_s` is its date, seconds since 1970.
///
/// # Errors
/// [`PlaygroundFault`]
pub fn create(
    dir: &Path,
    format: Format,
    changes: &[Change<'_>],
    at_s: i64,
) -> Result<crate::job::CommitId, PlaygroundFault> {
    let fail = |why: &dyn std::fmt::Display| fault(dir, why);
    let hash = match format {
        Format::Sha1 => None,
        Format::Sha256 => Some(gix::hash::Kind::Sha256),
    };
    let options = gix::create::Options {
        object_hash: hash,
        ..gix::create::Options::default()
    };
    gix::ThreadSafeRepository::init_opts(dir, gix::create::Kind::WithWorktree, options, isolated())
        .map_err(|error| fail(&error))?;
    commit(dir, changes, "First commit", at_s)
}

/// Adds one commit to the branch `main` of the repository in `dir`, and brings work tree and index to it.
///
/// # Errors
/// [`PlaygroundFault`]
pub fn commit(
    dir: &Path,
    changes: &[Change<'_>],
    message: &str,
    at_s: i64,
) -> Result<crate::job::CommitId, PlaygroundFault> {
    for (path, content) in changes {
        write_file(dir, path, *content).map_err(|error| fault(dir, &format!("{path}: {error}")))?;
    }
    let id = commit_objects(dir, changes, message, at_s).map_err(|error| fault(dir, &error))?;
    crate::job::CommitId::parse(&id.to_string()).ok_or_else(|| fault(dir, &"a commit without an id"))
}

fn fault(dir: &Path, why: &dyn std::fmt::Display) -> PlaygroundFault {
    PlaygroundFault {
        path: dir.to_owned(),
        why: why.to_string(),
    }
}

fn isolated() -> gix::open::Options {
    gix::open::Options::isolated().with(gix::sec::Trust::Full)
}

fn write_file(dir: &Path, path: &str, content: Option<&[u8]>) -> std::io::Result<()> {
    let relative = Path::new(path);
    let is_below = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
        && !path.starts_with(".git");
    if !is_below {
        return Err(std::io::Error::other("not a path below the repository"));
    }
    let full = dir.join(relative);
    match content {
        Some(content) => {
            if let Some(parent) = full.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(full, content)
        }
        None => std::fs::remove_file(full),
    }
}

fn commit_objects(dir: &Path, changes: &[Change<'_>], message: &str, at_s: i64) -> gix::Result<ObjectId> {
    let repository = isolated().open(dir)?.to_thread_local();
    let parent = match repository.try_find_reference(BRANCH)? {
        Some(reference) => Some(reference.into_fully_peeled_id()?.detach()),
        None => None,
    };
    let root = match parent {
        Some(parent) => repository.find_commit(parent)?.tree()?.decode()?.into(),
        None => Tree::empty(),
    };
    let mut editor = Editor::new(root, &repository.objects, repository.object_hash());
    for (path, content) in changes {
        match content {
            Some(content) => {
                let blob = repository.write_blob(content)?.detach();
                editor.upsert(path.split('/'), EntryKind::Blob, blob)?;
            }
            None => {
                editor.remove(path.split('/'))?;
            }
        }
    }
    let tree = editor.write(|tree| repository.write_object(tree).map(gix::Id::detach))?;
    let person = gix::actor::Signature {
        name: "lockgate".into(),
        email: "lockgate@localhost".into(),
        time: gix::date::Time::new(at_s, 0),
    };
    let mut time = gix::date::parse::TimeBuf::default();
    let person = person.to_ref(&mut time);
    let id = repository
        .commit_as(person, person, BRANCH, message, tree, parent)?
        .detach();
    repository
        .index_from_tree(&tree)?
        .write(gix::index::write::Options::default())?;
    Ok(id)
}
