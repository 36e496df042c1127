//! `lockgate approval draft`: the payload that approves one DELETE, and the commands that sign and submit it. In: a job_id, which the
//! delete role drafts for, or a file with the document. Out: exactly the bytes to sign, without a line end.
//!
//! Not here: signing.

use super::Ctx;
use super::call::QUICK;
use super::documents::{self, ONE_BYTES_MAX};
use super::ui::{Ended, Format};
use crate::approval::Purpose;
use crate::approval::draft::{DRAFT_LASTS_MS, draft};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Installation};
use crate::daemon::settings;
use crate::durable;
use crate::exit::Exit;
use crate::job::{Job, JobId};
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;

/// Runs the verb.
pub(super) fn run(ctx: &Ctx, config: &Config, what: &str, out: Option<&Path>) -> Ended {
    let payload = match JobId::parse(what) {
        Some(job) => of_role(ctx, config, job)?,
        None => of_file(ctx, config, Path::new(what))?,
    };
    let name = out.unwrap_or(Path::new("payload.json"));
    let commands = commands(ctx, config, name);
    if let Some(path) = out {
        durable::write_file_atomically(path, payload.as_bytes(), 0o644).map_err(|error| {
            ctx.ui
                .say(&format!("{}: cannot be written: {error}", path.display()));
            Exit::Failed
        })?;
    }
    match (ctx.ui.format, out) {
        (Format::Json, _) => {
            let namespace = Purpose::Approval.namespace(&config.instance);
            let answer = json!({"instance": config.instance, "namespace": namespace, "payload": payload, "commands": commands});
            ctx.ui.data(&format!("{answer}\n"))?;
            return Ok(Exit::Done);
        }
        // No line end: it would not be part of what is signed.
        (Format::Text, None) => ctx.ui.data(&payload)?,
        (Format::Text, Some(_)) => {}
    }
    if out.is_none() && std::io::stdout().is_terminal() {
        ctx.ui.say(&format!(
            "\n\nThis draft was only shown. To sign one, write it to a file: add --out {}",
            name.display()
        ));
    }
    ctx.ui.say(&format!(
        "On the approver's machine, with {} beside it, either (KEY is the approver's key file):\n  {}\nor\n  {}\nThen here, after the first:\n  {}\nor after the second:\n  {}",
        name.display(),
        commands[0],
        commands[1],
        commands[2],
        commands[3],
    ));
    Ok(Exit::Done)
}

fn of_role(ctx: &Ctx, config: &Config, job: JobId) -> Result<String, Exit> {
    let mut gateway = ctx.gateway(config, QUICK)?;
    let answer = gateway
        .get(&format!("/v1/jobs/{job}/approval-draft"))
        .map_err(|fault| ctx.fault(&fault))?;
    answer["payload"].as_str().map(str::to_owned).ok_or_else(|| {
        ctx.ui
            .say("the answer holds no payload: this lockgate and the running role are of different versions");
        Exit::Failed
    })
}

fn of_file(ctx: &Ctx, config: &Config, file: &Path) -> Result<String, Exit> {
    let bytes = documents::read_bytes(ctx, file, ONE_BYTES_MAX)?;
    let judged = documents::judge(config, &bytes);
    if let Err(refusal) = &judged.outcome {
        documents::tell_refusal(ctx, &file.display().to_string(), refusal)?;
        return Err(Exit::Refused);
    }
    let Some(Job::Delete(job)) = judged.job.as_ref().map(|admitted| admitted.job()) else {
        ctx.ui.say(&format!(
            "{}: no DELETE document; nothing else needs an approval",
            file.display()
        ));
        return Err(Exit::Refused);
    };
    let longest = settings::policy(config)
        .ok()
        .and_then(|policy| policy.longest_ms(&job.vault_path));
    let lasts = longest.map_or(DRAFT_LASTS_MS, |longest| longest.min(DRAFT_LASTS_MS));
    let payload = draft(job, SystemClock::new(String::new()).wall(), lasts);
    payload
        .and_then(|payload| String::from_utf8(payload.to_canonical()).ok())
        .ok_or_else(|| {
            ctx.ui.say(
                "no draft: the clock is outside the years 1970 to 9999, or the kernel gives no random bytes",
            );
            Exit::Failed
        })
}

/// Sign with lockgate-sign; sign with ssh-keygen; submit the envelope; submit payload and signature.
fn commands(ctx: &Ctx, config: &Config, payload: &Path) -> [String; 4] {
    let instance = &config.instance;
    let file = quoted(&payload.display().to_string());
    let lockgate = match &ctx.installation {
        Installation::Dir(dir) => format!("lockgate --dir {}", quoted(&dir.display().to_string())),
        installation if *installation == Installation::default() => "lockgate".to_owned(),
        Installation::File(main) => format!("lockgate --config {}", quoted(&main.display().to_string())),
    };
    let namespace = Purpose::Approval.namespace(instance);
    [
        format!("lockgate-sign --instance {instance} --ssh-keygen -f KEY {file} > envelope.json"),
        format!("ssh-keygen -Y sign -f KEY -n {namespace} {file}"),
        format!("{lockgate} approval submit envelope.json"),
        format!("{lockgate} approval submit --payload {file} --signature {file}.sig"),
    ]
}

/// A word a shell takes as it is.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (text, word) in [
            ("/a/b-c.d", "/a/b-c.d"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(quoted(text), word);
        }
    }
}
