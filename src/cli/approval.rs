//! `lockgate approval`: drafts, submits and withdraws approvals.
//!
//! `submit` also puts what `ssh-keygen -Y sign` wrote into an envelope, so that an approver needs no other tool. Putting together is not
//! signing: no code of the daemon can sign.
//!
//! Not here: what a signature is worth (approval/).

use super::Ctx;
use super::approval_draft;
use super::call::QUICK;
use super::documents::{self, ONE_BYTES_MAX};
use super::status::submission_text;
use super::submit;
use super::ui::Ended;
use super::wait;
use crate::admission::Kind;
use crate::config::Config;
use crate::exit::Exit;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::path::{Path, PathBuf};

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum ApprovalVerb {
    /// Print the payload to sign and the exact commands that sign it
    #[command(
        after_help = "Each draft has a nonce of its own: sign the very file that is handed in.\n\nExamples:\n  lockgate approval draft JOB > payload.json\n  lockgate approval draft job.json --out payload.json"
    )]
    Draft {
        /// A job_id, or a file with the DELETE document
        #[arg(value_name = "JOB|FILE")]
        what: String,
        /// Write the payload to this file instead of standard output
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Hand a signed approval to the delete role
    #[command(
        after_help = "Examples:\n  lockgate approval submit envelope.json\n  lockgate approval submit --payload payload.json --signature payload.json.sig"
    )]
    Submit {
        /// The envelope, as `lockgate-sign` writes it; - is standard input
        #[arg(required_unless_present = "payload", conflicts_with = "payload")]
        envelope: Option<PathBuf>,
        /// The signed payload, with --signature instead of an envelope
        #[arg(long, value_name = "FILE", requires = "signature")]
        payload: Option<PathBuf>,
        /// What `ssh-keygen -Y sign` wrote for it; once for each signer
        #[arg(long, value_name = "FILE", requires = "payload")]
        signature: Vec<PathBuf>,
    },
    /// Take an approval back
    #[command(
        after_help = "Example:\n  lockgate-sign --instance ID --key KEY withdraw APPROVAL_ID > withdrawal.json\n  lockgate approval withdraw withdrawal.json"
    )]
    Withdraw {
        /// The envelope of the withdrawal; - is standard input
        envelope: PathBuf,
    },
}

/// Looks at what the role says, 0.2 s apart.
const LOOKS: u32 = 25;

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ApprovalVerb) -> Ended {
    let config = ctx.config()?;
    match args {
        ApprovalVerb::Draft { what, out } => approval_draft::run(ctx, &config, what, out.as_deref()),
        ApprovalVerb::Submit {
            envelope: Some(file), ..
        } => {
            let bytes = documents::read_bytes(ctx, file, ONE_BYTES_MAX)?;
            hand_in(ctx, &config, bytes, file, Kind::Approval)
        }
        ApprovalVerb::Submit {
            payload: Some(payload),
            signature,
            ..
        } => {
            let bytes = put_together(ctx, payload, signature)?;
            hand_in(ctx, &config, bytes, payload, Kind::Approval)
        }
        ApprovalVerb::Submit { .. } => Err(Exit::Usage),
        ApprovalVerb::Withdraw { envelope } => {
            let bytes = documents::read_bytes(ctx, envelope, ONE_BYTES_MAX)?;
            hand_in(ctx, &config, bytes, envelope, Kind::Withdrawal)
        }
    }
}

/// An envelope from the payload's very bytes and the signatures over them; judged like any other afterwards.
fn put_together(ctx: &Ctx, payload: &Path, signatures: &[PathBuf]) -> Result<Vec<u8>, Exit> {
    let payload = documents::read_bytes(ctx, payload, ONE_BYTES_MAX)?;
    let mut all = Vec::new();
    for file in signatures {
        let bytes = documents::read_bytes(ctx, file, ONE_BYTES_MAX)?;
        let armour = String::from_utf8(bytes).map_err(|_| {
            ctx.ui.say(&format!(
                "{}: not what `ssh-keygen -Y sign` writes",
                file.display()
            ));
            Exit::Refused
        })?;
        all.push(json!({"scheme": "sshsig", "signature": armour}));
    }
    let envelope = json!({"payload_b64": STANDARD.encode(payload), "signatures": all});
    Ok(envelope.to_string().into_bytes())
}

/// Drops it, and where a gateway runs says what the role thinks of it.
fn hand_in(ctx: &Ctx, config: &Config, bytes: Vec<u8>, file: &Path, wanted: Kind) -> Ended {
    let sent = submit::envelope(ctx, config, bytes, &file.display().to_string(), wanted)?;
    let digest = sent.digest;
    let mut client = ctx.gateway(config, QUICK)?;
    if client.get_raw("/health").is_err() {
        let answer = json!({"digest": digest.to_string(), "state": "CREATED"});
        ctx.ui.show(&answer, || format!("queued envelope {digest}\n"))?;
        ctx.ui
            .say("no gateway answers; the delete role judges it when it runs");
        return Ok(Exit::Done);
    }
    match wait::settled_submission(ctx, &mut client, digest, LOOKS) {
        Ok(answer) => {
            ctx.ui.show(&answer, || submission_text(&answer))?;
            let accepted = answer["accepted"].as_bool() == Some(true);
            if accepted {
                Ok(Exit::Done)
            } else {
                Err(Exit::Refused)
            }
        }
        // It is durable: that nobody has judged it yet is no failure of handing it in.
        Err(_) => {
            let answer = json!({"digest": digest.to_string(), "state": "CREATED"});
            ctx.ui.show(&answer, || format!("queued envelope {digest}\n"))?;
            Ok(Exit::Done)
        }
    }
}
