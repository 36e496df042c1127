//! Reading the files of an installation. In: the main file's path. Out: the texts of it and of conf.d/*.toml beside it,
//! laid end to end in one range of offsets, so that one offset names a file and a line.
//!
//! Not here: what the text means (`parse`, `check`).

use super::problem::Problem;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of all configuration files together. A configuration is a few KiB; this only keeps a wrong path (a disk image,
/// a log) from being read into memory.
const ALL_BYTES_MAX: u64 = 256 * 1024;
/// Files in conf.d. With the limit above it bounds the padding: 64 times 256 KiB.
const FILES_MAX: usize = 64;

/// One file, parsed behind as many spaces as the files before it are long.
#[derive(Debug)]
pub(super) struct File {
    /// Where it was read from.
    pub(super) path: PathBuf,
    /// The offset of its first byte.
    base: usize,
    /// `base` spaces, then the text of the file.
    pub(super) padded: String,
}

/// What was read, in the order in which it is read by people: the main file, then conf.d by name.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) files: Vec<File>,
}

impl Files {
    /// Reads the main file and conf.d/*.toml beside it; what cannot be read becomes a problem.
    pub(super) fn read(main: &Path, problems: &mut Vec<Problem>) -> Files {
        let mut files = Files::default();
        let mut room = ALL_BYTES_MAX;
        let mut paths = vec![main.to_owned()];
        if let Some(directory) = main.parent() {
            paths.extend(extra_files(&directory.join("conf.d"), problems));
        }
        for path in paths {
            match read_one(&path, room) {
                Ok(text) => {
                    room = room.saturating_sub(u64::try_from(text.len()).unwrap_or(u64::MAX));
                    files.push(path, &text);
                }
                Err(message) => problems.push(Problem {
                    file: path,
                    line: None,
                    key: String::new(),
                    message,
                }),
            }
        }
        files
    }

    /// Adds one file's text behind the ones before it.
    pub(super) fn push(&mut self, path: PathBuf, text: &str) {
        let base = self.files.last().map_or(0, |last| last.padded.len() + 1);
        let mut padded = " ".repeat(base);
        padded.push_str(text);
        self.files.push(File { path, base, padded });
    }

    /// The file and the line (from 1) of an offset.
    pub(super) fn locate(&self, offset: usize) -> (PathBuf, Option<u32>) {
        let Some(file) = self.files.iter().rev().find(|file| file.base <= offset) else {
            return (PathBuf::new(), None);
        };
        let before = file
            .padded
            .bytes()
            .take(offset)
            .filter(|byte| *byte == b'\n')
            .count();
        (file.path.clone(), u32::try_from(before + 1).ok())
    }

    /// The main file, to which a key that is missing everywhere belongs.
    pub(super) fn main(&self) -> PathBuf {
        self.files
            .first()
            .map(|file| file.path.clone())
            .unwrap_or_default()
    }
}

/// conf.d/*.toml by name; no directory is no file.
fn extra_files(directory: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
    let mut problem = |message: String| {
        problems.push(Problem {
            file: directory.to_owned(),
            line: None,
            key: String::new(),
            message,
        });
    };
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            problem(format!("cannot be listed: {error}"));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => {
                let name = entry.file_name();
                let name = name.as_encoded_bytes();
                if name.ends_with(b".toml") && !name.starts_with(b".") {
                    found.push(entry.path());
                }
            }
            Err(error) => problem(format!("cannot be listed: {error}")),
        }
    }
    if found.len() > FILES_MAX {
        problem(format!("holds more than {FILES_MAX} files"));
        found.clear();
    }
    found.sort();
    found
}

fn read_one(path: &Path, room: u64) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    let mut bytes = Vec::new();
    file.take(room + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > room {
        return Err(format!(
            "is too large: all configuration files together are at most {ALL_BYTES_MAX} bytes"
        ));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}
