//! How many people must sign for a path: `[[delete.approval]]`. In: the rules, an approval, who signed it. Out: complete,
//! or how many are missing, or why it can never be.
//!
//! All rules whose patterns match a path apply together: the highest `required`, the smallest `max_age`, user
//! verification if one asks for it; and a signer counts only if, for every one of them that names groups, they are in one
//! of those groups.
//!
//! Not here: whether the signatures are valid (`verify`); reading the configuration (config/).

use super::approvers::Approvers;
use super::deny::DenyDetail;
use super::envelope::SIGNATURES_MAX;
use super::sshsig::Holder;
use super::verify::Signer;
use crate::job::{Code, Refusal, VaultPath};
use std::collections::BTreeSet;

/// One `[[delete.approval]]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSpec {
    /// Glob patterns over the whole vault path, by component: `*` and `?` stay inside one, `**` is any number of them.
    pub paths: Vec<String>,
    /// How many people, 1–16.
    pub required: u32,
    /// `# group` names of the approvers file; empty: everyone in it.
    pub groups: Vec<String>,
    /// Longest time from issued_at to expires_at, milliseconds; none: any.
    pub max_age_ms: Option<i64>,
    /// Whether only signatures with the authenticator's user-verified flag count.
    pub verify_required: bool,
}

/// A rule that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It would never apply.
    #[error("[[delete.approval]] number {rule}: paths is empty")]
    NoPaths {
        /// Counted from 1.
        rule: usize,
    },
    /// Not a glob.
    #[error("[[delete.approval]] number {rule}: pattern {pattern:?}: {why}")]
    Pattern {
        /// Counted from 1.
        rule: usize,
        /// As configured.
        pattern: String,
        /// What the glob library says.
        why: &'static str,
    },
    /// Zero people, or more than an envelope has room for.
    #[error("[[delete.approval]] number {rule}: required must be 1 to 16")]
    Required {
        /// Counted from 1.
        rule: usize,
    },
    /// No approval would ever fit.
    #[error("[[delete.approval]] number {rule}: max_age must be positive")]
    MaxAge {
        /// Counted from 1.
        rule: usize,
    },
}

#[derive(Debug, Clone)]
struct Rule {
    paths: Vec<glob::Pattern>,
    required: usize,
    groups: Vec<String>,
    max_age_ms: Option<i64>,
    verify_required: bool,
}

impl Rule {
    fn read(number: usize, spec: &RuleSpec) -> Result<Rule, PolicyError> {
        if spec.paths.is_empty() {
            return Err(PolicyError::NoPaths { rule: number });
        }
        let required = usize::try_from(spec.required).unwrap_or(usize::MAX);
        if !(1..=SIGNATURES_MAX).contains(&required) {
            return Err(PolicyError::Required { rule: number });
        }
        if spec.max_age_ms.is_some_and(|ms| ms <= 0) {
            return Err(PolicyError::MaxAge { rule: number });
        }
        let mut paths = Vec::with_capacity(spec.paths.len());
        for text in &spec.paths {
            let pattern = glob::Pattern::new(text).map_err(|error| PolicyError::Pattern {
                rule: number,
                pattern: text.clone(),
                why: error.msg,
            })?;
            paths.push(pattern);
        }
        Ok(Rule {
            paths,
            required,
            groups: spec.groups.clone(),
            max_age_ms: spec.max_age_ms,
            verify_required: spec.verify_required,
        })
    }

    fn names(&self, path: &VaultPath) -> bool {
        let by_component = glob::MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        self.paths
            .iter()
            .any(|pattern| pattern.matches_with(path.as_str(), by_component))
    }

    fn counts(&self, signer: &Signer, approvers: &Approvers) -> bool {
        let in_group = |group: &String| approvers.is_in_group(&signer.principal, group);
        let grouped = self.groups.is_empty() || self.groups.iter().any(in_group);
        let verified = !self.verify_required || signer.holder == Holder::Verified;
        grouped && verified
    }
}

/// Whether the requester's own signature counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeparateDuty {
    /// `separate_duty = true`: it does not.
    Required,
    /// Anyone's does.
    NotRequired,
}

/// Whether enough people signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Quorum {
    /// Enough.
    Complete,
    /// More may sign.
    Incomplete {
        /// People who count.
        have: usize,
        /// People needed.
        need: usize,
    },
}

/// What a quorum is judged over.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// The object to be deleted.
    pub path: &'a VaultPath,
    /// `expires_at − issued_at` of the approval, milliseconds.
    pub lasts_ms: i64,
    /// Those whose signatures hold at present.
    pub signers: &'a [Signer],
    /// The file as it is at present.
    pub approvers: &'a Approvers,
    /// Who asked for the delete, once the job is known.
    pub requester_uid: Option<u32>,
}

/// All rules.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: Vec<Rule>,
    duty: SeparateDuty,
}

impl Policy {
    /// Checks every rule.
    ///
    /// # Errors
    /// [`PolicyError`] with the first that cannot be meant.
    pub fn new(specs: &[RuleSpec], duty: SeparateDuty) -> Result<Policy, PolicyError> {
        let rules = specs
            .iter()
            .enumerate()
            .map(|(at, spec)| Rule::read(at + 1, spec));
        Ok(Policy {
            rules: rules.collect::<Result<_, _>>()?,
            duty,
        })
    }

    fn matching(&self, path: &VaultPath) -> Vec<&Rule> {
        self.rules.iter().filter(|rule| rule.names(path)).collect()
    }

    /// At the door: an approval may not run longer than every rule for its path allows. A path without a rule is let in
    /// here; it is denied with its job.
    ///
    /// # Errors
    /// `approval_too_long`.
    pub fn check_age(&self, path: &VaultPath, lasts_ms: i64) -> Result<(), Refusal> {
        match self.longest_ms(path) {
            Some(limit) if lasts_ms > limit => Err(Refusal::new(
                Code::ApprovalTooLong,
                "/expires_at",
                format!(
                    "expires_at is further from issued_at than the {limit} ms that max_age allows for this path"
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// How long an approval of this path may last at most, milliseconds; `None`: no rule says.
    pub fn longest_ms(&self, path: &VaultPath) -> Option<i64> {
        self.matching(path)
            .into_iter()
            .filter_map(|rule| rule.max_age_ms)
            .min()
    }

    /// Counts people, not signatures: distinct principals and distinct keys.
    ///
    /// # Errors
    /// `quorum_not_met` without a rule for the path or when the approval runs too long for today's rules;
    /// `separate_duty` when nothing but the requester's own signature would complete it.
    pub fn judge(&self, signed: &Signed<'_>) -> Result<Quorum, DenyDetail> {
        let rules = self.matching(signed.path);
        let Some(need) = rules.iter().map(|rule| rule.required).max() else {
            return Err(DenyDetail::QuorumNotMet);
        };
        if rules
            .iter()
            .filter_map(|rule| rule.max_age_ms)
            .any(|limit| signed.lasts_ms > limit)
        {
            return Err(DenyDetail::QuorumNotMet);
        }
        let counted: Vec<&Signer> = signed
            .signers
            .iter()
            .filter(|signer| rules.iter().all(|rule| rule.counts(signer, signed.approvers)))
            .collect();
        let others: Vec<&Signer> = counted
            .iter()
            .copied()
            .filter(|signer| !self.is_requester(signer, signed))
            .collect();
        let have = people(&others);
        if have >= need {
            return Ok(Quorum::Complete);
        }
        if people(&counted) >= need {
            return Err(DenyDetail::SeparateDuty);
        }
        Ok(Quorum::Incomplete { have, need })
    }

    /// Whether this person's signature would count towards an approval of this path: who could have signed may withdraw.
    pub fn may_sign(&self, path: &VaultPath, principal: &str, approvers: &Approvers) -> bool {
        let rules = self.matching(path);
        let grouped = |rule: &&Rule| {
            rule.groups.is_empty()
                || rule
                    .groups
                    .iter()
                    .any(|group| approvers.is_in_group(principal, group))
        };
        !rules.is_empty() && rules.iter().all(grouped)
    }

    fn is_requester(&self, signer: &Signer, signed: &Signed<'_>) -> bool {
        match (self.duty, signed.requester_uid) {
            (SeparateDuty::Required, Some(uid)) => signed.approvers.is_uid_of(&signer.principal, uid),
            (SeparateDuty::Required, None) | (SeparateDuty::NotRequired, _) => false,
        }
    }
}

/// As many people as there are different names with different keys.
fn people(signers: &[&Signer]) -> usize {
    let names: BTreeSet<&str> = signers.iter().map(|signer| signer.principal.as_str()).collect();
    let keys: BTreeSet<_> = signers.iter().map(|signer| signer.fingerprint).collect();
    names.len().min(keys.len())
}

#[cfg(test)]
#[path = "policy_test.rs"]
mod tests;
