//! One line of the approvers file. In: its text. Out: a key, a group, a uid, or nothing; else what to write instead.
//!
//! Not here: what two lines together may not say (`approvers`).

use super::super::key::{KeyError, PublicKey, TYPE_ED25519, TYPE_SECURITY_KEY};
use super::options::Options;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bounds names of people and groups; an address is at most 254.
const NAME_BYTES_MAX: usize = 254;

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Empty, or an ordinary comment.
    Nothing,
    Key {
        principal: String,
        options: Options,
        key: Box<PublicKey>,
    },
    Group {
        name: String,
        principals: Vec<String>,
    },
    Uid {
        principal: String,
        uid: u32,
    },
}

pub(super) fn parse(text: &str) -> Result<Line, String> {
    let text = text.trim_matches([' ', '\t']);
    if text.is_empty() {
        return Ok(Line::Nothing);
    }
    match text.strip_prefix('#') {
        Some(comment) => parse_comment(comment),
        None => parse_key(text),
    }
}

/// A comment whose first word is `group` or `uid` must be a whole directive: one that is quietly skipped would take a
/// rule out of force.
fn parse_comment(text: &str) -> Result<Line, String> {
    let text = text.trim_matches([' ', '\t']);
    let word_end = text.find([' ', '\t', ':']).unwrap_or(text.len());
    let (word, rest) = text.split_at(word_end);
    if word.eq_ignore_ascii_case("group") {
        return parse_group(word, rest).ok_or_else(|| {
            "write `# group NAME: principal, principal`, or begin the comment with another word".to_owned()
        });
    }
    if word.eq_ignore_ascii_case("uid") {
        return parse_uid(word, rest).ok_or_else(|| {
            "write `# uid PRINCIPAL: 1000`, or begin the comment with another word".to_owned()
        });
    }
    Ok(Line::Nothing)
}

fn parse_group(word: &str, rest: &str) -> Option<Line> {
    let (name, members) = rest.split_once(':')?;
    let mut principals = Vec::new();
    for member in members.split(',') {
        principals.push(principal(member.trim_matches([' ', '\t'])).ok()?);
    }
    let name = principal(name.trim_matches([' ', '\t'])).ok()?;
    (word == "group").then_some(Line::Group { name, principals })
}

fn parse_uid(word: &str, rest: &str) -> Option<Line> {
    let (name, number) = rest.rsplit_once(':')?;
    let number = number.trim_matches([' ', '\t']);
    let digits = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    let uid = number.parse().ok().filter(|_| digits)?;
    let principal = principal(name.trim_matches([' ', '\t'])).ok()?;
    (word == "uid").then_some(Line::Uid { principal, uid })
}

fn parse_key(text: &str) -> Result<Line, String> {
    let (names, rest) = word(text);
    let principal = one_principal(names)?;
    let first = word(rest).0;
    let (options, rest) = if is_key_type(first) {
        (Options::default(), rest)
    } else {
        Options::parse(rest)?
    };
    let (type_word, rest) = word(rest);
    if type_word != TYPE_ED25519 && type_word != TYPE_SECURITY_KEY {
        return Err(if type_word.is_empty() {
            "write PRINCIPAL [OPTIONS] KEYTYPE BASE64".to_owned()
        } else {
            "only ssh-ed25519 and sk-ssh-ed25519@openssh.com keys approve; make one with `ssh-keygen -t ed25519-sk`"
                .to_owned()
        });
    }
    let blob = STANDARD
        .decode(word(rest).0)
        .map_err(|_| "the key is not base64; copy the whole line of the .pub file".to_owned())?;
    let key = PublicKey::parse_blob(&blob).map_err(|error| key_error(error).to_owned())?;
    if key.type_word() != type_word {
        return Err("the key is of another type than the word before it says".to_owned());
    }
    Ok(Line::Key {
        principal,
        options,
        key: Box::new(key),
    })
}

fn key_error(error: KeyError) -> &'static str {
    match error {
        KeyError::Malformed => "the key is not complete; copy the whole line of the .pub file",
        KeyError::Type => "the key is of another type than the word before it says",
        KeyError::Application => {
            "the security key's application does not begin with `ssh:`; make another with `ssh-keygen -t ed25519-sk`"
        }
        KeyError::Point => "the key is not a point of the curve in its one encoding; make another",
        KeyError::Weak => "the key is of small order: anyone could sign for it; make another",
    }
}

/// Words that stand where a key type stands; none is the name of an option.
fn is_key_type(word: &str) -> bool {
    ["ssh-", "sk-", "ecdsa-"]
        .iter()
        .any(|prefix| word.starts_with(prefix))
}

/// The text up to the first blank, and what follows the blanks.
fn word(text: &str) -> (&str, &str) {
    match text.split_once([' ', '\t']) {
        Some((word, rest)) => (word, rest.trim_start_matches([' ', '\t'])),
        None => (text, ""),
    }
}

/// The one principal of a line; OpenSSH takes a list there, but one key must be one person.
fn one_principal(list: &str) -> Result<String, String> {
    let mut found: Option<String> = None;
    for name in list.split(',') {
        let name = principal(name)?;
        match &found {
            Some(first) if *first != name => {
                return Err("one key stands under several principals; give each person a key".to_owned());
            }
            Some(_) | None => found = Some(name),
        }
    }
    found.ok_or_else(|| "the line names no principal".to_owned())
}

/// A literal name in ASCII, so that two names that look the same are the same.
fn principal(name: &str) -> Result<String, String> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err("a principal has 1 to 254 characters".to_owned());
    }
    if name.contains(['*', '?']) {
        return Err("principals are literal: write names without `*` and `?`".to_owned());
    }
    if name.contains('!') {
        return Err("principals are literal: `!` takes nobody out, remove the line instead".to_owned());
    }
    let plain = |c: u8| c.is_ascii_graphic() && !matches!(c, b'"' | b'\'' | b'\\' | b',' | b'#' | b'=');
    if !name.bytes().all(plain) {
        return Err("write principals in ASCII letters, digits and @ . _ - + / : without quotes".to_owned());
    }
    Ok(name.to_owned())
}
