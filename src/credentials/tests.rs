//! Credentials that are there, wrong, missing, or somebody else's.

use super::*;
use crate::durable::Made;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const KEY: &str = "000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f";

fn load(dir: &Path) -> Credentials {
    Credentials::load(Role::Delete, Place::HandedOver(Some(dir.to_path_buf()))).unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_handed_over_is_read_without_its_line_end() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("vault-token"), "t0ken\r\n").unwrap();
    std::fs::write(dir.path().join("recovery-key"), KEY).unwrap();
    let mut binary = [0xf0u8; 32];
    binary[31] = b'\n';
    std::fs::write(dir.path().join("backup-key"), binary).unwrap();
    let credentials = load(dir.path());
    assert_eq!(
        credentials.get(CredentialName::VaultToken).unwrap().text(),
        Some("t0ken")
    );
    assert_eq!(
        credentials.get(CredentialName::RecoveryKey).unwrap().bytes(),
        KEY.as_bytes()
    );
    assert_eq!(
        credentials.get(CredentialName::BackupKey).unwrap().bytes(),
        binary
    );
}

#[test]
fn t39_each_wrong_file_is_a_fault_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vault-token");
    let shown = path.display().to_string();
    let told = |expected: &str| {
        let credentials = load(dir.path());
        let fault = credentials
            .get(CredentialName::VaultToken)
            .unwrap_err()
            .to_string();
        assert!(fault.contains(&shown) && fault.contains(expected), "{fault}");
    };
    told("is missing");
    for empty in ["", "\n", " \r\n\t"] {
        std::fs::write(&path, empty).unwrap();
        told("is empty");
    }
    std::fs::write(&path, vec![b'a'; file::CREDENTIAL_BYTES_MAX]).unwrap();
    load(dir.path()).get(CredentialName::VaultToken).unwrap();
    std::fs::write(&path, vec![b'a'; file::CREDENTIAL_BYTES_MAX + 1]).unwrap();
    told("longer than 8192 bytes");
    for bad in ["two words\n", "two\nlines\n", "nul\0", "umlaut-ä"] {
        std::fs::write(&path, bad).unwrap();
        told("not one line of printable ASCII");
    }
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
    told("not a regular file");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    told("not a regular file");
    std::fs::remove_dir(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    told("not a regular file");
}

#[test]
fn a_short_key_is_a_fault() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("recovery-key"), &KEY[..31]).unwrap();
    let credentials = load(dir.path());
    let fault = credentials.get(CredentialName::RecoveryKey).unwrap_err();
    assert!(
        matches!(fault, CredentialFault::TooShort { limit: 32, .. }),
        "{fault}"
    );
}

#[test]
fn t39_nothing_handed_over_is_told_for_each_credential() {
    for place in [
        Place::HandedOver(None),
        Place::Playground(PathBuf::from("/nowhere/at/all")),
    ] {
        let credentials = Credentials::load(Role::Delete, place).unwrap();
        for name in CredentialName::ALL {
            let fault = credentials.get(name).unwrap_err().to_string();
            assert!(
                fault.contains(name.file_name()) && fault.contains("LoadCredential"),
                "{fault}"
            );
        }
    }
}

#[test]
fn a_directory_that_is_none_is_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let fault = Credentials::load(Role::Save, Place::HandedOver(Some(file.clone()))).unwrap_err();
    assert!(
        matches!(&fault, CredentialFault::Directory { path, .. } if *path == file),
        "{fault}"
    );
}

#[test]
fn a_role_has_only_its_own_credentials() {
    let dir = tempfile::tempdir().unwrap();
    for name in CredentialName::ALL {
        std::fs::write(dir.path().join(name.file_name()), KEY).unwrap();
    }
    let of = |role| Credentials::load(role, Place::Playground(dir.path().to_path_buf())).unwrap();
    let count = |role| {
        CredentialName::ALL
            .iter()
            .filter(|name| of(role).get(**name).is_ok())
            .count()
    };
    assert_eq!(
        (count(Role::Delete), count(Role::Save), count(Role::Gateway)),
        (4, 3, 0)
    );
    assert!(of(Role::Save).get(CredentialName::RecoveryKey).is_err());
}

#[test]
fn a_changed_credential_is_seen_by_reload() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vault-token");
    let mut credentials = load(dir.path());
    assert!(!credentials.reload().unwrap());
    std::fs::write(&path, "one").unwrap();
    assert!(credentials.reload().unwrap());
    let held = credentials.get(CredentialName::VaultToken).unwrap();
    assert!(!credentials.reload().unwrap());
    std::fs::write(&path, "two").unwrap();
    assert!(credentials.reload().unwrap());
    assert_eq!(
        credentials.get(CredentialName::VaultToken).unwrap().text(),
        Some("two")
    );
    assert_eq!(held.text(), Some("one"), "who holds the old one keeps it");
    std::fs::remove_file(&path).unwrap();
    assert!(credentials.reload().unwrap());
    credentials.get(CredentialName::VaultToken).unwrap_err();
}

#[test]
fn t40_a_secret_does_not_show() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("vault-token"), "canary-token").unwrap();
    std::fs::write(dir.path().join("source-token"), "canary token with spaces").unwrap();
    let shown = format!("{:?}", load(dir.path()));
    assert!(!shown.contains("canary"), "{shown}");
    assert!(!shown.contains("99, 97, 110"), "{shown}");
}

#[test]
fn a_playground_key_is_made_once_and_private() {
    let dir = tempfile::tempdir().unwrap();
    let all = dir.path().join("credentials");
    let make = || create_playground_key(&all, Role::Delete, CredentialName::RecoveryKey).unwrap();
    assert_eq!(make(), Made::New);
    let path = all.join("delete/recovery-key");
    let first = std::fs::read(&path).unwrap();
    assert_eq!(make(), Made::WasThere);
    assert_eq!(std::fs::read(&path).unwrap(), first);
    for (path, mode) in [(&path, 0o600), (&all.join("delete"), 0o700), (&all, 0o700)] {
        assert_eq!(
            path.metadata().unwrap().permissions().mode() & 0o7777,
            mode,
            "{}",
            path.display()
        );
    }
    let credentials = Credentials::load(Role::Delete, Place::Playground(all.join("delete"))).unwrap();
    assert_eq!(
        credentials
            .get(CredentialName::RecoveryKey)
            .unwrap()
            .bytes()
            .len(),
        64
    );
    create_playground_key(&all, Role::Save, CredentialName::RecoveryKey).unwrap_err();
    assert!(!all.join("save").exists());
}

#[test]
fn what_another_role_holds_and_we_can_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let installed = dir.path().join("credentials");
    let units = dir.path().join("run");
    let own = units.join("lockgate-save.service");
    for path in [&installed.join("save"), &own, &units.join("sshd.service")] {
        std::fs::create_dir_all(path).unwrap();
    }
    let judge = || refuse_foreign(Role::Save, &installed, Some(&own));
    judge().unwrap();
    refuse_foreign(Role::Save, &dir.path().join("none"), None).unwrap();
    let theirs = installed.join("delete");
    std::fs::create_dir(&theirs).unwrap();
    assert_eq!(
        judge(),
        Err(CredentialFault::Foreign {
            path: theirs.clone(),
            role: Role::Save
        })
    );
    let handed = refuse_foreign(Role::Save, &installed, Some(&theirs));
    assert_eq!(
        handed,
        Err(CredentialFault::Foreign {
            path: theirs.clone(),
            role: Role::Save
        })
    );
    std::fs::remove_dir(&theirs).unwrap();
    judge().unwrap();
    let unit = units.join("lockgate-delete.service");
    std::fs::create_dir(&unit).unwrap();
    assert_eq!(
        judge(),
        Err(CredentialFault::Foreign {
            path: unit,
            role: Role::Save
        })
    );
}

/// What a user without privileges meets; run again as such a user by the test below.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test that runs itself again hands the directory over in the environment"
)]
fn judged_by_an_ordinary_user() {
    let Some(dir) = std::env::var_os("LOCKGATE_TEST_FOREIGN").map(PathBuf::from) else {
        return;
    };
    assert_ne!(rustix::process::geteuid().as_raw(), 0);
    let installed = dir.join("credentials");
    let own = dir.join("run/lockgate-save.service");
    let judge = |case: &str| refuse_foreign(Role::Save, &installed.join(case), Some(&own));
    judge("closed").unwrap();
    judge("listable").unwrap_err();
    let entered = judge("enterable").unwrap_err();
    assert!(
        matches!(&entered, CredentialFault::Foreign { path, .. } if path.ends_with("delete/vault-token")),
        "{entered}"
    );
    let closed = installed.join("closed/delete");
    Credentials::load(Role::Delete, Place::HandedOver(Some(closed))).unwrap_err();
    let unreadable = Credentials::load(
        Role::Delete,
        Place::HandedOver(Some(installed.join("unreadable"))),
    )
    .unwrap();
    let fault = unreadable.get(CredentialName::VaultToken).unwrap_err();
    assert!(matches!(fault, CredentialFault::Unreadable { .. }), "{fault}");
}

#[test]
fn another_roles_credentials_are_judged_by_access_and_not_by_mode() {
    use std::os::unix::process::CommandExt;
    let dir = tempfile::tempdir().unwrap();
    let installed = dir.path().join("credentials");
    set_mode(dir.path(), 0o755);
    for (case, mode, file_mode) in [
        ("closed", 0o700, 0o644),
        ("listable", 0o704, 0o600),
        ("enterable", 0o711, 0o644),
    ] {
        let theirs = installed.join(case).join("delete");
        std::fs::create_dir_all(&theirs).unwrap();
        std::fs::write(theirs.join("vault-token"), "x").unwrap();
        set_mode(&theirs.join("vault-token"), file_mode);
        set_mode(&theirs, mode);
    }
    std::fs::create_dir_all(installed.join("unreadable")).unwrap();
    std::fs::write(installed.join("unreadable/vault-token"), "x").unwrap();
    set_mode(&installed.join("unreadable/vault-token"), 0o000);
    std::fs::create_dir_all(dir.path().join("run/lockgate-save.service")).unwrap();
    if rustix::process::geteuid().as_raw() != 0 {
        // Modes do not bind their owner to "others": only root can start the ordinary user.
        return;
    }
    let binary = dir.path().join("test-binary");
    std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    set_mode(&binary, 0o755);
    let output = Command::new(&binary)
        .args(["--exact", "credentials::tests::judged_by_an_ordinary_user"])
        .env("LOCKGATE_TEST_FOREIGN", dir.path())
        .current_dir("/")
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
