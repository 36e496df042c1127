//! The page behind every word that a receipt, refusal or health answer can carry: cause, effect, what to do. In: a word.
//! Out: text for `lockgate explain`, one sentence for receipts.
//!
//! Not here: the closed list of codes (`code`), which code applies (every other room).

mod details;
mod gates;
mod health;
mod refused;
mod settled;

use super::code::Code;
use super::state::State;

/// What a word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The word.
    pub word: &'static str,
    /// What was found; one sentence, fit for a receipt's `message`.
    pub cause: &'static str,
    /// What that did to the job or the document.
    pub effect: &'static str,
    /// What the reader does now.
    pub remedy: &'static str,
}

const CHAPTERS: [&[Page]; 5] = [
    refused::PAGES,
    gates::PAGES,
    settled::PAGES,
    details::PAGES,
    health::PAGES,
];

/// Details that narrow `delete_denied`, `outcome_unknown` and `target_refused`, and have a page.
pub const DETAILS: &[&str] = &details::WORDS;

/// The text of the page for a code, a detail (`approval_mismatch:object_id` has that of `approval_mismatch`), a health
/// reason or a state.
pub fn page(word: &str) -> Option<String> {
    let word = word.trim();
    let (head, _) = word.split_once(':').unwrap_or((word, ""));
    if let Some(found) = find(head).or_else(|| find(&head.to_ascii_lowercase())) {
        return Some(render(&found));
    }
    let state = head.to_ascii_uppercase();
    State::parse(&state)
        .map(state_page)
        .or_else(|| (state == "CREATED").then(created_page))
}

/// One sentence for a receipt that carries `code` and perhaps a detail. The detail says more, if it has a page.
pub fn sentence(code: Code, detail: Option<&str>) -> &'static str {
    let narrowed = detail
        .map(|detail| detail.split_once(':').map_or(detail, |(head, _)| head))
        .and_then(find);
    let found = narrowed.or_else(|| find(code.as_str()));
    found.map_or("no page for this code", |page| page.cause)
}

/// Every word that has a page, in the order of the chapters; for completions and the manual.
pub fn words() -> impl Iterator<Item = &'static str> {
    CHAPTERS
        .iter()
        .flat_map(|chapter| chapter.iter().map(|page| page.word))
}

fn find(word: &str) -> Option<Page> {
    CHAPTERS
        .iter()
        .flat_map(|chapter| chapter.iter())
        .find(|page| page.word == word)
        .copied()
}

fn render(page: &Page) -> String {
    format!(
        "{}\n\n  Cause   {}\n  Effect  {}\n  To do   {}\n",
        page.word, page.cause, page.effect, page.remedy
    )
}

fn created_page() -> String {
    "CREATED\n\n  The document is durable in the spool and the role has not judged it yet. If this lasts, the role is stopped,\n  \
     frozen or over a limit: see `lockgate doctor`.\n"
        .to_owned()
}

fn state_page(state: State) -> String {
    let meaning = match state {
        State::Ready => {
            "Admitted. It waits for its turn, its approval, its path or its next try: `lockgate why JOB`."
        }
        State::Claimed => "A worker holds it and checks every gate. Nothing was sent.",
        State::Executing => {
            "The intent is durable and something may have been sent. Nothing is repeated on a guess."
        }
        State::Succeeded => "The effect is confirmed. Settled.",
        State::Failed => "It was tried, it did not work, and the target is known to be unchanged. Settled.",
        State::Rejected => "It was refused and not carried out. Settled.",
        State::OutcomeUnknown => {
            "Nobody knows whether it happened. Check first: `lockgate explain outcome_unknown` says how."
        }
    };
    format!("{state}\n\n  {meaning}\n")
}

#[cfg(test)]
#[path = "../explain_test.rs"]
mod tests;
