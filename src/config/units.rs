//! Durations as people write them. In: text such as `24h`. Out: a [`Duration`].
//!
//! Not here: which keys are durations and their limits (`check`).

use std::time::Duration;

/// How a duration is written; part of every message about one.
pub(super) const HOW: &str =
    "a whole number and one unit in quotes: \"500ms\", \"30s\", \"15m\", \"24h\" or \"7d\" (\"0\" is off)";

/// Exactly one whole number with one unit; `0` needs none.
pub(super) fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let ms_each: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return None,
    };
    number.checked_mul(ms_each).map(Duration::from_millis)
}

/// The same, for messages.
pub(super) fn words(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms == 0 {
        return "0".to_owned();
    }
    for (each, unit) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")] {
        if ms.is_multiple_of(each) {
            return format!("{}{unit}", ms / each);
        }
    }
    format!("{ms}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_one_number_with_one_unit() {
        for (text, seconds) in [
            ("0", 0),
            ("0s", 0),
            ("30s", 30),
            ("15m", 900),
            ("24h", 86_400),
            ("7d", 604_800),
        ] {
            assert_eq!(duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        for text in [
            "",
            "5",
            "h",
            "1.5h",
            "-1s",
            "+1s",
            " 1s",
            "1s ",
            "1h30m",
            "1H",
            "1 h",
            "1w",
            "99999999999999999d",
        ] {
            assert_eq!(duration(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_words_for_a_duration_read_back_as_the_same() {
        for ms in [
            0,
            1,
            500,
            1000,
            1500,
            60_000,
            90_000,
            3_600_000,
            86_400_000,
            604_800_000,
        ] {
            let told = Duration::from_millis(ms);
            assert_eq!(duration(&words(told)), Some(told));
        }
    }
}
