//! SAVE: may these bytes go to this path? In: the job, the object, what the vault holds, what the ledger knows. Out: a plan.
//!
//! Not here: reading any of it.

use crate::job::document::SaveJob;
use crate::job::{Code, Sha256};
use crate::ledger::operator::PathKnown;
use crate::source::SourceObject;
use crate::target::{Before, Seen};

/// A gate's no. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The stable word.
    pub code: Code,
    /// The detail word, if the code has details.
    pub detail: Option<&'static str>,
    /// One sentence for a person.
    pub message: &'static str,
}

fn denied(code: Code, message: &'static str) -> Denied {
    Denied {
        code,
        detail: None,
        message,
    }
}

/// The object at the commit is the one the job names, byte for byte and by its provenance.
///
/// # Errors
/// The first gate that says no.
pub fn judge_object(job: &SaveJob, object: &SourceObject) -> Result<(), Denied> {
    if object.object_id != job.object_id.as_str() {
        return Err(denied(
            Code::ObjectIdMismatch,
            "the object at the commit has another object_id; draft the job again",
        ));
    }
    if object.content_sha256 != job.expected_state {
        return Err(denied(
            Code::ExpectedStateMismatch,
            "the object's bytes at the commit are not those of expected_state; draft the job again",
        ));
    }
    if object.provenance != job.provenance_hash {
        return Err(denied(
            Code::ProvenanceMismatch,
            "the recomputed provenance differs from provenance_hash; draft the job again",
        ));
    }
    Ok(())
}

/// How the job's commit stands to the one this ledger last saved for the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Nothing was saved, or the job's commit is not behind it.
    Fresh,
    /// The same commit.
    Same,
    /// A strict ancestor of it.
    Older,
}

/// An older commit, or the same one after the file was taken away, is stale unless an operator adopted what is there.
///
/// # Errors
/// `stale_commit`.
pub fn judge_age(age: Age, seen: &Seen, known: &PathKnown) -> Result<(), Denied> {
    let adopted = known
        .adopted
        .is_some_and(|adopted| Some(adopted) == bytes_of(seen));
    let stale = match age {
        Age::Fresh => false,
        Age::Same => *seen == Seen::Absent,
        Age::Older => true,
    };
    if stale && !adopted {
        return Err(denied(
            Code::StaleCommit,
            "a newer commit was saved to this path already, or its file was removed since; draft from the tip, or `lockgate adopt PATH`",
        ));
    }
    Ok(())
}

/// What to do about the vault's present content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drift {
    /// The bytes are there already; nothing is written.
    AlreadyThere,
    /// Nothing stands against writing over `before`.
    Write(Before),
    /// These bytes are not ours; only the object at a parent of the commit may be written over.
    AskParents(Sha256),
    /// The vault answers, but what is at the path cannot be read.
    Unreadable,
}

/// The drift check, without the parents (they are read only when needed).
pub fn judge_drift(seen: &Seen, new: Sha256, known: &PathKnown) -> Drift {
    match *seen {
        Seen::Unreadable => Drift::Unreadable,
        Seen::Absent => Drift::Write(Before::Absent),
        Seen::Bytes { sha256, .. } if sha256 == new => Drift::AlreadyThere,
        Seen::Bytes { sha256, .. } => {
            let ours = known.saved == Some(sha256) || known.adopted == Some(Some(sha256));
            if ours {
                Drift::Write(Before::Bytes(sha256))
            } else {
                Drift::AskParents(sha256)
            }
        }
    }
}

/// The rest of the drift check: is what the vault holds the object at any parent of the commit?
///
/// # Errors
/// `target_drift`.
pub fn judge_parents(found: Sha256, parents: &[Option<Sha256>]) -> Result<Before, Denied> {
    if parents.contains(&Some(found)) {
        return Ok(Before::Bytes(found));
    }
    Err(drifted())
}

/// The vault holds something that is neither ours nor the source's.
pub fn drifted() -> Denied {
    denied(
        Code::TargetDrift,
        "the vault holds bytes that neither this ledger nor a parent commit knows; look at the file, then `lockgate adopt PATH` to let the next job overwrite it",
    )
}

fn bytes_of(seen: &Seen) -> Option<Option<Sha256>> {
    match seen {
        Seen::Absent => Some(None),
        Seen::Bytes { sha256, .. } => Some(Some(*sha256)),
        Seen::Unreadable => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::document::Job;
    use crate::job::sha256;
    use crate::job::test_support::{read, save};

    fn bytes(text: &str) -> Seen {
        Seen::Bytes {
            sha256: sha256(text.as_bytes()),
            len: text.len() as u64,
        }
    }

    #[test]
    fn t37_m_l_the_object_is_the_jobs_by_id_by_bytes_and_by_provenance() {
        let Ok(Job::Save(job)) = read(&save()) else {
            panic!("a SAVE")
        };
        let object = || SourceObject {
            commit: job.source_commit.clone(),
            repository_path: "notes/a.md".to_owned(),
            object_id: "notes/a.md".to_owned(),
            bytes: Vec::new(),
            content_sha256: job.expected_state,
            provenance: job.provenance_hash,
        };
        assert_eq!(judge_object(&job, &object()), Ok(()));
        let code = |changed: SourceObject| judge_object(&job, &changed).unwrap_err().code;
        let object_id = "notes/b.md".to_owned();
        let other = sha256(b"other");
        let id = code(SourceObject {
            object_id,
            ..object()
        });
        assert_eq!(id, Code::ObjectIdMismatch);
        let state = code(SourceObject {
            content_sha256: other,
            ..object()
        });
        assert_eq!(state, Code::ExpectedStateMismatch);
        let provenance = code(SourceObject {
            provenance: other,
            ..object()
        });
        assert_eq!(provenance, Code::ProvenanceMismatch);
    }

    #[test]
    fn a_persons_bytes_are_never_written_over() {
        let known = PathKnown {
            saved: Some(sha256(b"ours")),
            ..PathKnown::default()
        };
        let new = sha256(b"new");
        assert_eq!(
            judge_drift(&bytes("theirs"), new, &known),
            Drift::AskParents(sha256(b"theirs"))
        );
        assert_eq!(
            judge_parents(sha256(b"theirs"), &[None, Some(sha256(b"old"))])
                .unwrap_err()
                .code,
            Code::TargetDrift
        );
        assert!(judge_parents(sha256(b"old"), &[None, Some(sha256(b"old"))]).is_ok());
        assert_eq!(
            judge_drift(&bytes("ours"), new, &known),
            Drift::Write(Before::Bytes(sha256(b"ours")))
        );
        let adopted = PathKnown {
            adopted: Some(Some(sha256(b"theirs"))),
            ..known
        };
        assert_eq!(
            judge_drift(&bytes("theirs"), new, &adopted),
            Drift::Write(Before::Bytes(sha256(b"theirs")))
        );
    }

    #[test]
    fn t29_bytes_that_are_there_already_are_not_written() {
        let known = PathKnown::default();
        assert_eq!(
            judge_drift(&bytes("new"), sha256(b"new"), &known),
            Drift::AlreadyThere
        );
        assert_eq!(
            judge_drift(&Seen::Absent, sha256(b"new"), &known),
            Drift::Write(Before::Absent)
        );
        assert_eq!(
            judge_drift(&Seen::Unreadable, sha256(b"new"), &known),
            Drift::Unreadable
        );
    }

    #[test]
    fn an_older_commit_is_stale_until_what_is_there_is_adopted() {
        let none = PathKnown::default();
        let adopted_absence = PathKnown {
            adopted: Some(None),
            ..PathKnown::default()
        };
        assert!(judge_age(Age::Older, &bytes("a"), &none).is_err());
        assert!(judge_age(Age::Same, &bytes("a"), &none).is_ok());
        assert!(judge_age(Age::Same, &Seen::Absent, &none).is_err());
        assert!(judge_age(Age::Same, &Seen::Absent, &adopted_absence).is_ok());
        assert!(judge_age(Age::Older, &bytes("a"), &adopted_absence).is_err());
        assert!(judge_age(Age::Fresh, &Seen::Absent, &none).is_ok());
    }
}
