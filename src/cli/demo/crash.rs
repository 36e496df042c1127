//! The step in which a role is killed with SIGKILL between "executing" and "settled". In: the stage. Out: a job in OUTCOME_UNKNOWN.
//!
//! The program has no hook for that. A large object makes the delete take long enough: an operator's client watches the job, and the
//! moment it is EXECUTING the process is killed. If it was faster this time, the next object is tried.
//!
//! Not here: what a person does then (`story`).

use super::super::table::cell;
use super::stage::{Stage, Trouble, told, trouble};
use crate::http::client::ClientFault;
use crate::job::{JobKind, Role};
use serde_json::Value;

/// Bytes of the first large object, which is hashed twice while the job is EXECUTING, and of the largest.
const BYTES: (usize, usize) = (8 << 20, 64 << 20);
/// Objects tried before giving up; each is twice as large as the one before, up to the largest.
const TRIES: u32 = 20;

/// What was left.
pub(super) struct Stranded {
    pub(super) note: String,
    pub(super) job: String,
    /// The state in which the role was killed.
    pub(super) killed_in: String,
}

/// Kills the delete role in the middle of a delete and starts it again.
pub(super) fn strand(stage: &mut Stage) -> Result<Stranded, Trouble> {
    let mut bytes = BYTES.0;
    for attempt in 1..=TRIES {
        let note = format!("notes/large-{attempt}.md");
        let line = format!("A line of the large note {attempt}.\n");
        let content: Vec<u8> = line.bytes().cycle().take(bytes).collect();
        bytes = (bytes * 2).min(BYTES.1);
        stage.commit(&note, &content)?;
        let save = stage.draft(JobKind::Save, &note)?;
        let saved = stage.outcome(&save)?;
        if saved != "SUCCEEDED saved" {
            return Err(Trouble(format!("the large note was not saved: {saved}")));
        }
        let document = stage.draft(JobKind::Delete, &note)?;
        let payload = stage.approval(&stage.delete_job(&document)?)?;
        stage.sign(&payload)?;
        let job = stage.submit(&document)?;
        let seen = watch(stage, &job)?;
        if cell(&seen, "state") != "EXECUTING" {
            continue;
        }
        stage.family.kill(Role::Delete).map_err(trouble)?;
        stage.family.again(Role::Delete).map_err(trouble)?;
        stage.family.ready(20_000).map_err(trouble)?;
        let receipt = stage.settled(&job)?;
        if cell(&receipt, "state") == "OUTCOME_UNKNOWN" {
            return Ok(Stranded {
                note,
                job,
                killed_in: told(&seen),
            });
        }
    }
    Err(Trouble(format!(
        "the role was faster than the kill {TRIES} times"
    )))
}

/// Asks as fast as it can until the job is EXECUTING or past it.
fn watch(stage: &mut Stage, job: &str) -> Result<Value, Trouble> {
    let mut client = stage.operator(Role::Delete)?;
    let target = format!("/v1/jobs/{job}");
    loop {
        match client.get(&target) {
            Ok(answer) if matches!(answer["job"]["state"].as_str(), Some("READY" | "CLAIMED")) => {}
            Ok(mut answer) => return Ok(answer["job"].take()),
            Err(ClientFault::Refused { status: 404, .. }) => {}
            Err(fault) => return Err(trouble(fault)),
        }
    }
}
