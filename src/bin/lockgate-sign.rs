//! `lockgate-sign`: shows an approval in full, asks, signs it. In: a payload as `lockgate approval draft` prints it. Out:
//! an envelope on standard output; all talk on standard error.
//!
//! Not here: any contact with a daemon; it runs on the approver's own machine.

#[path = "lockgate-sign/args.rs"]
mod args;

use args::{Cli, How, SchemeName, Verb};
use clap::Parser as _;
use lockgate::approval::approvers::Approvers;
use lockgate::approval::envelope::{Envelope, EnvelopeSignature};
use lockgate::approval::key::Fingerprint;
use lockgate::approval::payload::{Payload, WithdrawalPayload};
use lockgate::clock::{Clock as _, SystemClock, WallMs};
use lockgate::job::{ApprovalId, Code, Refusal};
use lockgate::signing::{ApproverKey, Scheme, SigningError, external, files, show};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Longest payload that is read; a document is at most this long.
const DOCUMENT_BYTES_MAX: u64 = 64 * 1024;

/// Why nothing was signed, with the exit status that says so.
#[derive(Debug, thiserror::Error)]
enum SignError {
    #[error("{0}")]
    Usage(String),
    #[error("the payload is refused: {0}")]
    Payload(Refusal),
    #[error("{path}: the envelope is refused: {refusal}")]
    Envelope { path: PathBuf, refusal: Refusal },
    #[error("{path}: the envelope is for another payload")]
    OtherPayload { path: PathBuf },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path}: {source}")]
    Key { path: PathBuf, source: SigningError },
    #[error(transparent)]
    Signing(#[from] SigningError),
    #[error(transparent)]
    External(#[from] external::ExternalError),
    #[error("not signed")]
    Declined,
    #[error("standard output: {0}")]
    Output(io::Error),
}

impl SignError {
    fn status(&self) -> u8 {
        match self {
            SignError::Usage(_) => 2,
            SignError::Payload(_) | SignError::Envelope { .. } | SignError::OtherPayload { .. } => 65,
            SignError::File { .. }
            | SignError::Key { .. }
            | SignError::Signing(_)
            | SignError::External(_)
            | SignError::Declined
            | SignError::Output(_) => 1,
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            talk(&format!("lockgate-sign: {error}"));
            ExitCode::from(error.status())
        }
    }
}

/// Standard error is for people; that it is closed stops nothing.
fn talk(text: &str) {
    writeln!(io::stderr().lock(), "{text}").unwrap_or_default();
}

fn run(cli: Cli) -> Result<(), SignError> {
    match cli.verb {
        Some(Verb::Keygen { file, principal }) => keygen(&file, &principal),
        Some(Verb::Withdraw { approval_id }) => withdraw(&cli.how, &approval_id),
        None => {
            let path = cli
                .payload
                .ok_or_else(|| SignError::Usage("name a PAYLOAD, or - for standard input".to_owned()))?;
            approve(&cli.how, &path, cli.merge.as_deref())
        }
    }
}

fn now() -> WallMs {
    // No lease and no boot is judged here, only the wall clock is read.
    SystemClock::new(String::new()).wall()
}

fn approve(how: &How, path: &Path, merge: Option<&Path>) -> Result<(), SignError> {
    let bytes = read_payload(path)?;
    let payload = Payload::parse_elsewhere(&bytes).map_err(SignError::Payload)?;
    let mut envelope = match merge {
        Some(path) => read_envelope(path)?,
        None => Envelope::unsigned(bytes.clone()),
    };
    if envelope.payload() != bytes {
        return Err(SignError::OtherPayload {
            path: merge.unwrap_or(path).to_owned(),
        });
    }
    sign_into(how, &payload, &mut envelope)?;
    let may_replace = merge.is_some() && merge == how.out.as_deref();
    put_out(
        how,
        &envelope,
        if may_replace {
            files::Existing::Replace
        } else {
            files::Existing::Keep
        },
    )
}

fn withdraw(how: &How, approval_id: &str) -> Result<(), SignError> {
    let id = ApprovalId::parse(approval_id).ok_or_else(|| {
        SignError::Usage("APPROVAL_ID is a version 4 UUID in lower case, as in the approval".to_owned())
    })?;
    let payload = WithdrawalPayload::new(id, now()).ok_or_else(|| {
        SignError::Usage("this machine's clock is outside the years 1970 to 9999".to_owned())
    })?;
    let bytes = payload.to_canonical();
    let mut envelope = Envelope::unsigned(bytes);
    sign_into(how, &Payload::Withdrawal(payload), &mut envelope)?;
    put_out(how, &envelope, files::Existing::Keep)
}

/// Shows, asks, signs.
fn sign_into(how: &How, payload: &Payload, envelope: &mut Envelope) -> Result<(), SignError> {
    let instance = instance(how)?;
    // The key is read before the question: a typing error in its name should not cost a careful reading.
    let signer = Signer::open(how)?;
    talk(&show::describe(payload, envelope.payload(), instance, now()));
    if !how.yes && !confirmed()? {
        return Err(SignError::Declined);
    }
    let (signature, key) = signer.sign(payload, instance, envelope.payload())?;
    talk(&format!("Signed with {key}."));
    envelope.add(signature).map_err(SignError::Payload)
}

fn instance(how: &How) -> Result<&str, SignError> {
    let text = how.instance.as_deref().ok_or_else(|| {
        SignError::Usage("--instance ID is needed: `instance` in the host's lockgate.toml".to_owned())
    })?;
    if text.is_empty() || text.len() > 128 || !text.bytes().all(|c| c.is_ascii_graphic()) {
        return Err(SignError::Usage(
            "--instance takes ASCII letters without blanks".to_owned(),
        ));
    }
    Ok(text)
}

enum Signer<'a> {
    InMemory(Box<ApproverKey>, Scheme),
    SshKeygen(std::borrow::Cow<'a, Path>),
}

impl Signer<'_> {
    fn open(how: &How) -> Result<Signer<'_>, SignError> {
        if how.ssh_keygen || how.ssh_key.is_some() {
            return Ok(Signer::SshKeygen(match &how.ssh_key {
                Some(path) => std::borrow::Cow::Borrowed(path),
                None => std::borrow::Cow::Owned(usual_key()?),
            }));
        }
        let Some(path) = &how.key else {
            return Err(SignError::Usage(
                "name a key: --key FILE, or --ssh-keygen -f KEY".to_owned(),
            ));
        };
        let bytes = files::read_bounded(path, DOCUMENT_BYTES_MAX).map_err(|source| SignError::File {
            path: path.clone(),
            source,
        })?;
        let key = ApproverKey::read(&bytes).map_err(|source| SignError::Key {
            path: path.clone(),
            source,
        })?;
        let scheme = match how.scheme {
            SchemeName::Sshsig => Scheme::Sshsig,
            SchemeName::Ed25519 => Scheme::Ed25519,
        };
        Ok(Signer::InMemory(Box::new(key), scheme))
    }

    fn sign(
        &self,
        payload: &Payload,
        instance: &str,
        bytes: &[u8],
    ) -> Result<(EnvelopeSignature, Fingerprint), SignError> {
        match self {
            Signer::InMemory(key, scheme) => Ok((
                key.sign(*scheme, payload.purpose(), instance, bytes),
                key.public().fingerprint(),
            )),
            Signer::SshKeygen(path) => {
                let (signature, key) = external::sign(path, payload.purpose(), instance, bytes)?;
                Ok((signature, key.fingerprint()))
            }
        }
    }
}

/// The key a person most likely means: one in hardware, else the plain one.
fn usual_key() -> Result<PathBuf, SignError> {
    let home = std::env::home_dir().unwrap_or_default().join(".ssh");
    ["id_ed25519_sk", "id_ed25519"]
        .into_iter()
        .map(|name| home.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| SignError::Usage("there is no ed25519 key in ~/.ssh; name one with -f KEY".to_owned()))
}

/// Asks on the terminal itself: standard input may be the payload.
fn confirmed() -> Result<bool, SignError> {
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty");
    let Ok(mut terminal) = opened else {
        return Err(SignError::Usage(
            "there is no terminal to ask on; read the payload by other means and pass --yes".to_owned(),
        ));
    };
    let mut answer = String::new();
    let asked = terminal
        .write_all(b"Type yes to sign: ")
        .and_then(|()| io::BufReader::new(&terminal).take(64).read_line(&mut answer));
    asked.map_err(|source| SignError::File {
        path: "/dev/tty".into(),
        source,
    })?;
    Ok(answer.trim_end_matches(['\r', '\n']) == "yes")
}

fn read_payload(path: &Path) -> Result<Vec<u8>, SignError> {
    let read = if path == Path::new("-") {
        files::bounded(io::stdin().lock(), DOCUMENT_BYTES_MAX)
    } else {
        files::read_bounded(path, DOCUMENT_BYTES_MAX)
    };
    read.map_err(|source| {
        if source.kind() == io::ErrorKind::FileTooLarge {
            return SignError::Payload(Refusal::new(Code::TooLarge, "", "a payload has at most 64 KiB"));
        }
        SignError::File {
            path: path.to_owned(),
            source,
        }
    })
}

fn read_envelope(path: &Path) -> Result<Envelope, SignError> {
    let bytes = files::read_bounded(path, DOCUMENT_BYTES_MAX).map_err(|source| SignError::File {
        path: path.to_owned(),
        source,
    })?;
    Envelope::parse(&bytes).map_err(|refusal| SignError::Envelope {
        path: path.to_owned(),
        refusal,
    })
}

fn put_out(how: &How, envelope: &Envelope, existing: files::Existing) -> Result<(), SignError> {
    let mut bytes = envelope.to_canonical();
    bytes.push(b'\n');
    match &how.out {
        Some(path) => {
            files::write(path, &bytes, 0o644, existing).map_err(|source| SignError::File {
                path: path.clone(),
                source,
            })?;
            talk(&format!(
                "Written to {}; hand it in with `lockgate approval submit`.",
                path.display()
            ));
            Ok(())
        }
        None => {
            let mut out = io::stdout().lock();
            out.write_all(&bytes)
                .and_then(|()| out.flush())
                .map_err(SignError::Output)
        }
    }
}

fn keygen(file: &Path, principal: &str) -> Result<(), SignError> {
    let key = ApproverKey::generate()?;
    let line = format!("{principal} {}", key.public().to_openssh());
    if let Err(error) = Approvers::parse(&line) {
        return Err(SignError::Usage(format!("--principal: {}", error.why)));
    }
    let public_file = file.with_added_extension("pub");
    let file_error = |path: &Path, source| SignError::File {
        path: path.to_owned(),
        source,
    };
    files::write(
        file,
        key.to_openssh(principal)?.as_bytes(),
        0o600,
        files::Existing::Keep,
    )
    .map_err(|error| file_error(file, error))?;
    let public = format!("{} {principal}\n", key.public().to_openssh());
    files::write(&public_file, public.as_bytes(), 0o644, files::Existing::Keep)
        .map_err(|error| file_error(&public_file, error))?;
    talk(&format!(
        "Key {} written to {}. The approvers line:",
        key.public().fingerprint(),
        file.display()
    ));
    writeln!(io::stdout().lock(), "{line}").map_err(SignError::Output)
}

#[cfg(test)]
#[path = "lockgate-sign/tests.rs"]
mod tests;
