//! Repositories that come, go and change while they are read.

use super::Source;
use super::playground::{self, Format};
use super::tests_support::{Repo, code};
use std::sync::atomic::{AtomicBool, Ordering};

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
