//! The man page lockgate.toml(5). In: the table of keys. Out: troff text.
//!
//! Not here: the pages of the commands (cli/man).

use super::keys::{KEYS, Key, Zero};
use super::units;

const HEAD: &str = r#".TH lockgate.toml 5 "" "lockgate" "lockgate"
.SH NAME
lockgate.toml \- configuration of lockgate
.SH SYNOPSIS
.I /etc/lockgate/lockgate.toml
.br
.I /etc/lockgate/conf.d/*.toml
.br
.I DIR/lockgate.toml
(with
.BR "\-\-dir DIR" )
.SH DESCRIPTION
The files are TOML and are read together: the main file, then those in conf.d by name. Each key may be set in one of them
only; that includes a list of tables such as [[delete.approval]], which stands in one file as a whole. An unknown key, a
wrong type and a value outside its limits are errors.
.B lockgate config check
prints all of them with file, line and key, as every start does.
.PP
Durations are a whole number and one unit in quotes: "500ms", "30s", "15m", "24h", "7d". Sizes are whole numbers of bytes.
Relative paths are below DIR; without
.B \-\-dir
all paths are absolute.
.PP
No file holds a secret. Credentials come from the service manager
.RI ( LoadCredential ),
with
.B \-\-dir
from DIR/credentials/ROLE.
.SH KEYS
"#;

const FOOT: &str = r#".SH FILES
.TP
.I /etc/lockgate/approvers
The approvers' public keys.
.SH SEE ALSO
.BR lockgate (1)
"#;

/// The page.
pub fn man_page() -> String {
    let mut page = HEAD.to_owned();
    let mut table = "";
    for key in KEYS {
        let (of, _) = key.name().rsplit_once('.').unwrap_or_default();
        if of != table {
            table = of;
            page.push_str(&format!(".SS {}\n", quoted(&heading(of))));
        }
        page.push_str(&entry(*key));
    }
    page.push_str(FOOT);
    page
}

fn heading(table: &str) -> String {
    match table {
        "delete.approval" | "requester" => format!("[[{table}]]"),
        _ => format!("[{table}]"),
    }
}

fn entry(key: Key) -> String {
    let facts = match key {
        Key::Count(key) => {
            format!(
                "{} from {} to {}. Default: {}.",
                key.unit, key.min, key.max, key.default
            )
        }
        Key::Time(key) => {
            let zero = match key.zero {
                Zero::Means(meaning) => format!("; \"0\": {meaning}"),
                Zero::Refused => String::new(),
            };
            let (min, max) = (millis(key.min_ms), millis(key.max_ms));
            format!(
                "duration from \"{min}\" to \"{max}\"{zero}. Default: \"{}\".",
                key.default
            )
        }
        Key::Flag(key) => format!("true or false. Default: {}.", key.default),
        Key::Words(key) => {
            let words = key
                .words
                .iter()
                .map(|word| format!("\"{word}\""))
                .collect::<Vec<_>>()
                .join(", ");
            format!("one of {words}. Default: \"{}\".", key.default)
        }
        Key::Text(key) => format!("{}. Default: {}.", key.shape, key.default),
    };
    format!(
        ".TP\n.B {}\n{}\n.br\n{}\n",
        quoted(key.name()),
        quoted(&facts),
        quoted(key.effect())
    )
}

fn millis(ms: u64) -> String {
    units::words(std::time::Duration::from_millis(ms))
}

/// Text in which nothing is a troff command.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_page_is_the_one_made_from_the_table() {
        let shipped = include_str!("../../packaging/man/lockgate.toml.5");
        assert!(
            shipped == man_page(),
            "run `lockgate man packaging/man` and commit lockgate.toml.5"
        );
    }

    #[test]
    fn no_line_of_the_page_is_taken_for_a_command_by_accident() {
        assert_eq!(quoted(".x"), "\\&.x");
        assert_eq!(quoted("a-b\\c"), "a\\-b\\\\c");
    }
}
