//! README.md keeps its word: its walk is pasted, line for line as it stands, into a shell beside a real `lockgate up`.
//!
//! Not here: what the steps mean (tests/it); the two commands at its head (.ci/run).

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const README: &str = include_str!("../README.md");

/// The text of every `sh` block after the mark, up to the next mark or heading.
fn walk(mark: &str) -> String {
    let mark = format!("<!-- walk: {mark} -->");
    let part = README.split_once(&mark).expect("README.md has the mark").1;
    let end = ["<!-- walk:", "\n## "]
        .iter()
        .filter_map(|end| part.find(end))
        .min();
    let mut text = String::new();
    let mut inside = false;
    for line in part[..end.unwrap_or(part.len())].lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => text.extend([line, "\n"]),
            _ => {}
        }
    }
    text
}

/// Bash as a person at the root of the checkout has it, but that the programs are those under test: a directory whose
/// `target/debug` is where they are.
fn bash(place: &Path, play: &Path) -> Command {
    // Whoever waits for a receipt is told at once: a missed sign would cost 25 s.
    let mut bash = Command::new("timeout");
    bash.args(["--kill-after=5", "20", "bash", "--noprofile", "--norc", "-s"])
        .current_dir(place)
        .env("DIR", play)
        .stdin(Stdio::piped());
    bash
}

struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let pid = self.0.id().to_string();
        let _sent = Command::new("kill").args(["-TERM", &pid]).status();
        let _ended = self.0.wait();
    }
}

#[test]
fn the_walk_in_the_readme_works_when_pasted() {
    let room = tempfile::tempdir().expect("a directory");
    let place = room.path().join("checkout");
    let play = room.path().join("play");
    let programs = Path::new(env!("CARGO_BIN_EXE_lockgate"))
        .parent()
        .expect("a directory");
    fs::create_dir_all(place.join("target")).expect("made");
    std::os::unix::fs::symlink(programs, place.join("target/debug")).expect("linked");

    let up = walk("up");
    assert!(
        up.starts_with("cargo build\n"),
        "the walk begins with the build:\n{up}"
    );
    // Cargo built the programs already; `timeout` hands the signal on to `exec`ed `up`.
    let up = up
        .replace("cargo build\n", "")
        .replace("\nlockgate up", "\nexec lockgate up");
    assert!(
        up.contains("exec lockgate up"),
        "the walk brings a playground up:\n{up}"
    );
    let mut child = Up(bash(&place, &play)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash starts"));
    child
        .0
        .stdin
        .take()
        .expect("piped")
        .write_all(up.as_bytes())
        .expect("told");
    let mut told = BufReader::new(child.0.stdout.take().expect("piped"));
    let mut first = String::new();
    told.read_line(&mut first).expect("a line");
    assert!(first.starts_with("lockgate is up below "), "{first:?}");

    let steps = walk("steps");
    assert!(steps.lines().count() > 15, "the walk was found:\n{steps}");
    let mut shell = bash(&place, &play)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash starts");
    // Told at the end of the shell's input: the first line that fails ends it there and is named.
    let script =
        format!("set -eEu -o pipefail\ntrap 'echo \"this line failed: $BASH_COMMAND\" >&2' ERR\n{steps}");
    shell
        .stdin
        .take()
        .expect("piped")
        .write_all(script.as_bytes())
        .expect("told");
    let done = shell.wait_with_output().expect("bash ends");
    let (out, talk) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(done.status.success(), "{}\n{out}\n{talk}", done.status);
    for seen in [
        "SUCCEEDED",
        "approval_missing",
        "deleted",
        "verified",
        "{\"status\":\"ok\"}",
    ] {
        assert!(
            out.contains(seen) || talk.contains(seen),
            "{seen} was to be seen:\n{out}\n{talk}"
        );
    }
    assert!(
        !play.join("vault/notes/old.md").exists(),
        "the approved delete happened"
    );
    assert_eq!(
        fs::read(play.join("vault/notes/hello.md")).expect("saved"),
        fs::read(play.join("source/notes/hello.md")).expect("there"),
    );

    drop(child);
    let mut rest = String::new();
    told.read_to_string(&mut rest).expect("read to the end");
    assert!(
        rest.contains("audit verify"),
        "`up` tells the next steps:\n{rest}"
    );
}

#[test]
fn the_two_commands_at_the_head_are_those_that_ci_runs() {
    let ci = include_str!("../.ci/run");
    for command in ["cargo run --release -- demo", "cargo test"] {
        assert!(
            README.contains(&format!("```sh\n{command}\n```")),
            "README.md tells: {command}"
        );
    }
    assert!(ci.contains("cargo test --locked"), "CI runs the tests");
    assert!(
        ci.contains("cargo run --locked --release -- demo"),
        "CI runs the demo"
    );
}
