//! Writes cut off at every byte, and closings cut off at every byte.

use super::*;

/// A file of two good lines, and the third line as it would have been.
fn two_and_a_third() -> (Vec<u8>, [SpentEntry; 2], SpentEntry, String) {
    let (_dir, path, log) = fresh();
    let good = [entry(1_700_000_000_000), entry(1_700_000_000_001)];
    log.spend(&good).unwrap();
    let base = std::fs::read(&path).unwrap();
    let third = entry(1_700_000_000_002);
    log.spend(&[third]).unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    let line = whole[base.len()..].to_owned();
    (base, good, third, line)
}

fn assert_consistent(path: &Path, good: &[SpentEntry]) {
    let closed = std::fs::read(path).unwrap();
    assert!(closed.ends_with(b"\n"));
    let log = reopen(path);
    assert_eq!(
        std::fs::read(path).unwrap(),
        closed,
        "what is closed is not closed again"
    );
    assert_eq!(all(&log)[..good.len()], *good);
    let next = entry(2);
    assert_eq!(log.spend(&[next]).unwrap(), [SpendVerdict::Spent]);
    assert_eq!(all(&reopen(path)).last(), Some(&next));
}

#[test]
fn t36_a_line_cut_off_at_any_byte_is_closed_and_what_can_be_read_is_spent() {
    let (base, good, third, line) = two_and_a_third();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    let (id_end, nonce_end) = (3 + 36, 3 + 36 + 1 + 64);
    for cut in 1..line.len() {
        put(&path, &[&base, &line.as_bytes()[..cut]].concat());
        let log = reopen(&path);
        assert_eq!(log.contains(&third.approval_id), cut >= id_end, "{cut}");
        assert!(good.iter().all(|entry| log.contains(&entry.approval_id)));
        let whole = cut == line.len() - 1;
        assert_eq!(all(&log).len(), if whole { 3 } else { 2 }, "{cut}");
        let same_nonce = SpentEntry {
            nonce: third.nonce,
            ..entry(1)
        };
        let verdict = if cut >= nonce_end {
            SpendVerdict::AlreadySpent
        } else {
            SpendVerdict::Spent
        };
        assert_eq!(log.spend(&[same_nonce]).unwrap(), [verdict], "{cut}");
        let verdict = if cut >= id_end {
            SpendVerdict::AlreadySpent
        } else {
            SpendVerdict::Spent
        };
        assert_eq!(
            reopen(&path)
                .spend(&[SpentEntry {
                    nonce: entry(1).nonce,
                    ..third
                }])
                .unwrap(),
            [verdict],
            "{cut}"
        );
        assert_consistent(&path, &good);
    }
}

#[test]
fn the_closing_line_is_the_one_of_the_design() {
    let (base, _good, _third, line) = two_and_a_third();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    let fragment = &line[..150];
    put(&path, &[&base, fragment.as_bytes()].concat());
    reopen(&path);
    let text = std::fs::read_to_string(&path).unwrap();
    let prev = text.lines().nth(1).unwrap().rsplit(' ').next().unwrap();
    let body = format!("v1 torn {} {prev}", crate::job::sha256(fragment.as_bytes()));
    let hash = crate::job::sha256(body.as_bytes());
    assert_eq!(text[base.len()..], format!("{fragment}\n{body} {hash}\n"));
}

#[test]
fn a_closing_cut_off_at_any_byte_is_closed_as_well() {
    let (base, good, third, line) = two_and_a_third();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    for cut in [1, 2, 20, 39, 40, 200, line.len() - 2] {
        put(&path, &[&base, &line.as_bytes()[..cut]].concat());
        reopen(&path);
        let closed = std::fs::read(&path).unwrap();
        for end in base.len() + cut..closed.len() {
            put(&path, &closed[..end]);
            assert_eq!(
                reopen(&path).contains(&third.approval_id),
                cut >= 39,
                "{cut} {end}"
            );
            if end % 16 == 0 {
                assert_consistent(&path, &good);
            } else {
                reopen(&path);
            }
        }
    }
}

#[test]
fn a_first_line_cut_off_and_bytes_that_are_no_text_are_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    for rest in [
        b"v".to_vec(),
        vec![0; 5000],
        vec![0xff; 308],
        b"\n\n".to_vec(),
        vec![b'a'; 400],
    ] {
        put(&path, &rest);
        reopen(&path);
        assert_consistent(&path, &[]);
    }
    let (base, good, third, line) = two_and_a_third();
    // A block that never reached the disk, and one that did.
    put(
        &path,
        &[
            &base,
            &vec![0; 30][..],
            format!(" {} {}", third.approval_id, third.nonce).as_bytes(),
        ]
        .concat(),
    );
    assert!(reopen(&path).contains(&third.approval_id));
    assert_consistent(&path, &good);
    // The line end alone is missing: nothing is lost, nothing is closed.
    put(&path, &[&base, line.trim_end().as_bytes()].concat());
    assert_eq!(all(&reopen(&path)).len(), 3);
    assert_eq!(std::fs::read(&path).unwrap(), [&base, line.as_bytes()].concat());
}

#[test]
fn another_process_that_is_open_closes_it_too() {
    let (_dir, path, log) = fresh();
    let torn = entry(1);
    let mut line = String::new();
    line::write_entry(&mut line, &torn, line::FIRST_PREV);
    put(&path, &line.as_bytes()[..120]);
    assert_eq!(log.spend(&[torn]).unwrap(), [SpendVerdict::AlreadySpent]);
    assert_eq!(log.spend(&[entry(2)]).unwrap(), [SpendVerdict::Spent]);
    assert_eq!(all(&reopen(&path)).len(), 1);
}

#[test]
fn a_whole_last_line_with_a_wrong_hash_is_not_taken_for_a_torn_one() {
    let (base, _good, _third, line) = two_and_a_third();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    let changed = line.replacen("1700000000002", "1700000000003", 1);
    for text in [changed.as_str(), changed.trim_end()] {
        put(&path, &[&base, text.as_bytes()].concat());
        assert!(matches!(refused(&path), SpentFault::BadLine { line: 3, .. }));
    }
}

#[test]
fn a_changed_fragment_or_closing_stops_the_start() {
    let (base, _good, _third, line) = two_and_a_third();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spent.log");
    put(&path, &[&base, &line.as_bytes()[..100]].concat());
    let log = reopen(&path);
    log.spend(&[entry(1)]).unwrap();
    let good = std::fs::read(&path).unwrap();
    for at in base.len()..good.len() - 1 {
        let mut bytes = good.clone();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        put(&path, &bytes);
        assert!(matches!(refused(&path), SpentFault::BadLine { .. }), "{at}");
    }
    // Taking the closing line away leaves a fragment in the middle.
    let text = String::from_utf8(good).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    put(
        &path,
        format!("{}\n{}\n{}\n{}\n", lines[0], lines[1], lines[2], lines[4]).as_bytes(),
    );
    assert!(matches!(refused(&path), SpentFault::BadLine { line: 3, .. }));
}
