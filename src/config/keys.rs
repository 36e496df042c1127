//! Every key: its name, shape, default, limits and effect. In: nothing. Out: one table that `check` judges by and the
//! man page is made from, so that the two cannot differ.
//!
//! Not here: the types the program uses (`checked`).

/// A whole number.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) name: &'static str,
    pub(super) default: i64,
    pub(super) min: i64,
    pub(super) max: i64,
    pub(super) unit: &'static str,
    pub(super) effect: &'static str,
}

/// A duration.
#[derive(Debug)]
pub(super) struct Time {
    pub(super) name: &'static str,
    /// As it would be written.
    pub(super) default: &'static str,
    /// Shortest, in milliseconds; [`Zero`] aside.
    pub(super) min_ms: u64,
    /// Longest, in milliseconds.
    pub(super) max_ms: u64,
    pub(super) zero: Zero,
    pub(super) effect: &'static str,
}

/// What "0" does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    /// It has a meaning of its own.
    Means(&'static str),
    /// It is refused.
    Refused,
}

/// true or false.
#[derive(Debug)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) default: bool,
    pub(super) effect: &'static str,
}

/// One of a few words.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) name: &'static str,
    pub(super) default: &'static str,
    pub(super) words: &'static [&'static str],
    pub(super) effect: &'static str,
}

/// Text or a list of texts, judged by rules of its own.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) name: &'static str,
    /// What holds when it is left out, in words or as it would be written.
    pub(super) default: &'static str,
    pub(super) shape: &'static str,
    pub(super) effect: &'static str,
}

/// Any of them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Count(&'static Count),
    Time(&'static Time),
    Flag(&'static Flag),
    Words(&'static Words),
    Text(&'static Text),
}

const SECOND: u64 = 1000;
const DAY: u64 = 24 * 60 * 60 * SECOND;
const KIB: i64 = 1024;
const MIB: i64 = 1024 * KIB;
const GIB: i64 = 1024 * MIB;

macro_rules! keys {
    ($($(#[$of:meta])* $id:ident: $shape:ident { $($field:ident: $value:expr),+ $(,)? })+) => {
        $($(#[$of])* pub(super) const $id: &$shape = &$shape { $($field: $value),+ };)+
        /// Every key, in the order of the man page.
        pub(super) const KEYS: &[Key] = &[$(Key::$shape($id)),+];
    };
}

keys! {
    MODE: Words {
        name: "mode", default: "production", words: &["production", "development"],
        effect: "How strict the program is about its surroundings. In production each role has a UID of its own, and \
            running as root, `lockgate up`, no-op drivers and directories open to others are refused. With `--dir` the \
            default is development.",
    }
    INSTANCE: Text {
        name: "instance", default: "none; it must be set", shape: "a random UUID (version 4, lower case)",
        effect: "Names this installation. Approvals are bound to it: one signed for another instance is worth nothing \
            here. Give a cloned host a new one.",
    }
    SOURCE_KIND: Words {
        name: "source.kind", default: "git", words: &["git", "forgejo", "git-http"],
        effect: "Where objects come from. git is a repository on this host; the other two are not in this build yet.",
    }
    SOURCE_REF: Text {
        name: "source.ref", default: "none; it must be set", shape: "a branch, as in \"main\" or \"refs/heads/main\"",
        effect: "The branch whose history is the truth: a commit that is neither its tip nor an ancestor is refused \
            (commit_not_on_ref).",
    }
    SOURCE_REPOSITORY: Text {
        name: "source.repository", default: "none; it must be set", shape: "text, as in \"team/notes\"",
        effect: "The repository's name in provenance hashes. Changing it makes every provenance hash made before \
            wrong.",
    }
    SOURCE_ROOT: Text {
        name: "source.root", default: "\"\"", shape: "a directory in the repository, without a leading slash",
        effect: "Put before the part of a vault path that is below vault.root to get the path in the repository.",
    }
    SOURCE_PATH: Text {
        name: "source.path", default: "none; it must be set; with --dir, DIR/source", shape: "a directory",
        effect: "The git repository, bare or not. Only read; its alternates are not followed.",
    }
    SOURCE_OBJECT_ID: Text {
        name: "source.object_id", default: "\"path\"", shape: "\"path\" or \"front-matter:KEY\"",
        effect: "What an object_id must equal: the object's path in the repository, or the value of KEY in the YAML \
            front matter of the object.",
    }
    SOURCE_URL: Text {
        name: "source.url", default: "unset", shape: "an https URL",
        effect: "For kinds forgejo and git-http; refused with any other.",
    }
    SOURCE_CA_FILE: Text {
        name: "source.ca_file", default: "unset", shape: "a PEM file",
        effect: "For kinds forgejo and git-http; refused with any other.",
    }
    SOURCE_BLOB: Count {
        name: "source.limits.blob_bytes_max", default: 128 * MIB, min: 1, max: 2 * GIB, unit: "bytes",
        effect: "The largest object content that is read; a job for a larger one is refused.",
    }
    SOURCE_WALK: Count {
        name: "source.limits.commits_walked_max", default: 1_000_000, min: 1, max: 100_000_000, unit: "commits",
        effect: "How far the history is followed to decide whether one commit is an ancestor of another; past it the \
            source counts as unavailable.",
    }
    VAULT_KIND: Words {
        name: "vault.kind", default: "directory", words: &["directory", "tolaria", "noop"],
        effect: "Where objects go. directory is one on this host; tolaria is not in this build yet; noop does nothing \
            and says that it worked, for development and measurements only.",
    }
    VAULT_ROOT: Text {
        name: "vault.root", default: "\"/app/vault/\"", shape: "an absolute path in documents, ending in a slash",
        effect: "What every vault_path begins with. A name in documents, not a place on this host (that is \
            vault.path).",
    }
    VAULT_PATH: Text {
        name: "vault.path", default: "none; it must be set; with --dir, DIR/vault", shape: "a directory",
        effect: "The directory that stands for vault.root. It holds a file .lockgate-vault with vault.id; without it \
            (a file system that is not mounted) the vault is unreachable, not empty.",
    }
    VAULT_ID: Text {
        name: "vault.id", default: "none; in production it must be set", shape: "text without spaces",
        effect: "What the marker file .lockgate-vault must say. In development it may be left out: then any marker \
            will do.",
    }
    VAULT_URL: Text {
        name: "vault.url", default: "unset", shape: "an https URL",
        effect: "For kind tolaria; refused with any other.",
    }
    VAULT_CA_FILE: Text {
        name: "vault.ca_file", default: "unset", shape: "a PEM file",
        effect: "For kind tolaria; refused with any other.",
    }
    VAULT_SHARED: Flag {
        name: "vault.shared_write_accepted", default: false,
        effect: "The operating system cannot keep the save UID from unlinking in a directory that it may write. \
            Production takes a directory vault only with true here, which says that somebody knows.",
    }
    VAULT_SEND: Time {
        name: "vault.deadlines.send", default: "30s", min_ms: 100, max_ms: 600 * SECOND, zero: Zero::Refused,
        effect: "How long one write or delete may take. A lease must have more than this left before anything is \
            sent.",
    }
    SAVE_WORKERS: Count {
        name: "save.workers", default: 1, min: 1, max: 64, unit: "threads",
        effect: "Threads of one process that claim and perform SAVE jobs.",
    }
    SAVE_BATCH: Count {
        name: "save.batch", default: 256, min: 1, max: 1000, unit: "jobs",
        effect: "The most SAVE jobs in one claim. A killed process leaves as many to be probed.",
    }
    DELETE_WORKERS: Count {
        name: "delete.workers", default: 1, min: 1, max: 64, unit: "threads",
        effect: "Threads of one process that claim and perform DELETE jobs.",
    }
    DELETE_BATCH: Count {
        name: "delete.batch", default: 16, min: 1, max: 1000, unit: "jobs",
        effect: "The most DELETE jobs in one claim. A killed process leaves as many in OUTCOME_UNKNOWN, for people to \
            resolve: keep it small.",
    }
    DELETE_WAIT: Time {
        name: "delete.approval_wait", default: "24h", min_ms: SECOND, max_ms: 3650 * DAY,
        zero: Zero::Means("a job without a complete approval is denied at once"),
        effect: "How long a DELETE job waits for a complete approval before it is denied.",
    }
    DELETE_RECOVERY: Count {
        name: "delete.recovery_days", default: 30, min: 1, max: 3650, unit: "days",
        effect: "How long the sealed copy of a deleted object is kept for `lockgate recover`.",
    }
    DELETE_DUTY: Flag {
        name: "delete.separate_duty", default: false,
        effect: "With true an approver whose UID (the `# uid` lines of the approvers file) is the requester's does \
            not count.",
    }
    APPROVAL_PATHS: Text {
        name: "delete.approval.paths", default: "none; each rule must set it",
        shape: "a list of patterns of vault paths",
        effect: "What the rule is for. `*` and `?` stay within one component, `**` stands for any number of whole \
            components. All rules that match a path apply together: the highest required, the shortest max_age. A \
            path that no rule matches cannot be deleted (quorum_not_met).",
    }
    APPROVAL_REQUIRED: Count {
        name: "delete.approval.required", default: 1, min: 1, max: 16, unit: "people",
        effect: "How many distinct people, with distinct keys, must have signed.",
    }
    APPROVAL_GROUPS: Text {
        name: "delete.approval.groups", default: "[]: every approver", shape: "a list of names",
        effect: "Only signers in one of these groups (the `# group` lines of the approvers file) count.",
    }
    APPROVAL_AGE: Time {
        name: "delete.approval.max_age", default: "24h", min_ms: SECOND, max_ms: 3650 * DAY, zero: Zero::Refused,
        effect: "The longest time an approval may be valid: its expires_at less its issued_at.",
    }
    APPROVAL_VERIFY: Flag {
        name: "delete.approval.verify_required", default: false,
        effect: "With true only signatures of hardware keys that verified their user (PIN or fingerprint) count.",
    }
    REQUESTER_UID: Text {
        name: "requester.uid", default: "none; each table sets uid or group", shape: "a number",
        effect: "Whom the table is for. Without any [[requester]] everyone who can drop a file may ask for \
            everything; with any, each request needs a table that fits it.",
    }
    REQUESTER_GROUP: Text {
        name: "requester.group", default: "none; each table sets uid or group", shape: "a name in /etc/group",
        effect: "Whom the table is for: the members when the configuration is read, by /etc/group and /etc/passwd \
            alone.",
    }
    REQUESTER_KINDS: Text {
        name: "requester.kinds", default: "every kind", shape: "a list of C5_SAVE_OBJECT and C5_DELETE_OBJECT",
        effect: "What they may ask for. save and delete are understood as well.",
    }
    REQUESTER_PATHS: Text {
        name: "requester.paths", default: "everywhere", shape: "a list of patterns of vault paths",
        effect: "Where they may ask for it; patterns as in delete.approval.paths.",
    }
    LIMIT_JOBS: Count {
        name: "limits.jobs_per_uid", default: 100_000, min: 1, max: 100_000_000, unit: "jobs",
        effect: "How many unsettled jobs of one requester a role holds. Past it the requester's files wait unread in \
            the drop directory; none is lost.",
    }
    LIMIT_BYTES: Count {
        name: "limits.bytes_per_uid", default: 256 * MIB, min: 64 * KIB, max: 64 * GIB, unit: "bytes",
        effect: "How many bytes of unsettled documents of one requester a role holds. Past it as above.",
    }
    LIMIT_AGE: Time {
        name: "limits.job_max_age", default: "0", min_ms: SECOND, max_ms: 3650 * DAY,
        zero: Zero::Means("jobs wait as long as it takes"),
        effect: "A job that is still READY this long after its admission is rejected (expired).",
    }
    LIMIT_SUBMISSIONS: Count {
        name: "limits.submissions_per_minute", default: 600_000, min: 1, max: 100_000_000, unit: "documents",
        effect: "How many documents one requester may send through the gateway in a minute; past it the answer is \
            429 with Retry-After.",
    }
    LIMIT_REFUSALS: Count {
        name: "limits.refusals_max", default: 10_000, min: 100, max: 10_000_000, unit: "rows",
        effect: "How many refusals a role remembers for `lockgate status`; the oldest are forgotten first. The audit \
            keeps their count.",
    }
    LIMIT_QUARANTINE: Count {
        name: "limits.quarantine_bytes_max", default: 64 * MIB, min: MIB, max: 64 * GIB, unit: "bytes",
        effect: "How much a role keeps in quarantine/; the oldest files are removed first.",
    }
    LIMIT_DISK: Count {
        name: "limits.disk_free_bytes_min", default: 64 * MIB, min: 0, max: 1024 * GIB, unit: "bytes",
        effect: "With less free space than this where a role keeps its state, its health is `disk` and it takes \
            nothing in.",
    }
    KEEP_JOBS: Time {
        name: "retention.jobs", default: "0", min_ms: DAY, max_ms: 36_500 * DAY, zero: Zero::Means("for ever"),
        effect: "How long a settled job is shown in full. Its job_id, idempotency_key and digest are kept for ever.",
    }
    KEEP_REFUSALS: Time {
        name: "retention.refusals", default: "30d", min_ms: 3600 * SECOND, max_ms: 3650 * DAY, zero: Zero::Refused,
        effect: "How long a refusal is remembered.",
    }
    KEEP_BACKUPS: Count {
        name: "retention.backups", default: 7, min: 1, max: 1000, unit: "files",
        effect: "How many backups of each role are kept in its backups/ directory.",
    }
    HTTP_HEADER: Count {
        name: "http.header_bytes_max", default: 16 * KIB, min: 8 * KIB, max: 256 * KIB, unit: "bytes",
        effect: "The longest request line and headers together.",
    }
    HTTP_BODY: Count {
        name: "http.body_bytes_max", default: MIB, min: 64 * KIB, max: 64 * MIB, unit: "bytes",
        effect: "The longest body (a jsonl upload); past it the answer is 413.",
    }
    HTTP_CONNECTIONS: Count {
        name: "http.connections_max", default: 256, min: 4, max: 10_000, unit: "connections",
        effect: "How many connections one socket serves at a time; the next one waits in the queue.",
    }
    HTTP_PER_UID: Count {
        name: "http.connections_per_uid_max", default: 128, min: 1, max: 10_000, unit: "connections",
        effect: "How many of them one UID may have; one more is closed.",
    }
    HTTP_HEADER_TIME: Time {
        name: "http.header_timeout", default: "30s", min_ms: 100, max_ms: 600 * SECOND, zero: Zero::Refused,
        effect: "How long the headers of a request may take to arrive, counted from the connection or from the answer \
            before; so also how long a connection may idle.",
    }
    HTTP_BODY_TIME: Time {
        name: "http.body_timeout", default: "10s", min_ms: 100, max_ms: 600 * SECOND, zero: Zero::Refused,
        effect: "How long the body of a request may take to arrive.",
    }
    HTTP_WRITE_TIME: Time {
        name: "http.write_timeout", default: "10s", min_ms: 100, max_ms: 600 * SECOND, zero: Zero::Refused,
        effect: "How long a peer may leave an answer, or an event, unread.",
    }
    LOG_FORMAT: Words {
        name: "log.format", default: "text", words: &["text", "json"],
        effect: "One line of text, or one JSON object, for each event on standard error.",
    }
    LOG_LEVEL: Words {
        name: "log.level", default: "info", words: &["error", "warn", "info", "debug", "trace"],
        effect: "The least important level that is written; --log-level wins over it.",
    }
    PATH_STATE: Text {
        name: "paths.state", default: "\"/var/lib/lockgate\"", shape: "an absolute directory",
        effect: "Parent of the roles' state directories. No key of this table may be set with --dir.",
    }
    PATH_SPOOL: Text {
        name: "paths.spool", default: "\"/var/spool/lockgate\"", shape: "an absolute directory",
        effect: "Parent of the roles' drop and gate directories.",
    }
    PATH_FENCE: Text {
        name: "paths.fence", default: "\"/var/lib/lockgate-fence\"", shape: "an absolute directory",
        effect: "Where the roles see which paths another role is working on.",
    }
    PATH_RUN: Text {
        name: "paths.run", default: "\"/run/lockgate\"", shape: "an absolute directory",
        effect: "Parent of all sockets.",
    }
    PATH_APPROVERS: Text {
        name: "paths.approvers", default: "\"/etc/lockgate/approvers\"", shape: "an absolute file",
        effect: "The approvers' public keys, in the form of OpenSSH's allowed_signers.",
    }
    PATH_FROZEN: Text {
        name: "paths.frozen", default: "\"/var/lib/lockgate/frozen\"", shape: "an absolute file",
        effect: "While this file exists every role is frozen.",
    }
}

impl Key {
    /// The name with its table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Key::Count(key) => key.name,
            Key::Time(key) => key.name,
            Key::Flag(key) => key.name,
            Key::Words(key) => key.name,
            Key::Text(key) => key.name,
        }
    }
    /// What it does.
    pub(super) fn effect(self) -> &'static str {
        match self {
            Key::Count(key) => key.effect,
            Key::Time(key) => key.effect,
            Key::Flag(key) => key.effect,
            Key::Words(key) => key.effect,
            Key::Text(key) => key.effect,
        }
    }
}
