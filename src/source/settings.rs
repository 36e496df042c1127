//! What the driver is told. In: values of `[source]`, judged by config/. Out: plain values.
//!
//! Not here: reading the configuration.

use std::path::PathBuf;

/// What an object's id is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectIdRule {
    /// The object's path in the repository.
    Path,
    /// The value of this key of the object's YAML front matter.
    FrontMatter(String),
}

/// Settings of one git source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSettings {
    /// The repository: bare, or with a work tree.
    pub path: PathBuf,
    /// The branch, as in `main` or `refs/heads/main`. Other refs are named in full.
    pub git_ref: String,
    /// The repository's name in provenance hashes.
    pub repository: String,
    /// Put before the part of a vault path below the vault's root: empty, or a directory with or without a last `/`.
    pub root: String,
    /// What an object's id is.
    pub object_id: ObjectIdRule,
    /// Bytes of one object's content.
    pub blob_bytes_max: u64,
    /// Components of a repository path, that is trees read for one object.
    pub depth_max: usize,
    /// Commits read to decide whether one is an ancestor of another.
    pub history_max: u64,
}

impl SourceSettings {
    /// The branch `main`, no root, ids that are paths, 128 MiB, 64 levels, a million commits.
    pub fn new(path: impl Into<PathBuf>, repository: impl Into<String>) -> SourceSettings {
        SourceSettings {
            path: path.into(),
            git_ref: "main".to_owned(),
            repository: repository.into(),
            root: String::new(),
            object_id: ObjectIdRule::Path,
            blob_bytes_max: 128 << 20,
            depth_max: 64,
            history_max: 1_000_000,
        }
    }

    /// The ref in full. A short name is always a branch, whatever else has that name.
    pub(super) fn full_ref(&self) -> String {
        if self.git_ref.starts_with("refs/") {
            return self.git_ref.clone();
        }
        format!("refs/heads/{}", self.git_ref)
    }

    /// The path in the repository of what is at `relative` below the vault's root.
    pub(super) fn repository_path(&self, relative: &str) -> String {
        match self.root.trim_end_matches('/') {
            "" => relative.to_owned(),
            root => format!("{root}/{relative}"),
        }
    }
}
