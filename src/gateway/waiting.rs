//! One file that waits in a gate directory. In: its bytes, or the directory at the start. Out: which documents it holds and
//! where in it they stand.
//!
//! Not here: counting (`pending`).

use super::drop::is_plain;
use crate::clock::WallMs;
use crate::job::document::DocumentRules;
use crate::job::json::{self, DOCUMENT_BYTES_MAX};
use crate::job::{JobId, Receipt, Role, Sha256, Shape, cancel, document, document_digest};
use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes of one file in a spool; what the roles read at most.
pub(super) const FILE_BYTES_MAX: usize = 1 << 20;

/// One document in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filed {
    pub(super) digest: Sha256,
    /// Jobs only.
    pub(super) job_id: Option<JobId>,
    /// Its bytes in the file.
    pub(super) range: Range<usize>,
}

/// A file its role has not taken yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) role: Role,
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) bytes: u64,
    pub(super) documents: Vec<Filed>,
}

/// The lines of a jsonl upload as the roles see them: an empty one in between is a line, nothing after the last line end
/// is none.
pub(super) fn lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < bytes.len() || lines.is_empty() {
        let rest = bytes.get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        lines.push(start..start + length);
        start += length + 1;
    }
    lines
}

/// The requester a name in gate/ states; `None` for a name that is not the gateway's.
fn stated_uid(name: &str) -> Option<u32> {
    let (digits, rest) = name.split_once('-')?;
    let uid: u32 = digits.parse().ok()?;
    (uid.to_string() == digits && is_plain(rest)).then_some(uid)
}

/// Reads what an earlier gateway dropped and removes what it did not finish. What cannot be read is left out: the roles
/// judge it all the same.
pub(super) fn read_all(role: Role, dir: &Path, mut each: impl FnMut(Waiting)) {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => {
            tracing::warn!(%role, path = %dir.display(), %error, "cannot see what waits there");
            return;
        }
    };
    let own = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let is_ours = entry
            .metadata()
            .is_ok_and(|seen| seen.is_file() && seen.uid() == own);
        if !is_ours {
            continue;
        }
        if name.strip_prefix('.').and_then(stated_uid).is_some() {
            if let Err(error) = std::fs::remove_file(entry.path()) {
                tracing::warn!(%role, path = %entry.path().display(), %error, "cannot be removed");
            }
            continue;
        }
        if let Some(uid) = stated_uid(&name)
            && let Some(found) = read(role, &entry.path(), name, uid)
        {
            each(found);
        }
    }
}

fn read(role: Role, path: &Path, name: String, uid: u32) -> Option<Waiting> {
    let mut bytes = Vec::new();
    let most = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX);
    open(path)?.take(most).read_to_end(&mut bytes).ok()?;
    let whole = 0..bytes.len();
    let ranges = if name.ends_with(".jsonl") {
        lines(&bytes)
    } else {
        vec![whole]
    };
    let filed = |range: Range<usize>| {
        let document = bytes.get(range.clone()).unwrap_or_default();
        Filed {
            digest: document_digest(document),
            job_id: job_id(document),
            range,
        }
    };
    Some(Waiting {
        role,
        name,
        uid,
        bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        documents: ranges.into_iter().map(filed).collect(),
    })
}

fn open(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(rustix::fs::CWD, path, flags, Mode::empty()).ok()?;
    Some(File::from(file))
}

/// The job_id of what is meant as a job.
fn job_id(bytes: &[u8]) -> Option<JobId> {
    let value = json::parse(bytes, DOCUMENT_BYTES_MAX).ok()?;
    match cancel::shape(&value).ok()? {
        Shape::Job => JobId::parse(value.get("job_id")?.as_text()?),
        Shape::Envelope | Shape::Cancel => None,
    }
}

/// The receipt (CREATED) of the job at `range` of the file; `None` once the file is gone.
pub(super) fn receipt(path: &Path, range: &Range<usize>, rules: &DocumentRules) -> Option<Value> {
    let file = open(path)?;
    let seen = file.metadata().ok()?;
    let length = range.len().min(DOCUMENT_BYTES_MAX);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, u64::try_from(range.start).ok()?)
        .ok()?;
    let value = json::parse(&bytes, DOCUMENT_BYTES_MAX).ok()?;
    let job = document::parse_job(&value, rules, Role::Gateway).ok()?;
    let at = WallMs(
        seen.mtime()
            .saturating_mul(1000)
            .saturating_add(seen.mtime_nsec() / 1_000_000),
    );
    serde_json::to_value(Receipt::created(&job, at)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_the_roles_split_them() {
        for (text, expected) in [
            ("a\nb\n", vec!["a", "b"]),
            ("a\n\nb", vec!["a", "", "b"]),
            ("\n", vec![""]),
            ("", vec![""]),
            ("a\r\nb", vec!["a\r", "b"]),
        ] {
            let found: Vec<&str> = lines(text.as_bytes())
                .into_iter()
                .map(|line| &text[line])
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn only_names_that_a_gateway_gives_state_a_uid() {
        assert_eq!(stated_uid("1000-a.json"), Some(1000));
        assert_eq!(stated_uid("0-a-b.jsonl"), Some(0));
        for name in [
            "a.json",
            "01-a.json",
            "+1-a.json",
            "1-.json",
            "1-a.txt",
            "4294967296-a.json",
            "-a.json",
        ] {
            assert_eq!(stated_uid(name), None, "{name}");
        }
    }
}
