//! `lockgate overview`: every role at a glance.
//!
//! Not here: the roles that answer (http/).

use super::Ctx;
use super::call::{QUICK, exit_of};
use super::table::{Table, cell, plain};
use super::ui::Ended;
use crate::config::Config;
use crate::exit::Exit;
use crate::http::client::ClientFault;
use crate::job::Role;
use serde_json::{Value, json};

/// Arguments: none.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Ends with 69 if a role does not answer; the others are shown all the same.\n\nExample:\n  lockgate overview --json"
)]
pub struct OverviewArgs {}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, _args: &OverviewArgs) -> Ended {
    let config = ctx.config()?;
    let (mut roles, mut exit) = (Vec::new(), Exit::Done);
    for role in Role::ALL {
        roles.push(match one(ctx, &config, role)? {
            Ok(value) => value,
            Err(fault) => {
                exit = exit_of(&fault);
                json!({"role": role.as_str(), "health": "unreachable", "error": fault.to_string()})
            }
        });
    }
    let frozen = config.layout.frozen.exists();
    let answer = json!({"instance": config.instance, "frozen_by_file": frozen, "roles": roles});
    ctx.ui.show(&answer, || text(&config, frozen, &roles))?;
    Ok(exit)
}

/// The role's own overview, with its health beside it.
fn one(ctx: &Ctx, config: &Config, role: Role) -> Result<Result<Value, ClientFault>, Exit> {
    let mut client = match role {
        Role::Gateway => ctx.gateway(config, QUICK)?,
        Role::Save | Role::Delete => ctx.admin(config, role, QUICK)?,
    };
    let health = match client.get_raw("/health") {
        Ok(reply) => serde_json::from_slice(&reply.body).unwrap_or(Value::Null),
        Err(fault) => return Ok(Err(fault)),
    };
    let word = match cell(&health, "reason") {
        reason if reason.is_empty() => cell(&health, "status"),
        reason => reason,
    };
    let mut value = match role {
        Role::Gateway => json!({"role": role.as_str()}),
        Role::Save | Role::Delete => match client.get("/v1/overview") {
            Ok(value) => value,
            Err(fault) => return Ok(Err(fault)),
        },
    };
    value["health"] = json!(word);
    Ok(Ok(value))
}

const STATES: [(&str, &str); 5] = [
    ("READY", "READY"),
    ("CLAIMED", "CLAIMED"),
    ("EXECUTING", "EXECUTING"),
    ("UNKNOWN", "OUTCOME_UNKNOWN"),
    ("SUCCEEDED", "SUCCEEDED"),
];

fn text(config: &Config, frozen: bool, roles: &[Value]) -> String {
    let mut names = vec!["ROLE", "HEALTH", "FLOW"];
    names.extend(STATES.map(|(shown, _)| shown));
    names.extend(["FAILED", "REJECTED", "AUDIT"]);
    let mut table = Table::new(&names);
    for role in roles {
        let count = |state: &str| match role.get("jobs") {
            Some(jobs) => jobs.get(state).map_or_else(|| "0".to_owned(), plain),
            None => String::new(),
        };
        let mut cells = vec![cell(role, "role"), cell(role, "health"), cell(role, "flow")];
        cells.extend(STATES.map(|(_, state)| count(state)));
        cells.extend([count("FAILED"), count("REJECTED"), cell(&role["audit"], "size")]);
        table.row(cells);
    }
    let mut out = format!("instance {}\n", config.instance);
    if frozen {
        out.push_str(&format!(
            "the host is frozen by {}\n",
            config.layout.frozen.display()
        ));
    }
    out.push('\n');
    out.push_str(&table.text());
    for role in roles {
        let name = cell(role, "role");
        for condition in role["conditions"].as_array().into_iter().flatten() {
            out.push_str(&format!(
                "{name}: {}: {}\n",
                cell(condition, "reason"),
                cell(condition, "text")
            ));
        }
        for (what, text) in [
            ("restored at", cell(role, "restored")),
            ("no answer:", cell(role, "error")),
        ] {
            if !text.is_empty() {
                out.push_str(&format!("{name}: {what} {text}\n"));
            }
        }
    }
    out
}
