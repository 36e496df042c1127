//! The closed list of job kinds and of roles. In: a `job_type` word. Out: which role runs it and what a crash means for it.
//!
//! Not here: how a kind is executed (roles/).

use std::fmt;

/// An executor role, or the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Writes objects to the vault.
    Save,
    /// Deletes objects from the vault, with approvals.
    Delete,
    /// Takes documents over HTTP and drops them; holds nothing.
    Gateway,
}

impl Role {
    /// Every role, in the order in which they are listed to people.
    pub const ALL: [Role; 3] = [Role::Save, Role::Delete, Role::Gateway];
    /// The roles with an inbox.
    pub const EXECUTORS: [Role; 2] = [Role::Save, Role::Delete];

    /// The word used in paths, on the command line and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Save => "save",
            Role::Delete => "delete",
            Role::Gateway => "gateway",
        }
    }
    /// The role a word names.
    pub fn parse(text: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == text)
    }
}
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a job asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JobKind {
    /// `C5_SAVE_OBJECT`
    Save,
    /// `C5_DELETE_OBJECT`
    Delete,
}

/// What to do with a job whose holder died after it may have sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPolicy {
    /// Look at the target; send again only if it is certain that nothing happened.
    ProbeThenRetry,
    /// Never send again; a person looks.
    NeverRepeat,
}

impl JobKind {
    /// Every kind.
    pub const ALL: [JobKind; 2] = [JobKind::Save, JobKind::Delete];

    /// The `job_type` word of the documents.
    pub fn as_str(self) -> &'static str {
        match self {
            JobKind::Save => "C5_SAVE_OBJECT",
            JobKind::Delete => "C5_DELETE_OBJECT",
        }
    }
    /// The kind a `job_type` word names; exact case.
    pub fn parse(text: &str) -> Option<JobKind> {
        JobKind::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
    /// The role that executes it.
    pub fn role(self) -> Role {
        match self {
            JobKind::Save => Role::Save,
            JobKind::Delete => Role::Delete,
        }
    }
    /// Declared for every kind; there is no default.
    pub fn crash_policy(self) -> CrashPolicy {
        match self {
            JobKind::Save => CrashPolicy::ProbeThenRetry,
            JobKind::Delete => CrashPolicy::NeverRepeat,
        }
    }
}
impl fmt::Display for JobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
