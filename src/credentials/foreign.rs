//! What other roles hold must be closed to this process. In: the installed credentials, the own directory. Out: nothing, or
//! the first thing that could be read.
//!
//! Judged by trying: modes say nothing about capabilities, access lists and mounts.
//! Not here: owners and modes of the rest of the installation (daemon/hygiene).

use super::{CredentialFault, CredentialName};
use crate::job::Role;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::Path;

/// Refuses if this process can list another role's credential directory or open a credential in it: below `installed_dir`
/// (`/etc/lockgate/credentials`), and beside `own_dir`, where the service manager keeps what it handed to other units.
///
/// # Errors
/// [`CredentialFault::Foreign`], or [`CredentialFault::Unjudged`] where it cannot be told.
pub fn refuse_foreign(
    role: Role,
    installed_dir: &Path,
    own_dir: Option<&Path>,
) -> Result<(), CredentialFault> {
    for other in Role::ALL.into_iter().filter(|other| *other != role) {
        let dir = installed_dir.join(other.as_str());
        if own_dir == Some(dir.as_path()) {
            return Err(CredentialFault::Foreign { path: dir, role });
        }
        refuse_readable(role, &dir)?;
    }
    let Some(own) = own_dir else { return Ok(()) };
    for other in beside(role, own)? {
        refuse_readable(role, &other)?;
    }
    Ok(())
}

/// Directories of our other units. A parent that cannot be listed is as it should be: then their names are guessed.
fn beside(role: Role, own: &Path) -> Result<Vec<std::path::PathBuf>, CredentialFault> {
    let (Some(parent), Some(own_name)) = (own.parent(), own.file_name()) else {
        return Ok(Vec::new());
    };
    let ours = |name: &OsStr| name != own_name && name.as_encoded_bytes().starts_with(b"lockgate");
    let unjudged = |error: std::io::Error| CredentialFault::Unjudged {
        path: parent.to_path_buf(),
        role,
        why: error.to_string(),
    };
    match std::fs::read_dir(parent) {
        Ok(entries) => {
            let mut found = Vec::new();
            for entry in entries {
                let entry = entry.map_err(unjudged)?;
                if ours(&entry.file_name()) {
                    found.push(entry.path());
                }
            }
            Ok(found)
        }
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::NotFound
            ) =>
        {
            let guess = |other: Role| parent.join(format!("lockgate-{other}.service"));
            Ok(Role::ALL
                .into_iter()
                .filter(|other| *other != role)
                .map(guess)
                .collect())
        }
        Err(error) => Err(unjudged(error)),
    }
}

fn refuse_readable(role: Role, dir: &Path) -> Result<(), CredentialFault> {
    let files = CredentialName::ALL.map(|name| dir.join(name.file_name()));
    for path in std::iter::once(dir).chain(files.iter().map(std::path::PathBuf::as_path)) {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(_) => {
                return Err(CredentialFault::Foreign {
                    path: path.to_path_buf(),
                    role,
                });
            }
            Err(Errno::NOENT | Errno::ACCESS | Errno::PERM) => {}
            Err(error) => {
                return Err(CredentialFault::Unjudged {
                    path: path.to_path_buf(),
                    role,
                    why: error.to_string(),
                });
            }
        }
    }
    Ok(())
}
