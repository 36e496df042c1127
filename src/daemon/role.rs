//! A running role: its threads, its sockets, its end. In: [`Gear`]. Out: an exit status.
//!
//! Stop (SIGTERM, SIGINT): no new claims, what is claimed is finished with leases renewed, everything is settled or given
//! back, within 20 seconds. Not here: the loops (executor/), opening things (start.rs).

use super::admin_port::Admin;
use super::notify::{Handed, Notifier, Tell};
use super::sockets::Sockets;
use super::start::NoStart;
use super::status_port::Status;
use crate::config::{Config, Mode};
use crate::executor::{Gear, intake as intake_loop, work};
use crate::exit::Exit;
use crate::http::admin::AdminEndpoints;
use crate::http::status::StatusEndpoints;
use crate::http::{Access, Door, Limits, Listener, Server, ServerHandle};
use crate::intake::{Intake, Kind, Ownership, Settings, Source};
use crate::job::Role;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Longest drain, ms (design: exit within 20 s).
const DRAIN_MS: i64 = 18_000;
/// How often heads and the epoch file are looked at while something changes, ms.
const BEAT_MS: u64 = 5_000;

/// Between two heads in the journal, ms.
const HEAD_MS: i64 = 3_600_000;

/// Runs an executor role until it is told to stop.
pub fn run(gear: Gear) -> Exit {
    let gear = Arc::new(gear);
    match start(&gear) {
        Ok(running) => wait(&gear, running),
        Err(no) => {
            tracing::error!(role = %gear.role, "{}", no.message);
            no.exit
        }
    }
}

struct Running {
    threads: Vec<JoinHandle<()>>,
    leases: JoinHandle<()>,
    sockets: Sockets,
    notifier: Notifier,
    signals: Signals,
}

fn start(gear: &Arc<Gear>) -> Result<Running, NoStart> {
    let refuse = |exit: Exit, message: String| NoStart { exit, message };
    let signals = Signals::take(gear).map_err(|error| refuse(Exit::Failed, format!("signals: {error}")))?;
    let intake = Intake::open(intake_settings(gear))
        .map_err(|error| refuse(Exit::Configuration, error.to_string()))?;
    let sockets = Sockets::open(gear)?;
    let mut threads = Vec::new();
    let shared = Arc::clone(gear);
    threads.push(spawn("intake", move || intake_loop::run(&shared, intake))?);
    let workers = match gear.role {
        Role::Save => gear.config.save.workers,
        Role::Delete | Role::Gateway => gear.config.delete.workers,
    };
    for number in 0..workers.max(1) {
        let shared = Arc::clone(gear);
        threads.push(spawn(&format!("work-{number}"), move || work::run(&shared))?);
    }
    let leases = Arc::clone(&gear.leases);
    let leases = spawn("leases", move || leases.run())?;
    let notifier = Notifier::from_environment();
    if let Err(error) = notifier.tell(&[Tell::Ready]) {
        tracing::warn!(%error, "the service manager was not told that the role is ready");
    }
    tracing::info!(role = %gear.role, worker = %gear.worker.id(), "ready");
    Ok(Running {
        threads,
        leases,
        sockets,
        notifier,
        signals,
    })
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, NoStart> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|error| NoStart {
            exit: Exit::TryAgain,
            message: format!("no thread for {name}: {error}"),
        })
}

/// SIGTERM and SIGINT end the role; both only set what the loops look at.
#[derive(Debug)]
struct Signals {
    handle: signal_hook::iterator::Handle,
    thread: JoinHandle<()>,
}

impl Signals {
    fn take(gear: &Arc<Gear>) -> std::io::Result<Signals> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
        let handle = signals.handle();
        let shared = Arc::clone(gear);
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for _signal in signals.forever() {
                    shared.stop();
                }
            })?;
        Ok(Signals { handle, thread })
    }
    fn end(self) {
        self.handle.close();
        drop(self.thread.join());
    }
}

/// Keeps the watchdog and the epoch file fed until the role is to stop, then drains.
fn wait(gear: &Arc<Gear>, running: Running) -> Exit {
    let beat = running.notifier.watchdog().map_or(BEAT_MS, |watchdog| {
        u64::try_from(watchdog.as_millis() / 2)
            .unwrap_or(BEAT_MS)
            .clamp(100, BEAT_MS)
    });
    let watched = running.notifier.watchdog().is_some();
    let mut heads = Heads::default();
    while !gear.is_stopping() {
        heads.tell(gear);
        let (seen, halt) = (gear.beat.seen(), gear.halt.seen());
        if watched && !gear.conditions.is_stale() {
            drop(running.notifier.tell(&[Tell::Watchdog]));
        }
        // Without a watchdog nothing needs a beat while nothing changes: an idle role sleeps.
        gear.beat.wait(seen, if watched { beat } else { 3_600_000 });
        let _told = gear.note_epoch();
        // A busy role changes all the time; the file follows every few seconds.
        if gear.beat.seen() != seen {
            gear.halt.wait(halt, beat);
        }
    }
    drain(gear, running)
}

/// The end of the audit, into the journal every hour in which it changed: a head kept elsewhere shows what was cut off.
#[derive(Debug, Default)]
struct Heads {
    told: Option<(i64, i64)>,
}

impl Heads {
    fn tell(&mut self, gear: &Gear) {
        let now = gear.clock.boot().0;
        if self.told.is_some_and(|(at, _)| now - at < HEAD_MS) {
            return;
        }
        let Ok(head) = gear.ledger.head() else { return };
        if self.told.is_none_or(|(_, size)| size != head.size) {
            tracing::info!(role = %gear.role, size = head.size, hash = %head.hash, "audit head");
        }
        self.told = Some((now, head.size));
    }
}

fn drain(gear: &Arc<Gear>, running: Running) -> Exit {
    let Running {
        threads,
        leases,
        sockets,
        notifier,
        signals,
    } = running;
    if let Err(error) = notifier.tell(&[Tell::Stopping]) {
        tracing::warn!(%error, "the service manager was not told that the role stops");
    }
    tracing::info!(role = %gear.role, leases = gear.leases.count(), "stopping: no new claims, finishing what is claimed");
    let server = sockets.stop();
    let end = gear.clock.boot().0 + DRAIN_MS;
    for thread in threads {
        while !thread.is_finished() && gear.clock.boot().0 < end {
            gear.changed();
            let seen = gear.beat.seen();
            gear.beat.wait(seen, 10);
        }
        if thread.is_finished() {
            drop(thread.join());
        } else {
            tracing::error!("a thread did not finish in time; the next start sorts what it held");
        }
    }
    gear.leases.stop();
    drop(leases.join());
    if let Some(server) = server {
        server.join();
    }
    let _told = gear.note_epoch();
    signals.end();
    tracing::info!(role = %gear.role, "stopped");
    match gear.ended.get() {
        Some((exit, _)) => *exit,
        None => Exit::Done,
    }
}

/// What intake reads, and how.
pub fn intake_settings(gear: &Gear) -> Settings {
    let layout = &gear.config.layout;
    let development = gear.config.mode == Mode::Development;
    Settings {
        state_dir: layout.state_dir(gear.role),
        sources: vec![
            Source {
                path: layout.drop_dir(gear.role),
                kind: Kind::Drop,
            },
            Source {
                path: layout.gate_dir(gear.role),
                kind: Kind::Gate {
                    gateway: gear.uids.gateway,
                },
            },
        ],
        ownership: if development {
            Ownership::Anyone
        } else {
            Ownership::Ours
        },
        refused_uids: if development {
            Vec::new()
        } else {
            gear.uids.roles.clone()
        },
        quarantine_bytes_max: gear.config.limits.quarantine_bytes_max,
        clock: Arc::clone(&gear.clock),
    }
}

/// Serves the role's sockets: those handed over, or new ones.
pub(super) fn serve(gear: &Arc<Gear>, mut handed: Vec<(String, Handed)>) -> Result<ServerHandle, NoStart> {
    let config = &gear.config;
    let admin = listener(
        &mut handed,
        "admin",
        &config.layout.admin_socket(gear.role),
        config,
    )?;
    let status = listener(
        &mut handed,
        "status",
        &config.layout.status_socket(gear.role),
        config,
    )?;
    let development = config.mode == Mode::Development;
    let except = if development {
        Vec::new()
    } else {
        gear.uids.roles.clone()
    };
    let doors = vec![
        Door {
            listener: Listener::Unix(admin),
            access: Access::Operators { except },
            endpoints: AdminEndpoints::new(Arc::new(Admin::new(Arc::clone(gear)))),
        },
        Door {
            listener: Listener::Unix(status),
            access: Access::StatusReaders {
                uids: vec![gear.uids.gateway],
            },
            endpoints: StatusEndpoints::new(Arc::new(Status::new(Arc::clone(gear)))),
        },
    ];
    let shared = Arc::clone(gear);
    Server {
        name: "sockets",
        doors,
        limits: limits(config),
    }
    .start(move || shared.end_now("the sockets cannot be served any more"))
    .map_err(|fault| NoStart {
        exit: Exit::Configuration,
        message: fault.to_string(),
    })
}

/// The socket systemd made, or, where there is none, one of our own.
pub fn listener(
    handed: &mut Vec<(String, Handed)>,
    name: &str,
    path: &Path,
    config: &Config,
) -> Result<UnixListener, NoStart> {
    let refuse = |message: String| NoStart {
        exit: Exit::Configuration,
        message,
    };
    if let Some(at) = handed.iter().position(|(given, _)| given == name) {
        return match handed.swap_remove(at).1 {
            Handed::Unix(listener) => Ok(listener),
            Handed::Tcp(_) => Err(refuse(format!(
                "the inherited socket \"{name}\" is not a unix socket"
            ))),
        };
    }
    if config.mode == Mode::Production {
        return Err(refuse(format!(
            "no socket \"{name}\" was handed over; start the role by its socket unit"
        )));
    }
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(|error| refuse(format!("{}: {error}", dir.display())))?;
    }
    crate::http::socket::bind_unix(path, 0o660).map_err(|error| refuse(error.to_string()))
}

/// Bounds of this configuration.
pub fn limits(config: &Config) -> Limits {
    let http = &config.http;
    Limits {
        connections_max: usize::try_from(http.connections_max).unwrap_or(256),
        per_uid_max: usize::try_from(http.connections_per_uid_max).unwrap_or(128),
        head_bytes_max: usize::try_from(http.header_bytes_max).unwrap_or(16 * 1024),
        head_time: http.header_timeout,
        body_time: http.body_timeout,
        write_stall: http.write_timeout,
        ..Limits::default()
    }
}
