//! A process of its own for what must die, be stopped, or be somebody else. Its orders lie in its working directory.
use super::*;
use crate::target::Intent;
use std::fmt::Write as _;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

pub(super) const OLD: &[u8] = b"old bytes, whole";
pub(super) const EDITED: &[u8] = b"what a person wrote meanwhile";
/// One job id for every child, so that its leftovers can be settled.
pub(super) const JOB: &str = "11111111-2222-4333-8444-555555555555";

/// Three pieces, so that it can be torn.
pub(super) fn new_bytes() -> Vec<u8> {
    (0..2_500_000u32)
        .map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1])
        .collect()
}

pub(super) struct Child {
    pub(super) verb: &'static str,
    pub(super) failpoint: Option<String>,
    pub(super) uid: Option<u32>,
}

pub(super) fn command(dir: &Path, child: &Child) -> Command {
    std::fs::write(dir.join("order"), child.verb).unwrap();
    std::fs::write(dir.join("answer"), "").unwrap();
    std::fs::set_permissions(dir.join("answer"), std::fs::Permissions::from_mode(0o666)).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "target::directory::tests::child::act",
        "--ignored",
        "--quiet",
    ]);
    command
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(failpoint) = &child.failpoint {
        command.env("LOCKGATE_FAILPOINT", failpoint);
    }
    if let Some(uid) = child.uid {
        command.uid(uid).gid(uid);
    }
    command
}

/// Runs a child to its end and returns what it wrote.
pub(super) fn run(dir: &Path, child: Child) -> String {
    assert!(command(dir, &child).status().unwrap().success());
    std::fs::read_to_string(dir.join("answer")).unwrap()
}

#[test]
#[ignore = "run by the crash tests, in a directory with an order in it"]
fn act() {
    let Ok(verb) = std::fs::read_to_string("order") else {
        return;
    };
    let root = std::env::current_dir().unwrap().join("vault");
    let there = root.clone();
    let edit = move || {
        person_saves(&there, "d/a.md", EDITED);
        Ok(())
    };
    let vault = if verb == "drift" {
        meanwhile(&root, edit)
    } else {
        driver(&root)
    };
    let path = at("d/a.md");
    let job_id = JobId::parse(JOB).unwrap();
    let bytes = new_bytes();
    let old = Before::Bytes(sha256(OLD));
    let answer = match verb.as_str() {
        "new" => vault.write(&[WriteOrder {
            job_id,
            ..order(&path, &bytes, Before::Absent)
        }]),
        "over" | "drift" => vault.write(&[WriteOrder {
            job_id,
            ..order(&path, &bytes, old)
        }]),
        "delete" => vault.delete(&[DeleteOrder {
            job_id,
            ..removal(&path, OLD)
        }]),
        "permissions" => return permissions(&vault),
        "memory" => return memory(&vault),
        other => panic!("{other}"),
    };
    std::fs::write("answer", format!("{:?}", answer[0])).unwrap();
}

fn permissions(vault: &DirectoryVault) {
    let mut told = String::new();
    let word = |preflight| {
        if preflight == Preflight::Clear {
            "Clear"
        } else {
            "Refused"
        }
    };
    for name in [
        "own.md",
        "others.md",
        "group.md",
        "secret.md",
        "closed/new.md",
        "foreign/new.md",
        "foreign/d/new.md",
        "sticky/others.md",
        "new.md",
    ] {
        let path = at(name);
        let before = if name.contains("new") {
            Before::Absent
        } else {
            Before::Bytes(sha256(b"old"))
        };
        let may_write = word(vault.preflight(&path, Intent::Write).unwrap());
        let may_delete = word(vault.preflight(&path, Intent::Delete).unwrap());
        let answer = match vault.write(&[order(&path, b"new", before)]).remove(0) {
            Answer::Done => "Done",
            Answer::Refused { .. } => "Refused",
            Answer::NotSent { .. } => "NotSent",
            other @ (Answer::Drift { .. }
            | Answer::Credential
            | Answer::ServerError
            | Answer::Busy { .. }
            | Answer::NoAnswer { .. }) => panic!("{other:?}"),
        };
        writeln!(told, "{name} {may_write} {may_delete} {answer}").unwrap();
    }
    std::fs::write("answer", told).unwrap();
}

/// Writes, replaces, looks at and deletes 100 MB, then tells the most memory it ever had, in KiB.
fn memory(vault: &DirectoryVault) {
    let path = at("big.md");
    let mut bytes = vec![1u8; 100_000_000];
    assert_eq!(
        vault.write(&[order(&path, &bytes, Before::Absent)]),
        [Answer::Done]
    );
    let first = sha256(&bytes);
    bytes[5] = 2;
    assert_eq!(
        vault.write(&[order(&path, &bytes, Before::Bytes(first))]),
        [Answer::Done]
    );
    assert_eq!(vault.look(&path).unwrap(), seen(&bytes));
    let expected = sha256(&bytes);
    drop(bytes);
    assert!(
        matches!(vault.read(&path, 100_000_000).unwrap(), Content::Bytes(bytes) if sha256(&bytes) == expected)
    );
    let job_id = JobId::random();
    assert_eq!(
        vault.delete(&[DeleteOrder {
            job_id,
            path: &path,
            expected
        }]),
        [Answer::Done]
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    std::fs::write("answer", most.trim().trim_end_matches(" kB")).unwrap();
}
