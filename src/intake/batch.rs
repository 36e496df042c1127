//! What a scan hands out. In: nothing. Out: plain values.
//!
//! Not here: how they come about (`scan`), what becomes of a document (admission/).

use super::seen::FileId;
use crate::job::{Refusal, Sha256};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// How a document came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Via {
    /// The requester dropped it; the file's owner is the requester.
    Drop,
    /// The gateway dropped it and states the requester; the audit says so.
    Gateway,
}

impl Via {
    /// The word in audit rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Via::Drop => "drop",
            Via::Gateway => "gateway",
        }
    }
    /// The way a word names.
    pub fn parse(text: &str) -> Option<Via> {
        [Via::Drop, Via::Gateway]
            .into_iter()
            .find(|via| via.as_str() == text)
    }
}

/// What a file holds, by its name's ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// `.json`: one document.
    One,
    /// `.jsonl`: one document a line.
    Lines,
}

/// Names one directory entry of a batch, to be handed back once what it said is committed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) id: FileId,
    /// Whose it is, for messages.
    pub(super) owner: u32,
}

/// A file that was read whole. Its documents are judged one by one and committed in one transaction.
#[derive(Clone, PartialEq, Eq)]
pub struct RawFile {
    /// For [`super::Intake::finish`].
    pub ticket: Ticket,
    /// The requester.
    pub uid: u32,
    /// How it came in.
    pub via: Via,
    /// What its name says it holds.
    pub form: Form,
    bytes: Vec<u8>,
    lines: Vec<Range<usize>>,
}

impl RawFile {
    /// `None` if there are more lines than a file may have.
    pub(super) fn new(ticket: Ticket, uid: u32, via: Via, form: Form, bytes: Vec<u8>) -> Option<RawFile> {
        let lines = match form {
            Form::One => std::iter::once(0..bytes.len()).collect(),
            Form::Lines => split_lines(&bytes)?,
        };
        Some(RawFile {
            ticket,
            uid,
            via,
            form,
            bytes,
            lines,
        })
    }

    /// The file's name, for the log.
    pub fn name(&self) -> &str {
        &self.ticket.name
    }
    /// Which state of which file it is.
    pub fn id(&self) -> FileId {
        self.ticket.id
    }
    /// The raw documents, in the file's order. Never empty: an empty file is one empty document, which is then refused.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.lines
            .iter()
            .map(|line| self.bytes.get(line.clone()).unwrap_or_default())
    }
}

/// The content stays out of logs: a hostile line could imitate one, and an honest one is nobody else's business.
impl fmt::Debug for RawFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawFile")
            .field("ticket", &self.ticket)
            .field("uid", &self.uid)
            .field("via", &self.via)
            .field("documents", &self.lines.len())
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// Lines a file may have. One transaction holds them all: more would keep the writer from everybody else.
pub(super) const LINES_MAX: usize = 1000;

/// Line ends close a line; what follows the last one is a line only if it is not empty. An empty line in between, and an
/// empty file, is an empty document, so that nothing disappears without an answer.
fn split_lines(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < bytes.len() || lines.is_empty() {
        if lines.len() == LINES_MAX {
            return None;
        }
        let rest = bytes.get(start..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|c| *c == b'\n')
            .map_or(bytes.len(), |at| start + at);
        lines.push(start..end);
        start = end + 1;
    }
    Some(lines)
}

/// A file, or something else with a file's name, that was refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRefusal {
    /// For [`super::Intake::finish`]: removed once the refusal is on record.
    pub ticket: Ticket,
    /// The owner of the entry; in the gateway's directory the stated UID, if the entry is the gateway's.
    pub uid: u32,
    /// How it came in.
    pub via: Via,
    /// Of the bytes as far as they were read (all of them, if there is at most one too many); of the reason's name where
    /// nothing was read, so that ten thousand symbolic links are one row.
    pub digest: Sha256,
    /// What the requester is told.
    pub refusal: Refusal,
}

/// A file that was moved to `quarantine/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poisoned {
    /// The name it had.
    pub name: String,
    /// The name it has in `quarantine/`.
    pub kept_as: String,
    /// The requester.
    pub uid: u32,
    /// How it came in.
    pub via: Via,
    /// Of the raw bytes: they were never parsed.
    pub digest: Sha256,
    /// What the requester is told.
    pub refusal: Refusal,
}

/// An entry that can be neither read nor removed. It stays, and is reported this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// The directory.
    pub dir: PathBuf,
    /// The entry's name, with everything unusual escaped.
    pub name: String,
    /// Its owner.
    pub uid: u32,
    /// What was tried and what the kernel said.
    pub why: String,
}

/// What one scan found. Nothing in it was removed yet, `poisoned` excepted.
#[derive(Debug, Default)]
pub struct Batch {
    /// To be judged and committed.
    pub files: Vec<RawFile>,
    /// To be counted.
    pub refused: Vec<FileRefusal>,
    /// To be counted; already moved away.
    pub poisoned: Vec<Poisoned>,
    /// To be logged.
    pub stuck: Vec<Stuck>,
    /// What changed about the directories themselves: lost, back, unreadable. To be logged.
    pub notices: Vec<String>,
    /// Whether another scan right after this one would find more.
    pub more: bool,
    /// Another process of this role is reading; nothing was taken.
    pub held_elsewhere: bool,
}

impl Batch {
    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.refused.is_empty() && self.poisoned.is_empty()
    }
    /// Every ticket: for [`super::Intake::finish`] after all of it was committed.
    pub fn tickets(&self) -> Vec<Ticket> {
        let files = self.files.iter().map(|file| file.ticket.clone());
        files
            .chain(self.refused.iter().map(|refused| refused.ticket.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let bytes = text.as_bytes();
        let lines = split_lines(bytes).unwrap();
        lines
            .into_iter()
            .map(|line| String::from_utf8(bytes[line].to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn lines_are_split_at_line_ends_and_none_gets_lost() {
        assert_eq!(lines("a\nb\n"), ["a", "b"]);
        assert_eq!(lines("a\nb"), ["a", "b"]);
        assert_eq!(lines("a\n\nb\n"), ["a", "", "b"]);
        assert_eq!(lines("a\n\n"), ["a", ""]);
        assert_eq!(lines("\n"), [""]);
        assert_eq!(lines(""), [""]);
        assert_eq!(lines("a\r\nb"), ["a\r", "b"]);
    }

    #[test]
    fn a_thousand_lines_fit_and_one_more_does_not() {
        assert_eq!(split_lines(&b"x\n".repeat(1000)).unwrap().len(), 1000);
        assert_eq!(split_lines(&b"\n".repeat(1000)).unwrap().len(), 1000);
        assert_eq!(split_lines(&b"x\n".repeat(1001)), None);
        assert_eq!(split_lines(&[&b"x\n".repeat(1000)[..], b"y"].concat()), None);
        assert_eq!(split_lines(&b"\n".repeat(1_048_576)), None);
    }
}
