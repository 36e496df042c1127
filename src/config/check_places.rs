//! The judges of `instance`, `[source]` and `[vault]`. In: what the files set. Out: checked values; problems go to the
//! [`Check`].
//!
//! Not here: whether the places exist (`config check --online`, the drivers).

use super::check::{self, Check};
use super::checked::{Mode, ObjectIdRule, SharedWrite, Source, SourceKind, Vault, VaultKind};
use super::keys;
use super::layout::Installation;
use super::raw;
use crate::job::Uuid4;
use std::path::{Component, Path, PathBuf};
use toml::Spanned;

/// Production takes only a random UUID; development any short name, but no placeholder either.
pub(super) fn instance(check: &mut Check<'_>, set: raw::Key<String>) -> String {
    const HOW: &str =
        "give each installation a random id of its own, as in `cat /proc/sys/kernel/random/uuid`";
    let Some(set) = set else {
        check.missing(keys::INSTANCE.name, format!("must be set: {HOW}"));
        return String::new();
    };
    let text = set.get_ref();
    if is_placeholder(text) {
        check.wrong(&set.span(), format!("\"{text}\" is a placeholder: {HOW}"));
    } else if check.mode == Mode::Production && Uuid4::parse(text).is_none() {
        check.wrong(
            &set.span(),
            format!("\"{text}\" is not a version 4 UUID in lower case: {HOW}"),
        );
    } else if !is_name(text) {
        check.wrong(
            &set.span(),
            format!("must be 1 to 64 letters, digits, '.', '_' or '-': {HOW}"),
        );
    }
    set.into_inner()
}

fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-'))
}

/// Ids that somebody copied: hardly any distinct digits, or a word that says so.
fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = [
        "change",
        "replace",
        "placeholder",
        "example",
        "todo",
        "xxx",
        "your",
        "instance-id",
        "<",
        ">",
    ];
    let digits: std::collections::BTreeSet<char> = lower.chars().filter(|c| *c != '-').collect();
    let repeats = Uuid4::parse(text).is_some() && digits.len() <= 3;
    let is_nil = !digits.is_empty() && digits.iter().all(|c| *c == '0');
    repeats || is_nil || words.iter().any(|word| lower.contains(word))
}

pub(super) fn source(check: &mut Check<'_>, raw: raw::Source) -> Source {
    match check.word(keys::SOURCE_KIND, raw.kind.as_ref()) {
        word @ ("forgejo" | "git-http") => {
            if let Some(set) = &raw.kind {
                check.wrong(
                    &set.span(),
                    format!("\"{word}\" is not in this build yet: use \"git\""),
                );
            }
        }
        _ => {
            check.unused(keys::SOURCE_URL, raw.url.as_ref(), "kinds forgejo and git-http");
            check.unused(
                keys::SOURCE_CA_FILE,
                raw.ca_file.as_ref(),
                "kinds forgejo and git-http",
            );
        }
    }
    let reference = required(
        check,
        keys::SOURCE_REF,
        raw.reference,
        is_branch,
        "is not the name of a branch",
    );
    let is_text = |text: &str| (1..=256).contains(&text.len()) && !text.chars().any(char::is_control);
    let why = "must be 1 to 256 bytes without control characters";
    let repository = required(check, keys::SOURCE_REPOSITORY, raw.repository, is_text, why);
    Source {
        kind: SourceKind::Git,
        reference,
        repository,
        root: source_root(check, raw.root),
        path: place(check, keys::SOURCE_PATH, raw.path, "source"),
        object_id: object_id(check, raw.object_id),
        limits: check::source_limits(check, raw.limits),
    }
}

/// The rules of git for a branch name, as far as they matter for what may be looked up.
fn is_branch(text: &str) -> bool {
    let plain = text.chars().all(|c| !c.is_control() && !" ~^:?*[\\".contains(c));
    let parts = text
        .split('/')
        .all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"));
    let is_other_kind = text.starts_with("refs/") && !text.starts_with("refs/heads/");
    plain
        && parts
        && text.len() <= 255
        && !is_other_kind
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && text != "@"
        && text != "HEAD"
}

fn source_root(check: &mut Check<'_>, set: raw::Key<String>) -> String {
    let Some(set) = set else { return String::new() };
    let text = set.get_ref().trim_end_matches('/');
    if set.get_ref().is_empty() {
        return String::new();
    }
    let fits = text.split('/').all(is_component) && text.len() <= 1024;
    if !fits {
        let message = "must be a directory in the repository, as in \"notes\": no leading slash, no empty, \".\" or \
                       \"..\" component, nothing hidden";
        check.wrong(&set.span(), message);
    }
    format!("{text}/")
}

/// A path component that a document could name as well.
fn is_component(part: &str) -> bool {
    (1..=255).contains(&part.len())
        && !part.starts_with('.')
        && part.trim() == part
        && !part.chars().any(|c| c.is_control() || c == '\\')
}

fn object_id(check: &mut Check<'_>, set: raw::Key<String>) -> ObjectIdRule {
    let Some(set) = set else { return ObjectIdRule::Path };
    if set.get_ref() == "path" {
        return ObjectIdRule::Path;
    }
    let key = set.get_ref().strip_prefix("front-matter:").unwrap_or_default();
    let fits = (1..=128).contains(&key.len())
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if fits {
        return ObjectIdRule::FrontMatter(key.to_owned());
    }
    let message =
        "must be \"path\" or \"front-matter:KEY\", where KEY is made of letters, digits, '_', '-' and '.'";
    check.wrong(&set.span(), message);
    ObjectIdRule::Path
}

pub(super) fn vault(check: &mut Check<'_>, raw: raw::Vault) -> Vault {
    let kind = match check.word(keys::VAULT_KIND, raw.kind.as_ref()) {
        "noop" => VaultKind::Noop,
        _ => VaultKind::Directory,
    };
    if let Some(set) = &raw.kind {
        if set.get_ref() == "tolaria" {
            check.wrong(
                &set.span(),
                "\"tolaria\" is not in this build yet: use \"directory\"",
            );
        }
        if kind == VaultKind::Noop && check.mode == Mode::Production {
            check.wrong(
                &set.span(),
                "\"noop\" is refused in production: it says that it worked and does nothing",
            );
        }
    }
    if raw.kind.as_ref().is_none_or(|set| set.get_ref() != "tolaria") {
        check.unused(keys::VAULT_URL, raw.url.as_ref(), "kind tolaria");
        check.unused(keys::VAULT_CA_FILE, raw.ca_file.as_ref(), "kind tolaria");
    }
    let shared_write = if check.flag(keys::VAULT_SHARED, raw.shared_write_accepted) {
        SharedWrite::Accepted
    } else {
        SharedWrite::NotAccepted
    };
    let path = match (kind, raw.path) {
        (VaultKind::Noop, None) => PathBuf::new(),
        (VaultKind::Noop | VaultKind::Directory, set) => place(check, keys::VAULT_PATH, set, "vault"),
    };
    let root = vault_root(check, raw.root);
    let id = vault_id(check, raw.id, kind);
    Vault {
        kind,
        root,
        path,
        id,
        shared_write,
        deadlines: check::deadlines(check, raw.deadlines),
    }
}

/// Called in production when nobody accepted what the operating system cannot prevent.
pub(super) fn shared_write(check: &mut Check<'_>, kind: VaultKind) {
    match kind {
        VaultKind::Directory => check.missing(
            keys::VAULT_SHARED.name,
            "must be true in production: the operating system cannot keep the save UID from unlinking in a directory \
             it shares with the delete UID; true says that you know and accept it",
        ),
        VaultKind::Noop => {}
    }
}

fn vault_root(check: &mut Check<'_>, set: raw::Key<String>) -> String {
    const DEFAULT: &str = "/app/vault/";
    let Some(set) = set else { return DEFAULT.to_owned() };
    let text = set.get_ref().strip_suffix('/').unwrap_or(set.get_ref());
    let fits = text
        .strip_prefix('/')
        .is_some_and(|rest| rest.split('/').all(is_component))
        && text.len() < 512;
    if !fits {
        let message = "must be an absolute path as documents write it, as in \"/app/vault/\": no empty, \".\" or \
                       \"..\" component, nothing hidden";
        check.wrong(&set.span(), message);
        return DEFAULT.to_owned();
    }
    format!("{text}/")
}

fn vault_id(check: &mut Check<'_>, set: raw::Key<String>, kind: VaultKind) -> Option<String> {
    let Some(set) = set else {
        if check.mode == Mode::Production && kind == VaultKind::Directory {
            let message = "must be set: the id that the vault's marker file .lockgate-vault holds";
            check.missing(keys::VAULT_ID.name, message);
        }
        return None;
    };
    if !is_name(set.get_ref()) {
        check.wrong(&set.span(), "must be 1 to 64 letters, digits, '.', '_' or '-'");
    }
    Some(set.into_inner())
}

/// A key that must be set and must fit.
fn required(
    check: &mut Check<'_>,
    key: &keys::Text,
    set: raw::Key<String>,
    fits: impl Fn(&str) -> bool,
    why: &str,
) -> String {
    let Some(set) = set else {
        check.missing(key.name, format!("must be set: {}", key.shape));
        return String::new();
    };
    if !fits(set.get_ref()) {
        check.wrong(&set.span(), format!("{why}: {}", key.shape));
    }
    set.into_inner()
}

/// A directory on this host: absolute, or below `--dir`, where it also has a default.
fn place(check: &mut Check<'_>, key: &keys::Text, set: raw::Key<String>, below: &str) -> PathBuf {
    match (set, check.installation) {
        (Some(set), Installation::Dir(dir)) if !set.get_ref().is_empty() => dir.join(set.get_ref()),
        (Some(set), Installation::Dir(_) | Installation::File(_)) => {
            absolute(check, &set).unwrap_or_default()
        }
        (None, Installation::Dir(dir)) => dir.join(below),
        (None, Installation::File(_)) => {
            check.missing(key.name, format!("must be set: {}", key.shape));
            PathBuf::new()
        }
    }
}

/// An absolute path without `..`.
pub(super) fn absolute(check: &mut Check<'_>, set: &Spanned<String>) -> Option<PathBuf> {
    let path = Path::new(set.get_ref());
    let climbs = path.components().any(|part| part == Component::ParentDir);
    if path.is_absolute() && !climbs && !set.get_ref().contains('\0') {
        return Some(path.to_owned());
    }
    check.wrong(
        &set.span(),
        format!("\"{}\" is not an absolute path without \"..\"", set.get_ref()),
    );
    None
}
