//! Tables and lists for people. In: cells. Out: aligned lines without trailing blanks.
//!
//! Not here: JSON, which is written as it comes.

use serde_json::Value;

/// Blanks between two columns.
const GAP: usize = 2;

/// Rows under a line of names.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(names: &[&str]) -> Table {
        Table {
            rows: vec![names.iter().map(|name| (*name).to_owned()).collect()],
        }
    }
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
    pub(super) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&padded(cell, width + GAP));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// `name  value` lines; what is empty is left out.
pub(super) fn fields(pairs: &[(&str, String)]) -> String {
    let width = pairs
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        out.push_str(&padded(name, width + GAP));
        out.push_str(value);
        out.push('\n');
    }
    out
}

fn padded(text: &str, width: usize) -> String {
    let mut out = text.to_owned();
    out.extend(std::iter::repeat_n(
        ' ',
        width.saturating_sub(text.chars().count()),
    ));
    out
}

/// A member as people read it: texts without quotes, nothing for null.
pub(super) fn cell(value: &Value, name: &str) -> String {
    plain(value.get(name).unwrap_or(&Value::Null))
}

/// A value as people read it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// `code`, or `code/detail`.
pub(super) fn code(job: &Value) -> String {
    match (cell(job, "code"), cell(job, "detail")) {
        (code, detail) if detail.is_empty() => code,
        (code, detail) if code.is_empty() => detail,
        (code, detail) => format!("{code}/{detail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_aligned_and_lines_do_not_end_in_blanks() {
        let mut table = Table::new(&["A", "LONGER"]);
        table.row(vec!["üü".to_owned(), String::new()]);
        table.row(vec!["xyz".to_owned(), "1".to_owned()]);
        assert_eq!(table.text(), "A    LONGER\nüü\nxyz  1\n");
        let list = fields(&[
            ("a", "1".to_owned()),
            ("long", String::new()),
            ("bcd", "2".to_owned()),
        ]);
        assert_eq!(list, "a     1\nbcd   2\n");
    }

    #[test]
    fn members_are_read_as_people_read_them() {
        let job = json!({"code": "x", "detail": null, "n": 3});
        assert_eq!(
            (
                code(&job).as_str(),
                cell(&job, "n").as_str(),
                cell(&job, "none").as_str()
            ),
            ("x", "3", "")
        );
        assert_eq!(code(&json!({"code": "x", "detail": "y"})), "x/y");
    }
}
