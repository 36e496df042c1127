//! Keys and signatures against this crate's own verifier and, both ways, against a real `ssh-keygen`.
//!
//! Where `ssh-keygen` is not installed the tests that need it say so and return; continuous integration installs it.

use super::*;
use crate::approval::envelope::EnvelopeSignature;
use crate::approval::key::PublicKey;
use crate::approval::purpose::Purpose;
use crate::approval::sshsig::{Holder, SignatureError, SshSignature};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const INSTANCE: &str = "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001";
const PAYLOAD: &[u8] = b"{\"approval_version\":1}";

fn ssh_keygen() -> Option<Command> {
    let found = Command::new("ssh-keygen")
        .arg("-?")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status();
    if found.is_err() {
        println!("skipped: ssh-keygen is not installed (package openssh-client)");
        return None;
    }
    Some(Command::new("ssh-keygen"))
}

fn write_key(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
    path
}

fn armour(signature: &EnvelopeSignature) -> &str {
    match signature {
        EnvelopeSignature::Sshsig { armour } => armour,
        EnvelopeSignature::Ed25519 { .. } => panic!("an SSH signature was asked for"),
    }
}

/// `ssh-keygen -Y verify` over this signature.
fn verify_with(
    mut tool: Command,
    public: &PublicKey,
    namespace: &str,
    signature: &str,
    message: &[u8],
) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let allowed = dir.path().join("allowed");
    std::fs::write(&allowed, format!("alice {}\n", public.to_openssh())).unwrap();
    let file = dir.path().join("signature");
    std::fs::write(&file, signature).unwrap();
    let mut child = tool
        .args(["-Y", "verify", "-I", "alice", "-n", namespace, "-f"])
        .arg(&allowed)
        .arg("-s")
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(message).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn ssh_keygen_accepts_what_we_sign_and_only_that() {
    for purpose in Purpose::ALL {
        let key = ApproverKey::generate().unwrap();
        let signature = key.sign(Scheme::Sshsig, purpose, INSTANCE, PAYLOAD);
        let namespace = purpose.namespace(INSTANCE);
        for (name, message, fits) in [
            (namespace.as_str(), PAYLOAD, true),
            ("file", PAYLOAD, false),
            (&namespace, b"other", false),
        ] {
            let Some(tool) = ssh_keygen() else { return };
            let output = verify_with(tool, key.public(), name, armour(&signature), message);
            assert_eq!(
                output.status.success(),
                fits,
                "{name}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

#[test]
fn ssh_keygen_reads_the_key_files_we_write_and_signs_what_we_accept() {
    let Some(_) = ssh_keygen() else { return };
    let dir = tempfile::tempdir().unwrap();
    let key = ApproverKey::generate().unwrap();
    let path = write_key(dir.path(), "key", &key.to_openssh("alice@example.test").unwrap());
    let printed = Command::new("ssh-keygen")
        .args(["-y", "-f"])
        .arg(&path)
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(
        printed.trim_end(),
        format!("{} alice@example.test", key.public().to_openssh())
    );
    for purpose in Purpose::ALL {
        let (signature, signer) = external::sign(&path, purpose, INSTANCE, PAYLOAD).unwrap();
        assert_eq!(&signer, key.public());
        let parsed = SshSignature::parse(armour(&signature)).unwrap();
        assert_eq!(
            parsed.verify(&purpose.namespace(INSTANCE), PAYLOAD),
            Ok(Holder::NotVerified)
        );
        assert_eq!(parsed.verify("file", PAYLOAD), Err(SignatureError::Namespace));
        // ed25519 is deterministic: both make the same bytes, line breaks included.
        assert_eq!(signature, key.sign(Scheme::Sshsig, purpose, INSTANCE, PAYLOAD));
    }
}

#[test]
fn the_fingerprint_is_the_one_ssh_keygen_prints() {
    let Some(mut tool) = ssh_keygen() else { return };
    let dir = tempfile::tempdir().unwrap();
    let key = ApproverKey::generate().unwrap();
    let path = dir.path().join("key.pub");
    std::fs::write(&path, format!("{} a\n", key.public().to_openssh())).unwrap();
    let printed = tool.args(["-l", "-f"]).arg(&path).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(
        printed.split(' ').nth(1).unwrap(),
        key.public().fingerprint().to_string()
    );
}

#[test]
fn keys_that_ssh_keygen_makes_are_read_and_others_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (name, args, wanted) in [
        ("plain", &["-t", "ed25519", "-N", ""][..], "ok"),
        (
            "locked",
            &["-t", "ed25519", "-N", "secret", "-a", "1"],
            "encrypted",
        ),
        ("rsa", &["-t", "rsa", "-b", "2048", "-N", ""], "not ssh-ed25519"),
        ("ecdsa", &["-t", "ecdsa", "-N", ""], "not ssh-ed25519"),
        (
            "pem",
            &["-t", "rsa", "-b", "2048", "-m", "PEM", "-N", ""],
            "not an OpenSSH",
        ),
    ] {
        let Some(mut tool) = ssh_keygen() else { return };
        let path = dir.path().join(name);
        assert!(
            tool.args(["-q", "-f"])
                .arg(&path)
                .args(args)
                .status()
                .unwrap()
                .success()
        );
        let found = match ApproverKey::read(&std::fs::read(&path).unwrap()) {
            Ok(key) => {
                let public = std::fs::read_to_string(path.with_extension("pub")).unwrap();
                assert!(public.starts_with(&key.public().to_openssh()));
                "ok".to_owned()
            }
            Err(error) => error.to_string(),
        };
        assert!(found.contains(wanted), "{name}: {found}");
    }
}

#[test]
fn a_key_survives_its_file_and_shows_no_secret() {
    let key = ApproverKey::from_seed(&[7; 32]).unwrap();
    let text = key.to_openssh("comment").unwrap();
    let again = ApproverKey::read(text.as_bytes()).unwrap();
    assert_eq!(again.public(), key.public());
    assert_eq!(
        again.sign(Scheme::Ed25519, Purpose::Approval, "i", b"x"),
        key.sign(Scheme::Ed25519, Purpose::Approval, "i", b"x")
    );
    let shown = format!("{key:?}");
    assert!(
        shown.contains("SHA256:") && !shown.contains("7, 7") && !shown.contains("0707"),
        "{shown}"
    );
    assert!(key.to_openssh("two\nlines").is_err());
    for bad in [
        "",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        &text[..text.len() / 2],
        "ssh-ed25519 AAAA",
    ] {
        assert!(
            matches!(ApproverKey::read(bad.as_bytes()), Err(SigningError::Format)),
            "{bad}"
        );
    }
}

#[test]
fn a_key_file_whose_halves_differ_is_refused() {
    use ssh_key::private::{Ed25519Keypair, KeypairData, PrivateKey};
    let mut both = [1u8; 64];
    both[32..].copy_from_slice(ApproverKey::from_seed(&[2; 32]).unwrap().public().point());
    let pair = KeypairData::Ed25519(Ed25519Keypair::from_bytes(&both).unwrap());
    let text = PrivateKey::new(pair, "x")
        .unwrap()
        .to_openssh(ssh_key::LineEnding::LF)
        .unwrap();
    assert!(matches!(
        ApproverKey::read(text.as_bytes()),
        Err(SigningError::Format)
    ));
}

#[test]
fn no_key_no_signature() {
    let Some(_) = ssh_keygen() else { return };
    let dir = tempfile::tempdir().unwrap();
    let refused = external::sign(&dir.path().join("absent"), Purpose::Approval, INSTANCE, PAYLOAD);
    assert!(matches!(refused, Err(external::ExternalError::Failed(_))));
}
