//! Reads one credential file. In: a directory and a name. Out: the secret, or what is wrong with the file.
//!
//! The mode is not judged: what a service manager hands over is safe by where it is, whatever its mode shows.
//! Not here: which credentials a role has.

use super::{CredentialFault, CredentialName, Secret};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use zeroize::Zeroizing;

/// The longest credential, bytes. Long tokens have about 2,000.
pub(super) const CREDENTIAL_BYTES_MAX: usize = 8 * 1024;
/// The shortest key, bytes: fewer cannot hold the 256 bits that the derived keys claim.
pub(super) const KEY_BYTES_MIN: usize = 32;

/// A directory that can be opened, or nothing at all.
pub(super) fn check_dir(dir: &Path) -> Result<(), CredentialFault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::open(dir, flags, Mode::empty()) {
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(CredentialFault::Directory {
            path: dir.to_path_buf(),
            why: error.to_string(),
        }),
    }
}

pub(super) fn read(dir: &Path, name: CredentialName) -> Result<Secret, CredentialFault> {
    let path = dir.join(name.file_name());
    let unreadable = |why: String| CredentialFault::Unreadable {
        name,
        path: path.clone(),
        why,
    };
    // Not blocking: a named pipe must not hold up the start.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = match rustix::fs::open(&path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Err(CredentialFault::Missing { name, path }),
        Err(Errno::LOOP | Errno::NXIO) => return Err(CredentialFault::NotRegular { name, path }),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    let about = file.metadata().map_err(|error| unreadable(error.to_string()))?;
    if !about.is_file() {
        return Err(CredentialFault::NotRegular { name, path });
    }
    // Of the full size at once: a buffer that grows leaves copies behind.
    let mut bytes = Zeroizing::new(vec![0u8; CREDENTIAL_BYTES_MAX + 1]);
    let mut len = 0;
    while len < bytes.len() {
        match file.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error.to_string())),
        }
    }
    if len > CREDENTIAL_BYTES_MAX {
        return Err(CredentialFault::TooLarge {
            name,
            path,
            limit: CREDENTIAL_BYTES_MAX,
        });
    }
    let content = trim(&bytes[..len]);
    if content.is_empty() {
        return Err(CredentialFault::Empty { name, path });
    }
    if name.is_key() && content.len() < KEY_BYTES_MIN {
        return Err(CredentialFault::TooShort {
            name,
            path,
            limit: KEY_BYTES_MIN,
        });
    }
    if !name.is_key() && !content.iter().all(u8::is_ascii_graphic) {
        return Err(CredentialFault::NotToken { name, path });
    }
    Ok(Secret::new(Zeroizing::new(content.to_vec())))
}

/// Text without the line end that editors add; anything else, such as a binary key, as it is.
fn trim(bytes: &[u8]) -> &[u8] {
    let is_text = bytes
        .iter()
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    if is_text { bytes.trim_ascii_end() } else { bytes }
}
