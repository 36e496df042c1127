//! Pages of documents that never became a job, and of envelopes refused at the door. In: nothing. Out: constants.
//!
//! Not here: refusals of admitted jobs (`gates`).

use super::Page;

const NOT_STORED: &str = "The document did not become a job; its job_id and idempotency_key are still free.";
const ENVELOPE_NOT_STORED: &str = "The envelope was not stored; the job waits as before.";

pub(super) const PAGES: &[Page] = &[
    Page {
        word: "malformed_json",
        cause: "The bytes are not one JSON document in UTF-8.",
        effect: NOT_STORED,
        remedy: "Write UTF-8 without byte order mark, one value, valid escapes and whole surrogate pairs.",
    },
    Page {
        word: "duplicate_key",
        cause: "A key stands twice in one object, perhaps once in escaped form.",
        effect: NOT_STORED,
        remedy: "Keep the one that is meant; readers disagree about which of two would count.",
    },
    Page {
        word: "unknown_field",
        cause: "The document has a field that its kind does not have.",
        effect: NOT_STORED,
        remedy: "Remove the field the pointer names. A job can name no command, URL, header or credential.",
    },
    Page {
        word: "missing_field",
        cause: "The document lacks a field that its kind must have.",
        effect: NOT_STORED,
        remedy: "Add the field the pointer names; `lockgate draft` writes a complete document.",
    },
    Page {
        word: "wrong_type",
        cause: "A field has another JSON type than it must have.",
        effect: NOT_STORED,
        remedy: "Write the version as the integer 1, not \"1\" or 1.0, and everything else as a string.",
    },
    Page {
        word: "too_large",
        cause: "The document is larger than 64 KiB.",
        effect: "It was not read to its end. The document did not become a job.",
        remedy: "A job names an object and never carries its content; leave the content out.",
    },
    Page {
        word: "too_deep",
        cause: "Arrays and objects are nested more than 16 levels deep.",
        effect: NOT_STORED,
        remedy: "Write the flat document of the contract; no document needs more than three levels.",
    },
    Page {
        word: "unknown_version",
        cause: "This lockgate does not know the document's version.",
        effect: NOT_STORED,
        remedy: "Write version 1, or install a lockgate that knows the newer one.",
    },
    Page {
        word: "unknown_job_type",
        cause: "The job_type is not in the closed list.",
        effect: NOT_STORED,
        remedy: "Write C5_SAVE_OBJECT or C5_DELETE_OBJECT, in exactly that case and without spaces.",
    },
    Page {
        word: "wrong_role",
        cause: "The document was given to a role that does not run its kind.",
        effect: NOT_STORED,
        remedy: "Drop SAVE jobs with the save role, DELETE jobs and approvals with the delete role, or submit through \
                 the gateway, which chooses.",
    },
    Page {
        word: "bad_uuid",
        cause: "An id is not a version 4 UUID in its one form.",
        effect: NOT_STORED,
        remedy: "Make a random UUID (version 4) and write it in lower case with hyphens, without braces.",
    },
    Page {
        word: "bad_hash",
        cause: "A hash or commit is not in its one form.",
        effect: NOT_STORED,
        remedy: "Write lower-case hex: 64 digits for hashes, 40 or 64 for a full commit id, `sha256:` before \
                 expected_state.",
    },
    Page {
        word: "bad_time",
        cause: "A time is not in its one form.",
        effect: NOT_STORED,
        remedy: "Write UTC like 2026-11-30T12:00:00Z, a real date from 1970 to 9999, at most three decimals.",
    },
    Page {
        word: "bad_object_id",
        cause: "The object_id breaks a rule for object ids.",
        effect: NOT_STORED,
        remedy: "Write 1 to 256 bytes in Unicode form NFC without control characters; where ids are paths, each \
                 component follows the rules of vault_path.",
    },
    Page {
        word: "path_outside_root",
        cause: "The vault_path is not below the vault's root.",
        effect: NOT_STORED,
        remedy: "Write the whole path below vault.root, /app/vault/ by default; a sibling such as /app/vaultx is \
                 another directory.",
    },
    Page {
        word: "path_traversal",
        cause: "A component of the path is `.` or `..`.",
        effect: NOT_STORED,
        remedy: "Write the path out; nothing is resolved.",
    },
    Page {
        word: "path_ambiguous",
        cause: "The path can be read in two ways, by a program or by a person.",
        effect: NOT_STORED,
        remedy: "Use single slashes, Unicode form NFC, no backslash, control or invisible character, no percent \
                 escape, no space at either end of a name, no look-alike of a dot or slash; keep names within 255 bytes.",
    },
    Page {
        word: "path_hidden",
        cause: "A component of the path begins with a dot.",
        effect: NOT_STORED,
        remedy: "Hidden files are not served; choose another name.",
    },
    Page {
        word: "idempotency_conflict",
        cause: "The job_id or idempotency_key was used before for another document.",
        effect: "The document did not become a job; the first one stands as it is.",
        remedy: "To ask again for the same, send the same document. To ask for something else, make a new job_id and a \
                 new idempotency_key.",
    },
    Page {
        word: "not_allowed",
        cause: "The configuration does not let this requester ask for this kind or path.",
        effect: NOT_STORED,
        remedy: "Ask an operator to look at [[requester]] in the configuration.",
    },
    Page {
        word: "rate_limited",
        cause: "This requester has as many waiting jobs or bytes as it may have.",
        effect: NOT_STORED,
        remedy: "Wait until some of them have settled, then send it once more.",
    },
    Page {
        word: "frozen",
        cause: "An operator froze the role.",
        effect: "Nothing is admitted and nothing is started. Files in the drop directory stay and are not lost.",
        remedy: "Wait for the operator; `lockgate unfreeze ROLE` ends it.",
    },
    Page {
        word: "signature_invalid",
        cause: "A signature does not fit the payload, the namespace or the key.",
        effect: ENVELOPE_NOT_STORED,
        remedy: "Sign exactly the bytes that `lockgate approval draft` prints, with this installation's instance in the \
                 namespace, and change nothing afterwards.",
    },
    Page {
        word: "key_unknown",
        cause: "The key that signed is not in the approvers file.",
        effect: "At the door the envelope was not stored; at the claim the DELETE was denied and nothing was sent.",
        remedy: "Sign with a listed key, or have an operator add the key to /etc/lockgate/approvers.",
    },
    Page {
        word: "key_expired",
        cause: "The key that signed is outside its valid-after and valid-before.",
        effect: "At the door the envelope was not stored; at the claim the DELETE was denied and nothing was sent.",
        remedy: "Sign with a key that is valid now, or have an operator renew the line in /etc/lockgate/approvers.",
    },
    Page {
        word: "approval_expired",
        cause: "The approval's expires_at has passed.",
        effect: "At the door the envelope was not stored. A job whose approval expired on file waits for another one \
                 within delete.approval_wait and is then denied; nothing was sent.",
        remedy: "Draft a new approval with a later expires_at and sign it.",
    },
    Page {
        word: "approval_not_yet_valid",
        cause: "The approval's issued_at is more than 60 seconds ahead of this host's clock.",
        effect: ENVELOPE_NOT_STORED,
        remedy: "Compare the clocks of the host and of the machine that drafts; then submit again.",
    },
    Page {
        word: "approval_too_long",
        cause: "The time from issued_at to expires_at is longer than the policy's max_age.",
        effect: ENVELOPE_NOT_STORED,
        remedy: "Draft an approval that is valid for a shorter time.",
    },
    Page {
        word: "approval_not_canonical",
        cause: "The signed payload is not in its own canonical form (RFC 8785).",
        effect: ENVELOPE_NOT_STORED,
        remedy: "Sign the exact bytes that `lockgate approval draft` prints, without a newline at the end.",
    },
    Page {
        word: "approval_nonce_reused",
        cause: "Another approval had the same nonce.",
        effect: ENVELOPE_NOT_STORED,
        remedy: "Draft a new approval; each draft makes a new nonce.",
    },
    Page {
        word: "approval_conflict",
        cause: "An approval with this approval_id and another payload is on file and still counts, or was spent.",
        effect: "The new envelope was not stored; the one on file stands.",
        remedy: "Withdraw or use the one on file, or make a new job with a new approval_id.",
    },
];
