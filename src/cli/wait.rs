//! Following what was handed in until nothing changes by itself any more. In: job_ids and digests. Out: receipts as they change, the
//! status that says how it ended.
//!
//! Not here: the stream (gateway/events).

use super::Ctx;
use super::call::QUICK;
use super::rest::pause_ms;
use super::show::receipt_text;
use super::status::submission_text;
use super::submit::Sent;
use super::table::{cell, code};
use super::ui::Ended;
use crate::config::Config;
use crate::exit::Exit;
use crate::http::client::{Client, ClientFault, Event};
use crate::job::{JobId, ReceiptState, Sha256, State};
use serde_json::Value;
use std::ops::ControlFlow;

/// Between two looks where nothing can tell us, ms.
const LOOK_MS: i64 = 200;
/// So many looks in a row without any gateway are enough: about a minute.
const AWAY_MAX: u32 = 300;

/// What it came to.
enum End {
    /// A receipt nothing changes any more.
    Settled(Value),
    /// The role refused the document.
    Refused(Value),
}

/// Follows every job; ends with the gravest.
pub(super) fn all(ctx: &Ctx, config: &Config, sent: &[Sent]) -> Ended {
    let mut worst = Exit::Done;
    for one in sent {
        let mut client = ctx.gateway(config, QUICK)?;
        let end = match one.job_id {
            Some(job) => follow(ctx, &mut client, job, one.digest)?,
            None => End::Refused(settled_submission(ctx, &mut client, one.digest, AWAY_MAX)?),
        };
        let exit = match &end {
            End::Settled(receipt) => {
                ctx.ui.show(receipt, || receipt_text(receipt))?;
                exit_of_state(receipt)
            }
            End::Refused(answer) => {
                ctx.ui.show(answer, || submission_text(answer))?;
                if answer["accepted"].as_bool() == Some(true) {
                    Exit::Done
                } else {
                    Exit::Refused
                }
            }
        };
        worst = graver(worst, exit);
    }
    Ok(worst)
}

/// OUTCOME_UNKNOWN before REJECTED and FAILED before a refusal.
fn graver(one: Exit, other: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::Refused => 1,
        Exit::NotDone => 2,
        Exit::Unknown => 3,
        Exit::Failed
        | Exit::Usage
        | Exit::Unavailable
        | Exit::TryAgain
        | Exit::Permission
        | Exit::Configuration => 4,
    };
    if rank(other) > rank(one) { other } else { one }
}

/// The status of contract 6 for a receipt.
pub(super) fn exit_of_state(receipt: &Value) -> Exit {
    match receipt["state"].as_str().and_then(ReceiptState::parse) {
        Some(ReceiptState::Admitted(State::Succeeded)) => Exit::Done,
        Some(ReceiptState::Admitted(State::Failed | State::Rejected)) => Exit::NotDone,
        Some(ReceiptState::Admitted(State::OutcomeUnknown)) => Exit::Unknown,
        Some(
            ReceiptState::Admitted(State::Ready | State::Claimed | State::Executing) | ReceiptState::Created,
        )
        | None => Exit::TryAgain,
    }
}

fn follow(ctx: &Ctx, client: &mut Client, job: JobId, digest: Sha256) -> Result<End, Exit> {
    let target = format!("/v1/jobs/{job}/events");
    let (mut shown, mut away) = (String::new(), 0u32);
    // Whose receipt the job_id shows: this document's, or that of another one under the same id.
    let mut is_ours = false;
    loop {
        let mut end = None;
        let streamed = client.events(&target, &mut |event: Event| {
            let Ok(value) = serde_json::from_str::<Value>(&event.data) else {
                return ControlFlow::Continue(());
            };
            if event.name == "refused" {
                end = Some(End::Refused(value));
                return ControlFlow::Break(());
            }
            away = 0;
            if !is_ours && value["digest"].as_str() != Some(digest.to_string().as_str()) {
                return ControlFlow::Break(());
            }
            let line = format!("{job} {} {}", cell(&value, "state"), code(&value));
            if line != shown {
                ctx.ui.say(line.trim_end());
                shown = line;
            }
            let state = value["state"].as_str().and_then(ReceiptState::parse);
            if state.is_some_and(ReceiptState::is_settled) {
                end = Some(End::Settled(value));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if let Some(end) = end {
            return Ok(end);
        }
        if !is_ours && let Some(answer) = submission(client, digest) {
            match answer["accepted"].as_bool() {
                Some(false) => return Ok(End::Refused(answer)),
                Some(true) => {
                    if let Some(first) = answer["subject"].as_str() {
                        ctx.ui.say(&format!(
                            "{job} is answered by job {first}: the same idempotency_key"
                        ));
                    }
                    is_ours = true;
                }
                None => {}
            }
        }
        match streamed {
            // The stream ended, or the role has not taken the file yet: it may have refused it.
            Ok(()) => {}
            Err(ClientFault::Refused { status: 404, .. }) => {}
            Err(ClientFault::Refused {
                status: 429 | 503, ..
            }) => {}
            Err(fault) if fault.is_unreachable() && away < AWAY_MAX => {
                if away == 0 {
                    ctx.ui
                        .say(&format!("it is queued, and cannot be followed now: {fault}"));
                }
                away += 1;
            }
            Err(fault) => {
                ctx.ui
                    .say(&format!("it is queued; look later with `lockgate status {job}`"));
                return Err(ctx.fault(&fault));
            }
        }
        pause_ms(LOOK_MS);
    }
}

fn submission(client: &mut Client, digest: Sha256) -> Option<Value> {
    client.get(&format!("/v1/submissions/{digest}")).ok()
}

/// What the role says about a document, once it says something; `looks` bounds the wait.
pub(super) fn settled_submission(
    ctx: &Ctx,
    client: &mut Client,
    digest: Sha256,
    looks: u32,
) -> Result<Value, Exit> {
    for _ in 0..looks {
        if let Some(answer) = submission(client, digest).filter(|answer| answer["accepted"].is_boolean()) {
            return Ok(answer);
        }
        pause_ms(LOOK_MS);
    }
    ctx.ui.say(&format!(
        "it is queued and not judged yet; look later with `lockgate status {digest}`"
    ));
    Err(Exit::Unavailable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_status_says_how_it_ended_and_the_gravest_counts() {
        let of = |state: &str| exit_of_state(&json!({ "state": state }));
        assert_eq!(of("SUCCEEDED"), Exit::Done);
        assert_eq!((of("REJECTED"), of("FAILED")), (Exit::NotDone, Exit::NotDone));
        assert_eq!(of("OUTCOME_UNKNOWN"), Exit::Unknown);
        assert_eq!(graver(Exit::Unknown, Exit::NotDone), Exit::Unknown);
        assert_eq!(graver(Exit::Done, Exit::NotDone), Exit::NotDone);
        assert_eq!(graver(Exit::Refused, Exit::Done), Exit::Refused);
    }
}
