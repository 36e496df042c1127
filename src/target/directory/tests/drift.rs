//! What was there is judged, and never lost.
use super::*;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_new_file_and_a_replaced_one_hold_exactly_the_bytes() {
    let (_dir, root) = place();
    let vault = driver(&root);
    vault.check().unwrap();
    let path = at("notes/deep/a.md");
    assert_eq!(vault.look(&path).unwrap(), Seen::Absent);
    assert_eq!(
        vault.write(&[order(&path, b"one", Before::Absent)]),
        [Answer::Done]
    );
    assert_eq!(vault.look(&path).unwrap(), seen(b"one"));
    assert_eq!(vault.write(&[over(&path, b"two", b"one")]), [Answer::Done]);
    assert_eq!(vault.read(&path, 3).unwrap(), Content::Bytes(b"two".to_vec()));
    assert_eq!(vault.read(&path, 2).unwrap(), Content::TooLarge);
    assert_eq!(vault.delete(&[removal(&path, b"two")]), [Answer::Done]);
    assert_eq!(vault.look(&path).unwrap(), Seen::Absent);
    assert_eq!(all_names(&root), ["notes", "notes/deep"]);
}

#[test]
fn m_p_other_bytes_than_expected_are_drift_and_stay() {
    let (_dir, root) = place();
    let vault = driver(&root);
    let path = at("a.md");
    assert_eq!(
        vault.write(&[over(&path, b"new", b"old")]),
        [drifted(Seen::Absent)]
    );
    assert_eq!(vault.delete(&[removal(&path, b"old")]), [drifted(Seen::Absent)]);
    person_saves(&root, "a.md", b"person");
    assert_eq!(
        vault.write(&[order(&path, b"new", Before::Absent)]),
        [drifted(seen(b"person"))]
    );
    assert_eq!(
        vault.write(&[over(&path, b"new", b"old")]),
        [drifted(seen(b"person"))]
    );
    assert_eq!(
        vault.delete(&[removal(&path, b"old")]),
        [drifted(seen(b"person"))]
    );
    assert_eq!(std::fs::read(root.join("a.md")).unwrap(), b"person");
    let below = at("no/such/dir.md");
    assert_eq!(
        vault.write(&[over(&below, b"new", b"old")]),
        [drifted(Seen::Absent)]
    );
    assert_eq!(vault.delete(&[removal(&below, b"old")]), [drifted(Seen::Absent)]);
    assert_eq!(all_names(&root), ["a.md"]);
}

#[test]
fn m_p_a_file_that_is_not_the_ordered_one_is_not_even_moved() {
    use std::os::unix::fs::MetadataExt;
    let (_dir, root) = place();
    let vault = driver(&root);
    let path = at("a.md");
    person_saves(&root, "a.md", b"person");
    // A rename would change it.
    let changed = || {
        let meta = std::fs::metadata(root.join("a.md")).unwrap();
        (meta.ctime(), meta.ctime_nsec())
    };
    let before = changed();
    assert_eq!(
        vault.delete(&[removal(&path, b"old")]),
        [drifted(seen(b"person"))]
    );
    assert_eq!(changed(), before);
}

#[test]
fn m_p_an_edit_after_the_look_and_before_the_exchange_is_put_back() {
    let (_dir, root) = place();
    person_saves(&root, "a.md", b"old");
    let there = root.clone();
    let vault = meanwhile(&root, move || {
        person_saves(&there, "a.md", b"edited");
        Ok(())
    });
    assert_eq!(
        vault.write(&[over(&at("a.md"), b"new", b"old")]),
        [drifted(seen(b"edited"))]
    );
    assert_eq!(std::fs::read(root.join("a.md")).unwrap(), b"edited");
    assert_eq!(all_names(&root), ["a.md"]);
}

#[test]
fn m_p_a_file_made_after_the_look_is_not_replaced() {
    let (_dir, root) = place();
    let there = root.clone();
    let vault = meanwhile(&root, move || {
        person_saves(&there, "a.md", b"mine");
        Ok(())
    });
    assert_eq!(
        vault.write(&[order(&at("a.md"), b"new", Before::Absent)]),
        [drifted(seen(b"mine"))]
    );
    assert_eq!(std::fs::read(root.join("a.md")).unwrap(), b"mine");
    assert_eq!(all_names(&root), ["a.md"]);
}

#[test]
fn a_file_removed_or_turned_into_something_else_after_the_look_is_drift() {
    for turn in ["gone", "link", "directory"] {
        let (_dir, root) = place();
        person_saves(&root, "a.md", b"old");
        let there = root.clone();
        let vault = meanwhile(&root, move || {
            std::fs::remove_file(there.join("a.md"))?;
            match turn {
                "link" => std::os::unix::fs::symlink("/etc/passwd", there.join("a.md")),
                "directory" => std::fs::create_dir(there.join("a.md")),
                _ => Ok(()),
            }
        });
        let found = if turn == "gone" {
            Seen::Absent
        } else {
            Seen::Unreadable
        };
        assert_eq!(
            vault.write(&[over(&at("a.md"), b"new", b"old")]),
            [drifted(found)],
            "{turn}"
        );
        let now = std::fs::symlink_metadata(root.join("a.md"));
        assert_eq!(now.is_ok(), turn != "gone");
        assert!(now.map_or(true, |now| now.is_symlink() == (turn == "link")
            && now.is_dir() == (turn == "directory")));
        assert!(all_names(&root).iter().all(|name| name == "a.md"), "{turn}");
    }
}

#[test]
fn one_order_that_drifts_does_not_touch_the_others_of_its_batch() {
    let (_dir, root) = place();
    person_saves(&root, "b.md", b"person");
    let paths: Vec<_> = ["a.md", "b.md", "c/d.md"].iter().map(|path| at(path)).collect();
    let orders: Vec<_> = paths
        .iter()
        .map(|path| order(path, b"x", Before::Absent))
        .collect();
    let answers = driver(&root).write(&orders);
    assert_eq!(answers, [Answer::Done, drifted(seen(b"person")), Answer::Done]);
    assert_eq!(all_names(&root), ["a.md", "b.md", "c", "c/d.md"]);
}

/// Versions that were not lost: replaced by the person's own next one, or named by an order as what it may replace.
type Accounted = Mutex<HashSet<Vec<u8>>>;

/// Saves new versions until told to stop, by exchange, so that what each replaced is known. Returns them all.
fn save_again_and_again(root: &Path, stop: &AtomicBool, accounted: &Accounted) -> Vec<Vec<u8>> {
    let mut saved = Vec::new();
    let room = std::fs::File::open(root).unwrap();
    let own = root.join(".editor");
    while !stop.load(Ordering::SeqCst) {
        let bytes = format!("person {}", saved.len()).into_bytes();
        std::fs::write(&own, &bytes).unwrap();
        saved.push(bytes);
        loop {
            if file::exchange(room.as_fd(), ".editor", "a.md") == file::Moved::Yes {
                accounted.lock().unwrap().insert(std::fs::read(&own).unwrap());
                break;
            }
            if file::move_free(room.as_fd(), ".editor", "a.md") == file::Moved::Yes {
                break;
            }
        }
        std::thread::yield_now();
    }
    saved
}

/// Writes, replaces and deletes what is found. Returns how many were done, drifted and kept something aside.
fn work_at_it(vault: &DirectoryVault, path: &VaultPath, accounted: &Accounted) -> (u32, u32, u32) {
    let (mut done, mut drifts, mut kept) = (0, 0, 0);
    for round in 0..3000 {
        let bytes = format!("job {round}").into_bytes();
        let now = vault.read(path, 1000).unwrap();
        let answer = match (&now, round % 3) {
            (Content::Bytes(now), 0) => vault.delete(&[removal(path, now)]),
            (Content::Bytes(now), _) => vault.write(&[over(path, &bytes, now)]),
            (_, _) => vault.write(&[order(path, &bytes, Before::Absent)]),
        };
        match &answer[0] {
            Answer::Done => {
                done += 1;
                if let Content::Bytes(now) = now {
                    accounted.lock().unwrap().insert(now);
                }
            }
            Answer::Drift { kept_aside, .. } => {
                drifts += 1;
                kept += u32::from(*kept_aside);
            }
            // The person was faster three times; what they wrote is kept aside.
            Answer::NoAnswer { detail } => {
                assert!(["swap_back_failed", "attributes_changed"].contains(detail))
            }
            Answer::NotSent { .. } | Answer::Refused { .. } => panic!("{answer:?}"),
            Answer::Credential | Answer::ServerError | Answer::Busy { .. } => panic!("{answer:?}"),
        }
    }
    (done, drifts, kept)
}

#[test]
fn a_persons_concurrent_edit_is_never_lost() {
    let (_dir, root) = place();
    let vault = driver(&root);
    let path = at("a.md");
    let stop = AtomicBool::new(false);
    let accounted = Accounted::default();
    let saved = std::thread::scope(|scope| {
        let person = scope.spawn(|| save_again_and_again(&root, &stop, &accounted));
        let (done, drifts, kept) = work_at_it(&vault, &path, &accounted);
        stop.store(true, Ordering::SeqCst);
        eprintln!("done {done}, drifted {drifts}, kept aside {kept}");
        person.join().unwrap()
    });
    let mut accounted = accounted.into_inner().unwrap();
    for name in all_names(&root) {
        assert!(
            name == "a.md" || name == ".editor" || name.contains(".kept"),
            "{name}"
        );
        accounted.insert(std::fs::read(root.join(name)).unwrap());
    }
    let lost: Vec<_> = saved.iter().filter(|bytes| !accounted.contains(*bytes)).collect();
    assert!(saved.len() > 100);
    assert!(lost.is_empty(), "{} of {} lost", lost.len(), saved.len());
}
