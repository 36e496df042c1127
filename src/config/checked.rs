//! The configuration the program uses: every value judged, every default filled in. In: nothing. Out: plain values.
//!
//! Defaults, units and effects of each key stand in `keys`. Not here: reading and judging (`parse`, `check`).

use super::layout::Layout;
use super::pattern::PathPattern;
use super::requesters::RequesterPolicy;
use std::path::PathBuf;
use std::time::Duration;

/// A whole, judged configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How strict the program is about its surroundings.
    pub mode: Mode,
    /// Names this installation; approvals are bound to it.
    pub instance: String,
    /// Where the objects come from.
    pub source: Source,
    /// Where they go.
    pub vault: Vault,
    /// `[save]`
    pub save: Save,
    /// `[delete]` and its approval rules.
    pub delete: Delete,
    /// `[[requester]]`
    pub requesters: RequesterPolicy,
    /// `[limits]`
    pub limits: Limits,
    /// `[retention]`
    pub retention: Retention,
    /// `[http]`
    pub http: Http,
    /// `[log]`
    pub log: Log,
    /// Every path.
    pub layout: Layout,
    /// The files it was read from.
    pub files: Vec<PathBuf>,
}

/// How strict the program is about its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Separate UIDs, packaged paths, no shortcuts.
    Production,
    /// One UID for everything, below one directory.
    Development,
}

impl Mode {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Production => "production",
            Mode::Development => "development",
        }
    }
}

/// `[source]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Which driver.
    pub kind: SourceKind,
    /// The branch whose history is the truth, as written (`main` or `refs/heads/main`).
    pub reference: String,
    /// The repository's name in provenance hashes.
    pub repository: String,
    /// Put before the part of a vault path below `vault.root`: empty, or ends in `/`.
    pub root: String,
    /// The git directory.
    pub path: PathBuf,
    /// What an object_id is.
    pub object_id: ObjectIdRule,
    /// Bounds on what is read.
    pub limits: SourceLimits,
}

/// Where the source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A repository on this host.
    Git,
}

/// What an object_id is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectIdRule {
    /// The object's path in the repository.
    Path,
    /// The value of this key of the object's YAML front matter.
    FrontMatter(String),
}

/// `[source.limits]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLimits {
    /// Bytes of one object's content.
    pub blob_bytes_max: u64,
    /// Commits looked at to decide whether one is an ancestor of another.
    pub commits_walked_max: u64,
}

/// `[vault]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault {
    /// Which driver.
    pub kind: VaultKind,
    /// What every vault path begins with; begins and ends in `/`.
    pub root: String,
    /// The directory on this host.
    pub path: PathBuf,
    /// The id in the directory's marker file. Only in development it may be left out: then whatever the marker says.
    pub id: Option<String>,
    /// Whether the operator accepted that the save UID could unlink in a directory it shares with delete.
    pub shared_write: SharedWrite,
    /// Time limits.
    pub deadlines: Deadlines,
}

/// What the vault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VaultKind {
    /// A directory on this host.
    Directory,
    /// Nothing: every write and delete succeeds without effect. Development only.
    Noop,
}

/// `vault.shared_write_accepted`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedWrite {
    /// true
    Accepted,
    /// false
    NotAccepted,
}

/// `[vault.deadlines]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// One write or delete; a lease must outlast it.
    pub send: Duration,
}

/// `[save]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Save {
    /// Worker threads.
    pub workers: u16,
    /// Jobs in one claim.
    pub batch: u16,
}

/// `[delete]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// Worker threads.
    pub workers: u16,
    /// Jobs in one claim: as many as one kill may strand.
    pub batch: u16,
    /// How long a job waits for its approval; zero denies at once.
    pub approval_wait: Duration,
    /// Days a sealed copy of a deleted object is kept.
    pub recovery_days: u16,
    /// Whether the requester may approve.
    pub duty: Duty,
    /// `[[delete.approval]]`, in the order of the file.
    pub approval: Vec<ApprovalRule>,
}

/// `delete.separate_duty`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// true: an approver whose UID is the requester's does not count.
    Separate,
    /// false
    Shared,
}

/// `[[delete.approval]]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    /// The vault paths it is for; never empty.
    pub paths: Vec<PathPattern>,
    /// Distinct people and distinct keys that must have signed.
    pub required: u8,
    /// Groups of the approvers file a signer must be in; empty is any approver.
    pub groups: Vec<String>,
    /// The longest time from issued_at to expires_at.
    pub max_age: Duration,
    /// Whether a hardware key must have verified its user.
    pub user_verification: UserVerification,
}

/// `verify_required`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserVerification {
    /// true: only signatures with the user-verified flag count.
    Required,
    /// false
    NotRequired,
}

/// `[limits]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Unsettled jobs of one requester in one role.
    pub jobs_per_uid: u64,
    /// Bytes of unsettled documents of one requester in one role.
    pub bytes_per_uid: u64,
    /// Age since admission at which a waiting job is rejected `expired`; zero is never.
    pub job_max_age: Duration,
    /// Documents one requester may send through the gateway in a minute.
    pub submissions_per_minute: u32,
    /// Refusals kept in a role's table.
    pub refusals_max: u64,
    /// Bytes kept in a role's quarantine directory.
    pub quarantine_bytes_max: u64,
    /// Free bytes below which a role is unhealthy (`disk`) and takes nothing in.
    pub disk_free_bytes_min: u64,
}

/// `[retention]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Age since settlement at which a job's document is removed; zero is never. Its ids, key and digest always stay.
    pub jobs: Duration,
    /// Age at which a refusal is forgotten.
    pub refusals: Duration,
    /// Backups kept for each role.
    pub backups: u16,
}

/// `[http]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http {
    /// Bytes of a request's line and headers.
    pub header_bytes_max: u32,
    /// Bytes of a request's body.
    pub body_bytes_max: u32,
    /// Connections to one socket.
    pub connections_max: u32,
    /// Connections of one UID to one socket.
    pub connections_per_uid_max: u32,
    /// From the connection, or the last answer, to the end of the headers; so also how long a connection may idle.
    pub header_timeout: Duration,
    /// From the end of the headers to the end of the body.
    pub body_timeout: Duration,
    /// How long a peer may leave an answer unread.
    pub write_timeout: Duration,
}

/// `[log]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// One line of text or one JSON object for each event.
    pub format: LogFormat,
    /// The least important level that is written.
    pub level: LogLevel,
}

/// `log.format`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people and the journal.
    Text,
    /// For machines.
    Json,
}

/// `log.level`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Only what needs a person.
    Error,
    /// And what may soon.
    Warn,
    /// And what happened.
    Info,
    /// And how.
    Debug,
    /// And everything else.
    Trace,
}

impl LogLevel {
    /// Every level, the most important first.
    pub const ALL: [LogLevel; 5] = [
        LogLevel::Error,
        LogLevel::Warn,
        LogLevel::Info,
        LogLevel::Debug,
        LogLevel::Trace,
    ];

    /// The word in the file and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
    /// The level a word names.
    pub fn parse(text: &str) -> Option<LogLevel> {
        LogLevel::ALL.into_iter().find(|level| level.as_str() == text)
    }
}
