//! `lockgate freeze`: stops claiming and admitting; with --all also by the file `frozen`.
//!
//! Not here: the role that answers (http/).

use super::Ctx;
use super::roles_args::RolesArgs;
use super::ui::Ended;

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &RolesArgs) -> Ended {
    let _ = args;
    ctx.not_built("freeze")
}
