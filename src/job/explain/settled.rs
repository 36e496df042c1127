//! Pages of what became of a job. In: nothing. Out: constants.
//!
//! Not here: the details of uncertain outcomes (`details`).

use super::Page;

const NOTHING_TO_DO: &str = "Nothing.";

pub(super) const PAGES: &[Page] = &[
    Page {
        word: "saved",
        cause: "The vault holds the new bytes; they were read back.",
        effect: "The job is SUCCEEDED.",
        remedy: NOTHING_TO_DO,
    },
    Page {
        word: "already_at_target",
        cause: "The vault held the very bytes already.",
        effect: "The job is SUCCEEDED; nothing was written.",
        remedy: NOTHING_TO_DO,
    },
    Page {
        word: "deleted",
        cause: "The file is gone from the vault; that was observed.",
        effect: "The job is SUCCEEDED and its approval is consumed. A sealed copy is kept for delete.recovery_days.",
        remedy: "Nothing. `lockgate recover JOB` gives the bytes back to an operator while the copy is kept.",
    },
    Page {
        word: "cancelled",
        cause: "The requester or an operator took the job back before it was claimed.",
        effect: "The job is REJECTED; nothing was sent.",
        remedy: "Nothing; a new job may ask for the same.",
    },
    Page {
        word: "expired",
        cause: "The job waited longer than limits.job_max_age.",
        effect: "The job is REJECTED; nothing was sent.",
        remedy: "Find out why it had to wait (`lockgate why JOB`), then make a new job.",
    },
    Page {
        word: "target_refused",
        cause: "The vault refused the request.",
        effect: "The job is FAILED and the vault's bytes are unchanged.",
        remedy: "Read the detail and the vault's own log; mend the cause, then make a new job. A DELETE needs a new \
                 approval too.",
    },
    Page {
        word: "target_error",
        cause: "The vault answered with an error of its own, and its bytes are unchanged.",
        effect: "The job is FAILED.",
        remedy: "Read the vault's own log; mend the cause, then make a new job. A DELETE needs a new approval too.",
    },
    Page {
        word: "attempts_exhausted",
        cause: "The SAVE was tried as often as it may be, and the old bytes are still there.",
        effect: "The job is FAILED.",
        remedy: "Find the cause in the audit (`lockgate show JOB`), mend it, then make a new job.",
    },
    Page {
        word: "outcome_unknown",
        cause: "Something may have happened and nobody knows whether it did.",
        effect: "The job is OUTCOME_UNKNOWN. It is never repeated by itself, its path is held, and a DELETE's approval \
                 stays reserved.",
        remedy: "Check first: an operator looks at the file in the vault and in the audit, then records what was found \
                 with `lockgate resolve JOB --reason …`. The detail says what is known.",
    },
    Page {
        word: "resolved_applied",
        cause: "A person looked and recorded that the effect took place.",
        effect: "The job is SUCCEEDED; a DELETE's approval is consumed.",
        remedy: NOTHING_TO_DO,
    },
    Page {
        word: "resolved_not_applied",
        cause: "A person looked and recorded that the effect did not take place.",
        effect: "The job is FAILED; a DELETE's approval is consumed all the same.",
        remedy: "If it is still wanted, make a new job; a DELETE needs a new approval.",
    },
];
