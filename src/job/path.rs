//! Vault paths and object ids: judged once, compared by component, never decoded (contract 2). In: text. Out: values
//! that are safe to use, or the one code that says why not.
//!
//! Not here: the file system (target/).

use super::code::Code;
use std::fmt;

/// A canonical path below `vault.root`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct VaultPath {
    full: String,
    root_len: usize,
}

/// Which rule a path breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// `path_outside_root`, `path_traversal`, `path_hidden`, `path_ambiguous` or `bad_object_id`.
    pub code: Code,
    /// One sentence naming the rule and the component's position.
    pub message: String,
}

impl VaultPath {
    /// Judges `text` against the rules below `root` (which ends in `/`).
    ///
    /// # Errors
    /// [`PathError`] with the first rule it breaks.
    pub fn parse(root: &str, text: &str) -> Result<VaultPath, PathError> {
        let _ = (root, text);
        Err(PathError {
            code: Code::PathAmbiguous,
            message: String::new(),
        })
    }
    /// The whole path, as in documents: `/app/vault/notes/a.md`.
    pub fn as_str(&self) -> &str {
        &self.full
    }
    /// The part below the root: `notes/a.md`.
    pub fn relative(&self) -> &str {
        &self.full[self.root_len..]
    }
}
impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full)
    }
}

/// What the requester calls the object; with `source.object_id = "path"` its repository path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ObjectId(String);
impl ObjectId {
    /// 1–256 bytes, NFC, no control character.
    ///
    /// # Errors
    /// [`PathError`] with `bad_object_id`.
    pub fn parse(text: &str) -> Result<ObjectId, PathError> {
        let _ = text;
        Err(PathError {
            code: Code::BadObjectId,
            message: String::new(),
        })
    }
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
