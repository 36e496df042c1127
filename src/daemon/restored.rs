//! Is the database the one this role left? In: epoch file, spent.log, ledger. Out: nothing to do, or a new epoch: paused,
//! approvals and undelivered events of before are void.
//!
//! Not here: the judgement itself (epoch/), putting a backup in place (cli/restore).

use crate::epoch::{
    DatabaseFacts, EpochRecord, Holder, Known, RestoreFacts, SpentFact, Verdict, judge_restore,
};
use crate::executor::epochs::Epochs;
use crate::job::State;
use crate::ledger::Ledger;
use crate::spent::{SpentEntry, SpentFault, SpentLog};
use crate::sqlite::StorageFault;
use std::path::Path;

/// So many entries of spent.log are looked at again in each start before that is noted.
const NOTED_AT_ONCE: usize = 1000;

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
    log_is_whole(ledger, spent)?;
    let file = epochs.read()?;
    let facts = facts(ledger, file)?;
    let spent_facts = spent_facts(ledger, spent, state_dir)?;
    let looked_at = spent_facts.len();
    let verdict = judge_restore(&facts, spent_facts.into_iter())?;
    match verdict {
        Verdict::Fresh => Ok(()),
        Verdict::Clean => take_note(ledger, looked_at),
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
                .map_err(|error| error.to_string())
        }
    }
}

/// What the ledger says was spent last must be in spent.log: it is written there first, and never removed.
fn log_is_whole(ledger: &Ledger, spent: Option<&SpentLog>) -> Result<(), String> {
    let Some(log) = spent else { return Ok(()) };
    let last = ledger
        .kept(crate::ledger::settle::LAST_SPENT)
        .map_err(|error| error.to_string())?;
    match last.as_deref().and_then(crate::job::ApprovalId::parse) {
        Some(approval) if !log.contains(&approval) => Err(format!(
            "spent.log lacks approval {approval}, which the ledger spent: the log was cut or replaced by an older copy; put the \
             newest copy back (`lockgate restore` never replaces it)"
        )),
        Some(_) | None => Ok(()),
    }
}

fn facts(ledger: &Ledger, file: Option<EpochRecord>) -> Result<RestoreFacts, String> {
    let text = |error: StorageFault| error.to_string();
    let head = ledger.head().map_err(text)?;
    let epoch = ledger.read(crate::ledger::control::epoch).map_err(text)?;
    let hash_at_epoch_seq = match file {
        Some(record) if record.audit_seq > 0 => {
            let seq = i64::try_from(record.audit_seq).unwrap_or(i64::MAX);
            ledger.audit_hash(seq).map_err(text)?
        }
        Some(_) | None => None,
    };
    let database = DatabaseFacts {
        epoch: u64::try_from(epoch).unwrap_or(0),
        audit_seq: u64::try_from(head.size).unwrap_or(0),
        hash_at_epoch_seq,
    };
    Ok(RestoreFacts { file, database })
}

/// Every entry of spent.log that no earlier restore took note of, with what the database knows of it.
fn spent_facts(
    ledger: &Ledger,
    spent: Option<&SpentLog>,
    state_dir: &Path,
) -> Result<Vec<Result<SpentFact, String>>, String> {
    let Some(log) = spent else { return Ok(Vec::new()) };
    let acknowledged = acknowledged(ledger)?;
    let entries = log.entries().map_err(|error| error.to_string())?;
    let look = |entry: Result<SpentEntry, SpentFault>| {
        let entry = entry.map_err(|error| error.to_string())?;
        let known = known(ledger, &entry, state_dir)?;
        Ok(SpentFact {
            job_id: entry.job_id,
            known,
        })
    };
    Ok(entries.skip(acknowledged).map(look).collect())
}

/// How many entries were looked at in a clean start is kept, so that the next one does not look at them again.
fn take_note(ledger: &Ledger, looked_at: usize) -> Result<(), String> {
    if looked_at < NOTED_AT_ONCE {
        return Ok(());
    }
    let total = acknowledged(ledger)?.saturating_add(looked_at);
    let noted = ledger.write(move |tx| tx.keep("spent_acknowledged", &total.to_string()));
    noted.map_err(|error| error.to_string())
}

fn acknowledged(ledger: &Ledger) -> Result<usize, String> {
    let kept = ledger
        .kept("spent_acknowledged")
        .map_err(|error| error.to_string())?;
    Ok(kept.and_then(|count| count.parse().ok()).unwrap_or(0))
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
