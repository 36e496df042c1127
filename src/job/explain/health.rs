//! Pages of the reasons a health check can give. In: nothing. Out: constants.
//!
//! Not here: `credential`, which is also a detail (`details`); when health is judged (http/).

use super::Page;

pub(super) const PAGES: &[Page] = &[
    Page {
        word: "database",
        cause: "The role's database did not answer within five seconds.",
        effect: "Nothing is sent. It recovers by itself when the database answers.",
        remedy: "Check the file system of /var/lib/lockgate/ROLE and what holds the file open.",
    },
    Page {
        word: "dispatcher-stale",
        cause: "The role has finished no pass for 120 seconds, or an expired lease belongs to a worker that lives.",
        effect: "Jobs wait; none is taken from a living worker.",
        remedy: "`lockgate why JOB` names the worker. Restart the role if it hangs; DELETE jobs in flight are then for a \
                 person to check.",
    },
    Page {
        word: "target",
        cause: "The vault does not answer, or its marker file is missing.",
        effect: "Jobs wait; no attempt is counted and no approval is spent.",
        remedy: "Mount or start the vault; `lockgate config check --online` tries it.",
    },
    Page {
        word: "source",
        cause: "The source of truth does not answer.",
        effect: "Jobs wait; no attempt is counted and no approval is spent.",
        remedy: "Check source.url and the network; `lockgate config check --online` tries it.",
    },
    Page {
        word: "disk",
        cause: "The disk is full, or a write to it failed.",
        effect: "Nothing is admitted or sent. It recovers by itself when there is room.",
        remedy: "Free space on /var/lib/lockgate; check the disk if a write failed for another reason.",
    },
    Page {
        word: "clock",
        cause: "The wall clock is more than five minutes behind the latest time seen.",
        effect: "No DELETE is claimed.",
        remedy: "Set the clock. If the later time was the wrong one, an operator runs `lockgate clock accept`.",
    },
];
