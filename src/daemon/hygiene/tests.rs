//! Tests of the process's hygiene. Those that need files of two users are run as root; elsewhere they say so and pass.

use super::installation::foreign_credentials;
use super::*;
use crate::config::{Config, Installation, People, Surroundings, load_with};
use crate::job::Role;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

const SAVE: u32 = 61_001;
const DELETE: u32 = 61_002;

struct Site {
    dir: tempfile::TempDir,
    config: Config,
}

fn set(path: &Path, owner: u32, mode: u32) {
    std::os::unix::fs::chown(path, Some(owner), Some(owner)).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A packaged installation below a temporary directory, right in every way. None unless root makes it.
fn site() -> Option<Site> {
    if uid() != 0 {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |part: &str| dir.path().join(part);
    for part in ["state", "spool", "etc", "etc/credentials", "fence"] {
        std::fs::create_dir_all(at(part)).unwrap();
        set(&at(part), 0, 0o755);
    }
    set(&at("etc/credentials"), 0, 0o700);
    for (role, owner) in [("save", SAVE), ("delete", DELETE)] {
        for (part, mode) in [
            (format!("state/{role}"), 0o700),
            (format!("spool/{role}"), 0o750),
            (format!("spool/{role}/drop"), 0o3733),
            (format!("spool/{role}/gate"), 0o1770),
        ] {
            std::fs::create_dir(at(&part)).unwrap();
            set(&at(&part), owner, mode);
        }
    }
    set(&at("fence"), 0, 0o3770);
    std::fs::write(at("fence/lock"), "").unwrap();
    set(&at("fence/lock"), 0, 0o660);
    std::fs::write(at("etc/approvers"), "").unwrap();
    set(&at("etc/approvers"), 0, 0o640);
    let root = dir.path().display();
    let text = format!(
        "instance = \"6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001\"\n[source]\nref = \"main\"\nrepository = \"r\"\n\
         path = \"/srv/r\"\n[vault]\npath = \"/srv/v\"\nid = \"v1\"\nshared_write_accepted = true\n[paths]\n\
         state = \"{root}/state\"\nspool = \"{root}/spool\"\nfence = \"{root}/fence\"\nrun = \"{root}/run\"\n\
         approvers = \"{root}/etc/approvers\"\n"
    );
    let file = at("etc/lockgate.toml");
    std::fs::write(&file, text).unwrap();
    set(&file, 0, 0o644);
    let surroundings = Surroundings {
        people: Ok(People::default()),
        credentials_directory: None,
    };
    let config = load_with(&Installation::File(file), &surroundings).unwrap();
    Some(Site { dir, config })
}

impl Site {
    fn at(&self, part: &str) -> PathBuf {
        self.dir.path().join(part)
    }
    /// The exit statuses and what the messages are about.
    fn told(&self, role: Role, uid: u32) -> Vec<(u8, String)> {
        let root = format!("{}/", self.dir.path().display());
        self_check(&self.config, role, uid)
            .into_iter()
            .map(|complaint| {
                let message = complaint.message.replace(&root, "");
                (
                    complaint.exit.code(),
                    message.split(' ').next().unwrap_or_default().to_owned(),
                )
            })
            .collect()
    }
}

#[test]
fn an_installation_that_is_right_has_no_complaint() {
    let Some(site) = site() else { return };
    assert_eq!(site.told(Role::Save, SAVE), []);
    assert_eq!(site.told(Role::Delete, DELETE), []);
    std::fs::write(site.at("state/save/inbox.db"), "").unwrap();
    set(&site.at("state/save/inbox.db"), SAVE, 0o600);
    assert_eq!(site.told(Role::Save, SAVE), []);
}

#[test]
fn production_refuses_root() {
    let Some(site) = site() else { return };
    assert_eq!(site.told(Role::Save, 0), [(77, "running".to_owned())]);
}

#[test]
fn a_user_that_has_another_roles_directory_is_refused() {
    let Some(site) = site() else { return };
    set(&site.at("state/delete"), SAVE, 0o700);
    assert_eq!(site.told(Role::Save, SAVE), [(77, "state/delete".to_owned())]);
    assert_eq!(site.told(Role::Delete, DELETE), [(77, "state/delete".to_owned())]);
    set(&site.at("state/delete"), DELETE, 0o700);
    set(&site.at("spool/delete/drop"), SAVE, 0o3733);
    assert_eq!(
        site.told(Role::Save, SAVE),
        [(77, "spool/delete/drop".to_owned())]
    );
}

#[test]
fn state_that_is_open_to_others_or_of_another_shape_is_refused() {
    let Some(site) = site() else { return };
    set(&site.at("state/save"), SAVE, 0o750);
    assert_eq!(site.told(Role::Save, SAVE), [(78, "state/save".to_owned())]);
    assert_eq!(site.told(Role::Delete, DELETE), [(78, "state/save".to_owned())]);
    set(&site.at("state/save"), SAVE, 0o700);
    for (name, mode) in [
        ("inbox.db", 0o640),
        ("inbox.db-wal", 0o604),
        ("spent.log", 0o620),
        ("epoch", 0o601),
    ] {
        let path = site.at("state/save").join(name);
        std::fs::write(&path, "").unwrap();
        set(&path, SAVE, mode);
        assert_eq!(site.told(Role::Save, SAVE), [(78, format!("state/save/{name}"))]);
        std::fs::remove_file(&path).unwrap();
    }
    let link = site.at("state/save/inbox.db");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    assert_eq!(
        site.told(Role::Save, SAVE),
        [(78, "state/save/inbox.db".to_owned())]
    );
    std::fs::remove_file(&link).unwrap();
    std::fs::remove_dir(site.at("state/save")).unwrap();
    assert_eq!(site.told(Role::Save, SAVE), [(78, "state/save".to_owned())]);
}

#[test]
fn spool_fence_and_policy_must_be_as_the_package_makes_them() {
    let Some(site) = site() else { return };
    for (part, owner, mode, right, status, role, user) in [
        (
            "spool/save/drop",
            SAVE,
            0o3777,
            (SAVE, 0o3733),
            78,
            Role::Save,
            SAVE,
        ),
        (
            "spool/save/gate",
            SAVE,
            0o1777,
            (SAVE, 0o1770),
            78,
            Role::Save,
            SAVE,
        ),
        ("spool/save", DELETE, 0o750, (SAVE, 0o750), 77, Role::Save, SAVE),
        ("fence", SAVE, 0o3770, (0, 0o3770), 78, Role::Save, SAVE),
        ("fence/lock", 0, 0o666, (0, 0o660), 78, Role::Delete, DELETE),
        ("state", 0, 0o777, (0, 0o755), 78, Role::Save, SAVE),
        ("spool", SAVE, 0o755, (0, 0o755), 78, Role::Save, SAVE),
        (
            "etc/approvers",
            DELETE,
            0o600,
            (0, 0o640),
            78,
            Role::Delete,
            DELETE,
        ),
        ("etc/lockgate.toml", 0, 0o666, (0, 0o644), 78, Role::Save, SAVE),
        ("etc", SAVE, 0o755, (0, 0o755), 78, Role::Save, SAVE),
    ] {
        set(&site.at(part), owner, mode);
        assert_eq!(site.told(role, user), [(status, part.to_owned())]);
        set(&site.at(part), right.0, right.1);
        assert_eq!(site.told(role, user), []);
    }
    std::fs::remove_file(site.at("fence/lock")).unwrap();
    assert_eq!(site.told(Role::Save, SAVE), [(78, "fence/lock".to_owned())]);
}

#[test]
fn a_credential_of_another_role_that_can_be_read_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let text = "instance = \"i-1\"\nsource.ref = \"main\"\nsource.repository = \"r\"\n";
    std::fs::write(dir.path().join("lockgate.toml"), text).unwrap();
    let surroundings = Surroundings {
        people: Ok(People::default()),
        credentials_directory: None,
    };
    let config = load_with(&Installation::Dir(dir.path().to_owned()), &surroundings).unwrap();
    let units = dir.path().join("units");
    for part in [
        "credentials/save",
        "credentials/delete",
        "units/lockgate-save.service",
        "units/lockgate-delete.service",
        "units/other.service",
    ] {
        std::fs::create_dir_all(dir.path().join(part)).unwrap();
        std::fs::write(dir.path().join(part).join("token"), "x").unwrap();
    }
    let own = units.join("lockgate-save.service");
    let found = foreign_credentials(&config, Role::Save, &units, Some(&own));
    assert_eq!(
        found,
        [
            dir.path().join("credentials/delete/token"),
            units.join("lockgate-delete.service/token")
        ]
    );
}

#[test]
fn in_development_modes_are_put_right_and_a_missing_state_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let text = "instance = \"i-1\"\nsource.ref = \"main\"\nsource.repository = \"r\"\n";
    std::fs::write(dir.path().join("lockgate.toml"), text).unwrap();
    let surroundings = Surroundings {
        people: Ok(People::default()),
        credentials_directory: None,
    };
    let config = load_with(&Installation::Dir(dir.path().to_owned()), &surroundings).unwrap();
    assert_eq!(
        self_check(&config, Role::Save, uid())[0].exit,
        Exit::Configuration
    );
    let state = config.layout.state_dir(Role::Save);
    std::fs::create_dir_all(state.join("quarantine")).unwrap();
    std::fs::write(config.layout.inbox_db(Role::Save), "").unwrap();
    for path in [
        state.clone(),
        state.join("quarantine"),
        config.layout.inbox_db(Role::Save),
    ] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    assert_eq!(self_check(&config, Role::Save, uid()), []);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!((mode(&state), mode(&state.join("quarantine"))), (0o700, 0o700));
    assert_eq!(mode(&config.layout.inbox_db(Role::Save)), 0o600);
    assert_eq!(
        self_check(&config, Role::Save, uid() + 1)[0].exit,
        Exit::Permission
    );
}

#[test]
fn the_boot_id_is_the_same_from_the_manager_and_from_the_kernel() {
    let kernel = "3B241101-e2bb-4255-8caf-4136c566a962\n";
    assert_eq!(
        plain_boot_id(kernel),
        plain_boot_id("3b241101e2bb42558caf4136c566a962")
    );
    for text in ["", "%b", "3b241101", "zz241101e2bb42558caf4136c566a962"] {
        assert_eq!(plain_boot_id(text), None, "{text}");
    }
}

#[test]
fn a_hardened_process_leaves_no_core_and_opens_nothing_to_others() {
    let child = "daemon::hygiene::tests::the_hardened_child";
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", child])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}

#[test]
#[ignore = "changes its process for good: run as a child by the test above"]
fn the_hardened_child() {
    use rustix::process::{DumpableBehavior, Resource};
    harden().unwrap();
    harden().unwrap();
    let core = rustix::process::getrlimit(Resource::Core);
    assert_eq!((core.current, core.maximum), (Some(0), Some(0)));
    assert_eq!(
        rustix::process::dumpable_behavior().unwrap(),
        DumpableBehavior::NotDumpable
    );
    assert_eq!(
        rustix::process::umask(rustix::fs::Mode::empty()).as_raw_mode(),
        0o077
    );
}
