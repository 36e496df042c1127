//! `lockgate explain CODE`: the page of a code: cause, effect, what to do.
//!
//! Not here: the pages (job::explain).

use super::Ctx;
use super::ui::{Ended, Format};
use crate::exit::Exit;
use crate::job::Code;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// A code, as in a receipt or a refusal; without it every code is listed
    pub code: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ExplainArgs) -> Ended {
    let Some(word) = &args.code else {
        let words: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let text = match ctx.ui.format {
            Format::Text => format!("{}\n", words.join("\n")),
            Format::Json => format!("{}\n", serde_json::json!(words)),
        };
        ctx.ui.data(&text)?;
        return Ok(Exit::Done);
    };
    // A receipt may show a code with its detail, as in delete_denied/approval_spent.
    let bare = word.split(['/', ':']).next().unwrap_or_default();
    let Some(code) = Code::parse(bare) else {
        ctx.ui
            .say(&format!("\"{word}\" is not a code; `lockgate explain` lists all"));
        return Err(Exit::Usage);
    };
    ctx.not_built(&format!("explain {code}"))
}
