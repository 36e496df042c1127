//! How the vocabulary is written into JSON answers: every word, id and hash as the text it prints as. In: the types of
//! this room. Out: their `Serialize`.
//!
//! Not here: `Deserialize`; documents come in through `json` only.

use serde::{Serialize, Serializer};

macro_rules! serialize_as_printed {
    ($($name:ty),+ $(,)?) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}

serialize_as_printed! {
    super::Uuid4, super::JobId, super::MissionId, super::ApprovalId, super::DeleteRequestId, super::IdempotencyKey,
    super::Sha256, super::Nonce, super::CommitId, super::ObjectId, super::VaultPath, super::Timestamp,
    super::Code, super::JobKind, super::Role, super::State,
}
