//! What the driver reads, checked against the git program.

use super::playground::{self, Format};
use super::tests_support::{Repo, code};
use super::{LocalGit, ObjectIdRule, Source, SourceFault, SourceSettings, describe, provenance_hash};
use crate::job::{CommitId, sha256};
use std::process::Command;

#[test]
fn t01_an_object_is_read_in_both_formats_loose_and_packed() {
    for format in ["sha1", "sha256"] {
        let (repo, first) = Repo::with_note(format, "one\n");
        let second = repo.save("notes/a.md", "two\n");
        let source = repo.source();
        for packed in [false, true] {
            if packed {
                repo.git(&["gc", "-q", "--prune=now"]);
                assert!(!repo.loose(&repo.git(&["rev-parse", "HEAD:notes/a.md"])).exists());
            }
            for source in [&source, &repo.source()] {
                let object = source.object(&first, "notes/a.md").unwrap();
                assert_eq!(object.bytes, b"one\n");
                assert_eq!(object.content_sha256, sha256(b"one\n"));
                assert_eq!(
                    (object.object_id.as_str(), &object.commit),
                    ("notes/a.md", &first)
                );
                let hash = provenance_hash(
                    "local/source",
                    &first,
                    "notes/a.md",
                    "notes/a.md",
                    sha256(b"one\n"),
                );
                assert_eq!(object.provenance, hash);
                assert_eq!(source.object(&second, "notes/a.md").unwrap().bytes, b"two\n");
                assert_eq!(source.tip().unwrap(), second);
                source.check().unwrap();
            }
        }
    }
}

#[test]
fn deltas_large_trees_and_odd_names_read_as_git_reads_them() {
    let repo = Repo::new("sha1");
    let text = |at: usize| format!("{at} {}", "a line of text\n".repeat(2000));
    for name in ["Über uns.md", "a-b", "a.b", "a/b.md", "a0", "100% done.md"] {
        repo.save(name, name);
    }
    for at in 0..20 {
        repo.save(&format!("many/{at}.md"), &text(at));
        repo.save("many/same.md", &text(at));
    }
    repo.git(&["gc", "-q", "--aggressive", "--prune=now"]);
    let source = repo.source();
    let tip = source.tip().unwrap();
    for path in repo
        .git(&[
            "-c",
            "core.quotePath=false",
            "ls-tree",
            "-r",
            "--name-only",
            "HEAD",
        ])
        .lines()
    {
        let object = source.object(&tip, path).unwrap();
        let expected = std::fs::read(repo.path.join(path)).unwrap();
        assert!(object.bytes == expected, "{path}");
        assert!(object.bytes.capacity() <= 2 * object.bytes.len(), "{path}");
    }
    assert_eq!(code(source.object(&tip, "many/20.md")), "source_missing");
    assert_eq!(code(source.object(&tip, "a/b.md/c")), "source_missing");
}

#[test]
fn t38_unknown_commits_and_ids_of_other_kinds_are_refused() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let source = repo.source();
    let absent = CommitId::parse(&"ab".repeat(20)).unwrap();
    assert_eq!(code(source.object(&absent, "notes/a.md")), "source_missing");
    let long = CommitId::parse(&"ab".repeat(32)).unwrap();
    assert_eq!(code(source.object(&long, "notes/a.md")), "source_missing");
    for other in ["HEAD^{tree}", "HEAD:notes/a.md"] {
        assert_eq!(
            code(source.object(&repo.id(other), "notes/a.md")),
            "source_missing",
            "{other}"
        );
    }
    repo.git(&["tag", "-a", "-m", "t", "t"]);
    assert_eq!(code(source.object(&repo.id("t"), "notes/a.md")), "source_missing");
    assert!(!source.is_ancestor(&absent, &first).unwrap());
    assert!(!source.is_ancestor(&first, &absent).unwrap());
    assert!(!source.is_ancestor(&first, &long).unwrap());
    let fault = source.object(&first, "notes/b.md").unwrap_err().to_string();
    assert!(
        fault.contains(first.as_str()) && fault.contains("notes/b.md"),
        "{fault}"
    );
}

#[test]
fn the_object_at_each_parent_is_found() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let source = repo.source();
    assert_eq!(source.at_parents(&first, "notes/a.md").unwrap(), []);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.git(&["rm", "-q", "notes/a.md"]);
    repo.save("notes/other.md", "x");
    repo.git(&["checkout", "-q", "main"]);
    repo.save("notes/a.md", "two\n");
    repo.git(&["merge", "-q", "--no-ff", "-s", "ours", "-m", "merge", "side"]);
    let merge = source.tip().unwrap();
    assert_eq!(
        source.at_parents(&merge, "notes/a.md").unwrap(),
        [Some(sha256(b"two\n")), None]
    );
    let small = LocalGit::new(SourceSettings {
        blob_bytes_max: 3,
        ..repo.settings()
    });
    assert_eq!(small.at_parents(&merge, "notes/a.md").unwrap(), [None, None]);
}

#[test]
fn root_and_front_matter_make_path_and_id() {
    let (repo, _) = Repo::with_note("sha1", "---\ntitle: x\nuid: note-42\n---\nbody\n");
    let bare = repo.save("notes/b.md", "body\nuid: note-43\n");
    let settings = SourceSettings {
        root: "notes/".to_owned(),
        object_id: ObjectIdRule::FrontMatter("uid".to_owned()),
        ..repo.settings()
    };
    for root in ["notes/", "notes"] {
        let source = LocalGit::new(SourceSettings {
            root: root.to_owned(),
            ..settings.clone()
        });
        let object = source.object(&bare, "a.md").unwrap();
        assert_eq!(
            (object.object_id.as_str(), object.repository_path.as_str()),
            ("note-42", "notes/a.md")
        );
        let hash = provenance_hash(
            "local/source",
            &bare,
            "notes/a.md",
            "note-42",
            object.content_sha256,
        );
        assert_eq!(object.provenance, hash);
        assert_eq!(code(source.object(&bare, "b.md")), "object_id_mismatch");
        assert_eq!(code(source.object(&bare, "notes/a.md")), "source_missing");
    }
}

#[test]
fn a_playground_is_a_repository_that_git_finds_clean() {
    for (format, digits) in [(Format::Sha1, 40), (Format::Sha256, 64)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("source");
        let files: [playground::Change<'_>; 2] =
            [("notes/a.md", Some(b"one\n")), ("README.md", Some(b"hello\n"))];
        let first = playground::create(&path, format, &files, 1_800_000_000).unwrap();
        assert_eq!(first.as_str().len(), digits);
        let changes: [playground::Change<'_>; 2] = [("notes/deep/b.md", Some(b"two\n")), ("README.md", None)];
        let second = playground::commit(&path, &changes, "Second", 1_800_000_001).unwrap();
        let source = LocalGit::new(SourceSettings::new(&path, "local/source"));
        assert_eq!(source.tip().unwrap(), second);
        assert_eq!(source.object(&second, "notes/deep/b.md").unwrap().bytes, b"two\n");
        assert_eq!(source.object(&second, "notes/a.md").unwrap().bytes, b"one\n");
        assert_eq!(source.object(&first, "README.md").unwrap().bytes, b"hello\n");
        assert_eq!(code(source.object(&second, "README.md")), "source_missing");
        assert!(source.is_ancestor(&first, &second).unwrap());
        let repo = Repo { path, dir };
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
        repo.git(&["fsck", "--strict", "--full"]);
        assert_eq!(repo.id("HEAD"), second);
        let third = repo.save("notes/a.md", "three\n");
        assert_eq!(source.object(&third, "notes/a.md").unwrap().bytes, b"three\n");
        assert!(playground::create(&repo.path, format, &files, 0).is_err());
        for bad in ["../x", "/x", ".git/config", ""] {
            assert!(
                playground::commit(&repo.path, &[(bad, Some(b"x"))], "x", 0).is_err(),
                "{bad}"
            );
        }
    }
}

#[test]
fn the_environment_does_not_lead_elsewhere() {
    let (repo, _) = Repo::with_note("sha1", "one\n");
    let (other, _) = Repo::with_note("sha1", "other\n");
    std::fs::write(repo.path.join("child-of-a-test"), "").unwrap();
    let git_dir = other.path.join(".git");
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "source::tests::child_reads_below_its_directory",
            "--exact",
            "--ignored",
        ])
        .current_dir(&repo.path)
        .env("GIT_DIR", &git_dir)
        .env("GIT_COMMON_DIR", &git_dir)
        .env("GIT_WORK_TREE", &other.path)
        .env("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", git_dir.join("objects"))
        .env("GIT_NAMESPACE", "elsewhere")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "extensions.objectFormat")
        .env("GIT_CONFIG_VALUE_0", "sha256")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by the_environment_does_not_lead_elsewhere in a process of its own"]
fn child_reads_below_its_directory() {
    if !std::path::Path::new("child-of-a-test").exists() {
        return;
    }
    let source = LocalGit::new(SourceSettings::new(".", "local/source"));
    assert_eq!(describe(&source, "notes/a.md", None).unwrap().bytes, b"one\n");
    let in_the_other = LocalGit::new(SourceSettings::new("/nonexistent", "local/source"));
    assert!(matches!(
        in_the_other.check(),
        Err(SourceFault::Unavailable { .. })
    ));
}
