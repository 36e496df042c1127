//! Owners and modes of an installation, judged for one role and user. In: a configuration. Out: complaints; empty means
//! that the role may start.
//!
//! Not here: what is inside the files (ledger/, safeguard/), making a missing installation (`lockgate up`, the package).

use super::Complaint;
use crate::config::{Config, Mode, People};
use crate::job::Role;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Judges the installation for one role and user. Empty means that the role may start.
///
/// In development one user has every role, so only the role's own state is looked at, and its mode is put right.
pub fn self_check(config: &Config, role: Role, uid: u32) -> Vec<Complaint> {
    let mut found = Vec::new();
    match config.mode {
        Mode::Development => own_state(config, role, uid, Repair::Modes, &mut found),
        Mode::Production => {
            if uid == 0 {
                found.push(Complaint::permission(format!(
                    "running as root is refused in production: run it as lockgate-{role} (User= in the unit)"
                )));
                return found;
            }
            own_state(config, role, uid, Repair::Nothing, &mut found);
            own_spool(config, role, uid, &mut found);
            fence(config, role, uid, &mut found);
            others(config, role, uid, &mut found);
            policy_files(config, role, uid, &mut found);
            admin_group(role, uid, &mut found);
        }
    }
    found
}

/// Whether a mode that is too open is changed or complained about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    Modes,
    Nothing,
}

/// Files and directories a role makes in its state directory.
const STATE_FILES: [&str; 10] = [
    "inbox.db",
    "inbox.db-wal",
    "inbox.db-shm",
    "limits.db",
    "limits.db-wal",
    "limits.db-shm",
    "epoch",
    "spent.log",
    "start.lock",
    "frozen",
];
const STATE_DIRS: [&str; 3] = ["quarantine", "recovery", "backups"];

fn own_state(config: &Config, role: Role, uid: u32, repair: Repair, found: &mut Vec<Complaint>) {
    let directory = config.layout.state_dir(role);
    match look(&directory) {
        Ok(Some(about)) => private(&directory, &about, Shape::Directory, role, uid, repair, found),
        Ok(None) => {
            found.push(Complaint::configuration(format!(
                "{} does not exist: make it with owner lockgate-{role} and mode 0700 (the package does, or `lockgate up`)",
                directory.display()
            )));
            return;
        }
        Err(complaint) => {
            found.push(complaint);
            return;
        }
    }
    let files = STATE_FILES.iter().map(|name| (name, Shape::File));
    let directories = STATE_DIRS.iter().map(|name| (name, Shape::Directory));
    for (name, shape) in files.chain(directories) {
        let path = directory.join(name);
        match look(&path) {
            Ok(Some(about)) => private(&path, &about, shape, role, uid, repair, found),
            Ok(None) => {}
            Err(complaint) => found.push(complaint),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    File,
    Directory,
}

/// Ours, of the right shape, with no bit for group or others.
fn private(
    path: &Path,
    about: &Metadata,
    shape: Shape,
    role: Role,
    uid: u32,
    repair: Repair,
    found: &mut Vec<Complaint>,
) {
    let (fits, word, mode) = match shape {
        Shape::File => (about.is_file(), "a regular file", 0o600),
        Shape::Directory => (about.is_dir(), "a directory", 0o700),
    };
    let shown = path.display();
    if !fits {
        found.push(Complaint::configuration(format!(
            "{shown} is not {word}: move it away"
        )));
        return;
    }
    if about.uid() != uid {
        found.push(Complaint::permission(format!(
            "{shown} belongs to UID {} and this process is UID {uid}: run as that user, or chown lockgate-{role} {shown}",
            about.uid()
        )));
        return;
    }
    let open = about.mode() & 0o077 != 0;
    let repaired = repair == Repair::Modes
        && open
        && std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).is_ok();
    if open && !repaired {
        found.push(Complaint::configuration(format!(
            "{shown} is open to others (mode {:04o}): chmod {mode:04o} {shown}",
            about.mode() & 0o7777
        )));
    }
}

/// The drop and gate directories: their modes are what keeps requesters apart.
fn own_spool(config: &Config, role: Role, uid: u32, found: &mut Vec<Complaint>) {
    match role {
        Role::Gateway => return,
        Role::Save | Role::Delete => {}
    }
    let layout = &config.layout;
    for (path, mode) in [
        (layout.spool_dir(role), 0o750),
        (layout.drop_dir(role), 0o3733),
        (layout.gate_dir(role), 0o1770),
    ] {
        let shown = path.display();
        let right = format!("owner lockgate-{role}, mode {mode:04o} (systemd-tmpfiles --create makes it)");
        match look(&path) {
            Ok(Some(about)) if !about.is_dir() => {
                found.push(Complaint::configuration(format!(
                    "{shown} is not a directory: it must be one, {right}"
                )));
            }
            Ok(Some(about)) if about.uid() != uid => {
                let message = format!("{shown} belongs to UID {}: it must have {right}", about.uid());
                found.push(Complaint::permission(message));
            }
            Ok(Some(about)) if about.mode() & 0o7777 != mode => {
                let message = format!(
                    "{shown} has mode {:04o}: it must have {right}",
                    about.mode() & 0o7777
                );
                found.push(Complaint::configuration(message));
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                found.push(Complaint::configuration(format!(
                    "{shown} does not exist: it must, with {right}"
                )));
            }
            Err(complaint) => found.push(complaint),
        }
    }
}

/// The fence is nobody's own: a role that owned it could take the lock file away under the other one.
fn fence(config: &Config, role: Role, uid: u32, found: &mut Vec<Complaint>) {
    match role {
        Role::Gateway => return,
        Role::Save | Role::Delete => {}
    }
    for (path, is_right, mode) in [
        (
            config.layout.fence_dir.clone(),
            Metadata::is_dir as fn(&Metadata) -> bool,
            "3770",
        ),
        (
            config.layout.fence_lock(),
            Metadata::is_file as fn(&Metadata) -> bool,
            "0660",
        ),
    ] {
        let shown = path.display();
        let right =
            format!("owner root, group lockgate-fence, mode {mode} (systemd-tmpfiles --create makes it)");
        match look(&path) {
            Ok(Some(about)) if !is_right(&about) || about.uid() == uid || about.mode() & 0o007 != 0 => {
                found.push(Complaint::configuration(format!(
                    "{shown} is not as it must be: {right}"
                )));
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                found.push(Complaint::configuration(format!(
                    "{shown} does not exist: it must have {right}"
                )));
            }
            Err(complaint) => found.push(complaint),
        }
    }
}

/// Nothing of another role may be ours, or open to us.
fn others(config: &Config, role: Role, uid: u32, found: &mut Vec<Complaint>) {
    let layout = &config.layout;
    for other in Role::ALL.into_iter().filter(|other| *other != role) {
        for path in [
            layout.state_dir(other),
            layout.spool_dir(other),
            layout.drop_dir(other),
            layout.gate_dir(other),
        ] {
            if let Ok(Some(about)) = look(&path)
                && about.uid() == uid
            {
                found.push(Complaint::permission(format!(
                    "{0} is another role's and belongs to this user (UID {uid}): give each role a user of its own, \
                     chown lockgate-{other} {0}",
                    path.display()
                )));
            }
        }
        let state = layout.state_dir(other);
        if let Ok(Some(about)) = look(&state)
            && about.uid() != uid
            && about.mode() & 0o077 != 0
        {
            found.push(Complaint::configuration(format!(
                "{0} is open to others: chmod 0700 {0}",
                state.display()
            )));
        }
    }
    // Whoever may write the parent may replace what is in it, the file `frozen` included.
    for parent in [&layout.state, &layout.spool] {
        if let Ok(Some(about)) = look(parent)
            && (about.uid() == uid || about.mode() & 0o022 != 0)
        {
            found.push(Complaint::configuration(format!(
                "{0} can be changed by a role: chown root {0}; chmod 0755 {0}",
                parent.display()
            )));
        }
    }
    let own = layout.credentials_dir(role);
    for path in foreign_credentials(config, role, Path::new("/run/credentials"), own.as_deref()) {
        found.push(Complaint::permission(format!(
            "{0} is another role's credential and this process can read it: chmod 0700 its directory, owner root, and \
             give each role a user of its own",
            path.display()
        )));
    }
}

/// Files of other roles' credentials that this process can read: beside the configuration, and those the service
/// manager handed to other units.
pub(super) fn foreign_credentials(
    config: &Config,
    role: Role,
    handed_over: &Path,
    own: Option<&Path>,
) -> Vec<PathBuf> {
    let kept = config
        .layout
        .main_file
        .parent()
        .map(|parent| parent.join("credentials"));
    let kept = Role::ALL
        .into_iter()
        .filter(|other| *other != role)
        .filter_map(|other| {
            let kept = kept.as_ref()?;
            Some(kept.join(other.as_str()))
        });
    let units = std::fs::read_dir(handed_over)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_ours = own == Some(entry.path().as_path());
            (entry.file_name().as_encoded_bytes().starts_with(b"lockgate") && !is_ours).then(|| entry.path())
        });
    kept.chain(units)
        .filter_map(|directory| readable_file(&directory))
        .collect()
}

/// The first file in a directory that can be opened.
fn readable_file(directory: &Path) -> Option<PathBuf> {
    std::fs::read_dir(directory)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| {
            let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
            is_file && std::fs::File::open(path).is_ok()
        })
}

/// What decides about this process must not be in its own hands.
fn policy_files(config: &Config, role: Role, uid: u32, found: &mut Vec<Complaint>) {
    let approvers = match role {
        Role::Delete => Some(&config.layout.approvers),
        Role::Save | Role::Gateway => None,
    };
    let directories = config
        .files
        .iter()
        .filter_map(|file| file.parent().map(Path::to_owned));
    let all: std::collections::BTreeSet<PathBuf> = config
        .files
        .iter()
        .cloned()
        .chain(directories)
        .chain(approvers.cloned())
        .collect();
    for path in all {
        if let Ok(about) = std::fs::metadata(&path)
            && (about.uid() == uid || about.mode() & 0o022 != 0)
        {
            found.push(Complaint::configuration(format!(
                "{0} can be changed by this role or by others: chown root {0}; chmod go-w {0}",
                path.display()
            )));
        }
    }
}

/// A role that is an operator could resolve its own jobs.
fn admin_group(role: Role, uid: u32, found: &mut Vec<Complaint>) {
    let members = People::of_this_machine()
        .ok()
        .and_then(|people| people.members("lockgate-admin").ok());
    if members.is_some_and(|members| members.contains(&uid)) {
        found.push(Complaint::permission(format!(
            "this user (UID {uid}) is in group lockgate-admin: gpasswd -d lockgate-{role} lockgate-admin"
        )));
    }
}

/// What is at a path, without following a link at its end.
fn look(path: &Path) -> Result<Option<Metadata>, Complaint> {
    match std::fs::symlink_metadata(path) {
        Ok(about) => Ok(Some(about)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Complaint::configuration(format!(
            "{} cannot be looked at: {error}",
            path.display()
        ))),
    }
}
