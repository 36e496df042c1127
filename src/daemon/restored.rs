//! Is the database the one this role left? In: epoch file, spent.log, ledger. Out: nothing to do, or a new epoch: paused,
//! approvals and undelivered events of before are void.
//!
//! Not here: the judgement itself (epoch/), putting a backup in place (cli/restore).

use crate::epoch::{DatabaseFacts, Holder, Known, RestoreFacts, SpentFact, Verdict, judge_restore};
use crate::executor::epochs::Epochs;
use crate::job::{Sha256, State};
use crate::ledger::Ledger;
use crate::spent::{SpentEntry, SpentLog};
use std::path::Path;

/// Judges a start and, after a restore, begins a new epoch.
///
/// # Errors
/// What could not be read, as a sentence.
pub fn judge(
    ledger: &Ledger,
    epochs: &Epochs,
    spent: Option<&SpentLog>,
    state_dir: &Path,
) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = epochs.read().map_err(|error| text(&error))?;
    let head = ledger.head().map_err(|error| text(&error))?;
    let database_epoch = ledger
        .read(crate::ledger::control::epoch)
        .map_err(|error| text(&error))?;
    let hash_at_epoch_seq = match file {
        Some(record) if record.audit_seq > 0 => ledger
            .audit_hash(i64::try_from(record.audit_seq).unwrap_or(i64::MAX))
            .map_err(|error| text(&error))?,
        Some(_) | None => Some(Sha256([0; 32])),
    };
    let facts = RestoreFacts {
        file,
        database: DatabaseFacts {
            epoch: u64::try_from(database_epoch).unwrap_or(0),
            audit_seq: u64::try_from(head.size).unwrap_or(0),
            hash_at_epoch_seq,
        },
    };
    let acknowledged: u64 = ledger
        .kept("spent_acknowledged")
        .map_err(|error| text(&error))?
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    let mut entries = 0u64;
    let verdict = {
        let facts_of = spent
            .map(SpentLog::entries)
            .transpose()
            .map_err(|error| text(&error))?;
        let list = facts_of.into_iter().flatten().map(|entry| {
            let entry = entry.map_err(|error| text(&error))?;
            entries += 1;
            if entries <= acknowledged {
                return Ok(SpentFact {
                    job_id: entry.job_id,
                    known: Known::Acknowledged,
                });
            }
            known(ledger, &entry, state_dir).map(|known| SpentFact {
                job_id: entry.job_id,
                known,
            })
        });
        judge_restore(&facts, list)?
    };
    match verdict {
        Verdict::Fresh | Verdict::Clean => Ok(()),
        Verdict::Crash { spent } => {
            if !spent.is_empty() {
                tracing::warn!(
                    jobs = spent.len(),
                    "a worker died after spending approvals; their jobs are OUTCOME_UNKNOWN"
                );
            }
            Ok(())
        }
        Verdict::Restored { reason } => {
            let highest = file.map_or(0, |record| record.epoch).max(facts.database.epoch);
            let epoch = i64::try_from(highest).unwrap_or(i64::MAX - 1) + 1;
            let total = count(spent)?;
            let why = reason.to_string();
            tracing::error!(
                epoch,
                why,
                "the database is an older copy or another one: the role starts paused, approvals from before are void"
            );
            ledger
                .write(move |tx| {
                    tx.begin_epoch(epoch, &why)?;
                    tx.keep("spent_acknowledged", &total.to_string())
                })
                .map_err(|error| text(&error))
        }
    }
}

fn count(spent: Option<&SpentLog>) -> Result<u64, String> {
    let Some(log) = spent else { return Ok(0) };
    let mut total = 0;
    for entry in log.entries().map_err(|error| error.to_string())? {
        entry.map_err(|error| error.to_string())?;
        total += 1;
    }
    Ok(total)
}

/// What the database knows of one entry: the job, and this lease as its last one.
fn known(ledger: &Ledger, entry: &SpentEntry, state_dir: &Path) -> Result<Known, String> {
    let row = ledger.job(entry.job_id).map_err(|error| error.to_string())?;
    let Some(row) = row else { return Ok(Known::Nothing) };
    let last = row.lease_token.as_deref().or(row.last_lease.as_deref());
    if last != Some(entry.lease_token.to_string().as_str()) {
        return Ok(Known::OtherLease);
    }
    if row.lease_token.is_none() || State::parse(&row.state).is_some_and(State::is_settled) {
        return Ok(Known::LastSettled);
    }
    let alive = row
        .lease_worker
        .as_deref()
        .and_then(crate::job::Uuid4::parse)
        .is_some_and(|worker| crate::workers::is_alive(state_dir, worker).unwrap_or(true));
    Ok(Known::LastOpen(
        if alive && row.lease_boot_id.as_deref() == Some(&ledger.clock().boot_id()) {
            Holder::Alive
        } else {
            Holder::Dead
        },
    ))
}
