//! SSH signatures: what is taken, and each way of being wrong.

use super::*;
use ed25519_dalek::Signature;
use ed25519_dalek::{Signer as _, SigningKey};
use proptest::prelude::*;

const NS: &str = "lockgate-approval@i";
const MESSAGE: &[u8] = b"message";

fn secret() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// Every part of a signature, so that a test can break one of them.
struct Parts {
    magic: Vec<u8>,
    version: u32,
    key_type: &'static [u8],
    point: Vec<u8>,
    application: Option<&'static [u8]>,
    namespace: &'static str,
    reserved: &'static [u8],
    hash: &'static str,
    signature_type: &'static [u8],
    signature: Vec<u8>,
    /// Flags and counter.
    touch: Vec<u8>,
}

impl Parts {
    fn plain() -> Parts {
        let digest = sha2::Sha512::digest(MESSAGE);
        let signature = secret()
            .sign(&signed_bytes(NS, "sha512", &digest))
            .to_bytes()
            .to_vec();
        Parts {
            magic: MAGIC.to_vec(),
            version: 1,
            key_type: b"ssh-ed25519",
            point: secret().verifying_key().as_bytes().to_vec(),
            application: None,
            namespace: NS,
            reserved: b"",
            hash: "sha512",
            signature_type: b"ssh-ed25519",
            signature,
            touch: Vec::new(),
        }
    }
    /// What an authenticator with this application and these flags would make.
    fn security_key(application: &'static str, flags: u8) -> Parts {
        let signed = signed_bytes(NS, "sha512", &sha2::Sha512::digest(MESSAGE));
        let touch = Touch {
            flags,
            counter: 0x01020304,
        };
        let mut blob = sha2::Sha256::digest(application.as_bytes()).to_vec();
        blob.push(flags);
        blob.extend_from_slice(&[1, 2, 3, 4]);
        blob.extend_from_slice(&sha2::Sha256::digest(&signed));
        assert_eq!(blob, authenticator_bytes(application, touch, &signed));
        Parts {
            key_type: b"sk-ssh-ed25519@openssh.com",
            application: Some(application.as_bytes()),
            signature_type: b"sk-ssh-ed25519@openssh.com",
            signature: secret().sign(&blob).to_bytes().to_vec(),
            touch: vec![flags, 1, 2, 3, 4],
            ..Parts::plain()
        }
    }
    fn blob(&self) -> Vec<u8> {
        let mut key = Vec::new();
        put_string(&mut key, self.key_type);
        put_string(&mut key, &self.point);
        if let Some(application) = self.application {
            put_string(&mut key, application);
        }
        let mut inner = Vec::new();
        put_string(&mut inner, self.signature_type);
        put_string(&mut inner, &self.signature);
        inner.extend_from_slice(&self.touch);
        let mut blob = self.magic.clone();
        blob.extend_from_slice(&self.version.to_be_bytes());
        for field in [
            &key,
            self.namespace.as_bytes(),
            self.reserved,
            self.hash.as_bytes(),
            &inner,
        ] {
            put_string(&mut blob, field);
        }
        blob
    }
    fn verdict(&self) -> Result<Holder, SignatureError> {
        verdict(&armour(&self.blob()))
    }
}

fn verdict(armour: &str) -> Result<Holder, SignatureError> {
    SshSignature::parse(armour)?.verify(NS, MESSAGE)
}

#[test]
fn t32_a_plain_signature_holds_for_its_bytes_and_namespace_only() {
    let armour = armour(&Parts::plain().blob());
    assert_eq!(verdict(&armour), Ok(Holder::NotVerified));
    let parsed = SshSignature::parse(&armour).unwrap();
    assert_eq!(parsed.key().point(), secret().verifying_key().as_bytes());
    assert_eq!(parsed.verify(NS, b"messag"), Err(SignatureError::Mismatch));
    for other in [
        "lockgate-approval@j",
        "lockgate-approval@",
        "lockgate-withdrawal@i",
        "file",
        "",
        "LOCKGATE-APPROVAL@i",
    ] {
        assert_eq!(
            parsed.verify(other, MESSAGE),
            Err(SignatureError::Namespace),
            "{other}"
        );
    }
    // The namespace in the block is what was signed: rewriting it does not help.
    let renamed = Parts {
        namespace: "lockgate-approval@j",
        ..Parts::plain()
    };
    let parsed = SshSignature::parse(&super::armour(&renamed.blob())).unwrap();
    assert_eq!(
        parsed.verify("lockgate-approval@j", MESSAGE),
        Err(SignatureError::Mismatch)
    );
}

#[test]
fn sha256_is_taken_as_well_and_no_other_hash() {
    let digest = sha2::Sha256::digest(MESSAGE);
    let signature = secret()
        .sign(&signed_bytes(NS, "sha256", &digest))
        .to_bytes()
        .to_vec();
    assert_eq!(
        Parts {
            hash: "sha256",
            signature,
            ..Parts::plain()
        }
        .verdict(),
        Ok(Holder::NotVerified)
    );
    assert_eq!(
        Parts {
            hash: "sha256",
            ..Parts::plain()
        }
        .verdict(),
        Err(SignatureError::Mismatch)
    );
    for hash in ["sha1", "SHA512", "sha384", ""] {
        assert_eq!(
            Parts {
                hash,
                ..Parts::plain()
            }
            .verdict(),
            Err(SignatureError::Blob),
            "{hash}"
        );
    }
}

#[test]
fn t32_every_truncation_and_every_extra_byte_is_refused() {
    for parts in [Parts::plain(), Parts::security_key("ssh:", 5)] {
        let blob = parts.blob();
        assert!(verdict(&armour(&blob)).is_ok());
        for cut in 0..blob.len() {
            assert!(verdict(&armour(&blob[..cut])).is_err(), "{cut}");
        }
        for extra in [&b"\0"[..], b"\0\0\0\0", b"SSHSIG"] {
            assert_eq!(
                verdict(&armour(&[&blob[..], extra].concat())),
                Err(SignatureError::Blob)
            );
        }
    }
    let longer = Parts {
        signature: [&Parts::plain().signature[..], b"\0"].concat(),
        ..Parts::plain()
    };
    assert_eq!(longer.verdict(), Err(SignatureError::Blob));
    let touched = Parts {
        touch: vec![1, 0, 0, 0, 0],
        ..Parts::plain()
    };
    assert_eq!(touched.verdict(), Err(SignatureError::Blob));
}

#[test]
fn t32_every_flipped_bit_is_refused() {
    for parts in [Parts::plain(), Parts::security_key("ssh:", 5)] {
        let blob = parts.blob();
        for at in 0..blob.len() * 8 {
            let mut flipped = blob.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(verdict(&armour(&flipped)).is_err(), "bit {at}");
        }
    }
}

#[test]
fn foreign_structures_are_refused() {
    for (name, parts) in [
        (
            "magic",
            Parts {
                magic: b"SSHSIH".to_vec(),
                ..Parts::plain()
            },
        ),
        (
            "version 0",
            Parts {
                version: 0,
                ..Parts::plain()
            },
        ),
        (
            "version 2",
            Parts {
                version: 2,
                ..Parts::plain()
            },
        ),
        (
            "reserved",
            Parts {
                reserved: b"x",
                ..Parts::plain()
            },
        ),
        (
            "signature type",
            Parts {
                signature_type: b"ssh-rsa",
                ..Parts::plain()
            },
        ),
        (
            "sk type over a plain key",
            Parts {
                signature_type: b"sk-ssh-ed25519@openssh.com",
                ..Parts::plain()
            },
        ),
        (
            "plain type over an sk key",
            Parts {
                signature_type: b"ssh-ed25519",
                ..Parts::security_key("ssh:", 1)
            },
        ),
        (
            "no touch data",
            Parts {
                touch: Vec::new(),
                ..Parts::security_key("ssh:", 1)
            },
        ),
    ] {
        assert_eq!(parts.verdict(), Err(SignatureError::Blob), "{name}");
    }
    assert_eq!(
        Parts {
            key_type: b"ssh-rsa",
            ..Parts::plain()
        }
        .verdict(),
        Err(SignatureError::Key(KeyError::Type))
    );
}

/// The order of the curve's large subgroup, little-endian.
const L: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

#[test]
fn t32_a_malleated_s_is_refused() {
    let mut parts = Parts::plain();
    let mut carry = 0u16;
    for (byte, order) in parts.signature[32..].iter_mut().zip(L) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    assert_eq!(parts.verdict(), Err(SignatureError::Mismatch));
}

#[test]
fn t32_a_small_order_key_is_refused_though_the_equation_holds() {
    // A = R = identity, S = 0: [S]B = R + [k]A for every message.
    let mut identity = [0u8; 32];
    identity[0] = 1;
    let mut signature = identity.to_vec();
    signature.extend_from_slice(&[0; 32]);
    let loose = ed25519_dalek::VerifyingKey::from_bytes(&identity).unwrap();
    let bytes: [u8; 64] = signature.clone().try_into().unwrap();
    let message = signed_bytes(NS, "sha512", &sha2::Sha512::digest(MESSAGE));
    use ed25519_dalek::Verifier as _;
    assert!(
        loose.verify(&message, &Signature::from_bytes(&bytes)).is_ok(),
        "the attack is real"
    );
    let parts = Parts {
        point: identity.to_vec(),
        signature,
        ..Parts::plain()
    };
    assert_eq!(parts.verdict(), Err(SignatureError::Key(KeyError::Weak)));
}

#[test]
fn t32_a_small_order_r_is_refused() {
    // R = identity and S = k·a mod L: the equation holds for this proper key and message.
    const S: [u8; 32] = [
        0x32, 0x46, 0xc1, 0xbf, 0x95, 0x1f, 0xcc, 0xaf, 0x21, 0x65, 0xf4, 0x6b, 0x64, 0x7d, 0x9b, 0x22, 0x46,
        0x16, 0xa7, 0x4f, 0x27, 0x49, 0x96, 0x75, 0x1f, 0x43, 0x41, 0xe7, 0x93, 0xe1, 0xa7, 0x00,
    ];
    let mut signature = [0u8; 64];
    signature[0] = 1;
    signature[32..].copy_from_slice(&S);
    let message = signed_bytes(NS, "sha512", &sha2::Sha512::digest(MESSAGE));
    use ed25519_dalek::Verifier as _;
    let loose = secret().verifying_key();
    assert!(
        loose.verify(&message, &Signature::from_bytes(&signature)).is_ok(),
        "the attack is real"
    );
    let parts = Parts {
        signature: signature.to_vec(),
        ..Parts::plain()
    };
    assert_eq!(parts.verdict(), Err(SignatureError::Mismatch));
}

#[test]
fn t32_a_security_key_must_have_been_touched() {
    for (flags, verdict) in [
        (0, Err(SignatureError::NotPresent)),
        (1, Ok(Holder::NotVerified)),
        (4, Err(SignatureError::NotPresent)),
        (5, Ok(Holder::Verified)),
        (0x80, Err(SignatureError::NotPresent)),
        (0x85, Ok(Holder::Verified)),
    ] {
        assert_eq!(
            Parts::security_key("ssh:approve", flags).verdict(),
            verdict,
            "{flags}"
        );
    }
    // The flags are signed: setting them afterwards does not help.
    let lifted = Parts {
        touch: vec![5, 1, 2, 3, 4],
        ..Parts::security_key("ssh:", 0)
    };
    assert_eq!(lifted.verdict(), Err(SignatureError::Mismatch));
    let counted = Parts {
        touch: vec![1, 1, 2, 3, 5],
        ..Parts::security_key("ssh:", 1)
    };
    assert_eq!(counted.verdict(), Err(SignatureError::Mismatch));
}

#[test]
fn t32_a_security_key_of_another_application_is_refused() {
    for application in ["https://bank.test", "webauthn", "", "Ssh:x"] {
        let parts = Parts::security_key(application, 5);
        assert_eq!(
            parts.verdict(),
            Err(SignatureError::Key(KeyError::Application)),
            "{application}"
        );
    }
    let renamed = Parts {
        application: Some(b"ssh:other"),
        ..Parts::security_key("ssh:approve", 5)
    };
    assert_eq!(renamed.verdict(), Err(SignatureError::Mismatch));
}

#[test]
fn only_a_whole_block_is_taken() {
    let whole = armour(&Parts::plain().blob());
    for fine in [whole.trim_end().to_owned(), whole.replace('\n', "\r\n")] {
        assert!(verdict(&fine).is_ok(), "{fine:?}");
    }
    for bad in [
        String::new(),
        format!(" {whole}"),
        format!("\n{whole}"),
        format!("{whole}\n"),
        format!("{whole}x"),
        format!("{whole}{whole}"),
        whole.replace("BEGIN", "begin"),
        whole.replace("-----END SSH SIGNATURE-----", ""),
        whole.replace("-----END SSH SIGNATURE-----", "-----END SSH SIGNATURE----"),
        whole.replacen("U1NI", "U1 NI", 1),
        whole.replacen("U1NI", "U1-I", 1),
        whole.replace("\n-----END", "=\n-----END"),
        whole.replace('\n', ""),
    ] {
        assert_eq!(verdict(&bad), Err(SignatureError::Armour), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in ".{0,100}", at in 0usize..180, byte: u8) {
        drop(SshSignature::parse(&armour(&bytes)));
        drop(SshSignature::parse(&text));
        let mut blob = Parts::security_key("ssh:", 1).blob();
        let at = at % blob.len();
        blob[at] = byte;
        let _verdict: Result<_, _> = SshSignature::parse(&armour(&blob)).map(|parsed| parsed.verify(NS, MESSAGE));
    }
}
