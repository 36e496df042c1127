//! `lockgate completions SHELL`: a completion script on standard output.
//!
//! Not here: installing it.

use super::ui::Ended;
use super::{Cli, Ctx};
use crate::exit::Exit;
use clap::CommandFactory;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lockgate completions bash > /etc/bash_completion.d/lockgate")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &CompletionsArgs) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lockgate", &mut script);
    ctx.ui.bytes(&script)?;
    Ok(Exit::Done)
}
