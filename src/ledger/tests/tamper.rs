//! A12: the file is edited by hand while the role is stopped. Nothing beyond the policy happens, and `audit verify` says so.

use super::*;
use crate::job::Code;

fn settled(role: Role) -> (Bench, JobId) {
    let bench = Bench::new(role);
    let document = if role == Role::Save {
        save("a.md")
    } else {
        delete("a.md")
    };
    let id = bench.admit(&document);
    if role == Role::Delete {
        bench.approve(&document);
    }
    let job = bench.claim_one(Uuid4::random());
    bench.execute(&job);
    let code = if role == Role::Save {
        Code::Saved
    } else {
        Code::Deleted
    };
    bench.settle(&job, State::Executing, Settlement::succeed(code));
    assert_eq!(bench.findings(), Vec::<String>::new());
    (bench, id)
}

#[test]
fn a12_a_settled_job_made_ready_by_hand_is_not_run() {
    for role in [Role::Save, Role::Delete] {
        let (bench, id) = settled(role);
        bench.tamper("UPDATE jobs SET state = 'READY', hold = NULL, settled_ms = NULL");
        let claimed = bench.claim(Uuid4::random(), 10);
        assert!(claimed.is_empty(), "{role}: {claimed:?}");
        let findings = bench.findings();
        assert!(!findings.is_empty(), "{role}: verify must report it");
        if role == Role::Save {
            assert_eq!(bench.state(id).1.as_deref(), Some("tampered"));
        }
    }
}

#[test]
fn a12_each_changed_column_is_found_and_the_job_is_set_aside() {
    let changes = [
        "UPDATE jobs SET body = CAST(replace(CAST(body AS TEXT), 'a.md', 'b.md') AS BLOB)",
        "UPDATE jobs SET digest = randomblob(32)",
        "UPDATE jobs SET vault_path = '/app/vault/b.md'",
        "UPDATE jobs SET object_id = 'b.md'",
        "UPDATE jobs SET commit_id = '2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e'",
        "UPDATE jobs SET provenance = randomblob(32)",
        "UPDATE jobs SET attempt = 5",
        "UPDATE jobs SET mission_id = '0b0f3a5c-6a0f-4b1e-9a57-0c2f0a7d1e11'",
    ];
    for change in changes {
        let bench = Bench::new(Role::Save);
        let id = bench.admit(&save("a.md"));
        bench.tamper(change);
        assert!(!bench.findings().is_empty(), "{change}");
        assert!(bench.claim(Uuid4::random(), 10).is_empty(), "{change}");
        assert_eq!(bench.state(id).1.as_deref(), Some("tampered"), "{change}");
    }
}

#[test]
fn a12_every_altered_audit_column_breaks_the_chain() {
    for column in [
        "at_ms = at_ms + 1",
        "job_seq = 99",
        "kind = 'OPERATOR'",
        "from_state = 'READY'",
        "to_state = 'FAILED'",
        "uid = 0",
        "note = 'x'",
        "code = 'saved'",
        "worker = 'w'",
        "attempt = 7",
        "object_id = 'z'",
        "provenance = randomblob(32)",
        "hash = randomblob(32)",
        "prev_hash = randomblob(32)",
    ] {
        let (bench, _) = settled(Role::Save);
        bench.tamper(&format!("UPDATE audit SET {column} WHERE seq = 2"));
        assert!(!bench.findings().is_empty(), "{column}");
    }
    let (bench, _) = settled(Role::Save);
    bench.tamper("DELETE FROM audit WHERE seq = 2");
    assert!(
        bench
            .findings()
            .iter()
            .any(|found| found.contains("rows are missing"))
    );
}

#[test]
fn a12_a_truncated_audit_is_found_by_a_head_kept_elsewhere_even_if_all_traces_are_removed() {
    let (bench, _) = settled(Role::Save);
    let head = bench.ledger.head().unwrap();
    bench.tamper("DELETE FROM audit WHERE seq > 1");
    bench.tamper("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'audit'");
    let report = super::super::verify::verify_file(&bench.path(), Some((head.size, head.hash))).unwrap();
    assert!(
        report.findings.iter().any(|found| found.contains("cut off")),
        "{:?}",
        report.findings
    );
}

#[test]
fn a12_an_approval_made_unspent_by_hand_is_reported() {
    let (bench, _) = settled(Role::Delete);
    bench.tamper("UPDATE approvals SET state = 'VERIFIED', job_id = NULL");
    assert!(bench.findings().iter().any(|found| found.contains("approval")));
}

#[test]
fn a12_counts_and_jobs_that_do_not_agree_are_reported() {
    let (bench, _) = settled(Role::Save);
    bench.tamper("UPDATE counts SET n = 5 WHERE name = 'jobs' AND label = 'SUCCEEDED'");
    assert!(bench.findings().iter().any(|found| found.contains("count")));
    let (bench, _) = settled(Role::Save);
    bench.tamper("DELETE FROM jobs");
    assert!(!bench.findings().is_empty());
}
