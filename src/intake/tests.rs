//! What honest requesters see: files are read once, in turn, within their limits, and go only after the commit.

use super::test_support::{DAY_MS, EVERYTHING, Yard, commit, me, names, refusals, scan};
use super::*;
use crate::clock::{BootMs, Clock, WallMs};
use crate::job::{Code, sha256};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

#[test]
fn a_dropped_document_is_handed_out_with_its_owner_and_stays_until_it_is_committed() {
    let yard = Yard::new();
    yard.drop("a.json", "{}\n");
    yard.drop("b.jsonl", "1\n2\n\n3");
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert_eq!(names(&batch), ["a.json", "b.jsonl"]);
    let documents: Vec<Vec<&[u8]>> = batch
        .files
        .iter()
        .map(|file| file.documents().collect())
        .collect();
    assert_eq!(documents, [vec![&b"{}\n"[..]], vec![b"1", b"2", b"", b"3"]]);
    assert!(
        batch
            .files
            .iter()
            .all(|file| (file.uid, file.via) == (me(), Via::Drop))
    );
    assert_eq!(yard.left(), ["a.json", "b.jsonl"]);
    assert_eq!(commit(&mut intake, &batch), 0);
    assert_eq!(yard.left(), Vec::<String>::new());
    assert!(scan(&mut intake).is_empty());
}

#[test]
fn what_was_not_committed_comes_again_and_only_that() {
    let yard = Yard::new();
    for name in ["a.json", "b.json", "c.json"] {
        yard.drop(name, name);
    }
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    intake.finish(&batch.tickets()[..1]).unwrap();
    assert_eq!(yard.left(), ["b.json", "c.json"]);
    assert_eq!(names(&scan(&mut intake)), ["b.json", "c.json"]);
    // A batch that is still out is given back by the next scan.
    assert_eq!(names(&scan(&mut intake)), ["b.json", "c.json"]);
}

#[test]
fn a_file_that_took_the_name_of_a_committed_one_stays() {
    let yard = Yard::new();
    yard.drop("a.json", "first");
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    yard.drop("a.json", "second");
    assert_eq!(commit(&mut intake, &batch), 0);
    let batch = scan(&mut intake);
    assert_eq!(batch.files[0].documents().next(), Some(&b"second"[..]));
    // The same inode, written again after it was read: another state of it, which nobody has read.
    fs::write(yard.drop.join("a.json"), "third").unwrap();
    commit(&mut intake, &batch);
    assert_eq!(scan(&mut intake).files[0].documents().next(), Some(&b"third"[..]));
}

#[test]
fn in_the_gate_the_name_states_the_requester_if_the_file_is_the_gateways() {
    let yard = Yard {
        refused_uids: vec![900],
        ..Yard::new()
    };
    yard.gate(4711, "a.json", "{}");
    yard.gate(900, "b.json", "{}");
    fs::write(yard.gate.join("c.json"), "{}").unwrap();
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert_eq!(names(&batch), ["4711-a.json"]);
    assert_eq!((batch.files[0].uid, batch.files[0].via), (4711, Via::Gateway));
    assert_eq!(
        (batch.refused[0].uid, batch.refused[0].refusal.code),
        (900, Code::NotAllowed)
    );
    commit(&mut intake, &batch);
    assert_eq!(yard.left(), ["c.json"], "a name without a UID is odd here");
    // In drop/ the same name states nothing.
    fs::write(yard.drop.join("4711-a.json"), "{}").unwrap();
    assert_eq!(scan(&mut intake).files[0].uid, me());
}

#[test]
fn in_the_gate_nobody_but_the_gateway_is_believed() {
    let yard = Yard {
        gateway: me() + 1,
        ..Yard::new()
    };
    yard.gate(4711, "a.json", "{}");
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert!(batch.files.is_empty());
    assert_eq!((batch.refused[0].uid, batch.refused[0].via), (me(), Via::Gateway));
    assert_eq!(
        refusals(&batch),
        ["not_allowed: only the gateway may drop files in this directory"]
    );
}

#[test]
fn a_refused_uid_is_no_requester_and_its_file_goes() {
    let yard = Yard {
        refused_uids: vec![me()],
        ..Yard::new()
    };
    yard.drop("a.json", "{}");
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert_eq!(refusals(&batch), ["not_allowed: this UID is not a requester"]);
    commit(&mut intake, &batch);
    assert_eq!(yard.left(), Vec::<String>::new());
}

#[test]
fn a_thousand_lines_fit_into_one_file_and_sizes_end_where_the_design_says() {
    let yard = Yard::new();
    yard.drop("a.jsonl", "{}\n".repeat(1000));
    yard.drop("b.jsonl", "{}\n".repeat(1001));
    yard.drop("c.jsonl", "x".repeat(1 << 20));
    yard.drop("d.jsonl", "x".repeat((1 << 20) + 1));
    yard.drop("e.json", "x".repeat(1 << 16));
    yard.drop("f.json", "x".repeat((1 << 16) + 1));
    yard.drop("g.json", "");
    let mut intake = yard.intake();
    let batch = scan(&mut intake);
    assert_eq!(names(&batch), ["a.jsonl", "c.jsonl", "e.json", "g.json"]);
    assert_eq!(batch.files[0].documents().len(), 1000);
    assert_eq!(
        batch.files[3].documents().collect::<Vec<_>>(),
        [b""],
        "an empty file is a document to refuse"
    );
    assert_eq!(
        refusals(&batch),
        [
            "too_large: the file has more than 1000 lines",
            "too_large: the file is larger than 1048576 bytes",
            "too_large: the file is larger than 65536 bytes"
        ]
    );
    let last = batch
        .refused
        .iter()
        .find(|one| one.refusal.message.contains("65536"))
        .unwrap();
    assert_eq!(last.digest, sha256("x".repeat((1 << 16) + 1).as_bytes()));
    commit(&mut intake, &batch);
    assert_eq!(yard.left(), Vec::<String>::new());
}

#[test]
fn requesters_take_turns_whoever_drops_more() {
    let yard = Yard::new();
    for at in 0..50 {
        yard.gate(1, &format!("{at:02}.json"), "{}");
    }
    yard.gate(2, "x.json", "{}");
    yard.gate(3, "y.json", "{}");
    yard.gate(3, "z.json", "{}");
    let mut intake = yard.intake();
    let ask = Ask {
        files_max: 4,
        ..EVERYTHING
    };
    let mut turns = Vec::new();
    for _ in 0..2 {
        let batch = intake.scan_once(&ask).unwrap();
        assert!(batch.more);
        turns.push(names(&batch));
        commit(&mut intake, &batch);
    }
    assert_eq!(turns[0], ["1-00.json", "2-x.json", "3-y.json", "1-01.json"]);
    assert_eq!(turns[1], ["3-z.json", "1-02.json", "1-03.json", "1-04.json"]);
}

#[test]
fn a_batch_ends_at_its_bytes_but_takes_at_least_one_file() {
    let yard = Yard::new();
    for name in ["a.json", "b.json", "c.json"] {
        yard.drop(name, "x".repeat(1000));
    }
    let mut intake = yard.intake();
    for (bytes_max, due) in [(2500, 2), (10, 1)] {
        let batch = intake
            .scan_once(&Ask {
                bytes_max,
                ..EVERYTHING
            })
            .unwrap();
        assert_eq!(batch.files.len(), due);
        commit(&mut intake, &batch);
    }
}

fn room(jobs_left: u64, bytes_left: u64) -> Room {
    Room {
        jobs_left,
        jobs_max: 5,
        bytes_left,
        bytes_max: 5000,
    }
}

#[test]
fn who_is_over_a_limit_keeps_its_files_and_nobody_else_waits() {
    let yard = Yard::new();
    for at in 0..4 {
        yard.gate(1, &format!("{at}.json"), "x".repeat(100));
        yard.gate(2, &format!("{at}.json"), "x".repeat(100));
        yard.gate(3, &format!("{at}.json"), "x".repeat(100));
    }
    let mut intake = yard.intake();
    let rooms = |uid: u32| match uid {
        1 => room(2, 5000),
        2 => room(5, 350),
        _ => Room::UNLIMITED,
    };
    let batch = intake
        .scan_once(&Ask {
            room: &rooms,
            ..EVERYTHING
        })
        .unwrap();
    let of = |uid: u32| batch.files.iter().filter(|file| file.uid == uid).count();
    assert_eq!([of(1), of(2), of(3)], [2, 3, 4]);
    assert!(
        batch.refused.is_empty() && !batch.more,
        "what waits for room is no reason to scan again"
    );
    commit(&mut intake, &batch);
    assert_eq!(yard.left(), ["1-2.json", "1-3.json", "2-3.json"]);
    assert!(
        intake
            .scan_once(&Ask {
                room: &|_| room(0, 5000),
                ..EVERYTHING
            })
            .unwrap()
            .is_empty()
    );
    assert_eq!(scan(&mut intake).files.len(), 3);
}

#[test]
fn lines_count_one_by_one_and_what_can_never_fit_is_refused() {
    let yard = Yard::new();
    yard.gate(1, "a.jsonl", "{}\n".repeat(4));
    yard.gate(1, "b.json", "{}");
    yard.gate(2, "c.jsonl", "{}\n".repeat(6));
    yard.gate(3, "d.json", "x".repeat(5001));
    let mut intake = yard.intake();
    let batch = intake
        .scan_once(&Ask {
            room: &|_| room(3, 5000),
            ..EVERYTHING
        })
        .unwrap();
    // a.jsonl waits, and b.json behind it: one requester's files keep their order.
    assert_eq!(names(&batch), Vec::<String>::new());
    assert_eq!(
        batch
            .refused
            .iter()
            .map(|one| (one.uid, one.refusal.code))
            .collect::<Vec<_>>(),
        [(2, Code::RateLimited), (3, Code::RateLimited)]
    );
    assert!(refusals(&batch)[0].contains("split it"));
    commit(&mut intake, &batch);
    assert_eq!(yard.left(), ["1-a.jsonl", "1-b.json"]);
    let batch = intake
        .scan_once(&Ask {
            room: &|_| room(5, 5000),
            ..EVERYTHING
        })
        .unwrap();
    assert_eq!(names(&batch), ["1-a.jsonl", "1-b.json"]);
}

/// Each look at it takes a second, so that a listing is done anew only when it is due.
#[derive(Debug, Default)]
struct SlowClock(AtomicI64);

impl Clock for SlowClock {
    fn wall(&self) -> WallMs {
        WallMs(0)
    }
    fn boot(&self) -> BootMs {
        BootMs(self.0.fetch_add(1000, Ordering::SeqCst))
    }
    fn boot_id(&self) -> String {
        "test".to_owned()
    }
}

#[test]
fn where_a_listing_is_dear_all_is_read_from_few_and_what_was_given_back_comes_at_once() {
    let yard = Yard::new();
    let all = 2 * QUEUED_PER_UID_MAX + 10;
    for at in 0..all {
        yard.drop(&format!("{at}.json"), "{}");
    }
    let mut intake = yard.open_with(Arc::new(SlowClock::default())).unwrap();
    let first = scan(&mut intake);
    assert!(first.more);
    intake.finish(&first.tickets()[1..]).unwrap();
    let second = scan(&mut intake);
    assert_eq!(names(&second)[0], names(&first)[0]);
    commit(&mut intake, &second);
    let (mut read, mut scans) = (first.files.len() - 1 + second.files.len(), 2);
    let mut more = second.more;
    while more {
        let batch = scan(&mut intake);
        read += batch.files.len();
        scans += 1;
        more = batch.more;
        commit(&mut intake, &batch);
    }
    assert_eq!((read, yard.left().len()), (all, 0), "in {scans} scans");
}

#[test]
fn odd_names_are_never_read_and_go_after_a_day() {
    let yard = Yard::new();
    let odd = [
        ".a.json",
        "a.txt",
        "a b.json",
        "ä.json",
        "a.json~",
        "evil\nline.json",
        &"x".repeat(200),
    ];
    for name in odd {
        fs::write(yard.drop.join(name), "{}").unwrap();
    }
    fs::create_dir(yard.drop.join("odd-dir")).unwrap();
    symlink("/etc/passwd", yard.drop.join("odd-link")).unwrap();
    fs::create_dir_all(yard.drop.join("full\ndir/x")).unwrap();
    let mut intake = yard.intake();
    // Their times have a granularity; the clock here stands still.
    yard.clock.advance(DAY_MS - 1000);
    let batch = scan(&mut intake);
    assert!(batch.is_empty() && batch.stuck.is_empty());
    assert_eq!(yard.left().len(), odd.len() + 3);
    yard.clock.advance(61_000);
    let batch = scan(&mut intake);
    assert!(batch.is_empty(), "an odd name gets no answer");
    assert_eq!(yard.left(), ["full\ndir"]);
    assert_eq!(batch.stuck.len(), 1);
    assert_eq!(
        batch.stuck[0].name, "full\\ndir",
        "no name can begin a line of a log"
    );
    assert!(scan(&mut intake).stuck.is_empty(), "said once");
}

#[test]
fn one_process_reads_at_a_time() {
    let yard = Yard::new();
    yard.drop("a.json", "{}");
    let (mut first, mut second) = (yard.intake(), yard.intake());
    let batch = scan(&mut first);
    let other = scan(&mut second);
    assert!(other.held_elsewhere && other.is_empty());
    commit(&mut first, &batch);
    assert!(scan(&mut second).is_empty());
    yard.drop("b.json", "{}");
    assert_eq!(names(&scan(&mut second)), ["b.json"]);
}

#[test]
fn a_wait_ends_with_a_drop_a_poke_or_its_time() {
    let yard = Yard::new();
    let mut intake = yard.intake();
    let soon = Duration::from_millis(20);
    assert_eq!(intake.wait(soon).unwrap(), Woken::Timeout);
    yard.drop("a.json", "{}");
    assert_eq!(intake.wait(Duration::from_secs(5)).unwrap(), Woken::Dropped);
    yard.gate(1, "a.json", "{}");
    assert_eq!(intake.wait(Duration::from_secs(5)).unwrap(), Woken::Dropped);
    // What is not finished wakes nobody.
    fs::write(yard.drop.join(".b.json"), "{}").unwrap();
    assert_eq!(intake.wait(Duration::ZERO).unwrap(), Woken::Timeout);
    let poker = intake.poker();
    poker.poke();
    poker.poke();
    assert_eq!(intake.wait(Duration::from_secs(5)).unwrap(), Woken::Poked);
    assert_eq!(intake.wait(Duration::ZERO).unwrap(), Woken::Timeout);
}

#[test]
fn a_directory_that_is_replaced_is_opened_again_and_the_other_goes_on() {
    let yard = Yard::new();
    let mut intake = yard.intake();
    fs::rename(&yard.drop, yard.drop.with_extension("old")).unwrap();
    yard.gate(1, "a.json", "{}");
    let batch = scan(&mut intake);
    assert_eq!(names(&batch), ["1-a.json"]);
    assert!(
        batch.notices.iter().any(|notice| notice.contains("gone")),
        "{:?}",
        batch.notices
    );
    commit(&mut intake, &batch);
    assert!(scan(&mut intake).notices.is_empty(), "said once");
    fs::create_dir(&yard.drop).unwrap();
    yard.drop("b.json", "{}");
    assert!(scan(&mut intake).is_empty(), "not tried again at once");
    yard.clock.advance(2000);
    let batch = scan(&mut intake);
    assert_eq!(names(&batch), ["b.json"]);
    assert!(
        batch.notices.iter().any(|notice| notice.contains("opened")),
        "{:?}",
        batch.notices
    );
    // A link in its place is not followed.
    commit(&mut intake, &batch);
    fs::remove_dir(&yard.drop).unwrap();
    symlink(&yard.gate, &yard.drop).unwrap();
    assert!(
        scan(&mut intake)
            .notices
            .iter()
            .any(|notice| notice.contains("gone"))
    );
}

#[test]
fn an_intake_does_not_open_what_is_not_as_it_should_be() {
    let yard = Yard::new();
    fs::remove_dir(&yard.gate).unwrap();
    assert!(matches!(yard.open(), Err(IntakeError::Directory { path, .. }) if path == yard.gate));
    symlink(&yard.drop, &yard.gate).unwrap();
    assert!(
        matches!(yard.open(), Err(IntakeError::Directory { .. })),
        "a link is no directory"
    );
    fs::remove_file(&yard.gate).unwrap();
    fs::create_dir(&yard.gate).unwrap();
    let table = yard.state.join("intake.attempts");
    fs::remove_file(&table).unwrap();
    symlink(yard.drop.join("elsewhere"), &table).unwrap();
    assert!(
        matches!(yard.open(), Err(IntakeError::Attempts { .. })),
        "a link is no table"
    );
    assert!(!yard.drop.join("elsewhere").exists());
    fs::remove_file(&table).unwrap();
    assert!(yard.open().is_ok());
    // Only root can give a directory away.
    if me() == 0 {
        std::os::unix::fs::chown(&yard.gate, Some(4711), None).unwrap();
        let refused = yard.open().unwrap_err();
        assert!(matches!(refused, IntakeError::NotOurs { uid: 4711, .. }));
        assert!(refused.to_string().contains("chown"), "{refused}");
    }
}
