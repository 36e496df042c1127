//! The vault as a whole: its marker, its file system, batches, memory.
use super::*;
use std::process::Command;

#[test]
fn an_unmounted_or_wrong_vault_is_down_and_not_empty() {
    let (dir, root) = place();
    let vault = driver(&root);
    let path = at("a.md");
    assert_eq!(vault.write(&[order(&path, b"x", Before::Absent)]), [Answer::Done]);
    std::fs::rename(&root, dir.path().join("elsewhere")).unwrap();
    assert!(matches!(vault.look(&path), Err(VaultDown::Unreachable { .. })));
    std::fs::create_dir(&root).unwrap();
    assert!(matches!(vault.check(), Err(VaultDown::NoMarker { .. })));
    assert!(matches!(vault.look(&path), Err(VaultDown::NoMarker { .. })));
    assert!(matches!(vault.read(&path, 10), Err(VaultDown::NoMarker { .. })));
    assert!(matches!(
        vault.settle_leftovers(&[]),
        Err(VaultDown::NoMarker { .. })
    ));
    assert!(matches!(
        vault.write(&[order(&path, b"x", Before::Absent)])[0],
        Answer::NotSent { .. }
    ));
    assert!(matches!(
        vault.delete(&[removal(&path, b"x")])[0],
        Answer::NotSent { .. }
    ));
    std::fs::write(root.join(names::MARKER), "vault-2\n").unwrap();
    assert!(matches!(vault.look(&path), Err(VaultDown::WrongMarker { .. })));
    assert!(matches!(
        vault.write(&[order(&path, b"x", Before::Absent)])[0],
        Answer::NotSent { .. }
    ));
    std::fs::remove_file(root.join(names::MARKER)).unwrap();
    std::os::unix::fs::symlink(
        dir.path().join("elsewhere/.lockgate-vault"),
        root.join(names::MARKER),
    )
    .unwrap();
    assert!(
        matches!(vault.look(&path), Err(VaultDown::NoMarker { .. })),
        "a link is no marker"
    );
    std::fs::remove_file(root.join(names::MARKER)).unwrap();
    std::fs::remove_dir(&root).unwrap();
    std::fs::rename(dir.path().join("elsewhere"), &root).unwrap();
    assert_eq!(
        vault.look(&path).unwrap(),
        seen(b"x"),
        "a vault that comes back is seen"
    );
}

#[test]
fn making_a_vault_twice_is_fine_and_making_another_over_it_is_not() {
    let (_dir, root) = place();
    DirectoryVault::create(&root, ID).unwrap();
    assert!(matches!(
        DirectoryVault::create(&root, "vault-2"),
        Err(VaultDown::WrongMarker { .. })
    ));
    for id in ["", "a b", "a\n", "ü", &"x".repeat(129)] {
        assert!(DirectoryVault::create(&root, id).is_err(), "{id:?}");
    }
    assert_eq!(
        std::fs::read_to_string(root.join(names::MARKER)).unwrap(),
        "vault-1\n"
    );
    assert_eq!(all_names(&root), Vec::<String>::new());
    DirectoryVault::open(Settings::new(&root, None)).check().unwrap();
    assert_eq!(all_names(&root), Vec::<String>::new(), "the probe leaves nothing");
}

#[test]
fn a_batch_larger_than_one_chunk_answers_each_order_in_its_place() {
    let (_dir, root) = place();
    let vault = driver(&root);
    let paths: Vec<_> = (0..300).map(|n| at(&format!("d{}/sub/{n}.md", n % 7))).collect();
    let bytes: Vec<_> = (0..300).map(|n| format!("object {n}").into_bytes()).collect();
    let mut orders: Vec<_> = paths
        .iter()
        .zip(&bytes)
        .map(|(path, bytes)| order(path, bytes, Before::Absent))
        .collect();
    orders[200].before = Before::Bytes(sha256(b"never"));
    let answers = vault.write(&orders);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(
            *answer,
            if n == 200 {
                drifted(Seen::Absent)
            } else {
                Answer::Done
            },
            "{n}"
        );
    }
    let removals: Vec<_> = paths
        .iter()
        .zip(&bytes)
        .map(|(path, bytes)| removal(path, bytes))
        .collect();
    let answers = vault.delete(&removals);
    assert_eq!(
        answers.iter().filter(|answer| **answer == Answer::Done).count(),
        299
    );
    assert!(all_names(&root).iter().all(|name| !name.contains('.')));
}

#[test]
fn a_path_or_a_job_twice_in_one_batch_is_sent_once() {
    let (_dir, root) = place();
    let (a, b) = (at("a.md"), at("b.md"));
    let first = order(&a, b"x", Before::Absent);
    let same_job = WriteOrder { path: &b, ..first };
    let answers = driver(&root).write(&[first, order(&a, b"y", Before::Absent), same_job]);
    assert_eq!(answers[0], Answer::Done);
    assert!(matches!(answers[1], Answer::NotSent { .. }) && matches!(answers[2], Answer::NotSent { .. }));
    assert_eq!(std::fs::read(root.join("a.md")).unwrap(), b"x");
}

#[test]
fn a_failed_sync_of_a_file_sends_nothing_and_leaves_nothing() {
    let (_dir, root) = place();
    person_saves(&root, "a.md", b"old");
    let vault = meanwhile(&root, || Err(io::Error::from_raw_os_error(5)));
    let (a, b) = (at("a.md"), at("new/dir/b.md"));
    for answer in vault.write(&[over(&a, b"new", b"old"), order(&b, b"new", Before::Absent)]) {
        assert!(
            matches!(answer, Answer::NotSent { why } if why.os_error() == Some(5)),
            "{answer:?}"
        );
    }
    assert_eq!(std::fs::read(root.join("a.md")).unwrap(), b"old");
    assert_eq!(all_names(&root), ["a.md"]);
}

#[test]
fn m_k_a_failed_sync_of_a_directory_is_never_taken_for_success_and_stops_the_batch() {
    let (_dir, root) = place();
    person_saves(&root, "gone.md", b"old");
    let disk = Meanwhile {
        at_files: || Ok(()),
        directories: Err(io::ErrorKind::StorageFull.into()),
    };
    let vault = driver(&root).with_durability(Arc::new(disk));
    let paths: Vec<_> = (0..200).map(|n| at(&format!("d/{n}.md"))).collect();
    let orders: Vec<_> = paths
        .iter()
        .map(|path| order(path, b"x", Before::Absent))
        .collect();
    let answers = vault.write(&orders);
    assert!(answers[..128].iter().all(|answer| *answer
        == Answer::NoAnswer {
            detail: "sync_failed"
        }));
    assert!(
        answers[128..]
            .iter()
            .all(|answer| matches!(answer, Answer::NotSent { .. }))
    );
    let answers = vault.delete(&[removal(&at("gone.md"), b"old")]);
    assert_eq!(
        answers,
        [Answer::NoAnswer {
            detail: "sync_failed"
        }]
    );
    assert!(matches!(
        vault.settle_leftovers(&[trace(&orders[0])]),
        Err(VaultDown::Fault { .. })
    ));
}

fn trace<'a>(order: &WriteOrder<'a>) -> Trace<'a> {
    Trace {
        job_id: order.job_id,
        path: order.path,
        new: Some(order.new),
        before: Some(order.before),
    }
}

/// Counts what is synced.
#[derive(Debug, Default)]
struct Counting(std::sync::atomic::AtomicU32, std::sync::atomic::AtomicU32);
impl Durability for Counting {
    fn sync_file(&self, _file: BorrowedFd<'_>) -> io::Result<()> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }
    fn sync_directory(&self, _directory: BorrowedFd<'_>) -> io::Result<()> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn every_file_and_every_changed_directory_is_synced_once() {
    let (_dir, root) = place();
    let disk = Arc::new(Counting::default());
    let vault = driver(&root).with_durability(disk.clone());
    let synced = |files, directories| {
        let now = (
            disk.0.swap(0, std::sync::atomic::Ordering::SeqCst),
            disk.1.swap(0, std::sync::atomic::Ordering::SeqCst),
        );
        assert_eq!(now, (files, directories));
    };
    let paths = [at("a/b/1.md"), at("a/b/2.md"), at("a/3.md"), at("4.md")];
    let orders: Vec<_> = paths
        .iter()
        .map(|path| order(path, b"x", Before::Absent))
        .collect();
    assert!(vault.write(&orders).iter().all(|answer| *answer == Answer::Done));
    synced(4, 3);
    assert_eq!(vault.write(&[over(&paths[0], b"y", b"x")]), [Answer::Done]);
    synced(1, 1);
    assert_eq!(
        vault.delete(&[removal(&paths[0], b"y"), removal(&paths[1], b"x")]),
        [Answer::Done, Answer::Done]
    );
    synced(0, 1);
    vault.persist(&[&paths[2], &paths[3], &at("no/such.md")]).unwrap();
    synced(2, 2);
    vault.settle_leftovers(&[trace(&orders[0])]).unwrap();
    synced(0, 3);
    vault.settle_leftovers(&[]).unwrap();
    assert!(vault.write(&[over(&paths[2], b"y", b"no")]) != [Answer::Done]);
    synced(0, 0);
}

#[test]
fn a_file_beyond_the_limit_is_unreadable() {
    let (_dir, root) = place();
    let mut settings = Settings::new(&root, None);
    settings.bytes_max = 10;
    let vault = DirectoryVault::open(settings);
    std::fs::write(root.join("a.md"), b"12345678901").unwrap();
    assert_eq!(vault.look(&at("a.md")).unwrap(), Seen::Unreadable);
    std::fs::File::create(root.join("sparse.md"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert_eq!(vault.look(&at("sparse.md")).unwrap(), Seen::Unreadable);
    assert_eq!(vault.read(&at("sparse.md"), 100).unwrap(), Content::TooLarge);
}

/// A small file system of its own; `None` where this user may not mount one.
struct Mounted(PathBuf);
impl Mounted {
    fn small(at: &Path) -> Option<Mounted> {
        let mount = |args: &[&str]| {
            Command::new("mount")
                .args(args)
                .arg(at)
                .output()
                .ok()
                .map(|o| o.status.success())
        };
        (mount(&["-t", "tmpfs", "-o", "size=256k", "none"]) == Some(true)).then(|| Mounted(at.to_owned()))
    }
    fn read_only(&self) {
        assert!(
            Command::new("mount")
                .args(["-o", "remount,ro"])
                .arg(&self.0)
                .status()
                .unwrap()
                .success()
        );
    }
}
impl Drop for Mounted {
    fn drop(&mut self) {
        let _ended = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_or_read_only_disk_sends_nothing_and_leaves_nothing() {
    let (dir, root) = place();
    let Some(mounted) = Mounted::small(&root) else {
        eprintln!("not checked: this user may not mount");
        return;
    };
    let vault = driver(&root);
    assert!(
        matches!(vault.look(&at("a.md")), Err(VaultDown::NoMarker { .. })),
        "another mount is another vault"
    );
    DirectoryVault::create(&root, ID).unwrap();
    let big = vec![7u8; 400_000];
    person_saves(&root, "old.md", b"old");
    let (a, old) = (at("n/e/w.md"), at("old.md"));
    for answer in vault.write(&[order(&a, &big, Before::Absent), over(&old, &big, b"old")]) {
        assert!(
            matches!(answer, Answer::NotSent { why } if why.os_error() == Some(28)),
            "{answer:?}"
        );
    }
    assert_eq!(all_names(&root), ["old.md"]);
    mounted.read_only();
    assert!(matches!(vault.check(), Err(VaultDown::ReadOnly { .. })));
    assert!(matches!(
        vault.preflight(&old, Intent::Write),
        Err(VaultDown::ReadOnly { .. })
    ));
    assert_eq!(vault.look(&old).unwrap(), seen(b"old"), "it can still be read");
    for answer in [
        vault.write(&[over(&old, b"x", b"old")]),
        vault.delete(&[removal(&old, b"old")]),
    ]
    .concat()
    {
        assert!(
            matches!(answer, Answer::NotSent { why } if why.os_error() == Some(30)),
            "{answer:?}"
        );
    }
    drop(mounted);
    drop(dir);
}

#[test]
fn errors_and_debug_output_hold_no_content() {
    let path = at("a.md");
    let order = order(&path, b"canary-bytes", Before::Absent);
    assert!(!format!("{order:?}").contains("canary"));
    assert!(!format!("{:?}", Content::Bytes(b"canary-bytes".to_vec())).contains("99"));
}
