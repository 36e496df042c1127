//! `lockgate recover`: writes the sealed copy of a deleted object to standard output. Nothing is put back into the vault.
//!
//! Not here: opening the copy (the delete role has the key).

use super::Ctx;
use super::call::{self, SLOW};
use super::parse;
use super::ui::Ended;
use crate::exit::Exit;
use crate::job::JobId;
use std::io::{IsTerminal, Write};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lockgate recover JOB --reason \"deleted by mistake\" > a.md")]
pub struct RecoverArgs {
    /// The DELETE job
    #[arg(value_parser = parse::job)]
    pub job: JobId,
    /// Why; it goes into the audit
    #[arg(long, value_parser = parse::reason)]
    pub reason: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &RecoverArgs) -> Ended {
    let config = ctx.config()?;
    let mut out = std::io::stdout().lock();
    if out.is_terminal() {
        ctx.ui.say(&format!(
            "the bytes go to standard output; send them to a file: lockgate recover {} > FILE",
            args.job
        ));
        return Err(Exit::Usage);
    }
    let (role, _) = ctx.find(&config, args.job, "")?;
    let mut client = ctx.admin(&config, role, SLOW)?;
    let target = format!("/v1/jobs/{}/recover", args.job);
    let bytes = client
        .download(&target, &call::reason(args.reason.as_deref()), &mut out)
        .map_err(|fault| ctx.fault(&fault))?;
    out.flush().map_err(|error| {
        ctx.ui.say(&format!("standard output cannot be written: {error}"));
        Exit::Failed
    })?;
    ctx.ui.say(&format!(
        "{bytes} bytes; the copy stays sealed in the role's recovery directory"
    ));
    Ok(Exit::Done)
}
