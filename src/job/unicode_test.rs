//! Emoji keep their invisible parts; nothing else does.

use super::*;

/// Code points of Extended_Pictographic in emoji-data.txt, and others that look as if they might be.
#[test]
fn pictographs_are_unicodes() {
    #[rustfmt::skip]
    let cases = [
        '©', '®', '‼', '™', 'ℹ', '⌚', 'Ⓜ', '☠', '❤', '〰', '㊙', '🀄', '🃏', '🌈', '🏴', '🏳', '👁', '💻', '🔥', '🗨',
        '😀', '🤦', '🦰', '🦳', '🫠', '🧑', '\u{1FAFF}', '\u{1FFFD}', '\u{1F0F6}',
    ];
    for c in cases {
        assert!(is_pictographic(c), "{c} U+{:04X}", u32::from(c));
    }
    #[rustfmt::skip]
    let cases = [
        '0', '9', '#', '*', 'a', 'é', '中', '\u{1F3FB}', '\u{1F3FF}', '🇩', '\u{200D}', '\u{FE0F}',
        '\u{20E3}', ' ', '\u{E0062}', 'ا', '\u{1F8FF}',
    ];
    for c in cases {
        assert_eq!(is_pictographic(c), c == '\u{1F8FF}', "{c} U+{:04X}", u32::from(c));
    }
}

#[test]
fn t18_a02_emoji_sequences_keep_their_invisible_parts() {
    #[rustfmt::skip]
    let cases = [
        "👨‍👩‍👧‍👦 family", "👩🏽‍💻", "🤦🏼‍♂️", "🏳️‍🌈", "🏴‍☠️", "👁️‍🗨️", "🧑‍🦰", "❤️‍🔥", "1️⃣ first", "#️⃣*️⃣",
        "☠️", "ℹ️ help", "©️ 2026", "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "🇩🇪", "👍🏿",
        "葛\u{E0100}城", "🐻‍❄️ 🐈‍⬛", "🧑🏻‍❤️‍💋‍🧑🏿",
    ];
    for name in cases {
        assert!(!has_stray_invisible(name), "{name}");
    }
}

#[test]
fn t18_a02_invisible_parts_anywhere_else_are_found() {
    #[rustfmt::skip]
    let cases = [
        "a\u{200D}b", "\u{200D}", "👨\u{200D}", "\u{200D}👩", "👨\u{200D}\u{200D}👩", "👨\u{200D}a",
        "a\u{200D}👩", "1\u{200D}👩", "👨 \u{200D}👩", "a\u{FE0F}", "\u{FE0F}", "1\u{FE0F}", "1\u{FE0F}a",
        "😀\u{FE0F}\u{FE0F}", "😀\u{FE0E}", "😀\u{FE00}", "👍🏿\u{FE0F}a", "🏴\u{E0067}\u{E0062}",
        "🏴\u{E0067}\u{E0062}\u{E007F}", "🏴\u{E007F}", "a\u{E0067}\u{E0062}\u{E0065}\u{E007F}",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E0067}\u{E0067}\u{E007F}",
        "🏴\u{E0041}\u{E0042}\u{E0043}\u{E007F}", "😀\u{E0067}\u{E0062}\u{E0065}\u{E007F}",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E007F}\u{E007F}", "a\u{E0100}", "\u{E0100}", "葛\u{E0100}\u{E0100}",
        "葛\u{FE00}", "\u{E0001}",
    ];
    for name in cases {
        assert!(has_stray_invisible(name), "{name:?}");
    }
}

/// The contract's list, code point by code point.
#[test]
fn t18_the_contracts_invisible_characters_are_found_wherever_they_stand() {
    let singles = [
        0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x200B, 0x200C, 0x200E, 0x200F, 0x2028, 0x2029,
        0x3164, 0xFEFF, 0xFFA0,
    ];
    let ranges = [
        0x180B..=0x180F,
        0x202A..=0x202E,
        0x2060..=0x206F,
        0xFFF9..=0xFFFB,
        0xFE00..=0xFE0E,
        0xE0020..=0xE007F,
    ];
    for code in singles.into_iter().chain(ranges.into_iter().flatten()) {
        let c = char::from_u32(code).unwrap();
        for text in [
            format!("a{c}b"),
            format!("{c}b"),
            format!("a{c}"),
            format!("😀{c}😀"),
        ] {
            assert!(has_stray_invisible(&text), "U+{code:04X} in {text:?}");
        }
        assert!(is_never_visible(c), "U+{code:04X}");
    }
    for c in [
        'a', 'é', '中', '😀', '\u{301}', '\u{20E3}', 'ـ', '\u{2013}', '…', '´',
    ] {
        assert!(!is_never_visible(c), "{c}");
    }
}

#[test]
fn only_selectors_of_emoji_are_left_out() {
    let plain = |text: &str| without_emoji_selectors(text).collect::<String>();
    assert_eq!(plain("ℹ️ a"), "ℹ a");
    assert_eq!(plain("1️⃣"), "1\u{20E3}");
    assert_eq!(plain("a\u{FE0F}"), "a\u{FE0F}");
    assert_eq!(plain("👨‍👩"), "👨‍👩");
}
