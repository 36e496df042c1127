//! From texts to one [`Raw`]. In: the files. Out: what they set, and every syntax error, unknown key, wrong type and
//! key set twice, none of which hides the next one.
//!
//! serde stops at its first error. So each error is noted, the key it is about is taken out, and what is left is read
//! again, until it fits.
//!
//! Not here: whether a value makes sense (`check`).

use super::files::Files;
use super::keys::{KEYS, Key};
use super::problem::Problem;
use super::raw::Raw;
use super::units;
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// After so many wrong keys the rest is not looked for; each costs one more pass.
const WRONG_KEYS_MAX: usize = 200;

/// Whether a key that is absent may be called missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// The texts were read whole.
    Known,
    /// A text could not be read or parsed: what seems absent may stand in the part that was not understood.
    Unsure,
}

/// Parses and joins the files.
pub(super) fn parse<'f>(files: &'f Files, problems: &mut Vec<Problem>) -> (Raw, DeTable<'f>, Absence) {
    let mut absence = if problems.is_empty() {
        Absence::Known
    } else {
        Absence::Unsure
    };
    let mut all = DeTable::new();
    let mut broken_lines = Vec::new();
    for file in &files.files {
        let (table, errors) = DeTable::parse_recoverable(&file.padded);
        for error in errors {
            let offset = error.span().map_or(file.padded.len(), |span| span.start);
            let (file, line) = files.locate(offset);
            broken_lines.push((file.clone(), line));
            absence = Absence::Unsure;
            problems.push(Problem {
                file,
                line,
                key: String::new(),
                message: error.message().to_owned(),
            });
        }
        join(&mut all, table.into_inner(), "", files, problems);
    }
    let places = all.clone();
    let mut found = Vec::new();
    let raw = read(&mut all, files, &mut found);
    found.retain(|problem| !broken_lines.contains(&(problem.file.clone(), problem.line)));
    problems.append(&mut found);
    (raw, places, absence)
}

/// Takes what `from` sets into `into`; a key that both set is a problem, and the first one stays.
fn join<'i>(
    into: &mut DeTable<'i>,
    from: DeTable<'i>,
    above: &str,
    files: &Files,
    problems: &mut Vec<Problem>,
) {
    for (key, value) in from {
        let name = under(above, key.get_ref());
        let Some((first_key, first)) = into.get_key_value(key.get_ref().as_ref()) else {
            into.insert(key, value);
            continue;
        };
        if matches!(
            (first.get_ref(), value.get_ref()),
            (DeValue::Table(_), DeValue::Table(_))
        ) {
            if let (Some(DeValue::Table(first)), DeValue::Table(second)) = (
                into.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut),
                value.into_inner(),
            ) {
                join(first, second, &name, files, problems);
            }
            continue;
        }
        let (other, other_line) = files.locate(first_key.span().start);
        let (file, line) = files.locate(key.span().start);
        let line_text = other_line.map(|line| format!(" line {line}")).unwrap_or_default();
        let message = format!(
            "is already set in {}{line_text}; a key may stand in one file only",
            other.display()
        );
        problems.push(Problem {
            file,
            line,
            key: name,
            message,
        });
    }
}

/// Reads the table into [`Raw`], taking out and noting each key that does not fit.
fn read(table: &mut DeTable<'_>, files: &Files, problems: &mut Vec<Problem>) -> Raw {
    for _ in 0..WRONG_KEYS_MAX {
        let error = match Raw::deserialize(toml::Deserializer::from(Spanned::new(0..0, table.clone()))) {
            Ok(raw) => return raw,
            Err(error) => error,
        };
        let span = error.span().unwrap_or(0..0);
        let key = key_at(table, &span).unwrap_or_default();
        let (file, line) = files.locate(span.start);
        let mut message = plain(error.message());
        if KEYS
            .iter()
            .any(|known| matches!(known, Key::Time(time) if time.name == key))
        {
            message = format!("{message}: write {}", units::HOW);
        }
        problems.push(Problem {
            file,
            line,
            key,
            message,
        });
        if !remove(table, &span) {
            return Raw::default();
        }
    }
    Raw::default()
}

/// serde's words in ours.
fn plain(message: &str) -> String {
    let message = message.lines().next().unwrap_or_default();
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return format!("unknown key {rest}");
    }
    message
        .replace("invalid type: map", "wrong type: a table")
        .replace("invalid type: sequence", "wrong type: a list")
        .replace("invalid type", "wrong type")
        .replace("expected i64", "expected a whole number")
        .replace("expected a sequence", "expected a list")
        .replace("expected struct", "expected a table for")
}

/// The dotted name of the key whose name or value stands at `span`: the deepest one.
pub(super) fn key_at(table: &DeTable<'_>, span: &Range<usize>) -> Option<String> {
    search(table, "", span)
}

fn search(table: &DeTable<'_>, above: &str, span: &Range<usize>) -> Option<String> {
    for (key, value) in table {
        let name = under(above, key.get_ref());
        let deeper = tables(value.get_ref())
            .into_iter()
            .find_map(|inner| search(inner, &name, span));
        if deeper.is_some() {
            return deeper;
        }
        if is_at(key.span(), value, span) {
            return Some(name);
        }
    }
    None
}

/// Takes out the deepest key whose name or value stands at `span`.
fn remove(table: &mut DeTable<'_>, span: &Range<usize>) -> bool {
    let mut here = None;
    for (key, value) in table.iter_mut() {
        let within = tables_mut(value.get_mut())
            .into_iter()
            .any(|inner| remove(inner, span));
        if within {
            return true;
        }
        if is_at(key.span(), value, span) {
            here = Some(key.get_ref().clone());
            break;
        }
    }
    here.is_some_and(|key| table.remove(key.as_ref()).is_some())
}

/// The tables a value is or holds as items.
fn tables<'t, 'i>(value: &'t DeValue<'i>) -> Vec<&'t DeTable<'i>> {
    match value {
        DeValue::Table(inner) => vec![inner],
        DeValue::Array(items) => items
            .iter()
            .filter_map(|item| item.get_ref().as_table())
            .collect(),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => Vec::new(),
    }
}

/// The same, to change them.
fn tables_mut<'t, 'i>(value: &'t mut DeValue<'i>) -> Vec<&'t mut DeTable<'i>> {
    match value {
        DeValue::Table(inner) => vec![inner],
        DeValue::Array(items) => items
            .iter_mut()
            .filter_map(|item| table_mut(item.get_mut()))
            .collect(),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => Vec::new(),
    }
}

fn table_mut<'t, 'i>(value: &'t mut DeValue<'i>) -> Option<&'t mut DeTable<'i>> {
    if let DeValue::Table(inner) = value {
        Some(inner)
    } else {
        None
    }
}

/// Whether the key, its value, or an item of its value covers `span`.
fn is_at(key: Range<usize>, value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> bool {
    let covers = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
    if covers(key) || covers(value.span()) {
        return true;
    }
    match value.get_ref() {
        DeValue::Array(items) => items.iter().any(|item| covers(item.span())),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Table(_) => false,
    }
}

fn under(above: &str, key: &str) -> String {
    if above.is_empty() {
        key.to_owned()
    } else {
        format!("{above}.{key}")
    }
}
