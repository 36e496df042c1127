//! `lockgate man [DIR]`: the manual pages of the program and of lockgate.toml.
//!
//! Not here: their text (the help texts of cli/, the key table of config/).

use super::ui::Ended;
use super::{Cli, Ctx};
use crate::config;
use crate::exit::Exit;
use clap::CommandFactory;
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  lockgate man | man -l -\n  lockgate man packaging/man")]
pub struct ManArgs {
    /// Writes every page into this directory; without it lockgate(1) goes to standard output
    #[arg(value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ManArgs) -> Ended {
    let written = match &args.out {
        Some(directory) => write_all(directory),
        None => {
            let mut page = Vec::new();
            let made = clap_mangen::Man::new(Cli::command()).render(&mut page);
            ctx.ui.bytes(&page)?;
            made
        }
    };
    match written {
        Ok(()) => Ok(Exit::Done),
        Err(error) => {
            ctx.ui.say(&format!("the pages cannot be written: {error}"));
            Err(Exit::Failed)
        }
    }
}

fn write_all(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Cli::command(), directory)?;
    std::fs::write(directory.join("lockgate.toml.5"), config::man_page())
}
