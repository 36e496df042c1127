//! Heads of an audit chain that were kept elsewhere. In: `ROLE SIZE HASH [TIME]`, the JSON of `audit checkpoint`, or a file with either.
//! Out: size and hash.
//!
//! Not here: comparing them (ledger/verify).

use super::Ctx;
use super::table::cell;
use crate::exit::Exit;
use crate::job::{Role, Sha256};
use serde_json::Value;
use std::io::Read;

/// An old head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Whose, if it says so.
    pub(super) role: Option<Role>,
    pub(super) size: i64,
    pub(super) hash: Sha256,
}

/// A head is one short line; of a longer file the last line that is one counts.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The line that `audit checkpoint` prints.
pub(super) fn text(head: &Value) -> String {
    format!(
        "{} {} {} {}\n",
        cell(head, "role"),
        cell(head, "size"),
        cell(head, "hash"),
        cell(head, "at")
    )
}

/// The head in the text itself, or in the file it names.
pub(super) fn read(ctx: &Ctx, text_or_file: &str) -> Result<Head, Exit> {
    if let Some(head) = parse(text_or_file) {
        return Ok(head);
    }
    let mut text = String::new();
    let read = std::fs::File::open(text_or_file)
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
    if let Err(error) = read {
        ctx.ui.say(&format!(
            "{text_or_file}: neither a head (ROLE SIZE HASH) nor a file that can be read: {error}"
        ));
        return Err(Exit::Usage);
    }
    text.lines()
        .rev()
        .find_map(parse)
        .or_else(|| parse(&text))
        .ok_or_else(|| {
            ctx.ui.say(&format!(
                "{text_or_file}: holds no head; `lockgate audit checkpoint ROLE` prints one"
            ));
            Exit::Usage
        })
}

fn parse(text: &str) -> Option<Head> {
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return of_words(&[cell(&value, "role"), cell(&value, "size"), cell(&value, "hash")]);
    }
    let words: Vec<String> = text.split([' ', ':', '\t', '\n']).map(str::to_owned).collect();
    of_words(&words)
}

fn of_words(words: &[String]) -> Option<Head> {
    let size = words
        .iter()
        .find_map(|word| word.parse::<i64>().ok())
        .filter(|size| *size >= 0)?;
    let hash = words.iter().find_map(|word| Sha256::parse(word))?;
    let role = words.iter().find_map(|word| Role::parse(word));
    Some(Head { role, size, hash })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_checkpoint_prints_is_read_again_in_every_form() {
        let hash = "ab".repeat(32);
        let printed = json!({"role": "delete", "size": 12, "hash": hash, "at": "2026-01-02T03:04:05.678Z"});
        let expected = Head {
            role: Some(Role::Delete),
            size: 12,
            hash: Sha256::parse(&hash).unwrap(),
        };
        assert_eq!(parse(&text(&printed)), Some(expected));
        assert_eq!(parse(&printed.to_string()), Some(expected));
        assert_eq!(
            parse(&format!("12:{hash}")),
            Some(Head {
                role: None,
                ..expected
            })
        );
        for bad in ["", "12", &hash, "-1 x", "head.txt", "{}"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
