//! Unix sockets by path. In: a path of any length and a mode. Out: a listener that was never reachable with another mode,
//! or a connected stream.
//!
//! The kernel's address holds 107 bytes. Longer paths go through a descriptor of their directory, so a development
//! directory may lie as deep as it likes.
//!
//! Not here: sockets inherited from the service manager (daemon/).

use crate::job::Uuid4;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why a socket cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindFault {
    /// Somebody answers there.
    #[error("{path}: another process is listening there; stop it first")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Something else has the name.
    #[error("{path}: exists and is not a socket; move it away")]
    NotASocket {
        /// The file.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("{path}: {step}")]
    Io {
        /// The socket.
        path: PathBuf,
        /// What was being done.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

/// Binds `path` with exactly the permission bits `mode`, whatever the umask, in place of a socket nobody listens on.
///
/// The socket is made in a private directory beside `path` and renamed into place, so nobody meets it with other bits
/// (F-204), and a peer meets either the old socket or the new one. Two processes starting at once are kept apart by
/// the caller's start lock, not here.
///
/// # Errors
/// [`BindFault`]: somebody listens there, something else has the name, or the file system refuses.
pub fn bind_unix(path: &Path, mode: u32) -> Result<UnixListener, BindFault> {
    let fault = |step: &'static str| {
        move |source: io::Error| BindFault::Io {
            path: path.to_owned(),
            step,
            source,
        }
    };
    let (directory, name) = split(path).map_err(fault("is not a path of a file"))?;
    let dir = open_directory(directory).map_err(fault("cannot open its directory"))?;
    refuse_if_taken(path, &dir, name)?;

    let nest = format!(".bind-{}", Uuid4::random());
    rustix::fs::mkdirat(&dir, &nest, Mode::RWXU)
        .map_err(io::Error::from)
        .map_err(fault("cannot make a directory beside it"))?;
    let bound = (|| {
        let nest_dir = rustix::fs::openat(
            &dir,
            &nest,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let listener = UnixListener::bind(through(&nest_dir, OsStr::new("s")))?;
        rustix::fs::chmodat(
            &nest_dir,
            "s",
            Mode::from_raw_mode(mode & 0o777),
            AtFlags::empty(),
        )?;
        rustix::fs::renameat(&nest_dir, "s", &dir, name)?;
        Ok(listener)
    })();
    // Nothing depends on what a failed attempt leaves: the next one uses another name.
    let mut leftovers = vec![(PathBuf::from(&nest), AtFlags::REMOVEDIR)];
    if bound.is_err() {
        leftovers.insert(0, (Path::new(&nest).join("s"), AtFlags::empty()));
    }
    for (left, flags) in leftovers {
        if let Err(errno) = rustix::fs::unlinkat(&dir, &left, flags) {
            tracing::debug!(%errno, path = %left.display(), "left behind");
        }
    }
    bound.map_err(fault("cannot bind"))
}

fn refuse_if_taken(path: &Path, dir: &OwnedFd, name: &OsStr) -> Result<(), BindFault> {
    let is_socket = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => FileType::from_raw_mode(found.st_mode) == FileType::Socket,
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(errno) => {
            return Err(BindFault::Io {
                path: path.to_owned(),
                step: "cannot look at it",
                source: errno.into(),
            });
        }
    };
    if !is_socket {
        return Err(BindFault::NotASocket {
            path: path.to_owned(),
        });
    }
    match connect_unix(path) {
        Ok(_) => Err(BindFault::InUse {
            path: path.to_owned(),
        }),
        // Nobody listens: left over from a process that was killed.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        // A full queue is a living listener.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(BindFault::InUse {
            path: path.to_owned(),
        }),
        Err(source) => Err(BindFault::Io {
            path: path.to_owned(),
            step: "cannot tell whether anybody listens there",
            source,
        }),
    }
}

/// Connects, without waiting if the listener's queue is full.
///
/// # Errors
/// As connect(2): `NotFound`, `ConnectionRefused` (nobody listens), `PermissionDenied`, `WouldBlock` (queue full).
pub fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let (directory, name) = split(path)?;
    let dir = open_directory(directory)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(through(&dir, name))?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    Ok((directory, name))
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// A short name for `name` in an open directory.
fn through(dir: &OwnedFd, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd")
        .join(dir.as_raw_fd().to_string())
        .join(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode_of(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_living_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.sock");
        let first = bind_unix(&path, 0o660).unwrap();
        assert_eq!(mode_of(&path), 0o660);
        assert!(matches!(bind_unix(&path, 0o660), Err(BindFault::InUse { .. })));
        drop(first);
        assert_eq!(
            connect_unix(&path).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
        let second = bind_unix(&path, 0o600).unwrap();
        assert_eq!(mode_of(&path), 0o600);
        connect_unix(&path).unwrap();
        drop(second);
        let left: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["x.sock"]);
    }

    #[test]
    fn a_file_or_link_in_the_sockets_place_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.sock");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(
            bind_unix(&path, 0o660),
            Err(BindFault::NotASocket { .. })
        ));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        let link = dir.path().join("link.sock");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(
            bind_unix(&link, 0o660),
            Err(BindFault::NotASocket { .. })
        ));
    }

    #[test]
    fn a_path_longer_than_a_socket_address_works() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(120)).join("e".repeat(120));
        std::fs::create_dir_all(&deep).unwrap();
        let path = deep.join("x.sock");
        let _listener = bind_unix(&path, 0o660).unwrap();
        connect_unix(&path).unwrap();
    }

    #[test]
    fn f204_nobody_meets_the_socket_with_other_bits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.sock");
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let watcher = std::thread::spawn({
            let (path, stop) = (path.clone(), stop.clone());
            move || {
                let mut seen = std::collections::BTreeSet::new();
                while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                    if let Ok(found) = std::fs::metadata(&path) {
                        seen.insert(found.permissions().mode() & 0o777);
                    }
                }
                seen
            }
        });
        for _ in 0..200 {
            drop(bind_unix(&path, 0o660).unwrap());
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(watcher.join().unwrap().into_iter().all(|mode| mode == 0o660));
    }
}
