//! Admission: once, whatever is repeated.

use super::*;
use crate::job::Code;

#[test]
fn t27_the_same_document_again_is_the_same_job_for_the_same_requester_only() {
    let bench = Bench::new(Role::Save);
    let document = save("a.md");
    let id = bench.admit(&document);
    // Another order of fields is the same document.
    let mut fields: Vec<(String, Value)> = document.as_object().unwrap().clone().into_iter().collect();
    fields.reverse();
    let again = Value::Object(fields.into_iter().collect());
    assert_eq!(
        bench.admit_as(&again, UID),
        Admission::Same {
            job_id: id.to_string()
        }
    );
    assert!(
        matches!(bench.admit_as(&document, UID + 1), Admission::Refused(refusal) if refusal.code == Code::IdempotencyConflict)
    );
    assert_eq!(bench.ledger.overview().unwrap().counts["jobs"]["READY"], 1);
    assert_eq!(bench.findings(), Vec::<String>::new());
}

#[test]
fn t28_one_idempotency_key_is_one_effect() {
    let bench = Bench::new(Role::Save);
    let first = save("a.md");
    let id = bench.admit(&first);
    let mut same = first.clone();
    same["job_id"] = json!(uuid());
    same["created_at"] = json!("2026-12-01T00:00:00Z");
    assert_eq!(
        bench.admit_as(&same, UID),
        Admission::Same {
            job_id: id.to_string()
        }
    );
    for (field, value) in [
        ("mission_id", json!(uuid())),
        ("vault_path", json!("/app/vault/b.md")),
        ("object_id", json!("b.md")),
    ] {
        let mut other = same.clone();
        other["job_id"] = json!(uuid());
        other[field] = value;
        if field == "vault_path" {
            other["object_id"] = json!("b.md");
        }
        let answer = bench.admit_as(&other, UID);
        assert!(
            matches!(&answer, Admission::Refused(refusal) if refusal.code == Code::IdempotencyConflict),
            "{field}: {answer:?}"
        );
    }
    // The other way round: a known job_id with another content.
    let mut changed = first.clone();
    changed["mission_id"] = json!(uuid());
    assert!(matches!(bench.admit_as(&changed, UID), Admission::Refused(_)));
    assert_eq!(bench.claim(Uuid4::random(), 10).len(), 1);
}

#[test]
fn t06_a_refusal_takes_neither_id_nor_key_and_is_counted_once() {
    let bench = Bench::new(Role::Save);
    let document = save("a.md");
    let refusal = crate::job::Refusal::new(Code::UnknownField, "/x", "x is not a field");
    for _ in 0..3 {
        let (refusal, digest) = (refusal.clone(), hash(7));
        bench
            .ledger
            .write(move |tx| tx.refuse(UID, digest, &refusal, 100))
            .unwrap();
    }
    let overview = bench.ledger.overview().unwrap();
    assert_eq!(overview.counts["refused"]["unknown_field"], 3);
    assert_eq!(overview.head.size, 1, "one audit row for the same document");
    assert_eq!(
        bench
            .ledger
            .submission(hash(7), UID)
            .unwrap()
            .unwrap()
            .code
            .as_deref(),
        Some("unknown_field")
    );
    assert!(bench.ledger.submission(hash(7), UID + 1).unwrap().is_none());
    bench.admit(&document);
}

#[test]
fn refusals_are_bounded() {
    let bench = Bench::new(Role::Save);
    for n in 0..150u8 {
        let refusal = crate::job::Refusal::new(Code::MalformedJson, "", "no");
        bench
            .ledger
            .write(move |tx| tx.refuse(UID, hash(n), &refusal, 100))
            .unwrap();
    }
    let kept: i64 = bench
        .ledger
        .read(|db| db.query_row("SELECT count(*) FROM submissions", [], |row| row.get(0)))
        .unwrap();
    assert_eq!(kept, 100);
    assert!(bench.ledger.submission(hash(149), UID).unwrap().is_some());
    assert!(bench.ledger.submission(hash(0), UID).unwrap().is_none());
}

#[test]
fn a_requester_cancels_only_its_own_and_only_what_waits() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    let cancel = |uid: u32, byte: u8| {
        bench
            .ledger
            .write(move |tx| tx.cancel_by_requester(id, uid, hash(byte), 100))
            .unwrap()
    };
    cancel(UID + 1, 1);
    assert_eq!(bench.row(id).state, "READY");
    assert_eq!(
        bench
            .ledger
            .submission(hash(1), UID + 1)
            .unwrap()
            .unwrap()
            .code
            .as_deref(),
        Some("not_allowed")
    );
    cancel(UID, 2);
    assert_eq!(bench.state(id).0, "REJECTED");
    assert_eq!(bench.state(id).1.as_deref(), Some("cancelled"));
    cancel(UID, 3);
    assert!(!bench.ledger.submission(hash(3), UID).unwrap().unwrap().accepted);
    assert_eq!(bench.ledger.live_of(UID).unwrap(), (0, 0));
    assert_eq!(bench.findings(), Vec::<String>::new());
}
