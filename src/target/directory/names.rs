//! The hidden names this driver uses beside a path's file, and how they are recognised. In: a job. Out: names; and back.
//!
//! All begin with a dot, which no vault path may: no job can ever name one of them.
//!
//! | name | holds |
//! |---|---|
//! | `.lockgate-JOB.XXXXXXXX.part` | bytes being written; random, so that a holder that wakes up late cannot rename another's half-written file |
//! | `.lockgate-JOB.XXXXXXXX.dir` | a directory being made |
//! | `.lockgate-JOB.new` | the finished bytes, then what came out of the exchange |
//! | `.lockgate-JOB.gone` | what a delete set aside |
//! | `.lockgate-JOB.kept`, `.kept2` … `.kept16` | kept for a person |
//!
//! Not here: what is done with them.

use crate::job::{JobId, Uuid4};
use crate::target::LeftoverKind;

pub(super) const MARKER: &str = ".lockgate-vault";
const PREFIX: &str = ".lockgate-";
/// A person has looked long before a job kept this many; beyond it files stay under the name they have.
pub(super) const KEPT_MAX: u32 = 16;

/// A relative path as directory and file name.
pub(super) fn split(relative: &str) -> (&str, &str) {
    relative.rsplit_once('/').unwrap_or(("", relative))
}

pub(super) fn part(job: JobId) -> String {
    format!("{PREFIX}{job}.{}.part", fresh())
}

pub(super) fn directory(job: JobId) -> String {
    format!("{PREFIX}{job}.{}.dir", fresh())
}

pub(super) fn exchange(job: JobId) -> String {
    format!("{PREFIX}{job}.new")
}

pub(super) fn gone(job: JobId) -> String {
    format!("{PREFIX}{job}.gone")
}

/// The `number`th name for something kept aside, from 1.
pub(super) fn kept(job: JobId, number: u32) -> String {
    if number < 2 {
        format!("{PREFIX}{job}.kept")
    } else {
        format!("{PREFIX}{job}.kept{number}")
    }
}

/// A name for the probe of the file system; never of a job.
pub(super) fn probe(side: char) -> String {
    format!("{PREFIX}probe-{}.{side}", Uuid4::random())
}

/// A name for a marker being written.
pub(super) fn marker_part() -> String {
    format!("{MARKER}.{}.part", fresh())
}

/// Whose leftover a name is, if it is one.
pub(super) fn parse(name: &str) -> Option<(JobId, LeftoverKind)> {
    let rest = name.strip_prefix(PREFIX)?;
    let (job, kind) = rest.split_at_checked(36)?;
    let job = JobId::parse(job)?;
    let kind = kind.strip_prefix('.')?;
    let kind = match kind {
        "new" => LeftoverKind::Exchange,
        "gone" => LeftoverKind::Gone,
        other if other.starts_with("kept") => LeftoverKind::Kept,
        other if other.ends_with(".part") => LeftoverKind::Part,
        other if other.ends_with(".dir") => LeftoverKind::Directory,
        _ => return None,
    };
    Some((job, kind))
}

fn fresh() -> String {
    let bytes = *Uuid4::random().as_bytes();
    let mut text = String::with_capacity(8);
    for byte in bytes.iter().take(4) {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_recognised_as_what_it_is_and_nothing_else_is() {
        let job = JobId::random();
        for (name, kind) in [
            (part(job), LeftoverKind::Part),
            (directory(job), LeftoverKind::Directory),
            (exchange(job), LeftoverKind::Exchange),
            (gone(job), LeftoverKind::Gone),
            (kept(job, 1), LeftoverKind::Kept),
            (kept(job, 16), LeftoverKind::Kept),
        ] {
            assert_eq!(parse(&name), Some((job, kind)), "{name}");
            assert!(name.len() < 64);
        }
        for name in [
            MARKER,
            ".lockgate-",
            ".lockgate-é",
            &probe('a'),
            "note.md",
            &marker_part(),
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_ne!(part(job), part(job));
        assert_eq!(split("a/b/c.md"), ("a/b", "c.md"));
        assert_eq!(split("c.md"), ("", "c.md"));
    }
}
