//! Vault paths and object ids: judged once, compared by component, never decoded (contract 2). In: text. Out: values
//! that are safe to use, or the one code that says why not.
//!
//! Not here: the file system (target/), which code points are emoji or invisible (`unicode`).

use super::code::Code;
use super::unicode;
use std::fmt;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Bytes of a whole vault path.
pub const PATH_BYTES_MAX: usize = 1024;
/// Components below the root.
pub const PATH_COMPONENTS_MAX: usize = 32;
/// Bytes of one component: what Linux file systems take.
pub const COMPONENT_BYTES_MAX: usize = 255;
/// Bytes of an object id.
pub const OBJECT_ID_BYTES_MAX: usize = 256;

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
        let root_len = root_prefix_len(root, text)
            .ok_or_else(|| error(Code::PathOutsideRoot, "the path is not below the vault's root"))?;
        if text.len() > PATH_BYTES_MAX {
            let message = format!("the path is longer than {PATH_BYTES_MAX} bytes");
            return Err(error(Code::PathAmbiguous, message));
        }
        check_relative(&text[root_len..], PATH_BYTES_MAX - root_len)?;
        Ok(VaultPath {
            full: text.to_owned(),
            root_len,
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
        let wrong = |what: String| Err(error(Code::BadObjectId, what));
        if text.is_empty() || text.len() > OBJECT_ID_BYTES_MAX {
            return wrong(format!("an object id has 1 to {OBJECT_ID_BYTES_MAX} bytes"));
        }
        if text.contains(char::is_control) {
            return wrong("an object id holds no control character".to_owned());
        }
        if !is_nfc(text) {
            return wrong("an object id is in Unicode form NFC; normalize it".to_owned());
        }
        Ok(ObjectId(text.to_owned()))
    }
    /// The same, and the rules for the components of a path: for `source.object_id = "path"`.
    ///
    /// # Errors
    /// [`PathError`] with `bad_object_id`.
    pub fn parse_as_path(text: &str) -> Result<ObjectId, PathError> {
        let id = ObjectId::parse(text)?;
        check_relative(text, OBJECT_ID_BYTES_MAX)
            .map_err(|broken| error(Code::BadObjectId, broken.message))?;
        Ok(id)
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

fn error(code: Code, message: impl Into<String>) -> PathError {
    PathError {
        code,
        message: message.into(),
    }
}

/// Bytes of `text` that are the root, its last slash included, if every component of the root is the same in `text`.
fn root_prefix_len(root: &str, text: &str) -> Option<usize> {
    let bare = root.strip_suffix('/').unwrap_or(root);
    let rest = text.strip_prefix(bare)?;
    rest.starts_with('/').then_some(bare.len() + 1)
}

/// Judges a path without root: every component by every rule, then its NFKC form by the same rules.
fn check_relative(relative: &str, bytes_max: usize) -> Result<(), PathError> {
    let mut compatible_bytes = 0usize;
    for (at, component) in relative.split('/').enumerate() {
        let position = at + 1;
        if position > PATH_COMPONENTS_MAX {
            let message = format!("the path has more than {PATH_COMPONENTS_MAX} components");
            return Err(error(Code::PathAmbiguous, message));
        }
        check_component(component).map_err(|broken| {
            error(
                broken.code(),
                format!("component {position} {}", broken.message()),
            )
        })?;
        if component.is_ascii() {
            compatible_bytes += component.len() + 1;
            continue;
        }
        // What another program may take this name for. The selector of an emoji sequence only chooses how its base is
        // drawn and was judged above; a base such as U+2139 turns into a plain letter here.
        let compatible: String = unicode::without_emoji_selectors(component).nfkc().collect();
        compatible_bytes += compatible.len() + 1;
        if compatible.contains('/') || check_component(&compatible).is_err() {
            let message =
                format!("component {position} looks like a name that is not allowed (Unicode form NFKC)");
            return Err(error(Code::PathAmbiguous, message));
        }
    }
    if compatible_bytes > bytes_max + 1 {
        let message =
            format!("the path is longer than {bytes_max} bytes below the root in Unicode form NFKC");
        return Err(error(Code::PathAmbiguous, message));
    }
    Ok(())
}

/// The rules for one component, in the order in which they are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    Empty,
    Traversal,
    Hidden,
    TooLong,
    NotNfc,
    Backslash,
    Control,
    Space,
    Percent,
    Invisible,
}

impl Broken {
    fn code(self) -> Code {
        match self {
            Broken::Traversal => Code::PathTraversal,
            Broken::Hidden => Code::PathHidden,
            Broken::Empty
            | Broken::TooLong
            | Broken::NotNfc
            | Broken::Backslash
            | Broken::Control
            | Broken::Space
            | Broken::Percent
            | Broken::Invisible => Code::PathAmbiguous,
        }
    }
    fn message(self) -> &'static str {
        match self {
            Broken::Empty => "is empty; write single slashes and none at the end",
            Broken::Traversal => "is `.` or `..`; write the path out",
            Broken::Hidden => "begins with a dot; hidden names are not served",
            Broken::TooLong => "is longer than 255 bytes",
            Broken::NotNfc => "is not in Unicode form NFC; normalize it",
            Broken::Backslash => "holds a backslash",
            Broken::Control => "holds a control character",
            Broken::Space => "begins or ends with a space",
            Broken::Percent => "holds a percent sign and two hex digits; paths are never decoded",
            Broken::Invisible => "holds an invisible character outside an emoji sequence",
        }
    }
}

fn check_component(component: &str) -> Result<(), Broken> {
    let broken = if component.is_empty() {
        Broken::Empty
    } else if component == "." || component == ".." {
        Broken::Traversal
    } else if component.starts_with('.') {
        Broken::Hidden
    } else if component.len() > COMPONENT_BYTES_MAX {
        Broken::TooLong
    } else if !is_nfc(component) {
        Broken::NotNfc
    } else if component.contains('\\') {
        Broken::Backslash
    } else if component.contains(char::is_control) {
        Broken::Control
    } else if component.starts_with(char::is_whitespace) || component.ends_with(char::is_whitespace) {
        Broken::Space
    } else if has_percent_escape(component) {
        Broken::Percent
    } else if !component.is_ascii() && unicode::has_stray_invisible(component) {
        Broken::Invisible
    } else {
        return Ok(());
    };
    Err(broken)
}

fn has_percent_escape(component: &str) -> bool {
    component
        .as_bytes()
        .windows(3)
        .any(|three| three[0] == b'%' && three[1].is_ascii_hexdigit() && three[2].is_ascii_hexdigit())
}

#[cfg(test)]
#[path = "path_test.rs"]
mod tests;
