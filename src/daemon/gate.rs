//! The gateway's process: settings, sockets, signals, its end. In: a configuration and the boot id. Out: an exit status.
//!
//! Stop (SIGTERM, SIGINT): no new connections, what is being dropped is finished within the server's drain time. A document
//! whose answer did not get out may be queued; sending it again is safe.
//!
//! Not here: what is answered (gateway/), what is judged (admission/, approval/).

use super::notify::{self, Handed, Notifier, Tell};
use super::role::{limits, listener};
use super::start::NoStart;
use crate::admission::{GatewayFacts, Judged, Kind, judge_at_gateway};
use crate::approval::verify::precheck;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::exit::Exit;
use crate::gateway::{
    self, EnvelopeAtGate, GatewaySettings, JobAtGate, Judges, Meant, PendingLimits, RolePlaces,
};
use crate::http::Stop;
use crate::http::client::Client;
use crate::job::document::DocumentRules;
use crate::job::{Code, JobKind, Refusal, Role, VaultPath};
use crate::throttle::Rate;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How many requesters may fill their share of the gate directories at once. Past that, newcomers are told 429 while the
/// roles are away; without a bound they could fill the disk.
const FULL_REQUESTERS: u64 = 8;
/// The gateway answers its own probe within this, or the watchdog hears nothing.
const PROBE_TIME: Duration = Duration::from_secs(5);

/// Runs the gateway until it is told to stop.
pub fn run(config: &Config, boot_id: String) -> Exit {
    match serve(config, boot_id) {
        Ok(()) => Exit::Done,
        Err(no) => {
            tracing::error!(role = %Role::Gateway, "{}", no.message);
            no.exit
        }
    }
}

fn serve(config: &Config, boot_id: String) -> Result<(), NoStart> {
    let refuse = |exit: Exit, message: String| NoStart { exit, message };
    let settings = settings(config, boot_id)?;
    let stop = Stop::new();
    let signals = Signals::take(&stop).map_err(|error| refuse(Exit::Failed, format!("signals: {error}")))?;
    let notifier = Notifier::from_environment();
    let mut watchdog = None;
    let mut is_ready = false;
    let ended = gateway::run(settings, &stop, || {
        is_ready = true;
        watchdog = watch(&notifier, config.layout.gateway_socket(), &stop);
        tell(&notifier, Tell::Ready);
        tracing::info!(role = %Role::Gateway, "ready");
    });
    stop.request();
    signals.end();
    if let Some(watchdog) = watchdog {
        drop(watchdog.join());
    }
    let exit = if is_ready {
        Exit::Failed
    } else {
        Exit::Configuration
    };
    ended.map_err(|fault| {
        let cause = std::error::Error::source(&fault).map(|cause| format!(": {cause}"));
        refuse(exit, format!("{fault}{}", cause.unwrap_or_default()))
    })?;
    tracing::info!(role = %Role::Gateway, "stopped");
    Ok(())
}

fn tell(notifier: &Notifier, what: Tell<'_>) {
    if let Err(error) = notifier.tell(&[what]) {
        tracing::warn!(%error, ?what, "the service manager was not told");
    }
}

/// SIGTERM and SIGINT wish for a stop.
struct Signals {
    handle: signal_hook::iterator::Handle,
    thread: JoinHandle<()>,
}

impl Signals {
    fn take(stop: &Stop) -> std::io::Result<Signals> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
        let handle = signals.handle();
        let stop = stop.clone();
        let notifier = Notifier::from_environment();
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for _signal in signals.forever() {
                    tell(&notifier, Tell::Stopping);
                    stop.request();
                }
            })?;
        Ok(Signals { handle, thread })
    }
    fn end(self) {
        self.handle.close();
        drop(self.thread.join());
    }
}

/// Where a service manager watches: tells it that we live, each time only after our own socket answered. Without one
/// nothing runs.
fn watch(notifier: &Notifier, socket: PathBuf, stop: &Stop) -> Option<JoinHandle<()>> {
    let pause = notifier.watchdog()? / 2;
    let (notifier, stop) = (notifier.clone(), stop.clone());
    let watching = move || {
        while !stop.wait_for(pause) {
            if answers(&socket) {
                tell(&notifier, Tell::Watchdog);
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(watching);
    thread
        .inspect_err(|error| tracing::error!(%error, "no thread for the watchdog"))
        .ok()
}

/// Any answer is a sign of life: a full disk is no reason to be restarted.
fn answers(socket: &Path) -> bool {
    let asked = Client::new(socket, PROBE_TIME).and_then(|mut client| client.get_raw("/health"));
    asked
        .inspect_err(|fault| tracing::error!(%fault, "the gateway does not answer itself"))
        .is_ok()
}

fn settings(config: &Config, boot_id: String) -> Result<GatewaySettings, NoStart> {
    let refuse = |message: String| NoStart {
        exit: Exit::Configuration,
        message,
    };
    let mut handed = notify::take_sockets().map_err(|error| refuse(error.to_string()))?;
    let layout = &config.layout;
    let requests = listener(&mut handed, "gateway", &layout.gateway_socket(), config)?;
    let probes = probes(handed).map_err(refuse)?;
    let places = |role: Role| RolePlaces {
        role,
        gate: layout.gate_dir(role),
        status: layout.status_socket(role),
    };
    let refused_uids = super::settings::uids(config).map_err(refuse)?.roles;
    let rules = super::settings::rules(config);
    Ok(GatewaySettings {
        requests,
        probes,
        roles: Role::EXECUTORS.into_iter().map(places).collect(),
        frozen_file: layout.frozen.clone(),
        refused_uids,
        rate: rate(config.limits.submissions_per_minute),
        pending: pending(config),
        body_bytes_max: usize::try_from(config.http.body_bytes_max).unwrap_or(1 << 20),
        limits: limits(config),
        judges: judges(config, &rules),
        rules,
        clock: Arc::new(SystemClock::new(boot_id)),
    })
}

/// The optional loopback socket; an inherited socket that nobody knows is a mistake in a unit.
fn probes(handed: Vec<(String, Handed)>) -> Result<Option<TcpListener>, String> {
    let mut found = None;
    for (name, one) in handed {
        match one {
            Handed::Tcp(listener) if found.is_none() => found = Some(listener),
            Handed::Tcp(_) | Handed::Unix(_) => {
                return Err(format!(
                    "the inherited socket \"{name}\" is not wanted: the gateway takes \"gateway\" and one TCP socket"
                ));
            }
        }
    }
    Ok(found)
}

/// At most `per_minute` in any minute: what a full bucket gives at once and what comes back meanwhile add up to it.
fn rate(per_minute: u32) -> Rate {
    let burst = (per_minute / 2).max(1);
    Rate {
        burst,
        per_minute: (per_minute - burst).saturating_add(1).min(per_minute),
    }
}

fn pending(config: &Config) -> PendingLimits {
    let limits = &config.limits;
    PendingLimits {
        documents_per_uid: limits.jobs_per_uid,
        bytes_per_uid: limits.bytes_per_uid,
        documents: limits.jobs_per_uid.saturating_mul(FULL_REQUESTERS),
        bytes: limits.bytes_per_uid.saturating_mul(FULL_REQUESTERS),
    }
}

/// What the roles will say, as far as it can be said without them.
fn judges(config: &Config, rules: &DocumentRules) -> Judges {
    let requesters = config.requesters.clone();
    let for_jobs = rules.clone();
    let judge = move |uid: u32, bytes: &[u8]| -> Judged {
        let may_ask = |uid: u32, kind: JobKind, path: &VaultPath| requesters.allows(uid, kind, path.as_str());
        let facts = GatewayFacts {
            rules: &for_jobs,
            may_ask: &may_ask,
            uid,
        };
        judge_at_gateway(bytes, &facts)
    };
    let judge = Arc::new(judge);
    let (for_envelopes, instance) = (rules.clone(), config.instance.clone());
    Judges {
        job: Arc::new({
            let judge = judge.clone();
            move |uid, bytes| job(judge(uid, bytes))
        }),
        envelope: Arc::new(move |uid, bytes| envelope(judge(uid, bytes), &instance, &for_envelopes)),
    }
}

fn job(judged: Judged) -> Result<JobAtGate, Refusal> {
    match judged.outcome? {
        Kind::Job(kind) => {
            let job_id = judged
                .job_id
                .ok_or_else(|| misplaced("/job_id", "a job names its job_id"))?;
            Ok(JobAtGate {
                role: kind.role(),
                job_id,
                digest: judged.digest,
            })
        }
        Kind::Approval | Kind::Withdrawal => Err(misplaced(
            "/job_version",
            "this is no job; send it to POST /v1/approvals",
        )),
        Kind::Cancel => Err(misplaced(
            "/job_version",
            "this is no job; use POST /v1/jobs/{id}/cancel",
        )),
    }
}

fn envelope(judged: Judged, instance: &str, rules: &DocumentRules) -> Result<EnvelopeAtGate, Refusal> {
    let meant = match judged.outcome? {
        Kind::Approval => Meant::Approval,
        Kind::Withdrawal => Meant::Withdrawal,
        Kind::Job(_) | Kind::Cancel => {
            return Err(misplaced(
                "/payload_b64",
                "this is no envelope; jobs go to POST /v1/jobs",
            ));
        }
    };
    let envelope = judged.envelope.as_deref();
    let envelope = envelope.ok_or_else(|| misplaced("/payload_b64", "this is no envelope"))?;
    precheck(envelope, instance, rules)?;
    Ok(EnvelopeAtGate {
        role: Role::Delete,
        digest: judged.digest,
        meant,
    })
}

/// The field that would make it what the endpoint takes is missing.
fn misplaced(pointer: &str, message: &str) -> Refusal {
    Refusal::new(Code::MissingField, pointer, message)
}

#[cfg(test)]
#[path = "gate_test.rs"]
mod tests;
