//! The story of the demo, in the order in which it is told. In: the stage. Out: one line a step, an exit status.
//!
//! Not here: how each thing is done (`stage`), the kill (`crash`).

use super::super::Ctx;
use super::super::approval_draft::quoted;
use super::super::rest::pause_ms;
use super::super::table::cell;
use super::super::ui::{Ended, Format};
use super::crash::{self, Stranded};
use super::stage::{Stage, Trouble, told, trouble};
use crate::clock::{Clock, SystemClock};
use crate::exit::Exit;
use crate::http::client::{Client, ClientFault};
use crate::job::{JobKind, Role, Uuid4};
use crate::ledger::verify;
use serde_json::{Value, json};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Looks again this often where it is too early to resolve.
const PATIENCE: u32 = 100;

/// Plays it all.
pub(super) fn run(ctx: &Ctx, keep: bool) -> Ended {
    let clock = SystemClock::new(String::new());
    let began = clock.boot();
    let dir = std::env::temp_dir().join(format!("lockgate-demo-{}", Uuid4::random()));
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&dir)
        .map_err(|error| {
            ctx.ui.say(&format!("{}: cannot be made: {error}", dir.display()));
            Exit::Failed
        })?;
    let played = play(ctx, &dir);
    let exit = match &played {
        Ok((steps, 0)) => {
            let ms = clock.boot().0 - began.0;
            ctx.ui.say(&format!(
                "all {steps} steps as expected, in {}.{} s",
                ms / 1000,
                ms % 1000 / 100
            ));
            Exit::Done
        }
        Ok((steps, wrong)) => {
            ctx.ui
                .say(&format!("{wrong} of {steps} steps were NOT as expected"));
            Exit::Failed
        }
        Err(trouble) => {
            ctx.ui.say(&format!("the demo could not go on: {trouble}"));
            Exit::Failed
        }
    };
    if keep || exit != Exit::Done {
        ctx.ui.say(&format!(
            "everything is kept in {} (the roles' log: {0}/log)",
            dir.display()
        ));
    } else if let Err(error) = std::fs::remove_dir_all(&dir) {
        ctx.ui.say(&format!("{} is left behind: {error}", dir.display()));
    }
    if exit == Exit::Done && ctx.ui.format == Format::Text {
        ctx.ui.data(&by_hand())?;
    }
    Ok(exit)
}

fn play(ctx: &Ctx, dir: &Path) -> Result<(u32, u32), Trouble> {
    let mut stage = Stage::set(ctx.ui, dir)?;
    let pids: Vec<u32> = Role::ALL
        .into_iter()
        .filter_map(|role| stage.family.pid(role))
        .collect();
    let saw = format!("{} processes, all healthy", pids.len());
    stage.step("three roles, three processes", "3 processes, all healthy", &saw)?;
    saves(&mut stage)?;
    let spent = deletes(&mut stage)?;
    replay(&mut stage, &spent)?;
    let stranded = crash::strand(&mut stage)?;
    unknown(&mut stage, &stranded)?;
    audit(&mut stage)?;
    let killed = stage.family.stop(|| false);
    let saw = if killed.is_empty() {
        "stopped".to_owned()
    } else {
        format!("killed: {killed:?}")
    };
    stage.step("SIGTERM to every role", "stopped", &saw)?;
    Ok(stage.tally())
}

fn saves(stage: &mut Stage) -> Result<(), Trouble> {
    let note = "notes/hello.md";
    let document = stage.draft(JobKind::Save, note)?;
    let saw = stage.outcome(&document)?;
    stage.step("a SAVE job", "SUCCEEDED saved", &saw)?;
    let (expected, saw) = (stage.source_sha256(note)?, stage.vault_sha256(note));
    stage.step("the vault, byte for byte", &short(&expected), &short(&saw))?;

    let inode = |stage: &Stage| {
        std::fs::metadata(stage.in_vault(note)).map(|about| (about.ino(), about.mtime_nsec()))
    };
    let before = (stage.receipt(&cell(&document, "job_id"))?, inode(stage).ok());
    stage.submit(&document)?;
    stage.taken(Role::Save)?;
    let after = (stage.receipt(&cell(&document, "job_id"))?, inode(stage).ok());
    let saw = if before == after {
        "the same receipt, the same file"
    } else {
        "something changed"
    };
    stage.step("the same job again", "the same receipt, the same file", saw)?;

    std::fs::write(stage.in_vault(note), "A person wrote this into the vault.\n").map_err(trouble)?;
    let edited = stage.vault_sha256(note);
    stage.commit(note, b"# Hello\n\nA newer version in the source.\n")?;
    let newer = stage.draft(JobKind::Save, note)?;
    let saw = stage.outcome(&newer)?;
    stage.step("a SAVE over a person's edit", "REJECTED target_drift", &saw)?;
    let saw = if stage.vault_sha256(note) == edited {
        "untouched"
    } else {
        "overwritten"
    };
    stage.step("the person's edit", "untouched", saw)
}

/// Denied, denied, done; the last document, whose approval is spent now.
fn deletes(stage: &mut Stage) -> Result<Value, Trouble> {
    let (note, other) = ("notes/old.md", "notes/plan.md");
    for note in [note, other] {
        let document = stage.draft(JobKind::Save, note)?;
        stage.outcome(&document)?;
    }
    let document = stage.draft(JobKind::Delete, note)?;
    let saw = stage.outcome(&document)?;
    stage.step(
        "a DELETE job without an approval",
        "REJECTED delete_denied/approval_missing",
        &saw,
    )?;

    let document = stage.draft(JobKind::Delete, note)?;
    let mut payload = stage.approval(&stage.delete_job(&document)?)?;
    let of_other = stage.delete_job(&stage.draft(JobKind::Delete, other)?)?;
    payload.object_id = of_other.object_id.clone();
    payload.vault_path = of_other.vault_path.clone();
    payload.expected_provenance_hash = of_other.expected_provenance_hash;
    stage.sign(&payload)?;
    let saw = stage.outcome(&document)?;
    let expected = "REJECTED delete_denied/approval_mismatch:object_id";
    stage.step("with a signed approval for another object", expected, &saw)?;
    let saw = if stage.vault_sha256(note) == stage.source_sha256(note)? {
        "still there"
    } else {
        "gone"
    };
    stage.step("the note", "still there", saw)?;

    let document = stage.draft(JobKind::Delete, note)?;
    let payload = stage.approval(&stage.delete_job(&document)?)?;
    let saw = stage.sign(&payload)?;
    stage.step("an approval, signed with the approver's key", "accepted", &saw)?;
    let saw = stage.outcome(&document)?;
    stage.step("the DELETE job it is for", "SUCCEEDED deleted", &saw)?;
    let there = |stage: &Stage, note: &str| {
        if stage.in_vault(note).exists() {
            "there"
        } else {
            "gone"
        }
    };
    let saw = format!("it gone, the others {}", there(stage, other))
        .replace("it gone", &format!("it {}", there(stage, note)));
    stage.step("exactly that note", "it gone, the others there", &saw)?;
    Ok(document)
}

fn replay(stage: &mut Stage, spent: &Value) -> Result<(), Trouble> {
    let mut again = spent.clone();
    again["job_id"] = json!(Uuid4::random().to_string());
    again["idempotency_key"] = json!(Uuid4::random().to_string());
    let saw = stage.outcome(&again)?;
    stage.step(
        "the spent approval under a new job",
        "REJECTED delete_denied/approval_spent",
        &saw,
    )
}

fn unknown(stage: &mut Stage, stranded: &Stranded) -> Result<(), Trouble> {
    let Stranded { note, job, killed_in } = stranded;
    let receipt = stage.settled(job)?;
    let title = format!("the delete role, killed with SIGKILL in {killed_in}");
    let saw = told(&receipt);
    stage.judged(
        &title,
        "OUTCOME_UNKNOWN",
        &saw,
        saw.starts_with("OUTCOME_UNKNOWN"),
    )?;
    let mut operator = stage.operator(Role::Delete)?;
    let why = operator.get(&format!("/v1/jobs/{job}/why")).map_err(trouble)?;
    let advice = cell(&why, "action");
    let ok = cell(&why, "waits_for") == "person" && advice.starts_with("check first");
    let saw = format!("{}: {}", cell(&why, "waits_for"), cell(&why, "why"));
    stage.judged("why it waits", "a person, who checks first", &saw, ok)?;

    let next = stage.draft(JobKind::Delete, note)?;
    let payload = stage.approval(&stage.delete_job(&next)?)?;
    stage.sign(&payload)?;
    let next_id = stage.submit(&next)?;
    let fenced = stage.until("the next job on the path meets the fence", |_| {
        match operator.get(&format!("/v1/jobs/{next_id}/why")) {
            Ok(why) => Ok(Some(why).filter(|why| cell(why, "waits_for") != "turn")),
            Err(ClientFault::Refused { .. }) => Ok(None),
            Err(fault) => Err(trouble(fault)),
        }
    })?;
    let ok = cell(&fenced, "waits_for") == "fence" && cell(&fenced, "why").contains(job.as_str());
    let saw = format!("{}: {}", cell(&fenced, "waits_for"), cell(&fenced, "why"));
    stage.judged(
        "another DELETE on the path, approved",
        "fence, by that job",
        &saw,
        ok,
    )?;

    let probed = operator
        .post(&format!("/v1/jobs/{job}/probe"), &json!({"reason": "demo: look"}))
        .map_err(trouble)?;
    let evidence = cell(&probed, "evidence");
    let there = stage.in_vault(note).exists();
    let expected = if there { "not_applied" } else { "applied" };
    stage.step("probe: what is at the target now", expected, &evidence)?;
    let resolved = resolve(&mut operator, job, &evidence)?;
    let (expected, then) = if there {
        ("FAILED resolved_not_applied", "SUCCEEDED deleted")
    } else {
        ("SUCCEEDED resolved_applied", "REJECTED target_drift/absent")
    };
    let saw = told(&resolved);
    stage.judged(
        "a person resolves it by that evidence",
        expected,
        &saw,
        saw.starts_with(expected),
    )?;
    let receipt = stage.settled(&next_id)?;
    stage.step("the fence falls, the next DELETE goes on", then, &told(&receipt))
}

/// Until the target's deadline has passed, the role refuses: something may still be under way.
fn resolve(operator: &mut Client, job: &str, evidence: &str) -> Result<Value, Trouble> {
    let body = json!({"reason": REASON, "outcome": evidence});
    for _ in 0..PATIENCE {
        match operator.post(&format!("/v1/jobs/{job}/resolve"), &body) {
            Ok(resolved) => return Ok(resolved),
            Err(ClientFault::Refused { code, .. }) if code == "too_early" => pause_ms(100),
            Err(fault) => return Err(trouble(fault)),
        }
    }
    Err(Trouble("it stays too early to resolve".to_owned()))
}

/// Stands once in the audit; a letter of it is altered in the copy.
const REASON: &str = "demo: the vault was looked at, zebra";

fn audit(stage: &mut Stage) -> Result<(), Trouble> {
    for role in Role::EXECUTORS {
        let mut operator = stage.operator(role)?;
        let report = operator.get("/v1/audit/verify").map_err(trouble)?;
        let ok = report["ok"] == json!(true);
        let saw = format!(
            "{} rows, {} findings",
            cell(&report, "rows"),
            cell(&report, "found")
        );
        stage.judged(
            &format!("the audit chain of the role {role}"),
            "verified",
            &saw,
            ok,
        )?;
    }
    let mut operator = stage.operator(Role::Delete)?;
    let made = operator
        .post("/v1/backups", &json!({"reason": "demo"}))
        .map_err(trouble)?;
    let backup = stage
        .config
        .layout
        .state_dir(Role::Delete)
        .join("backups")
        .join(cell(&made, "name"));
    let mut bytes = std::fs::read(&backup).map_err(trouble)?;
    let letter = REASON.len() - 1;
    let found = bytes
        .windows(REASON.len())
        .position(|window| window == REASON.as_bytes());
    let at = found.ok_or_else(|| Trouble("the backup does not hold the audit".to_owned()))? + letter;
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1;
    }
    let copy = stage.dir.join("altered.db");
    std::fs::write(&copy, bytes).map_err(trouble)?;
    let report = verify::verify_file(&copy, None).map_err(trouble)?;
    let saw = report
        .findings
        .first()
        .cloned()
        .unwrap_or_else(|| "nothing found".to_owned());
    stage.judged("one byte altered in a copy", "found", &saw, report.found > 0)
}

fn short(hash: &str) -> String {
    hash.chars().take(16).collect()
}

fn by_hand() -> String {
    let exe = std::env::current_exe().map_or_else(
        |_| "lockgate".to_owned(),
        |exe| quoted(&exe.display().to_string()),
    );
    format!(
        "
The same by hand: start a playground in one shell,
  {exe} up --dir /tmp/play
and paste the commands it prints into another. It tells how to draft, submit, approve, look and verify.
"
    )
}
