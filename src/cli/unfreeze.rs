//! `lockgate unfreeze`: admits and claims again. With --all the file `frozen` is removed first.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::roles_args::RolesArgs;
use super::switch;
use super::ui::{Ended, exit_of_io};
use crate::durable;
use crate::exit::Exit;
use std::io::ErrorKind;
use std::path::Path;

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &RolesArgs) -> Ended {
    let config = ctx.config()?;
    let path = &config.layout.frozen;
    if args.all {
        remove(ctx, path)?;
    }
    let ended = switch::each(ctx, &config, args, "unfreeze")?;
    if path.exists() {
        ctx.ui.say(&format!(
            "the host stays frozen by {}; `lockgate unfreeze --all` removes it",
            path.display()
        ));
    }
    Ok(ended)
}

fn remove(ctx: &Ctx, path: &Path) -> Result<(), Exit> {
    let removed = std::fs::remove_file(path)
        .and_then(|()| durable::sync_dir(path.parent().unwrap_or_else(|| Path::new("."))));
    match removed {
        Ok(()) => {
            ctx.ui.say(&format!("{} is removed", path.display()));
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => {
            ctx.ui.say(&format!(
                "{} cannot be removed: {error}; every role stays frozen",
                path.display()
            ));
            Err(exit_of_io(&error))
        }
    }
}
