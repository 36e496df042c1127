//! From a checked configuration to a role that may work. In: configuration, role, boot id. Out: [`Gear`], or the exit status and
//! the sentence that says what to put right.
//!
//! Order: credentials → start lock → spent.log (before inbox.db) → ledger → is this the database we left? → worker lock →
//! published paths → epoch file. Everything under the start lock, so that two starting workers judge one after the other.
//! Not here: threads and sockets (role.rs).

use super::{restored, settings};
use crate::clock::{SharedClock, SystemClock, WallMs};
use crate::config::{Config, Mode};
use crate::credentials::{CredentialName, Credentials, Place, refuse_foreign};
use crate::durable::open_lock_file;
use crate::executor::Gear;
use crate::executor::approvals::ApproversFile;
use crate::executor::conditions::Conditions;
use crate::executor::epochs::Epochs;
use crate::executor::leases::Leases;
use crate::executor::wake::Wake;
use crate::exit::Exit;
use crate::fence::FenceDir;
use crate::http::status::Changes;
use crate::job::{Role, VaultPath};
use crate::keyring::{Keyring, Purpose};
use crate::ledger::Ledger;
use crate::recovery::RecoveryStore;
use crate::source::{LocalGit, Source};
use crate::spent::SpentLog;
use crate::sqlite::StorageFault;
use crate::target::{DirectoryVault, Vault};
use crate::workers::{self, DeathWatch, WorkerLock};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// Why a role does not start.
#[derive(Debug)]
pub struct NoStart {
    /// How the process ends.
    pub exit: Exit,
    /// What to put right.
    pub message: String,
}

impl NoStart {
    fn new(exit: Exit, message: impl std::fmt::Display) -> NoStart {
        NoStart {
            exit,
            message: message.to_string(),
        }
    }
}

/// Storage that may come back is worth a restart; a file that is wrong is not.
fn storage(fault: &StorageFault) -> NoStart {
    let exit = if fault.is_passing() {
        Exit::TryAgain
    } else {
        Exit::Configuration
    };
    NoStart::new(exit, fault)
}

/// What a role works on: where objects come from, where effects go.
#[derive(Debug)]
pub struct Outside {
    /// Where objects come from.
    pub source: Arc<dyn Source>,
    /// Where effects go.
    pub vault: Arc<dyn Vault>,
}

impl Outside {
    /// The drivers of the configuration.
    pub fn configured(config: &Config) -> Outside {
        Outside {
            source: source(config),
            vault: vault(config),
        }
    }
}

/// Opens everything one executor role needs.
///
/// # Errors
/// [`NoStart`].
pub fn executor(config: Config, role: Role, boot_id: String) -> Result<Gear, NoStart> {
    let clock: SharedClock = Arc::new(SystemClock::new(boot_id));
    let outside = Outside::configured(&config);
    executor_on(config, role, clock, outside)
}

/// The same on a given clock and given drivers.
///
/// # Errors
/// [`NoStart`].
pub fn executor_on(
    config: Config,
    role: Role,
    clock: SharedClock,
    outside: Outside,
) -> Result<Gear, NoStart> {
    let credentials = credentials(&config, role)?;
    let state_dir = config.layout.state_dir(role);
    let _start = start_lock(&state_dir)?;
    let inbox = config.layout.inbox_db(role);
    let spent = if role == Role::Delete {
        Some(spent_log(&state_dir, &inbox)?)
    } else {
        None
    };
    let ledger = Ledger::open(&inbox, role, Arc::clone(&clock)).map_err(|fault| storage(&fault))?;
    let epochs = Epochs::open(&state_dir).map_err(|why| NoStart::new(Exit::Configuration, why))?;
    restored::judge(&ledger, &epochs, spent.as_ref(), &state_dir)
        .map_err(|why| NoStart::new(Exit::Configuration, why))?;
    // Waiting times of an earlier boot are carried over now: an idle role looks only at those of its own.
    let carried = ledger.write(|tx| tx.release_due());
    carried.map_err(|error| NoStart::new(Exit::TryAgain, error))?;
    workers::sweep(&state_dir).map_err(|fault| NoStart::new(Exit::Configuration, fault))?;
    let worker = WorkerLock::acquire(&state_dir).map_err(|fault| NoStart::new(Exit::Configuration, fault))?;
    let fence = fence(&config, role, &ledger)?;
    let conditions = Conditions::new(Arc::clone(&clock));
    let recovery = recovery(&config, role, &credentials, &conditions, &clock, &ledger)?;
    epochs
        .note(&ledger)
        .map_err(|why| NoStart::new(Exit::TryAgain, why))?;
    let wake = Arc::new(Wake::default());
    Ok(Gear {
        role,
        uids: settings::uids(&config).map_err(|why| NoStart::new(Exit::Configuration, why))?,
        terms: settings::terms(&config, role),
        source: outside.source,
        vault: outside.vault,
        leases: Leases::new(ledger.clone()),
        approvers: ApproversFile::new(&config.layout.approvers),
        policy: settings::policy(&config).map_err(|error| NoStart::new(Exit::Configuration, error))?,
        changes: Changes::new(),
        deaths: DeathWatch::new(&state_dir, {
            let wake = Arc::clone(&wake);
            move |_| wake.poke()
        }),
        wake,
        beat: Wake::default(),
        halt: Wake::default(),
        intake: std::sync::OnceLock::new(),
        stopping: AtomicBool::new(false),
        ended: std::sync::OnceLock::new(),
        config,
        clock,
        ledger,
        fence,
        spent,
        recovery,
        worker,
        conditions,
        epochs,
    })
}

fn credentials(config: &Config, role: Role) -> Result<Credentials, NoStart> {
    let own = config.layout.credentials_dir(role);
    let place = match config.mode {
        Mode::Production => Place::HandedOver(own.clone()),
        Mode::Development => Place::Playground(own.clone().unwrap_or_default()),
    };
    if let Some(installed) = settings::installed_credentials(config) {
        refuse_foreign(role, &installed, own.as_deref())
            .map_err(|fault| NoStart::new(Exit::Permission, fault))?;
    }
    Credentials::load(role, place).map_err(|fault| NoStart::new(Exit::Configuration, fault))
}

/// One start at a time; released when the returned file is closed.
fn start_lock(state_dir: &Path) -> Result<File, NoStart> {
    let path = state_dir.join("start.lock");
    let fail =
        |error: std::io::Error| NoStart::new(Exit::Configuration, format!("{}: {error}", path.display()));
    let file = open_lock_file(&path).map_err(fail)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| fail(error.into()))?;
    Ok(file)
}

fn spent_log(state_dir: &Path, inbox: &Path) -> Result<SpentLog, NoStart> {
    SpentLog::create_or_open(&state_dir.join("spent.log"), !inbox.exists())
        .map_err(|fault| NoStart::new(Exit::Configuration, fault))
}

/// The published paths are made right from the ledger: what another worker holds stays, what nobody holds goes.
fn fence(config: &Config, role: Role, ledger: &Ledger) -> Result<FenceDir, NoStart> {
    let fail = |fault: crate::fence::FenceFault| NoStart::new(Exit::Configuration, fault);
    let others = Role::EXECUTORS
        .into_iter()
        .filter(|other| *other != role)
        .collect();
    let fence = FenceDir::open(&config.layout.fence_dir, role, others).map_err(fail)?;
    let reset = fence.begin_reset().map_err(fail)?;
    let rules = settings::rules(config);
    let mut held = Vec::new();
    for path in ledger.unresolved_paths().map_err(|fault| storage(&fault))? {
        // A path that is left out would be free for the other role.
        let parsed = VaultPath::parse(&rules.vault_root, &path).map_err(|_| {
            let why = format!(
                "a job holds {path}, which is not below vault.root any more; set vault.root back, resolve the job, then change it"
            );
            NoStart::new(Exit::Configuration, why)
        })?;
        held.push(parsed);
    }
    reset.finish(&held).map_err(fail)?;
    Ok(fence)
}

fn recovery(
    config: &Config,
    role: Role,
    credentials: &Credentials,
    conditions: &Conditions,
    clock: &SharedClock,
    ledger: &Ledger,
) -> Result<Option<RecoveryStore>, NoStart> {
    if role != Role::Delete {
        return Ok(None);
    }
    let key = match credentials.get(CredentialName::RecoveryKey) {
        Ok(key) => key,
        Err(fault) => {
            conditions.credential_refused(&fault.to_string());
            return Ok(None);
        }
    };
    let keyring = Keyring::new(Purpose::Recovery, &key, &[])
        .map_err(|fault| NoStart::new(Exit::Configuration, fault))?;
    let dir = config.layout.state_dir(role).join("recovery");
    let store =
        RecoveryStore::open_dir(&dir, keyring).map_err(|fault| NoStart::new(Exit::Configuration, fault))?;
    let store = store.with_clock(Arc::clone(clock));
    let kept_ms = i64::from(config.delete.recovery_days) * DAY_MS;
    let now = clock.wall();
    // A clock that is far ahead of everything seen so far may be wrong, and what is removed is gone.
    let seen = ledger
        .read(crate::ledger::control::clock_high)
        .map_err(|fault| storage(&fault))?;
    if now.0 > seen.0.saturating_add(DAY_MS) {
        return Ok(Some(store));
    }
    match store.prune(WallMs(now.0.saturating_sub(kept_ms))) {
        Ok(0) => {}
        Ok(pruned) => tracing::info!(
            pruned,
            "recovery copies older than delete.recovery_days are removed"
        ),
        Err(fault) => tracing::warn!(%fault, "old recovery copies stay for now"),
    }
    Ok(Some(store))
}

/// The driver of the configured source.
pub fn source(config: &Config) -> Arc<dyn Source> {
    Arc::new(LocalGit::new(settings::source(config)))
}

/// The driver of the configured vault.
fn vault(config: &Config) -> Arc<dyn Vault> {
    match config.vault.kind {
        crate::config::VaultKind::Directory => Arc::new(DirectoryVault::open(settings::directory(config))),
        crate::config::VaultKind::Noop => Arc::new(crate::target::NoopVault),
    }
}
