//! Claims, leases, fences, and what the dead leave.

use super::*;
use crate::job::Code;
use crate::ledger::control::Switch;
use crate::ledger::settle::Attempt;
use std::collections::BTreeSet;

#[test]
fn t21_two_save_workers_claim_each_of_2000_jobs_once() {
    let bench = Bench::new(Role::Save);
    for n in 0..2000 {
        let job = bench.job(&save(&format!("n/{n}.md")));
        bench
            .ledger
            .write(move |tx| tx.admit(&job, UID, Route::Drop, &rules(), &settings()))
            .unwrap();
    }
    let seen = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            // A handle of its own, as another process has.
            let ledger = bench.reopen();
            let seen = &seen;
            scope.spawn(move || {
                let worker = Uuid4::random();
                loop {
                    let claimer = claimer(worker);
                    let batch = ledger.write(move |tx| tx.claim(&claimer, 17)).unwrap().claimed;
                    if batch.is_empty() {
                        break;
                    }
                    seen.lock()
                        .unwrap()
                        .extend(batch.iter().map(|job| (job.seq, job.attempt)));
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    let distinct: BTreeSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (2000, 2000));
    assert!(seen.iter().all(|(_, attempt)| *attempt == 1));
}

#[test]
fn m_g_every_write_of_a_holder_repeats_its_lease() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    let old = bench.claim_one(Uuid4::random());
    bench.settle(
        &old,
        State::Claimed,
        Settlement::ready(Attempt::GivenBack, 0, None),
    );
    let new = bench.claim_one(Uuid4::random());
    assert_ne!(old.token, new.token);
    let late = old.clone();
    let lost = bench.ledger.write(move |tx| {
        tx.executing(
            &late,
            &Intent {
                before: None,
                new: None,
            },
        )
    });
    assert!(lost.is_err_and(|error| error.to_string().contains("lost")));
    let late = old.clone();
    let lost = bench
        .ledger
        .write(move |tx| tx.settle(&late, State::Claimed, &Settlement::reject(Code::Tampered, None)));
    assert!(lost.is_err_and(|error| error.to_string().contains("lost")));
    let held = [(old.seq, old.token)];
    let (_, lost) = bench.ledger.write(move |tx| tx.renew(&held, 60_000)).unwrap();
    assert_eq!(lost, [old.seq]);
    assert_eq!(bench.row(id).state, "CLAIMED");
    bench.execute(&new);
    let late = old.clone();
    let lost = bench
        .ledger
        .write(move |tx| tx.settle(&late, State::Executing, &Settlement::unknown("x")));
    assert!(lost.is_err_and(|error| error.to_string().contains("lost")));
}

#[test]
fn m_q_one_path_one_job_and_the_next_in_admission_order() {
    let bench = Bench::new(Role::Save);
    let ids: Vec<JobId> = (0..3).map(|_| bench.admit(&save("same.md"))).collect();
    let other = bench.admit(&save("other.md"));
    let worker = Uuid4::random();
    let first = bench.claim(worker, 10);
    let claimed: Vec<JobId> = first.iter().map(|job| *job.job.job_id()).collect();
    assert_eq!(claimed, [ids[0], other]);
    assert!(bench.claim(worker, 10).is_empty(), "the others wait for the path");
    assert_eq!(bench.row(ids[1]).hold.as_deref(), Some("fence"));
    bench.execute(&first[0]);
    assert!(bench.claim(worker, 10).is_empty());
    bench.settle(&first[0], State::Executing, Settlement::unknown("no_answer"));
    assert!(
        bench.claim(worker, 10).is_empty(),
        "OUTCOME_UNKNOWN holds the path"
    );
    assert_eq!(
        bench
            .ledger
            .fence_holder("/app/vault/same.md")
            .unwrap()
            .unwrap()
            .job_id,
        ids[0].to_string()
    );
    let facts = super::super::operator::WorkerFacts {
        holder_lives: false,
        deadline_ms: 0,
    };
    let id = ids[0];
    bench
        .ledger
        .write(move |tx| {
            tx.resolve(
                id,
                super::super::operator::Evidence::NotApplied,
                0,
                "looked",
                &facts,
            )
        })
        .unwrap();
    let second = bench.claim_one(worker);
    assert_eq!(*second.job.job_id(), ids[1]);
}

#[test]
fn a_save_that_waits_to_retry_after_it_sent_holds_its_path() {
    let bench = Bench::new(Role::Save);
    let (first, second) = (bench.admit(&save("a.md")), bench.admit(&save("a.md")));
    let worker = Uuid4::random();
    let job = bench.claim_one(worker);
    bench.execute(&job);
    bench.settle(
        &job,
        State::Executing,
        Settlement::ready(Attempt::Counted, 30_000, Some("not_applied")).keeping_fence(),
    );
    assert!(bench.claim(worker, 10).is_empty());
    bench.clock.advance(29_999);
    assert!(release_and_claim(&bench, worker).is_empty());
    bench.clock.advance(1);
    let again = release_and_claim(&bench, worker);
    assert_eq!(*again[0].job.job_id(), first);
    assert_eq!(again[0].attempt, 2);
    assert_eq!(bench.row(second).state, "READY");
}

fn release_and_claim(bench: &Bench, worker: Uuid4) -> Vec<Claimed> {
    let claimer = claimer(worker);
    bench
        .ledger
        .write(move |tx| {
            tx.release_due()?;
            tx.claim(&claimer, 10)
        })
        .unwrap()
        .claimed
}

#[test]
fn a_retry_time_of_another_boot_counts_on_wall_time_and_never_longer_than_it_was() {
    let bench = Bench::new(Role::Save);
    bench.admit(&save("a.md"));
    let worker = Uuid4::random();
    let job = bench.claim_one(worker);
    bench.settle(
        &job,
        State::Claimed,
        Settlement::ready(Attempt::GivenBack, 60_000, None),
    );
    // As a reboot with a wall clock set ten years back would leave it.
    bench
        .sql("UPDATE jobs SET due_boot_id = 'another', due_boot_ms = 999999999")
        .unwrap();
    bench.clock.jump_wall(-10 * 365 * 86_400_000);
    assert!(release_and_claim(&bench, worker).is_empty());
    bench.clock.advance(60_000);
    assert_eq!(release_and_claim(&bench, worker).len(), 1);
}

#[test]
fn pause_and_freeze_stop_claims_and_the_last_step_before_a_send() {
    use crate::ledger::control::Switch;
    for switch in [Switch::Pause, Switch::Freeze] {
        let bench = Bench::new(Role::Save);
        bench.admit(&save("a.md"));
        bench.admit(&save("b.md"));
        let job = bench.claim_one(Uuid4::random());
        bench
            .ledger
            .write(move |tx| tx.switch(switch, true, 0, "test"))
            .unwrap();
        assert!(bench.claim(Uuid4::random(), 10).is_empty());
        let held = job.clone();
        let stopped = bench.ledger.write(move |tx| {
            tx.executing(
                &held,
                &Intent {
                    before: None,
                    new: None,
                },
            )
        });
        assert!(
            stopped.is_err_and(|error| error.to_string().contains("the role is")),
            "m_u"
        );
        bench
            .ledger
            .write(move |tx| tx.switch(switch, false, 0, "test"))
            .unwrap();
        bench.execute(&job);
        assert_eq!(bench.claim(Uuid4::random(), 10).len(), 1);
    }
}

#[test]
fn t23_a_dead_savers_claim_is_ready_again_and_its_attempt_stays_counted() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    let dead = Uuid4::random();
    for attempt in 1..=8 {
        let job = bench.claim_one(dead);
        assert_eq!(job.attempt, attempt);
        take_over(&bench, dead);
    }
    assert_eq!(
        bench.state(id),
        (
            "FAILED".into(),
            Some("attempts_exhausted".into()),
            Some("worker_died".into())
        )
    );
    assert_eq!(bench.findings(), Vec::<String>::new());
}

fn take_over(bench: &Bench, dead: Uuid4) -> super::super::claim::TakenOver {
    let claimer = claimer(Uuid4::random());
    bench
        .ledger
        .write(move |tx| tx.take_over(&dead.to_string(), &claimer, 100, &|_| false))
        .unwrap()
}

#[test]
fn m_h_t23_a_dead_deleters_claim_is_unknown_not_started_and_may_be_requeued() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    let id = bench.admit(&document);
    bench.approve(&document);
    let dead = Uuid4::random();
    bench.claim_one(dead);
    let taken = take_over(&bench, dead);
    assert_eq!((taken.settled, taken.probe.len()), (1, 0));
    assert_eq!(
        bench.state(id),
        (
            "OUTCOME_UNKNOWN".into(),
            Some("outcome_unknown".into()),
            Some("not_started".into())
        )
    );
    assert!(bench.claim(Uuid4::random(), 10).is_empty());
    requeue(&bench, id).unwrap();
    assert_eq!(bench.claim(Uuid4::random(), 10).len(), 1);
    assert_eq!(bench.findings(), Vec::<String>::new());
}

fn requeue(bench: &Bench, id: JobId) -> Result<(), String> {
    let facts = super::super::operator::WorkerFacts {
        holder_lives: false,
        deadline_ms: 0,
    };
    bench
        .ledger
        .write(move |tx| tx.requeue(id, 0, "looked", &facts, &rules(), 86_400_000))
        .map_err(|error| error.to_string())
}

#[test]
fn t24_a_delete_that_was_being_sent_is_unknown_for_ever_and_never_requeued() {
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    let id = bench.admit(&document);
    bench.approve(&document);
    let dead = Uuid4::random();
    let job = bench.claim_one(dead);
    bench.execute(&job);
    take_over(&bench, dead);
    assert_eq!(bench.state(id).2.as_deref(), Some("worker_died"));
    let refused = requeue(&bench, id).unwrap_err();
    assert!(refused.contains("Check first"), "{refused}");
    bench.clock.advance(40 * 86_400_000);
    assert!(release_and_claim(&bench, Uuid4::random()).is_empty());
    assert_eq!(bench.row(id).state, "OUTCOME_UNKNOWN");
}

#[test]
fn t24_a_save_that_was_being_sent_is_leased_again_to_probe_only() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    let dead = Uuid4::random();
    let job = bench.claim_one(dead);
    bench.execute(&job);
    let taken = take_over(&bench, dead);
    assert_eq!(taken.probe.len(), 1);
    assert_ne!(taken.probe[0].token, job.token);
    assert_eq!(taken.probe[0].new, Some(sha256(b"new")));
    assert_eq!(bench.row(id).attempt, 1);
    assert!(bench.claim(Uuid4::random(), 10).is_empty());
}

#[test]
fn a_resolve_waits_for_the_target_and_for_the_holder() {
    use crate::ledger::operator::{Evidence, WorkerFacts};
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    let id = bench.admit(&document);
    bench.approve(&document);
    let dead = Uuid4::random();
    let job = bench.claim_one(dead);
    bench.execute(&job);
    take_over(&bench, dead);
    let resolve = |lives: bool| {
        let facts = WorkerFacts {
            holder_lives: lives,
            deadline_ms: 30_000,
        };
        bench
            .ledger
            .write(move |tx| tx.resolve(id, Evidence::Applied, 7, "looked", &facts))
            .map_err(|e| e.to_string())
    };
    assert!(resolve(false).unwrap_err().contains("check first"));
    bench.clock.advance(30_001);
    assert!(resolve(true).unwrap_err().contains("still lives"));
    resolve(false).unwrap();
    assert_eq!(bench.state(id).1.as_deref(), Some("resolved_applied"));
    assert!(resolve(false).is_err(), "once");
    let approval = bench
        .ledger
        .approval(document["approval_id"].as_str().unwrap())
        .unwrap()
        .unwrap()
        .0;
    assert_eq!(approval.state, "CONSUMED");
}

#[test]
fn a_lease_ends_when_it_was_said_and_a_renewal_says_anew() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    bench.clock.advance(5_000);
    let job = bench.claim_one(Uuid4::random());
    let now = bench.ledger.clock().boot().0;
    assert_eq!(
        (job.until.0, bench.row(id).lease_until_ms),
        (now + 60_000, Some(now + 60_000))
    );
    bench.clock.advance(1_000);
    let held = vec![(job.seq, job.token)];
    let (until, lost) = bench.ledger.write(move |tx| tx.renew(&held, 60_000)).unwrap();
    assert_eq!((until.0, lost), (now + 61_000, Vec::new()));
    assert_eq!(bench.row(id).lease_until_ms, Some(now + 61_000));
}

#[test]
fn a_save_is_claimed_eight_times_and_no_more_and_a_delete_is_not_counted_out() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    for attempt in 1..=8 {
        let job = bench.claim_one(Uuid4::random());
        assert_eq!(job.attempt, attempt);
        bench.settle(&job, State::Claimed, Settlement::ready(Attempt::Counted, 0, None));
    }
    let claimer = claimer(Uuid4::random());
    let batch = bench.ledger.write(move |tx| tx.claim(&claimer, 10)).unwrap();
    assert_eq!((batch.claimed.len(), batch.set_aside), (0, 1));
    assert_eq!(bench.state(id).1.as_deref(), Some("attempts_exhausted"));
    let bench = Bench::new(Role::Delete);
    let document = delete("a.md");
    bench.admit(&document);
    bench.approve(&document);
    for _ in 1..=9 {
        let job = bench.claim_one(Uuid4::random());
        bench.settle(&job, State::Claimed, Settlement::ready(Attempt::Counted, 0, None));
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the other writer must get its chance to be too early"
)]
fn m_g_nobody_writes_between_a_transactions_reading_and_its_writing() {
    let bench = Bench::new(Role::Save);
    let (first, second) = (bench.reopen(), bench.reopen());
    let other = first.write(move |tx| {
        tx.flow()?;
        let other = std::thread::spawn(move || {
            second
                .write(|tx| tx.switch(Switch::Pause, true, 0, "second"))
                .is_ok()
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        tx.switch(Switch::Freeze, true, 0, "first")?;
        Ok(other)
    });
    assert!(other.unwrap().join().unwrap(), "it waited");
    let kept = bench.ledger.read(|db| {
        let mut notes = db.prepare("SELECT note FROM audit ORDER BY seq")?;
        let notes = notes.query_map([], |row| row.get::<_, String>(0))?;
        notes.collect::<rusqlite::Result<Vec<_>>>()
    });
    assert_eq!(kept.unwrap(), ["freeze: first", "pause: second"]);
}

#[test]
fn what_waited_too_long_is_rejected_and_nothing_else() {
    let bench = Bench::new(Role::Save);
    let old = bench.admit(&save("a.md"));
    bench.clock.advance(1_000);
    let young = bench.admit(&save("b.md"));
    let expired = bench.ledger.write(|tx| tx.expire_old(1_000, 10));
    assert_eq!(expired.unwrap(), 1);
    assert_eq!(bench.state(old).0, "REJECTED");
    assert_eq!(bench.state(old).1.as_deref(), Some("expired"));
    assert_eq!(bench.state(young).0, "READY");
}

#[test]
fn what_a_dead_worker_held_is_counted_and_a_save_is_leased_anew() {
    let bench = Bench::new(Role::Save);
    let dead = Uuid4::random();
    for path in ["a.md", "b.md", "c.md"] {
        bench.admit(&save(path));
    }
    let held = bench.claim(dead, 3);
    bench.execute(&held[0]);
    bench.clock.advance(1_000);
    let taken = take_over(&bench, dead);
    assert_eq!((taken.rows, taken.probe.len(), taken.settled), (3, 1, 2));
    let until = bench.ledger.clock().boot().0 + 60_000;
    let row = bench.ledger.job(*held[0].job.job_id()).unwrap().unwrap();
    assert_eq!((taken.probe[0].until.0, row.lease_until_ms), (until, Some(until)));
    assert_ne!(taken.probe[0].token, held[0].token);
}

#[test]
fn m_u_what_stopped_a_send_is_said_in_its_word() {
    for (switch, word) in [(Switch::Pause, "paused"), (Switch::Freeze, "frozen")] {
        let bench = Bench::new(Role::Save);
        bench.admit(&save("a.md"));
        let job = bench.claim_one(Uuid4::random());
        let stopped = bench.ledger.write(move |tx| {
            tx.switch(switch, true, 0, "test")?;
            let intent = Intent {
                before: None,
                new: None,
            };
            Ok(tx.executing(&job, &intent).unwrap_err().to_string())
        });
        let stopped = stopped.unwrap();
        assert!(stopped.contains(word), "{stopped}");
    }
}

#[test]
fn m_r_an_epoch_is_kept() {
    let bench = Bench::new(Role::Save);
    let epoch = || bench.ledger.read(crate::ledger::control::epoch).unwrap();
    assert_eq!(epoch(), 0);
    bench.ledger.write(|tx| tx.begin_epoch(3, "test")).unwrap();
    assert_eq!(epoch(), 3);
}

#[test]
fn t35_the_highest_wall_time_is_written_down_when_it_is_over_half_a_minute_newer() {
    let bench = Bench::new(Role::Save);
    let note = || bench.ledger.write(|tx| Ok(tx.note_clock()?)).unwrap();
    let high = || bench.ledger.read(crate::ledger::control::clock_high).unwrap().0;
    note();
    assert_eq!(high(), NOW);
    bench.clock.advance(30_000);
    note();
    assert_eq!(high(), NOW);
    bench.clock.advance(1);
    note();
    assert_eq!(high(), NOW + 30_001);
}

#[test]
fn a_requeued_save_may_run_and_a_denied_delete_waits_for_nothing() {
    let bench = Bench::new(Role::Save);
    let id = bench.admit(&save("a.md"));
    let job = bench.claim_one(Uuid4::random());
    bench.execute(&job);
    bench.settle(&job, State::Executing, Settlement::unknown("unreadable"));
    bench.clock.advance(86_400_000);
    requeue(&bench, id).unwrap();
    assert_eq!(bench.claim_one(Uuid4::random()).seq, job.seq);
    let bench = Bench::new(Role::Delete);
    let id = bench.admit(&delete("a.md"));
    bench.clock.advance(86_400_000);
    bench.ledger.write(|tx| tx.deny_overdue(86_400_000, 10)).unwrap();
    let row = bench.row(id);
    assert_eq!((row.state.as_str(), row.hold), ("REJECTED", None));
}
