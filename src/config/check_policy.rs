//! The judges of `[delete]` with its approval rules and of `[[requester]]`. In: what the files set. Out: checked values;
//! problems go to the [`Check`].
//!
//! Not here: applying the rules (approval/, `requesters`).

use super::check::Check;
use super::checked::{ApprovalRule, Delete, Duty, UserVerification};
use super::keys;
use super::pattern::PathPattern;
use super::people::People;
use super::raw;
use super::requesters::{RequesterPolicy, RequesterRule};
use crate::job::JobKind;
use std::collections::BTreeSet;
use toml::Spanned;

pub(super) fn delete(check: &mut Check<'_>, raw: raw::Delete, root: &str) -> Delete {
    let duty = if check.flag(keys::DELETE_DUTY, raw.separate_duty) {
        Duty::Separate
    } else {
        Duty::Shared
    };
    Delete {
        workers: check.count(keys::DELETE_WORKERS, raw.workers),
        batch: check.count(keys::DELETE_BATCH, raw.batch),
        approval_wait: check.time(keys::DELETE_WAIT, raw.approval_wait),
        recovery_days: check.count(keys::DELETE_RECOVERY, raw.recovery_days),
        duty,
        approval: raw
            .approval
            .into_iter()
            .map(|rule| approval(check, rule, root))
            .collect(),
    }
}

fn approval(check: &mut Check<'_>, rule: Spanned<raw::Approval>, root: &str) -> ApprovalRule {
    let at = rule.span();
    let rule = rule.into_inner();
    let paths = match rule.paths {
        Some(set) => patterns(check, set, root),
        None if check.is_told(keys::APPROVAL_PATHS.name) => Vec::new(),
        None => {
            check.wrong(
                &at,
                format!("this rule has no paths: {}", keys::APPROVAL_PATHS.shape),
            );
            Vec::new()
        }
    };
    let mut groups = Vec::new();
    if let Some(set) = rule.groups {
        if set.get_ref().is_empty() {
            check.wrong(
                &set.span(),
                "is an empty list: leave the key out for every approver",
            );
        }
        for group in set.into_inner() {
            let name = group.get_ref();
            if name.is_empty()
                || name
                    .chars()
                    .any(|c| c.is_control() || c.is_whitespace() || c == ',' || c == ':')
            {
                check.wrong(&group.span(), format!("\"{name}\" is not the name of a group"));
            }
            groups.push(group.into_inner());
        }
    }
    let user_verification = if check.flag(keys::APPROVAL_VERIFY, rule.verify_required) {
        UserVerification::Required
    } else {
        UserVerification::NotRequired
    };
    ApprovalRule {
        paths,
        required: check.count(keys::APPROVAL_REQUIRED, rule.required),
        groups,
        max_age: check.time(keys::APPROVAL_AGE, rule.max_age),
        user_verification,
    }
}

fn patterns(check: &mut Check<'_>, set: Spanned<Vec<Spanned<String>>>, root: &str) -> Vec<PathPattern> {
    if set.get_ref().is_empty() {
        check.wrong(
            &set.span(),
            "is an empty list, which matches nothing: name paths, as in \"/app/vault/**\"",
        );
    }
    let mut patterns = Vec::new();
    for text in set.into_inner() {
        match PathPattern::parse(root, text.get_ref()) {
            Ok(pattern) => patterns.push(pattern),
            Err(why) => check.wrong(&text.span(), why),
        }
    }
    patterns
}

pub(super) fn requesters(
    check: &mut Check<'_>,
    raw: Vec<Spanned<raw::Requester>>,
    root: &str,
    people: &Result<People, String>,
) -> RequesterPolicy {
    let rules = raw
        .into_iter()
        .map(|rule| requester(check, rule, root, people))
        .collect();
    RequesterPolicy { rules }
}

fn requester(
    check: &mut Check<'_>,
    rule: Spanned<raw::Requester>,
    root: &str,
    people: &Result<People, String>,
) -> RequesterRule {
    let at = rule.span();
    let rule = rule.into_inner();
    let uids = match (rule.uid, rule.group) {
        (Some(uid), None) => one_uid(check, &uid),
        (None, Some(group)) => members(check, &group, people),
        (Some(_), Some(group)) => {
            check.wrong(&group.span(), "stands beside uid: write one table for each");
            BTreeSet::new()
        }
        (None, None)
            if check.is_told(keys::REQUESTER_UID.name) || check.is_told(keys::REQUESTER_GROUP.name) =>
        {
            BTreeSet::new()
        }
        (None, None) => {
            check.wrong(&at, "this table names nobody: set uid or group");
            BTreeSet::new()
        }
    };
    let kinds = match rule.kinds {
        Some(set) => kinds(check, set),
        None => JobKind::ALL.into_iter().collect(),
    };
    RequesterRule {
        uids,
        kinds,
        paths: rule.paths.map(|set| patterns(check, set, root)),
    }
}

fn one_uid(check: &mut Check<'_>, set: &Spanned<i64>) -> BTreeSet<u32> {
    // The last number means "no user" to the kernel.
    match u32::try_from(*set.get_ref()) {
        Ok(uid) if uid != u32::MAX => BTreeSet::from([uid]),
        Ok(_) | Err(_) => {
            check.wrong(&set.span(), format!("{} is not a UID", set.get_ref()));
            BTreeSet::new()
        }
    }
}

fn members(check: &mut Check<'_>, group: &Spanned<String>, people: &Result<People, String>) -> BTreeSet<u32> {
    let found = match people {
        Ok(people) => people.members(group.get_ref()).map_err(|error| error.to_string()),
        Err(why) => Err(format!("/etc/passwd and /etc/group cannot be read: {why}")),
    };
    found.unwrap_or_else(|why| {
        check.wrong(&group.span(), why);
        BTreeSet::new()
    })
}

fn kinds(check: &mut Check<'_>, set: Spanned<Vec<Spanned<String>>>) -> BTreeSet<JobKind> {
    if set.get_ref().is_empty() {
        check.wrong(&set.span(), "is an empty list: leave the key out for every kind");
    }
    let mut kinds = BTreeSet::new();
    for word in set.into_inner() {
        let text = word.get_ref().as_str();
        let kind = JobKind::parse(text)
            .or_else(|| JobKind::ALL.into_iter().find(|kind| kind.role().as_str() == text));
        match kind {
            Some(kind) => {
                kinds.insert(kind);
            }
            None => check.wrong(
                &word.span(),
                format!("\"{text}\" is not a kind of job: C5_SAVE_OBJECT or C5_DELETE_OBJECT"),
            ),
        }
    }
    kinds
}
