//! Who may ask for what (`[[requester]]`). In: a UID, a kind and a path. Out: yes or no.
//!
//! Not here: being in group lockgate-intake, which the file system decides before anything is read.

use super::pattern::PathPattern;
use crate::job::JobKind;
use std::collections::BTreeSet;

/// One `[[requester]]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequesterRule {
    /// The UIDs it is for: one, or a group's at the time the configuration was read.
    pub uids: BTreeSet<u32>,
    /// The kinds they may ask for.
    pub kinds: BTreeSet<JobKind>,
    /// Where; none is everywhere below the root.
    pub paths: Option<Vec<PathPattern>>,
}

/// All of them. Without any, everyone who can drop a file may ask for everything; with any, each request needs one that
/// fits it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequesterPolicy {
    /// In the order of the file.
    pub rules: Vec<RequesterRule>,
}

impl RequesterPolicy {
    /// Whether `uid` may ask for `kind` at `path` (a whole vault path that was already judged).
    pub fn allows(&self, uid: u32, kind: JobKind, path: &str) -> bool {
        self.rules.is_empty() || self.rules.iter().any(|rule| rule.allows(uid, kind, path))
    }
}

impl RequesterRule {
    fn allows(&self, uid: u32, kind: JobKind, path: &str) -> bool {
        self.uids.contains(&uid)
            && self.kinds.contains(&kind)
            && self
                .paths
                .as_ref()
                .is_none_or(|paths| paths.iter().any(|pattern| pattern.matches(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(uids: &[u32], kinds: &[JobKind], paths: Option<&[&str]>) -> RequesterRule {
        RequesterRule {
            uids: uids.iter().copied().collect(),
            kinds: kinds.iter().copied().collect(),
            paths: paths.map(|all| {
                all.iter()
                    .map(|text| PathPattern::parse("/app/vault/", text).unwrap())
                    .collect()
            }),
        }
    }

    #[test]
    fn without_rules_everyone_may_ask_for_everything() {
        assert!(RequesterPolicy::default().allows(7, JobKind::Delete, "/app/vault/a"));
    }

    #[test]
    fn with_rules_uid_kind_and_path_must_fit_the_same_one() {
        let policy = RequesterPolicy {
            rules: vec![
                rule(&[1000], &[JobKind::Save], Some(&["/app/vault/notes/**"])),
                rule(&[1001], &[JobKind::Save, JobKind::Delete], None),
            ],
        };
        assert!(policy.allows(1000, JobKind::Save, "/app/vault/notes/a.md"));
        assert!(!policy.allows(1000, JobKind::Delete, "/app/vault/notes/a.md"));
        assert!(!policy.allows(1000, JobKind::Save, "/app/vault/other/a.md"));
        assert!(policy.allows(1001, JobKind::Delete, "/app/vault/other/a.md"));
        assert!(!policy.allows(1002, JobKind::Save, "/app/vault/notes/a.md"));
    }

    #[test]
    fn an_empty_group_is_nobody() {
        let policy = RequesterPolicy {
            rules: vec![rule(&[], &JobKind::ALL, None)],
        };
        assert!(!policy.allows(1000, JobKind::Save, "/app/vault/a"));
    }
}
