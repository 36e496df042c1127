//! `lockgate explain CODE`: the page of a code, a detail, a state or a health reason: cause, effect, what to do.
//!
//! Not here: the pages (job::explain).

use super::Ctx;
use super::ui::{Ended, Format};
use crate::exit::Exit;
use crate::job::explain;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  lockgate explain delete_denied/approval_spent")]
pub struct ExplainArgs {
    /// A word of a receipt, a refusal or a health answer; CODE/DETAIL is both. Without it all words are listed
    pub code: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// The status to end with early.
pub fn run(ctx: &Ctx, args: &ExplainArgs) -> Ended {
    let Some(word) = &args.code else {
        let words: Vec<&str> = explain::words().collect();
        let text = match ctx.ui.format {
            Format::Text => format!("{}\n", words.join("\n")),
            Format::Json => format!("{}\n", serde_json::json!(words)),
        };
        ctx.ui.data(&text)?;
        return Ok(Exit::Done);
    };
    let pages: Option<Vec<String>> = word.split('/').map(explain::page).collect();
    let Some(pages) = pages else {
        ctx.ui.say(&format!(
            "there is no page for \"{word}\"; `lockgate explain` lists all words"
        ));
        return Err(Exit::Usage);
    };
    let page = pages
        .iter()
        .map(|page| page.trim_end())
        .collect::<Vec<_>>()
        .join("\n\n");
    let text = match ctx.ui.format {
        Format::Text => format!("{page}\n"),
        Format::Json => format!("{}\n", serde_json::json!({"word": word, "page": page})),
    };
    ctx.ui.data(&text)?;
    Ok(Exit::Done)
}
