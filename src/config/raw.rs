//! The configuration as it stands in the files: every key optional, nothing judged but its type. In: TOML. Out: values
//! that still know where they stood.
//!
//! Not here: defaults and limits (`check`), what a key means (`keys`, which is also the man page).

use serde::Deserialize;
use toml::Spanned;

/// A key that may be left out; if it is there, its place is kept.
pub(super) type Key<T> = Option<Spanned<T>>;
/// A list whose items keep their places.
pub(super) type List<T> = Option<Spanned<Vec<Spanned<T>>>>;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) mode: Key<String>,
    pub(super) instance: Key<String>,
    pub(super) source: Source,
    pub(super) vault: Vault,
    pub(super) save: Save,
    pub(super) delete: Delete,
    pub(super) requester: Vec<Spanned<Requester>>,
    pub(super) limits: Limits,
    pub(super) retention: Retention,
    pub(super) http: Http,
    pub(super) log: Log,
    pub(super) paths: Paths,
}

/// `[source]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Source {
    pub(super) kind: Key<String>,
    #[serde(rename = "ref")]
    pub(super) reference: Key<String>,
    pub(super) repository: Key<String>,
    pub(super) root: Key<String>,
    pub(super) path: Key<String>,
    pub(super) object_id: Key<String>,
    pub(super) url: Key<String>,
    pub(super) ca_file: Key<String>,
    pub(super) limits: SourceLimits,
}

/// `[source.limits]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SourceLimits {
    pub(super) blob_bytes_max: Key<i64>,
    pub(super) commits_walked_max: Key<i64>,
}

/// `[vault]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Vault {
    pub(super) kind: Key<String>,
    pub(super) root: Key<String>,
    pub(super) path: Key<String>,
    pub(super) id: Key<String>,
    pub(super) url: Key<String>,
    pub(super) ca_file: Key<String>,
    pub(super) shared_write_accepted: Key<bool>,
    pub(super) deadlines: Deadlines,
}

/// `[vault.deadlines]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Deadlines {
    pub(super) send: Key<String>,
}

/// `[save]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Save {
    pub(super) workers: Key<i64>,
    pub(super) batch: Key<i64>,
}

/// `[delete]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Delete {
    pub(super) workers: Key<i64>,
    pub(super) batch: Key<i64>,
    pub(super) approval_wait: Key<String>,
    pub(super) recovery_days: Key<i64>,
    pub(super) separate_duty: Key<bool>,
    pub(super) approval: Vec<Spanned<Approval>>,
}

/// `[[delete.approval]]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Approval {
    pub(super) paths: List<String>,
    pub(super) required: Key<i64>,
    pub(super) groups: List<String>,
    pub(super) max_age: Key<String>,
    pub(super) verify_required: Key<bool>,
}

/// `[[requester]]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Requester {
    pub(super) uid: Key<i64>,
    pub(super) group: Key<String>,
    pub(super) kinds: List<String>,
    pub(super) paths: List<String>,
}

/// `[limits]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Limits {
    pub(super) jobs_per_uid: Key<i64>,
    pub(super) bytes_per_uid: Key<i64>,
    pub(super) job_max_age: Key<String>,
    pub(super) submissions_per_minute: Key<i64>,
    pub(super) refusals_max: Key<i64>,
    pub(super) quarantine_bytes_max: Key<i64>,
    pub(super) disk_free_bytes_min: Key<i64>,
}

/// `[retention]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Retention {
    pub(super) jobs: Key<String>,
    pub(super) refusals: Key<String>,
    pub(super) backups: Key<i64>,
}

/// `[http]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Http {
    pub(super) header_bytes_max: Key<i64>,
    pub(super) body_bytes_max: Key<i64>,
    pub(super) connections_max: Key<i64>,
    pub(super) connections_per_uid_max: Key<i64>,
    pub(super) header_timeout: Key<String>,
    pub(super) body_timeout: Key<String>,
    pub(super) write_timeout: Key<String>,
}

/// `[log]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Log {
    pub(super) format: Key<String>,
    pub(super) level: Key<String>,
}

/// `[paths]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Paths {
    pub(super) state: Key<String>,
    pub(super) spool: Key<String>,
    pub(super) fence: Key<String>,
    pub(super) run: Key<String>,
    pub(super) approvers: Key<String>,
    pub(super) frozen: Key<String>,
}
