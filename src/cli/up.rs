//! `lockgate up`: every role as a child process below one directory, for development.
//!
//! Not here: production, where units start the roles.

use super::Ctx;
use super::approval_draft::quoted;
use super::family::{Family, Unready};
use super::playground;
use super::ui::{Ended, Format};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Installation, default_toml};
use crate::daemon::hygiene;
use crate::durable::open_lock_file;
use crate::exit::Exit;
use crate::job::Role;
use rustix::fs::{FlockOperation, flock};
use serde_json::json;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Arguments: none but the global `--dir`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What is absent below DIR is made; what is there is used. Stop it with Ctrl-C or SIGTERM.\n\nExample:\n  lockgate up --dir /tmp/play"
)]
pub struct UpArgs {}

/// How long the roles may take to answer, ms.
const READY_MS: i64 = 20_000;
/// The longest sleep between two looks at the children.
const LOOK: Duration = Duration::from_secs(5);

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, _args: &UpArgs) -> Ended {
    let clock = SystemClock::new(String::new());
    let began = clock.boot();
    let dir = directory(ctx)?;
    let signals = signals(ctx)?;
    let config = playground::create(ctx, &dir, default_toml)?;
    let _alone = alone(ctx, &dir)?;
    let mut family = Family::start(config.clone(), dir.clone(), ctx.log_level, None).map_err(|error| {
        ctx.ui.say(&format!("the roles cannot be started: {error}"));
        Exit::Failed
    })?;
    match family.ready(READY_MS) {
        Ok(unwell) => {
            for (role, health) in unwell {
                ctx.ui.say(&format!(
                    "the role {role} runs and is not well: {}",
                    health.trim()
                ));
            }
        }
        Err(unready) => {
            ctx.ui.say(&format!("{unready}; everything is stopped"));
            family.stop(|| false);
            return Err(exit_of(&unready));
        }
    }
    summary(ctx, &config, &dir, &family, clock.boot().0 - began.0)?;
    watch(ctx, &mut family, &signals);
    ctx.ui.say("stopping: what is claimed is finished first");
    for role in family.stop(|| signals.try_iter().any(is_stop)) {
        ctx.ui.say(&format!(
            "the role {role} did not stop in time and was killed; its next start sorts what it held"
        ));
    }
    Ok(Exit::Done)
}

fn directory(ctx: &Ctx) -> Result<PathBuf, Exit> {
    let Installation::Dir(dir) = &ctx.installation else {
        ctx.ui.say("say where: lockgate up --dir DIR");
        return Err(Exit::Usage);
    };
    std::path::absolute(dir).map_err(|error| {
        ctx.ui.say(&format!("{}: {error}", dir.display()));
        Exit::Failed
    })
}

fn is_stop(signal: i32) -> bool {
    signal != SIGCHLD
}

/// Signals as they come; taken before anything is started, so that none is missed.
fn signals(ctx: &Ctx) -> Result<Receiver<i32>, Exit> {
    let (sender, receiver) = channel();
    let started =
        signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP, SIGCHLD]).and_then(|mut signals| {
            std::thread::Builder::new()
                .name("signals".to_owned())
                .spawn(move || {
                    for signal in signals.forever() {
                        if sender.send(signal).is_err() {
                            return;
                        }
                    }
                })
        });
    started.map(|_| receiver).map_err(|error| {
        ctx.ui.say(&format!("signals: {error}"));
        Exit::Failed
    })
}

/// One `up` a directory; given up with the process.
fn alone(ctx: &Ctx, dir: &Path) -> Result<File, Exit> {
    let path = dir.join("run/up.lock");
    let file = open_lock_file(&path).map_err(|error| {
        ctx.ui.say(&format!("{}: {error}", path.display()));
        Exit::Failed
    })?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        ctx.ui.say(&format!(
            "another `lockgate up` runs below {}; stop it first",
            dir.display()
        ));
        return Err(Exit::Unavailable);
    }
    Ok(file)
}

/// A role that says what must be put right ends `up` with its own status.
fn exit_of(unready: &Unready) -> Exit {
    match unready {
        Unready::Ended(_, status) => {
            let code = status.code();
            Exit::ALL
                .into_iter()
                .find(|exit| Some(i32::from(exit.code())) == code)
                .unwrap_or(Exit::Failed)
        }
        Unready::Silent(..) => Exit::Unavailable,
        Unready::Io(_) => Exit::Failed,
    }
}

/// Until told to stop: who ends is told and started again.
fn watch(ctx: &Ctx, family: &mut Family, signals: &Receiver<i32>) {
    loop {
        match family.lost() {
            Ok(lost) => {
                for one in lost {
                    ctx.ui.say(&format!(
                        "the role {} ended ({}); it is started again in {} ms",
                        one.role, one.status, one.again_in_ms
                    ));
                }
            }
            Err(error) => ctx.ui.say(&format!("the roles cannot be watched: {error}")),
        }
        match family.start_due() {
            Ok(started) => {
                for role in started {
                    ctx.ui.say(&format!("the role {role} is started again"));
                }
            }
            Err(error) => ctx.ui.say(&format!("a role cannot be started again: {error}")),
        }
        let due = family
            .next_due_ms()
            .and_then(|ms| u64::try_from(ms).ok())
            .map(Duration::from_millis);
        match signals.recv_timeout(due.unwrap_or(LOOK).min(LOOK)) {
            Ok(signal) if is_stop(signal) => return,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn summary(ctx: &Ctx, config: &Config, dir: &Path, family: &Family, took_ms: i64) -> Result<(), Exit> {
    let pid = |role: Role| family.pid(role).unwrap_or(0);
    if ctx.ui.format == Format::Json {
        let pids: serde_json::Map<String, serde_json::Value> = Role::ALL
            .into_iter()
            .map(|role| (role.to_string(), json!(pid(role))))
            .collect();
        let line = json!({
            "dir": dir.display().to_string(), "instance": config.instance, "ready_ms": took_ms, "pids": pids,
            "gateway": config.layout.gateway_socket().display().to_string(),
        });
        return ctx.ui.data(&format!("{line}\n"));
    }
    let roles: Vec<String> = Role::ALL
        .into_iter()
        .map(|role| format!("{role} (pid {})", pid(role)))
        .collect();
    let shown = dir.display().to_string();
    let lockgate = quoted(&family.exe().display().to_string());
    let sign = quoted(&family.exe().with_file_name("lockgate-sign").display().to_string());
    let socket = quoted(&config.layout.gateway_socket().display().to_string());
    ctx.ui.data(&format!(
        "lockgate is up below {shown}, ready after {took_ms} ms: {}
Requester, operator and roles share the uid {} here: nothing is kept apart. For development only.

Next, in another shell:
  alias lockgate='{lockgate} --dir {}' lockgate-sign='{sign} --instance {}'
  lockgate draft save notes/old.md | lockgate submit --wait -
  lockgate-sign keygen --principal me@example.org /tmp/approver-key >> {}
  lockgate draft delete notes/old.md > job.json && lockgate submit job.json
  lockgate approval draft job.json --out payload.json
  lockgate-sign --key /tmp/approver-key payload.json > envelope.json && lockgate approval submit envelope.json
  lockgate overview; lockgate jobs delete; lockgate audit verify delete
  curl --unix-socket {socket} http://lockgate/health

Stop with Ctrl-C.
",
        roles.join(", "),
        hygiene::uid(),
        quoted(&shown),
        config.instance,
        quoted(&config.layout.approvers.display().to_string()),
    ))
}
