//! Tests of the words: what is understood, and what is told.

use super::*;
use crate::job::{JobKind, Role, State};
use clap::CommandFactory;

const JOB: &str = "3b241101-e2bb-4255-8caf-4136c566a962";

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("lockgate").chain(line.split_whitespace()))
}
fn status(line: &str) -> i32 {
    parse(line).map_or_else(|error| error.exit_code(), |_| -1)
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_verb_of_the_contract_is_understood() {
    let digest = "a".repeat(64);
    for line in [
        "draft save /app/vault/a.md",
        "draft delete /app/vault/a.md --commit 1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f",
        "submit job.json",
        "submit --wait -",
        &format!("status {JOB}"),
        &format!("status {digest}"),
        &format!("cancel {JOB}"),
        &format!("cancel {JOB} --reason typo"),
        &format!("approval draft {JOB}"),
        "approval draft job.json",
        "approval submit envelope.json",
        "approval withdraw -",
        "overview --json",
        "jobs delete --state READY --after x",
        &format!("show {JOB}"),
        &format!("why {JOB} --json"),
        &format!("resolve {JOB} --applied --reason seen"),
        &format!("resolve {JOB} --not-applied --reason seen"),
        &format!("requeue {JOB} --reason again"),
        &format!("probe {JOB} --reason look"),
        "adopt /app/vault/a.md",
        &format!("recover {JOB}"),
        "pause save",
        "resolve --all --if-evidence not-applied --reason seen",
        "requeue --all --if-evidence not-sent --role delete --reason cut",
        "probe --all --reason look",
        "approval draft job.json --out payload.json",
        "approval submit --payload payload.json --signature payload.json.sig",
        "audit verify --file copy.db --against 12:x",
        "draft save notes/a.md",
        "resume --all",
        "freeze --all --reason fire",
        "unfreeze delete",
        "clock accept",
        "audit export save",
        "audit verify delete --against head.txt",
        "audit checkpoint save",
        "config check",
        "config check --online",
        "backup create save",
        "backup list delete",
        "backup verify save",
        "restore delete backup.db",
        "state destroy",
        "state destroy --confirm 92cf5dc6-8867-4cf1-9f2a-36336fde609c",
        "backup create save --reason upgrade",
        "explain target_drift",
        "demo",
        "up --dir /tmp/x",
        "serve save --config /x.toml",
        "serve gateway --log-level debug",
        "completions bash",
        "man",
        "man out",
    ] {
        assert!(
            parse(line).is_ok(),
            "{line}: {}",
            parse(line).err().map(|e| e.to_string()).unwrap_or_default()
        );
        let first = line.split(' ').next().unwrap();
        assert!(
            parse(&format!("--dir /d {line}")).is_ok() || line.contains("--"),
            "{first} takes --dir before it"
        );
    }
}

#[test]
fn wrong_words_are_wrong_usage() {
    for line in [
        "",
        "nothing",
        "serve",
        "serve relay",
        "serve SAVE",
        "pause",
        "pause --all save",
        "pause gateway",
        "jobs gateway",
        "jobs save --state ready",
        "jobs save --limit 0",
        "draft move /x",
        "status X",
        "status 3B241101-E2BB-4255-8CAF-4136C566A962",
        &format!("resolve {JOB} --reason x"),
        &format!("resolve {JOB} --applied --not-applied --reason x"),
        &format!("resolve {JOB} --applied"),
        &format!("requeue {JOB}"),
        "requeue --all --reason x",
        &format!("resolve {JOB} --if-evidence applied --reason x"),
        "resolve --all --applied --reason x",
        "resolve --all --if-evidence not-sent --reason x",
        &format!("probe {JOB} --all --reason x"),
        "approval submit",
        "approval submit envelope.json --payload p",
        "approval submit --payload p",
        "audit verify",
        "audit verify save --file x",
        "draft save /app/vault/a.md --commit HEAD",
        "jobs save --after ../x",
        "overview --dir /a --config /b",
        "maintain backup --role save",
        "keys list",
        "doctor",
        "config egress",
        "completions tcsh9",
    ] {
        assert_eq!(status(line), 2, "{line}");
    }
    let empty = ["lockgate", "requeue", JOB, "--reason", " "];
    assert_eq!(Cli::try_parse_from(empty).unwrap_err().exit_code(), 2);
    assert_eq!(
        (status("--help"), status("--version"), status("help submit")),
        (0, 0, 0)
    );
}

#[test]
fn words_become_values() {
    let Command::Draft(draft) = parse("draft delete /app/vault/a.md").unwrap().command else {
        panic!("draft")
    };
    assert_eq!(
        (draft.kind, draft.path.as_str()),
        (JobKind::Delete, "/app/vault/a.md")
    );
    let Command::Jobs(jobs) = parse("jobs save --state OUTCOME_UNKNOWN").unwrap().command else {
        panic!("jobs")
    };
    assert_eq!(
        (jobs.role, jobs.state, jobs.limit),
        (Role::Save, Some(State::OutcomeUnknown), 100)
    );
    let Command::Freeze(freeze) = parse("freeze --all").unwrap().command else {
        panic!("freeze")
    };
    assert_eq!(freeze.roles(), Role::EXECUTORS);
    let Command::Pause(pause) = parse("pause delete").unwrap().command else {
        panic!("pause")
    };
    assert_eq!(pause.roles(), [Role::Delete]);
    let line = format!("resolve {JOB} --not-applied --reason gone");
    let Command::Resolve(resolve) = parse(&line).unwrap().command else {
        panic!("resolve")
    };
    assert_eq!(
        (resolve.found(), resolve.reason.as_str()),
        (resolve::Found::NotApplied, "gone")
    );
    let line = "resolve --all --if-evidence applied --reason gone";
    let Command::Resolve(resolve) = parse(line).unwrap().command else {
        panic!("resolve")
    };
    assert_eq!(
        (resolve.found(), resolve.which.job),
        (resolve::Found::Applied, None)
    );
}

#[test]
fn the_long_help_names_every_exit_status() {
    for exit in Exit::ALL {
        assert!(
            AFTER_LONG.contains(&format!("{}  {}", exit.code(), exit.meaning())),
            "{exit:?}"
        );
    }
}

#[test]
fn the_first_line_of_each_help_says_what_the_verb_does() {
    for verb in Cli::command().get_subcommands() {
        assert!(
            verb.get_about()
                .is_some_and(|about| !about.to_string().is_empty()),
            "{}",
            verb.get_name()
        );
    }
}

/// Every command that does something by itself.
fn leaves(verb: &clap::Command, path: String, out: &mut Vec<(String, String)>) {
    if verb.get_name() == "help" {
        return;
    }
    let deeper: Vec<_> = verb.get_subcommands().collect();
    if deeper.is_empty() {
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        out.push((path, help));
        return;
    }
    for one in deeper {
        leaves(one, format!("{path} {}", one.get_name()), out);
    }
}

#[test]
fn every_help_has_an_example_that_is_understood() {
    let mut all = Vec::new();
    leaves(&Cli::command(), "lockgate".to_owned(), &mut all);
    assert!(all.len() > 35, "{}", all.len());
    for (path, help) in all {
        let examples: Vec<&str> = help
            .lines()
            .filter(|line| line.trim_start().starts_with("lockgate "))
            .collect();
        assert!(!examples.is_empty(), "{path} has no example");
        for example in examples {
            // Up to a pipe, a redirection or a comment, with ids and words in the places of theirs.
            let end = example.find(['|', '>', '#', '&']).unwrap_or(example.len());
            let line = example
                .get(..end)
                .unwrap_or_default()
                .split("   ")
                .find(|part| !part.trim().is_empty());
            let quoted: Vec<&str> = line.unwrap_or_default().split('"').collect();
            let words = quoted.iter().enumerate().flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
                _ => vec![(*part).to_owned()],
            });
            let words: Vec<String> = words
                .map(|word| if word == "JOB" { JOB.to_owned() } else { word })
                .collect();
            if let Err(error) = Cli::try_parse_from(&words) {
                assert_eq!(error.exit_code(), 0, "{path}: {example}: {error}");
            }
        }
    }
}

#[test]
fn nobody_is_told_to_try_again_where_looking_comes_first() {
    for name in ["why", "resolve", "probe", "adopt", "requeue"] {
        let mut cli = Cli::command();
        let verb = cli.find_subcommand_mut(name).unwrap();
        let help = verb.render_long_help().to_string().to_lowercase();
        assert!(!help.contains("try again"), "{name}");
    }
    for name in ["resolve", "adopt", "requeue"] {
        let mut cli = Cli::command();
        let help = cli
            .find_subcommand_mut(name)
            .unwrap()
            .render_long_help()
            .to_string();
        assert!(help.contains("Check first"), "{name}");
    }
}
