//! Pages of the details that narrow `delete_denied`, `outcome_unknown` and `target_refused`. In: nothing. Out: constants.
//!
//! Not here: `key_unknown`, `key_expired` and `approval_expired`, which are also codes (`refused`).

use super::Page;

/// Every detail that another room writes, including those whose page stands with the codes.
pub(super) const WORDS: [&str; 22] = [
    "approval_missing",
    "approval_mismatch",
    "approval_expired",
    "approval_spent",
    "approval_void",
    "approval_withdrawn",
    "key_unknown",
    "key_expired",
    "quorum_not_met",
    "separate_duty",
    "clock_untrusted",
    "not_started",
    "worker_died",
    "spent_not_sent",
    "not_observed",
    "no_answer",
    "unreadable",
    "absent",
    "other_bytes",
    "still_there",
    "credential",
    "vault_permissions",
];

const DENIED: &str = "The DELETE was denied and nothing was sent; the approval was not touched.";
const UNKNOWN: &str = "The job is OUTCOME_UNKNOWN; nothing is sent again.";
const CHECK_FIRST: &str = "Check first: look at the file in the vault, then record what was found with \
                           `lockgate resolve JOB --reason …`.";

pub(super) const PAGES: &[Page] = &[
    Page {
        word: "approval_missing",
        cause: "No approval for this job arrived within delete.approval_wait.",
        effect: "The DELETE was denied and nothing was sent.",
        remedy: "Make a new job; have `lockgate approval draft JOB` signed while it waits.",
    },
    Page {
        word: "approval_mismatch",
        cause: "The approval and the job differ in the field named after the colon.",
        effect: DENIED,
        remedy: "Compare the two. If the job is right, draft a new approval from it; if not, make a new job.",
    },
    Page {
        word: "approval_spent",
        cause: "The approval was spent before; each counts for one DELETE, for ever.",
        effect: "The DELETE was denied and nothing was sent.",
        remedy: "Make a new job with a new approval.",
    },
    Page {
        word: "approval_void",
        cause: "The approval was issued before this installation was restored from a backup.",
        effect: "The DELETE was denied and nothing was sent.",
        remedy: "Check that the DELETE is still wanted after the restore, then make a new job with a new approval.",
    },
    Page {
        word: "approval_withdrawn",
        cause: "Somebody who may approve withdrew the approval.",
        effect: "The DELETE was denied and nothing was sent.",
        remedy: "Ask why before anything else; a new job with a new approval is needed.",
    },
    Page {
        word: "quorum_not_met",
        cause: "Too few different people with different keys signed, or no rule allows this path at all.",
        effect: DENIED,
        remedy: "Collect the signatures that [[delete.approval]] requires for the path, or have the rule added.",
    },
    Page {
        word: "separate_duty",
        cause: "The one who asked is also one who approved, and the policy wants two.",
        effect: DENIED,
        remedy: "Have somebody else sign.",
    },
    Page {
        word: "clock_untrusted",
        cause: "The wall clock is more than five minutes behind the latest time seen, so no expiry can be judged.",
        effect: DENIED,
        remedy: "Set the clock; `lockgate explain clock` says more.",
    },
    Page {
        word: "not_started",
        cause: "The worker died after the claim; no intent to send and no spent approval is on record.",
        effect: "The job is OUTCOME_UNKNOWN; its approval is unspent.",
        remedy: "Check first: the file in the vault and `lockgate show JOB`. If it is untouched, an operator may run \
                 `lockgate requeue JOB --reason …`; the approval is verified again at the claim.",
    },
    Page {
        word: "worker_died",
        cause: "The worker died after the intent was durable: the effect may have been sent, and may have happened.",
        effect: UNKNOWN,
        remedy: CHECK_FIRST,
    },
    Page {
        word: "spent_not_sent",
        cause: "The worker died after the approval was spent and before the intent was durable: nothing was sent.",
        effect: UNKNOWN,
        remedy: CHECK_FIRST,
    },
    Page {
        word: "not_observed",
        cause: "The target said that it was done, and could not be looked at afterwards.",
        effect: UNKNOWN,
        remedy: CHECK_FIRST,
    },
    Page {
        word: "no_answer",
        cause: "The request went out and no answer came back that could be understood.",
        effect: UNKNOWN,
        remedy: CHECK_FIRST,
    },
    Page {
        word: "unreadable",
        cause: "The vault answers, but the file cannot be read.",
        effect: UNKNOWN,
        remedy: CHECK_FIRST,
    },
    Page {
        word: "absent",
        cause: "The file is not in the vault.",
        effect: "Before sending, the job is REJECTED and the approval stays unspent. After sending, nobody knows who \
                 removed it, and the job is OUTCOME_UNKNOWN.",
        remedy: "Check first whether it was removed by this job, by another program or by hand; `lockgate show JOB` has \
                 what was sent and when.",
    },
    Page {
        word: "other_bytes",
        cause: "The vault holds neither the old bytes nor the new ones.",
        effect: UNKNOWN,
        remedy: CHECK_FIRST,
    },
    Page {
        word: "still_there",
        cause: "The vault said the file was deleted, and the file is still there.",
        effect: UNKNOWN,
        remedy: CHECK_FIRST,
    },
    Page {
        word: "credential",
        cause: "The role's credential is missing, empty, or was refused by the vault (401 or 403).",
        effect: "One job may be FAILED by it; then claiming stops until the credential changes or an operator resumes.",
        remedy: "Put a valid credential where LoadCredential takes it from and restart the role.",
    },
    Page {
        word: "vault_permissions",
        cause: "The file's owner, group or mode could not be kept if it were replaced.",
        effect: "The job is REJECTED; nothing was written.",
        remedy: "Give the file to the vault's group and make it readable and writable for that group, then make a new \
                 job.",
    },
];
