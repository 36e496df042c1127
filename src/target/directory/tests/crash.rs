//! A crash, or an I/O error, at each point: whole old or whole new bytes, and everything can be settled.
use super::child::{Child, EDITED, JOB, OLD, command, new_bytes, run};
use super::*;
use crate::target::{LeftoverKind, Settlement};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::os::unix::process::ExitStatusExt;

/// What lies at the path when a verb begins.
fn prepared(verb: &str) -> (TempDir, PathBuf) {
    let (dir, root) = place();
    if verb != "new" {
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/a.md"), OLD).unwrap();
    }
    (dir, root)
}

fn at_path(root: &Path) -> Option<Vec<u8>> {
    std::fs::read(root.join("d/a.md")).ok()
}

fn traced(verb: &str) -> (Option<crate::job::Sha256>, Option<Before>) {
    match verb {
        "new" => (Some(sha256(&new_bytes())), Some(Before::Absent)),
        "delete" => (None, Some(Before::Bytes(sha256(OLD)))),
        _ => (Some(sha256(&new_bytes())), Some(Before::Bytes(sha256(OLD)))),
    }
}

const PARTS: [&str; 5] = [
    "vault.part_created",
    "vault.part_piece",
    "vault.part_piece#2",
    "vault.part_written",
    "vault.part_synced",
];
const NAMES: [&str; 2] = ["vault.before_names_synced", "vault.names_synced"];

/// The points of each verb: those before anything is visible, and those after.
fn points(verb: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    let (before, after): (&[&str], &[&str]) = match verb {
        "new" => (
            &["vault.directory_made", "vault.directory_named"],
            &["vault.placed"],
        ),
        "over" => (&["vault.new_named"], &["vault.exchanged", "vault.old_removed"]),
        "drift" => (&["vault.new_named"], &["vault.exchanged", "vault.swapped_back"]),
        "delete" => (&["vault.before_aside"], &["vault.aside", "vault.gone_removed"]),
        other => panic!("{other}"),
    };
    let parts: &[&str] = if verb == "delete" { &[] } else { &PARTS };
    ([before, parts].concat(), [after, &NAMES].concat())
}

#[test]
fn a18_a_crash_at_any_point_leaves_whole_bytes_and_settles() {
    for verb in ["new", "over", "drift", "delete"] {
        let (before, after) = points(verb);
        for point in before.iter().chain(&after) {
            let (dir, root) = prepared(verb);
            let child = Child {
                verb,
                failpoint: Some((*point).to_owned()),
                uid: None,
            };
            let status = command(dir.path(), &child).status().unwrap();
            assert_eq!(status.signal(), Some(9), "{verb} {point} was not reached");
            let new = new_bytes();
            let sent = after.contains(point);
            let found = at_path(&root);
            let edited = verb == "drift"
                && ![
                    "vault.part_created",
                    "vault.part_piece",
                    "vault.part_piece#2",
                    "vault.part_written",
                ]
                .contains(point);
            let whole = match verb {
                "new" => found.is_none() != sent && found.is_none_or(|bytes| bytes == new),
                "over" => found == Some(if sent { new } else { OLD.to_vec() }),
                "delete" => found == if sent { None } else { Some(OLD.to_vec()) },
                _ => found.is_some_and(|bytes| {
                    bytes == new && *point == "vault.exchanged" || bytes == if edited { EDITED } else { OLD }
                }),
            };
            assert!(whole, "{verb} {point}");
            settled(verb, point, &root, edited);
        }
    }
}

/// Settles what the dead child left, twice, and looks again.
fn settled(verb: &str, point: &str, root: &Path, edited: bool) {
    let vault = driver(root);
    let path = at("d/a.md");
    let (new, before) = traced(verb);
    let trace = Trace {
        job_id: JobId::parse(JOB).unwrap(),
        path: &path,
        new,
        before,
    };
    let swept = vault.sweep().unwrap().found.len();
    let first = vault.settle_leftovers(&[trace]).unwrap().remove(0);
    assert_eq!(first.len(), swept, "{verb} {point}: {first:?}");
    for one in first {
        let put_back = (verb, point, one.kind) == ("delete", "vault.aside", LeftoverKind::Gone)
            || (verb, point, one.kind) == ("drift", "vault.exchanged", LeftoverKind::Exchange);
        let expected = if put_back {
            Settlement::PutBack
        } else {
            Settlement::Removed
        };
        assert_eq!(one.done, expected, "{verb} {point} {one:?}");
    }
    assert_eq!(vault.settle_leftovers(&[trace]).unwrap(), [vec![]]);
    assert_eq!(vault.sweep().unwrap(), Sweep::default(), "{verb} {point}");
    let found = at_path(root);
    match verb {
        "new" => assert!(found.is_none_or(|bytes| bytes == new_bytes())),
        "over" => assert!(found.is_some_and(|bytes| bytes == OLD || bytes == new_bytes())),
        "drift" => assert!(
            found.is_some_and(|bytes| bytes == if edited { EDITED } else { OLD }),
            "{point}"
        ),
        _ => {
            let gone = [
                "vault.gone_removed",
                "vault.before_names_synced",
                "vault.names_synced",
            ]
            .contains(&point);
            assert_eq!(found.is_none(), gone, "{point}");
        }
    }
}

#[test]
fn a19_an_error_before_the_effect_is_not_sent_and_after_it_is_no_answer() {
    for verb in ["new", "over", "drift", "delete"] {
        let (before, after) = points(verb);
        for point in before.iter().chain(&after) {
            let (dir, root) = prepared(verb);
            let told = run(
                dir.path(),
                Child {
                    verb,
                    failpoint: Some(format!("{point}=error")),
                    uid: None,
                },
            );
            if after.contains(point) {
                assert!(told.starts_with("NoAnswer"), "{verb} {point}: {told}");
            } else {
                assert!(told.starts_with("NotSent"), "{verb} {point}: {told}");
                let names = all_names(&root);
                assert_eq!(
                    names,
                    if verb == "new" {
                        vec![]
                    } else {
                        vec!["d", "d/a.md"]
                    },
                    "{verb} {point}"
                );
                let edited = verb == "drift" && ["vault.part_synced", "vault.new_named"].contains(point);
                let old = if edited { EDITED } else { OLD };
                assert_eq!(
                    at_path(&root),
                    (verb != "new").then(|| old.to_vec()),
                    "{verb} {point}"
                );
            }
        }
        let (dir, _root) = prepared(verb);
        let told = run(
            dir.path(),
            Child {
                verb,
                failpoint: None,
                uid: None,
            },
        );
        assert!(
            told.starts_with(if verb == "drift" { "Drift" } else { "Done" }),
            "{verb}: {told}"
        );
    }
}

/// Stops the child at a point, lets a person act, and lets it go on.
fn stopped_at(dir: &Path, verb: &'static str, point: &str, act: impl FnOnce()) -> String {
    let mut child = command(
        dir,
        &Child {
            verb,
            failpoint: Some(format!("{point}=pause")),
            uid: None,
        },
    )
    .spawn()
    .unwrap();
    let pid = Pid::from_child(&child);
    let status = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap().1;
    assert!(status.stopped(), "{verb} {point} was not reached");
    act();
    kill_process(pid, Signal::CONT).unwrap();
    assert!(child.wait().unwrap().success());
    std::fs::read_to_string(dir.join("answer")).unwrap()
}

#[test]
fn what_a_person_writes_over_the_exchange_is_kept_aside() {
    let (dir, root) = prepared("drift");
    let later = b"a second edit";
    let told = stopped_at(dir.path(), "drift", "vault.exchanged", || {
        person_saves(&root, "d/a.md", later)
    });
    assert!(
        told.starts_with("Drift") && told.contains("kept_aside: true"),
        "{told}"
    );
    assert_eq!(at_path(&root).unwrap(), EDITED);
    assert_eq!(
        std::fs::read(root.join(format!("d/.lockgate-{JOB}.kept"))).unwrap(),
        later
    );
    let found = driver(&root).sweep().unwrap().found;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].kind, found[0].directory.as_str()),
        (LeftoverKind::Kept, "d")
    );
}

#[test]
fn what_a_person_removes_after_the_exchange_comes_back() {
    let (dir, root) = prepared("drift");
    let told = stopped_at(dir.path(), "drift", "vault.exchanged", || {
        std::fs::remove_file(root.join("d/a.md")).unwrap();
    });
    assert!(told.starts_with("Drift"), "{told}");
    assert_eq!(at_path(&root).unwrap(), EDITED);
    assert_eq!(all_names(&root), ["d", "d/a.md"]);
}

#[test]
fn a_delete_puts_back_what_was_edited_after_the_look() {
    let (dir, root) = prepared("delete");
    let told = stopped_at(dir.path(), "delete", "vault.before_aside", || {
        person_saves(&root, "d/a.md", EDITED)
    });
    assert!(told.starts_with("Drift"), "{told}");
    assert_eq!(at_path(&root).unwrap(), EDITED);
    assert_eq!(all_names(&root), ["d", "d/a.md"]);
}

#[test]
fn a_delete_keeps_aside_what_cannot_be_put_back() {
    let (dir, root) = prepared("delete");
    let aside = root.join(format!("d/.lockgate-{JOB}.gone"));
    let told = stopped_at(dir.path(), "delete", "vault.aside", || {
        std::fs::write(&aside, EDITED).unwrap();
        person_saves(&root, "d/a.md", b"a new file");
    });
    assert!(
        told.starts_with("Drift") && told.contains("kept_aside: true"),
        "{told}"
    );
    assert_eq!(at_path(&root).unwrap(), b"a new file");
    assert_eq!(
        std::fs::read(root.join(format!("d/.lockgate-{JOB}.kept"))).unwrap(),
        EDITED
    );
}

#[test]
fn an_object_of_100_megabytes_is_held_once() {
    let (dir, _root) = place();
    let told = run(
        dir.path(),
        Child {
            verb: "memory",
            failpoint: None,
            uid: None,
        },
    );
    let most_kib: u64 = told.parse().unwrap();
    assert!(most_kib < 100_000_000 / 1024 + 24 * 1024, "{most_kib} KiB");
}
