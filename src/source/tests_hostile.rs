//! Repositories that lie, are broken, or change while they are read.

use super::tests_support::{Repo, code, deflate, overwrite};
use super::{LocalGit, Source, SourceSettings};
use crate::job::CommitId;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn t37_a_swapped_object_is_found_at_every_step() {
    for format in ["sha1", "sha256"] {
        let (repo, first) = Repo::with_note(format, "one\n");
        let other = repo.save("notes/a.md", "other\n");
        repo.git(&["reset", "-q", "--hard", first.as_str()]);
        let steps = ["", "^{tree}", ":notes", ":notes/a.md"];
        for step in steps {
            let id = repo.git(&["rev-parse", &format!("{first}{step}")]);
            let file = repo.loose(&id);
            let honest = std::fs::read(&file).unwrap();
            let lie =
                std::fs::read(repo.loose(&repo.git(&["rev-parse", &format!("{other}{step}")]))).unwrap();
            overwrite(&file, &lie);
            let fault = repo.read(&first).unwrap_err();
            assert_eq!(code(repo.read(&first)), "forged", "{step} {fault}");
            assert!(fault.to_string().contains(&id), "{fault}");
            overwrite(&file, &honest);
            assert_eq!(repo.read(&first).unwrap().bytes, b"one\n");
        }
        // Another kind under the id of a blob, and a commit that is not the one its id says.
        let blob = repo.loose(&repo.git(&["rev-parse", &format!("{first}:notes/a.md")]));
        overwrite(&blob, &std::fs::read(repo.loose(first.as_str())).unwrap());
        assert_eq!(code(repo.read(&first)), "forged");
    }
}

#[test]
fn t37_a_swapped_object_is_found_although_its_trees_are_in_memory() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let source = repo.source();
    assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
    let blob = repo.loose(&repo.git(&["rev-parse", "HEAD:notes/a.md"]));
    overwrite(&blob, &deflate("blob 4", b"two\n"));
    assert_eq!(code(source.object(&first, "notes/a.md")), "forged");
}

#[test]
fn a_broken_or_missing_object_keeps_one_job_waiting() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let intact = repo.save("notes/b.md", "intact\n");
    let source = repo.source();
    let blob = repo.loose(&repo.git(&["rev-parse", "HEAD:notes/a.md"]));
    let honest = std::fs::read(&blob).unwrap();
    for broken in [
        &honest[..honest.len() / 2],
        &honest[..3],
        b"",
        b"not zlib at all",
        &[0; 4096],
    ] {
        overwrite(&blob, broken);
        assert_eq!(code(source.object(&first, "notes/a.md")), "damaged");
        assert_eq!(source.object(&intact, "notes/b.md").unwrap().bytes, b"intact\n");
    }
    for (header, content) in [
        ("blob 4", &[7u8; 1 << 20][..]),
        ("blob 5000", b"one\n"),
        ("blub 4", b"one\n"),
        ("blob", b""),
    ] {
        overwrite(&blob, &deflate(header, content));
        assert_eq!(code(source.object(&first, "notes/a.md")), "damaged", "{header}");
    }
    for gone in [
        repo.git(&["rev-parse", "HEAD:notes/a.md"]),
        repo.git(&["rev-parse", "HEAD:notes"]),
    ] {
        let kept = std::fs::read(repo.loose(&gone)).unwrap();
        std::fs::remove_file(repo.loose(&gone)).unwrap();
        assert_eq!(code(repo.source().object(&intact, "notes/a.md")), "damaged");
        overwrite(&repo.loose(&gone), &kept);
    }
    overwrite(&blob, &honest);
    assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
}

#[test]
fn broken_packs_are_damage_and_no_panic() {
    let (repo, first) = Repo::with_note("sha1", &"one\n".repeat(200));
    repo.save("notes/a.md", &"two\n".repeat(200));
    repo.git(&["gc", "-q", "--prune=now"]);
    let pack_dir = repo.path.join(".git/objects/pack");
    let find = |end: &str| {
        let mut files = std::fs::read_dir(&pack_dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files
            .find(|path| path.extension().is_some_and(|found| found == end))
            .unwrap()
    };
    for end in ["pack", "idx"] {
        let file = find(end);
        let honest = std::fs::read(&file).unwrap();
        for at in (0..honest.len()).step_by(7) {
            let mut broken = honest.clone();
            broken[at] ^= 0xff;
            overwrite(&file, &broken);
            if let Ok(object) = repo.read(&first) {
                assert_eq!(object.bytes, "one\n".repeat(200).as_bytes());
            }
        }
        for len in [0, 1, 12, honest.len() / 2, honest.len() - 1] {
            overwrite(&file, &honest[..len]);
            if let Ok(object) = repo.read(&first) {
                assert_eq!(object.bytes, "one\n".repeat(200).as_bytes());
            }
        }
        overwrite(&file, &honest);
    }
    assert_eq!(repo.read(&first).unwrap().bytes, "one\n".repeat(200).as_bytes());
}

#[test]
fn a_large_object_is_refused_without_being_read() {
    let repo = Repo::new("sha1");
    let big = repo.save("notes/a.md", &"x".repeat(100_000));
    let small = LocalGit::new(SourceSettings {
        blob_bytes_max: 99_999,
        ..repo.settings()
    });
    let exact = LocalGit::new(SourceSettings {
        blob_bytes_max: 100_000,
        ..repo.settings()
    });
    assert_eq!(exact.object(&big, "notes/a.md").unwrap().bytes.len(), 100_000);
    let blob = repo.loose(&repo.git(&["rev-parse", "HEAD:notes/a.md"]));
    // What is not there cannot have been read: the file ends soon after its header.
    let honest = std::fs::read(&blob).unwrap();
    overwrite(&blob, &honest[..honest.len() / 2]);
    let fault = small.object(&big, "notes/a.md").unwrap_err();
    assert!(fault.to_string().contains("100000 bytes"), "{fault}");
    assert_eq!(code(small.object(&big, "notes/a.md")), "source_missing");
    assert_eq!(code(exact.object(&big, "notes/a.md")), "damaged");
    overwrite(&blob, &deflate("blob 9999999999999999999", b"x"));
    assert!(["source_missing", "damaged"].contains(&code(exact.object(&big, "notes/a.md"))));
}

#[test]
fn only_files_are_objects_and_only_so_deep() {
    let repo = Repo::new("sha1");
    let first = repo.save("a/b/c/file.md", "deep\n");
    std::os::unix::fs::symlink("file.md", repo.path.join("a/b/c/link.md")).unwrap();
    std::os::unix::fs::symlink("b", repo.path.join("a/way")).unwrap();
    repo.git(&["add", "-A"]);
    repo.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{first},a/sub"),
    ]);
    repo.git(&["update-index", "--chmod=+x", "a/b/c/file.md"]);
    repo.git(&["commit", "-q", "-m", "kinds"]);
    let source = repo.source();
    let tip = source.tip().unwrap();
    assert_eq!(source.object(&tip, "a/b/c/file.md").unwrap().bytes, b"deep\n");
    for (path, what) in [
        ("a/b/c/link.md", "a symbolic link"),
        ("a/way", "a symbolic link"),
        ("a/way/c/file.md", "a symbolic link"),
        ("a/sub", "a submodule"),
        ("a/sub/a/b/c/file.md", "a submodule"),
        ("a/b", "a directory"),
    ] {
        let fault = source.object(&tip, path).unwrap_err().to_string();
        assert!(fault.contains(what), "{fault}");
        assert_eq!(code(source.object(&tip, path)), "source_missing", "{path}");
    }
    for path in [
        "",
        "/",
        "a/",
        "/a/b/c/file.md",
        "a//b/c/file.md",
        "a/./b/c/file.md",
        "a/../a/b/c/file.md",
        "A/b/c/file.md",
    ] {
        assert_eq!(code(source.object(&tip, path)), "source_missing", "{path}");
    }
    let depth = |depth_max| {
        LocalGit::new(SourceSettings {
            depth_max,
            ..repo.settings()
        })
        .object(&tip, "a/b/c/file.md")
    };
    assert!(depth(4).is_ok());
    assert_eq!(code(depth(3)), "source_missing");
    assert!(
        depth(3)
            .unwrap_err()
            .to_string()
            .contains("more than 3 components")
    );
    assert_eq!(code(source.object(&tip, &"d/".repeat(100_000))), "source_missing");
}

#[test]
fn borrowed_objects_and_grafts_are_refused_until_they_are_gone() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let source = repo.source();
    source.check().unwrap();
    let (lender, _) = Repo::with_note("sha1", "lent\n");
    let lent = format!("{}\n", lender.path.join(".git/objects").display());
    for (file, content) in [
        ("objects/info/alternates", lent),
        ("info/grafts", format!("{first}\n")),
    ] {
        let full = repo.path.join(".git").join(file);
        overwrite(&full, content.as_bytes());
        for source in [&source, &repo.source()] {
            let fault = source.object(&first, "notes/a.md").unwrap_err().to_string();
            assert!(fault.contains(file), "{fault}");
            assert_eq!(code(source.check()), "unavailable");
        }
        overwrite(&full, b"");
        source.check().unwrap();
        std::fs::remove_file(&full).unwrap();
        assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
    }
}

#[test]
fn replace_refs_change_nothing() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let second = repo.save("notes/a.md", "two\n");
    let blob = |at: &CommitId| repo.git(&["rev-parse", &format!("{at}:notes/a.md")]);
    repo.git(&["replace", &blob(&first), &blob(&second)]);
    assert_eq!(repo.git(&["show", &format!("{first}:notes/a.md")]), "two");
    assert_eq!(repo.read(&first).unwrap().bytes, b"one\n");
    // A commit replaced by one without parents: the history stays whole.
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let alone = repo.commit_tree(&tree, &[], 1_000_000_000);
    repo.git(&["replace", second.as_str(), &alone]);
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1");
    assert!(repo.source().is_ancestor(&first, &second).unwrap());
    assert_eq!(repo.read(&first).unwrap().bytes, b"one\n");
}

#[test]
fn the_configuration_of_the_repository_is_not_followed() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let config = repo.path.join(".git/config");
    let honest = std::fs::read_to_string(&config).unwrap();
    let outside = repo.dir.path().join("outside");
    std::fs::write(
        &outside,
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n",
    )
    .unwrap();
    let hostile = format!(
        "{honest}[include]\n\tpath = {0}\n[gitoxide \"core\"]\n\trefsNamespace = elsewhere\n[gitoxide \"objects\"]\n\
         \tallocLimit = 1\n\treplaceRefBase = refs/heads/\n[core]\n\tworktree = /nonexistent\n\tfsmonitor = {0}\n",
        outside.display()
    );
    std::fs::write(&config, hostile).unwrap();
    assert_eq!(repo.read(&first).unwrap().bytes, b"one\n");
    for broken in [
        "[core",
        "[core]\nrepositoryformatversion = 7\n",
        "[extensions]\nobjectformat = md5\n",
        "\0\u{1b}",
    ] {
        std::fs::write(&config, broken).unwrap();
        assert_eq!(code(repo.read(&first)), "unavailable", "{broken:?}");
    }
    std::fs::write(&config, honest).unwrap();
    assert_eq!(repo.read(&first).unwrap().bytes, b"one\n");
}

#[test]
fn a_repository_of_another_user_is_read_like_ones_own() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let chown = |path: &std::path::Path| std::os::unix::fs::chown(path, Some(12_345), Some(12_345));
    if chown(&repo.path).is_err() {
        return; // only root can give files away
    }
    chown(&repo.path.join(".git")).unwrap();
    chown(&repo.path.join(".git/config")).unwrap();
    assert_eq!(repo.read(&first).unwrap().bytes, b"one\n");
}

#[test]
fn a_tree_that_can_be_read_in_two_ways_is_damage() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let write = |kind: &str, bytes: &[u8]| {
        repo.git_with(
            &["hash-object", "--literally", "-w", "-t", kind, "--stdin"],
            &[],
            bytes,
        )
    };
    let blob = repo.git(&["rev-parse", "HEAD:notes/a.md"]);
    let raw: Vec<u8> = (0..20)
        .map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let entry = |mode: &str, name: &str| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &raw].concat();
    let twice = [entry("100644", "a.md"), entry("100644", "a.md")].concat();
    let unordered = [entry("100644", "b.md"), entry("100644", "a.md")].concat();
    let both = [entry("100644", "a"), entry("100644", "a.md"), entry("40000", "a")].concat();
    let cut = &twice[..twice.len() - 3];
    for (tree, path) in [
        (&twice[..], "a.md"),
        (&unordered, "a.md"),
        (&both, "a"),
        (cut, "a.md"),
    ] {
        let commit = repo.commit_tree(&write("tree", tree), &[first.as_str()], 1_000_000_000);
        repo.git(&["update-ref", "refs/heads/main", &commit]);
        assert_eq!(
            code(repo.source().object(&CommitId::parse(&commit).unwrap(), path)),
            "damaged"
        );
    }
}

#[test]
fn a_commit_whose_parents_are_not_understood_is_damage() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let write = |kind: &str, bytes: &[u8]| {
        repo.git_with(
            &["hash-object", "--literally", "-w", "-t", kind, "--stdin"],
            &[],
            bytes,
        )
    };
    let tree = repo.git(&["rev-parse", &format!("{first}^{{tree}}")]);
    let person = "a <a@example.test> 1000000000 +0000";
    for (header, expected) in [
        (
            format!("tree {tree}\nparent {first}\nauthor {person}\ncommitter {person}\n\nx"),
            None,
        ),
        (
            format!("tree {tree}\nparent {first}\nauthor odd\ncommitter odd\n\nx"),
            None,
        ),
        (
            format!(
                "tree {tree}\nparent {}\nauthor {person}\ncommitter {person}\n\nx",
                &first.as_str()[..39]
            ),
            Some("damaged"),
        ),
        (
            format!("tree {tree}\nparent  {first}\nauthor {person}\ncommitter {person}\n\nx"),
            Some("damaged"),
        ),
        (
            format!("parent {first}\ntree {tree}\nauthor {person}\ncommitter {person}\n\nx"),
            Some("damaged"),
        ),
        (String::new(), Some("damaged")),
    ] {
        let commit = write("commit", header.as_bytes());
        std::fs::write(repo.path.join(".git/refs/heads/main"), format!("{commit}\n")).unwrap();
        match expected {
            Some(expected) => assert_eq!(code(repo.read(&first)), expected, "{header}"),
            None => assert_eq!(repo.read(&first).unwrap().bytes, b"one\n", "{header}"),
        }
    }
    let long = format!(
        "tree {tree}\nauthor {person}\ncommitter {person}\n\n{}",
        "x".repeat(5 << 20)
    );
    let commit = write("commit", long.as_bytes());
    std::fs::write(repo.path.join(".git/refs/heads/main"), format!("{commit}\n")).unwrap();
    assert_eq!(code(repo.source().tip()), "damaged");
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
fn gc_and_new_commits_while_objects_are_read_fail_no_read() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    for at in 0..10 {
        repo.save(&format!("notes/{at}.md"), &at.to_string());
    }
    let (source, done) = (repo.source(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for at in 10..18 {
                repo.save(&format!("notes/{at}.md"), &at.to_string());
                let how: &[&str] = if at % 2 == 0 {
                    &["gc", "-q", "--prune=now"]
                } else {
                    &["repack", "-q", "-a", "-d", "-f"]
                };
                repo.git(how);
                repo.git(&["pack-refs", "--all"]);
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut reads = 0;
        while !done.load(Ordering::SeqCst) || reads < 50 {
            assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
            let tip = source.tip().unwrap();
            assert_eq!(source.object(&tip, "notes/9.md").unwrap().bytes, b"9");
            assert_eq!(source.at_parents(&tip, "notes/a.md").unwrap().len(), 1);
            reads += 1;
        }
    });
}

#[test]
fn a_ref_that_moves_forward_is_never_seen_to_move_back() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let mut line = vec![first.to_string()];
    for at in 1..60 {
        let commit = repo.commit_tree(&tree, &[&line[at - 1]], 1_000_000_000);
        line.push(commit);
    }
    let (source, done) = (repo.source(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for commit in &line {
                repo.git(&["update-ref", "refs/heads/main", commit]);
                repo.git(&["pack-refs", "--all"]);
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut last = 0;
        while !done.load(Ordering::SeqCst) {
            let tip = source.tip().unwrap().to_string();
            let at = line.iter().position(|commit| *commit == tip).unwrap();
            assert!(at >= last, "{at} after {last}");
            last = at;
        }
    });
    assert_eq!(source.tip().unwrap().as_str(), line[59]);
}

#[test]
fn packs_that_come_after_opening_are_found_however_many() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let source = repo.source();
    source.check().unwrap();
    for at in 0..70 {
        repo.save("notes/a.md", &at.to_string());
        repo.git(&["repack", "-q", "-d"]);
    }
    let tip = source.tip().unwrap();
    assert_eq!(source.object(&tip, "notes/a.md").unwrap().bytes, b"69");
    assert_eq!(source.object(&first, "notes/a.md").unwrap().bytes, b"one\n");
}

#[test]
fn a_branch_that_left_near_the_tip_is_told_apart_without_a_long_walk() {
    let (repo, first) = Repo::with_note("sha1", "one\n");
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let mut line = vec![first.to_string()];
    for at in 1..20 {
        let date = 4_000_000_000 + i64::try_from(at).unwrap();
        let commit = repo.commit_tree(&tree, &[&line[at - 1]], date);
        line.push(commit);
    }
    repo.git(&["update-ref", "refs/heads/main", &line[19]]);
    let side = CommitId::parse(&repo.commit_tree(&tree, &[&line[18]], 4_000_000_030)).unwrap();
    let limited = LocalGit::new(SourceSettings {
        history_max: 4,
        ..repo.settings()
    });
    assert_eq!(code(limited.object(&side, "notes/a.md")), "commit_not_on_ref");
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
