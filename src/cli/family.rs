//! The roles as child processes of one development process. In: the directory. Out: processes that are started, watched, started again,
//! and stopped; none outlives this one.
//!
//! Children are made on the calling thread, which must live as long as they shall: the kernel ends them when it ends (each asks
//! for that itself, with `serve --parent`).
//!
//! Not here: what a role does; units, which do this in production.

use super::rest::pause_ms;
use crate::clock::{BootMs, Clock, SystemClock};
use crate::config::{Config, LogLevel};
use crate::http::client::Client;
use crate::job::Role;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How long a role may drain after SIGTERM, ms (design: exit within 20 s).
const DRAIN_MS: i64 = 20_000;
/// A child that lived this long has not failed to start, ms.
const STEADY_MS: i64 = 60_000;
/// First and longest pause before a child is started again, ms.
const BACKOFF_MS: (i64, i64) = (500, 30_000);
/// Between two looks while the roles start or stop, ms.
const LOOK_MS: i64 = 5;

/// One role.
#[derive(Debug)]
struct Member {
    role: Role,
    child: Option<Child>,
    started: BootMs,
    /// When it is started again, if it is not running.
    due: Option<BootMs>,
    backoff_ms: i64,
}

/// A child that ended unasked.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) role: Role,
    pub(super) status: ExitStatus,
    pub(super) again_in_ms: i64,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Family {
    exe: PathBuf,
    config: Config,
    dir: PathBuf,
    level: Option<LogLevel>,
    /// Where the children log; `None`: where this process does.
    log: Option<File>,
    members: Vec<Member>,
    clock: SystemClock,
}

impl Family {
    /// Starts every role of the installation below `dir`.
    pub(super) fn start(
        config: Config,
        dir: PathBuf,
        level: Option<LogLevel>,
        log: Option<File>,
    ) -> io::Result<Family> {
        let clock = SystemClock::new(String::new());
        let members = Role::ALL.map(|role| Member {
            role,
            child: None,
            started: clock.boot(),
            due: None,
            backoff_ms: BACKOFF_MS.0,
        });
        let exe = std::env::current_exe()?;
        let mut family = Family {
            exe,
            config,
            dir,
            level,
            log,
            members: members.into(),
            clock,
        };
        for role in Role::ALL {
            family.spawn(role)?;
        }
        Ok(family)
    }

    fn spawn(&mut self, role: Role) -> io::Result<()> {
        let mut command = Command::new(&self.exe);
        command.arg("--dir").arg(&self.dir).args(["serve", role.as_str()]);
        command.args(["--parent", &std::process::id().to_string()]);
        if let Some(level) = self.level {
            command.args(["--log-level", level.as_str()]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(log) = &self.log {
            command.stderr(log.try_clone()?);
        }
        let child = command.spawn()?;
        let now = self.clock.boot();
        if let Some(member) = self.members.iter_mut().find(|member| member.role == role) {
            member.child = Some(child);
            member.started = now;
            member.due = None;
        }
        Ok(())
    }

    /// The program the children run.
    pub(super) fn exe(&self) -> &std::path::Path {
        &self.exe
    }

    /// The process of a role.
    pub(super) fn pid(&self, role: Role) -> Option<u32> {
        self.child(role).map(Child::id)
    }

    fn child(&self, role: Role) -> Option<&Child> {
        self.members
            .iter()
            .find(|member| member.role == role)?
            .child
            .as_ref()
    }

    /// Waits until every socket answers; the health words of those that are not well, or who ended or never answered.
    pub(super) fn ready(&mut self, within_ms: i64) -> Result<Vec<(Role, String)>, Unready> {
        let end = self.clock.boot().0 + within_ms;
        let mut unwell = Vec::new();
        for role in Role::ALL {
            let socket = match role {
                Role::Gateway => self.config.layout.gateway_socket(),
                Role::Save | Role::Delete => self.config.layout.admin_socket(role),
            };
            let mut client = Client::new(&socket, Duration::from_secs(5))
                .map_err(|fault| Unready::Silent(role, fault.to_string()))?;
            loop {
                let fault = match client.get_raw("/health") {
                    Ok(reply) if reply.status == 200 => break,
                    Ok(reply) => {
                        let text = String::from_utf8_lossy(&reply.body).into_owned();
                        unwell.push((role, text));
                        break;
                    }
                    Err(fault) => fault,
                };
                if let Some(lost) = self.lost()?.into_iter().next() {
                    return Err(Unready::Ended(lost.role, lost.status));
                }
                if self.clock.boot().0 > end {
                    return Err(Unready::Silent(role, fault.to_string()));
                }
                pause_ms(LOOK_MS);
            }
        }
        Ok(unwell)
    }

    /// Children that ended since the last look. Each is due to be started again later.
    pub(super) fn lost(&mut self) -> io::Result<Vec<Lost>> {
        let now = self.clock.boot();
        let mut lost = Vec::new();
        for member in &mut self.members {
            let Some(child) = &mut member.child else { continue };
            let Some(status) = child.try_wait()? else { continue };
            member.child = None;
            if now.0 - member.started.0 > STEADY_MS {
                member.backoff_ms = BACKOFF_MS.0;
            }
            let again_in_ms = member.backoff_ms;
            member.due = Some(BootMs(now.0 + again_in_ms));
            member.backoff_ms = (again_in_ms * 2).min(BACKOFF_MS.1);
            lost.push(Lost {
                role: member.role,
                status,
                again_in_ms,
            });
        }
        Ok(lost)
    }

    /// Starts those again whose time has come; which.
    pub(super) fn start_due(&mut self) -> io::Result<Vec<Role>> {
        let now = self.clock.boot();
        let due: Vec<Role> = self
            .members
            .iter()
            .filter(|member| member.due.is_some_and(|due| due <= now))
            .map(|member| member.role)
            .collect();
        for role in &due {
            self.spawn(*role)?;
        }
        Ok(due)
    }

    /// When the next one is due, ms from now.
    pub(super) fn next_due_ms(&self) -> Option<i64> {
        let now = self.clock.boot();
        self.members
            .iter()
            .filter_map(|member| member.due)
            .map(|due| (due.0 - now.0).max(0))
            .min()
    }

    /// SIGKILL to one role; its end is waited for. It is not started again by itself.
    #[cfg(feature = "signing")]
    pub(super) fn kill(&mut self, role: Role) -> io::Result<()> {
        let Some(member) = self.members.iter_mut().find(|member| member.role == role) else {
            return Ok(());
        };
        if let Some(mut child) = member.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Starts one role that was killed.
    #[cfg(feature = "signing")]
    pub(super) fn again(&mut self, role: Role) -> io::Result<()> {
        self.spawn(role)
    }

    /// SIGTERM to all, so that they drain; after 20 s, or when `hurry` says so, SIGKILL. Who had to be killed.
    pub(super) fn stop(&mut self, mut hurry: impl FnMut() -> bool) -> Vec<Role> {
        let pids: Vec<Pid> = self
            .members
            .iter()
            .filter_map(|member| member.child.as_ref())
            .map(Pid::from_child)
            .collect();
        for pid in pids {
            // It may have ended by itself meanwhile.
            let _sent = kill_process(pid, Signal::TERM);
        }
        let end = self.clock.boot().0 + DRAIN_MS;
        while self.members.iter_mut().any(Member::is_running) && self.clock.boot().0 < end && !hurry() {
            pause_ms(LOOK_MS);
        }
        let mut killed = Vec::new();
        for member in &mut self.members {
            if member.is_running()
                && let Some(child) = &mut member.child
            {
                let _sent = child.kill();
                let _reaped = child.wait();
                killed.push(member.role);
            }
            member.child = None;
        }
        killed
    }
}

impl Member {
    fn is_running(&mut self) -> bool {
        self.child
            .as_mut()
            .is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        // Whoever leaves early leaves nobody behind.
        self.stop(|| true);
    }
}

/// Why the roles are not ready.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unready {
    /// One ended at once; it has said why.
    #[error("the role {0} ended at its start ({1})")]
    Ended(Role, ExitStatus),
    /// One does not answer.
    #[error("the role {0} does not answer: {1}")]
    Silent(Role, String),
    /// The system refused.
    #[error("the roles cannot be watched: {0}")]
    Io(#[from] io::Error),
}
