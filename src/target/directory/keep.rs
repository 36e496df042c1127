//! Owner, group, mode, access list and `user.` attributes: kept from the file replaced, or 0664 with the directory's
//! group. In: the file replaced. Out: the same on the new one, or a refusal before anything is visible.
//!
//! Security labels (`security.*`) are the system's: the new file gets those its policy gives it.
//!
//! Not here: the umask, which never matters.

use super::parents::{Directory, SET_GROUP};
use super::{io_fault, names};
use crate::job::VaultPath;
use crate::target::open::{Confined, NoEntry};
use crate::target::{Answer, Intent, Preflight};
use rustix::fs::{
    Access, AtFlags, FileType, Gid, Uid, XattrFlags, accessat, fchown, fgetxattr, flistxattr, fremovexattr,
    fsetxattr, statat,
};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// The detail of a refusal for permissions (design 4).
pub(super) const PERMISSIONS: &str = "vault_permissions";
/// The detail where something that is no regular file stands at the path.
pub(super) const NOT_A_FILE: &str = "not_a_regular_file";
/// Mode of a file where none was: people of the directory's group edit it too.
const NEW_FILE_MODE: u32 = 0o664;
const STICKY: u32 = 0o1000;
const ACCESS_LIST: &str = "system.posix_acl_access";
/// What the kernel allows for a list of names or a value.
const ATTRIBUTE_BYTES_MAX: usize = 64 * 1024;

/// What the new file must have.
#[derive(Debug)]
pub(super) enum Attributes {
    /// Nothing was there.
    New {
        /// The directory's group.
        gid: u32,
    },
    /// Those of the file that is replaced.
    Kept(Kept),
}

/// The attributes of a file.
#[derive(Debug)]
pub(super) struct Kept {
    uid: u32,
    gid: u32,
    mode: u32,
    access_list: Option<Vec<u8>>,
    user: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Kept {
    pub(super) fn of(file: &File) -> std::io::Result<Kept> {
        let metadata = file.metadata()?;
        Ok(Kept {
            uid: metadata.uid(),
            gid: metadata.gid(),
            mode: metadata.mode() & 0o7777,
            access_list: attribute(file, ACCESS_LIST.as_bytes())?,
            user: user_attributes(file)?,
        })
    }

    /// Whether the file still has this owner, group and mode.
    pub(super) fn still_on(&self, file: &File) -> std::io::Result<bool> {
        let metadata = file.metadata()?;
        Ok((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777) == (self.uid, self.gid, self.mode))
    }
}

/// Gives a file of ours what it must have, and checks that it has it.
pub(super) fn apply(attributes: &Attributes, file: &File) -> Result<(), Answer> {
    let (uid, gid, mode) = match attributes {
        Attributes::New { gid } => {
            give_group(file, *gid)?;
            set_mode(file, NEW_FILE_MODE)?;
            (None, *gid, NEW_FILE_MODE)
        }
        Attributes::Kept(kept) => {
            give_owner(file, kept.uid)?;
            give_group(file, kept.gid)?;
            // A default list of the directory is not this file's; it goes before the mode is set through its mask.
            remove_access_list(file)?;
            set_mode(file, kept.mode)?;
            if let Some(list) = &kept.access_list {
                fsetxattr(file, ACCESS_LIST, list, XattrFlags::empty()).map_err(refuse_or_fail)?;
            }
            for (name, value) in &kept.user {
                fsetxattr(file, name.as_slice(), value, XattrFlags::empty()).map_err(refuse_or_fail)?;
            }
            (Some(kept.uid), kept.gid, kept.mode)
        }
    };
    let metadata = file.metadata().map_err(|error| failed(&error))?;
    let kept = metadata.mode() & 0o7777 == mode
        && metadata.gid() == gid
        && uid.is_none_or(|uid| metadata.uid() == uid);
    if kept {
        Ok(())
    } else {
        Err(Answer::Refused { detail: PERMISSIONS })
    }
}

/// Gives a file or directory of ours a group, if it has another.
pub(super) fn give_group(file: &File, gid: u32) -> Result<(), Answer> {
    if file.metadata().map_err(|error| failed(&error))?.gid() == gid {
        return Ok(());
    }
    fchown(file, None, Some(Gid::from_raw(gid))).map_err(refuse_or_fail)
}

fn give_owner(file: &File, uid: u32) -> Result<(), Answer> {
    if file.metadata().map_err(|error| failed(&error))?.uid() == uid {
        return Ok(());
    }
    fchown(file, Some(Uid::from_raw(uid)), None).map_err(refuse_or_fail)
}

fn set_mode(file: &File, mode: u32) -> Result<(), Answer> {
    file.set_permissions(std::fs::Permissions::from_mode(mode))
        .map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => refuse_or_fail(errno),
            None => failed(&error),
        })
}

fn remove_access_list(file: &File) -> Result<(), Answer> {
    match fremovexattr(file, ACCESS_LIST) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        Err(errno) => Err(refuse_or_fail(errno)),
    }
}

fn refuse_or_fail(errno: Errno) -> Answer {
    match errno {
        // EINVAL: an id this user namespace does not have.
        Errno::PERM | Errno::ACCESS | Errno::INVAL | Errno::OPNOTSUPP => {
            Answer::Refused { detail: PERMISSIONS }
        }
        other => failed(&other.into()),
    }
}

fn failed(error: &std::io::Error) -> Answer {
    Answer::NotSent {
        why: io_fault("keeping owner, group and mode", error),
    }
}

fn attribute(file: &File, name: &[u8]) -> std::io::Result<Option<Vec<u8>>> {
    let mut value = [0u8; 1024];
    match fgetxattr(file, name, &mut value) {
        Ok(len) => Ok(Some(value[..len].to_vec())),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(Errno::RANGE) => {
            let mut value = vec![0u8; ATTRIBUTE_BYTES_MAX];
            let len = fgetxattr(file, name, value.as_mut_slice())?;
            value.truncate(len);
            Ok(Some(value))
        }
        Err(errno) => Err(errno.into()),
    }
}

fn user_attributes(file: &File) -> std::io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut few = [0u8; 1024];
    let mut many = Vec::new();
    let listed: &[u8] = match flistxattr(file, &mut few) {
        Ok(len) => &few[..len],
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Err(Errno::RANGE) => {
            many.resize(ATTRIBUTE_BYTES_MAX, 0);
            let len = flistxattr(file, many.as_mut_slice())?;
            &many[..len]
        }
        Err(errno) => return Err(errno.into()),
    };
    let mut found = Vec::new();
    for name in listed
        .split(|byte| *byte == 0)
        .filter(|name| name.starts_with(b"user."))
    {
        if let Some(value) = attribute(file, name)? {
            found.push((name.to_vec(), value));
        }
    }
    Ok(found)
}

/// See [`crate::target::Vault::preflight`].
pub(super) fn preflight(confined: &Confined, path: &VaultPath, intent: Intent) -> Result<Preflight, Errno> {
    let refused = |detail| Ok(Preflight::Refused { detail });
    let (above, name) = names::split(path.relative());
    let mut existing = above;
    let directory = loop {
        match confined.directory(existing) {
            Ok(fd) => {
                break Directory::of(File::from(fd))
                    .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
            }
            Err(NoEntry::Absent) if !existing.is_empty() => existing = names::split(existing).0,
            Err(NoEntry::Absent) => return Err(Errno::NOENT),
            Err(NoEntry::Blocked) => return refused("path_blocked"),
            Err(NoEntry::Trouble(errno)) => return Err(errno),
        }
    };
    match accessat(
        directory.fd(),
        ".",
        Access::WRITE_OK | Access::EXEC_OK,
        AtFlags::EACCESS,
    ) {
        // A sandbox or kernel without faccessat2: the order itself will tell.
        Ok(()) | Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
        Err(Errno::ACCESS) => return refused(PERMISSIONS),
        Err(errno) => return Err(errno),
    }
    let me = Powers::mine();
    let stat = match (existing == above).then(|| statat(directory.fd(), name, AtFlags::SYMLINK_NOFOLLOW)) {
        Some(Ok(stat)) => stat,
        None | Some(Err(Errno::NOENT)) => {
            let fits = match intent {
                Intent::Delete => true,
                Intent::Write if existing == above => {
                    directory.mode & SET_GROUP != 0 || me.may_give_group(directory.gid)
                }
                Intent::Write => me.may_give_group(directory.gid),
            };
            return if fits {
                Ok(Preflight::Clear)
            } else {
                refused(PERMISSIONS)
            };
        }
        Some(Err(errno)) => return Err(errno),
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return refused(NOT_A_FILE);
    }
    let owner_is_me = stat.st_uid == me.uid;
    let stuck = directory.mode & STICKY != 0 && !owner_is_me && !me.may_chown;
    let keeps = match intent {
        Intent::Delete => true,
        Intent::Write => {
            let given = if directory.mode & SET_GROUP != 0 {
                directory.gid
            } else {
                me.gid
            };
            let group_fits =
                me.may_give_group(stat.st_gid) || (stat.st_gid == given && stat.st_mode & SET_GROUP == 0);
            (owner_is_me || me.may_chown) && group_fits
        }
    };
    if stuck || !keeps {
        refused(PERMISSIONS)
    } else {
        Ok(Preflight::Clear)
    }
}

/// What this process may do to ownership.
struct Powers {
    uid: u32,
    gid: u32,
    groups: Vec<Gid>,
    may_chown: bool,
}

impl Powers {
    fn mine() -> Powers {
        let capabilities = rustix::thread::capabilities(None);
        Powers {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            groups: rustix::process::getgroups().unwrap_or_default(),
            may_chown: capabilities
                .is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::CHOWN)),
        }
    }
    fn may_give_group(&self, gid: u32) -> bool {
        self.may_chown || self.gid == gid || self.groups.iter().any(|group| group.as_raw() == gid)
    }
}
