//! Repositories that try to lead elsewhere, and objects that are refused.

use super::tests_support::{Repo, code, deflate, overwrite};
use super::{LocalGit, Source, SourceSettings};
use crate::job::CommitId;

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
