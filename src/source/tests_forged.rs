//! Objects whose bytes are not what their id says, or cannot be read.

use super::Source;
use super::tests_support::{Repo, code, deflate, overwrite};
use crate::job::CommitId;

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
