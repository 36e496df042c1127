//! The one thing a job waits for, or why it ended as it did. In: a job and the role's conditions. Out: one word, one sentence, and
//! what a person can do. Says "check first", never "try again".
//!
//! Not here: doing it.

use super::render::time;
use crate::executor::Gear;
use crate::executor::conditions::Condition;
use crate::job::{Role, State};
use crate::ledger::control::{self, Flow};
use crate::ledger::jobs::JobRow;
use crate::sqlite::StorageFault;
use serde_json::{Value, json};

/// One answer.
#[derive(Debug)]
struct Why {
    waits_for: &'static str,
    text: String,
    action: String,
}

fn why(waits_for: &'static str, text: impl Into<String>, action: impl Into<String>) -> Why {
    Why {
        waits_for,
        text: text.into(),
        action: action.into(),
    }
}

/// Explains a job.
///
/// # Errors
/// The ledger does not answer.
pub fn explain(gear: &Gear, row: &JobRow) -> Result<Value, StorageFault> {
    let found = match State::parse(&row.state) {
        Some(State::Ready) => ready(gear, row)?,
        Some(State::Claimed) => held(gear, row, "it is being verified; nothing was sent"),
        Some(State::Executing) => held(gear, row, "its effect may be under way, or is being looked at"),
        Some(State::OutcomeUnknown) => unknown(row),
        Some(State::Succeeded | State::Failed | State::Rejected) | None => settled(row),
    };
    Ok(json!({
        "job_id": row.job_id,
        "state": row.state,
        "waits_for": found.waits_for,
        "why": found.text,
        "action": found.action,
        "code": row.code,
        "detail": row.detail,
    }))
}

fn ready(gear: &Gear, row: &JobRow) -> Result<Why, StorageFault> {
    match gear.ledger.read(control::flow)? {
        Flow::Frozen => {
            return Ok(why(
                "frozen",
                "the role is frozen",
                format!("lockgate unfreeze {} --reason …", gear.role),
            ));
        }
        Flow::Paused => {
            return Ok(why(
                "paused",
                "the role is paused",
                format!("lockgate resume {} --reason …", gear.role),
            ));
        }
        Flow::Running => {}
    }
    if gear.is_frozen_by_file() {
        let file = gear.frozen_file();
        return Ok(why(
            "frozen",
            format!("the host is frozen by {}", file.display()),
            "lockgate unfreeze --all --reason …",
        ));
    }
    match row.hold.as_deref() {
        Some("approval") => return waits_for_approval(gear, row),
        Some("fence") => return fenced(gear, row),
        Some("retry") => return Ok(retry(row)),
        Some(_) | None => {}
    }
    if let Some(holder) = gear
        .ledger
        .fence_holder(&row.vault_path)?
        .filter(|holder| holder.job_id != row.job_id)
    {
        return Ok(fence_of(&holder));
    }
    if let Some(condition) = gear.conditions.list().into_iter().next() {
        return Ok(role_waits(gear, condition));
    }
    if let Some(ms) = gear.conditions.claiming_waits() {
        return Ok(why(
            "target",
            format!("the target asked for time; claiming goes on in {} s", ms / 1000),
            "nothing to do",
        ));
    }
    Ok(why(
        "turn",
        "it waits for its turn; it is claimed in admission order",
        "nothing to do",
    ))
}

fn role_waits(gear: &Gear, condition: Condition) -> Why {
    let Condition { reason, text } = condition;
    let action = match reason {
        "target" => "make the vault reachable; claiming goes on by itself".to_owned(),
        "source" => "make the source reachable; claiming goes on by itself".to_owned(),
        "credential" => format!(
            "put the right credential in place and restart the role, or lockgate resume {}",
            gear.role
        ),
        "clock" => "set the clock right, or lockgate clock accept --reason …".to_owned(),
        "disk" => "make room; work goes on by itself".to_owned(),
        "dispatcher-stale" => "look at the role's log; restart it if it does not go on".to_owned(),
        _ => "look at the role's log; work goes on by itself when the cause is gone".to_owned(),
    };
    why(reason, text, action)
}

fn waits_for_approval(gear: &Gear, row: &JobRow) -> Result<Why, StorageFault> {
    let id = row.approval_id.clone().unwrap_or_default();
    let stored = gear.ledger.approval(&id)?;
    let until = time(row.admitted_ms.saturating_add(gear.terms.approval_wait_ms));
    let who = could_approve(gear, row);
    let action = format!("lockgate approval draft {}; who could sign: {who}", row.job_id);
    Ok(match stored {
        None => why(
            "approval",
            format!("no approval {id} is on file; it is denied at {until}"),
            action,
        ),
        Some((approval, _)) if approval.expires_ms <= gear.clock.wall().0 => why(
            "approval",
            format!("approval {id} has expired; it waits for another until {until}"),
            action,
        ),
        Some((_, signatures)) => why(
            "approval",
            format!(
                "approval {id} has {} signature(s), which is not the quorum yet; it is denied at {until}",
                signatures.len()
            ),
            action,
        ),
    })
}

/// The people whose signature would count for this path.
fn could_approve(gear: &Gear, row: &JobRow) -> String {
    let rules = gear.rules();
    let (Some(approvers), Ok(path)) = (
        gear.approvers.current(),
        crate::job::VaultPath::parse(&rules.vault_root, &row.vault_path),
    ) else {
        return "nobody: the approvers file cannot be read".to_owned();
    };
    let people: std::collections::BTreeSet<&str> = approvers
        .iter()
        .map(crate::approval::approvers::Approver::principal)
        .filter(|principal| gear.policy.may_sign(&path, principal, &approvers))
        .collect();
    if people.is_empty() {
        return "nobody: no [[delete.approval]] rule and approver fit this path".to_owned();
    }
    people.into_iter().collect::<Vec<_>>().join(", ")
}

fn fenced(gear: &Gear, row: &JobRow) -> Result<Why, StorageFault> {
    Ok(match gear.ledger.fence_holder(&row.vault_path)? {
        Some(holder) => fence_of(&holder),
        None => why(
            "turn",
            "the path has just become free; it is claimed next",
            "nothing to do",
        ),
    })
}

fn fence_of(holder: &JobRow) -> Why {
    let action = if holder.state == State::OutcomeUnknown.as_str() {
        format!(
            "check first: lockgate probe {0}, then lockgate resolve {0} --applied|--not-applied --reason …",
            holder.job_id
        )
    } else {
        format!("lockgate why {}", holder.job_id)
    };
    why(
        "fence",
        format!(
            "job {} ({}) holds the path {}",
            holder.job_id, holder.state, holder.vault_path
        ),
        action,
    )
}

fn retry(row: &JobRow) -> Why {
    let due = row.due_wall_ms.map(time).unwrap_or_default();
    let cause = match row.detail.as_deref() {
        Some("fence_other_role" | "fence_unresolved_other_role") => {
            return why(
                "fence",
                format!("the other role holds the path; looked at again at {due}"),
                "lockgate jobs of the other role, --state OUTCOME_UNKNOWN",
            );
        }
        Some("fence_unreadable") => "the fence between roles cannot be read",
        Some("source_damaged") => "its object is damaged at the source",
        Some("target_busy") => "the target asked for time",
        Some("not_applied") => "the last try did not take effect",
        _ => "the last try was given back",
    };
    why(
        "retry",
        format!("{cause}; attempt {} so far, the next at {due}", row.attempt),
        "nothing to do",
    )
}

fn held(gear: &Gear, row: &JobRow, what: &str) -> Why {
    let worker = row.lease_worker.clone().unwrap_or_default();
    let left = row.lease_until_ms.map_or(0, |until| until - gear.clock.boot().0);
    let lease = if left > 0 {
        format!("lease for another {} s", left / 1000)
    } else {
        "its lease is over but it still lives".to_owned()
    };
    why(
        "worker",
        format!("worker {worker} holds it ({lease}): {what}"),
        "nothing to do",
    )
}

fn unknown(row: &JobRow) -> Why {
    let not_started = row.detail.as_deref() == Some("not_started");
    let text = match (row.detail.as_deref(), Role::parse("delete")) {
        (Some("not_started"), _) => "its worker died after the claim; nothing was sent".to_owned(),
        (Some("worker_died"), _) => {
            "its worker died after the intent was durable; it may have been sent".to_owned()
        }
        (Some("spent_not_sent"), _) => {
            "its worker died between spending the approval and the durable intent".to_owned()
        }
        (detail, _) => format!(
            "what happened at the target is not known ({})",
            detail.unwrap_or("no detail")
        ),
    };
    let action = if not_started {
        format!(
            "check first: lockgate probe {0}; then lockgate requeue {0} --reason … or lockgate resolve {0} --not-applied --reason …",
            row.job_id
        )
    } else {
        format!(
            "check first: lockgate probe {0}; then lockgate resolve {0} --applied|--not-applied --reason …",
            row.job_id
        )
    };
    why(
        "person",
        format!(
            "{text}; its path {} is fenced until a person resolves it",
            row.vault_path
        ),
        action,
    )
}

fn settled(row: &JobRow) -> Why {
    let code = row.code.clone().unwrap_or_default();
    let detail = row
        .detail
        .as_ref()
        .map(|detail| format!("/{detail}"))
        .unwrap_or_default();
    let message = row
        .message
        .as_ref()
        .map(|message| format!(": {message}"))
        .unwrap_or_default();
    why(
        "nothing",
        format!("it is settled: {} {code}{detail}{message}", row.state),
        format!("lockgate explain {code}"),
    )
}
