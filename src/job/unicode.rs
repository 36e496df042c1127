//! Which characters of a name cannot be seen. In: one path component. Out: whether an invisible character stands where
//! no emoji sequence needs it.
//!
//! Two names that look alike must not be two paths: an approver reads the path on a screen. Emoji are written with
//! invisible parts (joiner, selectors, tags), so those are allowed exactly where Unicode's emoji sequences have them.
//!
//! Not here: normalization and every other rule for paths (`path`).

use unicode_properties::{EmojiStatus, GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};

const ZERO_WIDTH_JOINER: char = '\u{200D}';
const EMOJI_SELECTOR: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';
const BLACK_FLAG: char = '\u{1F3F4}';
const CANCEL_TAG: char = '\u{E007F}';

/// Whether an invisible character stands outside an emoji sequence.
pub(super) fn has_stray_invisible(component: &str) -> bool {
    let chars: Vec<char> = component.chars().collect();
    let mut at = 0;
    while let Some(c) = chars.get(at).copied() {
        let fits = match c {
            ZERO_WIDTH_JOINER => joins_two_emoji(&chars, at),
            EMOJI_SELECTOR => selects_emoji(&chars, at),
            BLACK_FLAG => {
                at += tag_sequence_len(&chars[at + 1..]);
                true
            }
            '\u{E0100}'..='\u{E01EF}' => at > 0 && is_ideograph(chars[at - 1]),
            c => !is_never_visible(c),
        };
        if !fits {
            return true;
        }
        at += 1;
    }
    false
}

/// The component without the selectors that only choose the coloured form of the emoji before them.
pub(super) fn without_emoji_selectors(component: &str) -> impl Iterator<Item = char> {
    let chars: Vec<char> = component.chars().collect();
    let kept: Vec<char> = (0..chars.len())
        .filter(|at| !(chars[*at] == EMOJI_SELECTOR && selects_emoji(&chars, *at)))
        .map(|at| chars[at])
        .collect();
    kept.into_iter()
}

/// U+200D: between two pictographs, selectors and skin tones after the first aside.
fn joins_two_emoji(chars: &[char], at: usize) -> bool {
    let before = chars[..at]
        .iter()
        .rev()
        .find(|c| **c != EMOJI_SELECTOR && !is_skin_tone(**c));
    let after = chars.get(at + 1);
    before.is_some_and(|c| is_pictographic(*c)) && after.is_some_and(|c| is_pictographic(*c))
}

/// U+FE0F: right after a pictograph, or between a keycap's base and U+20E3.
fn selects_emoji(chars: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| chars[before]) else {
        return false;
    };
    let in_keycap =
        matches!(before, '0'..='9' | '#' | '*') && chars.get(at + 1).is_some_and(|after| *after == KEYCAP);
    is_pictographic(before) || in_keycap
}

/// Tags after a black flag that spell a subdivision's flag: 3 to 6 letters or digits, then the cancel tag. 0 if they
/// spell anything else: such a flag looks plain, whatever the tags say.
fn tag_sequence_len(after: &[char]) -> usize {
    let is_tag = |c: &&char| matches!(**c, '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}');
    let tags = after.iter().take_while(is_tag).count();
    let ends = after.get(tags).is_some_and(|c| *c == CANCEL_TAG);
    if ends && (3..=6).contains(&tags) {
        tags + 1
    } else {
        0
    }
}

fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

/// Unicode's Extended_Pictographic: emoji that are no mere component, the four hair styles, and the code points that
/// are kept free for emoji to come.
fn is_pictographic(c: char) -> bool {
    let is_emoji = matches!(
        c.emoji_status(),
        EmojiStatus::EmojiPresentation
            | EmojiStatus::EmojiModifierBase
            | EmojiStatus::EmojiPresentationAndModifierBase
            | EmojiStatus::EmojiOther
    );
    let is_hair = matches!(c, '\u{1F9B0}'..='\u{1F9B3}');
    let is_in_emoji_blocks = matches!(c, '\u{1F000}'..='\u{1FAFF}' | '\u{1FC00}'..='\u{1FFFD}');
    is_emoji || is_hair || (is_in_emoji_blocks && c.general_category() == GeneralCategory::Unassigned)
}

/// Characters before an ideographic variation selector.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{20000}'..='\u{3FFFD}')
}

/// Characters with no form of their own, wherever they stand (contract 2), and the other code points that Unicode
/// lets a font ignore.
pub(super) fn is_never_visible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}' | '\u{200C}' | '\u{200E}' | '\u{200F}'
        | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
#[path = "unicode_test.rs"]
mod tests;
