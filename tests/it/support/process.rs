//! Roles as real processes of the program under test.

use super::Site;
use lockgate::job::Role;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for anything a process does.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// One role's process; killed when dropped.
pub struct Daemon {
    pub child: Child,
    admin: PathBuf,
}

impl Daemon {
    pub fn start(site: &Site, role: Role) -> Daemon {
        Daemon::armed(site, role, "")
    }

    /// `failpoint`: see src/failpoint.rs.
    pub fn armed(site: &Site, role: Role, failpoint: &str) -> Daemon {
        Daemon::of(site, role, spawn(site, role, failpoint))
    }

    /// With variables of its own.
    pub fn with(site: &Site, role: Role, variables: &[(&str, &str)]) -> Daemon {
        Daemon::of(site, role, spawn_with(site, role, variables))
    }

    fn of(site: &Site, role: Role, child: Child) -> Daemon {
        let admin = site.dir().join(format!("run/{role}/admin.sock"));
        let daemon = Daemon { child, admin };
        daemon.wait_ready();
        daemon
    }

    fn wait_ready(&self) {
        let end = Instant::now() + PATIENCE;
        while get(&self.admin, "/v1/overview").is_none() {
            assert!(
                Instant::now() < end,
                "the role does not answer on {}",
                self.admin.display()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        get(&self.admin, path).unwrap_or_else(|| panic!("no answer to {path}"))
    }

    /// `None` while nobody answers.
    pub fn try_get(&self, path: &str) -> Option<(u16, Value)> {
        get(&self.admin, path)
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        ask(&self.admin, "POST", path, Some(body)).unwrap_or_else(|| panic!("no answer to {path}"))
    }

    /// Waits until the job is in one of these states.
    pub fn wait_state(&self, job: &Value, states: &[&str]) -> Value {
        let end = Instant::now() + PATIENCE;
        let path = format!("/v1/jobs/{}", job["job_id"].as_str().unwrap());
        loop {
            let (status, found) = self.get(&path);
            if status == 200 && states.contains(&found["job"]["state"].as_str().unwrap_or("")) {
                return found["job"].clone();
            }
            assert!(Instant::now() < end, "{path} is {status} {found}, not {states:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the process has ended by itself.
    pub fn wait_end(&mut self) -> std::process::ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the process does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the process has stopped at a failpoint armed with `=pause`.
    pub fn wait_paused(&self) {
        let end = Instant::now() + PATIENCE;
        let stat = format!("/proc/{}/stat", self.child.id());
        let is_stopped = || {
            let text = std::fs::read_to_string(&stat).unwrap();
            text.rsplit_once(") ").unwrap().1.starts_with('T')
        };
        while !is_stopped() {
            assert!(Instant::now() < end, "the process does not reach its failpoint");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lets a stopped process go on.
    pub fn go_on(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    }

    pub fn terminate(&mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.wait_end()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Starts `lockgate serve ROLE`; its log goes to DIR/ROLE.log.
pub fn spawn(site: &Site, role: Role, failpoint: &str) -> Child {
    if failpoint.is_empty() {
        return spawn_with(site, role, &[]);
    }
    spawn_with(site, role, &[("LOCKGATE_FAILPOINT", failpoint)])
}

/// The same with any variables.
pub fn spawn_with(site: &Site, role: Role, variables: &[(&str, &str)]) -> Child {
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(site.dir().join(format!("{role}.log")))
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command
        .arg("--dir")
        .arg(site.dir())
        .args(["serve", role.as_str()])
        .stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log);
    command.envs(variables.iter().copied());
    command.spawn().unwrap()
}

fn get(socket: &PathBuf, path: &str) -> Option<(u16, Value)> {
    ask(socket, "GET", path, None)
}

/// One request over a unix socket, by hand.
pub fn ask(socket: &PathBuf, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: lockgate\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}
