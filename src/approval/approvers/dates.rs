//! Dates in options: `YYYYMMDD`, `YYYYMMDDHHMM`, `YYYYMMDDHHMMSS`, then `Z` or nothing. In: the text. Out: seconds since
//! 1970.
//!
//! OpenSSH reads a date without `Z` in the machine's time zone. A verdict must not depend on an environment variable, so
//! here it is UTC as well.
//!
//! Not here: times in documents (`job::time`).

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

pub(super) fn parse(text: &str) -> Result<i64, String> {
    read(text).ok_or_else(|| {
        "write dates as YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS with a Z at the end".to_owned()
    })
}

fn read(text: &str) -> Option<i64> {
    let digits = ["Z", "z", "UTC", "utc"]
        .iter()
        .find_map(|zone| text.strip_suffix(zone))
        .unwrap_or(text);
    if !matches!(digits.len(), 8 | 12 | 14) || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let year: i16 = digits.get(0..4)?.parse().ok()?;
    let part = |at: usize| -> Option<i8> { digits.get(at..at + 2).map_or(Some(0), |two| two.parse().ok()) };
    let civil = DateTime::new(year, part(4)?, part(6)?, part(8)?, part(10)?, part(12)?, 0).ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_lengths_are_read_as_utc_and_nothing_else_is() {
        for (text, seconds) in [
            ("19700102", 86_400),
            ("19700102Z", 86_400),
            ("197001020001", 86_460),
            ("19700102000102Z", 86_462),
            ("20240229UTC", 1_709_164_800),
        ] {
            assert_eq!(read(text), Some(seconds), "{text}");
        }
        for bad in [
            "",
            "Z",
            "1970",
            "1970-01-02",
            "19700132",
            "20230229",
            "1970010200",
            "197001022400",
            "19700102000060",
            "+9700102",
            "19700102 ",
            "forever",
            "１９７００１０２",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
