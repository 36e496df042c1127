//! What a signature is for. In: the instance. Out: the namespace and the prefix that keep approvals and withdrawals, and
//! instances, apart.
//!
//! Not here: the documents themselves (`payload`).

/// The two documents a person may sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// "This one delete may happen."
    Approval,
    /// "It may not, after all."
    Withdrawal,
}

impl Purpose {
    /// Both.
    pub const ALL: [Purpose; 2] = [Purpose::Approval, Purpose::Withdrawal];

    /// The SSHSIG namespace: `lockgate-approval@INSTANCE`.
    pub fn namespace(self, instance: &str) -> String {
        match self {
            Purpose::Approval => format!("lockgate-approval@{instance}"),
            Purpose::Withdrawal => format!("lockgate-withdrawal@{instance}"),
        }
    }
    /// What scheme `ed25519` signs: two lines in front of the payload's bytes.
    pub fn raw_message(self, instance: &str, payload: &[u8]) -> Vec<u8> {
        let line = match self {
            Purpose::Approval => "lockgate-approval-v1",
            Purpose::Withdrawal => "lockgate-withdrawal-v1",
        };
        let mut out = format!("{line}\n{instance}\n").into_bytes();
        out.extend_from_slice(payload);
        out
    }
}
