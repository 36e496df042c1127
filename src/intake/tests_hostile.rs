//! A20: a drop directory whose owner means harm, and a process that dies on what it reads.

use super::drop_dir::{Reading, Removal};
use super::test_support::{EVERYTHING, Yard, commit, me, names, refusals, scan};
use super::*;
use crate::job::{Code, sha256};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a20_what_is_no_plain_file_is_refused_unopened_and_removed() {
    let yard = Yard::new();
    let secret = yard.state.join("secret");
    fs::write(&secret, "not for you").unwrap();
    symlink(&secret, yard.drop.join("link.json")).unwrap();
    symlink("/nowhere", yard.drop.join("dangling.json")).unwrap();
    symlink("loop.json", yard.drop.join("loop.json")).unwrap();
    fs::hard_link(&secret, yard.drop.join("hard.json")).unwrap();
    fs::create_dir(yard.drop.join("dir.json")).unwrap();
    let fifo = yard.drop.join("fifo.json");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _listener = UnixListener::bind(yard.drop.join("socket.json")).unwrap();
    let mut special = 2;
    // Only root makes devices, and not everywhere; /dev/zero under a document's name.
    if mknodat(
        CWD,
        yard.drop.join("zero.json"),
        FileType::CharacterDevice,
        Mode::RUSR,
        0x105,
    )
    .is_ok()
    {
        special += 1;
    }
    yard.drop("good.json", "{}");
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert_eq!(names(&batch), ["good.json"], "nothing bad holds up what is good");
    let mut due = vec!["not_allowed: a FIFO, socket or device was dropped; drop a regular file"; special];
    due.push("not_allowed: a directory was dropped; drop a regular file");
    due.extend(["not_allowed: a symbolic link was dropped; drop a regular file"; 3]);
    due.push("not_allowed: the file has more than one name; drop a file of its own");
    assert_eq!(refusals(&batch), due);
    let links: BTreeSet<_> = batch
        .refused
        .iter()
        .filter(|one| one.refusal.message.contains("symbolic"))
        .map(|one| one.digest)
        .collect();
    assert_eq!(links.len(), 1, "ten thousand links are one row");
    assert_eq!(commit(&mut intake, &batch), 0);
    assert_eq!(yard.left(), Vec::<String>::new());
    assert_eq!(fs::read_to_string(secret).unwrap(), "not for you");
}

#[test]
fn a20_a_sparse_terabyte_costs_one_small_read() {
    let yard = Yard::new();
    File::create(yard.drop.join("a.json"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    File::create(yard.drop.join("b.jsonl"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert!(batch.refused.iter().all(|one| one.refusal.code == Code::TooLarge));
    let digests: Vec<_> = batch.refused.iter().map(|one| one.digest).collect();
    assert_eq!(
        digests,
        [sha256(&vec![0; (1 << 16) + 1]), sha256(&vec![0; (1 << 20) + 1])]
    );
    commit(&mut intake, &batch);
    assert_eq!(yard.left(), Vec::<String>::new());
}

#[test]
fn a20_a_directory_that_cannot_be_removed_is_counted_once_and_stops_nobody() {
    let yard = Yard::new();
    let full = yard.drop.join("full.json");
    fs::create_dir_all(full.join("x")).unwrap();
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert_eq!(
        refusals(&batch),
        ["not_allowed: a directory was dropped; drop a regular file"]
    );
    assert_eq!(commit(&mut intake, &batch), 1, "it says what stays");
    for name in ["a.json", "b.json"] {
        yard.drop(name, "{}");
        fs::write(full.join(name), "its owner is busy in it").unwrap();
        let batch = scan(&mut intake);
        assert_eq!(
            (names(&batch), batch.refused.len(), batch.stuck.len()),
            (vec![name.to_owned()], 0, 0)
        );
        assert_eq!(commit(&mut intake, &batch), 0);
    }
    fs::remove_dir_all(full.join("x")).unwrap();
    fs::remove_file(full.join("a.json")).unwrap();
    fs::remove_file(full.join("b.json")).unwrap();
    assert!(scan(&mut intake).is_empty());
    assert_eq!(
        yard.left(),
        Vec::<String>::new(),
        "once it is empty it goes, without a word"
    );
}

/// Inode numbers are given again: a file must not be taken for the directory that had its number.
#[test]
fn a20_a_file_that_gets_the_number_of_a_stuck_directory_is_read() {
    let yard = Yard::new();
    let full = yard.drop.join("full.json");
    fs::create_dir_all(full.join("x")).unwrap();
    let number = fs::metadata(&full).unwrap().ino();
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert_eq!(commit(&mut intake, &batch), 1);
    fs::remove_dir_all(&full).unwrap();
    let mut made = 0;
    // Where numbers are not given again soon, this asserts no more than that all files are read.
    while made < 200 {
        let path = yard.drop(&format!("f{made:03}.json"), "{}");
        made += 1;
        if fs::metadata(path).unwrap().ino() == number {
            break;
        }
    }
    assert_eq!(scan(&mut intake).files.len(), made);
}

#[test]
fn a20_a_file_of_a_foreign_group_was_not_made_here() {
    let yard = Yard::new();
    let path = yard.drop("a.json", "{}");
    // Only root, or a member of another group, can make such a file.
    if chown(&path, None, Some(4711)).is_err() {
        return;
    }
    yard.drop("b.json", "{}");
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert_eq!(names(&batch), ["b.json"]);
    assert!(refusals(&batch)[0].starts_with("not_allowed: the file was made elsewhere and moved in"));
}

/// Whatever its owner does meanwhile, a reading ends, holds what its owner wrote, and is judged from memory.
#[test]
fn a20_a_file_that_is_rewritten_all_the_time_ends_in_an_answer() {
    let yard = Yard::new();
    let path = yard.drop("a.json", "a".repeat(60_000));
    let mut intake = yard.intake();
    let stop = AtomicBool::new(false);
    let batches = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = File::options().write(true).open(&path).unwrap();
            for letter in ["b", "c"].into_iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                file.set_len(0).unwrap();
                std::os::unix::fs::FileExt::write_all_at(&file, letter.repeat(60_000).as_bytes(), 0).unwrap();
            }
        });
        let all: Vec<Batch> = (0..300).map(|_| scan(&mut intake)).collect();
        stop.store(true, Ordering::Relaxed);
        all
    });
    for batch in &batches {
        for file in &batch.files {
            let bytes = file.documents().next().unwrap();
            assert!(bytes.len() <= 60_000 && bytes.iter().all(|c| b"abc".contains(c)));
        }
        for one in &batch.refused {
            assert!(one.refusal.message.contains("kept changing"), "{}", one.refusal);
        }
    }
    let batch = scan(&mut intake);
    assert_eq!(batch.files.len() + batch.refused.len(), 1);
    commit(&mut intake, &batch);
    assert_eq!(yard.left(), Vec::<String>::new());
}

#[test]
fn a20_what_changed_since_it_was_seen_is_neither_read_nor_removed() {
    let yard = Yard::new();
    let path = yard.drop("a.json", "first");
    let dir = DropDir::open(&yard.drop, Kind::Drop, Ownership::Ours).unwrap();
    let seen = dir.see(c"a.json").unwrap().id;
    let is_changed = |id| matches!(dir.read("a.json", id, 100), Reading::Changed);
    assert!(matches!(dir.read("a.json", seen, 100), Reading::Read(bytes, _) if bytes == b"first"));
    fs::write(&path, "other").unwrap();
    assert!(is_changed(seen));
    assert_eq!(dir.remove(c"a.json", seen), Ok(Removal::Replaced));
    for replaced in 0..3 {
        fs::remove_file(&path).unwrap();
        match replaced {
            0 => symlink("/etc/passwd", &path).unwrap(),
            1 => mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap(),
            _ => fs::write(&path, "another").unwrap(),
        }
        assert!(is_changed(seen), "{replaced}");
        assert_eq!(dir.remove(c"a.json", seen), Ok(Removal::Replaced), "{replaced}");
    }
    assert!(matches!(dir.read("b.json", seen, 100), Reading::Gone));
    assert_eq!(dir.remove(c"b.json", seen), Ok(Removal::Gone));
    // A directory's id has no time; it does not name the file that has its number later.
    let now = dir.see(c"a.json").unwrap().id;
    assert_eq!(
        dir.remove(c"a.json", FileId { ctime_ns: 0, ..now }),
        Ok(Removal::Replaced)
    );
    // A file that never held still is removed in whatever state it is.
    fs::write(&path, "again").unwrap();
    assert_eq!(dir.remove(c"a.json", now.in_any_state()), Ok(Removal::Removed));
}

/// At the fifth change it is refused, and it goes although it has changed again.
#[test]
fn a20_a_file_that_never_holds_still_is_refused_in_the_end() {
    let yard = Yard::new();
    let path = yard.drop("a.json", "0");
    let mut intake = yard.intake();
    let dir = DropDir::open(&yard.drop, Kind::Drop, Ownership::Ours).unwrap();
    let id = dir.see(c"a.json").unwrap().id;
    for times in 1..5 {
        assert!(!intake.known.changed(&id), "{times}");
    }
    intake.known.calm(&id);
    for times in 1..=5 {
        let seen = dir.see(c"a.json").unwrap().id;
        assert_eq!(intake.known.changed(&seen), times == 5);
        fs::write(&path, times.to_string()).unwrap();
    }
}

/// The flood's owner has no room left: looking again and again would find nothing that may be taken.
#[test]
fn a20_a_flood_of_a_requester_over_its_limit_does_not_keep_the_role_busy() {
    let yard = Yard::new();
    for at in 0..QUEUED_PER_UID_MAX + 10 {
        yard.gate(1, &format!("{at}.json"), "{}");
    }
    let mut intake = yard.intake();
    let none = Room {
        jobs_left: 0,
        ..Room::UNLIMITED
    };
    let rooms = |uid: u32| if uid == 1 { none } else { Room::UNLIMITED };
    let ask = Ask {
        room: &rooms,
        ..EVERYTHING
    };
    let batch = intake.scan_once(&ask).unwrap();
    assert!(batch.is_empty() && !batch.more);
    yard.gate(2, "late.json", "{}");
    assert_eq!(names(&intake.scan_once(&ask).unwrap()), ["2-late.json"]);
    assert!(scan(&mut intake).more, "with room there is more");
}

/// A process ends without finishing its batch when it is dropped here: its lock goes, its count stays.
fn die(yard: &Yard) -> Vec<String> {
    let mut intake = yard.intake();
    names(&scan(&mut intake))
}

#[test]
fn a20_a_file_on_which_the_process_died_three_times_is_set_aside() {
    let yard = Yard::new();
    yard.drop("a.json", "poison");
    for _ in 0..3 {
        assert_eq!(die(&yard), ["a.json"]);
    }
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert!(batch.files.is_empty() && !batch.is_empty());
    let one = &batch.poisoned[0];
    assert_eq!((one.name.as_str(), one.uid, one.via), ("a.json", me(), Via::Drop));
    assert_eq!(
        (one.digest, one.refusal.code),
        (sha256(b"poison"), Code::MalformedJson)
    );
    assert_eq!(yard.left(), Vec::<String>::new());
    let kept = intake.quarantine().list().unwrap();
    assert_eq!(
        (kept.len(), kept[0].name.as_str(), kept[0].bytes),
        (1, one.kept_as.as_str(), 6)
    );
    assert!(kept[0].why.contains(&format!("UID {}", me())));
    let mode = fs::metadata(yard.state.join("quarantine").join(&one.kept_as))
        .unwrap()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    commit(&mut intake, &batch);
    assert_eq!(table(&yard), "", "nothing is remembered of it");
    // The same document under another inode is another file.
    yard.drop("a.json", "poison");
    assert_eq!(names(&scan(&mut intake)), ["a.json"]);
}

/// The table as it counts: up to its end mark.
fn table(yard: &Yard) -> String {
    let text = fs::read_to_string(yard.state.join("intake.attempts")).unwrap();
    text.split_once("end\n").unwrap().0.to_owned()
}

#[test]
fn a20_a_suspect_is_read_alone_whoever_comes_before_or_after() {
    let yard = Yard::new();
    yard.gate(2, "suspect.json", "{}");
    die(&yard);
    for uid in [1, 2, 3] {
        yard.gate(uid, "new.json", "{}");
    }
    let mut intake = yard.intake();
    let mut turns = Vec::new();
    for _ in 0..3 {
        let batch = scan(&mut intake);
        turns.push(names(&batch));
        commit(&mut intake, &batch);
    }
    assert_eq!(
        turns,
        [
            vec!["1-new.json"],
            vec!["2-suspect.json"],
            vec!["3-new.json", "2-new.json"]
        ]
    );
}

#[test]
fn a20_only_the_culprit_collects_deaths() {
    let yard = Yard::new();
    for name in ["a.json", "b.json", "culprit.json", "c.json", "d.json"] {
        yard.drop(name, name);
    }
    let mut done = Vec::new();
    for _ in 0..20 {
        let mut intake = yard.intake();
        let batch = scan(&mut intake);
        let read = names(&batch);
        if read.iter().any(|name| name == "culprit.json") {
            continue;
        }
        commit(&mut intake, &batch);
        done.extend(read);
        done.extend(batch.poisoned.iter().map(|one| format!("poisoned {}", one.name)));
    }
    done.sort();
    assert_eq!(
        done,
        ["a.json", "b.json", "c.json", "d.json", "poisoned culprit.json"]
    );
}

#[test]
fn a_batch_that_was_given_back_or_a_stop_between_two_batches_is_no_death() {
    let yard = Yard::new();
    yard.drop("a.json", "{}");
    for _ in 0..5 {
        let mut intake = yard.intake();
        assert_eq!(names(&scan(&mut intake)), ["a.json"]);
        intake.finish(&[]).unwrap();
    }
    assert_eq!(names(&scan(&mut yard.intake())), ["a.json"]);
}
