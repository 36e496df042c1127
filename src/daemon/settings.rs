//! From the checked configuration to what each room asks for. In: [`Config`]. Out: the settings of the rooms, in their own units.
//!
//! Not here: checking a value (config/), opening anything (start.rs).

use crate::approval::{Policy, RuleSpec, SeparateDuty};
use crate::config::{Config, Duty, Mode, ObjectIdRule, People, UserVerification};
use crate::executor::{Terms, Uids};
use crate::job::Role;
use crate::job::document::DocumentRules;
use crate::source::SourceSettings;
use crate::target;
use std::path::PathBuf;
use std::time::Duration;

/// Milliseconds, for rooms that count in them.
fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Rules for documents.
pub fn rules(config: &Config) -> DocumentRules {
    DocumentRules {
        vault_root: config.vault.root.clone(),
        object_id_is_path: config.source.object_id == ObjectIdRule::Path,
    }
}

/// Numbers of the executor's loops.
pub fn terms(config: &Config, role: Role) -> Terms {
    let batch = match role {
        Role::Save => config.save.batch,
        Role::Delete | Role::Gateway => config.delete.batch,
    };
    Terms {
        rules: rules(config),
        approval_wait_ms: ms(config.delete.approval_wait),
        job_max_age_ms: ms(config.limits.job_max_age),
        batch: usize::from(batch).max(1),
        submissions_kept: i64::try_from(config.limits.refusals_max).unwrap_or(i64::MAX),
        deadline_ms: ms(config.vault.deadlines.send),
    }
}

/// Who must approve what.
///
/// # Errors
/// The rule that cannot be meant.
pub fn policy(config: &Config) -> Result<Policy, String> {
    let specs: Vec<RuleSpec> = config
        .delete
        .approval
        .iter()
        .map(|rule| RuleSpec {
            paths: rule
                .paths
                .iter()
                .map(|pattern| pattern.as_str().to_owned())
                .collect(),
            required: u32::from(rule.required),
            groups: rule.groups.clone(),
            max_age_ms: Some(ms(rule.max_age)),
            verify_required: rule.user_verification == UserVerification::Required,
        })
        .collect();
    let duty = match config.delete.duty {
        Duty::Separate => SeparateDuty::Required,
        Duty::Shared => SeparateDuty::NotRequired,
    };
    Policy::new(&specs, duty).map_err(|error| error.to_string())
}

/// The git source.
pub fn source(config: &Config) -> SourceSettings {
    let source = &config.source;
    let mut settings = SourceSettings::new(&source.path, &source.repository);
    settings.git_ref = source.reference.clone();
    settings.root = source.root.clone();
    settings.object_id = match &source.object_id {
        ObjectIdRule::Path => crate::source::ObjectIdRule::Path,
        ObjectIdRule::FrontMatter(key) => crate::source::ObjectIdRule::FrontMatter(key.clone()),
    };
    settings.blob_bytes_max = source.limits.blob_bytes_max;
    settings.history_max = source.limits.commits_walked_max;
    settings
}

/// The directory vault.
pub fn directory(config: &Config) -> target::Settings {
    let mut settings = target::Settings::new(&config.vault.path, config.vault.id.clone());
    settings.bytes_max = config.source.limits.blob_bytes_max;
    settings.deadline_ms = ms(config.vault.deadlines.send);
    settings
}

/// Looks the roles' users up; in development everything is the caller.
///
/// # Errors
/// A user that does not exist, by name.
pub fn uids(config: &Config) -> Result<Uids, String> {
    if config.mode == Mode::Development {
        return Ok(Uids {
            roles: Vec::new(),
            gateway: rustix::process::getuid().as_raw(),
        });
    }
    let people = People::of_this_machine().map_err(|error| format!("/etc/passwd cannot be read: {error}"))?;
    let uid = |role: Role| {
        let name = format!("lockgate-{role}");
        people.uid(&name).ok_or_else(|| {
            format!("there is no user {name}; install the package again, or run systemd-sysusers")
        })
    };
    let gateway = uid(Role::Gateway)?;
    let mut roles = vec![gateway];
    for role in Role::EXECUTORS {
        roles.push(uid(role)?);
    }
    Ok(Uids { roles, gateway })
}

/// Where the credentials of all roles lie as files on a production host; no role may read another's.
pub fn installed_credentials(config: &Config) -> Option<PathBuf> {
    (config.mode == Mode::Production).then(|| config.layout.main_file.with_file_name("credentials"))
}
