//! `lockgate freeze`: stops admitting and claiming. With --all it is the kill switch: first the file `frozen`, which every role
//! looks at by itself, then each running role is told, and those that could not be told are named.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::call::NO_REASON;
use super::roles_args::RolesArgs;
use super::switch;
use super::ui::{Ended, exit_of_io};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::daemon::hygiene;
use crate::durable;
use crate::exit::Exit;
use crate::job::format_utc;

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &RolesArgs) -> Ended {
    let config = ctx.config()?;
    if !args.all {
        return switch::each(ctx, &config, args, "freeze");
    }
    let written = write(ctx, &config, args.reason.as_deref());
    let told = switch::each(ctx, &config, args, "freeze")?;
    written.map(|()| told)
}

/// The roles are told even if the file cannot be written.
fn write(ctx: &Ctx, config: &Config, reason: Option<&str>) -> Result<(), Exit> {
    let path = &config.layout.frozen;
    let at = format_utc(SystemClock::new(String::new()).wall());
    let text = format!("{at} uid {}: {}\n", hygiene::uid(), reason.unwrap_or(NO_REASON));
    // 0644: every role must be able to see it.
    match durable::write_file_atomically(path, text.as_bytes(), 0o644) {
        Ok(()) => {
            ctx.ui.say(&format!(
                "{} is written: no role sends anything while it is there",
                path.display()
            ));
            Ok(())
        }
        Err(error) => {
            ctx.ui.say(&format!(
                "{} cannot be written: {error}; a role that is not running now will not be frozen when it starts. Run it again as root",
                path.display()
            ));
            Err(exit_of_io(&error))
        }
    }
}
