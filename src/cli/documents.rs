//! Documents that a caller hands in. In: a file or standard input. Out: bounded documents, judged as the roles will judge them; files in
//! the drop directories.
//!
//! Not here: the judgement (admission/), the drop protocol (gateway/drop).

use super::Ctx;
use super::call::remedy;
use super::ui::Format;
use crate::admission::{GatewayFacts, Judged, judge_at_gateway};
use crate::config::Config;
use crate::daemon::{hygiene, settings};
use crate::exit::Exit;
use crate::gateway::drop::{DropFault, Place, drop_document, fresh_name};
use crate::intake::Form;
use crate::job::{DOCUMENT_BYTES_MAX, JobKind, Refusal, Role, VaultPath};
use serde_json::json;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Bytes of one file with lines (design 2).
const LINES_BYTES_MAX: usize = 1 << 20;
/// Documents in one file.
const LINES_MAX: usize = 1000;

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Documents {
    pub(super) form: Form,
    /// With the number of its line, from 1.
    pub(super) all: Vec<(usize, Vec<u8>)>,
}

/// Everything in FILE, or in standard input for `-`.
pub(super) fn read_bytes(ctx: &Ctx, file: &Path, bytes_max: usize) -> Result<Vec<u8>, Exit> {
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    if let Err(error) = read {
        ctx.ui
            .say(&format!("{}: cannot be read: {error}", file.display()));
        return Err(Exit::Failed);
    }
    if bytes.len() > bytes_max {
        ctx.ui.say(&format!(
            "{}: has more than {bytes_max} bytes (too_large); nothing was handed in",
            file.display()
        ));
        return Err(Exit::Refused);
    }
    Ok(bytes)
}

impl Documents {
    /// By the name's ending; without one, whatever the first line is.
    pub(super) fn read(ctx: &Ctx, file: &Path) -> Result<Documents, Exit> {
        let bytes = read_bytes(ctx, file, LINES_BYTES_MAX)?;
        let found = match file.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Documents::one(bytes),
            Some("jsonl") => Documents::lines(&bytes),
            Some(_) | None => Documents::guessed(bytes),
        };
        if found.all.len() > LINES_MAX {
            ctx.ui.say(&format!(
                "{}: has {} documents; at most {LINES_MAX} go into one file: split it",
                file.display(),
                found.all.len()
            ));
            return Err(Exit::Refused);
        }
        if found.all.is_empty() {
            ctx.ui.say(&format!("{}: holds no document", file.display()));
            return Err(Exit::Refused);
        }
        Ok(found)
    }

    fn one(bytes: Vec<u8>) -> Documents {
        Documents {
            form: Form::One,
            all: vec![(1, bytes)],
        }
    }

    fn lines(bytes: &[u8]) -> Documents {
        let all = bytes
            .split(|byte| *byte == b'\n')
            .enumerate()
            .filter(|(_, line)| !line.trim_ascii().is_empty())
            .map(|(at, line)| (at + 1, line.to_vec()))
            .collect();
        Documents {
            form: Form::Lines,
            all,
        }
    }

    /// Several lines of which the first is a whole JSON object are lines; everything else is one document.
    fn guessed(bytes: Vec<u8>) -> Documents {
        let lines = Documents::lines(&bytes);
        let first_is_whole = lines.all.first().is_some_and(|(_, line)| {
            serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).is_ok()
        });
        if lines.all.len() > 1 && first_is_whole {
            lines
        } else {
            Documents::one(bytes)
        }
    }
}

/// The judgement of the gateway, of this user's own requests.
pub(super) fn judge(config: &Config, bytes: &[u8]) -> Judged {
    let rules = settings::rules(config);
    let may_ask =
        |uid: u32, kind: JobKind, path: &VaultPath| config.requesters.allows(uid, kind, path.as_str());
    let facts = GatewayFacts {
        rules: &rules,
        may_ask: &may_ask,
        uid: hygiene::uid(),
    };
    judge_at_gateway(bytes, &facts)
}

/// Tells a refusal with its field and what to do.
pub(super) fn tell_refusal(ctx: &Ctx, place: &str, refusal: &Refusal) -> Result<(), Exit> {
    let code = refusal.code.as_str();
    if ctx.ui.format == Format::Json {
        let error = json!({"error": {"code": code, "message": refusal.message, "pointer": refusal.pointer}, "at": place});
        ctx.ui.data(&format!("{error}\n"))?;
    }
    let field = match refusal.pointer.as_str() {
        "" => String::new(),
        pointer => format!(" at {pointer}"),
    };
    let remedy = remedy(code).unwrap_or_default();
    ctx.ui.say(&format!(
        "{place}: refused: {code}{field}: {}\n  {remedy}",
        refusal.message
    ));
    Ok(())
}

/// Drops bytes durably for a role, whether it runs or not.
pub(super) fn drop_bytes(
    ctx: &Ctx,
    config: &Config,
    role: Role,
    stem: &str,
    form: Form,
    bytes: &[u8],
) -> Result<(), Exit> {
    let dir = config.layout.drop_dir(role);
    match drop_document(&Place::Drop(&dir), &fresh_name(stem, form), bytes) {
        Ok(_) => {
            if config.layout.frozen.exists() {
                ctx.ui
                    .say("the host is frozen: it is queued, and judged once it is unfrozen");
            }
            Ok(())
        }
        Err(fault) => Err(tell_drop(ctx, &fault)),
    }
}

fn tell_drop(ctx: &Ctx, fault: &DropFault) -> Exit {
    let cause = fault.io().map_or_else(String::new, |error| format!(": {error}"));
    ctx.ui.say(&format!("{fault}{cause}"));
    match (fault, fault.io().map(std::io::Error::kind)) {
        (DropFault::Name { .. }, _) => Exit::Failed,
        (_, Some(ErrorKind::PermissionDenied)) => Exit::Permission,
        (DropFault::Directory { .. }, _) => Exit::Unavailable,
        (DropFault::Io { .. } | DropFault::Uncertain { .. }, _) => Exit::TryAgain,
    }
}

/// Bytes of one document at most.
pub(super) const ONE_BYTES_MAX: usize = DOCUMENT_BYTES_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(bytes: &[u8]) -> (Form, Vec<usize>) {
        let found = Documents::guessed(bytes.to_vec());
        (found.form, found.all.iter().map(|(line, _)| *line).collect())
    }

    #[test]
    fn one_document_over_many_lines_is_not_many_documents() {
        assert_eq!(shape(b"{\n  \"a\": 1\n}\n"), (Form::One, vec![1]));
        assert_eq!(shape(b"{\"a\":1}\n"), (Form::One, vec![1]));
        assert_eq!(shape(b"{\"a\":1}\n\n{\"b\":2}\n"), (Form::Lines, vec![1, 3]));
        assert_eq!(shape(b"nonsense\n{\"b\":2}\n"), (Form::One, vec![1]));
        assert_eq!(shape(b""), (Form::One, vec![1]));
    }
}
