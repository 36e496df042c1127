//! Who may take an approval back: any key that signed it, or that could have. In: the withdrawal's signers, what is known
//! of the approval. Out: yes, or why not.
//!
//! Not here: the signatures themselves (`verify`); what a withdrawal changes (ledger/).

use super::approvers::{Approvers, Standing};
use super::key::Fingerprint;
use super::policy::Policy;
use super::verify::Signer;
use crate::job::{Code, Refusal, VaultPath};

/// The approval a withdrawal names, when it is on file.
#[derive(Debug, Clone, Copy)]
pub struct OnFile<'a> {
    /// The path it approves.
    pub path: &'a VaultPath,
    /// Keys whose signatures are stored with it.
    pub signed_by: &'a [Fingerprint],
}

/// Whether one of the signers may withdraw. A withdrawal may come before its approval: then a key that is valid now is
/// enough to keep it, and it is judged again, with [`OnFile`], when the approval comes.
///
/// # Errors
/// `key_expired` when the only fault is a key's window, `key_unknown` when policy gives these keys no say over the path.
pub fn permit(
    signers: &[Signer],
    approval: Option<OnFile<'_>>,
    policy: &Policy,
    approvers: &Approvers,
) -> Result<(), Refusal> {
    let current = |signer: &Signer| match signer.standing {
        Standing::Current => true,
        Standing::OutsideWindow | Standing::OtherNamespace => false,
    };
    let may = |signer: &Signer| match approval {
        Some(on_file) => {
            let signed = on_file.signed_by.contains(&signer.fingerprint);
            signed || (current(signer) && policy.may_sign(on_file.path, &signer.principal, approvers))
        }
        None => current(signer),
    };
    if signers.iter().any(may) {
        return Ok(());
    }
    if signers.iter().any(current) {
        let message = "no key here signed this approval, and none may approve its path";
        return Err(Refusal::new(Code::KeyUnknown, "/signatures", message));
    }
    let message = "the key is outside its window and did not sign this approval";
    Err(Refusal::new(Code::KeyExpired, "/signatures", message))
}
