//! One transaction: state, audit, event, count, approval.

use super::*;
use crate::job::Code;
use crate::ledger::settle::Attempt;

fn kinds(bench: &Bench, id: JobId) -> Vec<String> {
    bench
        .ledger
        .audit_of(bench.row(id).seq)
        .unwrap()
        .into_iter()
        .map(|row| row.kind)
        .collect()
}

fn events(bench: &Bench) -> Vec<String> {
    bench
        .ledger
        .read(|db| {
            let mut statement = db.prepare("SELECT type FROM outbox ORDER BY seq")?;
            statement.query_map([], |row| row.get(0))?.collect()
        })
        .unwrap()
}

#[test]
fn t02_a_delete_is_requested_authorized_sent_executed_settled() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    let id = bench.admit(&document);
    assert!(
        bench.claim(Uuid4::random(), 10).is_empty(),
        "t31: without an approval it is never claimed"
    );
    bench.approve(&document);
    let job = bench.claim_one(Uuid4::random());
    bench.execute(&job);
    let approval = || {
        bench
            .ledger
            .approval(document["approval_id"].as_str().unwrap())
            .unwrap()
            .unwrap()
            .0
            .state
    };
    assert_eq!(approval(), "RESERVED");
    bench.settle(&job, State::Executing, Settlement::succeed(Code::Deleted));
    assert_eq!(approval(), "CONSUMED");
    assert_eq!(
        kinds(&bench, id),
        ["REQUESTED", "AUTHORIZED", "SENT", "EXECUTED", "SETTLED"]
    );
    assert_eq!(
        events(&bench),
        [
            "job.admitted",
            "approval.received",
            "approval.spent",
            "job.settled"
        ]
    );
    let overview = bench.ledger.overview().unwrap();
    assert_eq!(overview.counts["jobs"]["SUCCEEDED"], 1);
    assert_eq!(overview.counts["jobs"].get("READY").copied().unwrap_or(0), 0);
    assert_eq!(bench.ledger.live_of(UID).unwrap(), (0, 0));
    assert_eq!(bench.findings(), Vec::<String>::new());
}

#[test]
fn t30_a_spent_approval_reserves_nothing_again() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    bench.admit(&document);
    bench.approve(&document);
    let job = bench.claim_one(Uuid4::random());
    bench.execute(&job);
    bench.settle(&job, State::Executing, Settlement::succeed(Code::Deleted));
    let mut again = delete("a.md");
    for field in ["approval_id", "mission_id", "delete_request_id"] {
        again[field] = document[field].clone();
    }
    let id = bench.admit(&again);
    assert_eq!(
        bench.state(id),
        (
            "REJECTED".into(),
            Some("delete_denied".into()),
            Some("approval_spent".into())
        )
    );
    assert!(bench.claim(Uuid4::random(), 10).is_empty());
}

#[test]
fn a_settlement_that_fails_leaves_nothing_half_done() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    let job = bench.claim_one(Uuid4::random());
    let head = bench.ledger.head().unwrap();
    let (held, counted) = (job.clone(), events(&bench).len());
    let failed = bench.ledger.write(move |tx| {
        tx.executing(
            &held,
            &Intent {
                before: None,
                new: None,
            },
        )?;
        tx.settle(&held, State::Executing, &Settlement::succeed(Code::Saved))?;
        Err::<(), _>(super::super::LedgerError::Stopped("testing"))
    });
    assert!(failed.is_err());
    assert_eq!(bench.row(id).state, "CLAIMED");
    assert_eq!(bench.ledger.head().unwrap(), head);
    assert_eq!(events(&bench).len(), counted);
    assert_eq!(bench.findings(), Vec::<String>::new());
}

#[test]
fn many_writers_share_commits_and_each_gets_its_own_answer() {
    let bench = Bench::new(Role::Save);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let bench = &bench;
            scope.spawn(move || {
                for n in 0..25 {
                    let document = save(&format!("t{thread}/{n}.md"));
                    let id = bench.admit(&document);
                    assert_eq!(bench.row(id).state, "READY");
                    // A refusal in the same group does not harm its neighbours.
                    let job = bench.job(&document);
                    let refused = bench.ledger.write(move |tx| {
                        tx.admit(&job, UID, Route::Drop, &rules(), &settings())?;
                        Err::<(), _>(super::super::LedgerError::Stopped("testing"))
                    });
                    assert!(refused.is_err());
                }
            });
        }
    });
    assert_eq!(bench.ledger.overview().unwrap().counts["jobs"]["READY"], 200);
    assert_eq!(bench.findings(), Vec::<String>::new());
}

#[test]
fn a_new_epoch_pauses_and_voids_what_was_approved_before_it() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    let id = bench.admit(&document);
    bench.approve(&document);
    bench.ledger.write(|tx| tx.begin_epoch(1, "test")).unwrap();
    let flow = bench.ledger.overview().unwrap().flow;
    assert_eq!(flow, crate::ledger::control::Flow::Paused, "m_r");
    let approval = bench
        .ledger
        .approval(document["approval_id"].as_str().unwrap())
        .unwrap()
        .unwrap()
        .0;
    assert_eq!(approval.state, "VOID");
    assert!(bench.claim(Uuid4::random(), 10).is_empty());
    bench
        .ledger
        .write(|tx| tx.switch(crate::ledger::control::Switch::Pause, false, 0, "go on"))
        .unwrap();
    assert!(bench.claim(Uuid4::random(), 10).is_empty(), "m_r");
    let row = bench.row(id);
    assert_eq!(
        (row.state.as_str(), row.detail.as_deref()),
        ("REJECTED", Some("approval_void"))
    );
    let void: i64 = bench
        .ledger
        .read(|db| db.query_row("SELECT count(*) FROM outbox WHERE void = 1", [], |r| r.get(0)))
        .unwrap();
    assert_eq!(void, 2);
}

#[test]
fn only_a_claim_given_back_before_the_send_leaves_no_row_in_the_audit() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    let back = |attempt| Settlement::ready(attempt, 0, None);
    let job = bench.claim_one(Uuid4::random());
    bench.settle(&job, State::Claimed, back(Attempt::GivenBack));
    assert_eq!(kinds(&bench, id), ["REQUESTED"]);
    let job = bench.claim_one(Uuid4::random());
    bench.settle(&job, State::Claimed, back(Attempt::Counted));
    assert_eq!(kinds(&bench, id), ["REQUESTED", "SETTLED"]);
    let job = bench.claim_one(Uuid4::random());
    bench.execute(&job);
    bench.settle(&job, State::Executing, back(Attempt::GivenBack));
    assert_eq!(kinds(&bench, id), ["REQUESTED", "SETTLED", "SENT", "SETTLED"]);
}
