//! Whether signatures hold, whose they are, and whether it is their time. In: an envelope or what was stored of several,
//! the approvers, the instance, now. Out: the document with its signers, or the first thing that is wrong.
//!
//! At the door every signature must hold: an envelope with one bad signature is refused as a whole, so that what is stored
//! holds by itself. At the claim, much later, those that no longer hold are left out and named.
//!
//! Order at the door: the payload is JSON (size, JSON, depth, duplicates) → each signature, then its key → the payload's
//! canonical form, version, operation, fields → times. What nobody signed is not judged further.
//!
//! Not here: how many are enough (`policy`), whether it was spent (ledger/).

use super::approvers::{Approver, Approvers, Standing};
use super::envelope::{Envelope, EnvelopeSignature};
use super::key::{Fingerprint, PublicKey};
use super::payload::{ApprovalPayload, Payload, WithdrawalPayload};
use super::purpose::Purpose;
use super::raw;
use super::sshsig::{Holder, SignatureError, SshSignature};
use crate::clock::WallMs;
use crate::job::document::DocumentRules;
use crate::job::{Code, Refusal};

/// How far an approver's clock may run ahead of ours.
pub const ISSUED_AHEAD_MS_MAX: i64 = 60_000;

/// What every verdict about a signature depends on beside the signature itself.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// Stands in the signed bytes: an approval for one instance is nothing to another.
    pub instance: &'a str,
    /// Rules for the paths in payloads.
    pub documents: &'a DocumentRules,
    /// None while the file cannot be read: then nothing verifies.
    pub approvers: Option<&'a Approvers>,
}

/// One valid signature and the person it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// Of the key that signed.
    pub fingerprint: Fingerprint,
    /// From the approvers file.
    pub principal: String,
    /// Whether the authenticator checked a PIN or a finger.
    pub holder: Holder,
    /// Whether the key is inside its window; always, except under a withdrawal.
    pub standing: Standing,
    /// To store; verified again at the claim.
    pub signature: EnvelopeSignature,
}

/// A document somebody known signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// An approval within its time.
    Approval(Box<ApprovalPayload>),
    /// Takes an approval back; whether these signers may is `withdrawal`'s to say.
    Withdrawal(WithdrawalPayload),
}

/// An envelope that passed the door.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Verified {
    /// What was signed.
    pub document: Document,
    /// The bytes that were signed, to store.
    pub payload_bytes: Vec<u8>,
    /// One for each signature.
    pub signers: Vec<Signer>,
}

/// Why one signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    /// It is none.
    #[error("{0}")]
    Invalid(#[from] SignatureError),
    /// Nobody's key, or not for this.
    #[error("the key is not in the approvers file, or its `namespaces` do not name this use")]
    KeyUnknown,
    /// Not now.
    #[error("the key is before its valid-after or past its valid-before")]
    KeyExpired,
}

impl Unsigned {
    /// `signature_invalid`, `key_unknown` or `key_expired`.
    pub fn code(self) -> Code {
        match self {
            Unsigned::Invalid(_) => Code::SignatureInvalid,
            Unsigned::KeyUnknown => Code::KeyUnknown,
            Unsigned::KeyExpired => Code::KeyExpired,
        }
    }
}

/// The door.
///
/// # Errors
/// Shape codes, `signature_invalid`, `key_unknown`, `key_expired`, `approval_not_canonical`, `approval_expired`,
/// `approval_not_yet_valid`.
pub fn verify(envelope: &Envelope, ground: &Ground<'_>, now: WallMs) -> Result<Verified, Refusal> {
    let bytes = envelope.payload();
    let purpose = Payload::meant(bytes)?;
    let mut signers = Vec::with_capacity(envelope.signatures().len());
    for (at, signature) in envelope.signatures().iter().enumerate() {
        let signer = check(signature, purpose, bytes, ground, now);
        signers.push(
            signer.map_err(|why| Refusal::new(why.code(), format!("/signatures/{at}"), why.to_string()))?,
        );
    }
    let document = match Payload::parse(bytes, ground.documents)? {
        Payload::Approval(approval) => {
            check_times(&approval, now)?;
            Document::Approval(approval)
        }
        Payload::Withdrawal(withdrawal) => Document::Withdrawal(withdrawal),
    };
    Ok(Verified {
        document,
        payload_bytes: bytes.to_vec(),
        signers,
    })
}

/// What one who holds no approvers file can say of an envelope (the gateway): the same first refusal the door would give,
/// or that the door must look.
///
/// # Errors
/// Shape codes, `signature_invalid`, `approval_not_canonical`.
pub fn precheck(envelope: &Envelope, instance: &str, documents: &DocumentRules) -> Result<(), Refusal> {
    let bytes = envelope.payload();
    let purpose = Payload::meant(bytes)?;
    let mut all_carry_their_key = true;
    for (at, signature) in envelope.signatures().iter().enumerate() {
        let invalid = |error: SignatureError| {
            Refusal::new(
                Code::SignatureInvalid,
                format!("/signatures/{at}"),
                error.to_string(),
            )
        };
        match signature {
            EnvelopeSignature::Sshsig { armour } => {
                let parsed = SshSignature::parse(armour).map_err(invalid)?;
                let _holder: Holder = parsed
                    .verify(&purpose.namespace(instance), bytes)
                    .map_err(invalid)?;
            }
            EnvelopeSignature::Ed25519 { signature_b64, .. } => {
                let _bytes: [u8; 64] = raw::decode(signature_b64).map_err(invalid)?;
                all_carry_their_key = false;
            }
        }
    }
    if all_carry_their_key {
        let _payload: Payload = Payload::parse(bytes, documents)?;
    }
    Ok(())
}

/// Signatures that were stored, judged again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Review {
    /// Those that hold at present.
    pub signers: Vec<Signer>,
    /// Those that no longer do.
    pub lost: Vec<Unsigned>,
}

/// The claim: each stored signature over these bytes by itself.
pub fn review(
    payload_bytes: &[u8],
    signatures: &[EnvelopeSignature],
    purpose: Purpose,
    ground: &Ground<'_>,
    now: WallMs,
) -> Review {
    let mut review = Review {
        signers: Vec::new(),
        lost: Vec::new(),
    };
    for signature in signatures {
        match check(signature, purpose, payload_bytes, ground, now) {
            Ok(signer) => review.signers.push(signer),
            Err(why) => review.lost.push(why),
        }
    }
    review
}

/// The mathematics first, where the signature carries its key; then whose key it is; then its time.
fn check(
    signature: &EnvelopeSignature,
    purpose: Purpose,
    payload: &[u8],
    ground: &Ground<'_>,
    now: WallMs,
) -> Result<Signer, Unsigned> {
    let (approver, holder) = match signature {
        EnvelopeSignature::Sshsig { armour } => {
            let parsed = SshSignature::parse(armour)?;
            let holder = parsed.verify(&purpose.namespace(ground.instance), payload)?;
            (known(ground, parsed.key())?, holder)
        }
        EnvelopeSignature::Ed25519 { key, signature_b64 } => {
            let approvers = ground.approvers.ok_or(Unsigned::KeyUnknown)?;
            let approver = approvers.by_fingerprint(key).ok_or(Unsigned::KeyUnknown)?;
            raw::verify(approver.key(), signature_b64, purpose, ground.instance, payload)?;
            (approver, Holder::NotVerified)
        }
    };
    let standing = standing(approver, purpose, ground.instance, now);
    match (purpose, standing) {
        (_, Standing::OtherNamespace) => return Err(Unsigned::KeyUnknown),
        (Purpose::Approval, Standing::OutsideWindow) => return Err(Unsigned::KeyExpired),
        // Who signed may withdraw, also after their key's time.
        (Purpose::Withdrawal, Standing::OutsideWindow) | (_, Standing::Current) => {}
    }
    Ok(Signer {
        fingerprint: approver.key().fingerprint(),
        principal: approver.principal().to_owned(),
        holder,
        standing,
        signature: signature.clone(),
    })
}

fn known<'a>(ground: &Ground<'a>, key: &PublicKey) -> Result<&'a Approver, Unsigned> {
    ground
        .approvers
        .and_then(|approvers| approvers.by_key(key))
        .ok_or(Unsigned::KeyUnknown)
}

/// A key whose line names only the approval's namespace may withdraw too: who may say yes may say no.
fn standing(approver: &Approver, purpose: Purpose, instance: &str, now: WallMs) -> Standing {
    let own = approver.standing(&purpose.namespace(instance), now);
    let for_approvals = approver.standing(&Purpose::Approval.namespace(instance), now);
    match (purpose, own, for_approvals) {
        (Purpose::Approval, own, _) => own,
        (Purpose::Withdrawal, Standing::Current, _) | (Purpose::Withdrawal, _, Standing::Current) => {
            Standing::Current
        }
        (Purpose::Withdrawal, Standing::OtherNamespace, Standing::OtherNamespace) => Standing::OtherNamespace,
        (
            Purpose::Withdrawal,
            Standing::OutsideWindow | Standing::OtherNamespace,
            Standing::OutsideWindow | Standing::OtherNamespace,
        ) => Standing::OutsideWindow,
    }
}

/// Expiry first: an approval whose time is over is over, whatever else its times say.
fn check_times(approval: &ApprovalPayload, now: WallMs) -> Result<(), Refusal> {
    let issued = approval.issued_at.wall();
    let expires = approval.expires_at.wall();
    if expires <= now {
        let message = "the approval's time is over; draft and sign another";
        return Err(Refusal::new(Code::ApprovalExpired, "/expires_at", message));
    }
    if issued.0 > now.0.saturating_add(ISSUED_AHEAD_MS_MAX) {
        let message = "the approval is issued more than 60 s ahead of this machine's clock";
        return Err(Refusal::new(Code::ApprovalNotYetValid, "/issued_at", message));
    }
    if expires <= issued {
        let message = "the approval ends before it begins and is never valid; draft and sign another";
        return Err(Refusal::new(Code::ApprovalExpired, "/expires_at", message));
    }
    Ok(())
}

#[cfg(test)]
#[path = "verify_test.rs"]
mod tests;
