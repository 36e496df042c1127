//! Who may import whom, and who may use which crate.
//!
//! The rooms stand in reading order; a room imports only rooms above it, so the arrows point one way. An arrow nobody uses
//! is removed from the table. Tests of a room may import what they like. `src/lib.rs` shows the same table to people.

use super::{Source, none, sources};
use std::collections::{BTreeMap, BTreeSet};

/// Each room with what it may import.
const ROOMS: &[(&str, &str)] = &[
    ("exit", ""),
    ("clock", ""),
    ("failpoint", ""),
    ("job", "clock"),
    ("throttle", "clock"),
    ("durable", "job failpoint"),
    ("workers", "job"),
    ("epoch", "job durable failpoint"),
    ("credentials", "job durable"),
    ("keyring", "credentials"),
    ("sqlite", "failpoint"),
    ("config", "job"),
    ("approval", "job clock"),
    ("signing", "approval job clock"),
    ("admission", "job approval"),
    ("intake", "job clock throttle failpoint"),
    ("fence", "job durable failpoint"),
    ("spent", "job clock durable failpoint"),
    ("recovery", "job clock durable failpoint keyring"),
    ("source", "job"),
    ("target", "job failpoint"),
    ("ledger", "sqlite job clock throttle approval admission"),
    ("roles", "job source target ledger"),
    ("settlement", "job target ledger throttle"),
    ("http", "job"),
    (
        "executor",
        "admission approval clock config epoch exit failpoint fence http intake job ledger recovery roles settlement source \
         spent sqlite target throttle workers",
    ),
    ("gateway", "job clock intake throttle http failpoint"),
    (
        "daemon",
        "admission approval clock config credentials durable epoch executor exit failpoint fence gateway http intake job \
         keyring ledger recovery source spent sqlite target throttle workers",
    ),
    (
        "cli",
        "admission approval clock config credentials daemon durable exit failpoint fence gateway http intake job ledger \
         signing source target workers",
    ),
];

/// Crates that only these rooms may name: each is a door to the outside or to a secret.
const DOORS: &[(&str, &str)] = &[
    ("rusqlite", "sqlite ledger"),
    ("r2d2", "sqlite"),
    ("gix", "source"),
    ("ed25519_dalek", "approval signing"),
    ("ssh_key", "signing"),
    ("aes_gcm", "keyring"),
    ("hkdf", "keyring"),
    ("inotify", "intake"),
    ("hyper", "http gateway"),
    ("hyper_util", "http"),
    ("http_body_util", "http"),
    ("tokio", "http gateway"),
    ("clap", "cli bin"),
    ("toml", "config"),
    ("sd_listen_fds", "daemon"),
    ("tracing_subscriber", "daemon"),
];

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

fn room(path: &str) -> &str {
    path.trim_start_matches("src/")
        .split('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs")
}

/// The rooms a file names: in `crate::room…`, or in `crate::{room…, room…}` over several lines.
fn imports(file: &Source, prefix: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut depth, mut text) = (0usize, String::new());
    for (number, line) in file.program() {
        let mut rest = line;
        if depth == 0 {
            while let Some((_, after)) = rest.split_once(prefix) {
                if let Some(list) = after.strip_prefix('{') {
                    depth = 1;
                    text.clear();
                    rest = list;
                    break;
                }
                let name: String = after
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                found.push((number, name));
                rest = after;
            }
        }
        if depth > 0 {
            for letter in rest.chars() {
                match letter {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 || (depth == 1 && letter == ',') {
                    let name: String = text
                        .trim()
                        .split([':', '{', ' '])
                        .next()
                        .unwrap_or_default()
                        .to_owned();
                    found.push((number, name));
                    text.clear();
                    if depth == 0 {
                        break;
                    }
                } else {
                    text.push(letter);
                }
            }
        }
    }
    found.retain(|(_, name)| !name.is_empty());
    found
}

#[test]
fn imports_point_one_way() {
    let table: BTreeMap<&str, BTreeSet<&str>> = ROOMS.iter().map(|(room, may)| (*room, words(may))).collect();
    let mut faults = Vec::new();
    let mut above = BTreeSet::new();
    for (room, may) in ROOMS {
        for one in words(may) {
            if !above.contains(one) {
                faults.push(format!(
                    "the table: {room} imports {one}, which does not stand above it"
                ));
            }
        }
        above.insert(*room);
    }
    let mut used: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let files = sources(&["src"]);
    for file in files.iter().filter(|file| !file.is_test()) {
        let own = room(&file.path);
        if ["lib", "main", "bin"].contains(&own) {
            continue;
        }
        let Some(may) = table.get(own) else {
            faults.push(format!("{}: the room {own} is not in the table", file.path));
            continue;
        };
        for (number, name) in imports(file, "crate::") {
            if name != own && !may.contains(name.as_str()) {
                faults.push(format!("{}:{number}: {own} may not import {name}", file.path));
            }
            used.entry(own).or_default().insert(name);
        }
    }
    for (room, may) in &table {
        let seen = used.remove(room).unwrap_or_default();
        for one in may.iter().filter(|one| !seen.contains(**one)) {
            faults.push(format!("the table: {room} no longer imports {one}; remove it"));
        }
    }
    none("imports", &faults);
}

#[test]
fn the_map_lists_the_rooms_in_the_order_of_the_table() {
    let map = include_str!("../../src/lib.rs");
    let mut last = 0;
    for (room, _) in ROOMS {
        let entry = map.find(&format!("//! | [`{room}`] |"));
        let at = entry.unwrap_or_else(|| panic!("src/lib.rs has no line for {room}"));
        assert!(at > last, "src/lib.rs has {room} in another place than the table");
        last = at;
        assert!(map.contains(&format!("pub mod {room};")), "{room} is a module");
    }
    let modules = map.lines().filter(|line| line.starts_with("pub mod ")).count();
    assert_eq!(modules, ROOMS.len(), "every module is in the table");
    for (room, may) in ROOMS {
        let line = map
            .lines()
            .find(|line| line.starts_with(&format!("//! | [`{room}`] |")))
            .unwrap_or_default();
        let cell = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let shown: BTreeSet<&str> = cell.split_whitespace().filter(|word| *word != "—").collect();
        assert_eq!(shown, words(may), "src/lib.rs, the arrows of {room}");
    }
}

#[test]
fn outside_doors_have_one_keeper() {
    let mut faults = Vec::new();
    for file in sources(&["src"]).iter().filter(|file| !file.is_test()) {
        let own = room(&file.path);
        for (number, line) in file.program() {
            for (name, keepers) in DOORS {
                let door = format!("{name}::");
                let mut parts = line.split(&door);
                let before = parts.next().unwrap_or_default();
                let is_named = parts.next().is_some()
                    && !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':');
                if is_named && !words(keepers).contains(own) {
                    faults.push(format!("{}:{number}: only {keepers} may use {name}", file.path));
                }
            }
        }
    }
    none("doors", &faults);
}

/// If the reader of imports saw nothing, every table would hold.
#[test]
fn imports_are_read_in_every_form() {
    let text = "use crate::job::Role;\nuse crate::{durable, failpoint};\nuse crate::{\n    clock::{Clock, WallMs},\n    sqlite,\n};\n\
                let a = crate::exit::Exit::Done(crate::fence::x());\n// crate::not::this\n";
    let file = Source {
        path: "src/x.rs".to_owned(),
        text: text.to_owned(),
    };
    let names: Vec<String> = imports(&file, "crate::")
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(
        names,
        ["job", "durable", "failpoint", "clock", "sqlite", "exit", "fence"]
    );
}
