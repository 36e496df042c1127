//! `lockgate draft`: a complete document, made from a source that the caller can read.
//!
//! Not here: sending it (`submit`).

use super::Ctx;
use super::parse;
use super::ui::Ended;
use crate::job::{JobKind, MissionId};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct DraftArgs {
    /// What the document asks for
    #[arg(value_parser = parse::kind())]
    pub kind: JobKind,
    /// The vault path, as in /app/vault/notes/a.md
    pub path: String,
    /// The commit to take the object from [default: the tip of source.ref]
    #[arg(long, value_name = "COMMIT")]
    pub commit: Option<String>,
    /// Correlates jobs of one mission [default: a fresh one]
    #[arg(long, value_name = "UUID", value_parser = mission)]
    pub mission_id: Option<MissionId>,
}

fn mission(text: &str) -> Result<MissionId, String> {
    MissionId::parse(text).ok_or_else(|| "not a version 4 UUID in lower case".to_owned())
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &DraftArgs) -> Ended {
    let _ = args;
    ctx.not_built("draft")
}
