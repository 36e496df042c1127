//! The entries of a verified file, one by one. In: the open file and how far it is verified. Out: entries, oldest first.
//!
//! Read through the descriptor that is locked and verified, so that nobody can put another file in between, and verified once
//! more on the way.
//! Not here: the end of the file (the log closes it first).

use super::SpentFault;
use super::line::{FIRST_PREV, SpentEntry};
use super::scan::{self, Found, Next, Scanner};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes from `at` to `end` of a file, whose own position is left alone.
#[derive(Debug)]
pub(super) struct Section {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Section {
    pub(super) fn new(file: Arc<File>, at: u64, end: u64) -> Section {
        Section { file, at, end }
    }
}

impl Read for Section {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = left.min(buf.len());
        let read = self.file.read_at(&mut buf[..wanted], self.at)?;
        if read == 0 && wanted > 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file got shorter while it was read",
            ));
        }
        self.at += read as u64;
        Ok(read)
    }
}

/// Iterates over the entries; ends after the first fault.
#[derive(Debug)]
pub struct Entries {
    path: PathBuf,
    reader: BufReader<Section>,
    scanner: Scanner,
    line: Vec<u8>,
    ended: bool,
}

impl Entries {
    pub(super) fn new(path: &Path, file: Arc<File>, end: u64) -> Entries {
        Entries {
            path: path.to_path_buf(),
            reader: BufReader::with_capacity(64 * 1024, Section::new(file, 0, end)),
            scanner: Scanner::new(FIRST_PREV, 0),
            line: Vec::new(),
            ended: false,
        }
    }

    /// `None` at the end; fragments are passed over.
    fn step(&mut self) -> Result<Option<SpentEntry>, scan::ScanFault> {
        loop {
            match scan::next(&mut self.reader, &mut self.line, self.scanner.lines())? {
                Next::Rest => return self.scanner.rest(&self.line).map(|_| None),
                Next::Line => {
                    if let Some(Found::Entry(entry)) = self.scanner.line(&self.line)? {
                        return Ok(Some(entry));
                    }
                }
            }
        }
    }
}

impl Iterator for Entries {
    type Item = Result<SpentEntry, SpentFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.step().map_err(|fault| fault.at(&self.path)).transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}
