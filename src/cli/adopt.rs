//! `lockgate adopt`: the vault's present bytes at a path, or their absence, become known to the save role's ledger, so that they are
//! no drift any more.
//!
//! Not here: looking at the vault (the role does).

use super::Ctx;
use super::call;
use super::parse;
use super::table::{cell, fields};
use super::ui::Ended;
use crate::exit::Exit;
use crate::job::Role;
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Check first what is there and who put it there: the next SAVE may replace it.\n\nExample:\n  lockgate adopt /app/vault/notes/a.md --reason \"the edit is committed to the source now\""
)]
pub struct AdoptArgs {
    /// The vault path, as in /app/vault/notes/a.md
    pub path: String,
    /// Why; it goes into the audit
    #[arg(long, value_parser = parse::reason)]
    pub reason: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &AdoptArgs) -> Ended {
    let config = ctx.config()?;
    let mut body = call::reason(args.reason.as_deref());
    body["path"] = json!(args.path);
    let answer = ctx.act(&config, Role::Save, "/v1/adopt", &body)?;
    ctx.ui.show(&answer, || {
        fields(&[
            ("path", cell(&answer, "vault_path")),
            ("adopted", cell(&answer, "adopted")),
        ])
    })?;
    Ok(Exit::Done)
}
