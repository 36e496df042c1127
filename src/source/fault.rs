//! What may go wrong between a job and its object. In: what was found. Out: one of four faults, each with a sentence that
//! names the place and what to do.
//!
//! Unavailable: the whole source, so claiming stops until it answers. Damaged, Forged: this object, so one job waits and the
//! others go on. Refused: the job asks for what the source does not have, and is told so.
//!
//! Nothing that the source holds is repeated here: no content, no message of the git library, only ids and paths.
//! Not here: what becomes of the job (executor/).

use crate::job::{Code, CommitId, JobKind};
use std::path::PathBuf;

/// Why there is no object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceFault {
    /// The repository as a whole cannot be used now; it is asked again.
    #[error("the source {} cannot be used: {why}", path.display())]
    Unavailable {
        /// Where the repository should be.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// An object that should be there is missing or cannot be read.
    #[error("{what} in the source is damaged: {why}")]
    Damaged {
        /// Its kind and id.
        what: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// An object's bytes do not have the id under which they are kept, or were made to collide.
    #[error("{what} in the source is not what its id says: {why}")]
    Forged {
        /// Its kind and id.
        what: String,
        /// What was found.
        why: String,
    },
    /// The job is refused; trying again does not help.
    #[error("{path} at commit {commit}: {why}")]
    Refused {
        /// The commit that was asked for.
        commit: CommitId,
        /// The path in the repository.
        path: String,
        /// The reason.
        why: Refusal,
    },
}

/// Why a job is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such commit.
    #[error("the source has no such commit; push it, or draft the job again from the tip")]
    NoSuchCommit,
    /// The id has the length of the other object format.
    #[error("the source's commit ids have {digits} digits; draft the job again from it")]
    OtherFormat {
        /// Hex digits of this source's ids.
        digits: usize,
    },
    /// A commit, but not on the ref.
    #[error(
        "the commit is neither the tip of {git_ref} nor an ancestor of it; merge it, then make a new job"
    )]
    NotOnRef {
        /// The ref in full.
        git_ref: String,
    },
    /// No such path.
    #[error("the commit has no object at this path; check the path and the commit")]
    NoSuchObject,
    /// Something that is not a file's content.
    #[error("at this path is {what}, not a file; only files are objects")]
    NotAFile {
        /// In words.
        what: &'static str,
    },
    /// More than the limit.
    #[error("the object has {bytes} bytes, more than source.limits.blob_bytes_max = {max}")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// More components than the limit.
    #[error("the path has more than {max} components")]
    TooDeep {
        /// The limit.
        max: usize,
    },
    /// `front-matter:KEY`, and no one plain value of it.
    #[error(
        "its front matter does not have exactly one plain value for \"{key}\"; write `{key}: value` between two --- lines at its start"
    )]
    NoObjectId {
        /// The key.
        key: String,
    },
}

impl Refusal {
    fn code(&self) -> Code {
        match self {
            Refusal::NotOnRef { .. } => Code::CommitNotOnRef,
            Refusal::NoObjectId { .. } => Code::ObjectIdMismatch,
            Refusal::NoSuchCommit
            | Refusal::OtherFormat { .. }
            | Refusal::NoSuchObject
            | Refusal::NotAFile { .. }
            | Refusal::TooLarge { .. }
            | Refusal::TooDeep { .. } => Code::SourceMissing,
        }
    }

    /// Which field of the job is wrong.
    fn field(&self, kind: JobKind) -> &'static str {
        match self {
            Refusal::NoSuchCommit | Refusal::OtherFormat { .. } | Refusal::NotOnRef { .. } => match kind {
                JobKind::Save => "source_commit",
                JobKind::Delete => "expected_commit",
            },
            Refusal::NoObjectId { .. } => "object_id",
            Refusal::NoSuchObject
            | Refusal::NotAFile { .. }
            | Refusal::TooLarge { .. }
            | Refusal::TooDeep { .. } => "vault_path",
        }
    }
}

impl SourceFault {
    /// The code and sentence for a job of this kind, if the job is refused; `None`: the job waits.
    pub fn refusal(&self, kind: JobKind) -> Option<(Code, String)> {
        match self {
            SourceFault::Refused { why, .. } => Some((why.code(), format!("{}: {why}", why.field(kind)))),
            SourceFault::Unavailable { .. } | SourceFault::Damaged { .. } | SourceFault::Forged { .. } => {
                None
            }
        }
    }

    /// Whether a fresh look may find it otherwise: gc and repack move objects, and the ref moves on, while they are read.
    pub(super) fn may_be_stale(&self) -> bool {
        match self {
            SourceFault::Damaged { .. } | SourceFault::Forged { .. } => true,
            SourceFault::Refused { why, .. } => {
                matches!(why, Refusal::NoSuchCommit | Refusal::NotOnRef { .. })
            }
            SourceFault::Unavailable { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t38_a_refusal_names_the_field_of_the_kind_and_the_rest_waits() {
        let refused = |why| SourceFault::Refused {
            commit: CommitId::parse(&"a".repeat(40)).unwrap(),
            path: "notes/a.md".to_owned(),
            why,
        };
        let fault = refused(Refusal::NotOnRef {
            git_ref: "refs/heads/main".to_owned(),
        });
        let (code, message) = fault.refusal(JobKind::Save).unwrap();
        assert_eq!(code, Code::CommitNotOnRef);
        assert!(message.starts_with("source_commit: "), "{message}");
        assert!(
            fault
                .refusal(JobKind::Delete)
                .unwrap()
                .1
                .starts_with("expected_commit: ")
        );
        assert!(fault.to_string().contains("notes/a.md at commit aaaa"));
        let code = |why| refused(why).refusal(JobKind::Save).unwrap().0;
        assert_eq!(code(Refusal::NoSuchCommit), Code::SourceMissing);
        assert_eq!(
            code(Refusal::NotAFile {
                what: "a symbolic link"
            }),
            Code::SourceMissing
        );
        assert_eq!(
            code(Refusal::NoObjectId { key: "id".to_owned() }),
            Code::ObjectIdMismatch
        );
        let text = || String::from("x");
        for waits in [
            SourceFault::Unavailable {
                path: PathBuf::from("/r"),
                why: text(),
            },
            SourceFault::Damaged {
                what: text(),
                why: text(),
            },
            SourceFault::Forged {
                what: text(),
                why: text(),
            },
        ] {
            assert_eq!(waits.refusal(JobKind::Save), None);
        }
    }
}
