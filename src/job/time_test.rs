//! The one form of a time.

use super::*;
use proptest::prelude::*;

fn ms(text: &str) -> i64 {
    Timestamp::parse(text).unwrap().wall().0
}

#[test]
fn the_one_form_is_read_to_the_millisecond() {
    for (text, at) in [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("2026-11-30T12:00:00Z", 1_796_040_000_000),
        ("2026-11-30T12:00:00.5Z", 1_796_040_000_500),
        ("2026-11-30T12:00:00.05Z", 1_796_040_000_050),
        ("2026-11-30T12:00:00.123Z", 1_796_040_000_123),
        ("2024-02-29T23:59:59Z", 1_709_251_199_000),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] {
        assert_eq!(ms(text), at, "{text}");
        // What was written is what is signed and hashed.
        assert_eq!(Timestamp::parse(text).unwrap().as_str(), text);
        assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn t14_every_other_form_is_refused() {
    #[rustfmt::skip]
    let cases = [
        "", "Z", "2026-11-30", "2026-11-30T12:00:00", "2026-11-30T12:00:00+00:00",
        "2026-11-30T12:00:00-00:00", "2026-11-30T12:00:00+01:00", "2026-11-30T12:00:00z",
        "2026-11-30t12:00:00Z", "2026-11-30 12:00:00Z", "2026-11-30T12:00Z", "2026-11-30T12Z",
        "20261130T120000Z", "2026-11-30T23:59:60Z", "2016-12-31T23:59:60Z", "2026-11-30T24:00:00Z",
        "2026-11-30T12:60:00Z", "2026-11-31T12:00:00Z", "2026-02-29T12:00:00Z", "1900-02-29T12:00:00Z",
        "2026-00-30T12:00:00Z", "2026-13-30T12:00:00Z", "2026-11-00T12:00:00Z", "2026-11-32T12:00:00Z",
        "1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "+2026-11-30T12:00:00Z",
        "-2026-11-30T12:00:00Z", "026-11-30T12:00:00Z", "2026-11-30T12:00:00.Z",
        "2026-11-30T12:00:00.1234Z", "2026-11-30T12:00:00,5Z", "2026-11-30T12:00:00.1 Z",
        "2026-11-30T12:00:00.-1Z", " 2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z ",
        "2026-11-30T12:00:00Z\n", "2026-11-30T12:00:00ZZ", "2026-W49-1T12:00:00Z", "2026-1-30T12:00:00Z",
        "2026-11-3T12:00:00Z", "2026-11-30T1:00:00Z", "1796040000", "1796040000000",
        "2026-11-30T12:00:00.123456Z", "２０26-11-30T12:00:00Z", "2026-11-30T12:00:0\u{661}Z",
        "2026-11-30T12:00:00.\u{661}Z", "2026/11/30T12:00:00Z", "2026-11-30T12.00.00Z",
        "2026-11-30T12:00: 0Z", "2026-11-30T12:00:+1Z", "now", "2026-11-30T12:00:00\u{0}Z",
        "é026-11-30T12:00:00Z", "2026-11-30T12:00:0é",
    ];
    for text in cases {
        assert_eq!(Timestamp::parse(text), None, "{text}");
    }
}

#[test]
fn what_we_print_is_what_we_read_and_stays_inside_the_years() {
    for (at, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_796_040_000_123, "2026-11-30T12:00:00.123Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (i64::MAX, "9999-12-31T23:59:59.999Z"),
        (-1, "1970-01-01T00:00:00.000Z"),
        (i64::MIN, "1970-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(format_utc(WallMs(at)), text);
    }
}

proptest! {
    #[test]
    fn printed_times_are_read_back(at in 0i64..=253_402_300_799_999) {
        prop_assert_eq!(ms(&format_utc(WallMs(at))), at);
    }

    #[test]
    fn no_text_makes_the_reader_fail(text in any::<String>()) {
        prop_assert!(Timestamp::parse(&text).is_none_or(|time| time.as_str() == text));
    }

    #[test]
    fn t14_one_wrong_character_is_noticed(at in 0usize..24, c in any::<char>()) {
        let right = "2026-11-30T12:00:00.123Z";
        let mut text: Vec<char> = right.chars().collect();
        text[at] = c;
        let text: String = text.into_iter().collect();
        if let Some(time) = Timestamp::parse(&text) {
            prop_assert!(c.is_ascii_digit() || text == right);
            prop_assert_eq!(format_utc(time.wall()), text);
        }
    }
}
