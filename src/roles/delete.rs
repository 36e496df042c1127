//! DELETE: is this the object the approval is about? In: the job, the object at the commit, what the vault holds. Out: a plan.
//!
//! Not here: the approval itself (approval/), its spending (ledger/approve, spent/).

use super::save::{Denied, drifted};
use crate::job::document::DeleteJob;
use crate::job::{Code, Sha256};
use crate::source::SourceObject;
use crate::target::Seen;

/// The object and its provenance exist at the expected commit, as the job and its approval say.
///
/// # Errors
/// The first gate that says no.
pub fn judge_object(job: &DeleteJob, object: &SourceObject) -> Result<(), Denied> {
    if object.object_id != job.object_id.as_str() {
        return Err(Denied {
            code: Code::ObjectIdMismatch,
            detail: None,
            message: "the object at the commit has another object_id; draft the job again",
        });
    }
    if object.provenance != job.expected_provenance_hash {
        return Err(Denied {
            code: Code::ProvenanceMismatch,
            detail: None,
            message: "the recomputed provenance differs from expected_provenance_hash; draft the job again",
        });
    }
    Ok(())
}

/// The vault's bytes are that object.
///
/// # Errors
/// `target_drift`, with detail `absent` or `unreadable`; the approval stays unspent.
pub fn judge_target(seen: &Seen, object: Sha256) -> Result<(), Denied> {
    match seen {
        Seen::Bytes { sha256, .. } if *sha256 == object => Ok(()),
        Seen::Bytes { .. } => Err(drifted()),
        Seen::Absent => Err(Denied {
            detail: Some("absent"),
            message: "there is no file at the path",
            ..drifted()
        }),
        Seen::Unreadable => Err(Denied {
            detail: Some("unreadable"),
            message: "what is at the path cannot be read as a file",
            ..drifted()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::document::Job;
    use crate::job::sha256;
    use crate::job::test_support::{delete, read};

    #[test]
    fn m_d_m_l_the_object_at_the_commit_is_the_approved_one_by_id_and_by_provenance() {
        let Ok(Job::Delete(job)) = read(&delete()) else {
            panic!("a DELETE")
        };
        let object = || SourceObject {
            commit: job.expected_commit.clone(),
            repository_path: "notes/a.md".to_owned(),
            object_id: "notes/a.md".to_owned(),
            bytes: Vec::new(),
            content_sha256: sha256(b"approved"),
            provenance: job.expected_provenance_hash,
        };
        assert_eq!(judge_object(&job, &object()), Ok(()));
        let object_id = "notes/b.md".to_owned();
        let id = judge_object(
            &job,
            &SourceObject {
                object_id,
                ..object()
            },
        );
        assert_eq!(id.unwrap_err().code, Code::ObjectIdMismatch);
        let provenance = sha256(b"other");
        let changed = judge_object(
            &job,
            &SourceObject {
                provenance,
                ..object()
            },
        );
        assert_eq!(changed.unwrap_err().code, Code::ProvenanceMismatch);
    }

    #[test]
    fn only_the_approved_bytes_may_be_deleted() {
        let object = sha256(b"approved");
        let seen = |text: &[u8]| Seen::Bytes {
            sha256: sha256(text),
            len: text.len() as u64,
        };
        assert!(judge_target(&seen(b"approved"), object).is_ok());
        let other = judge_target(&seen(b"edited"), object).unwrap_err();
        assert_eq!((other.code, other.detail), (Code::TargetDrift, None));
        assert_eq!(
            judge_target(&Seen::Absent, object).unwrap_err().detail,
            Some("absent")
        );
        assert_eq!(
            judge_target(&Seen::Unreadable, object).unwrap_err().detail,
            Some("unreadable")
        );
    }
}
