//! One line of spent.log. In: an entry or a fragment, and the hash before. Out: text, and back again.
//!
//! `v1 approval_id nonce job_id lease_token wall_ms prev_hash hash` and `v1 torn SHA256(fragment) prev_hash hash`; `hash` is
//! the SHA-256 of everything on the line before its last space; the first `prev_hash` is all zeros.
//! Not here: what follows what (scan).

use crate::clock::WallMs;
use crate::job::{ApprovalId, JobId, Nonce, Sha256, Uuid4, sha256};

/// `prev_hash` of the first line.
pub(super) const FIRST_PREV: Sha256 = Sha256([0; 32]);
/// An entry with one digit of time; a line with fewer bytes is no whole entry.
pub(super) const ENTRY_BYTES_MIN: usize = 309;

/// One approval that can never be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpentEntry {
    /// The approval.
    pub approval_id: ApprovalId,
    /// Its nonce.
    pub nonce: Nonce,
    /// The job that used it.
    pub job_id: JobId,
    /// The lease of that job's worker.
    pub lease_token: Uuid4,
    /// When, by the wall clock.
    pub wall_ms: WallMs,
}

/// What a whole line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Entry {
        entry: SpentEntry,
        prev: Sha256,
        hash: Sha256,
    },
    Torn {
        fragment: Sha256,
        prev: Sha256,
        hash: Sha256,
    },
}

/// Appends the entry's line, with its line end; its hash.
pub(super) fn write_entry(text: &mut String, entry: &SpentEntry, prev: Sha256) -> Sha256 {
    let SpentEntry {
        approval_id,
        nonce,
        job_id,
        lease_token,
        wall_ms,
    } = entry;
    close(
        text,
        format!(
            "v1 {approval_id} {nonce} {job_id} {lease_token} {} {prev}",
            wall_ms.0
        ),
    )
}

/// Appends the line that closes a fragment, with its line end; its hash.
pub(super) fn write_torn(text: &mut String, fragment: &[u8], prev: Sha256) -> Sha256 {
    close(text, format!("v1 torn {} {prev}", sha256(fragment)))
}

fn close(text: &mut String, body: String) -> Sha256 {
    let hash = sha256(body.as_bytes());
    text.push_str(&body);
    text.push_str(&format!(" {hash}\n"));
    hash
}

/// A line, without its line end, whose own hash is right. `None` for anything else.
pub(super) fn parse(line: &[u8]) -> Option<Line> {
    let text = std::str::from_utf8(line).ok()?;
    let (body, hash) = text.rsplit_once(' ')?;
    let hash = Sha256::parse(hash).filter(|hash| *hash == sha256(body.as_bytes()))?;
    let words: Vec<&str> = body.split(' ').collect();
    match words.as_slice() {
        ["v1", "torn", fragment, prev] => Some(Line::Torn {
            fragment: Sha256::parse(fragment)?,
            prev: Sha256::parse(prev)?,
            hash,
        }),
        ["v1", approval, nonce, job, lease, wall, prev] => {
            let entry = SpentEntry {
                approval_id: ApprovalId::parse(approval)?,
                nonce: Nonce::parse(nonce)?,
                job_id: JobId::parse(job)?,
                lease_token: Uuid4::parse(lease)?,
                wall_ms: wall
                    .parse()
                    .ok()
                    .map(WallMs)
                    .filter(|ms| ms.0.to_string() == *wall)?,
            };
            Some(Line::Entry {
                entry,
                prev: Sha256::parse(prev)?,
                hash,
            })
        }
        _ => None,
    }
}

/// Whether a write that was cut off, and then closed, can have left this: the beginning of a line, or too few bytes for a whole one. What has
/// the length of a whole line and is none was changed.
pub(super) fn can_be_torn(line: &[u8]) -> bool {
    match shape(line) {
        Shape::Whole => false,
        Shape::Beginning => true,
        Shape::Other => line.len() < ENTRY_BYTES_MIN,
    }
}

/// Whether it has every word of a line, whatever they say.
pub(super) fn is_whole(line: &[u8]) -> bool {
    shape(line) == Shape::Whole
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Whole,
    Beginning,
    Other,
}

#[derive(Debug, Clone, Copy)]
enum Word {
    Exactly(&'static str),
    Uuid,
    Hash,
    Number,
}

impl Word {
    fn shape(self, word: &[u8]) -> Shape {
        let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let (fits, whole) = match self {
            Word::Exactly(text) => (text.as_bytes().starts_with(word), text.len()),
            Word::Uuid => (word.iter().all(|byte| is_hex(byte) || *byte == b'-'), 36),
            Word::Hash => (word.iter().all(is_hex), 64),
            Word::Number => {
                let digits = word.strip_prefix(b"-").unwrap_or(word);
                (
                    digits.iter().all(u8::is_ascii_digit) && word.len() <= 20,
                    word.len().max(1),
                )
            }
        };
        match word.len().cmp(&whole) {
            std::cmp::Ordering::Equal if fits => Shape::Whole,
            std::cmp::Ordering::Less if fits => Shape::Beginning,
            std::cmp::Ordering::Equal | std::cmp::Ordering::Less | std::cmp::Ordering::Greater => {
                Shape::Other
            }
        }
    }
}

fn shape(line: &[u8]) -> Shape {
    const ENTRY: [Word; 8] = [
        Word::Exactly("v1"),
        Word::Uuid,
        Word::Hash,
        Word::Uuid,
        Word::Uuid,
        Word::Number,
        Word::Hash,
        Word::Hash,
    ];
    const TORN: [Word; 5] = [
        Word::Exactly("v1"),
        Word::Exactly("torn"),
        Word::Hash,
        Word::Hash,
        Word::Hash,
    ];
    match (shape_of(line, &ENTRY), shape_of(line, &TORN)) {
        (Shape::Whole, _) | (_, Shape::Whole) => Shape::Whole,
        (Shape::Beginning, _) | (_, Shape::Beginning) => Shape::Beginning,
        (Shape::Other, Shape::Other) => Shape::Other,
    }
}

fn shape_of(line: &[u8], wanted: &[Word]) -> Shape {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').take(wanted.len() + 1).collect();
    let Some((last, before)) = words.split_last().filter(|_| words.len() <= wanted.len()) else {
        return Shape::Other;
    };
    if !before
        .iter()
        .zip(wanted)
        .all(|(word, wanted)| wanted.shape(word) == Shape::Whole)
    {
        return Shape::Other;
    }
    match wanted[before.len()].shape(last) {
        Shape::Whole if words.len() < wanted.len() => Shape::Beginning,
        shape @ (Shape::Whole | Shape::Beginning | Shape::Other) => shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(wall: i64) -> SpentEntry {
        SpentEntry {
            approval_id: ApprovalId::random(),
            nonce: Nonce([7; 32]),
            job_id: JobId::random(),
            lease_token: Uuid4::random(),
            wall_ms: WallMs(wall),
        }
    }

    #[test]
    fn the_line_is_the_one_of_the_design() {
        let parse_id = |text| Uuid4::parse(text).unwrap();
        let entry = SpentEntry {
            approval_id: ApprovalId(parse_id("00000000-0000-4000-8000-000000000001")),
            nonce: Nonce([0xab; 32]),
            job_id: JobId(parse_id("00000000-0000-4000-8000-000000000002")),
            lease_token: parse_id("00000000-0000-4000-8000-000000000003"),
            wall_ms: WallMs(1_700_000_000_000),
        };
        let mut text = String::new();
        let hash = write_entry(&mut text, &entry, FIRST_PREV);
        let body = format!(
            "v1 00000000-0000-4000-8000-000000000001 {} 00000000-0000-4000-8000-000000000002 \
             00000000-0000-4000-8000-000000000003 1700000000000 {}",
            "ab".repeat(32),
            "0".repeat(64)
        );
        assert_eq!(text, format!("{body} {}\n", sha256(body.as_bytes())));
        assert_eq!(
            parse(text.trim_end().as_bytes()),
            Some(Line::Entry {
                entry,
                prev: FIRST_PREV,
                hash
            })
        );
    }

    #[test]
    fn every_wall_time_reads_back() {
        for wall in [i64::MIN, -1, 0, 9, i64::MAX] {
            let (mut text, entry) = (String::new(), entry(wall));
            let hash = write_entry(&mut text, &entry, FIRST_PREV);
            assert!(text.len() > ENTRY_BYTES_MIN);
            assert!(is_whole(text.trim_end().as_bytes()));
            assert_eq!(
                parse(text.trim_end().as_bytes()),
                Some(Line::Entry {
                    entry,
                    prev: FIRST_PREV,
                    hash
                })
            );
        }
    }

    #[test]
    fn every_beginning_can_be_torn_and_a_whole_line_cannot() {
        let mut lines = [String::new(), String::new()];
        write_entry(&mut lines[0], &entry(1_700_000_000_000), FIRST_PREV);
        write_torn(&mut lines[1], b"x", FIRST_PREV);
        for line in &lines {
            let line = line.trim_end().as_bytes();
            for cut in 0..line.len() {
                assert!(can_be_torn(&line[..cut]) && !is_whole(&line[..cut]), "{cut}");
            }
            assert!(is_whole(line) && !can_be_torn(line));
        }
    }

    #[test]
    fn a_changed_byte_is_seen_and_a_whole_entry_that_was_changed_is_not_torn() {
        let mut text = String::new();
        write_entry(&mut text, &entry(1_700_000_000_000), FIRST_PREV);
        let line = text.trim_end().as_bytes();
        for at in 0..line.len() {
            for byte in [b'0', b'1', b' ', b'x', 0] {
                let mut changed = line.to_vec();
                changed[at] = byte;
                if changed != line {
                    assert_eq!(parse(&changed), None, "{at}");
                    assert!(!can_be_torn(&changed), "{at} {byte}");
                }
            }
        }
    }
}
