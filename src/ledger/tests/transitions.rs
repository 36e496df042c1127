//! The table of states, in code and in the database.

use super::*;
use crate::job::state::{TRANSITIONS, next};

const STATES: [State; 7] = [
    State::Ready,
    State::Claimed,
    State::Executing,
    State::Succeeded,
    State::Failed,
    State::Rejected,
    State::OutcomeUnknown,
];

/// Puts a job into a state without asking anybody.
fn force(bench: &Bench, id: JobId, state: State) {
    let db = rusqlite::Connection::open(bench.path()).unwrap();
    let trigger: String = db
        .query_row(
            "SELECT sql FROM sqlite_master WHERE name = 'jobs_transition'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    db.execute("DROP TRIGGER jobs_transition", []).unwrap();
    db.execute(
        "UPDATE jobs SET state = ?1, detail = NULL WHERE job_id = ?2",
        [state.as_str(), &id.to_string()],
    )
    .unwrap();
    db.execute(&trigger, []).unwrap();
}

#[test]
fn t25_the_database_and_the_code_know_the_same_transitions() {
    for role in [Role::Save, Role::Delete] {
        let bench = Bench::new(role);
        let kind = kind_of(role);
        let document = if role == Role::Save {
            save("a.md")
        } else {
            delete("a.md")
        };
        let id = bench.admit(&document);
        for from in STATES {
            for to in STATES {
                force(&bench, id, from);
                let by_hand = bench.sql(&format!("UPDATE jobs SET state = '{to}' WHERE job_id = '{id}'"));
                // Requeue of a DELETE also depends on its detail, which the database judges too.
                let not_started_only =
                    kind == JobKind::Delete && from == State::OutcomeUnknown && to == State::Ready;
                let code = next(kind, from, to).is_ok();
                assert_eq!(
                    by_hand.is_ok(),
                    code && !not_started_only,
                    "{kind} {from} → {to}: {by_hand:?}"
                );
            }
        }
    }
    assert_eq!(TRANSITIONS.len(), 17);
}

#[test]
fn t25_a_delete_that_may_have_been_sent_is_never_ready_again() {
    let bench = Bench::new(Role::Delete);
    let id = bench.admit(&delete("a.md"));
    let set = |detail: &str| {
        force(&bench, id, State::OutcomeUnknown);
        bench
            .sql(&format!(
                "UPDATE jobs SET detail = '{detail}' WHERE job_id = '{id}'"
            ))
            .unwrap();
        bench.sql(&format!("UPDATE jobs SET state = 'READY' WHERE job_id = '{id}'"))
    };
    assert!(set("worker_died").is_err());
    assert!(set("no_answer").is_err());
    assert!(set("not_started").is_ok());
}

#[test]
fn t26_no_field_of_an_admitted_job_can_be_changed() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    for column in [
        "seq",
        "job_id",
        "kind",
        "uid",
        "via",
        "digest",
        "body",
        "idempotency_key",
        "idempotency_digest",
        "mission_id",
        "object_id",
        "vault_path",
        "commit_id",
        "provenance",
        "approval_id",
        "created_at",
        "admitted_ms",
    ] {
        let refused = bench.sql(&format!(
            "UPDATE jobs SET {column} = {column} WHERE job_id = '{id}'"
        ));
        assert!(
            refused.is_err_and(|error| error.to_string().contains("never change")),
            "{column}"
        );
    }
    assert!(
        bench
            .sql(&format!("DELETE FROM jobs WHERE job_id = '{id}'"))
            .is_err()
    );
    assert!(bench.sql("UPDATE audit SET note = 'x'").is_err());
    assert!(bench.sql("DELETE FROM audit").is_err());
    assert_eq!(bench.findings(), Vec::<String>::new());
}

#[test]
fn t25_an_illegal_settlement_changes_nothing() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    let job = bench.claim_one(Uuid4::random());
    let before = bench.ledger.head().unwrap();
    // CLAIMED → SUCCEEDED is not in the table.
    let wrong = bench.ledger.write(move |tx| {
        tx.settle(
            &job,
            State::Claimed,
            &Settlement::succeed(crate::job::Code::Saved),
        )
    });
    assert!(wrong.is_err_and(|error| error.to_string().contains("no transition")));
    assert_eq!(bench.row(id).state, "CLAIMED");
    assert_eq!(bench.ledger.head().unwrap(), before);
}
