//! Times in documents and in what we print. In: text, or wall milliseconds. Out: wall milliseconds, or text in UTC.
//!
//! Not here: what time it is (crate::clock), durations in the configuration.

use crate::clock::WallMs;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use std::fmt;

/// Dates are counted without a time zone: the library's zoned times end a day before 9999 does.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// A time in a document: `YYYY-MM-DDTHH:MM:SS(\.\d{1,3})?Z`, years 1970–9999, a real date, no leap second.
///
/// It keeps the text, because the signed and hashed form is made of the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Timestamp {
    text: String,
    at: WallMs,
}

impl Timestamp {
    /// Accepts exactly that form.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let bytes = text.as_bytes();
        let fraction = bytes.get(19..bytes.len().checked_sub(1)?)?;
        let fraction_ms = match fraction {
            [] => 0,
            [b'.', digits @ ..] if (1..=3).contains(&digits.len()) => {
                // `.5` is 500 ms: the missing places are zeros.
                number(digits)? * [100, 10, 1].get(digits.len() - 1)?
            }
            _ => return None,
        };
        let marks = [
            (4, b'-'),
            (7, b'-'),
            (10, b'T'),
            (13, b':'),
            (16, b':'),
            (bytes.len() - 1, b'Z'),
        ];
        if marks.iter().any(|(at, mark)| bytes[*at] != *mark) {
            return None;
        }
        let part = |from: usize, to: usize| number(&bytes[from..to]);
        let small = |from: usize, to: usize| i8::try_from(part(from, to)?).ok();
        let year = part(0, 4).filter(|year| *year >= 1970)?;
        let civil = DateTime::new(
            year,
            small(5, 7)?,
            small(8, 10)?,
            small(11, 13)?,
            small(14, 16)?,
            small(17, 19)?,
            i32::from(fraction_ms) * 1_000_000,
        );
        let since = civil.ok()?.duration_since(EPOCH);
        Some(Timestamp {
            text: text.to_owned(),
            at: WallMs(i64::try_from(since.as_millis()).ok()?),
        })
    }
    /// The text as it stood in the document.
    pub fn as_str(&self) -> &str {
        &self.text
    }
    /// Milliseconds since 1970.
    pub fn wall(&self) -> WallMs {
        self.at
    }
}
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// At most four ASCII digits.
fn number(digits: &[u8]) -> Option<i16> {
    digits.iter().try_fold(0i16, |sum, c| {
        c.is_ascii_digit().then(|| sum * 10 + i16::from(c - b'0'))
    })
}

/// `2026-11-30T12:00:00.000Z`. A time outside the years 1970–9999 prints as the nearest one inside.
pub fn format_utc(at: WallMs) -> String {
    const FIRST: i64 = 0;
    const LAST: i64 = 253_402_300_799_999;
    match EPOCH.checked_add(SignedDuration::from_millis(at.0.clamp(FIRST, LAST))) {
        Ok(civil) => format!("{civil:.3}Z"),
        // Never taken: every value between the two is a date.
        Err(_) => format!("{EPOCH:.3}Z"),
    }
}

#[cfg(test)]
#[path = "time_test.rs"]
mod tests;
