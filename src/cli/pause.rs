//! `lockgate pause`: stops claiming; what is admitted waits.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::roles_args::RolesArgs;
use super::switch;
use super::ui::Ended;

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &RolesArgs) -> Ended {
    switch::each(ctx, &ctx.config()?, args, "pause")
}
