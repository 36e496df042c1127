//! Repositories for the tests of this room, made with the git program, so that two readers judge the same files.

use super::{LocalGit, Source, SourceFault, SourceObject, SourceSettings};
use crate::job::{CommitId, JobKind};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository with a work tree.
pub(super) struct Repo {
    pub(super) dir: tempfile::TempDir,
    pub(super) path: PathBuf,
}

impl Repo {
    /// Empty, of the object format `sha1` or `sha256`.
    pub(super) fn new(format: &str) -> Repo {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo {
            path: dir.path().join("source"),
            dir,
        };
        std::fs::create_dir(&repo.path).unwrap();
        repo.git(&["init", "-q", "-b", "main", "--object-format", format]);
        repo
    }

    /// With one commit of `notes/a.md`.
    pub(super) fn with_note(format: &str, content: &str) -> (Repo, CommitId) {
        let repo = Repo::new(format);
        let first = repo.save("notes/a.md", content);
        (repo, first)
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(&self.path)
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.test")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.test");
        command
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        self.git_with(args, &[], b"")
    }

    pub(super) fn git_with(&self, args: &[&str], envs: &[(&str, &str)], input: &[u8]) -> String {
        let mut child = self
            .command()
            .args(args)
            .envs(envs.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("these tests need the git program");
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    pub(super) fn id(&self, name: &str) -> CommitId {
        CommitId::parse(&self.git(&["rev-parse", name])).unwrap()
    }

    /// Writes a file and commits everything.
    pub(super) fn save(&self, path: &str, content: &str) -> CommitId {
        let full = self.path.join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, content).unwrap();
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", path]);
        self.id("HEAD")
    }

    /// A commit of any tree, parents and date, on no branch.
    pub(super) fn commit_tree(&self, tree: &str, parents: &[&str], at_s: i64) -> String {
        let mut args = vec!["commit-tree", tree, "-m", "x"];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        let date = format!("{at_s} +0000");
        self.git_with(
            &args,
            &[("GIT_COMMITTER_DATE", &date), ("GIT_AUTHOR_DATE", &date)],
            b"",
        )
    }

    /// Where a loose object is kept.
    pub(super) fn loose(&self, id: &str) -> PathBuf {
        self.path.join(".git/objects").join(&id[..2]).join(&id[2..])
    }

    pub(super) fn settings(&self) -> SourceSettings {
        SourceSettings::new(&self.path, "local/source")
    }

    pub(super) fn source(&self) -> LocalGit {
        LocalGit::new(self.settings())
    }

    pub(super) fn read(&self, commit: &CommitId) -> Result<SourceObject, SourceFault> {
        self.source().object(commit, "notes/a.md")
    }
}

/// Replaces a file, also one that git made read-only.
pub(super) fn overwrite(path: &Path, bytes: &[u8]) {
    drop(std::fs::remove_file(path));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The bytes of a loose object file.
pub(super) fn deflate(header: &str, content: &[u8]) -> Vec<u8> {
    let mut out = gix::zlib::stream::deflate::Write::new(Vec::new(), gix::zlib::Compression::BEST_SPEED);
    out.write_all(header.as_bytes()).unwrap();
    out.write_all(&[0]).unwrap();
    out.write_all(content).unwrap();
    out.flush().unwrap();
    out.into_inner()
}

/// The code of a refusal.
pub(super) fn code<T: std::fmt::Debug>(result: Result<T, SourceFault>) -> &'static str {
    let fault = result.unwrap_err();
    match fault.refusal(JobKind::Save) {
        Some((code, _)) => code.as_str(),
        None => match fault {
            SourceFault::Unavailable { .. } => "unavailable",
            SourceFault::Damaged { .. } => "damaged",
            SourceFault::Forged { .. } => "forged",
            SourceFault::Refused { .. } => "refused",
        },
    }
}
