//! What a person sees before signing: every field, in full, with nothing able to hide in it. In: a payload. Out: lines of
//! text for a terminal.
//!
//! Not here: asking and signing (`lockgate-sign`).

use crate::approval::payload::{ApprovalPayload, Payload, WithdrawalPayload};
use crate::clock::WallMs;
use crate::job::sha256;
use std::fmt::Write as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Width of the column of names.
const NAME_WIDTH: usize = 26;

/// The whole payload as lines, with its hash and how long it holds from `now`.
pub fn describe(payload: &Payload, bytes: &[u8], instance: &str, now: WallMs) -> String {
    let mut out = String::new();
    match payload {
        Payload::Approval(approval) => {
            out.push_str("This approves ONE DELETE, of exactly this object, and nothing else:\n\n");
            for (name, value) in approval_fields(approval) {
                push_field(&mut out, name, &value);
            }
            push_field(&mut out, "→ holds", &holds(approval, now));
        }
        Payload::Withdrawal(withdrawal) => {
            out.push_str("This takes an approval back, for ever:\n\n");
            for (name, value) in withdrawal_fields(withdrawal) {
                push_field(&mut out, name, &value);
            }
        }
    }
    push_field(&mut out, "→ instance", instance);
    push_field(&mut out, "→ SHA-256 of these bytes", &sha256(bytes).to_string());
    out
}

fn approval_fields(payload: &ApprovalPayload) -> [(&'static str, String); 12] {
    [
        ("operation", "DELETE".to_owned()),
        ("vault_path", payload.vault_path.to_string()),
        ("object_id", payload.object_id.to_string()),
        ("expected_commit", payload.expected_commit.to_string()),
        (
            "expected_provenance_hash",
            payload.expected_provenance_hash.to_string(),
        ),
        ("mission_id", payload.mission_id.to_string()),
        ("delete_request_id", payload.delete_request_id.to_string()),
        ("approval_id", payload.approval_id.to_string()),
        ("approval_version", "1".to_owned()),
        ("nonce", payload.nonce.to_string()),
        ("issued_at", payload.issued_at.to_string()),
        ("expires_at", payload.expires_at.to_string()),
    ]
}

fn withdrawal_fields(payload: &WithdrawalPayload) -> [(&'static str, String); 3] {
    [
        ("withdrawal_version", "1".to_owned()),
        ("approval_id", payload.approval_id.to_string()),
        ("withdrawn_at", payload.withdrawn_at.to_string()),
    ]
}

fn push_field(out: &mut String, name: &str, value: &str) {
    let padding = NAME_WIDTH.saturating_sub(name.chars().count());
    out.push_str("  ");
    out.push_str(name);
    out.extend(std::iter::repeat_n(' ', padding.max(1)));
    out.push_str(&visible(value));
    out.push('\n');
    if let Some(note) = not_ascii(value) {
        out.push_str("  ");
        out.extend(std::iter::repeat_n(' ', NAME_WIDTH));
        out.push_str(&note);
        out.push('\n');
    }
}

fn holds(approval: &ApprovalPayload, now: WallMs) -> String {
    let from = approval.issued_at.wall().0;
    let until = approval.expires_at.wall().0;
    if until <= now.0 || until <= from {
        return "NOT AT ALL: its time is over, no daemon takes it".to_owned();
    }
    let minutes = until.saturating_sub(now.0.max(from)) / 60_000;
    let length = match (minutes / 1440, minutes / 60 % 24, minutes % 60) {
        (0, 0, m) => format!("{m} min"),
        (0, h, m) => format!("{h} h {m} min"),
        (d, h, _) => format!("{d} d {h} h"),
    };
    if from > now.0.saturating_add(60_000) {
        format!("for {length}, NOT YET: it is issued for a later time than this machine's")
    } else {
        format!("for {length} from now")
    }
}

/// The text with everything spelled out that a terminal would act on, reorder or not show.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\\' {
            out.push_str("\\\\");
        } else if hides(letter) {
            // Writing to a String cannot fail.
            write!(out, "\\u{{{:04x}}}", u32::from(letter)).unwrap_or_default();
        } else {
            out.push(letter);
        }
    }
    out
}

/// Anything that is not a mark on the screen: controls, bidi and format characters, fillers, foreign blanks, selectors.
fn hides(letter: char) -> bool {
    let by_category = match letter.general_category() {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::PrivateUse
        | GeneralCategory::Surrogate
        | GeneralCategory::Unassigned => true,
        GeneralCategory::SpaceSeparator => letter != ' ',
        GeneralCategory::UppercaseLetter
        | GeneralCategory::LowercaseLetter
        | GeneralCategory::TitlecaseLetter
        | GeneralCategory::ModifierLetter
        | GeneralCategory::OtherLetter
        | GeneralCategory::NonspacingMark
        | GeneralCategory::SpacingMark
        | GeneralCategory::EnclosingMark
        | GeneralCategory::DecimalNumber
        | GeneralCategory::LetterNumber
        | GeneralCategory::OtherNumber
        | GeneralCategory::ConnectorPunctuation
        | GeneralCategory::DashPunctuation
        | GeneralCategory::OpenPunctuation
        | GeneralCategory::ClosePunctuation
        | GeneralCategory::InitialPunctuation
        | GeneralCategory::FinalPunctuation
        | GeneralCategory::OtherPunctuation
        | GeneralCategory::MathSymbol
        | GeneralCategory::CurrencySymbol
        | GeneralCategory::ModifierSymbol
        | GeneralCategory::OtherSymbol => false,
    };
    by_category
        || matches!(letter,
            '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

/// Names each letter outside ASCII once: `а` (U+0430) and `a` look the same.
fn not_ascii(text: &str) -> Option<String> {
    const SHOWN: usize = 12;
    let mut letters: Vec<char> = text.chars().filter(|letter| !letter.is_ascii()).collect();
    letters.sort_unstable();
    letters.dedup();
    if letters.is_empty() {
        return None;
    }
    let mut note = "^ not ASCII:".to_owned();
    for letter in letters.iter().take(SHOWN) {
        write!(note, " {}", visible(&letter.to_string())).unwrap_or_default();
        if !hides(*letter) {
            write!(note, " U+{:04X}", u32::from(*letter)).unwrap_or_default();
        }
    }
    if letters.len() > SHOWN {
        write!(note, " and {} more", letters.len() - SHOWN).unwrap_or_default();
    }
    Some(note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_or_hides_reaches_it() {
        for (text, shown) in [
            ("a b", "a b"),
            ("a\u{1b}[2Kb", "a\\u{001b}[2Kb"),
            ("a\u{202e}dm.b", "a\\u{202e}dm.b"),
            ("a\u{200b}b\u{3164}", "a\\u{200b}b\\u{3164}"),
            ("a\u{a0}b\u{2028}", "a\\u{00a0}b\\u{2028}"),
            ("\\u{202e}", "\\\\u{202e}"),
            (
                "\r\n\t\u{7f}\u{85}",
                "\\u{000d}\\u{000a}\\u{0009}\\u{007f}\\u{0085}",
            ),
            ("x\u{e0061}\u{fe0f}", "x\\u{e0061}\\u{fe0f}"),
            ("Über 漢字 😀", "Über 漢字 😀"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn letters_outside_ascii_are_named() {
        assert_eq!(not_ascii("plain"), None);
        assert_eq!(
            not_ascii("p\u{430}y\u{202e}").unwrap(),
            "^ not ASCII: \u{430} U+0430 \\u{202e}"
        );
        let many: String = ('\u{4e00}'..'\u{4e14}').collect();
        assert!(not_ascii(&many).unwrap().ends_with("and 8 more"));
    }
}
