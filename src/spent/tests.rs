//! spent.log against reuse, other processes, people and crashes.

mod crash;
mod torn;

use super::*;
use crate::job::{JobId, Nonce, Uuid4};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn entry(wall_ms: i64) -> SpentEntry {
    let mut nonce = [0u8; 32];
    getrandom::fill(&mut nonce).unwrap();
    SpentEntry {
        approval_id: ApprovalId::random(),
        nonce: Nonce(nonce),
        job_id: JobId::random(),
        lease_token: Uuid4::random(),
        wall_ms: WallMs(wall_ms),
    }
}

fn fresh() -> (tempfile::TempDir, PathBuf, SpentLog) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    let log = SpentLog::create_or_open(&path, true).unwrap();
    (dir, path, log)
}

fn reopen(path: &Path) -> SpentLog {
    SpentLog::create_or_open(path, false).unwrap()
}

fn all(log: &SpentLog) -> Vec<SpentEntry> {
    log.entries().unwrap().collect::<Result<_, _>>().unwrap()
}

/// A file with this content, mode 0600.
fn put(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn refused(path: &Path) -> SpentFault {
    let fault = SpentLog::create_or_open(path, false).unwrap_err();
    assert!(fault.to_string().contains(path.to_str().unwrap()), "{fault}");
    fault
}

#[test]
fn t36_what_is_spent_stays_spent_after_a_restart() {
    let (_dir, path, log) = fresh();
    let entries = [entry(5), entry(9), entry(7)];
    assert_eq!(log.spend(&entries).unwrap(), [SpendVerdict::Spent; 3]);
    assert_eq!(log.spend(&entries).unwrap(), [SpendVerdict::AlreadySpent; 3]);
    assert_eq!(log.highest_wall_ms(), Some(WallMs(9)));
    drop(log);
    let log = reopen(&path);
    assert!(entries.iter().all(|entry| log.contains(&entry.approval_id)));
    assert!(!log.contains(&ApprovalId::random()));
    assert_eq!(log.spend(&entries).unwrap(), [SpendVerdict::AlreadySpent; 3]);
    assert_eq!(all(&log), entries);
    assert_eq!(log.highest_wall_ms(), Some(WallMs(9)));
}

#[test]
fn a_fresh_file_is_private_and_empty() {
    let (_dir, path, log) = fresh();
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!((log.highest_wall_ms(), all(&log).len()), (None, 0));
    assert_eq!(log.spend(&[]).unwrap(), []);
    reopen(&path);
}

#[test]
fn a_nonce_or_an_id_alone_is_enough_to_be_spent() {
    let (_dir, path, log) = fresh();
    let first = entry(1);
    log.spend(&[first]).unwrap();
    let same_nonce = SpentEntry {
        nonce: first.nonce,
        ..entry(2)
    };
    let same_id = SpentEntry {
        approval_id: first.approval_id,
        ..entry(2)
    };
    for log in [&log, &reopen(&path)] {
        assert_eq!(
            log.spend(&[same_nonce, same_id]).unwrap(),
            [SpendVerdict::AlreadySpent; 2]
        );
        assert!(
            !log.contains(&same_nonce.approval_id),
            "a refused entry leaves no trace"
        );
    }
    assert_eq!(all(&log), [first]);
}

#[test]
fn within_one_call_each_is_spent_once() {
    let (_dir, _path, log) = fresh();
    let (one, two) = (entry(1), entry(1));
    let same_nonce = SpentEntry {
        nonce: two.nonce,
        ..entry(1)
    };
    let verdicts = log.spend(&[one, one, two, same_nonce]).unwrap();
    use SpendVerdict::{AlreadySpent, Spent};
    assert_eq!(verdicts, [Spent, AlreadySpent, Spent, AlreadySpent]);
    assert_eq!(all(&log), [one, two]);
}

#[test]
fn t22_handles_that_interleave_spend_each_approval_once() {
    let (_dir, path, log) = fresh();
    let entries: Vec<SpentEntry> = (0..60).map(entry).collect();
    let spent: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4usize)
            .map(|n| {
                let (path, entries) = (&path, &entries);
                scope.spawn(move || {
                    let log = reopen(path);
                    let order = (0..entries.len()).map(|at| entries[(at * 7 + n * 13) % entries.len()]);
                    order
                        .map(|entry| log.spend(&[entry]).unwrap())
                        .filter(|verdicts| *verdicts == [SpendVerdict::Spent])
                        .count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(spent, entries.len());
    assert!(!log.contains(&entries[0].approval_id), "not looked at yet");
    log.refresh().unwrap();
    assert!(entries.iter().all(|entry| log.contains(&entry.approval_id)));
    assert_eq!(log.highest_wall_ms(), Some(WallMs(59)));
    assert_eq!(all(&log).len(), entries.len());
    assert_eq!(all(&reopen(&path)).len(), entries.len());
}

#[test]
fn t36_a_restore_appends_what_is_missing_and_nothing_twice() {
    let (_dir, path, log) = fresh();
    let (old, lost, newer) = (entry(1), entry(2), entry(3));
    log.spend(&[old, newer]).unwrap();
    // Of this one only the nonce is known: the approval must become known as well.
    let half = SpentEntry {
        nonce: old.nonce,
        ..entry(4)
    };
    assert_eq!(log.append_missing(&[old, lost, lost, newer, half]).unwrap(), 2);
    assert_eq!(log.append_missing(&[old, lost, newer, half]).unwrap(), 0);
    let log = reopen(&path);
    assert_eq!(all(&log), [old, newer, lost, half]);
    assert!(log.contains(&half.approval_id));
}

#[test]
fn a_missing_file_beside_a_ledger_is_refused_and_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    let fault = refused(&path);
    assert!(matches!(fault, SpentFault::Missing { .. }), "{fault}");
    assert_eq!(fault.class(), SpentFaultClass::Broken);
    assert!(!path.exists());
}

#[test]
fn what_is_no_private_regular_file_is_refused() {
    let (dir, path, _log) = fresh();
    let other = dir.path().join("other");
    std::os::unix::fs::symlink(&path, &other).unwrap();
    assert!(matches!(refused(&other), SpentFault::NotRegular { .. }));
    std::fs::remove_file(&other).unwrap();
    std::fs::create_dir(&other).unwrap();
    assert!(matches!(refused(&other), SpentFault::NotRegular { .. }));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(
        refused(&path),
        SpentFault::OpenToOthers { mode: 0o640, .. }
    ));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::hard_link(&path, dir.path().join("second-name")).unwrap();
    assert!(matches!(refused(&path), SpentFault::NotRegular { .. }));
}

#[test]
fn a_changed_byte_anywhere_stops_the_start() {
    let (_dir, path, log) = fresh();
    log.spend(&[
        entry(1_700_000_000_000),
        entry(1_700_000_000_001),
        entry(1_700_000_000_002),
    ])
    .unwrap();
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        put(&path, &bytes);
        let opened = SpentLog::create_or_open(&path, false);
        if at + 1 == good.len() {
            // The last line end became a digit: as if the write had been cut off, which is not told apart.
            continue;
        }
        let fault = opened.unwrap_err();
        assert!(matches!(fault, SpentFault::BadLine { .. }), "{at}: {fault}");
        assert_eq!(
            std::fs::read(&path).unwrap(),
            bytes,
            "what is refused is left as it is"
        );
    }
}

#[test]
fn lines_taken_away_swapped_or_doubled_stop_the_start() {
    let (_dir, path, log) = fresh();
    log.spend(&[entry(1), entry(2), entry(3)]).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for order in [
        vec![1, 2],
        vec![0, 2],
        vec![1, 0, 2],
        vec![0, 0, 1, 2],
        vec![0, 1, 2, 2],
    ] {
        let changed: String = order.iter().map(|at| format!("{}\n", lines[*at])).collect();
        put(&path, changed.as_bytes());
        assert!(matches!(refused(&path), SpentFault::BadLine { .. }), "{order:?}");
    }
    put(
        &path,
        format!("{}\n{}\n{}\n", lines[0], &lines[1][..200], lines[2]).as_bytes(),
    );
    let fault = refused(&path);
    assert!(matches!(fault, SpentFault::BadLine { line: 2, .. }), "{fault}");
}

#[test]
fn a_file_that_is_cut_or_replaced_while_open_is_seen() {
    let (dir, path, log) = fresh();
    log.spend(&[entry(1), entry(2)]).unwrap();
    let good = std::fs::read(&path).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(100)
        .unwrap();
    let fault = log.spend(&[entry(3)]).unwrap_err();
    assert!(matches!(fault, SpentFault::Shorter { .. }), "{fault}");
    assert_eq!(fault.class(), SpentFaultClass::Broken);
    put(&path, &good);
    log.refresh().unwrap();
    let other = dir.path().join("other");
    put(&other, &good);
    std::fs::rename(&other, &path).unwrap();
    assert!(matches!(
        log.spend(&[entry(3)]).unwrap_err(),
        SpentFault::Replaced { .. }
    ));
    assert!(matches!(log.refresh().unwrap_err(), SpentFault::Replaced { .. }));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(log.refresh().unwrap_err(), SpentFault::Replaced { .. }));
}

#[test]
fn a_line_another_process_wrote_wrong_stops_this_one() {
    let (_dir, path, log) = fresh();
    log.spend(&[entry(1)]).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let mut forged = String::new();
    line::write_entry(&mut forged, &entry(2), line::FIRST_PREV);
    bytes.extend_from_slice(forged.as_bytes());
    put(&path, &bytes);
    let fault = log.spend(&[entry(3)]).unwrap_err();
    assert!(matches!(fault, SpentFault::BadLine { line: 2, .. }), "{fault}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn an_endless_line_is_refused_without_being_read_whole() {
    let (_dir, path, _log) = fresh();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(1 << 32)
        .unwrap();
    assert!(matches!(refused(&path), SpentFault::BadLine { .. }));
    put(&path, "\n".repeat(scan::FRAGMENT_BYTES_MAX + 2).as_bytes());
    assert!(matches!(refused(&path), SpentFault::BadLine { .. }));
}

#[test]
fn entries_tell_of_damage_that_came_later() {
    let (_dir, path, log) = fresh();
    let first = entry(1);
    log.spend(&[first, entry(2)]).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 10;
    bytes[last] = b'x';
    put(&path, &bytes);
    let mut entries = log.entries().unwrap();
    assert_eq!(entries.next().unwrap().unwrap(), first);
    assert!(matches!(
        entries.next(),
        Some(Err(SpentFault::BadLine { line: 2, .. }))
    ));
    assert!(entries.next().is_none());
}
