//! Leftovers in every combination of what the hidden file and the path hold.
use super::*;
use crate::target::{LeftoverKind, Settlement};

struct Case {
    hidden: &'static [u8],
    path: Option<&'static [u8]>,
    done: Settlement,
    path_after: Option<&'static [u8]>,
    kept: Option<&'static [u8]>,
}

fn settle(name: &str, new: Option<&[u8]>, case: &Case) {
    let (_dir, root) = place();
    let vault = driver(&root);
    std::fs::create_dir(root.join("d")).unwrap();
    let job_id = JobId::random();
    std::fs::write(root.join(format!("d/.lockgate-{job_id}.{name}")), case.hidden).unwrap();
    std::fs::write(
        root.join(format!("d/.lockgate-{}.{name}", JobId::random())),
        b"another job's",
    )
    .unwrap();
    if let Some(bytes) = case.path {
        std::fs::write(root.join("d/a.md"), bytes).unwrap();
    }
    let path = at("d/a.md");
    let trace = Trace {
        job_id,
        path: &path,
        new: new.map(sha256),
        before: Some(Before::Bytes(sha256(b"before"))),
    };
    let told = format!("{name} {:?} {:?}", case.hidden, case.path);
    let settled = vault.settle_leftovers(&[trace, trace]).unwrap();
    assert_eq!(settled[0].len(), 1, "{told}");
    assert_eq!(settled[0][0].done, case.done, "{told}");
    assert_eq!(
        std::fs::read(root.join("d/a.md")).ok().as_deref(),
        case.path_after,
        "{told}"
    );
    assert_eq!(
        std::fs::read(root.join(format!("d/.lockgate-{job_id}.kept")))
            .ok()
            .as_deref(),
        case.kept,
        "{told}"
    );
    let others =
        all_names(&root).len() - usize::from(case.path_after.is_some()) - usize::from(case.kept.is_some());
    assert_eq!(
        others, 2,
        "{told}: the directory and the other job's file stay, and nothing else"
    );
}

#[test]
fn what_came_out_of_an_exchange_is_told_apart_from_what_is_ours() {
    let (new, before): (&[u8], &[u8]) = (b"new", b"before");
    let (one, two): (&[u8], &[u8]) = (b"a person's", b"another person's");
    let case = |hidden, path, done, path_after, kept| Case {
        hidden,
        path,
        done,
        path_after,
        kept,
    };
    use Settlement::{KeptAside, PutBack, Removed};
    for case in [
        case(b"new", Some(b"before"), Removed, Some(before), None),
        case(b"new", None, Removed, None, None),
        case(b"new", Some(b"new"), Removed, Some(new), None),
        case(b"before", Some(b"new"), Removed, Some(new), None),
        case(b"before", Some(b"a person's"), Removed, Some(one), None),
        case(b"before", None, PutBack, Some(before), None),
        case(b"a person's", Some(b"new"), PutBack, Some(one), None),
        case(b"a person's", None, PutBack, Some(one), None),
        case(
            b"a person's",
            Some(b"another person's"),
            KeptAside,
            Some(two),
            Some(one),
        ),
        case(b"a person's", Some(b"before"), KeptAside, Some(before), Some(one)),
    ] {
        settle("new", Some(b"new"), &case);
    }
    settle(
        "new",
        None,
        &case(b"new", Some(b"x"), KeptAside, Some(b"x"), Some(new)),
    );
}

#[test]
fn what_a_delete_set_aside_is_put_back_or_kept() {
    for hidden in [b"before".as_slice(), b"a person's"] {
        let case = Case {
            hidden,
            path: None,
            done: Settlement::PutBack,
            path_after: Some(hidden),
            kept: None,
        };
        settle("gone", None, &case);
        let path = Some(b"again".as_slice());
        settle(
            "gone",
            None,
            &Case {
                hidden,
                path,
                done: Settlement::KeptAside,
                path_after: path,
                kept: Some(hidden),
            },
        );
    }
}

#[test]
fn unfinished_files_and_directories_go_and_a_filled_directory_stays() {
    let (_dir, root) = place();
    let vault = driver(&root);
    let job_id = JobId::random();
    std::fs::create_dir_all(root.join("d/e")).unwrap();
    std::fs::write(
        root.join(format!("d/e/.lockgate-{job_id}.0123abcd.part")),
        b"torn",
    )
    .unwrap();
    std::fs::write(
        root.join(format!("d/e/.lockgate-{job_id}.4567abcd.part")),
        b"torn",
    )
    .unwrap();
    std::fs::write(
        root.join(format!("d/.lockgate-{job_id}.0123abcd.part")),
        b"not where this job writes",
    )
    .unwrap();
    std::fs::create_dir(root.join(format!(".lockgate-{job_id}.0123abcd.dir"))).unwrap();
    std::fs::create_dir_all(root.join(format!("d/.lockgate-{job_id}.0123abcd.dir/filled"))).unwrap();
    let path = at("d/e/a.md");
    let trace = Trace {
        job_id,
        path: &path,
        new: Some(sha256(b"new")),
        before: Some(Before::Absent),
    };
    let settled = vault.settle_leftovers(&[trace]).unwrap().remove(0);
    let count = |kind, done| {
        settled
            .iter()
            .filter(|one| one.kind == kind && one.done == done)
            .count()
    };
    assert_eq!(count(LeftoverKind::Part, Settlement::Removed), 2);
    assert_eq!(count(LeftoverKind::Directory, Settlement::Removed), 1);
    assert_eq!(count(LeftoverKind::Directory, Settlement::Failed), 1);
    assert_eq!(vault.sweep().unwrap().found.len(), 2);
}

#[test]
fn an_order_whose_jobs_leftover_is_not_settled_is_not_sent() {
    let (_dir, root) = place();
    let vault = driver(&root);
    std::fs::write(root.join("a.md"), b"old").unwrap();
    let path = at("a.md");
    let write = over(&path, b"new", b"old");
    std::fs::write(root.join(names::exchange(write.job_id)), b"somebody's").unwrap();
    assert!(matches!(vault.write(&[write])[0], Answer::NotSent { .. }));
    let delete = removal(&path, b"old");
    std::fs::write(root.join(names::gone(delete.job_id)), b"somebody's").unwrap();
    assert!(matches!(vault.delete(&[delete])[0], Answer::NotSent { .. }));
    assert_eq!(std::fs::read(root.join("a.md")).unwrap(), b"old");
    assert_eq!(all_names(&root).len(), 3);
}

#[test]
fn a_job_keeps_more_than_one_thing_aside() {
    let (_dir, root) = place();
    let room = std::fs::File::open(&root).unwrap();
    let job = JobId::random();
    for number in 1..=18 {
        std::fs::write(root.join("x"), number.to_string()).unwrap();
        assert_eq!(file::keep_aside(room.as_fd(), "x", job), number <= 16, "{number}");
    }
    assert_eq!(driver(&root).sweep().unwrap().found.len(), 16);
}
