//! Tests of the whole room: texts in, settings or problems out.

use super::keys::{KEYS, Key};
use super::*;
use crate::job::{JobKind, Role};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

const MINIMAL: &str = "instance = \"6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001\"\nsource.ref = \"main\"\n\
    source.repository = \"local/source\"\n";
const PRODUCTION: &str = r#"instance = "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001"
[source]
ref = "main"
repository = "team/notes"
path = "/srv/notes.git"
[vault]
path = "/srv/vault"
id = "vault-1"
shared_write_accepted = true
"#;

fn surroundings() -> Surroundings {
    let people = People::new("ada:x:1001:100::/:/bin/sh\n", "users:x:100:\nintake:x:300:ada\n");
    Surroundings {
        people: Ok(people),
        credentials_directory: None,
    }
}

fn read(installation: &Installation, texts: &[(&str, &str)]) -> Result<Config, Vec<Problem>> {
    let mut all = files::Files::default();
    for (name, text) in texts {
        all.push(PathBuf::from(name), text);
    }
    judge(&all, installation, &surroundings(), Vec::new()).map_err(|problems| problems.0)
}
fn below(text: &str) -> Result<Config, Vec<Problem>> {
    read(
        &Installation::Dir(PathBuf::from("/d")),
        &[("/d/lockgate.toml", text)],
    )
}
fn packaged(text: &str) -> Result<Config, Vec<Problem>> {
    read(&Installation::default(), &[(MAIN_FILE, text)])
}
/// `line key` of each problem, and its message.
fn told(problems: &[Problem]) -> Vec<(String, String)> {
    let place = |problem: &Problem| {
        let line = problem.line.map_or("-".to_owned(), |line| line.to_string());
        format!("{line} {}", problem.key)
    };
    problems
        .iter()
        .map(|problem| (place(problem), problem.message.clone()))
        .collect()
}
fn places(problems: &[Problem]) -> Vec<String> {
    told(problems).into_iter().map(|(place, _)| place).collect()
}

#[test]
fn a_minimal_development_file_has_every_default() {
    let config = below(MINIMAL).unwrap();
    assert_eq!(config.mode, Mode::Development);
    assert_eq!(config.source.path, Path::new("/d/source"));
    assert_eq!(
        (config.source.root.as_str(), &config.source.object_id),
        ("", &ObjectIdRule::Path)
    );
    assert_eq!(config.vault.path, Path::new("/d/vault"));
    assert_eq!(
        (config.vault.root.as_str(), config.vault.id.clone()),
        ("/app/vault/", None)
    );
    assert_eq!(
        (config.vault.kind, config.vault.shared_write),
        (VaultKind::Directory, SharedWrite::NotAccepted)
    );
    assert_eq!((config.delete.batch, config.delete.recovery_days), (16, 30));
    assert_eq!(config.delete.approval_wait, Duration::from_secs(24 * 3600));
    assert_eq!(
        (config.delete.duty, config.delete.approval.len()),
        (Duty::Shared, 0)
    );
    assert_eq!(config.limits.job_max_age, Duration::ZERO);
    assert!(config.requesters.allows(0, JobKind::Delete, "/app/vault/a"));
    assert_eq!(
        config.log,
        Log {
            format: LogFormat::Text,
            level: LogLevel::Info
        }
    );
    assert_eq!(config.layout.state_dir(Role::Save), Path::new("/d/state/save"));
    assert_eq!(config.files, [PathBuf::from("/d/lockgate.toml")]);
}

#[test]
fn writing_out_every_default_changes_nothing() {
    let mut text = MINIMAL.to_owned();
    for key in KEYS
        .iter()
        .filter(|key| !key.name().starts_with("delete.approval."))
    {
        match key {
            Key::Count(key) => text += &format!("{} = {}\n", key.name, key.default),
            Key::Time(key) => text += &format!("{} = \"{}\"\n", key.name, key.default),
            Key::Flag(key) => text += &format!("{} = {}\n", key.name, key.default),
            Key::Words(key) if key.name == "mode" => text += "mode = \"development\"\n",
            Key::Words(key) => text += &format!("{} = \"{}\"\n", key.name, key.default),
            Key::Text(_) => {}
        }
    }
    assert_eq!(below(&text).unwrap(), below(MINIMAL).unwrap());
}

#[test]
fn every_number_and_duration_is_held_to_its_limits() {
    for key in KEYS
        .iter()
        .filter(|key| !key.name().starts_with("delete.approval."))
    {
        let (name, wrong) = match key {
            Key::Count(key) => (
                key.name,
                vec![(key.min - 1).to_string(), (key.max + 1).to_string()],
            ),
            Key::Time(key) => (
                key.name,
                vec!["\"1ms\"".to_owned(), "\"99999d\"".to_owned(), "\"5\"".to_owned()],
            ),
            Key::Words(key) => (key.name, vec!["\"other\"".to_owned(), "\"\"".to_owned()]),
            Key::Flag(key) => (key.name, vec!["\"true\"".to_owned(), "1".to_owned()]),
            Key::Text(_) => continue,
        };
        for value in wrong {
            let problems = below(&format!("{MINIMAL}{name} = {value}\n")).unwrap_err();
            assert_eq!(places(&problems), [format!("4 {name}")], "{name} = {value}");
        }
    }
}

#[test]
fn the_table_of_keys_is_exactly_what_the_file_may_hold() {
    let tables: BTreeSet<&str> = KEYS
        .iter()
        .map(|key| key.name().rsplit_once('.').map_or("", |(table, _)| table))
        .collect();
    for table in &tables {
        let head = match *table {
            "" => String::new(),
            "delete.approval" | "requester" => format!("[[{table}]]\n"),
            _ => format!("[{table}]\n"),
        };
        let problems = below(&format!("{head}zz = 1\n")).unwrap_err();
        let message = told(&problems)
            .into_iter()
            .find(|(place, _)| place.ends_with("zz"))
            .unwrap()
            .1;
        let (_, expected) = message.split_once("expected").unwrap();
        let known: BTreeSet<String> = expected
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        let mut documented = BTreeSet::new();
        for name in KEYS
            .iter()
            .map(|key| key.name())
            .chain(tables.iter().copied())
            .filter(|name| !name.is_empty())
        {
            let (of, key) = name.rsplit_once('.').unwrap_or(("", name));
            if of == *table {
                documented.insert(key.to_owned());
            }
        }
        assert_eq!(known, documented, "[{table}]");
    }
}

#[test]
fn unknown_keys_wrong_types_and_wrong_values_are_told_together_with_their_lines() {
    let text = r#"mode = "productoin"
instance = "6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001"
instnace = 1
[source]
ref = 7
repository = "local/source"
kind = "forgejo"
[source.limits]
blob_bytes_max = "64MiB"
[delete]
batch = 0
approval_wait = 3600
batchh = 4
[[delete.approval]]
paths = ["/app/vault/**", 3]
[[delete.approval]]
required = 17
quorum = 2
paths = ["/elsewhere/**"]
[vault]
root = "app/vault"
[logg]
x = 1
"#;
    let problems = below(text).unwrap_err();
    assert_eq!(
        places(&problems),
        [
            "1 mode",
            "3 instnace",
            "5 source.ref",
            "7 source.kind",
            "9 source.limits.blob_bytes_max",
            "11 delete.batch",
            "12 delete.approval_wait",
            "13 delete.batchh",
            "15 delete.approval.paths",
            "17 delete.approval.required",
            "18 delete.approval.quorum",
            "19 delete.approval.paths",
            "21 vault.root",
            "22 logg",
        ],
        "{problems:#?}"
    );
    let all = told(&problems);
    assert!(all[1].1.contains("unknown key `instnace`"), "{all:?}");
    assert!(
        all[2].1.contains("wrong type") && all[2].1.contains("expected a string"),
        "{all:?}"
    );
    assert!(all[3].1.contains("not in this build yet"));
    assert!(all.iter().all(|(_, message)| !message.contains('\n')));
}

#[test]
fn syntax_errors_are_told_beside_the_rest() {
    let problems = below("instance = \nsource.ref = \"main\"\n[save]\nbatch = \"x\"\n[delete\n").unwrap_err();
    let lines: Vec<Option<u32>> = problems.iter().map(|problem| problem.line).collect();
    assert!(
        lines.contains(&Some(1)) && lines.contains(&Some(4)) && lines.contains(&Some(5)),
        "{problems:#?}"
    );
    assert!(
        problems
            .iter()
            .all(|problem| !problem.message.contains("must be set")),
        "{problems:#?}"
    );
    let problems = below(&format!("{MINIMAL}source.ref = \"x\"\n")).unwrap_err();
    assert_eq!(problems[0].line, Some(4), "{problems:#?}");
}

#[test]
fn hostile_texts_are_problems_and_never_more() {
    let deep = format!("a = {}1{}", "[".repeat(5000), "]".repeat(5000));
    let dotted = format!("{}x = 1", "a.".repeat(100_000));
    let tables = format!("[{}x]\ny = 1", "a.".repeat(100_000));
    let inline = format!("x = {}1{}", "{a=".repeat(20_000), "}".repeat(20_000));
    let many: String = (0..1000).map(|n| format!("k{n} = 1\n")).collect();
    for text in [
        "",
        "\u{feff}mode = 1",
        "\0",
        "= 1",
        "[[",
        "mode",
        "a.b.c = 1\na.b = 2",
        "mode = nan",
        "[mode]\na = 1",
        "delete = 3",
        "source = []",
        "[[save]]",
        "requester = [1]",
        "requester = {}",
        &deep,
        &dotted,
        &tables,
        &inline,
        &many,
    ] {
        assert!(!below(text).unwrap_err().is_empty());
    }
}

#[test]
fn what_must_be_set_is_told_by_name() {
    assert_eq!(
        places(&below("").unwrap_err()),
        ["- instance", "- source.ref", "- source.repository"]
    );
    assert_eq!(
        places(&packaged("").unwrap_err()),
        [
            "- instance",
            "- source.path",
            "- source.ref",
            "- source.repository",
            "- vault.id",
            "- vault.path",
            "- vault.shared_write_accepted"
        ]
    );
}

#[test]
fn files_are_joined_and_a_key_set_twice_is_told_with_both_places() {
    let installation = Installation::Dir(PathBuf::from("/d"));
    let good = read(
        &installation,
        &[
            ("a", MINIMAL),
            ("b", "[save]\nbatch = 7\n[source]\nroot = \"notes\"\n"),
            ("c", "save.workers = 3\n"),
        ],
    )
    .unwrap();
    assert_eq!(
        (good.save.batch, good.save.workers, good.source.root.as_str()),
        (7, 3, "notes/")
    );
    let rule = "[[delete.approval]]\npaths = [\"/app/vault/**\"]\n";
    let text = format!("{MINIMAL}save.batch = 1\n{rule}");
    let second = format!("\n\n[save]\nbatch = 1\n{rule}");
    let problems = read(
        &installation,
        &[("a", &text), ("b", &second), ("c", "mode = 1\nsave = 2\n")],
    )
    .unwrap_err();
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "b:4: save.batch: is already set in a line 4; a key may stand in one file only",
            "b:5: delete.approval: is already set in a line 5; a key may stand in one file only",
            "c:1: mode: wrong type: integer `1`, expected a string",
            "c:2: save: is already set in a line 4; a key may stand in one file only",
        ]
    );
}

#[test]
fn production_refuses_shortcuts_and_placeholders() {
    assert_eq!(packaged(PRODUCTION).unwrap().mode, Mode::Production);
    let noop = format!("{PRODUCTION}kind = \"noop\"\n");
    assert_eq!(places(&packaged(&noop).unwrap_err()), ["10 vault.kind"]);
    assert!(below(&format!("{MINIMAL}vault.kind = \"noop\"\n")).is_ok());
    let unaccepted = PRODUCTION.replace("accepted = true", "accepted = false");
    assert_eq!(
        places(&packaged(&unaccepted).unwrap_err()),
        ["- vault.shared_write_accepted"]
    );
    let relative = PRODUCTION
        .replace("/srv/vault", "srv/vault")
        .replace("/srv/notes.git", "/srv/../notes");
    assert_eq!(
        places(&packaged(&relative).unwrap_err()),
        ["5 source.path", "7 vault.path"]
    );
    for id in [
        "00000000-0000-0000-0000-000000000000",
        "CHANGE-ME",
        "11111111-1111-4111-8111-111111111111",
        "",
        "0",
        "6F0C2E9E-9A51-4A0F-9D0B-5D5D5D5D0001",
        "my-host",
        "example",
    ] {
        let text = PRODUCTION.replace("6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001", id);
        assert_eq!(places(&packaged(&text).unwrap_err()), ["1 instance"], "{id}");
    }
    assert!(below(&MINIMAL.replace("6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001", "my-host")).is_ok());
}

#[test]
fn drivers_that_are_not_built_say_so() {
    for (table, kind) in [
        ("source", "forgejo"),
        ("source", "git-http"),
        ("vault", "tolaria"),
    ] {
        let problems = below(&format!(
            "{MINIMAL}{table}.kind = \"{kind}\"\n{table}.url = \"https://x\"\n"
        ))
        .unwrap_err();
        assert_eq!(places(&problems), [format!("4 {table}.kind")]);
        assert!(problems[0].message.contains("not in this build yet"));
    }
    let problems = below(&format!(
        "{MINIMAL}source.url = \"https://x\"\nvault.ca_file = \"/x\"\n"
    ))
    .unwrap_err();
    assert_eq!(places(&problems), ["4 source.url", "5 vault.ca_file"]);
}

#[test]
fn paths_below_a_directory_are_relative_to_it() {
    let config = below(&format!(
        "{MINIMAL}source.path = \"repo\"\nvault.path = \"/elsewhere\"\n"
    ))
    .unwrap();
    assert_eq!(config.source.path, Path::new("/d/repo"));
    assert_eq!(config.vault.path, Path::new("/elsewhere"));
    assert_eq!(
        places(&below(&format!("{MINIMAL}paths.run = \"/run\"\n")).unwrap_err()),
        ["4 paths.run"]
    );
    let moved = packaged(&format!(
        "{PRODUCTION}[paths]\nrun = \"/run/other\"\nspool = \"/s\"\n"
    ))
    .unwrap();
    assert_eq!(
        moved.layout.gateway_socket(),
        Path::new("/run/other/gateway.sock")
    );
    assert_eq!(moved.layout.drop_dir(Role::Save), Path::new("/s/save/drop"));
    let long = Installation::Dir(PathBuf::from(format!("/{}", "d".repeat(90))));
    let problems = read(&long, &[("x", MINIMAL)]).unwrap_err();
    assert!(problems[0].message.contains("shorter directory"), "{problems:?}");
}

#[test]
fn branches_roots_and_object_ids_are_judged() {
    for (key, good, bad) in [
        (
            "source.ref",
            vec!["main", "refs/heads/main", "team/x"],
            vec![
                "",
                "refs/tags/v1",
                "a..b",
                "-x",
                "a b",
                "HEAD",
                "a/",
                "/a",
                ".a",
                "a.lock",
                "@",
                "a@{1}",
                "a\\\\b",
            ],
        ),
        (
            "source.root",
            vec!["", "notes", "notes/", "a/b"],
            vec!["/", "/a", "../a", "a//b", ".git", "a/./b"],
        ),
        (
            "source.object_id",
            vec!["path", "front-matter:id"],
            vec!["", "front-matter:", "front-matter:a b", "Path"],
        ),
        (
            "vault.root",
            vec!["/app/vault/", "/v"],
            vec!["", "/", "//", "v/", "/a/../b/", "/a//b/"],
        ),
        ("vault.id", vec!["v1"], vec!["", "a b", "a\\nb"]),
    ] {
        let base = MINIMAL
            .lines()
            .filter(|line| !line.starts_with(key))
            .collect::<Vec<_>>()
            .join("\n");
        for value in good {
            assert!(
                below(&format!("{base}\n{key} = \"{value}\"\n")).is_ok(),
                "{key} = {value:?}"
            );
        }
        for value in bad {
            let problems = below(&format!("{base}\n{key} = \"{value}\"\n")).unwrap_err();
            assert!(
                places(&problems)[0].ends_with(key) && problems.len() == 1,
                "{key} = {value:?} {problems:?}"
            );
        }
    }
}

#[test]
fn requesters_are_named_by_uid_or_group() {
    let rules = "[[requester]]\ngroup = \"intake\"\nkinds = [\"C5_SAVE_OBJECT\"]\npaths = [\"/app/vault/notes/**\"]\n\
        [[requester]]\nuid = 7\nkinds = [\"delete\"]\n";
    let policy = below(&format!("{MINIMAL}{rules}")).unwrap().requesters;
    assert!(policy.allows(1001, JobKind::Save, "/app/vault/notes/a"));
    assert!(!policy.allows(1001, JobKind::Save, "/app/vault/a"));
    assert!(policy.allows(7, JobKind::Delete, "/app/vault/a"));
    assert!(!policy.allows(0, JobKind::Delete, "/app/vault/a"));
    for (table, place) in [
        ("group = \"wheel\"", "5 requester.group"),
        ("uid = -1", "5 requester.uid"),
        ("uid = 4294967295", "5 requester.uid"),
        ("uid = 1\ngroup = \"intake\"", "6 requester.group"),
        ("uid = 1\nkinds = []", "6 requester.kinds"),
        ("uid = 1\nkinds = [\"C5_save_object\"]", "6 requester.kinds"),
        ("uid = 1\npaths = []", "6 requester.paths"),
        ("", "4 requester"),
    ] {
        let problems = below(&format!("{MINIMAL}[[requester]]\n{table}\n")).unwrap_err();
        assert_eq!(places(&problems), [place], "{table}");
    }
}

#[test]
fn the_playground_file_is_a_whole_configuration() {
    let config = below(&default_toml("6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001", "v-1")).unwrap();
    assert_eq!(config.mode, Mode::Development);
    assert_eq!(
        (
            config.source.reference.as_str(),
            config.source.repository.as_str()
        ),
        ("main", "local/source")
    );
    assert_eq!(config.vault.id.as_deref(), Some("v-1"));
    let rule = &config.delete.approval[0];
    assert_eq!(config.delete.approval.len(), 1);
    assert_eq!((rule.paths[0].as_str(), rule.required), ("/app/vault/**", 1));
    assert_eq!(rule.max_age, Duration::from_secs(24 * 3600));
    assert_eq!(rule.user_verification, UserVerification::NotRequired);
}

#[test]
fn every_shipped_example_is_a_whole_configuration() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/examples");
    let mut count = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        let found = load_with(&Installation::File(path.clone()), &surroundings());
        assert!(found.is_ok(), "{}: {found:?}", path.display());
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn files_on_disk_are_read_in_order_and_unreadable_ones_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let installation = Installation::Dir(dir.path().to_owned());
    let problems = load_with(&installation, &surroundings()).unwrap_err();
    assert_eq!(problems.0.len(), 1, "{problems}");
    std::fs::write(dir.path().join("lockgate.toml"), MINIMAL).unwrap();
    let extra = dir.path().join("conf.d");
    std::fs::create_dir(&extra).unwrap();
    std::fs::write(extra.join("20.toml"), "save.batch = 5\n").unwrap();
    std::fs::write(extra.join("10.toml"), "save.workers = 2\n").unwrap();
    std::fs::write(extra.join(".hidden.toml"), "broken").unwrap();
    std::fs::write(extra.join("30.toml.bak"), "broken").unwrap();
    let config = load_with(&installation, &surroundings()).unwrap();
    assert_eq!(
        (config.save.batch, config.save.workers, config.files.len()),
        (5, 2, 3)
    );
    std::fs::write(extra.join("40.toml"), b"\xff").unwrap();
    std::fs::write(extra.join("50.toml"), vec![b'#'; 300 * 1024]).unwrap();
    std::fs::create_dir(extra.join("60.toml")).unwrap();
    let problems = load_with(&installation, &surroundings()).unwrap_err();
    assert_eq!(problems.0.len(), 3, "{problems}");
}
