//! What the driver reads, checked against the git program.

use super::playground::{self, Format};
use super::tests_support::{Repo, code};
use super::{LocalGit, ObjectIdRule, Source, SourceFault, SourceSettings, describe, provenance_hash};
use crate::job::{CommitId, sha256};
use std::collections::HashSet;
use std::process::Command;

const FORMATS: [&str; 2] = ["sha1", "sha256"];

#[test]
fn t01_an_object_is_read_in_both_formats_loose_and_packed() {
    for format in FORMATS {
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
fn m_w_only_commits_of_the_ref_count() {
    for format in FORMATS {
        let (repo, first) = Repo::with_note(format, "one\n");
        repo.git(&["checkout", "-q", "-b", "side"]);
        let side = repo.save("notes/a.md", "side\n");
        repo.git(&["checkout", "-q", "main"]);
        let source = repo.source();
        assert_eq!(code(source.object(&side, "notes/a.md")), "commit_not_on_ref");
        assert_eq!(code(source.at_parents(&side, "notes/a.md")), "commit_not_on_ref");
        repo.save("other.md", "x");
        assert_eq!(code(source.object(&side, "notes/a.md")), "commit_not_on_ref");
        repo.git(&["checkout", "-q", "--orphan", "apart"]);
        let apart = repo.save("notes/a.md", "apart\n");
        repo.git(&["checkout", "-q", "main"]);
        assert_eq!(code(source.object(&apart, "notes/a.md")), "commit_not_on_ref");
        repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
        assert_eq!(source.object(&side, "notes/a.md").unwrap().bytes, b"side\n");
        assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
        assert_eq!(code(source.object(&apart, "notes/a.md")), "commit_not_on_ref");
        // The ref moves back: what was known of the other tip is forgotten.
        repo.git(&["reset", "-q", "--hard", first.as_str()]);
        assert_eq!(code(source.object(&side, "notes/a.md")), "commit_not_on_ref");
        assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
    }
}

#[test]
fn m_w_another_branch_is_read_only_if_it_is_the_configured_one() {
    let (repo, _) = Repo::with_note("sha1", "one\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    let side = repo.save("notes/a.md", "side\n");
    let read = |git_ref: &str| {
        let settings = SourceSettings {
            git_ref: git_ref.to_owned(),
            ..repo.settings()
        };
        LocalGit::new(settings).object(&side, "notes/a.md")
    };
    for name in ["side", "refs/heads/side"] {
        assert_eq!(read(name).unwrap().bytes, b"side\n");
    }
    assert_eq!(code(read("main")), "commit_not_on_ref");
    repo.git(&["update-ref", "refs/tags/refs/heads/absent", side.as_str()]);
    for name in [
        "absent",
        "heads/side",
        "HEAD",
        "side~0",
        "../heads/side",
        "",
        "refs/heads/",
    ] {
        assert_eq!(code(read(name)), "unavailable", "{name:?}");
    }
}

#[test]
fn a_ref_may_be_symbolic_or_an_annotated_tag() {
    let (repo, first) = Repo::with_note("sha256", "one\n");
    repo.git(&["tag", "-a", "-m", "t", "inner"]);
    repo.git(&["tag", "-a", "-m", "t", "outer", "inner"]);
    repo.git(&["symbolic-ref", "refs/heads/link", "refs/heads/main"]);
    repo.git(&["symbolic-ref", "refs/heads/loop", "refs/heads/loop2"]);
    repo.git(&["symbolic-ref", "refs/heads/loop2", "refs/heads/loop"]);
    repo.git(&["tag", "tree", "HEAD^{tree}"]);
    let tip = |name: &str| {
        LocalGit::new(SourceSettings {
            git_ref: name.to_owned(),
            ..repo.settings()
        })
        .tip()
    };
    for name in ["refs/tags/outer", "link", "main"] {
        assert_eq!(tip(name).unwrap(), first, "{name}");
    }
    assert_eq!(code(tip("loop")), "unavailable");
    assert_eq!(code(tip("refs/tags/tree")), "damaged");
    repo.git(&["pack-refs", "--all"]);
    assert_eq!(tip("refs/tags/outer").unwrap(), first);
    assert_eq!(tip("main").unwrap(), first);
}

#[test]
fn m_w_names_that_look_like_ids_or_like_the_branch_do_not_win() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let second = repo.save("notes/a.md", "two\n");
    // Branches and tags named like the first commit, but holding the second; a tag named like the branch.
    for name in ["refs/heads/", "refs/tags/", "refs/", ""] {
        let hex = format!("{name}{first}");
        let file = repo.path.join(".git").join(hex);
        std::fs::write(file, format!("{second}\n")).unwrap();
    }
    repo.git(&["update-ref", "refs/tags/main", first.as_str()]);
    assert_eq!(repo.read(&first).unwrap().bytes, b"one\n");
    assert_eq!(repo.source().tip().unwrap(), second);
    assert_eq!(
        describe(&repo.source(), "notes/a.md", None).unwrap().bytes,
        b"two\n"
    );
    assert_eq!(
        describe(&repo.source(), "notes/a.md", Some(first)).unwrap().bytes,
        b"one\n"
    );
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
fn t38_a_source_that_is_away_comes_back_by_itself() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let away = repo.dir.path().join("away");
    let source = repo.source();
    std::fs::rename(&repo.path, &away).unwrap();
    for _ in 0..2 {
        assert_eq!(code(source.object(&first, "notes/a.md")), "unavailable");
        assert_eq!(code(source.check()), "unavailable");
    }
    std::fs::create_dir(&repo.path).unwrap();
    assert_eq!(code(source.tip()), "unavailable");
    std::fs::remove_dir(&repo.path).unwrap();
    std::fs::rename(&away, &repo.path).unwrap();
    assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
    // Away after it was open, and another repository in its place.
    std::fs::rename(&repo.path, &away).unwrap();
    assert_eq!(code(source.object(&first, "notes/a.md")), "unavailable");
    let other = playground::create(
        &repo.path,
        Format::Sha256,
        &[("notes/a.md", Some(b"other\n"))],
        1_800_000_000,
    );
    assert_eq!(
        source.object(&other.unwrap(), "notes/a.md").unwrap().bytes,
        b"other\n"
    );
    assert_eq!(code(source.object(&first, "notes/a.md")), "source_missing");
    std::fs::remove_dir_all(&repo.path).unwrap();
    std::fs::rename(&away, &repo.path).unwrap();
    assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
}

#[test]
fn ancestors_are_those_of_git_whatever_the_dates_say() {
    let repo = Repo::new("sha1");
    let tree = repo.git_with(&["mktree"], &[], b"");
    let mut commits: Vec<String> = Vec::new();
    // A fixed pseudo-random graph: roots, forks, merges of up to three, dates that go back and forth.
    let mut state = 42u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for at in 0..48i64 {
        let mut parents = HashSet::new();
        for _ in 0..next(4) {
            if !commits.is_empty() {
                parents.insert(next(commits.len()));
            }
        }
        let parents: Vec<&str> = parents.iter().map(|parent| commits[*parent].as_str()).collect();
        let date = 1_000_000_000 + at + i64::try_from(next(90)).unwrap() * 100_000;
        let commit = repo.commit_tree(&tree, &parents, date);
        commits.push(commit);
    }
    for commit in &commits {
        repo.git(&["update-ref", &format!("refs/keep/{commit}"), commit]);
    }
    let source = repo.source();
    let mut yes = 0;
    for descendant in &commits {
        let above = repo.git(&["rev-list", descendant]);
        let above: HashSet<&str> = above.lines().collect();
        repo.git(&["update-ref", "refs/heads/main", descendant]);
        for ancestor in &commits {
            let (from, to) = (
                CommitId::parse(ancestor).unwrap(),
                CommitId::parse(descendant).unwrap(),
            );
            let expected = ancestor != descendant && above.contains(ancestor.as_str());
            assert_eq!(
                source.is_ancestor(&from, &to).unwrap(),
                expected,
                "{ancestor} {descendant}"
            );
            assert_eq!(
                repo.source().is_ancestor(&from, &to).unwrap(),
                expected,
                "{ancestor} {descendant}"
            );
            let on_ref = code(source.object(&from, "x").map(drop)) == "source_missing";
            assert_eq!(
                on_ref,
                above.contains(ancestor.as_str()),
                "{ancestor} {descendant}"
            );
            yes += usize::from(expected);
        }
    }
    assert!(yes > 100, "{yes}");
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
