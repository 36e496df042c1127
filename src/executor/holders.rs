//! Leases of processes that are no more. In: the ledger's holders and their lock files. Out: SAVEs that go on, DELETEs that are
//! OUTCOME_UNKNOWN.
//!
//! Dead means: another boot, or the worker's lock is free. An expired lease whose lock is held moves nothing.
//! Not here: how a lock file works (workers.rs).

use super::Gear;
use super::probe::{self, Pending, Probing};
use super::work::{quiet, settle_all};
use crate::job::{Role, State, Uuid4};
use crate::sqlite::StorageFault;
use crate::workers::Watching;

/// Rows of a dead worker sorted in one transaction.
const SORT: usize = 256;

/// Sorts everything that dead holders left.
///
/// # Errors
/// A storage fault; what was sorted stays sorted.
pub fn take_over_dead(gear: &Gear, probing: &mut Probing) -> Result<(), StorageFault> {
    let me = gear.worker.id().to_string();
    for (worker, boot) in gear.ledger.holders()? {
        if worker == me && boot == gear.clock.boot_id() {
            continue;
        }
        if lives(gear, &worker, &boot) {
            continue;
        }
        loop {
            let (dead, claimer) = (worker.clone(), gear.claimer());
            let spent: std::collections::HashSet<String> = spent_of(gear, &worker)?;
            let taken = quiet(gear.ledger.write(move |tx| {
                tx.take_over(&dead, &claimer, SORT, &|job_id: &str| spent.contains(job_id))
            }))?;
            let Some(taken) = taken else { break };
            tracing::warn!(
                worker,
                settled = taken.settled,
                probe = taken.probe.len(),
                "took over what a dead worker held"
            );
            gear.leases.add(&taken.probe);
            let rows = taken.rows;
            for claimed in taken.probe {
                match Pending::of_dead(claimed.clone()) {
                    Some(pending) => probing.add_now(pending),
                    None => {
                        settle_all(gear, vec![(claimed, State::Executing, probe::unjudgeable())]);
                    }
                }
            }
            if rows < SORT {
                break;
            }
        }
        if gear.role == Role::Delete {
            probing.cut_off.of_dead(gear, &worker)?;
        }
    }
    Ok(())
}

fn lives(gear: &Gear, worker: &str, boot: &str) -> bool {
    boot == gear.clock.boot_id()
        && Uuid4::parse(worker).is_some_and(|id| {
            crate::workers::is_alive(&gear.config.layout.state_dir(gear.role), id).unwrap_or(true)
        })
}

/// Job ids of this worker's jobs with an entry in spent.log.
fn spent_of(gear: &Gear, worker: &str) -> Result<std::collections::HashSet<String>, StorageFault> {
    let mut spent = std::collections::HashSet::new();
    let Some(log) = &gear.spent else { return Ok(spent) };
    if let Err(fault) = log.refresh() {
        tracing::error!(%fault, "spent.log could not be read again");
    }
    for row in gear
        .ledger
        .held_by(worker, i64::try_from(SORT).unwrap_or(i64::MAX))?
    {
        let known = row
            .approval_id
            .as_deref()
            .and_then(crate::job::ApprovalId::parse)
            .is_none_or(|approval| log.contains(&approval));
        if known {
            spent.insert(row.job_id);
        }
    }
    Ok(spent)
}

/// Whether the death of every other process that holds leases will wake us. `false`: their locks must be looked at again.
pub fn watched(gear: &Gear) -> bool {
    let me = gear.worker.id().to_string();
    let Ok(holders) = gear.ledger.holders() else {
        return false;
    };
    let others = holders
        .iter()
        .filter(|(worker, boot)| *worker != me && *boot == gear.clock.boot_id());
    let mut all = true;
    for (worker, _) in others {
        all &= match Uuid4::parse(worker).map(|id| gear.deaths.watch(id)) {
            Some(Ok(Watching::Started | Watching::Already)) => true,
            Some(Ok(Watching::Dead) | Err(_)) | None => false,
        };
    }
    all
}
