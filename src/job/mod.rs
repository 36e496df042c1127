//! The vocabulary: ids, kinds, documents, states, codes, receipts. In: bytes. Out: types that cannot hold bad data.
//!
//! Reading order: [`json`] → [`fields`] → [`document`], with [`ids`], [`path`] and [`time`] for the values,
//! [`canonical`] for what is hashed; then [`state`], [`code`], [`receipt`] and [`explain`] for what is answered.
//!
//! Not here: any I/O, any policy (admission/), any storage (ledger/).

pub mod cancel;
pub mod canonical;
pub mod code;
pub mod document;
pub mod explain;
pub mod fields;
pub mod ids;
pub mod json;
pub mod kind;
pub mod path;
pub mod pointer;
pub mod receipt;
pub mod state;
#[cfg(test)]
pub(crate) mod test_support;
mod text;
pub mod time;
mod unicode;

pub use cancel::{Cancel, Shape, parse_cancel, shape};
pub use canonical::{canonical, document_digest};
pub use code::{Code, Refusal};
pub use document::{DeleteJob, DocumentRules, Job, SaveJob, parse_job};
pub use fields::{FieldSpec, FieldType, Fields};
pub use ids::{
    ApprovalId, CommitId, DeleteRequestId, IdempotencyKey, JobId, MissionId, Nonce, Sha256, Uuid4, sha256,
};
pub use json::{DOCUMENT_BYTES_MAX, Value};
pub use kind::{CrashPolicy, JobKind, Role};
pub use path::{ObjectId, PathError, VaultPath};
pub use receipt::{Receipt, ReceiptState};
pub use state::{IllegalTransition, State};
pub use time::{Timestamp, format_utc};
