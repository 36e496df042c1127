//! DELETE after the send: never repeated, and never called done or failed on hearsay.
//!
//! Not here: SAVE (save.rs).

use crate::job::{Code, Sha256};
use crate::ledger::settle::Settlement;
use crate::target::{Answer, Seen};

/// What is recorded, from the answer and a look at the target afterwards (`None`: the vault does not answer).
pub fn judge(answer: &Answer, seen: Option<&Seen>, object: Sha256) -> Settlement {
    let unchanged = matches!(seen, Some(Seen::Bytes { sha256, .. }) if *sha256 == object);
    match answer {
        Answer::Done => match seen {
            Some(Seen::Absent) => Settlement::succeed(Code::Deleted),
            Some(Seen::Bytes { .. }) => Settlement::unknown("still_there"),
            Some(Seen::Unreadable) => Settlement::unknown("unreadable"),
            None => Settlement::unknown("not_observed"),
        },
        Answer::NoAnswer { .. } => Settlement::unknown("no_answer"),
        Answer::ServerError | Answer::NotSent { .. } if unchanged => Settlement::fail(Code::TargetError, None),
        Answer::Busy { .. } if unchanged => Settlement::fail(Code::TargetRefused, Some("target_busy")),
        Answer::ServerError | Answer::NotSent { .. } | Answer::Busy { .. } => Settlement::unknown(match seen {
            Some(Seen::Absent) => "absent",
            Some(Seen::Unreadable) => "unreadable",
            Some(Seen::Bytes { .. }) => "other_bytes",
            None => "not_observed",
        }),
        Answer::Refused { .. } if matches!(seen, Some(Seen::Absent)) => Settlement::unknown("absent"),
        Answer::Refused { detail } => Settlement::fail(Code::TargetRefused, Some(detail)),
        Answer::Credential => Settlement::fail(Code::TargetRefused, Some("credential")),
        Answer::Drift { kept_aside, .. } => {
            Settlement::reject(Code::TargetDrift, kept_aside.then_some("kept_aside")).with_message(
                "the file changed between the check and the delete; it was left as it is. The approval is spent: a further delete needs a new one",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{State, sha256};
    use crate::target::FaultText;

    fn seen(bytes: &[u8]) -> Option<Seen> {
        Some(Seen::Bytes {
            sha256: sha256(bytes),
            len: bytes.len() as u64,
        })
    }
    fn judged(answer: &Answer, seen: Option<Seen>) -> (State, Option<String>) {
        let settlement = judge(answer, seen.as_ref(), sha256(b"object"));
        (settlement.to, settlement.detail)
    }

    #[test]
    fn f10_no_answer_is_always_unknown() {
        for look in [None, Some(Seen::Absent), seen(b"object"), Some(Seen::Unreadable)] {
            assert_eq!(
                judged(&Answer::NoAnswer { detail: "timeout" }, look).0,
                State::OutcomeUnknown
            );
        }
    }

    #[test]
    fn f16_a_server_error_is_failed_only_with_the_bytes_unchanged() {
        for answer in [
            Answer::ServerError,
            Answer::NotSent {
                why: FaultText::new("step", None),
            },
        ] {
            assert_eq!(judged(&answer, seen(b"object")).0, State::Failed);
            for look in [None, Some(Seen::Absent), seen(b"other"), Some(Seen::Unreadable)] {
                assert_eq!(judged(&answer, look).0, State::OutcomeUnknown);
            }
        }
    }

    #[test]
    fn f12_f14_f18_a_clear_no_spends_the_approval_and_is_final() {
        assert_eq!(
            judged(&Answer::Refused { detail: "no" }, seen(b"object")).0,
            State::Failed
        );
        assert_eq!(
            judged(&Answer::Refused { detail: "no" }, Some(Seen::Absent)).0,
            State::OutcomeUnknown
        );
        assert_eq!(
            judged(&Answer::Credential, seen(b"object")).1.as_deref(),
            Some("credential")
        );
        let busy = Answer::Busy { retry_after_ms: None };
        assert_eq!(judged(&busy, seen(b"object")).0, State::Failed);
        assert_eq!(judged(&busy, None).0, State::OutcomeUnknown);
    }

    #[test]
    fn done_with_the_file_still_there_is_unknown() {
        assert_eq!(
            judged(&Answer::Done, Some(Seen::Absent)),
            (State::Succeeded, None)
        );
        assert_eq!(
            judged(&Answer::Done, seen(b"object")).1.as_deref(),
            Some("still_there")
        );
        assert_eq!(judged(&Answer::Done, None).0, State::OutcomeUnknown);
    }
}
