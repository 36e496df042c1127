//! Which vault this is, and whether its file system can do what safe writes need. In: a root descriptor and the settings.
//! Out: yes, or why not.
//!
//! Not here: orders.

use super::file::{Moved, exchange, move_free, remove};
use super::{Settings, fault, io_fault, names};
use crate::failpoint;
use crate::target::VaultDown;
use crate::target::open::{Confined, Standing, open_file};
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// An id and a newline; anything longer is no marker.
const MARKER_BYTES_MAX: u64 = 160;

/// Reads the marker through the root's descriptor and compares.
pub(super) fn check(confined: &Confined, settings: &Settings) -> Result<(), VaultDown> {
    let path = || settings.path.clone();
    match read(confined.root()) {
        None => Err(VaultDown::NoMarker { path: path() }),
        Some(found) => match &settings.id {
            Some(id) if *id != found => Err(VaultDown::WrongMarker { path: path() }),
            Some(_) | None => Ok(()),
        },
    }
}

fn read(root: BorrowedFd<'_>) -> Option<String> {
    let file = match open_file(root, names::MARKER).ok()? {
        Standing::File(file) => file,
        Standing::Absent | Standing::Locked | Standing::Other => return None,
    };
    let mut text = String::new();
    file.take(MARKER_BYTES_MAX).read_to_string(&mut text).ok()?;
    let id = text.strip_suffix('\n').unwrap_or(&text);
    well_formed(id).then(|| id.to_owned())
}

fn well_formed(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b':' | b'-'))
}

/// Refuses a vault that is mounted read-only: nothing could be sent there.
pub(super) fn writable(confined: &Confined, settings: &Settings) -> Result<(), VaultDown> {
    let state = rustix::fs::fstatvfs(confined.root()).map_err(|errno| VaultDown::Fault {
        path: settings.path.clone(),
        why: fault("reading the vault's file system", errno),
    })?;
    if state.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(VaultDown::ReadOnly {
            path: settings.path.clone(),
        });
    }
    Ok(())
}

/// Tries both renames on two files of its own. `Ok(false)` if it could not be tried (a full disk, no permission in the
/// root): an order that needs them then fails before any effect.
pub(super) fn exchange_works(confined: &Confined, settings: &Settings) -> Result<bool, VaultDown> {
    let root = confined.root();
    let (one, other) = (names::probe('a'), names::probe('b'));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for name in [&one, &other] {
        if openat(root, name.as_str(), flags, Mode::RUSR | Mode::WUSR).is_err() {
            let _gone = remove(root, &one);
            return Ok(false);
        }
    }
    let free = move_free(root, &one, &other);
    let swapped = exchange(root, &one, &other);
    let cleaned = remove(root, &one).and(remove(root, &other));
    let missing = |what| {
        Err(VaultDown::Unsupported {
            path: settings.path.clone(),
            what,
        })
    };
    if free != Moved::Taken {
        return missing("RENAME_NOREPLACE");
    }
    if swapped != Moved::Yes {
        return missing("RENAME_EXCHANGE");
    }
    Ok(cleaned.is_ok())
}

/// See [`super::DirectoryVault::create`].
pub(super) fn create(path: &Path, id: &str) -> Result<(), VaultDown> {
    if !well_formed(id) {
        return Err(VaultDown::WrongMarker {
            path: path.to_owned(),
        });
    }
    let fail = |step: &'static str| {
        let path = path.to_owned();
        move |error: std::io::Error| VaultDown::Fault {
            path,
            why: io_fault(step, &error),
        }
    };
    match std::fs::create_dir(path) {
        Ok(()) => {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o775))
                .map_err(fail("setting the vault directory's mode"))?;
            let above = path
                .parent()
                .filter(|above| !above.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            File::open(above)
                .and_then(|above| above.sync_all())
                .map_err(fail("syncing the directory above the vault"))?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(fail("making the vault's directory")(error)),
    }
    failpoint::reach("vault.create_directory").map_err(fail("making the vault's directory"))?;
    let unreachable = |errno: Errno| VaultDown::Unreachable {
        path: path.to_owned(),
        why: fault("opening the vault's directory", errno),
    };
    let confined = Confined::open(path).map_err(unreachable)?;
    if read(confined.root()).is_none() {
        write(confined.root(), id).map_err(fail("writing the vault's marker"))?;
    }
    match read(confined.root()) {
        Some(found) if found == id => Ok(()),
        Some(_) => Err(VaultDown::WrongMarker {
            path: path.to_owned(),
        }),
        None => Err(VaultDown::NoMarker {
            path: path.to_owned(),
        }),
    }
}

fn write(root: BorrowedFd<'_>, id: &str) -> std::io::Result<()> {
    let part = names::marker_part();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(root, part.as_str(), flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(id.as_bytes())?;
    file.write_all(b"\n")?;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    file.sync_all()?;
    failpoint::reach("vault.create_marker_synced")?;
    let moved = move_free(root, &part, names::MARKER);
    if moved != Moved::Yes {
        remove(root, &part)?;
    }
    rustix::fs::fsync(root)?;
    match moved {
        // Somebody else made it meanwhile: the caller reads it.
        Moved::Yes | Moved::Taken => Ok(()),
        Moved::Missing => Err(Errno::NOENT.into()),
        Moved::No(errno) | Moved::Unclear(errno) => Err(errno.into()),
    }
}
