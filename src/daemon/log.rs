//! The one logger. In: events of all rooms. Out: lines on standard error that the journal understands.
//!
//! A line never holds a control character, whatever an event says: nobody can forge a second line. Lines that a
//! requester can cause pass [`limited`] first.
//!
//! Not here: what is worth a line (every room), secrets (they have no printable form).

use crate::clock::{BootMs, Clock, SystemClock};
use crate::config::{LogFormat, LogLevel};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Starts the logger and sets the line that a panic leaves. A second call changes nothing.
pub fn start(format: LogFormat, level: LogLevel) {
    let builder = tracing_subscriber::fmt()
        .with_max_level(filter(level))
        .with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => builder.event_format(Text { reader: reader() }).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).with_timer(WallTime).try_init(),
    };
    if started.is_ok() {
        std::panic::set_hook(Box::new(|info| {
            // The payload may quote what a requester or a target sent.
            let place = info.location().map_or_else(String::new, ToString::to_string);
            tracing::error!(place, "a thread panicked: this is a bug in lockgate");
        }));
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// Who reads standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The journal keeps the time itself and takes `<N>` for the priority.
    Journal,
    /// A terminal or a file.
    Other,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the service manager says in the environment that it reads stderr"
)]
fn reader() -> Reader {
    let told = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    // The variable is inherited by processes whose stderr went elsewhere: only the same device and inode count.
    match rustix::fs::fstat(std::io::stderr()) {
        Ok(stat) if told == format!("{}:{}", stat.st_dev, stat.st_ino) => Reader::Journal,
        Ok(_) | Err(_) => Reader::Other,
    }
}

/// `TIME LEVEL room: message key=value`, or `<N>room: message key=value` for the journal.
#[derive(Debug)]
struct Text {
    reader: Reader,
}

impl<S, N> FormatEvent<S, N> for Text
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        let about = event.metadata();
        match self.reader {
            Reader::Journal => fmt::write(&mut line, format_args!("<{}>", priority(*about.level())))?,
            Reader::Other => {
                WallTime.format_time(&mut Writer::new(&mut line))?;
                fmt::write(&mut line, format_args!(" {:>5} ", about.level()))?;
            }
        }
        let room = about
            .target()
            .strip_prefix("lockgate::")
            .unwrap_or(about.target());
        fmt::write(&mut line, format_args!("{room}: "))?;
        context.format_fields(Writer::new(&mut line), event)?;
        for span in context.event_scope().into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>()
                && !fields.is_empty()
            {
                fmt::write(&mut line, format_args!(" {fields}"))?;
            }
        }
        writeln!(out, "{}", one_line(&line))
    }
}

fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

/// The text with every control character, and the two line separators, written as an escape.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// RFC 3339 with milliseconds, UTC.
#[derive(Debug)]
struct WallTime;
impl FormatTime for WallTime {
    fn format_time(&self, out: &mut Writer<'_>) -> fmt::Result {
        let now = SystemClock::new(String::new()).wall();
        match jiff::Timestamp::from_millisecond(now.0) {
            Ok(time) => write!(out, "{time:.3}"),
            Err(_) => write!(out, "{}ms", now.0),
        }
    }
}

/// Whether to write a line that a requester can cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Line {
    /// Write it, with the number of lines of this key left out since the last one.
    Write {
        /// Lines left out.
        left_out: u64,
    },
    /// Leave it out.
    LeaveOut,
}

/// Lines of one key in a row before they are held back.
const BURST: u32 = 10;
/// Then one line of the key in so many milliseconds.
const EACH_MS: i64 = 10_000;

/// Asks whether to write a line of the kind `key`. The number of keys is the number of places in the code that ask.
pub fn limited(key: &'static str) -> Line {
    static LIMITER: Mutex<Limiter> = Mutex::new(Limiter {
        kinds: BTreeMap::new(),
    });
    let now = SystemClock::new(String::new()).boot();
    LIMITER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .ask(key, now)
}

#[derive(Debug, Default)]
struct Limiter {
    kinds: BTreeMap<&'static str, Kind>,
}

#[derive(Debug)]
struct Kind {
    /// Lines that may still be written at once.
    left: u32,
    /// When one more was last earned.
    earned: BootMs,
    left_out: u64,
}

impl Limiter {
    fn ask(&mut self, key: &'static str, now: BootMs) -> Line {
        let kind = self.kinds.entry(key).or_insert(Kind {
            left: BURST,
            earned: now,
            left_out: 0,
        });
        let earned = now.0.saturating_sub(kind.earned.0) / EACH_MS;
        if earned > 0 {
            kind.left = kind
                .left
                .saturating_add(u32::try_from(earned).unwrap_or(BURST))
                .min(BURST);
            kind.earned = BootMs(kind.earned.0.saturating_add(earned.saturating_mul(EACH_MS)));
        }
        if kind.left == 0 {
            kind.left_out = kind.left_out.saturating_add(1);
            return Line::LeaveOut;
        }
        kind.left -= 1;
        Line::Write {
            left_out: std::mem::take(&mut kind.left_out),
        }
    }
}

/// A last word on standard error when there is no logger yet, or no use for one. Errors are dropped: there is nobody
/// left to tell.
pub fn last_word(text: &str) {
    let _told = writeln!(std::io::stderr().lock(), "lockgate: {}", one_line(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_forge_a_second_line() {
        assert_eq!(
            one_line("a\n<0>b\r\u{1b}[2J\u{2028}ü"),
            "a\\n<0>b\\r\\u{1b}[2J\\u{2028}ü"
        );
    }

    #[test]
    fn a_burst_passes_and_then_one_line_in_ten_seconds() {
        let mut limiter = Limiter::default();
        for _ in 0..BURST {
            assert_eq!(limiter.ask("a", BootMs(5)), Line::Write { left_out: 0 });
        }
        assert_eq!(limiter.ask("a", BootMs(6)), Line::LeaveOut);
        assert_eq!(limiter.ask("b", BootMs(6)), Line::Write { left_out: 0 });
        assert_eq!(limiter.ask("a", BootMs(EACH_MS)), Line::LeaveOut);
        assert_eq!(limiter.ask("a", BootMs(EACH_MS + 5)), Line::Write { left_out: 2 });
        assert_eq!(limiter.ask("a", BootMs(EACH_MS + 6)), Line::LeaveOut);
        assert_eq!(limiter.ask("a", BootMs(i64::MAX)), Line::Write { left_out: 1 });
    }

    #[test]
    fn the_time_is_utc_with_milliseconds() {
        let mut text = String::new();
        WallTime.format_time(&mut Writer::new(&mut text)).unwrap();
        assert_eq!((text.len(), &text[19..20], &text[23..]), (24, ".", "Z"), "{text}");
    }
}
