//! Approvals between files and ledger. In: the approvers file, envelopes, a claimed DELETE. Out: verdicts by today's keys and rules.
//!
//! Not here: the judging itself (approval/), states of an approval (ledger/approve).

use super::Gear;
use crate::approval::claim::{self, Approved, Stored};
use crate::approval::{
    Approvers, DenyDetail, Document, Envelope, EnvelopeSignature, Fingerprint, Ground, Payload, Policy,
    Quorum, Verified, policy, verify, withdrawal,
};
use crate::clock::WallMs;
use crate::job::document::{DeleteJob, DocumentRules};
use crate::job::{Code, Refusal};
use crate::ledger::approve::StoredSignature;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest approvers file that is read, bytes.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp(u64, u64, i64, i64, u64);

#[derive(Debug)]
struct Cached {
    stamp: Stamp,
    approvers: Option<Arc<Approvers>>,
}

/// The approvers file, read again when it changes. Unreadable or wrong: nobody is an approver.
#[derive(Debug)]
pub struct ApproversFile {
    path: PathBuf,
    cached: Mutex<Option<Cached>>,
}

impl ApproversFile {
    /// Nothing is read yet.
    pub fn new(path: &Path) -> ApproversFile {
        ApproversFile {
            path: path.to_path_buf(),
            cached: Mutex::new(None),
        }
    }

    /// The approvers as the file has them now.
    pub fn current(&self) -> Option<Arc<Approvers>> {
        let stamp = std::fs::metadata(&self.path)
            .ok()
            .filter(std::fs::Metadata::is_file)
            .map(|meta| {
                let times = (
                    meta.ctime(),
                    meta.mtime()
                        .wrapping_mul(1_000_000_000)
                        .wrapping_add(meta.mtime_nsec()),
                );
                Stamp(meta.dev(), meta.ino(), times.0, times.1, meta.len())
            });
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stamp) = stamp else {
            if cached.take().is_some() {
                tracing::error!(path = %self.path.display(), "the approvers file is gone; no approval verifies until it is back");
            }
            return None;
        };
        if let Some(known) = cached.as_ref().filter(|known| known.stamp == stamp) {
            return known.approvers.clone();
        }
        let approvers = match self.read(&stamp) {
            Ok(approvers) => Some(Arc::new(approvers)),
            Err(why) => {
                tracing::error!(path = %self.path.display(), why, "the approvers file is not usable; no approval verifies until it is");
                None
            }
        };
        *cached = Some(Cached {
            stamp,
            approvers: approvers.clone(),
        });
        approvers
    }

    fn read(&self, stamp: &Stamp) -> Result<Approvers, String> {
        if stamp.4 > BYTES_MAX {
            return Err(format!("it has more than {BYTES_MAX} bytes"));
        }
        let text = std::fs::read_to_string(&self.path).map_err(|error| error.to_string())?;
        Approvers::parse(&text).map_err(|error| error.to_string())
    }
}

/// What an envelope turned out to be.
#[derive(Debug, Clone)]
pub enum AtTheDoor {
    /// An approval with good signatures.
    Approval(Box<Verified>),
    /// A withdrawal by somebody who may withdraw.
    Withdrawal {
        /// What it takes back, and who signed.
        verified: Box<Verified>,
        /// The first of them.
        principal: String,
    },
    /// Refused; not stored.
    Refused(Refusal),
}

/// Judges an envelope by today's keys.
pub fn door(gear: &Gear, envelope: &Envelope, now: WallMs) -> AtTheDoor {
    let policy = &gear.policy;
    let rules = gear.rules();
    let approvers = gear.approvers.current();
    let ground = Ground {
        instance: &gear.config.instance,
        documents: &rules,
        approvers: approvers.as_deref(),
    };
    let verified = match verify(envelope, &ground, now) {
        Ok(verified) => verified,
        Err(refusal) if refusal.code == Code::KeyUnknown && approvers.is_none() => {
            let message = "the approvers file cannot be read, so no key is known; an operator finds why in the role's log and with `lockgate config check`";
            return AtTheDoor::Refused(Refusal::new(Code::KeyUnknown, refusal.pointer, message));
        }
        Err(refusal) => return AtTheDoor::Refused(refusal),
    };
    match &verified.document {
        Document::Approval(payload) => match policy.check_age(&payload.vault_path, payload.lasts_ms()) {
            Ok(()) => AtTheDoor::Approval(Box::new(verified)),
            Err(refusal) => AtTheDoor::Refused(refusal),
        },
        Document::Withdrawal(payload) => {
            let Some(approvers) = approvers.as_deref() else {
                let message = "the approvers file cannot be read; nothing verifies until it can";
                return AtTheDoor::Refused(Refusal::new(Code::KeyUnknown, "/signatures", message));
            };
            let principal = verified
                .signers
                .first()
                .map(|signer| signer.principal.clone())
                .unwrap_or_default();
            let id = payload.approval_id.to_string();
            let stored = gear.ledger.approval(&id).ok().flatten();
            let path = stored
                .as_ref()
                .and_then(|(approval, _)| path_of(&approval.payload, &rules));
            let signed_by: Vec<Fingerprint> = stored
                .map(|(_, signatures)| {
                    signatures
                        .iter()
                        .filter_map(|s| Fingerprint::parse(&s.key_id))
                        .collect()
                })
                .unwrap_or_default();
            let on_file = path.as_ref().map(|path| withdrawal::OnFile {
                path,
                signed_by: &signed_by,
            });
            match withdrawal::permit(&verified.signers, on_file, policy, approvers) {
                Ok(()) => AtTheDoor::Withdrawal {
                    verified: Box::new(verified),
                    principal,
                },
                Err(refusal) => AtTheDoor::Refused(refusal),
            }
        }
    }
}

fn path_of(payload: &[u8], rules: &DocumentRules) -> Option<crate::job::VaultPath> {
    match Payload::parse(payload, rules) {
        Ok(Payload::Approval(approval)) => Some(approval.vault_path),
        Ok(Payload::Withdrawal(_)) | Err(_) => None,
    }
}

/// Signatures as they are stored.
pub fn to_store(verified: &Verified) -> Vec<StoredSignature> {
    verified
        .signers
        .iter()
        .map(|signer| StoredSignature {
            key_id: signer.fingerprint.to_string(),
            scheme: signer.signature.scheme().to_owned(),
            signature: signer.signature.to_text(),
        })
        .collect()
}

fn from_store(stored: &[StoredSignature]) -> Vec<EnvelopeSignature> {
    stored
        .iter()
        .filter_map(|one| EnvelopeSignature::parse_text(&one.signature).ok())
        .collect()
}

/// Whether stored signatures complete the quorum for a payload now; asked inside the transaction that stores them.
pub fn is_complete(
    payload: &[u8],
    stored: &[StoredSignature],
    instance: &str,
    rules: &DocumentRules,
    approvers: Option<&Approvers>,
    policy: &Policy,
    now: WallMs,
) -> bool {
    let ground = Ground {
        instance,
        documents: rules,
        approvers,
    };
    let (Some(approvers), Ok(Payload::Approval(parsed))) = (approvers, Payload::parse(payload, rules)) else {
        return false;
    };
    let signatures = from_store(stored);
    let review = verify::review(
        payload,
        &signatures,
        crate::approval::Purpose::Approval,
        &ground,
        now,
    );
    let signed = policy::Signed {
        path: &parsed.vault_path,
        lasts_ms: parsed.lasts_ms(),
        signers: &review.signers,
        approvers,
        requester_uid: None,
    };
    matches!(policy.judge(&signed), Ok(Quorum::Complete))
}

/// Job and approval together, from what is stored, by today's keys and rules.
///
/// # Errors
/// The detail of `delete_denied`; `None` when the ledger cannot be read.
pub fn judge_claim(
    gear: &Gear,
    job: &DeleteJob,
    requester_uid: u32,
    policy: &Policy,
) -> Result<Result<Approved, DenyDetail>, crate::sqlite::StorageFault> {
    let id = job.approval_id.to_string();
    let Some((approval, signatures)) = gear.ledger.approval(&id)? else {
        return Ok(Err(DenyDetail::ApprovalMissing));
    };
    match approval.state.as_str() {
        "RECEIVED" | "VERIFIED" | "EXPIRED" => {}
        "WITHDRAWN" => return Ok(Err(DenyDetail::ApprovalWithdrawn)),
        "VOID" => return Ok(Err(DenyDetail::ApprovalVoid)),
        _ => return Ok(Err(DenyDetail::ApprovalSpent)),
    }
    let spent = gear
        .spent
        .as_ref()
        .is_none_or(|log| log.contains(&job.approval_id));
    if spent {
        return Ok(Err(DenyDetail::ApprovalSpent));
    }
    let rules = gear.rules();
    let approvers = gear.approvers.current();
    let ground = Ground {
        instance: &gear.config.instance,
        documents: &rules,
        approvers: approvers.as_deref(),
    };
    let signatures = from_store(&signatures);
    let stored = Stored {
        payload_bytes: &approval.payload,
        signatures: &signatures,
    };
    Ok(claim::judge(
        job,
        requester_uid,
        stored,
        &ground,
        policy,
        gear.clock.wall(),
    ))
}
