//! What the approvers file may say, and what it may not.

use super::*;
use proptest::prelude::*;

const KEY_A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPWFhnDzaMe6JcuFU+fukOWlJUQKbVRWs5p+6fPpZuGs";
const NS: &str = "lockgate-approval@6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001";

fn key(seed: u8) -> PublicKey {
    let secret = ed25519_dalek::SigningKey::from_bytes(&[seed; 32]);
    PublicKey::from_ed25519(secret.verifying_key().as_bytes()).unwrap()
}

fn line_of(text: &str) -> usize {
    Approvers::parse(text).expect_err(text).line
}

fn why(text: &str) -> String {
    Approvers::parse(text).expect_err(text).why
}

fn only(text: &str) -> Approver {
    Approvers::parse(text).unwrap().iter().next().unwrap().clone()
}

#[test]
fn a_plain_line_with_a_comment_names_one_person() {
    let text = format!(
        "# people\n\n\t alice@example.test {KEY_A} laptop of 2026\r\n#group on-call: alice@example.test"
    );
    let found = Approvers::parse(&text).unwrap();
    assert_eq!(found.iter().count(), 1);
    let alice = only(&text);
    assert_eq!(alice.principal(), "alice@example.test");
    assert_eq!(alice.standing(NS, WallMs(0)), Standing::Current);
    assert_eq!(found.by_key(alice.key()), Some(&alice));
    assert_eq!(found.by_fingerprint(&alice.key().fingerprint()), Some(&alice));
    assert_eq!(found.by_key(&key(9)), None);
    assert!(found.is_in_group("alice@example.test", "on-call"));
}

#[test]
fn a_security_key_is_known_with_its_application() {
    let mut blob = Vec::new();
    for part in [&b"sk-ssh-ed25519@openssh.com"[..], key(1).point(), b"ssh:approve"] {
        crate::approval::wire::put_string(&mut blob, part);
    }
    use base64::Engine as _;
    let text = format!(
        "bob sk-ssh-ed25519@openssh.com {}",
        base64::engine::general_purpose::STANDARD.encode(&blob)
    );
    assert_eq!(only(&text).key().blob(), blob);
    // The same private key as a file key would be a second key for one person.
    assert!(why(&format!("{text}\nbob {}", key(1).to_openssh())).contains("another key type"));
}

#[test]
fn t33_a_key_counts_inside_its_window_only() {
    let text = format!("a valid-after=\"20260101Z\",valid-before=\"20260201000000Z\" {KEY_A}");
    let approver = only(&text);
    let after = 1_767_225_600_000;
    let before = 1_769_904_000_000;
    for (now, standing) in [
        (after - 1, Standing::OutsideWindow),
        (after, Standing::Current),
        (before, Standing::Current),
        (before + 1, Standing::OutsideWindow),
    ] {
        assert_eq!(approver.standing(NS, WallMs(now)), standing, "{now}");
    }
}

#[test]
fn t33_a_key_counts_for_its_namespaces_only() {
    for (list, standing) in [
        (NS.to_owned(), Standing::Current),
        ("git,lockgate-approval@*".to_owned(), Standing::Current),
        ("git".to_owned(), Standing::OtherNamespace),
        (
            "lockgate-approval@6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0002".to_owned(),
            Standing::OtherNamespace,
        ),
        (format!("*,!{NS}"), Standing::OtherNamespace),
    ] {
        let approver = only(&format!("a NameSpaces=\"{list}\" {KEY_A}"));
        assert_eq!(approver.standing(NS, WallMs(0)), standing, "{list}");
    }
}

#[test]
fn two_lines_of_one_key_and_person_admit_either_way() {
    let text = format!(
        "a namespaces=\"git\" {KEY_A}\na namespaces=\"{NS}\",valid-before=\"20200101Z\" {KEY_A}\n\
         a namespaces=\"{NS}\",valid-after=\"20260101Z\" {KEY_A}"
    );
    let approver = only(&text);
    assert_eq!(Approvers::parse(&text).unwrap().iter().count(), 1);
    assert_eq!(
        approver.standing(NS, WallMs(1_500_000_000_000)),
        Standing::Current
    );
    assert_eq!(
        approver.standing(NS, WallMs(1_700_000_000_000)),
        Standing::OutsideWindow
    );
    assert_eq!(
        approver.standing(NS, WallMs(1_800_000_000_000)),
        Standing::Current
    );
    assert_eq!(
        approver.standing("git", WallMs(1_700_000_000_000)),
        Standing::Current
    );
    assert_eq!(
        approver.standing("file", WallMs(1_700_000_000_000)),
        Standing::OtherNamespace
    );
}

#[test]
fn one_key_under_several_principals_is_refused() {
    assert_eq!(line_of(&format!("a {KEY_A}\nb {KEY_A}")), 2);
    assert_eq!(line_of(&format!("a,b {KEY_A}")), 1);
    assert!(Approvers::parse(&format!("a,a {KEY_A}")).is_ok());
    assert!(Approvers::parse(&format!("a {KEY_A}\na {}", key(1).to_openssh())).is_ok());
}

#[test]
fn principals_that_are_not_literal_ascii_are_refused() {
    for principal in [
        "*",
        "a*",
        "?",
        "!a",
        "*,!a",
        "\"a\"",
        "ünal",
        "u\u{308}nal",
        "a,,b",
        ",a",
        "a,",
        "a\\b",
        "a\u{202e}b",
    ] {
        let text = format!("# first\n{principal} {KEY_A}");
        assert_eq!(line_of(&text), 2, "{principal}");
    }
    assert_eq!(
        line_of(&format!("Alice {KEY_A}\nalice {}", key(1).to_openssh())),
        2
    );
    assert_eq!(line_of(&format!("{} {KEY_A}", "a".repeat(255))), 1);
}

#[test]
fn options_that_are_unknown_unquoted_empty_or_doubled_are_refused() {
    for options in [
        "cert-authority",
        "CERT-Authority,namespaces=\"x\"",
        "no-touch-required",
        "verify-required",
        "namespaces=x",
        "namespaces",
        "namespaces=\"\"",
        "namespaces=\"a,,b\"",
        "namespaces=\"a b\"",
        "namespaces=\"a",
        "namespaces=\"a\",",
        "namespaces=\"a\",namespaces=\"b\"",
        "namespaces=\"a\"valid-after=\"20260101\"",
        "valid-after=\"2026-01-01\"",
        "valid-after=\"\"",
        "valid-after=\"20260101\",valid-after=\"20260102\"",
        "valid-after=\"20260101\",valid-before=\"20260101\"",
        "valid-until=\"20260101\"",
        "=",
        ",",
    ] {
        assert_eq!(line_of(&format!("a {options} {KEY_A}")), 1, "{options}");
    }
}

#[test]
fn other_key_types_and_broken_keys_are_refused_with_their_line() {
    let body = &KEY_A[12..];
    let mut weak = Vec::new();
    crate::approval::wire::put_string(&mut weak, b"ssh-ed25519");
    crate::approval::wire::put_string(&mut weak, &[0; 32]);
    use base64::Engine as _;
    let weak = base64::engine::general_purpose::STANDARD.encode(weak);
    for rest in [
        String::new(),
        "ssh-ed25519".to_owned(),
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ==".to_owned(),
        format!("ecdsa-sha2-nistp256 {body}"),
        format!("sk-ecdsa-sha2-nistp256@openssh.com {body}"),
        format!("ssh-ed25519-cert-v01@openssh.com {body}"),
        format!("sk-ssh-ed25519@openssh.com {body}"),
        format!("SSH-ED25519 {body}"),
        format!("ssh-ed25519 {}", &body[..body.len() - 4]),
        format!("ssh-ed25519 {body}AAAA"),
        format!("ssh-ed25519 {}=", &body[..body.len() - 1]),
        format!("ssh-ed25519 {weak}"),
        body.to_owned(),
    ] {
        assert_eq!(line_of(&format!("# first\n\na {rest}")), 3, "{rest}");
    }
    assert!(why(&format!("a ssh-ed25519 {weak}")).contains("small order"));
}

#[test]
fn groups_and_uids_are_read_and_half_written_ones_refused() {
    let text = format!(
        "# group ops: a, b\n#  group\tops:\tc\n# uid a: 1000\n# uid a: 1001\n# groups are explained elsewhere\n\
         # uids too\na {KEY_A}"
    );
    let found = Approvers::parse(&text).unwrap();
    for (principal, inside) in [("a", true), ("b", true), ("c", true), ("d", false)] {
        assert_eq!(found.is_in_group(principal, "ops"), inside, "{principal}");
    }
    assert!(!found.is_in_group("a", "other"));
    assert!(found.is_uid_of("a", 1000) && found.is_uid_of("a", 1001));
    assert!(!found.is_uid_of("a", 1002) && !found.is_uid_of("b", 1000));
    assert_eq!(found.groups().collect::<Vec<_>>(), ["ops"]);
    assert_eq!(found.strangers().into_iter().collect::<Vec<_>>(), ["b", "c"]);
    for bad in [
        "# group ops a, b",
        "# group : a",
        "# group ops:",
        "# group ops: a,,b",
        "# group ops: a b",
        "# group ops: *",
        "# group ops: ü",
        "# Group ops: a",
        "# group",
        "# uid a 1000",
        "# uid a: root",
        "# uid a: +1",
        "# uid a: -1",
        "# uid a: 4294967296",
        "# uid a: 1000, 1001",
        "# uid a: 1000 # laptop",
        "# UID a: 1000",
        "# uid",
    ] {
        assert_eq!(line_of(&format!("\n{bad}")), 2, "{bad}");
    }
}

#[test]
fn a_huge_file_is_refused_and_a_large_one_read_quickly() {
    assert_eq!(line_of(&"#\n".repeat(FILE_BYTES_MAX)), 1);
    let many: String = (0..1000u16)
        .map(|n| {
            let mut seed = [7u8; 32];
            seed[..2].copy_from_slice(&n.to_be_bytes());
            let secret = ed25519_dalek::SigningKey::from_bytes(&seed);
            let key = PublicKey::from_ed25519(secret.verifying_key().as_bytes()).unwrap();
            format!("p{n} {}\n", key.to_openssh())
        })
        .collect();
    assert_eq!(Approvers::parse(&many).unwrap().iter().count(), 1000);
}

proptest! {
    #[test]
    fn reading_never_panics(text in ".{0,200}", line in "[a,*!# \"=:]{0,10}(valid-after|namespaces|group|uid)?[a=\",:0-9Z\\\\ ]{0,20}") {
        drop(Approvers::parse(&text));
        drop(Approvers::parse(&line));
    }
}
