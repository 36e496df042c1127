//! How many must sign: patterns, people, groups, verification, separation of duty.

use super::super::approvers::Standing;
use super::super::test_support::{approvers_with, key, payload, payload_text, signed_by};
use super::*;

const GROUPS: &str = "# group ops: a, b\n# group hr: b, c\n# uid a: 1000\n# uid b: 1001";

fn rule(path: &str, required: u32) -> RuleSpec {
    RuleSpec {
        paths: vec![path.to_owned()],
        required,
        groups: Vec::new(),
        max_age_ms: None,
        verify_required: false,
    }
}
fn grouped(path: &str, required: u32, groups: &[&str]) -> RuleSpec {
    RuleSpec {
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..rule(path, required)
    }
}
fn path(text: &str) -> VaultPath {
    VaultPath::parse("/app/vault/", text).unwrap()
}
fn signer(seed: u8, principal: &str, holder: Holder) -> Signer {
    Signer {
        fingerprint: key(seed).public().fingerprint(),
        principal: principal.to_owned(),
        holder,
        standing: Standing::Current,
        signature: signed_by(&[seed], payload_text().as_bytes()).signatures()[0].clone(),
    }
}
fn people_of(names: &str) -> Vec<Signer> {
    names
        .bytes()
        .map(|name| {
            signer(
                name - b'a' + 1,
                &char::from(name).to_string(),
                Holder::NotVerified,
            )
        })
        .collect()
}

struct Case {
    specs: Vec<RuleSpec>,
    duty: SeparateDuty,
    uid: Option<u32>,
}
impl Case {
    fn judge(&self, signers: &[Signer]) -> Result<Quorum, DenyDetail> {
        let policy = Policy::new(&self.specs, self.duty).unwrap();
        policy.judge(&Signed {
            path: &payload().vault_path,
            lasts_ms: payload().lasts_ms(),
            signers,
            approvers: &approvers_with("", GROUPS),
            requester_uid: self.uid,
        })
    }
}
fn judge(specs: &[RuleSpec], names: &str) -> Result<Quorum, DenyDetail> {
    Case {
        specs: specs.to_vec(),
        duty: SeparateDuty::NotRequired,
        uid: Some(1000),
    }
    .judge(&people_of(names))
}
fn lacks(have: usize, need: usize) -> Result<Quorum, DenyDetail> {
    Ok(Quorum::Incomplete { have, need })
}

#[test]
fn t34_a_path_without_a_rule_is_never_approved() {
    assert_eq!(judge(&[], "abcd"), Err(DenyDetail::QuorumNotMet));
    assert_eq!(
        judge(&[rule("/app/vault/other/**", 1)], "abcd"),
        Err(DenyDetail::QuorumNotMet)
    );
}

#[test]
fn patterns_match_by_component() {
    for (pattern, text, fits) in [
        ("/app/vault/**", "/app/vault/a.md", true),
        ("/app/vault/**", "/app/vault/x/y/a.md", true),
        ("/app/vault/*", "/app/vault/a.md", true),
        ("/app/vault/*", "/app/vault/x/a.md", false),
        ("/app/vault/*.md", "/app/vault/x/a.md", false),
        ("/app/vault/**/*.md", "/app/vault/a.md", true),
        ("/app/vault/**/*.md", "/app/vault/x/y/a.md", true),
        ("/app/vault/**/hr/**", "/app/vault/x/hr/y/a.md", true),
        ("/app/vault/**/hr/**", "/app/vault/x/hrx/y/a.md", false),
        ("/app/vault/hr", "/app/vault/hr/a.md", false),
        ("/app/vault/h?/a.md", "/app/vault/hr/a.md", true),
        ("/app/vault?a.md", "/app/vault/a.md", false),
        ("/app/vault[/]a.md", "/app/vault/a.md", false),
        ("/APP/vault/**", "/app/vault/a.md", false),
        ("**", "/app/vault/a.md", true),
    ] {
        let policy = Policy::new(&[rule(pattern, 1)], SeparateDuty::NotRequired).unwrap();
        assert_eq!(!policy.matching(&path(text)).is_empty(), fits, "{pattern} {text}");
    }
}

#[test]
fn t34_people_are_counted_and_not_signatures() {
    let two = [rule("/app/vault/**", 2)];
    assert_eq!(judge(&two, "ab"), Ok(Quorum::Complete));
    assert_eq!(judge(&two, "a"), lacks(1, 2));
    assert_eq!(judge(&two, "aaaa"), lacks(1, 2));
    assert_eq!(judge(&two, ""), lacks(0, 2));
    let case = Case {
        specs: two.to_vec(),
        duty: SeparateDuty::NotRequired,
        uid: None,
    };
    // One person with two keys, and one key that claims to be two persons.
    let hat = |seed, name| signer(seed, name, Holder::NotVerified);
    assert_eq!(case.judge(&[hat(1, "a"), hat(5, "a")]), lacks(1, 2));
    assert_eq!(case.judge(&[hat(1, "a"), hat(1, "b")]), lacks(1, 2));
    assert_eq!(
        case.judge(&[hat(1, "a"), hat(5, "a"), hat(2, "b")]),
        Ok(Quorum::Complete)
    );
}

#[test]
fn all_rules_for_a_path_apply_together() {
    let all = [
        rule("/app/vault/**", 1),
        rule("/app/vault/notes/*", 3),
        rule("/app/vault/other/*", 4),
    ];
    assert_eq!(judge(&all, "ab"), lacks(2, 3));
    assert_eq!(judge(&all, "abc"), Ok(Quorum::Complete));
    let both = [grouped("/app/vault/**", 1, &["ops"]), grouped("**", 1, &["hr"])];
    assert_eq!(judge(&both, "a"), lacks(0, 1));
    assert_eq!(judge(&both, "c"), lacks(0, 1));
    assert_eq!(judge(&both, "b"), Ok(Quorum::Complete));
}

#[test]
fn only_members_of_one_of_the_groups_count() {
    let ops = [grouped("/app/vault/**", 2, &["ops"])];
    assert_eq!(judge(&ops, "ab"), Ok(Quorum::Complete));
    assert_eq!(judge(&ops, "acd"), lacks(1, 2));
    let either = [grouped("/app/vault/**", 2, &["ops", "hr"])];
    assert_eq!(judge(&either, "ac"), Ok(Quorum::Complete));
    assert_eq!(
        judge(&[grouped("/app/vault/**", 1, &["nobody"])], "abcd"),
        lacks(0, 1)
    );
}

#[test]
fn where_verification_is_required_touch_alone_does_not_count() {
    let specs = vec![
        RuleSpec {
            verify_required: true,
            ..rule("/app/vault/**", 1)
        },
        rule("/app/vault/notes/**", 1),
    ];
    let case = Case {
        specs,
        duty: SeparateDuty::NotRequired,
        uid: None,
    };
    assert_eq!(case.judge(&[signer(1, "a", Holder::NotVerified)]), lacks(0, 1));
    assert_eq!(
        case.judge(&[signer(1, "a", Holder::Verified)]),
        Ok(Quorum::Complete)
    );
    let both = [
        signer(1, "a", Holder::NotVerified),
        signer(1, "a", Holder::Verified),
    ];
    assert_eq!(case.judge(&both), Ok(Quorum::Complete));
}

#[test]
fn the_requester_does_not_approve_their_own_request() {
    let case = |required, uid| Case {
        specs: vec![rule("/app/vault/**", required)],
        duty: SeparateDuty::Required,
        uid,
    };
    assert_eq!(
        case(1, Some(1000)).judge(&people_of("a")),
        Err(DenyDetail::SeparateDuty)
    );
    assert_eq!(case(1, Some(1001)).judge(&people_of("a")), Ok(Quorum::Complete));
    assert_eq!(case(1, None).judge(&people_of("a")), Ok(Quorum::Complete));
    assert_eq!(case(1, Some(1000)).judge(&people_of("ab")), Ok(Quorum::Complete));
    assert_eq!(
        case(2, Some(1000)).judge(&people_of("ab")),
        Err(DenyDetail::SeparateDuty)
    );
    assert_eq!(case(2, Some(1000)).judge(&people_of("abc")), Ok(Quorum::Complete));
    // Somebody else is missing anyway: it may still become complete.
    assert_eq!(case(3, Some(1000)).judge(&people_of("ab")), lacks(1, 3));
    let off = Case {
        duty: SeparateDuty::NotRequired,
        ..case(1, Some(1000))
    };
    assert_eq!(off.judge(&people_of("a")), Ok(Quorum::Complete));
}

#[test]
fn t34_the_smallest_max_age_bounds_how_long_an_approval_runs() {
    let aged = |pattern, ms| RuleSpec {
        max_age_ms: Some(ms),
        ..rule(pattern, 1)
    };
    let specs = [
        aged("/app/vault/**", 2000),
        aged("/app/vault/notes/**", 1000),
        aged("/app/vault/other/**", 1),
    ];
    let policy = Policy::new(&specs, SeparateDuty::NotRequired).unwrap();
    let (notes, top) = (path("/app/vault/notes/a.md"), path("/app/vault/a.md"));
    let code = |path, ms| policy.check_age(path, ms).map_err(|refusal| refusal.code);
    assert_eq!(code(&notes, 1000), Ok(()));
    assert_eq!(code(&notes, 1001), Err(Code::ApprovalTooLong));
    assert_eq!(code(&top, 2000), Ok(()));
    assert_eq!(code(&top, 2001), Err(Code::ApprovalTooLong));
    let none = Policy::new(&[], SeparateDuty::NotRequired).unwrap();
    assert_eq!(none.check_age(&top, i64::MAX), Ok(()));
    // Rules that became stricter after the door deny at the claim.
    assert_eq!(
        judge(&[aged("**", payload().lasts_ms())], "a"),
        Ok(Quorum::Complete)
    );
    assert_eq!(
        judge(&[aged("**", payload().lasts_ms() - 1)], "a"),
        Err(DenyDetail::QuorumNotMet)
    );
}

#[test]
fn rules_that_cannot_be_meant_are_refused() {
    let refused =
        |spec: RuleSpec| Policy::new(&[rule("**", 1), spec], SeparateDuty::NotRequired).unwrap_err();
    assert_eq!(
        refused(RuleSpec {
            paths: Vec::new(),
            ..rule("**", 1)
        }),
        PolicyError::NoPaths { rule: 2 }
    );
    for required in [0, 17, u32::MAX] {
        assert_eq!(refused(rule("**", required)), PolicyError::Required { rule: 2 });
    }
    assert!(Policy::new(&[rule("**", 16)], SeparateDuty::NotRequired).is_ok());
    for ms in [0, -1] {
        assert_eq!(
            refused(RuleSpec {
                max_age_ms: Some(ms),
                ..rule("**", 1)
            }),
            PolicyError::MaxAge { rule: 2 }
        );
    }
    for pattern in ["/app/vault/a**", "[", "***"] {
        assert!(
            matches!(refused(rule(pattern, 1)), PolicyError::Pattern { rule: 2, .. }),
            "{pattern}"
        );
    }
}
