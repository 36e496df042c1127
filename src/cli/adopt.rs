//! `lockgate adopt`: the vault's present bytes at a path, or their absence, become known to the ledger.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::parse;
use super::ui::Ended;

/// Arguments.
#[derive(Debug, clap::Args)]
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
    let _ = args;
    ctx.not_built("adopt")
}
