//! The vocabulary: ids, kinds, documents, states, codes, receipts. In: bytes. Out: types that cannot hold bad data.
//!
//! Not here: any I/O, any policy (admission/), any storage (ledger/).

pub mod code;
pub mod ids;
pub mod kind;
pub mod path;
pub mod state;

pub use code::{Code, Refusal};
pub use ids::{
    ApprovalId, CommitId, DeleteRequestId, IdempotencyKey, JobId, MissionId, Nonce, Sha256, Uuid4, sha256,
};
pub use kind::{CrashPolicy, JobKind, Role};
pub use path::{ObjectId, PathError, VaultPath};
pub use state::{IllegalTransition, State};
