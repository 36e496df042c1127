//! The arguments of verbs that take one job or all that fit. In: words. Out: a target, or each role's answer shown.
//!
//! Not here: what the verbs do, looking at the evidence (the roles do).

use super::Ctx;
use super::call::SLOW;
use super::parse;
use super::table::{Table, cell, code};
use super::ui::Ended;
use crate::config::Config;
use crate::exit::Exit;
use crate::http::client::ClientFault;
use crate::job::{JobId, Role};
use serde_json::{Value, json};

/// Which jobs.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["job", "all"])))]
pub struct WhichJobs {
    /// The job
    #[arg(value_parser = parse::job)]
    pub job: Option<JobId>,
    /// Every job in OUTCOME_UNKNOWN that the verb fits
    #[arg(long)]
    pub all: bool,
    /// With --all: only jobs of this role [default: every role]
    #[arg(long, value_name = "ROLE", requires = "all", value_parser = parse::executor())]
    pub role: Option<Role>,
}

/// The words for what was found at the target, as on the command line and as the socket takes them.
pub const EVIDENCE: [(&str, &str); 6] = [
    ("applied", "applied"),
    ("not-applied", "not_applied"),
    ("not-sent", "not_sent"),
    ("not-started", "not_started"),
    ("other-bytes", "other_bytes"),
    ("unreachable", "unreachable"),
];

/// The socket's word.
pub(super) fn evidence_word(word: &str) -> &'static str {
    EVIDENCE
        .iter()
        .find(|(shown, _)| *shown == word)
        .map_or("unknown", |(_, sent)| *sent)
}

/// Posts `verb` for every job with the evidence, in every role that is meant, and shows what was done.
pub(super) fn all(
    ctx: &Ctx,
    config: &Config,
    which: &WhichJobs,
    verb: &str,
    body: &Value,
    evidence: Option<&str>,
) -> Ended {
    let roles = which
        .role
        .map_or_else(|| Role::EXECUTORS.to_vec(), |role| vec![role]);
    let mut body = body.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.insert("all".to_owned(), json!(true));
        if let Some(word) = evidence {
            fields.insert("if_evidence".to_owned(), json!(evidence_word(word)));
        }
    }
    let (mut answers, mut exit) = (Vec::new(), Exit::Done);
    for role in roles {
        let mut client = ctx.admin(config, role, SLOW)?;
        match client.post(&format!("/v1/jobs/{verb}"), &body) {
            Ok(answer) => answers.push((role, answer)),
            Err(fault @ ClientFault::Refused { .. }) => return Err(ctx.fault(&fault)),
            Err(fault) => {
                ctx.ui.say(&format!(
                    "the role {role} did not answer; look at its jobs first: {fault}"
                ));
                exit = super::call::exit_of(&fault);
            }
        }
    }
    let listed: serde_json::Map<String, Value> = answers
        .iter()
        .map(|(role, answer)| (role.to_string(), answer.clone()))
        .collect();
    ctx.ui.show(&Value::Object(listed), || text(&answers))?;
    if exit == Exit::Done && is_nothing(&answers) {
        ctx.ui.say("there is no job in OUTCOME_UNKNOWN");
    }
    if answers.iter().any(|(_, answer)| answer["more"] == json!(true)) {
        ctx.ui.say("there are more than one round takes: look at `lockgate jobs ROLE --state OUTCOME_UNKNOWN`, then once more");
    }
    Ok(exit)
}

fn text(answers: &[(Role, Value)]) -> String {
    let mut table = Table::new(&["ROLE", "JOB", "DONE", "STATE OR EVIDENCE"]);
    for (role, answer) in answers {
        for one in answer["done"].as_array().into_iter().flatten() {
            let found = match cell(one, "evidence") {
                word if word.is_empty() => format!("{} {}", cell(one, "state"), code(one)),
                word => word,
            };
            table.row(vec![
                role.to_string(),
                cell(one, "job_id"),
                "yes".to_owned(),
                found,
            ]);
        }
        for one in answer["skipped"].as_array().into_iter().flatten() {
            let why = match cell(one, "error") {
                error if error.is_empty() => format!("left alone: {}", cell(one, "evidence")),
                error => error,
            };
            table.row(vec![role.to_string(), cell(one, "job_id"), "no".to_owned(), why]);
        }
    }
    if is_nothing(answers) {
        String::new()
    } else {
        table.text()
    }
}

fn is_nothing(answers: &[(Role, Value)]) -> bool {
    answers
        .iter()
        .all(|(_, answer)| answer["done"] == json!([]) && answer["skipped"] == json!([]))
}
