//! README.md keeps its word: its walk is pasted, line for line as it stands, into a shell beside a real `lockgate up`.
//!
//! Not here: what the steps mean (tests/it); the two commands at its head (.ci/run).

#![expect(clippy::expect_used, reason = "a test that cannot go on says so and ends")]

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

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

/// The checkout as a person has it, with the programs under test where `cargo build` puts them, and a place to play.
struct Site {
    _room: tempfile::TempDir,
    checkout: PathBuf,
    play: PathBuf,
}

impl Site {
    fn new() -> Site {
        let room = tempfile::tempdir().expect("a directory");
        let (checkout, play) = (room.path().join("checkout"), room.path().join("play"));
        let programs = Path::new(env!("CARGO_BIN_EXE_lockgate"))
            .parent()
            .expect("a directory");
        fs::create_dir_all(checkout.join("target")).expect("made");
        std::os::unix::fs::symlink(programs, checkout.join("target/debug")).expect("linked");
        Site {
            _room: room,
            checkout,
            play,
        }
    }

    /// A shell that was told `script`, and ends with it. Whoever waits for a receipt is told at once: a missed sign would
    /// cost 25 s, and the shell has 20.
    fn shell(&self, script: &str) -> Child {
        let mut bash = Command::new("timeout");
        bash.args(["--kill-after=5", "20", "bash", "--noprofile", "--norc", "-s"])
            .current_dir(&self.checkout)
            .env("DIR", &self.play);
        let piped = bash
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut shell = piped.spawn().expect("bash starts");
        shell
            .stdin
            .take()
            .expect("piped")
            .write_all(script.as_bytes())
            .expect("told");
        shell
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.play.join(path)).ok()
    }
}

/// `lockgate up`, ended with its owner.
struct Up {
    shell: Child,
    told: BufReader<ChildStdout>,
}

impl Up {
    fn start(site: &Site) -> Up {
        let up = walk("up");
        assert!(
            up.starts_with("cargo build\n"),
            "the walk begins with the build:\n{up}"
        );
        // Cargo built the programs already; `exec` lets `timeout` hand the signal on to `up` itself.
        let up = up
            .replace("cargo build\n", "")
            .replace("\nlockgate up", "\nexec 2>/dev/null lockgate up");
        assert!(
            up.contains("exec 2>/dev/null lockgate up"),
            "the walk brings a playground up:\n{up}"
        );
        let mut shell = site.shell(&up);
        let mut told = BufReader::new(shell.stdout.take().expect("piped"));
        let mut first = String::new();
        told.read_line(&mut first).expect("a line");
        assert!(first.starts_with("lockgate is up below "), "{first:?}");
        Up { shell, told }
    }

    /// Stops it; the rest of what it told.
    fn end(&mut self) -> String {
        let pid = self.shell.id().to_string();
        let _sent = Command::new("kill").args(["-TERM", &pid]).status();
        let _ended = self.shell.wait();
        let mut rest = String::new();
        self.told.read_to_string(&mut rest).expect("read to the end");
        rest
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if matches!(self.shell.try_wait(), Ok(None)) {
            drop(self.end());
        }
    }
}

#[test]
fn the_walk_in_the_readme_works_when_pasted() {
    let site = Site::new();
    let mut up = Up::start(&site);
    let steps = walk("steps");
    assert!(steps.lines().count() > 15, "the walk was found:\n{steps}");
    // The first line that fails ends the shell and is named.
    let trap = "trap 'echo \"this line failed: $BASH_COMMAND\" >&2' ERR";
    let shell = site.shell(&format!("set -eEu -o pipefail\n{trap}\n{steps}"));
    let done = shell.wait_with_output().expect("bash ends");
    let seen = format!(
        "{}\n{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(done.status.success(), "{}\n{seen}", done.status);
    for word in [
        "SUCCEEDED",
        "approval_missing",
        "deleted",
        "verified",
        "{\"status\":\"ok\"}",
    ] {
        assert!(seen.contains(word), "{word} was to be seen:\n{seen}");
    }
    assert_eq!(
        site.read("vault/notes/old.md"),
        None,
        "the approved delete happened"
    );
    assert!(site.read("vault/notes/hello.md").is_some());
    assert_eq!(
        site.read("vault/notes/hello.md"),
        site.read("source/notes/hello.md")
    );
    let rest = up.end();
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
