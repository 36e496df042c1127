//! `lockgate draft`: a complete document, made from a source that the caller can read. One line, so that several make a .jsonl.
//!
//! Not here: sending it (`submit`), reading the source (source/).

use super::Ctx;
use super::documents;
use super::parse;
use super::ui::Ended;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::daemon::settings;
use crate::exit::Exit;
use crate::job::{
    ApprovalId, CommitId, DeleteRequestId, IdempotencyKey, JobId, JobKind, MissionId, Uuid4, VaultPath,
    format_utc,
};
use crate::source::{LocalGit, SourceFault, SourceObject, describe};
use serde_json::{Value, json};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockgate draft save /app/vault/notes/a.md > job.json\n  lockgate draft save notes/a.md | lockgate submit --wait -\n  lockgate draft delete notes/a.md --commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 > job.json"
)]
pub struct DraftArgs {
    /// What the document asks for
    #[arg(value_parser = parse::kind())]
    pub kind: JobKind,
    /// The vault path, as in /app/vault/notes/a.md, or the object's path in the repository, as in notes/a.md
    pub path: String,
    /// The commit to take the object from [default: the tip of source.ref]
    #[arg(long, value_name = "COMMIT", value_parser = commit)]
    pub commit: Option<CommitId>,
    /// Correlates jobs of one mission [default: a fresh one]
    #[arg(long, value_name = "UUID", value_parser = mission)]
    pub mission_id: Option<MissionId>,
}

fn mission(text: &str) -> Result<MissionId, String> {
    MissionId::parse(text).ok_or_else(|| "not a version 4 UUID in lower case".to_owned())
}

fn commit(text: &str) -> Result<CommitId, String> {
    CommitId::parse(text).ok_or_else(|| {
        "not a full commit id (40 or 64 hex digits); `git rev-parse NAME` prints it".to_owned()
    })
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &DraftArgs) -> Ended {
    let config = ctx.config()?;
    let path = vault_path(ctx, &config, &args.path)?;
    let source = LocalGit::new(settings::source(&config));
    let object = describe(&source, path.relative(), args.commit.clone())
        .map_err(|fault| tell(ctx, args.kind, &fault))?;
    let mission = args.mission_id.unwrap_or_else(|| MissionId(Uuid4::random()));
    let document = document(args.kind, &path, &object, mission);
    let judged = documents::judge(&config, document.to_string().as_bytes());
    if let Err(refusal) = &judged.outcome {
        documents::tell_refusal(ctx, "the draft", refusal)?;
        return Err(Exit::Refused);
    }
    ctx.ui.data(&format!("{document}\n"))?;
    Ok(Exit::Done)
}

/// Both ways to name an object lead to its vault path.
fn vault_path(ctx: &Ctx, config: &Config, text: &str) -> Result<VaultPath, Exit> {
    let root = &config.vault.root;
    let full = if text.starts_with('/') {
        text.to_owned()
    } else {
        let below = text.strip_prefix(config.source.root.as_str()).unwrap_or(text);
        format!("{root}{below}")
    };
    VaultPath::parse(root, &full).map_err(|error| {
        ctx.ui.say(&format!(
            "{full}: {} ({}); vault paths begin with {root}",
            error.message,
            error.code.as_str()
        ));
        Exit::Refused
    })
}

fn tell(ctx: &Ctx, kind: JobKind, fault: &SourceFault) -> Exit {
    match fault.refusal(kind) {
        Some((code, _)) => {
            let remedy = super::call::remedy(code.as_str()).unwrap_or_default();
            ctx.ui.say(&format!("{fault} ({})\n  {remedy}", code.as_str()));
            Exit::Refused
        }
        None => {
            ctx.ui.say(&fault.to_string());
            Exit::Unavailable
        }
    }
}

/// The whole document, its members in the contract's order.
pub(super) fn document(kind: JobKind, path: &VaultPath, object: &SourceObject, mission: MissionId) -> Value {
    let id = || Uuid4::random();
    let created_at = format_utc(SystemClock::new(String::new()).wall());
    let commit = object.commit.as_str();
    match kind {
        JobKind::Save => json!({
            "job_version": 1,
            "job_id": JobId(id()).to_string(),
            "mission_id": mission.to_string(),
            "job_type": kind.as_str(),
            "object_id": object.object_id,
            "vault_path": path.as_str(),
            "source_commit": commit,
            "provenance_hash": object.provenance.to_string(),
            "expected_state": format!("sha256:{}", object.content_sha256),
            "created_at": created_at,
            "idempotency_key": IdempotencyKey(id()).to_string(),
        }),
        JobKind::Delete => json!({
            "job_version": 1,
            "job_id": JobId(id()).to_string(),
            "mission_id": mission.to_string(),
            "delete_request_id": DeleteRequestId(id()).to_string(),
            "job_type": kind.as_str(),
            "object_id": object.object_id,
            "vault_path": path.as_str(),
            "expected_commit": commit,
            "expected_provenance_hash": object.provenance.to_string(),
            "approval_id": ApprovalId(id()).to_string(),
            "created_at": created_at,
            "idempotency_key": IdempotencyKey(id()).to_string(),
        }),
    }
}
