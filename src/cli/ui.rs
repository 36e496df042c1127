//! What a person or a script sees. In: text. Out: data on standard output, talk on standard error.
//!
//! Not here: the words (each verb), the log (daemon/log).

use crate::exit::Exit;
use std::io::{ErrorKind, Write};

/// How a verb ends; both arms are exit statuses, the second one stops the verb early.
pub type Ended = Result<Exit, Exit>;

/// How listings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON document, or one a line.
    Json,
}

/// The two streams.
#[derive(Debug, Clone, Copy)]
pub struct Ui {
    /// Asked for with `--json`.
    pub format: Format,
}

impl Ui {
    /// Writes text to standard output as it is.
    ///
    /// # Errors
    /// The status to end with: 0 if the reader went away (`| head`), 1 if it cannot be written.
    pub fn data(&self, text: &str) -> Result<(), Exit> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes to standard output as they are.
    ///
    /// # Errors
    /// As [`Ui::data`].
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Exit> {
        let mut out = std::io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Exit::Done),
            Err(error) => {
                self.say(&format!("standard output cannot be written: {error}"));
                Err(Exit::Failed)
            }
        }
    }

    /// Writes data in the form that was asked for: `value` as one line of JSON, or the text.
    ///
    /// # Errors
    /// As [`Ui::data`].
    pub fn show(&self, value: &serde_json::Value, text: impl FnOnce() -> String) -> Result<(), Exit> {
        match self.format {
            Format::Json => self.data(&format!("{value}\n")),
            Format::Text => self.data(&printable(&text())),
        }
    }

    /// Writes a line to standard error. Errors are dropped: there is nobody else to tell.
    pub fn say(&self, text: &str) {
        let _told = writeln!(std::io::stderr().lock(), "{}", printable(text));
    }
}

/// The status for an operation that the system refused.
pub(super) fn exit_of_io(error: &std::io::Error) -> Exit {
    if error.kind() == ErrorKind::PermissionDenied {
        return Exit::Permission;
    }
    Exit::Failed
}

/// The text without anything a terminal would obey: control characters but line feed are written as escapes.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_told_what_to_do() {
        assert_eq!(printable("a\u{1b}[31mb\nc\u{9b}d"), "a\\u{1b}[31mb\nc\\u{9b}d");
    }
}
