//! Talking to the service manager. In: $NOTIFY_SOCKET, $WATCHDOG_USEC, $LISTEN_FDS. Out: datagrams with our state; the
//! sockets it opened for us, by name.
//!
//! Without a service manager everything here does nothing.
//!
//! Not here: when we are ready (the start order), what is served on a socket (http/).

use std::ffi::OsString;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell<'a> {
    /// We serve.
    Ready,
    /// We drain and end.
    Stopping,
    /// We are alive.
    Watchdog,
    /// A line for `systemctl status`.
    Status(&'a str),
}

impl Tell<'_> {
    fn text(self) -> String {
        match self {
            Tell::Ready => "READY=1".to_owned(),
            Tell::Stopping => "STOPPING=1".to_owned(),
            Tell::Watchdog => "WATCHDOG=1".to_owned(),
            // A second line would be a second assignment.
            Tell::Status(line) => format!("STATUS={}", line.replace(['\n', '\r', '\0'], " ")),
        }
    }
}

/// Where the service manager listens.
#[derive(Debug, Clone)]
pub struct Notifier {
    address: Option<SocketAddr>,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// From the environment.
    #[expect(
        clippy::disallowed_methods,
        reason = "the service manager's interface is the environment"
    )]
    pub fn from_environment() -> Notifier {
        let name = std::env::var_os("NOTIFY_SOCKET");
        let us = std::env::var("WATCHDOG_USEC").ok();
        let pid = std::env::var("WATCHDOG_PID").ok();
        let is_ours = pid.is_none_or(|pid| pid == std::process::id().to_string());
        let watchdog = us
            .filter(|_| is_ours)
            .and_then(|us| us.parse().ok())
            .map(Duration::from_micros);
        Notifier {
            address: name.and_then(|name| address(&name)),
            watchdog: watchdog.filter(|time| !time.is_zero()),
        }
    }

    /// Tells the service manager, in one datagram.
    ///
    /// # Errors
    /// The socket is gone or full. Nothing depends on the message, but the caller may log it.
    pub fn tell(&self, all: &[Tell<'_>]) -> std::io::Result<()> {
        let Some(address) = &self.address else {
            return Ok(());
        };
        let text = all.iter().map(|one| one.text()).collect::<Vec<_>>().join("\n");
        UnixDatagram::unbound()?
            .send_to_addr(text.as_bytes(), address)
            .map(|_| ())
    }

    /// How often [`Tell::Watchdog`] must be told; half of it is a good interval. None if nobody watches.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }
}

/// An absolute path, or `@` and an abstract name.
fn address(name: &OsString) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', rest @ ..] if !rest.is_empty() => SocketAddr::from_abstract_name(rest).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}

/// A listening socket that was handed over.
#[derive(Debug)]
pub enum Handed {
    /// HTTP over a unix socket.
    Unix(UnixListener),
    /// The optional loopback socket for /health and /metrics.
    Tcp(TcpListener),
}

/// What is wrong with what was handed over.
#[derive(Debug, thiserror::Error)]
pub enum HandedError {
    /// The variables cannot be understood.
    #[error("LISTEN_PID or LISTEN_FDS cannot be understood")]
    Environment,
    /// Not a listening stream socket.
    #[error("the inherited descriptor \"{name}\" is not a listening unix or TCP socket")]
    NotListening {
        /// Its FileDescriptorName.
        name: String,
    },
    /// The kernel refuses to say.
    #[error("the inherited descriptor \"{name}\" cannot be used")]
    Io {
        /// Its FileDescriptorName.
        name: String,
        /// Why.
        source: std::io::Error,
    },
}

/// Takes the sockets, each with the FileDescriptorName of its unit. They are ours to close, so only the first call gets
/// them: a later one gets none.
///
/// # Errors
/// [`HandedError`]; the sockets are closed.
pub fn take_sockets() -> Result<Vec<(String, Handed)>, HandedError> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Ok(Vec::new());
    }
    let handed = sd_listen_fds::get().map_err(|_| HandedError::Environment)?;
    handed
        .into_iter()
        .map(|(name, descriptor)| {
            let name = name.unwrap_or_default();
            let handed = listening(&name, descriptor.into_std())?;
            Ok((name, handed))
        })
        .collect()
}

fn listening(name: &str, descriptor: OwnedFd) -> Result<Handed, HandedError> {
    use rustix::net::{AddressFamily, SocketType, sockopt};
    let io = |error: rustix::io::Errno| HandedError::Io {
        name: name.to_owned(),
        source: error.into(),
    };
    let not_listening = || HandedError::NotListening {
        name: name.to_owned(),
    };
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC).map_err(io)?;
    let listens = sockopt::socket_acceptconn(&descriptor).map_err(|_| not_listening())?;
    let kind = sockopt::socket_type(&descriptor).map_err(|_| not_listening())?;
    if !listens || kind != SocketType::STREAM {
        return Err(not_listening());
    }
    let family = sockopt::socket_domain(&descriptor).map_err(io)?;
    if family == AddressFamily::UNIX {
        Ok(Handed::Unix(UnixListener::from(descriptor)))
    } else if family == AddressFamily::INET || family == AddressFamily::INET6 {
        Ok(Handed::Tcp(TcpListener::from(descriptor)))
    } else {
        Err(not_listening())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(notifier: &Notifier, manager: &UnixDatagram, all: &[Tell<'_>]) -> String {
        notifier.tell(all).unwrap();
        let mut bytes = [0; 256];
        let len = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..len].to_vec()).unwrap()
    }

    #[test]
    fn the_manager_is_told_over_a_path_or_an_abstract_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let name = format!("@lockgate-test-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&name.as_bytes()[1..]).unwrap();
        for (text, manager) in [
            (path.clone().into_os_string(), UnixDatagram::bind(&path).unwrap()),
            (
                OsString::from(&name),
                UnixDatagram::bind_addr(&abstract_address).unwrap(),
            ),
        ] {
            let notifier = Notifier {
                address: address(&text),
                watchdog: None,
            };
            assert_eq!(
                told(&notifier, &manager, &[Tell::Ready, Tell::Status("up\nREADY=0")]),
                "READY=1\nSTATUS=up READY=0"
            );
            assert_eq!(told(&notifier, &manager, &[Tell::Watchdog]), "WATCHDOG=1");
            assert_eq!(told(&notifier, &manager, &[Tell::Stopping]), "STOPPING=1");
        }
    }

    #[test]
    fn without_a_manager_nothing_is_told_and_nothing_fails() {
        Notifier {
            address: None,
            watchdog: None,
        }
        .tell(&[Tell::Ready])
        .unwrap();
        for name in ["", "@", "relative", "vsock:2:3"] {
            assert!(address(&OsString::from(name)).is_none(), "{name}");
        }
    }

    #[test]
    fn only_a_listening_stream_socket_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let unix = UnixListener::bind(dir.path().join("a")).unwrap();
        assert!(matches!(listening("a", unix.into()), Ok(Handed::Unix(_))));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(matches!(listening("b", tcp.into()), Ok(Handed::Tcp(_))));
        let datagram = UnixDatagram::unbound().unwrap();
        assert!(matches!(
            listening("c", datagram.into()),
            Err(HandedError::NotListening { .. })
        ));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(matches!(
            listening("d", file.into()),
            Err(HandedError::NotListening { .. })
        ));
    }
}
