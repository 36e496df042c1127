//! Nothing outside of the root is reached, whatever links say.
use super::*;
use crate::target::Intent;
use std::os::unix::fs::symlink;

const WAYS: [Way; 2] = [Way::Kernel, Way::Stepwise];

/// A vault beside a directory that must not change, with a file in it.
fn beside() -> (TempDir, PathBuf, PathBuf) {
    let (dir, root) = place();
    let outside = dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.md"), b"secret").unwrap();
    (dir, root, outside)
}

fn untouched(outside: &Path) {
    assert_eq!(all_names(outside), ["secret.md"]);
    assert_eq!(std::fs::read(outside.join("secret.md")).unwrap(), b"secret");
}

#[test]
fn t19_links_are_not_followed_at_any_depth() {
    for way in WAYS {
        let (_dir, root, outside) = beside();
        std::fs::create_dir_all(root.join("d/e")).unwrap();
        symlink(&outside, root.join("top")).unwrap();
        symlink("../../../outside", root.join("d/e/out")).unwrap();
        symlink("../e", root.join("d/inner")).unwrap();
        symlink(outside.join("secret.md"), root.join("d/file.md")).unwrap();
        symlink(outside.join("made.md"), root.join("d/dangling.md")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        let vault = driver(&root).resolving(way);
        for path in [
            "top/secret.md",
            "top/new.md",
            "top/new/deep.md",
            "d/e/out/secret.md",
            "d/e/out/new.md",
            "d/inner/new.md",
            "d/file.md",
            "d/dangling.md",
            "magic/etc/passwd",
        ] {
            let path = at(path);
            assert_eq!(vault.look(&path).unwrap(), Seen::Unreadable, "{path} {way:?}");
            assert_eq!(
                vault.read(&path, 100).unwrap(),
                Content::Unreadable,
                "{path} {way:?}"
            );
            for intent in [Intent::Write, Intent::Delete] {
                assert!(
                    matches!(vault.preflight(&path, intent).unwrap(), Preflight::Refused { .. }),
                    "{path} {way:?}"
                );
            }
            let answers = [
                vault.write(&[order(&path, b"x", Before::Absent)]),
                vault.write(&[over(&path, b"x", b"secret")]),
                vault.delete(&[removal(&path, b"secret")]),
            ];
            for answer in answers.concat() {
                assert!(
                    matches!(answer, Answer::Refused { .. }),
                    "{path} {way:?} {answer:?}"
                );
            }
        }
        untouched(&outside);
        assert!(
            std::fs::symlink_metadata(root.join("d/file.md"))
                .unwrap()
                .is_symlink()
        );
    }
}

#[test]
fn t19_dots_and_absolute_names_do_not_leave_the_root_even_unjudged() {
    let (_dir, root, _outside) = beside();
    for way in WAYS {
        let confined = Confined::open(&root).unwrap().by(way);
        for relative in ["..", "../outside", "a/../../outside", "/etc", "a//b", ".", "a/."] {
            assert_eq!(
                confined.directory(relative).map(|_| ()),
                Err(NoEntry::Blocked),
                "{relative} {way:?}"
            );
        }
    }
}

#[test]
fn directories_pipes_and_sockets_are_unreadable_and_never_waited_for() {
    let (_dir, root) = place();
    let vault = driver(&root);
    std::fs::create_dir(root.join("dir.md")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join("pipe.md"),
        fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket.md")).unwrap();
    std::fs::write(root.join("file"), b"x").unwrap();
    for name in ["dir.md", "pipe.md", "socket.md"] {
        let path = at(name);
        assert_eq!(vault.look(&path).unwrap(), Seen::Unreadable, "{name}");
        let refused = [Answer::Refused {
            detail: keep::NOT_A_FILE,
        }];
        assert_eq!(vault.write(&[over(&path, b"x", b"y")]), refused);
        assert_eq!(vault.write(&[order(&path, b"x", Before::Absent)]), refused);
        assert_eq!(vault.delete(&[removal(&path, b"y")]), refused);
    }
    let below_a_file = at("file/a.md");
    assert_eq!(vault.look(&below_a_file).unwrap(), Seen::Unreadable);
    let blocked = Answer::Refused {
        detail: "path_blocked",
    };
    assert_eq!(
        vault.write(&[order(&below_a_file, b"x", Before::Absent)]),
        [blocked]
    );
}

/// Exchanges a directory with a link that leads out, ten thousand times, while jobs write, read and delete through it.
#[test]
fn t19_a_directory_swapped_for_a_link_during_the_run_leads_nowhere() {
    for way in WAYS {
        let (_dir, root, outside) = beside();
        std::fs::create_dir_all(root.join("d/e")).unwrap();
        symlink(&outside, root.join(".swap")).unwrap();
        let vault = driver(&root).resolving(way);
        let swapping = std::sync::atomic::AtomicBool::new(true);
        let rounds = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let room = std::fs::File::open(&root).unwrap();
                let mut times = 0;
                // However slow the others are, they get their rounds.
                while times < 10_000 || rounds.load(std::sync::atomic::Ordering::SeqCst) <= 10 {
                    times += 1;
                    assert_eq!(file::exchange(room.as_fd(), ".swap", "d"), file::Moved::Yes);
                    std::thread::yield_now();
                }
                swapping.store(false, std::sync::atomic::Ordering::SeqCst);
            });
            while swapping.load(std::sync::atomic::Ordering::SeqCst) {
                let round = rounds.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                let paths = [at(&format!("d/{round}.md")), at(&format!("d/new{round}/deep.md"))];
                let orders: Vec<_> = paths
                    .iter()
                    .map(|path| order(path, b"x", Before::Absent))
                    .collect();
                let _answers = vault.write(&orders);
                let secret = at("d/secret.md");
                assert!(!file::is(vault.look(&secret).unwrap(), sha256(b"secret")));
                assert!(!matches!(vault.read(&secret, 100).unwrap(), Content::Bytes(_)));
                let _answers = vault.delete(&[removal(&secret, b"secret")]);
                let _answers = vault.write(&[over(&secret, b"x", b"secret")]);
            }
        });
        untouched(&outside);
    }
}
