//! Human approvals of deletes (contract 3, design 5). In: envelopes, the approvers file, the policy, now. Out: verdicts.
//!
//! ```text
//! document ─▶ envelope ─▶ verify ─▶ Verified ─▶ policy ─▶ complete, or how many are missing      (the door)
//! stored bytes and signatures ─▶ claim::judge ─▶ Approved, or the detail of delete_denied        (the claim)
//! ```
//!
//! Everything here is a pure function of what it is given. What the law leaves open is decided so:
//! every signature of an envelope must hold; what nobody signed is not judged beyond being JSON; a signer counts only where
//! every rule that matches the path lets them count; a requester who approved their own request is not counted, and is the
//! reason for a denial only if nothing else is missing.
//!
//! Not here: any I/O, any clock, any private key (signing/), any state (ledger/).

pub mod approvers;
pub mod claim;
pub mod deny;
pub mod draft;
pub mod envelope;
pub mod key;
pub mod matching;
pub mod payload;
pub mod policy;
pub mod purpose;
pub mod raw;
pub mod sshsig;
#[cfg(test)]
mod test_support;
pub mod verify;
pub(crate) mod wire;
pub mod withdrawal;

pub use approvers::{Approvers, ApproversError};
pub use claim::{Approved, Stored};
pub use deny::{BoundField, DenyDetail};
pub use draft::{DRAFT_LASTS_MS, draft};
pub use envelope::{Envelope, EnvelopeSignature};
pub use key::Fingerprint;
pub use payload::{ApprovalPayload, Payload, WithdrawalPayload};
pub use policy::{Policy, PolicyError, Quorum, RuleSpec, SeparateDuty};
pub use purpose::Purpose;
pub use verify::{Document, Ground, Signer, Verified, verify};
