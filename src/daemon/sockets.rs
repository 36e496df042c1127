//! Which process of a role answers on its sockets. In: the gear. Out: the sockets, served now or as soon as they come free.
//!
//! Several processes may work for one role. Sockets that a service manager hands over are served at once. Without one, whoever
//! holds `sockets.lock` makes them; the others work, and wait for it in the kernel.
//! Not here: what is answered (admin_port.rs, status_port.rs), how a socket is made (role.rs).

use super::notify;
use super::role;
use super::start::NoStart;
use crate::config::Mode;
use crate::durable::open_lock_file;
use crate::executor::Gear;
use crate::exit::Exit;
use crate::http::ServerHandle;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Tries to make the sockets, and the pause between two, ms.
const TRIES: u32 = 20;
const BETWEEN_TRIES_MS: u64 = 100;

/// This process's part in the sockets.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    place: Arc<Mutex<Place>>,
}

#[derive(Debug, Default)]
enum Place {
    /// Another process of the role has them.
    #[default]
    Waiting,
    Serving {
        server: ServerHandle,
        /// Held for its lock; none where the sockets were handed over.
        lock: Option<File>,
    },
    Stopped,
}

impl Sockets {
    /// Serves them, or waits for them on a thread of its own.
    ///
    /// # Errors
    /// [`NoStart`].
    pub(super) fn open(gear: &Arc<Gear>) -> Result<Sockets, NoStart> {
        let sockets = Sockets::default();
        let handed = notify::take_sockets().map_err(|error| refuse(error.to_string()))?;
        if gear.config.mode == Mode::Production || !handed.is_empty() {
            sockets.put(role::serve(gear, handed)?, None);
            return Ok(sockets);
        }
        let path = gear.config.layout.state_dir(gear.role).join("sockets.lock");
        let fail = |error: io::Error| refuse(format!("{}: {error}", path.display()));
        let file = open_lock_file(&path).map_err(fail)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => sockets.put(own(gear)?, Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                tracing::info!(role = %gear.role, "another process of this role answers on its sockets; this one works without");
                sockets.wait_for(gear, file).map_err(fail)?;
            }
            Err(error) => return Err(fail(error.into())),
        }
        Ok(sockets)
    }

    fn put(&self, server: ServerHandle, lock: Option<File>) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*place, Place::Waiting) {
            *place = Place::Serving { server, lock };
        }
    }

    /// The thread ends with the wait, or with the process.
    fn wait_for(&self, gear: &Arc<Gear>, file: File) -> io::Result<()> {
        let waiting = Sockets {
            place: Arc::clone(&self.place),
        };
        let gear = Arc::clone(gear);
        let body = move || {
            let got = rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive));
            if gear.is_stopping() {
                return;
            }
            let served = got
                .map_err(|error| refuse(format!("sockets.lock: {error}")))
                .and_then(|()| own(&gear));
            match served {
                Ok(server) => {
                    tracing::info!(role = %gear.role, "answers on the sockets of this role from now on");
                    waiting.put(server, Some(file));
                }
                Err(no) => gear.end_with(no.exit, &no.message),
            }
        };
        std::thread::Builder::new()
            .name("sockets-wait".to_owned())
            .spawn(body)
            .map(drop)
    }

    /// No new requests; what remains is to be joined when the work is done.
    pub(super) fn stop(&self) -> Option<Stopping> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *place, Place::Stopped) {
            Place::Serving { server, lock } => {
                server.stop();
                Some(Stopping { server, _lock: lock })
            }
            Place::Waiting | Place::Stopped => None,
        }
    }
}

/// Sockets on which nothing new is taken.
#[derive(Debug)]
pub(super) struct Stopping {
    server: ServerHandle,
    // Given up after the sockets, so that the next process finds nobody there.
    _lock: Option<File>,
}

impl Stopping {
    /// Until what was asked is answered.
    pub(super) fn join(self) {
        drop(self.server.join());
    }
}

/// Sockets of our own. The lock of a killed process may be free a moment before its sockets are.
fn own(gear: &Arc<Gear>) -> Result<ServerHandle, NoStart> {
    let mut served = role::serve(gear, Vec::new());
    for _ in 0..TRIES {
        if served.is_ok() || gear.is_stopping() {
            break;
        }
        gear.halt.wait(gear.halt.seen(), BETWEEN_TRIES_MS);
        served = role::serve(gear, Vec::new());
    }
    served
}

fn refuse(message: String) -> NoStart {
    NoStart {
        exit: Exit::Configuration,
        message,
    }
}
