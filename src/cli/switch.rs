//! What `pause`, `resume`, `freeze` and `unfreeze` share: one verb to each role that is meant. In: roles and a verb. Out: each role's
//! flow shown; roles that could not be told are named.
//!
//! Not here: the file `frozen` (freeze, unfreeze).

use super::Ctx;
use super::call::{QUICK, exit_of, reason};
use super::roles_args::RolesArgs;
use super::table::{Table, cell};
use super::ui::Ended;
use crate::config::Config;
use crate::exit::Exit;
use serde_json::{Value, json};

/// Posts `verb` to every role that is meant.
pub(super) fn each(ctx: &Ctx, config: &Config, args: &RolesArgs, verb: &str) -> Ended {
    let body = reason(args.reason.as_deref());
    let (mut told, mut exit) = (Vec::new(), Exit::Done);
    for role in args.roles() {
        let mut client = ctx.admin(config, role, QUICK)?;
        match client.post(&format!("/v1/{verb}"), &body) {
            Ok(answer) => told.push(answer),
            Err(fault) => {
                ctx.ui
                    .say(&format!("the role {role} was not told to {verb}: {fault}"));
                exit = exit_of(&fault);
            }
        }
    }
    let answer = json!({ "roles": told });
    ctx.ui.show(&answer, || text(&told))?;
    Ok(exit)
}

fn text(told: &[Value]) -> String {
    let mut table = Table::new(&["ROLE", "FLOW"]);
    for role in told {
        table.row(vec![cell(role, "role"), cell(role, "flow")]);
    }
    if told.is_empty() {
        String::new()
    } else {
        table.text()
    }
}
