//! Talking to the sockets of an installation. In: a role or the gateway, a target. Out: JSON, or the status to end with after the
//! fault was told.
//!
//! Not here: HTTP (http/), what an answer means (each verb).

use super::Ctx;
use super::table::cell;
use super::ui::Format;
use crate::config::Config;
use crate::exit::Exit;
use crate::http::Media;
use crate::http::client::{Client, ClientFault};
use crate::job::{JobId, Role, explain};
use serde_json::{Value, json};
use std::time::Duration;

/// A little longer than the role itself allows for a view or a verb.
pub(super) const QUICK: Duration = Duration::from_secs(20);
/// The same where whole files are read or written.
pub(super) const SLOW: Duration = Duration::from_secs(1810);
/// For verbs that must carry a reason where the caller gave none.
pub(super) const NO_REASON: &str = "no reason given";

/// The body of a verb.
pub(super) fn reason(text: Option<&str>) -> Value {
    json!({ "reason": text.unwrap_or(NO_REASON) })
}

impl Ctx {
    /// A client of a role's admin socket.
    pub(super) fn admin(&self, config: &Config, role: Role, deadline: Duration) -> Result<Client, Exit> {
        let socket = config.layout.admin_socket(role);
        Client::new(&socket, deadline).map_err(|fault| self.fault(&fault))
    }

    /// A client of the gateway's socket.
    pub(super) fn gateway(&self, config: &Config, deadline: Duration) -> Result<Client, Exit> {
        Client::new(&config.layout.gateway_socket(), deadline).map_err(|fault| self.fault(&fault))
    }

    /// Tells a fault, what to do about it, and gives the status to end with.
    pub(super) fn fault(&self, fault: &ClientFault) -> Exit {
        let exit = exit_of(fault);
        let mut text = fault.to_string();
        if let Some(cause) = std::error::Error::source(fault) {
            text.push_str(&format!(": {cause}"));
        }
        if let ClientFault::Refused {
            code,
            pointer,
            retry_after_s,
            ..
        } = fault
        {
            if !pointer.is_empty() {
                text.push_str(&format!(" at {pointer}"));
            }
            if let Some(remedy) = remedy(code) {
                text.push_str(&format!("\n  {remedy}"));
            }
            if let Some(seconds) = retry_after_s {
                text.push_str(&format!("\n  not before {seconds} s have passed"));
            }
        }
        if self.ui.format == Format::Json
            && let ClientFault::Refused {
                code,
                message,
                pointer,
                ..
            } = fault
        {
            let error = json!({"error": {"code": code, "message": message, "pointer": pointer}});
            if let Err(exit) = self.ui.data(&format!("{error}\n")) {
                return exit;
            }
        }
        self.ui.say(&text);
        exit
    }

    /// GET from one role.
    pub(super) fn view(&self, config: &Config, role: Role, target: &str) -> Result<Value, Exit> {
        let mut client = self.admin(config, role, QUICK)?;
        client.get(target).map_err(|fault| self.fault(&fault))
    }

    /// POST to one role.
    pub(super) fn act(&self, config: &Config, role: Role, target: &str, body: &Value) -> Result<Value, Exit> {
        let mut client = self.admin(config, role, SLOW)?;
        client.post(target, body).map_err(|fault| self.fault(&fault))
    }

    /// The role that has the job and what it says under `/v1/jobs/JOB` + `suffix`.
    pub(super) fn find(&self, config: &Config, job: JobId, suffix: &str) -> Result<(Role, Value), Exit> {
        let mut silent = None;
        for role in Role::EXECUTORS {
            let mut client = self.admin(config, role, QUICK)?;
            match client.get(&format!("/v1/jobs/{job}{suffix}")) {
                Ok(value) => return Ok((role, value)),
                Err(ClientFault::Refused { status: 404, .. }) => {}
                Err(fault) if fault.is_unreachable() => {
                    self.ui.say(&format!("the role {role} does not answer: {fault}"));
                    silent = Some(exit_of(&fault));
                }
                Err(fault) => return Err(self.fault(&fault)),
            }
        }
        if let Some(exit) = silent {
            self.ui.say(&format!(
                "the job {job} is in no role that answers; it may be in one that does not"
            ));
            return Err(exit);
        }
        self.ui.say(&format!(
            "no role has a job {job}; if it was just submitted, its file may still wait in the spool"
        ));
        Err(Exit::Failed)
    }
}

/// POST without a body: the JSON of a 2xx answer.
pub(super) fn post_nothing(client: &mut Client, target: &str) -> Result<Value, ClientFault> {
    let reply = client.post_raw(target, Media::Json, Vec::new())?;
    let value: Value = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
    if (200..300).contains(&reply.status) {
        return Ok(value);
    }
    let error = &value["error"];
    Err(ClientFault::Refused {
        status: reply.status,
        code: cell(error, "code"),
        message: cell(error, "message"),
        pointer: cell(error, "pointer"),
        retry_after_s: reply.retry_after_s,
    })
}

/// The status of contract 6 for a fault.
pub(super) fn exit_of(fault: &ClientFault) -> Exit {
    if matches!(fault, ClientFault::Refused { code, .. } if code == "too_early") {
        return Exit::TryAgain;
    }
    let code = fault.exit_status();
    Exit::ALL
        .into_iter()
        .find(|exit| exit.code() == code)
        .unwrap_or(Exit::Failed)
}

/// What the page of a word says to do.
pub(super) fn remedy(word: &str) -> Option<String> {
    let page = explain::page(word)?;
    let (_, remedy) = page.split_once("  To do   ")?;
    Some(remedy.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_code_brings_what_to_do() {
        for code in [
            "malformed_json",
            "unknown_field",
            "path_outside_root",
            "idempotency_conflict",
        ] {
            assert!(remedy(code).is_some_and(|text| !text.is_empty()), "{code}");
        }
        assert_eq!(remedy("no_such_word"), None);
    }

    #[test]
    fn faults_end_with_the_status_of_the_contract() {
        let refused = |status: u16, code: &str| ClientFault::Refused {
            status,
            code: code.to_owned(),
            message: String::new(),
            pointer: String::new(),
            retry_after_s: None,
        };
        assert_eq!(exit_of(&refused(422, "bad_uuid")), Exit::Refused);
        assert_eq!(exit_of(&refused(503, "frozen")), Exit::TryAgain);
        assert_eq!(exit_of(&refused(403, "not_allowed")), Exit::Permission);
        assert_eq!(exit_of(&refused(409, "too_early")), Exit::TryAgain);
        assert_eq!(exit_of(&refused(409, "wrong_state")), Exit::Failed);
        let missing = ClientFault::Missing { path: "/x".into() };
        assert_eq!(exit_of(&missing), Exit::Unavailable);
    }
}
