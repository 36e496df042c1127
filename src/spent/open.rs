//! The file itself. In: its path, and whether the ledger beside it is empty. Out: an open, private, regular file.
//!
//! It is made before the ledger, so that a ledger without it was never ours to trust.
//! Not here: what is in it.

use super::fault::{SpentFault, Step};
use crate::durable::sync_dir;
use crate::failpoint;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

pub(super) fn create_or_open(path: &Path, ledger_is_empty: bool) -> Result<File, SpentFault> {
    let failed = |source: io::Error| SpentFault::Nothing {
        path: path.to_path_buf(),
        step: Step::Open,
        source,
    };
    let file = match open(path, OFlags::empty()) {
        Err(Errno::NOENT) if !ledger_is_empty => {
            return Err(SpentFault::Missing {
                path: path.to_path_buf(),
            });
        }
        // Two that start at once: one makes it, the other opens it.
        Err(Errno::NOENT) => match open(path, OFlags::CREATE | OFlags::EXCL) {
            Ok(file) => {
                file.set_permissions(std::fs::Permissions::from_mode(0o600))
                    .map_err(failed)?;
                Ok(file)
            }
            Err(Errno::EXIST) => open(path, OFlags::empty()),
            Err(error) => Err(error),
        },
        opened => opened,
    };
    let file = file.map_err(|error| match error {
        Errno::LOOP | Errno::ISDIR | Errno::NXIO => SpentFault::NotRegular {
            path: path.to_path_buf(),
        },
        other => failed(other.into()),
    })?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() || about.nlink() != 1 {
        return Err(SpentFault::NotRegular {
            path: path.to_path_buf(),
        });
    }
    if about.mode() & 0o077 != 0 {
        return Err(SpentFault::OpenToOthers {
            path: path.to_path_buf(),
            mode: about.mode() & 0o7777,
        });
    }
    if about.len() == 0 {
        // Fresh, or made by a process that died before it was durable.
        failpoint::reach("spent.created").map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let dir = path
            .parent()
            .filter(|dir| *dir != Path::new(""))
            .unwrap_or(Path::new("."));
        sync_dir(dir).map_err(failed)?;
    }
    Ok(file)
}

fn open(path: &Path, more: OFlags) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map(File::from)
}
