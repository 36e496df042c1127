//! SAVE after the send. A SAVE may be probed and tried again, because the bytes at the target say whether it happened.
//!
//! Not here: DELETE, which is never repeated (delete.rs).

use crate::job::{Code, Sha256};
use crate::ledger::settle::{Attempt, Settlement};
use crate::target::{Answer, Seen};
use crate::throttle::{SAVE_ATTEMPTS_MAX, save_retry_delay};

/// Why the target must be looked at before anything is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It said done: read back.
    Confirm,
    /// It may or may not have happened (rows 09, 21, 25).
    Unclear,
    /// It failed before any effect (a local step), or said that it failed (row 15).
    Failed {
        /// What is recorded if the bytes are unchanged.
        settle: FailedAs,
    },
    /// It asks for time (row 17).
    Busy {
        /// How long, ms.
        retry_after_ms: Option<i64>,
    },
}

/// What unchanged bytes mean after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedAs {
    /// FAILED `target_error`.
    TargetError,
    /// Another try later.
    Retry,
}

/// The next thing to do.
#[derive(Debug, Clone)]
pub enum Next {
    /// Record this.
    Settle(Settlement),
    /// Look at the target first.
    Probe(Why),
}

/// Longest delay a target may ask for, ms: six hours, the longest of our own.
const RETRY_AFTER_MAX_MS: i64 = 6 * 3600 * 1000;

/// Sorts an answer.
pub fn judge_answer(answer: &Answer) -> Next {
    match answer {
        Answer::Done => Next::Probe(Why::Confirm),
        Answer::NoAnswer { .. } => Next::Probe(Why::Unclear),
        Answer::ServerError => Next::Probe(Why::Failed {
            settle: FailedAs::TargetError,
        }),
        Answer::NotSent { .. } => Next::Probe(Why::Failed {
            settle: FailedAs::Retry,
        }),
        Answer::Busy { retry_after_ms } => Next::Probe(Why::Busy {
            retry_after_ms: *retry_after_ms,
        }),
        Answer::Drift { kept_aside, .. } => {
            let settlement = Settlement::reject(Code::TargetDrift, kept_aside.then_some("kept_aside"));
            Next::Settle(settlement.with_message(
                "the file changed between the check and the write; it was left as it is. Look at it, then `lockgate adopt PATH`",
            ))
        }
        Answer::Refused { detail } => Next::Settle(Settlement::fail(Code::TargetRefused, Some(detail))),
        Answer::Credential => Next::Settle(Settlement::fail(Code::TargetRefused, Some("credential"))),
    }
}

/// What the look shows. `None`: the vault does not answer, so nothing is recorded and it is looked at again later.
pub fn judge_probe(
    why: &Why,
    seen: Option<&Seen>,
    before: Option<Sha256>,
    new: Sha256,
    attempt: i64,
) -> Option<Settlement> {
    let settlement = match seen? {
        Seen::Unreadable => Settlement::unknown("unreadable"),
        Seen::Bytes { sha256, .. } if *sha256 == new => Settlement::succeed(Code::Saved).saved(new),
        Seen::Bytes { sha256, .. } if Some(*sha256) == before => unchanged(why, attempt),
        Seen::Absent if before.is_none() => unchanged(why, attempt),
        Seen::Absent | Seen::Bytes { .. } => Settlement::unknown(match why {
            Why::Confirm => "read_back_differs",
            Why::Unclear | Why::Failed { .. } | Why::Busy { .. } => "other_bytes",
        }),
    };
    Some(settlement)
}

/// The old bytes are still there: another try, unless the target said no for good or the tries are used up.
fn unchanged(why: &Why, attempt: i64) -> Settlement {
    let delay = match why {
        Why::Failed {
            settle: FailedAs::TargetError,
        } => return Settlement::fail(Code::TargetError, None),
        Why::Busy {
            retry_after_ms: Some(ms),
        } => (*ms).clamp(1000, RETRY_AFTER_MAX_MS),
        Why::Busy { retry_after_ms: None } | Why::Confirm | Why::Unclear | Why::Failed { .. } => {
            let made = u32::try_from(attempt).unwrap_or(u32::MAX);
            match save_retry_delay(made) {
                Some(delay) => i64::try_from(delay.as_millis()).unwrap_or(i64::MAX),
                None => return Settlement::fail(Code::AttemptsExhausted, None),
            }
        }
    };
    if attempt >= i64::from(SAVE_ATTEMPTS_MAX) {
        return Settlement::fail(Code::AttemptsExhausted, None);
    }
    let detail = match why {
        Why::Busy { .. } => "target_busy",
        Why::Confirm | Why::Unclear | Why::Failed { .. } => "not_applied",
    };
    Settlement::ready(Attempt::Counted, delay, Some(detail)).keeping_fence()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{State, sha256};

    fn seen(bytes: &[u8]) -> Seen {
        Seen::Bytes {
            sha256: sha256(bytes),
            len: bytes.len() as u64,
        }
    }
    fn probe(answer: &Answer, seen: &Seen, attempt: i64) -> Settlement {
        match judge_answer(answer) {
            Next::Settle(settlement) => settlement,
            Next::Probe(why) => {
                judge_probe(&why, Some(seen), Some(sha256(b"old")), sha256(b"new"), attempt).unwrap()
            }
        }
    }

    #[test]
    fn f09_an_unclear_answer_is_settled_by_what_is_there() {
        let unclear = Answer::NoAnswer {
            detail: "sync_failed",
        };
        assert_eq!(probe(&unclear, &seen(b"new"), 1).to, State::Succeeded);
        let again = probe(&unclear, &seen(b"old"), 1);
        assert_eq!(
            (again.to, again.attempt, again.delay_ms),
            (State::Ready, Attempt::Counted, 30_000)
        );
        assert_eq!(again.fence, crate::ledger::settle::Fence::Keep);
        assert_eq!(probe(&unclear, &seen(b"theirs"), 1).to, State::OutcomeUnknown);
        assert_eq!(probe(&unclear, &Seen::Unreadable, 1).to, State::OutcomeUnknown);
        assert_eq!(
            probe(&unclear, &seen(b"old"), i64::from(SAVE_ATTEMPTS_MAX)).code,
            Some(Code::AttemptsExhausted)
        );
        assert!(judge_probe(&Why::Unclear, None, None, sha256(b"new"), 1).is_none());
        // A path that was free and still is.
        let free = judge_probe(&Why::Unclear, Some(&Seen::Absent), None, sha256(b"new"), 1);
        assert_eq!(free.unwrap().to, State::Ready);
    }

    #[test]
    fn f11_f13_a_clear_no_is_final() {
        let refused = probe(
            &Answer::Refused {
                detail: "vault_permissions",
            },
            &seen(b"old"),
            1,
        );
        assert_eq!(
            (refused.to, refused.code),
            (State::Failed, Some(Code::TargetRefused))
        );
        let credential = probe(&Answer::Credential, &seen(b"old"), 1);
        assert_eq!(
            (credential.to, credential.detail.as_deref()),
            (State::Failed, Some("credential"))
        );
    }

    #[test]
    fn f15_a_server_error_is_final_only_when_nothing_changed() {
        assert_eq!(
            probe(&Answer::ServerError, &seen(b"old"), 1).code,
            Some(Code::TargetError)
        );
        assert_eq!(probe(&Answer::ServerError, &seen(b"new"), 1).to, State::Succeeded);
        assert_eq!(
            probe(&Answer::ServerError, &Seen::Absent, 1).to,
            State::OutcomeUnknown
        );
    }

    #[test]
    fn f17_a_busy_target_is_tried_again_not_before_the_time_it_gave() {
        let busy = |ms| probe(&Answer::Busy { retry_after_ms: ms }, &seen(b"old"), 2);
        assert_eq!(
            (busy(Some(90_000)).to, busy(Some(90_000)).delay_ms),
            (State::Ready, 90_000)
        );
        assert_eq!(busy(Some(i64::MAX)).delay_ms, RETRY_AFTER_MAX_MS);
        assert_eq!(busy(Some(-5)).delay_ms, 1000);
        assert_eq!(busy(None).delay_ms, 120_000);
    }

    #[test]
    fn a_done_that_does_not_read_back_is_unknown() {
        assert_eq!(probe(&Answer::Done, &seen(b"new"), 1).code, Some(Code::Saved));
        let odd = probe(&Answer::Done, &seen(b"mangled"), 1);
        assert_eq!(
            (odd.to, odd.detail.as_deref()),
            (State::OutcomeUnknown, Some("read_back_differs"))
        );
    }
}
