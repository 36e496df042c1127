//! Locks across handles, lists across crashes.

use super::*;
use std::io::Write;

fn vault_path(name: &str) -> VaultPath {
    VaultPath::parse("/app/vault/", &format!("/app/vault/{name}")).unwrap()
}

struct Pair {
    dir: tempfile::TempDir,
    save: FenceDir,
    delete: FenceDir,
}

fn pair() -> Pair {
    let dir = tempfile::tempdir().unwrap();
    create_for_development(dir.path()).unwrap();
    let save = FenceDir::open(dir.path(), Role::Save, vec![Role::Delete]).unwrap();
    let delete = FenceDir::open(dir.path(), Role::Delete, vec![Role::Save]).unwrap();
    for fence in [&save, &delete] {
        fence.begin_reset().unwrap().finish(&[]).unwrap();
    }
    Pair { dir, save, delete }
}

fn listed(pair: &Pair, role: Role) -> Vec<String> {
    let mut paths: Vec<String> = list::paths_in(&list_path(pair.dir.path(), role), role)
        .unwrap()
        .into_iter()
        .collect();
    paths.sort();
    paths
}

#[test]
fn m_q_a_path_is_locked_for_every_other_role_worker_and_thread() {
    let pair = pair();
    let second_worker = FenceDir::open(pair.dir.path(), Role::Save, vec![Role::Delete]).unwrap();
    let path = vault_path("a.md");
    let guard = pair.save.try_lock(&path).unwrap().unwrap();
    for other in [&pair.save, &pair.delete, &second_worker] {
        assert!(other.try_lock(&path).unwrap().is_none());
        assert!(other.try_lock(&vault_path("b.md")).unwrap().is_some());
    }
    drop(guard);
    for other in [&pair.save, &pair.delete, &second_worker] {
        assert!(other.try_lock(&path).unwrap().is_some());
    }
}

#[test]
fn the_byte_is_the_hash_as_a_big_endian_integer_modulo_2_to_the_62() {
    let digest = crate::job::sha256(b"/app/vault/a.md").0;
    // Long division of the whole integer, byte by byte.
    let wanted = digest
        .iter()
        .fold(0u128, |rest, byte| ((rest << 8) | u128::from(*byte)) % (1 << 62));
    assert_eq!(u128::try_from(lock::byte_of("/app/vault/a.md")).unwrap(), wanted);
}

#[test]
fn m_q_what_one_role_published_stops_the_other_until_it_is_removed() {
    let pair = pair();
    let path = vault_path("a.md");
    pair.save.publish(std::slice::from_ref(&path)).unwrap();
    let guard = pair.delete.try_lock(&path).unwrap().unwrap();
    assert!(pair.delete.other_holds(&guard).unwrap());
    let other = pair.delete.try_lock(&vault_path("b.md")).unwrap().unwrap();
    assert!(!pair.delete.other_holds(&other).unwrap());
    pair.save.remove(std::slice::from_ref(&path)).unwrap();
    assert!(!pair.delete.other_holds(&guard).unwrap());
}

#[test]
fn a_list_that_is_missing_or_malformed_stops_the_other_role() {
    let file = |pair: &Pair| list_path(pair.dir.path(), Role::Save);
    for (text, why) in [
        (None, "missing"),
        (Some(""), "first line"),
        (Some("lockgate-unresolved v1 delete\n"), "first line"),
        (Some("lockgate-unresolved v2 save\n"), "first line"),
        (Some("lockgate-unresolved v1 save\nrubbish\n"), "neither"),
        (Some("lockgate-unresolved v1 save\n+ relative\n"), "neither"),
        (Some("lockgate-unresolved v1 save\n+\n"), "neither"),
    ] {
        let pair = pair();
        match text {
            Some(text) => std::fs::write(file(&pair), text).unwrap(),
            None => std::fs::remove_file(file(&pair)).unwrap(),
        }
        let guard = pair.delete.try_lock(&vault_path("a.md")).unwrap().unwrap();
        let fault = pair.delete.other_holds(&guard).unwrap_err().to_string();
        assert!(
            fault.contains(why) && fault.contains("unresolved.save"),
            "{text:?}: {fault}"
        );
    }
    let pair = pair();
    std::fs::remove_file(file(&pair)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", file(&pair)).unwrap();
    let guard = pair.delete.try_lock(&vault_path("a.md")).unwrap().unwrap();
    assert!(pair.delete.other_holds(&guard).is_err());
}

#[test]
fn a_line_cut_off_anywhere_was_never_published_and_harms_nothing() {
    let whole = "+ /app/vault/cut.md\n";
    for cut in 0..whole.len() {
        let pair = pair();
        pair.save.publish(&[vault_path("kept.md")]).unwrap();
        let file = list_path(pair.dir.path(), Role::Save);
        let mut opened = std::fs::File::options().append(true).open(&file).unwrap();
        opened.write_all(&whole.as_bytes()[..cut]).unwrap();
        assert_eq!(listed(&pair, Role::Save), ["/app/vault/kept.md"], "{cut}");
        pair.save.publish(&[vault_path("new.md")]).unwrap();
        assert_eq!(
            listed(&pair, Role::Save),
            ["/app/vault/kept.md", "/app/vault/new.md"],
            "{cut}"
        );
    }
}

#[test]
fn workers_publish_and_remove_at_once_and_lose_nothing() {
    let pair = pair();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let dir = pair.dir.path();
            scope.spawn(move || {
                let fence = FenceDir::open(dir, Role::Save, vec![Role::Delete]).unwrap();
                for n in 0..60 {
                    let path = vault_path(&format!("{thread}/{}-{n}.md", "long".repeat(30)));
                    fence.publish(std::slice::from_ref(&path)).unwrap();
                    if n % 10 != 0 {
                        fence.remove(&[path]).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(listed(&pair, Role::Save).len(), 4 * 6);
    let length = std::fs::metadata(list_path(pair.dir.path(), Role::Save))
        .unwrap()
        .len();
    assert!(
        length < 40 << 10,
        "it is written anew when it has grown: {length} bytes"
    );
}

#[test]
fn a_reset_sets_the_list_to_what_the_ledger_holds_and_keeps_others_out_meanwhile() {
    let pair = pair();
    pair.save.publish(&[vault_path("stale.md")]).unwrap();
    let reset = pair.save.begin_reset().unwrap();
    std::thread::scope(|scope| {
        let late = scope.spawn(|| pair.save.publish(&[vault_path("late.md")]).unwrap());
        // Whenever it runs: it waits for the reset to end, and nothing of it is lost.
        std::thread::yield_now();
        assert!(!late.is_finished(), "a reset must not overtake a publication");
        reset.finish(&[vault_path("held.md")]).unwrap();
    });
    assert_eq!(
        listed(&pair, Role::Save),
        ["/app/vault/held.md", "/app/vault/late.md"]
    );
}

#[test]
fn m_q_a_reset_keeps_what_a_living_worker_published_before_the_ledger_could_know() {
    let pair = pair();
    let worker = FenceDir::open(pair.dir.path(), Role::Save, vec![Role::Delete]).unwrap();
    let path = vault_path("in-flight.md");
    let guard = worker.try_lock(&path).unwrap().unwrap();
    worker.publish(&[path.clone(), vault_path("stale.md")]).unwrap();
    // Another worker starts; the ledger does not name the path yet.
    let reset = pair.save.begin_reset().unwrap();
    reset.finish(&[vault_path("held.md")]).unwrap();
    assert_eq!(
        listed(&pair, Role::Save),
        ["/app/vault/held.md", "/app/vault/in-flight.md"]
    );
    // The worker writes its intent and dies: the other role must still not go on.
    drop(guard);
    let guard = pair.delete.try_lock(&path).unwrap().unwrap();
    assert!(pair.delete.other_holds(&guard).unwrap());
    drop(guard);
    pair.save.begin_reset().unwrap().finish(&[]).unwrap();
    assert_eq!(listed(&pair, Role::Save), [""; 0]);
}

#[test]
fn m_q_a_reset_keeps_what_this_process_has_locked() {
    let pair = pair();
    let path = vault_path("a.md");
    let _guard = pair.save.try_lock(&path).unwrap().unwrap();
    pair.save.publish(&[path]).unwrap();
    pair.save.begin_reset().unwrap().finish(&[]).unwrap();
    assert_eq!(listed(&pair, Role::Save), ["/app/vault/a.md"]);
}

#[test]
fn m_q_a_list_that_was_lost_says_nothing_until_the_ledger_filled_it() {
    let pair = pair();
    let file = list_path(pair.dir.path(), Role::Save);
    std::fs::remove_file(&file).unwrap();
    let save = FenceDir::open(pair.dir.path(), Role::Save, vec![Role::Delete]).unwrap();
    let guard = pair.delete.try_lock(&vault_path("a.md")).unwrap().unwrap();
    assert!(pair.delete.other_holds(&guard).is_err(), "opened, not filled");
    assert!(
        save.publish(&[vault_path("a.md")]).is_err(),
        "nor by a publication"
    );
    let reset = save.begin_reset().unwrap();
    assert!(
        pair.delete.other_holds(&guard).is_err(),
        "the ledger is being asked"
    );
    reset.finish(&[vault_path("a.md")]).unwrap();
    assert!(pair.delete.other_holds(&guard).unwrap());
}

#[test]
fn a_damaged_list_of_our_own_is_written_anew_only_if_nobody_works() {
    let pair = pair();
    std::fs::write(list_path(pair.dir.path(), Role::Save), "lockgate-unres\0\0\n").unwrap();
    let worker = FenceDir::open(pair.dir.path(), Role::Save, vec![Role::Delete]).unwrap();
    let guard = worker.try_lock(&vault_path("other.md")).unwrap();
    let refused = pair.save.begin_reset().unwrap().finish(&[vault_path("held.md")]);
    assert!(matches!(refused, Err(FenceFault::Damaged { .. })), "{refused:?}");
    drop(guard);
    pair.save
        .begin_reset()
        .unwrap()
        .finish(&[vault_path("held.md")])
        .unwrap();
    assert_eq!(listed(&pair, Role::Save), ["/app/vault/held.md"]);
}

#[test]
fn a_list_is_believed_only_if_its_own_role_alone_can_have_written_it() {
    use list::Writers;
    let [root, save, delete] = [0, 1, 2];
    for (user, lock_owner, writer, believed) in [
        (save, root, delete, true),
        (save, root, save, false),
        (save, root, root, false),
        (save, save, save, true),
        (save, save, delete, false),
    ] {
        let writers = Writers::of_other(user, lock_owner);
        assert_eq!(writers.include(writer), believed, "{user} {lock_owner} {writer}");
    }
    assert!(!Writers::User(save).include(delete), "our own list");

    use std::os::unix::fs::PermissionsExt;
    let pair = pair();
    let guard = pair.delete.try_lock(&vault_path("a.md")).unwrap().unwrap();
    let file = list_path(pair.dir.path(), Role::Save);
    for (mode, believed) in [(0o640, true), (0o660, false), (0o642, false)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(pair.delete.other_holds(&guard).is_ok(), believed, "{mode:o}");
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    // Only root can give a file away.
    if std::os::unix::fs::chown(&file, Some(12_345), None).is_ok() {
        let fault = pair.delete.other_holds(&guard).unwrap_err().to_string();
        assert!(fault.contains("12345"), "{fault}");
    }
}

#[test]
fn m_q_a_lock_file_put_in_the_place_of_ours_is_not_locked() {
    let pair = pair();
    let lock = pair.dir.path().join("lock");
    let moved = pair.dir.path().join("moved");
    std::fs::rename(&lock, &moved).unwrap();
    assert!(pair.save.try_lock(&vault_path("a.md")).is_err(), "it is gone");
    create_for_development(pair.dir.path()).unwrap();
    let fault = pair.save.try_lock(&vault_path("a.md")).unwrap_err();
    assert!(matches!(fault, FenceFault::Replaced { .. }), "{fault}");
    std::fs::rename(&moved, &lock).unwrap();
    assert!(pair.save.try_lock(&vault_path("a.md")).unwrap().is_some());
}

#[test]
fn a_list_long_with_unresolved_paths_is_not_written_anew_each_time() {
    use std::os::unix::fs::MetadataExt;
    let pair = pair();
    let many: Vec<VaultPath> = (0..300)
        .map(|n| vault_path(&format!("{}-{n}.md", "long".repeat(30))))
        .collect();
    pair.save.publish(&many).unwrap();
    let about = || std::fs::metadata(list_path(pair.dir.path(), Role::Save)).unwrap();
    let before = about().ino();
    pair.save.remove(&many[..1]).unwrap();
    assert_eq!(about().ino(), before);
    pair.save.remove(&many[1..299]).unwrap();
    assert_ne!(about().ino(), before);
    assert!(about().len() < 1024);
    assert_eq!(listed(&pair, Role::Save), [many[299].as_str()]);
}

#[test]
fn the_lock_file_is_never_made_by_a_role() {
    let dir = tempfile::tempdir().unwrap();
    let fault = FenceDir::open(dir.path(), Role::Save, vec![Role::Delete]).unwrap_err();
    assert!(fault.to_string().contains("lock"), "{fault}");
}
