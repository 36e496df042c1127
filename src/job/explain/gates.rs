//! Pages of the gates that an admitted job passes before anything is sent. In: nothing. Out: constants.
//!
//! Not here: why a DELETE was denied in detail (`details`).

use super::Page;

const NOT_SENT: &str = "The job is REJECTED; nothing was sent and the vault is as it was.";

pub(super) const PAGES: &[Page] = &[
    Page {
        word: "commit_not_on_ref",
        cause: "The commit is not the tip of source.ref or an ancestor of it.",
        effect: NOT_SENT,
        remedy: "Merge the commit into the branch that source.ref names, then make a new job.",
    },
    Page {
        word: "stale_commit",
        cause: "The commit is older than what was last saved at this path, or the file was removed since.",
        effect: NOT_SENT,
        remedy: "Make a new job from a newer commit. If the older content is meant, an operator runs \
                 `lockgate adopt PATH` first.",
    },
    Page {
        word: "source_missing",
        cause: "The source has no such commit, or no such object at it.",
        effect: NOT_SENT,
        remedy: "Check the commit and the path in the source, then make a new job.",
    },
    Page {
        word: "object_id_mismatch",
        cause: "The object_id is not that of the object at this path and commit.",
        effect: NOT_SENT,
        remedy: "With source.object_id = \"path\" it is the object's path in the repository, else its front-matter value; \
                 `lockgate draft` fills it in.",
    },
    Page {
        word: "expected_state_mismatch",
        cause: "The object's bytes at the commit do not have the hash in expected_state.",
        effect: NOT_SENT,
        remedy: "Look at what changed in the source, then draft the job again from it.",
    },
    Page {
        word: "provenance_mismatch",
        cause: "The provenance hash does not fit commit, content, object, path and repository.",
        effect: NOT_SENT,
        remedy: "Draft the job again from the source; check source.repository if every job fails so.",
    },
    Page {
        word: "content_not_text",
        cause: "The vault takes text only, and the object is not UTF-8 text.",
        effect: NOT_SENT,
        remedy: "Keep such objects out of this vault, or use a directory vault.",
    },
    Page {
        word: "target_drift",
        cause: "The vault holds bytes that lockgate does not know: somebody else changed the file.",
        effect: "The job is REJECTED and the foreign bytes were not replaced.",
        remedy: "Look at the file. Bring the change into the source, or let an operator run `lockgate adopt PATH`; then \
                 make a new job.",
    },
    Page {
        word: "tampered",
        cause: "The stored job differs from its digest, its columns or its audit trail.",
        effect: NOT_SENT,
        remedy: "Treat it as an incident: pause the role, run `lockgate audit verify ROLE`, and find out who wrote to \
                 the database.",
    },
    Page {
        word: "delete_denied",
        cause: "The DELETE has no approval that counts; the detail says why.",
        effect: "The job is REJECTED; nothing was sent. An approval that was not spent stays unspent.",
        remedy: "Read the page of the detail: `lockgate explain DETAIL`.",
    },
];
