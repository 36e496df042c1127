//! One value of a file's front matter, for `source.object_id = "front-matter:KEY"`. In: a file's bytes and a key. Out: the
//! value, if there is exactly one plain way to read it.
//!
//! Not YAML: a small part of it that every YAML reader reads alike. The file begins with a line `---`; up to the next line
//! `---`, a line that begins with `KEY:` gives the value on that same line, plain or quoted. Whatever a YAML reader might
//! see otherwise gives nothing: the key twice or quoted, escapes, anchors, tags, blocks, comments, values that continue on
//! the next line, and plain values that YAML does not take for text in the same form (numbers are taken as written).
//! Not here: whether the value fits the job (roles/).

/// Bytes of front matter read at most; a longer one has no value.
const FRONT_BYTES_MAX: usize = 64 * 1024;

/// The value of `key`, if it is unambiguous.
pub(super) fn value<'a>(bytes: &'a [u8], key: &str) -> Option<&'a str> {
    let start = &bytes[..bytes.len().min(FRONT_BYTES_MAX)];
    // A cut in the middle of a character leaves the part before it.
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&start[..error.valid_up_to()]).ok()?,
    };
    let lines = lines(text)?;
    let mut found = None;
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) else {
            if names_it_otherwise(line, key) {
                return None;
            }
            continue;
        };
        let next = lines[at + 1..].iter().find(|next| !next.trim().is_empty());
        let continues = next.is_some_and(|next| next.starts_with([' ', '\t']));
        if found.is_some() || continues {
            return None;
        }
        found = Some(scalar(rest)?);
    }
    found
}

/// The lines between the two `---`, without their ends; `None` if they are not there.
fn lines(text: &str) -> Option<Vec<&str>> {
    let mut all = text.split_inclusive('\n').map(|line| {
        let ended = line.strip_suffix('\n');
        (
            ended.map_or(line, |line| line.strip_suffix('\r').unwrap_or(line)),
            ended.is_some(),
        )
    });
    if all.next()? != ("---", true) {
        return None;
    }
    let mut lines = Vec::new();
    for (line, ended) in all {
        if line == "---" {
            // A marker cut off by the limit is a marker only if the file ends there.
            return (ended || text.len() < FRONT_BYTES_MAX).then_some(lines);
        }
        // Lone carriage returns and Unicode line ends are line ends to some readers.
        if line.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}']) || line.trim_end() == "..." {
            return None;
        }
        lines.push(line);
    }
    None
}

/// Whether a YAML reader could find the key in this line although it does not begin with `KEY:`.
fn names_it_otherwise(line: &str, key: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}');
    let merge = line.starts_with("<<") || line.starts_with(['{', '?', '&', '*', '!', '%']);
    let quoted = [format!("\"{key}"), format!("'{key}")]
        .iter()
        .any(|start| line.starts_with(start.as_str()));
    // An escape could spell the key.
    let escaped = line.starts_with('"') && line.contains('\\');
    let spaced = line
        .strip_prefix(key)
        .is_some_and(|rest| rest.trim_start().starts_with(':'));
    merge || quoted || escaped || spaced
}

/// What follows the colon.
fn scalar(rest: &str) -> Option<&str> {
    if !rest.starts_with(' ') {
        return None;
    }
    let text = rest.trim_matches(' ');
    if text.is_empty() || text.contains(char::is_control) {
        return None;
    }
    for quote in ['"', '\''] {
        if let Some(quoted) = text.strip_prefix(quote) {
            let inner = quoted.strip_suffix(quote)?;
            let plain = !inner.contains([quote, '\\']) && !inner.is_empty();
            return plain.then_some(inner);
        }
    }
    is_plain(text).then_some(text)
}

/// Whether every YAML reader takes this unquoted text for itself.
fn is_plain(text: &str) -> bool {
    let starts_otherwise = text.starts_with(|c| "!&*-?|>@`%{}[],#:\"'~=<".contains(c));
    let holds_otherwise = text.contains(": ") || text.contains(" #") || text.ends_with(':');
    let word = text.to_ascii_lowercase();
    let is_word = matches!(
        word.as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    !starts_otherwise && !holds_otherwise && !is_word
}

#[cfg(test)]
mod tests {
    use super::value;

    fn of(front: &str) -> Option<String> {
        value(format!("---\n{front}\n---\nbody\nid: no\n").as_bytes(), "id").map(str::to_owned)
    }

    #[test]
    fn a_plain_value_is_found_quoted_or_not() {
        for front in [
            "id: note-42",
            "id:  note-42  ",
            "id: \"note-42\"",
            "id: 'note-42'",
            "a: b\nid: note-42\nc: d",
        ] {
            assert_eq!(of(front).as_deref(), Some("note-42"), "{front}");
        }
        assert_eq!(of("id: Über uns/42").as_deref(), Some("Über uns/42"));
        assert_eq!(of("id: 42").as_deref(), Some("42"));
        assert_eq!(of("id: a\n\nother: b").as_deref(), Some("a"));
        assert_eq!(of("list:\n  - id: other\nid: a").as_deref(), Some("a"));
        assert_eq!(value(b"---\r\nid: a\r\n---\r\n", "id"), Some("a"));
        assert_eq!(value(b"---\nid: a\n---", "id"), Some("a"));
    }

    #[test]
    fn whatever_could_be_read_in_two_ways_has_no_value() {
        for front in [
            "id: a\nid: a",
            "\"id\": a",
            "'id': a",
            "id : a",
            "id:a",
            "id:",
            "id: \"\"",
            "id: \"a\\x62\"",
            "id: 'it''s'",
            "id: \"a",
            "id: |\n  a",
            "id: > \n a",
            "id: &x a",
            "id: *x",
            "id: !!str a",
            "id: [a]",
            "id: {a: b}",
            "id: a: b",
            "id: a # b",
            "id: # b",
            "id: ~",
            "id: null",
            "id: Yes",
            "id: a\n  b",
            "id: a\n\n  b",
            "id: a\n\tb",
            "id: a\tb",
            "\"\\x69d\": a",
            "? id\n: a",
            "{id: a}",
            "<<: *x\nid: a",
            "id: a\u{2028}id: b",
            "id: a\rid: b",
            "...\nid: a",
            "id: a\n\"id\": b",
            "  id: a",
            "idx: a",
            "x: id",
        ] {
            assert_eq!(of(front), None, "{front:?}");
        }
    }

    #[test]
    fn front_matter_stands_at_the_start_and_ends() {
        for bytes in [
            &b""[..],
            b"---",
            b"---\n",
            b"---\nid: a\n",
            b"id: a\n---\n",
            b"\n---\nid: a\n---\n",
            b"--- \nid: a\n---\n",
            b"\xef\xbb\xbf---\nid: a\n---\n",
            b"---\nid: \xff\n---\n",
            b"---\nid: a\n----\n",
            b"----\nid: a\n---\n",
        ] {
            assert_eq!(value(bytes, "id"), None, "{bytes:?}");
        }
        let mut late = b"---\n".to_vec();
        late.extend(b"x: y\n".repeat(20_000));
        late.extend(b"id: a\n---\n");
        assert_eq!(value(&late, "id"), None);
        let long_body = [b"---\nid: a\n---\n".to_vec(), vec![0xff; 200_000]].concat();
        assert_eq!(value(&long_body, "id"), Some("a"));
    }
}
