//! Which commits count, checked against the git program: the ref, its ancestors, and histories that do not tell.

use super::tests_support::{Repo, code};
use super::{LocalGit, Source, SourceSettings, describe};
use crate::job::CommitId;
use std::collections::HashSet;

#[test]
fn m_w_only_commits_of_the_ref_count() {
    for format in ["sha1", "sha256"] {
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
    // Names that git would complete to a tag or a branch.
    for (name, inside) in [
        ("odd", "ref: outer\n"),
        ("odder", "ref: heads/main\n"),
        ("oddest", "ref: OUTER\n"),
    ] {
        std::fs::write(repo.path.join(".git/refs/heads").join(name), inside).unwrap();
        std::fs::write(repo.path.join(".git/refs/tags/OUTER"), format!("{first}\n")).unwrap();
        assert_eq!(code(tip(name)), "unavailable", "{name}");
    }
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
fn a_history_that_is_cut_or_too_long_is_not_taken_for_a_no() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    for at in 0..5 {
        repo.save("notes/a.md", &at.to_string());
    }
    let tip = repo.id("HEAD");
    let limited = |history_max| {
        LocalGit::new(SourceSettings {
            history_max,
            ..repo.settings()
        })
    };
    assert_eq!(limited(10).object(&first, "notes/a.md").unwrap().bytes, b"one\n");
    assert_eq!(code(limited(3).object(&first, "notes/a.md")), "damaged");
    assert_eq!(limited(3).object(&tip, "notes/a.md").unwrap().bytes, b"4");
    repo.git(&["checkout", "-q", "--orphan", "apart"]);
    let apart = repo.save("notes/a.md", "apart\n");
    let clone = repo.dir.path().join("shallow");
    let url = format!("file://{}", repo.path.display());
    repo.git(&[
        "clone",
        "-q",
        "--depth",
        "2",
        "--no-single-branch",
        "-b",
        "main",
        &url,
        clone.to_str().unwrap(),
    ]);
    let shallow = LocalGit::new(SourceSettings::new(&clone, "local/source"));
    assert_eq!(shallow.object(&tip, "notes/a.md").unwrap().bytes, b"4");
    let fault = shallow.is_ancestor(&apart, &tip).unwrap_err();
    assert!(fault.to_string().contains("shallow"), "{fault}");
    let boundary = repo.id("main~1");
    assert!(shallow.is_ancestor(&boundary, &tip).unwrap());
    assert_eq!(shallow.object(&boundary, "notes/a.md").unwrap().bytes, b"3");
    assert_eq!(code(shallow.at_parents(&boundary, "notes/a.md")), "damaged");
}

#[test]
fn a_branch_that_left_near_the_tip_is_told_apart_without_a_long_walk() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let mut line = vec![first.to_string()];
    for at in 1..20 {
        let date = 4_000_000_000 + 10 * i64::try_from(at).unwrap();
        let commit = repo.commit_tree(&tree, &[&line[at - 1]], date);
        line.push(commit);
    }
    repo.git(&["update-ref", "refs/heads/main", &line[19]]);
    let limited = LocalGit::new(SourceSettings {
        history_max: 4,
        ..repo.settings()
    });
    // Before and after the tip by date.
    for date in [4_000_000_185, 4_000_000_300] {
        let side = CommitId::parse(&repo.commit_tree(&tree, &[&line[18]], date)).unwrap();
        assert_eq!(code(limited.object(&side, "notes/a.md")), "commit_not_on_ref");
    }
    assert!(
        limited
            .object(&CommitId::parse(&line[18]).unwrap(), "notes/a.md")
            .is_ok()
    );
    // A newer commit is no ancestor of an older one, and this is seen as soon as the older one is met.
    let (old, new) = (
        CommitId::parse(&line[17]).unwrap(),
        CommitId::parse(&line[19]).unwrap(),
    );
    assert!(!limited.is_ancestor(&new, &old).unwrap());
}
