//! The approvers file: OpenSSH `allowed_signers` lines, narrowed to what one can reason about, plus `# group` and `# uid`
//! lines. In: its text. Out: who may approve, or the first line that is not clear and what to write instead.
//!
//! One key is one person: principals are literal, a key stands under one principal, two principals never differ in case
//! alone. A file with one bad line is refused as a whole; then nothing verifies.
//!
//! Not here: reading the file, noticing that it changed (roles/delete); how many must sign (`policy`).

mod dates;
mod line;
mod options;
#[cfg(test)]
mod tests;

use super::key::{Fingerprint, PublicKey};
use crate::clock::WallMs;
use options::Options;
use std::collections::{BTreeMap, BTreeSet};

/// Larger files are refused: a thousand approvers fit in a fifth of it.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// The first line that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("approvers, line {line}: {why}")]
pub struct ApproversError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it and what to write instead.
    pub why: String,
}

/// Whether a key counts, here and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Standing {
    /// It does.
    Current,
    /// Before its valid-after or past its valid-before.
    OutsideWindow,
    /// Its `namespaces` option does not name this use.
    OtherNamespace,
}

/// One key and the person it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    key: PublicKey,
    principal: String,
    /// One for each line the key is on, as OpenSSH takes any of them.
    grants: Vec<Options>,
}

impl Approver {
    /// The public key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }
    /// The one name it stands under.
    pub fn principal(&self) -> &str {
        &self.principal
    }
    /// Whether some line admits this key for `namespace` at `now`.
    pub fn standing(&self, namespace: &str, now: WallMs) -> Standing {
        let mut named = self
            .grants
            .iter()
            .filter(|grant| grant.names(namespace))
            .peekable();
        if named.peek().is_none() {
            return Standing::OtherNamespace;
        }
        if named.any(|grant| grant.contains(now)) {
            Standing::Current
        } else {
            Standing::OutsideWindow
        }
    }
}

/// Everything the file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Approvers {
    keys: BTreeMap<Fingerprint, Approver>,
    /// One private key has one point, whatever stands around it.
    points: BTreeMap<[u8; 32], Fingerprint>,
    /// Principals in lower case → as the file writes them.
    spellings: BTreeMap<String, String>,
    groups: BTreeMap<String, BTreeSet<String>>,
    uids: BTreeMap<String, BTreeSet<u32>>,
}

impl Approvers {
    /// Reads the whole file.
    ///
    /// # Errors
    /// [`ApproversError`] with the first line that is refused.
    pub fn parse(text: &str) -> Result<Approvers, ApproversError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(ApproversError {
                line: 1,
                why: "the file is larger than 1 MiB".to_owned(),
            });
        }
        let mut found = Approvers::default();
        for (at, text) in text.lines().enumerate() {
            let added = line::parse(text).and_then(|line| found.add(line));
            added.map_err(|why| ApproversError { line: at + 1, why })?;
        }
        Ok(found)
    }

    fn add(&mut self, line: line::Line) -> Result<(), String> {
        match line {
            line::Line::Nothing => Ok(()),
            line::Line::Key {
                principal,
                options,
                key,
            } => self.add_key(principal, options, *key),
            line::Line::Group { name, principals } => {
                self.groups.entry(name).or_default().extend(principals);
                Ok(())
            }
            line::Line::Uid { principal, uid } => {
                self.uids.entry(principal).or_default().insert(uid);
                Ok(())
            }
        }
    }

    fn add_key(&mut self, principal: String, options: Options, key: PublicKey) -> Result<(), String> {
        let spelling = self
            .spellings
            .entry(principal.to_ascii_lowercase())
            .or_insert_with(|| principal.clone());
        if *spelling != principal {
            return Err(
                "this principal differs from an earlier one in upper and lower case only; write it one way"
                    .to_owned(),
            );
        }
        let known = self
            .points
            .get(key.point())
            .and_then(|fingerprint| self.keys.get(fingerprint));
        if let Some(known) = known {
            if known.principal != principal {
                return Err(
                    "this key already stands under another principal; one key is one person".to_owned(),
                );
            }
            if known.key != key {
                return Err("this key already stands here under another key type or application".to_owned());
            }
        }
        self.points.insert(*key.point(), key.fingerprint());
        let new = Approver {
            key,
            principal,
            grants: Vec::new(),
        };
        self.keys
            .entry(new.key.fingerprint())
            .or_insert(new)
            .grants
            .push(options);
        Ok(())
    }

    /// The approver with exactly this key.
    pub fn by_key(&self, key: &PublicKey) -> Option<&Approver> {
        self.by_fingerprint(&key.fingerprint())
            .filter(|known| known.key == *key)
    }
    /// The approver whose key has this fingerprint.
    pub fn by_fingerprint(&self, fingerprint: &Fingerprint) -> Option<&Approver> {
        self.keys.get(fingerprint)
    }
    /// Everyone, by fingerprint.
    pub fn iter(&self) -> impl Iterator<Item = &Approver> {
        self.keys.values()
    }
    /// Whether `# group` lines put the principal there.
    pub fn is_in_group(&self, principal: &str, group: &str) -> bool {
        self.groups
            .get(group)
            .is_some_and(|members| members.contains(principal))
    }
    /// The groups that have lines.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }
    /// Whether a `# uid` line maps the principal to this user id.
    pub fn is_uid_of(&self, principal: &str, uid: u32) -> bool {
        self.uids.get(principal).is_some_and(|uids| uids.contains(&uid))
    }
    /// Principals that `# group` or `# uid` lines name and that have no key: likely spelled differently. For `doctor`.
    pub fn strangers(&self) -> BTreeSet<&str> {
        let known: BTreeSet<&str> = self.keys.values().map(Approver::principal).collect();
        let named = self.groups.values().flatten().chain(self.uids.keys());
        named
            .map(String::as_str)
            .filter(|name| !known.contains(name))
            .collect()
    }
}
