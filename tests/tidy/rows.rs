//! The rows of the acceptance matrix: each has a test whose name carries it (`t21_…`), each guard letter a mutant in
//! tests/mutants/list.
//!
//! Not here: whether such a test is any good; tests/mutants/run asks that.

use super::{root, sources};
use std::collections::BTreeSet;
use std::fs;

/// Rows that no test covers yet. This list only shrinks; a row that is covered must leave it.
const NOT_YET: &[&str] = &[];

/// T01–T40, A01–A20, A22, F01–F26 in lower case. A21 is for targets that speak HTTP.
fn rows() -> BTreeSet<String> {
    let of = |letter: char, last: u32| (1..=last).map(move |number| format!("{letter}{number:02}"));
    of('t', 40)
        .chain(of('a', 20))
        .chain(["a22".to_owned()])
        .chain(of('f', 26))
        .collect()
}

/// The words of every test's name; also of tests that a macro or a table makes, as long as the name stands after `fn`.
fn words_of_tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in sources(&["src", "tests"]) {
        let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(rest) = line.split_once("fn ").map(|(_, rest)| rest) else {
                continue;
            };
            let is_test = lines[at.saturating_sub(4)..at]
                .iter()
                .any(|above| *above == "#[test]" || *above == "proptest! {");
            let name: String = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            if is_test {
                found.extend(name.split('_').map(str::to_owned));
            }
        }
    }
    found
}

#[test]
fn every_row_has_a_test_that_carries_its_name() {
    let (rows, words) = (rows(), words_of_tests());
    let waiting: BTreeSet<String> = NOT_YET.iter().map(|row| (*row).to_owned()).collect();
    let missing: Vec<&String> = rows
        .iter()
        .filter(|row| !words.contains(*row) && !waiting.contains(*row))
        .collect();
    assert!(missing.is_empty(), "no test carries {missing:?}");
    let done: Vec<&String> = waiting.iter().filter(|row| words.contains(*row)).collect();
    assert!(done.is_empty(), "{done:?} are covered: remove them from NOT_YET");
    assert!(waiting.is_subset(&rows), "NOT_YET holds rows only");
}

#[test]
fn every_guard_letter_has_a_mutant() {
    let list = fs::read_to_string(root().join("tests/mutants/list")).unwrap_or_default();
    let missing: Vec<String> = ('A'..='Z')
        .map(|letter| format!("M-{letter}"))
        .filter(|guard| !list.contains(guard.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "tests/mutants/list has no mutant of {missing:?}"
    );
}
