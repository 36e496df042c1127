//! The rules of the house, read from the text of the tree: who imports whom, headers, sizes, panics, migrations, rows of the
//! acceptance matrix.
//!
//! Each failure names the file, and the line where there is one. Not here: what clippy and rustfmt hold already.

#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

#[path = "tidy/rooms.rs"]
mod rooms;
#[path = "tidy/rows.rs"]
mod rows;

use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of a file, and of one that holds tests only.
const LINES_MAX: usize = 500;
const TEST_LINES_MAX: usize = 700;

/// One file of the tree.
#[derive(Debug)]
pub(crate) struct Source {
    /// From the root of the checkout.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// Whether all of it is for tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| {
            let part = part.trim_end_matches(".rs");
            part == "tests" || part.starts_with("tests_") || part.ends_with("_test") || part == "test_support"
        })
    }

    /// The lines of the program, numbered from 1: nothing from the first `#[cfg(test)] mod … {` on, no comment.
    pub(crate) fn program(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let inline = |at: &usize| {
            lines[*at].trim() == "#[cfg(test)]"
                && lines
                    .get(at + 1)
                    .is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
        };
        let end = if self.is_test() {
            0
        } else {
            (0..lines.len()).find(inline).unwrap_or(lines.len())
        };
        let kept: Vec<(usize, &str)> = lines[..end]
            .iter()
            .enumerate()
            .map(|(at, line)| (at + 1, *line))
            .collect();
        kept.into_iter()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below one of the directories.
pub(crate) fn sources(dirs: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    for dir in dirs {
        gather(&root().join(dir), &mut found);
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(found.len() > 5, "the tree was found");
    found
}

fn gather(dir: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            gather(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            let name = path
                .strip_prefix(root())
                .expect("below the root")
                .display()
                .to_string();
            found.push(Source {
                path: name,
                text: fs::read_to_string(&path).expect("text"),
            });
        }
    }
}

#[track_caller]
pub(crate) fn none(what: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{what}:\n  {}", faults.join("\n  "));
}

#[test]
fn every_file_says_at_its_head_what_it_is_and_what_is_not_here() {
    let mut faults = Vec::new();
    for file in sources(&["src", "tests"]) {
        let head: String = file
            .text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .collect();
        if head.is_empty() {
            faults.push(format!("{}: begins without a `//!` header", file.path));
        } else if !file.is_test() && !head.contains("Not here") {
            faults.push(format!(
                "{}: its header does not say what is \"Not here:\"",
                file.path
            ));
        }
    }
    none("headers", &faults);
}

#[test]
fn no_file_is_long() {
    let mut faults = Vec::new();
    for file in sources(&["src", "tests"]) {
        let (lines, most) = (
            file.text.lines().count(),
            if file.is_test() { TEST_LINES_MAX } else { LINES_MAX },
        );
        if lines > most {
            faults.push(format!("{}: {lines} lines, at most {most}", file.path));
        }
    }
    none("long files", &faults);
}

#[test]
fn nothing_panics_outside_tests() {
    let words = [
        ".unwrap()",
        ".unwrap_err()",
        ".expect(",
        "panic!(",
        "unreachable!(",
        "todo!(",
        "unimplemented!(",
    ];
    let mut faults = Vec::new();
    for file in sources(&["src"]) {
        for (number, line) in file.program() {
            if words.iter().any(|word| line.contains(word)) {
                faults.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none("panics", &faults);
}

#[test]
fn no_room_is_a_bag() {
    let bags = [
        "utils", "util", "common", "helpers", "helper", "types", "models", "misc",
    ];
    let mut faults = Vec::new();
    for file in sources(&["src", "tests"]) {
        if file
            .path
            .split('/')
            .any(|part| bags.contains(&part.trim_end_matches(".rs")))
        {
            faults.push(file.path);
        }
    }
    none("a name that says nothing", &faults);
}

/// A filter that keeps all or nothing would make the rules above blind.
#[test]
fn the_reader_of_sources_tells_program_from_tests() {
    let text =
        "a();\n// b();\n#[cfg(test)]\nuse c;\n#[cfg(test)]\nmod tests {\n    d.unwrap();\n}\n".to_owned();
    let file = Source {
        path: "src/x.rs".to_owned(),
        text: text.clone(),
    };
    let seen: Vec<(usize, &str)> = file.program().collect();
    assert_eq!(seen, [(1, "a();"), (3, "#[cfg(test)]"), (4, "use c;")]);
    for path in [
        "src/x/tests.rs",
        "src/x/y_test.rs",
        "src/x/tests_y.rs",
        "tests/it/z.rs",
        "src/x/tests/w.rs",
    ] {
        assert_eq!(
            Source {
                path: path.to_owned(),
                text: text.clone()
            }
            .program()
            .count(),
            0,
            "{path}"
        );
    }
    assert!(
        !Source {
            path: "src/attest.rs".to_owned(),
            text
        }
        .is_test()
    );
}

#[test]
fn migrations_are_numbered_without_a_gap_and_each_is_in_the_program() {
    let mut names: Vec<String> = fs::read_dir(root().join("schema"))
        .expect("schema/")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .filter(|name| name.ends_with(".sql") && name != "current.sql")
        .collect();
    names.sort();
    assert!(!names.is_empty(), "schema/ holds migrations");
    let program: String = sources(&["src"]).into_iter().map(|file| file.text).collect();
    let mut faults = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let words: Vec<&str> = name.trim_end_matches(".sql").split('_').collect();
        let plain = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
        if words[0] != format!("{:04}", at + 1) || words.len() < 3 || !words[1..].iter().all(plain) {
            faults.push(format!(
                "schema/{name}: its name is not {:04}_verb_noun.sql",
                at + 1
            ));
        }
        if !program.contains(name.as_str()) {
            faults.push(format!("schema/{name}: not in the program"));
        }
    }
    none("migrations", &faults);
}

#[test]
fn statements_of_the_ledger_stand_in_its_rows() {
    // verify reads whole tables once, for no caller but a person: no index serves it, and each statement is used once.
    let exempt = ["src/ledger/verify.rs"];
    let mut faults = Vec::new();
    for file in sources(&["src/ledger", "src/daemon", "src/executor"]) {
        if file.path.contains("/rows_") || exempt.contains(&file.path.as_str()) {
            continue;
        }
        for (number, line) in file.program() {
            if ["\"SELECT ", "\"INSERT ", "\"UPDATE ", "\"DELETE FROM", "\"WITH "]
                .iter()
                .any(|word| line.contains(word))
            {
                faults.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none("SQL outside rows_*.rs", &faults);
}

#[test]
fn the_readme_names_only_what_is_there() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let mut faults = Vec::new();
    for word in readme.split('`').skip(1).step_by(2) {
        let is_place =
            word.ends_with('/') || (word.contains('.') && !word.contains(' ')) || word.starts_with("src/");
        let is_here = root().join(word).exists();
        let is_elsewhere = word.starts_with('/') || word.starts_with("notes/");
        if is_place && !is_here && !is_elsewhere {
            faults.push(word.to_owned());
        }
    }
    none("README.md names what does not exist", &faults);
    assert!(readme.lines().count() < 160, "README.md is short");
}

/// Every test and every file that ARCHITECTURE.md leans on exists, and every dependency has its reason there.
#[test]
fn the_architecture_names_only_what_is_there() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let tests: String = sources(&["src", "tests"])
        .into_iter()
        .map(|file| file.text)
        .collect();
    let mut faults = Vec::new();
    for word in page.split('`').skip(1).step_by(2) {
        let is_file = word.starts_with("src/") || word.starts_with("tests/") || word.starts_with("schema/");
        if is_file && !root().join(word).exists() {
            faults.push(format!("no file {word}"));
        }
        let is_test = word.len() > 24
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if is_test && !tests.contains(&format!("fn {word}(")) {
            faults.push(format!("no test {word}"));
        }
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml");
    let listed = manifest
        .split("[dependencies]")
        .nth(1)
        .and_then(|rest| rest.split("\n[profile").next())
        .expect("dependencies");
    for line in listed.lines() {
        let name = line.split([' ', '=']).next().unwrap_or_default();
        let is_named = page.lines().filter(|row| row.starts_with("| ")).any(|row| {
            let cell = row
                .trim_start_matches("| ")
                .split(" |")
                .next()
                .unwrap_or_default();
            cell.replace("(bundled)", "")
                .split(',')
                .any(|one| one.trim() == name)
        });
        if line.contains('=') && !line.starts_with('#') && name != "lockgate" && !is_named {
            faults.push(format!("no reason for the crate {name}"));
        }
    }
    none("ARCHITECTURE.md", &faults);
}
