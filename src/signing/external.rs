//! Signing by a real `ssh-keygen`: for keys with a passphrase, in an agent, or in a security key. In: the key file's path
//! and the payload. Out: the signature it made, checked before it is handed on.
//!
//! Not here: keys we read ourselves (`key`).

use crate::approval::envelope::EnvelopeSignature;
use crate::approval::key::PublicKey;
use crate::approval::purpose::Purpose;
use crate::approval::sshsig::{SignatureError, SshSignature};
use crate::job::Uuid4;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why ssh-keygen gave no signature.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The directory for the file to sign.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not installed, or not in PATH.
    #[error("cannot run ssh-keygen: {0} (it is in the package openssh-client)")]
    Start(io::Error),
    /// It has said why on standard error.
    #[error("ssh-keygen did not sign ({0})")]
    Failed(std::process::ExitStatus),
    /// It says that it signed and left nothing.
    #[error("cannot read the signature ssh-keygen made: {0}")]
    Read(io::Error),
    /// What it made would be refused.
    #[error("the signature ssh-keygen made would be refused: {0}")]
    Refused(#[from] SignatureError),
}

/// A directory only we can read, gone when dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing in it is secret; a leftover in the temporary directory harms nobody.
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

/// Runs `ssh-keygen -Y sign -f KEY -n NAMESPACE` over the payload. The terminal stays ssh-keygen's for its questions.
///
/// # Errors
/// [`ExternalError`].
pub fn sign(
    key: &Path,
    purpose: Purpose,
    instance: &str,
    payload: &[u8],
) -> Result<(EnvelopeSignature, PublicKey), ExternalError> {
    let directory = std::env::temp_dir().join(format!("lockgate-sign-{}", Uuid4::random()));
    let write_error = |path: &Path, source| ExternalError::Write {
        path: path.to_owned(),
        source,
    };
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&directory)
        .map_err(|error| write_error(&directory, error))?;
    let scratch = Scratch(directory);
    // A file and not a pipe: a PIN prompt reads standard input.
    let file = scratch.0.join("payload");
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(&file);
    let written = opened.and_then(|mut opened| io::Write::write_all(&mut opened, payload));
    written.map_err(|error| write_error(&file, error))?;
    let namespace = purpose.namespace(instance);
    let status = Command::new("ssh-keygen")
        .args(["-Y", "sign", "-f"])
        .arg(key)
        .args(["-n", &namespace])
        .arg(&file)
        .stdout(Stdio::null())
        .status()
        .map_err(ExternalError::Start)?;
    if !status.success() {
        return Err(ExternalError::Failed(status));
    }
    let armour = std::fs::read_to_string(scratch.0.join("payload.sig")).map_err(ExternalError::Read)?;
    let signature = SshSignature::parse(&armour)?;
    signature.verify(&namespace, payload)?;
    Ok((EnvelopeSignature::Sshsig { armour }, signature.key().clone()))
}
