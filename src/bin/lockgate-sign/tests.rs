//! The tool as a person uses it, with `--yes` in the place of the question.

use super::*;
use lockgate::approval::{Document, Ground, verify};
use lockgate::job::{Code, DocumentRules, Timestamp};
use std::os::unix::fs::PermissionsExt as _;

const INSTANCE: &str = "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001";
const APPROVAL: &str = "3b241101-e2bb-4255-8caf-4136c566a962";

fn payload() -> String {
    let vector = include_str!("../../../tests/vectors/approval.json");
    let value = lockgate::job::json::parse(vector.as_bytes(), 1 << 20).unwrap();
    value
        .get("signed_bytes_utf8")
        .unwrap()
        .as_text()
        .unwrap()
        .to_owned()
}

struct Desk {
    dir: tempfile::TempDir,
    approvers: Approvers,
}

impl Desk {
    /// Keys `a` and `b`, and the vector's payload.
    fn new() -> Desk {
        let dir = tempfile::tempdir().unwrap();
        let mut approvers = String::new();
        for name in ["a", "b"] {
            let file = dir.path().join(name);
            run(Cli::try_parse_from([
                "lockgate-sign".as_ref(),
                "keygen".as_ref(),
                file.as_os_str(),
                "--principal".as_ref(),
                name.as_ref(),
            ])
            .unwrap())
            .unwrap();
            let public = std::fs::read_to_string(dir.path().join(format!("{name}.pub"))).unwrap();
            approvers += &format!("{name} {public}");
        }
        std::fs::write(dir.path().join("payload"), payload()).unwrap();
        Desk {
            dir,
            approvers: Approvers::parse(&approvers).unwrap(),
        }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
    /// Runs with `@name` for a file of this desk.
    fn sign(&self, args: &[&str]) -> Result<(), SignError> {
        let mut line = vec![
            "lockgate-sign".into(),
            "--yes".into(),
            "--instance".into(),
            INSTANCE.into(),
        ];
        line.extend(args.iter().map(|arg| match arg.strip_prefix('@') {
            Some(name) => self.path(name).into_os_string(),
            None => arg.into(),
        }));
        run(Cli::try_parse_from(line).map_err(|error| SignError::Usage(error.to_string()))?)
    }
    fn principals(&self, name: &str) -> Result<Vec<String>, Code> {
        let bytes = std::fs::read(self.path(name)).unwrap();
        assert_eq!(bytes.last(), Some(&b'\n'));
        let documents = DocumentRules {
            vault_root: "/app/vault/".to_owned(),
            object_id_is_path: true,
        };
        let ground = Ground {
            instance: INSTANCE,
            documents: &documents,
            approvers: Some(&self.approvers),
        };
        let at = Timestamp::parse("2026-11-30T12:30:00Z").unwrap().wall();
        let verified =
            verify(&Envelope::parse(&bytes).unwrap(), &ground, at).map_err(|refusal| refusal.code)?;
        if let Document::Withdrawal(withdrawal) = &verified.document {
            assert_eq!(withdrawal.approval_id.to_string(), APPROVAL);
        }
        Ok(verified
            .signers
            .into_iter()
            .map(|signer| signer.principal)
            .collect())
    }
}

fn status(result: Result<(), SignError>) -> (u8, String) {
    let error = result.unwrap_err();
    (error.status(), error.to_string())
}

#[test]
fn two_people_sign_one_after_the_other() {
    let desk = Desk::new();
    desk.sign(&["--key", "@a", "--out", "@one", "@payload"]).unwrap();
    assert_eq!(desk.principals("one").unwrap(), ["a"]);
    desk.sign(&[
        "--key", "@b", "--scheme", "ed25519", "--merge", "@one", "--out", "@one", "@payload",
    ])
    .unwrap();
    assert_eq!(desk.principals("one").unwrap(), ["a", "b"]);
    // Signing again adds nothing.
    desk.sign(&["--key", "@a", "--merge", "@one", "--out", "@one", "@payload"])
        .unwrap();
    assert_eq!(desk.principals("one").unwrap(), ["a", "b"]);
}

#[test]
fn a_withdrawal_is_signed_for_its_own_purpose() {
    let desk = Desk::new();
    desk.sign(&["--key", "@a", "--out", "@w", "withdraw", APPROVAL])
        .unwrap();
    assert_eq!(desk.principals("w").unwrap(), ["a"]);
    desk.sign(&["withdraw", APPROVAL, "--key", "@a", "--out", "@w2"])
        .unwrap();
    assert_eq!(
        status(desk.sign(&["--key", "@a", "withdraw", &APPROVAL.to_uppercase()])).0,
        2
    );
}

#[test]
fn payloads_that_would_be_refused_are_not_signed() {
    let desk = Desk::new();
    for (content, word) in [
        (format!("{}\n", payload()), "line end"),
        (payload().replace("\",\"", "\", \""), "RFC 8785"),
        (payload().replace("DELETE", "SAVE"), "operation"),
        (
            payload().replace("approval_version\":1", "approval_version\":2"),
            "unknown_version",
        ),
        (
            payload().replace("/app/vault/notes", "/app/vault/.."),
            "path_traversal",
        ),
        (
            payload().replace("notes/a.md\",\"op", "a\\u202e\",\"op"),
            "approval_not_canonical",
        ),
        (String::new(), "malformed_json"),
        (" ".repeat(70_000), "too_large"),
    ] {
        std::fs::write(desk.path("bad"), &content).unwrap();
        let (status, message) = status(desk.sign(&["--key", "@a", "--out", "@out", "@bad"]));
        assert!(message.contains(word), "{message}");
        assert_eq!(status, 65, "{message}");
        assert!(!desk.path("out").exists());
    }
}

#[test]
fn wrong_usage_and_foreign_envelopes_are_told_apart() {
    let desk = Desk::new();
    desk.sign(&["--key", "@a", "--out", "@one", "@payload"]).unwrap();
    std::fs::write(desk.path("other"), payload().replace("notes/a.md", "notes/b.md")).unwrap();
    std::fs::write(desk.path("junk"), "{}").unwrap();
    for (args, wanted) in [
        (&["--key", "@a"][..], 2),
        (&["@payload"], 2),
        (&["--key", "@a", "--ssh-keygen", "@payload"], 2),
        (&["--key", "@a", "-f", "@a", "@payload"], 2),
        (&["--key", "@a", "--instance", "a b", "@payload"], 2),
        (&["--key", "@a", "--merge", "@one", "@other"], 65),
        (&["--key", "@a", "--merge", "@junk", "@payload"], 65),
        (&["--key", "@absent", "@payload"], 1),
        (&["--key", "@payload", "@payload"], 1),
        (&["--key", "@a", "@absent"], 1),
        (&["--key", "@a", "--out", "@one", "@payload"], 1),
        (&["keygen", "@a"], 1),
        (&["keygen", "@c", "--principal", "two words"], 2),
    ] {
        assert_eq!(status(desk.sign(args)).0, wanted, "{args:?}");
    }
    assert_eq!(desk.principals("one").unwrap(), ["a"]);
    assert!(!desk.path("c").exists());
}

#[test]
fn a_made_key_is_private() {
    let desk = Desk::new();
    let mode = |name: &str| std::fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("a"), 0o600);
    assert_eq!(mode("a.pub") & 0o600, 0o600);
}

#[test]
fn ssh_keygen_signs_through_the_tool() {
    if std::process::Command::new("ssh-keygen")
        .arg("-?")
        .stderr(std::process::Stdio::null())
        .status()
        .is_err()
    {
        println!("skipped: ssh-keygen is not installed (package openssh-client)");
        return;
    }
    let desk = Desk::new();
    desk.sign(&["--ssh-keygen", "-f", "@a", "--out", "@one", "@payload"])
        .unwrap();
    assert_eq!(desk.principals("one").unwrap(), ["a"]);
    assert_eq!(
        status(desk.sign(&["--ssh-keygen", "-f", "@absent", "--out", "@two", "@payload"])).0,
        1
    );
}

#[test]
fn the_command_line_is_consistent() {
    use clap::CommandFactory as _;
    Cli::command().debug_assert();
}
