//! The options before a key: `namespaces=`, `valid-after=`, `valid-before=`. In: the text that begins with them. Out: the
//! options and what follows them. An option we do not know is refused: skipping it could widen what a key may do.
//!
//! Not here: the dates' form (`dates`).

use super::dates;
use crate::clock::WallMs;

/// When and for what a line admits its key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Options {
    /// Patterns with `*`, `?` and a leading `!`; none: any namespace.
    namespaces: Option<Vec<String>>,
    /// Seconds since 1970; the key counts from here on.
    valid_after: Option<i64>,
    /// Seconds since 1970; the key counts up to and including here.
    valid_before: Option<i64>,
}

impl Options {
    /// Reads `name="value",…` up to the first blank outside quotes.
    pub(super) fn parse(text: &str) -> Result<(Options, &str), String> {
        let mut options = Options::default();
        let mut rest = text;
        loop {
            rest = options.take_one(rest)?;
            if let Some(next) = rest.strip_prefix(',') {
                rest = next;
                continue;
            }
            let after = rest.trim_start_matches([' ', '\t']);
            if after.len() == rest.len() && !rest.is_empty() {
                return Err("separate options with commas and the key with a blank".to_owned());
            }
            options.check()?;
            return Ok((options, after));
        }
    }

    fn take_one<'a>(&mut self, text: &'a str) -> Result<&'a str, String> {
        let end = text
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
            .unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        if name.eq_ignore_ascii_case("cert-authority") {
            return Err(
                "certificates do not approve: list each person's own key without `cert-authority`".to_owned(),
            );
        }
        if name.eq_ignore_ascii_case("namespaces") {
            let (value, rest) = quoted(rest)?;
            once(&mut self.namespaces, patterns(&value)?)?;
            return Ok(rest);
        }
        if name.eq_ignore_ascii_case("valid-after") {
            let (value, rest) = quoted(rest)?;
            once(&mut self.valid_after, dates::parse(&value)?)?;
            return Ok(rest);
        }
        if name.eq_ignore_ascii_case("valid-before") {
            let (value, rest) = quoted(rest)?;
            once(&mut self.valid_before, dates::parse(&value)?)?;
            return Ok(rest);
        }
        Err(
            "only the options namespaces, valid-after and valid-before are known; write \
             PRINCIPAL [OPTIONS] KEYTYPE BASE64"
                .to_owned(),
        )
    }

    fn check(&self) -> Result<(), String> {
        match (self.valid_after, self.valid_before) {
            (Some(after), Some(before)) if before <= after => {
                Err("valid-before is not later than valid-after: the key would never count".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// As OpenSSH: one pattern must match, and no pattern after `!` may.
    pub(super) fn names(&self, namespace: &str) -> bool {
        let Some(patterns) = &self.namespaces else {
            return true;
        };
        let mut named = false;
        for pattern in patterns {
            match pattern.strip_prefix('!') {
                Some(refused) if matches(refused.as_bytes(), namespace.as_bytes()) => return false,
                Some(_) => {}
                None => named |= matches(pattern.as_bytes(), namespace.as_bytes()),
            }
        }
        named
    }

    /// Both ends count, as in OpenSSH.
    pub(super) fn contains(&self, now: WallMs) -> bool {
        let begun = self.valid_after.is_none_or(|at| now.0 >= at.saturating_mul(1000));
        let ended = self
            .valid_before
            .is_some_and(|at| now.0 > at.saturating_mul(1000));
        begun && !ended
    }
}

/// `="value"`, with `\"` for a quote inside.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let unclear = || "write the option's value in double quotes: valid-before=\"20301231Z\"".to_owned();
    let body = text.strip_prefix("=\"").ok_or_else(unclear)?;
    let mut value = String::new();
    let mut letters = body.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &body[at + 1..])),
            '\\' if letters.next_if(|(_, next)| *next == '"').is_some() => value.push('"'),
            other => value.push(other),
        }
    }
    Err(unclear())
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err("an option is given twice".to_owned()),
    }
}

fn patterns(list: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    for pattern in list.split(',') {
        let body = pattern.strip_prefix('!').unwrap_or(pattern);
        if body.is_empty() || !body.bytes().all(|c| c.is_ascii_graphic()) {
            return Err("write namespaces as ASCII words with commas and no blanks between them".to_owned());
        }
        out.push(pattern.to_owned());
    }
    Ok(out)
}

/// `*` any number of bytes, `?` one. Goes back only to the last `*`, so the time is bounded by both lengths' product.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0usize, 0usize);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(letter) if *letter == b'?' || *letter == text[t] => {
                p += 1;
                t += 1;
            }
            Some(_) | None => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                p = star + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_those_of_openssh() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("ab", "a", false),
            ("*", "", true),
            ("**", "", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("a*c", "abcbc", true),
            ("a*c", "abcb", false),
            ("*b*c", "abxbc", true),
            ("lockgate-approval@*", "lockgate-approval@x", true),
            ("lockgate-approval@*", "lockgate-approval", false),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                fits,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn a_refusing_pattern_wins_over_any_other() {
        let (options, _) = Options::parse("namespaces=\"*,!git\" k").unwrap();
        assert!(options.names("file"));
        assert!(!options.names("git"));
        let (options, _) = Options::parse("namespaces=\"!git\" k").unwrap();
        assert!(!options.names("file"));
    }

    #[test]
    fn both_ends_of_the_window_count() {
        let (options, rest) =
            Options::parse("valid-after=\"19700101000010Z\",VALID-BEFORE=\"19700101000020Z\" \t key")
                .unwrap();
        assert_eq!(rest, "key");
        for (ms, fits) in [(9_999, false), (10_000, true), (20_000, true), (20_001, false)] {
            assert_eq!(options.contains(WallMs(ms)), fits, "{ms}");
        }
    }
}
