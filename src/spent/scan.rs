//! Which line follows which. In: lines. Out: verified entries and fragments, or the first line that is not as it was written.
//!
//! A fragment is what crashes left between two good lines: the beginning of a line, or several of them if closing it was cut
//! off as well. It counts only if the line after it names its hash; at the end of the file it is still to be closed.
//! Not here: reading a section (entries), writing (the log).

use super::SpentFault;
use super::fault::Step;
use super::line::{self, Line, SpentEntry};
use crate::job::{Sha256, sha256};
use std::io::{self, BufRead};
use std::path::Path;

/// The longest fragment, bytes: far more than the largest batch that can be cut off at once.
pub(super) const FRAGMENT_BYTES_MAX: usize = 1024 * 1024;

/// One verified thing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Entry(SpentEntry),
    Torn(Vec<u8>),
}

/// How the file ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tail {
    Clean,
    /// The last line is good and only its line end is missing.
    LineEndMissing,
    /// A fragment to be closed; `close` if a line end must come first.
    Torn {
        close: bool,
        fragment: Vec<u8>,
    },
}

/// A line or a read that failed.
#[derive(Debug)]
pub(super) enum ScanFault {
    Line { line: u64, why: &'static str },
    Read(io::Error),
}

impl ScanFault {
    pub(super) fn at(self, path: &Path) -> SpentFault {
        let path = path.to_path_buf();
        match self {
            ScanFault::Line { line, why } => SpentFault::BadLine { path, line, why },
            ScanFault::Read(source) => SpentFault::Nothing {
                path,
                step: Step::Read,
                source,
            },
        }
    }
}

const TOO_LONG: &str = "too many bytes that are no whole line";
const OPEN: &str = "it is neither whole nor closed by the line after it";
const CHANGED: &str = "its hash does not match";

#[derive(Debug)]
pub(super) struct Scanner {
    prev: Sha256,
    lines: u64,
    fragment: Option<Fragment>,
}

/// Lines that are no whole ones, not closed yet.
#[derive(Debug)]
struct Fragment {
    /// Number of its first line.
    line: u64,
    bytes: Vec<u8>,
    /// The number of a line in it that no crash can have left: only a closing line that is there already vouches for it.
    doubtful: Option<u64>,
}

impl Scanner {
    /// Goes on after `lines` lines, the last of which has the hash `prev`.
    pub(super) fn new(prev: Sha256, lines: u64) -> Scanner {
        Scanner {
            prev,
            lines,
            fragment: None,
        }
    }
    /// Hash of the last good line.
    pub(super) fn prev(&self) -> Sha256 {
        self.prev
    }
    /// Lines so far, fragments included.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }
    /// The fragment at the end was closed by a line with this hash.
    pub(super) fn closed(&mut self, hash: Sha256) {
        self.prev = hash;
        self.lines += 1;
        self.fragment = None;
    }

    fn fault<T>(&self, why: &'static str) -> Result<T, ScanFault> {
        Err(ScanFault::Line {
            line: self.lines,
            why,
        })
    }

    /// One line, without its line end.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<Option<Found>, ScanFault> {
        self.lines += 1;
        let found = self.good(line)?;
        if found.is_none() {
            self.set_aside(
                line,
                if line::can_be_torn(line) {
                    None
                } else {
                    Some(self.lines)
                },
            )?;
        }
        Ok(found)
    }

    /// What is behind the last line end.
    pub(super) fn rest(&mut self, rest: &[u8]) -> Result<(Option<Found>, Tail), ScanFault> {
        if !rest.is_empty() {
            self.lines += 1;
            if let Some(found) = self.good(rest)? {
                return Ok((Some(found), Tail::LineEndMissing));
            }
            // A write that was cut off can have left anything but a whole line.
            self.set_aside(
                rest,
                if line::is_whole(rest) {
                    Some(self.lines)
                } else {
                    None
                },
            )?;
        }
        match self.fragment.take() {
            None => Ok((None, Tail::Clean)),
            Some(Fragment {
                doubtful: Some(line), ..
            }) => Err(ScanFault::Line { line, why: CHANGED }),
            Some(fragment) => Ok((
                None,
                Tail::Torn {
                    close: !rest.is_empty(),
                    fragment: fragment.bytes,
                },
            )),
        }
    }

    /// A line that follows the one before it.
    fn good(&mut self, text: &[u8]) -> Result<Option<Found>, ScanFault> {
        let (prev, hash, found) = match (line::parse(text), self.fragment.take()) {
            (None, fragment) => {
                self.fragment = fragment;
                return Ok(None);
            }
            (Some(Line::Entry { entry, prev, hash }), None) => (prev, hash, Found::Entry(entry)),
            (Some(Line::Entry { .. }), Some(fragment)) => {
                return Err(ScanFault::Line {
                    line: fragment.line,
                    why: OPEN,
                });
            }
            (
                Some(Line::Torn {
                    fragment: named,
                    prev,
                    hash,
                }),
                Some(fragment),
            ) if sha256(&fragment.bytes) == named => (prev, hash, Found::Torn(fragment.bytes)),
            (Some(Line::Torn { .. }), _) => {
                return self.fault("it closes another fragment than the one before it");
            }
        };
        if prev != self.prev {
            return self.fault("it does not follow the line before it");
        }
        self.prev = hash;
        Ok(Some(found))
    }

    fn set_aside(&mut self, text: &[u8], doubtful: Option<u64>) -> Result<(), ScanFault> {
        match &mut self.fragment {
            None => {
                self.fragment = Some(Fragment {
                    line: self.lines,
                    bytes: text.to_vec(),
                    doubtful,
                })
            }
            Some(fragment) => {
                fragment.bytes.push(b'\n');
                fragment.bytes.extend_from_slice(text);
                fragment.doubtful = fragment.doubtful.or(doubtful);
            }
        }
        match &self.fragment {
            Some(fragment) if fragment.bytes.len() > FRAGMENT_BYTES_MAX => Err(ScanFault::Line {
                line: fragment.doubtful.unwrap_or(fragment.line),
                why: TOO_LONG,
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// What the next bytes are.
pub(super) enum Next {
    Line,
    Rest,
}

/// Reads up to a line end into `line`, which is cleared; bounded.
pub(super) fn next(reader: &mut impl BufRead, line: &mut Vec<u8>, lines: u64) -> Result<Next, ScanFault> {
    line.clear();
    loop {
        let bytes = match reader.fill_buf() {
            Ok([]) => return Ok(Next::Rest),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ScanFault::Read(error)),
        };
        let (used, ended) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (bytes.len(), false),
        };
        line.extend_from_slice(&bytes[..used - usize::from(ended)]);
        reader.consume(used);
        if ended {
            return Ok(Next::Line);
        }
        if line.len() > FRAGMENT_BYTES_MAX {
            return Err(ScanFault::Line {
                line: lines + 1,
                why: TOO_LONG,
            });
        }
    }
}

/// Everything to the end.
pub(super) fn read_all(
    reader: &mut impl BufRead,
    scanner: &mut Scanner,
    mut tell: impl FnMut(Found),
) -> Result<Tail, ScanFault> {
    let mut line = Vec::new();
    loop {
        match next(reader, &mut line, scanner.lines())? {
            Next::Line => scanner.line(&line)?.into_iter().for_each(&mut tell),
            Next::Rest => {
                let (found, tail) = scanner.rest(&line)?;
                found.into_iter().for_each(&mut tell);
                return Ok(tail);
            }
        }
    }
}
