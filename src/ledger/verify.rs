//! Proof that the audit was not altered and that the jobs agree with it. In: a ledger file, read only. Out: what was checked, and every
//! finding with its row.
//!
//! Not here: repairing anything.

use super::audit::Stored;
use super::{rows_audit, rows_jobs};
use crate::job::{Sha256, State, sha256};
use crate::sqlite::{StorageFault, open};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;
use std::path::Path;

/// Findings shown at most; more are only counted.
const SHOWN: usize = 100;

/// The result of a verification.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Audit rows read.
    pub rows: i64,
    /// Jobs compared.
    pub jobs: i64,
    /// Hash of the last row.
    pub head: Option<Sha256>,
    /// What is wrong, at most 100 sentences.
    pub findings: Vec<String>,
    /// How many findings there are.
    pub found: usize,
}

impl Report {
    fn add(&mut self, finding: String) {
        self.found += 1;
        if self.findings.len() < SHOWN {
            self.findings.push(finding);
        }
    }
}

/// Verifies a file by itself, read only and in one read transaction.
///
/// # Errors
/// [`StorageFault`] naming the file.
pub fn verify_file(path: &Path, old: Option<(i64, Sha256)>) -> Result<Report, StorageFault> {
    let fault = |error: rusqlite::Error| StorageFault::from_sqlite(path, &error);
    let mut db = open::open(path, open::Use::Read)?;
    let tx = db.transaction().map_err(fault)?;
    let sound: String = tx
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(fault)?;
    if sound != "ok" {
        return Err(StorageFault::Corrupt {
            path: path.to_path_buf(),
            what: sound,
        });
    }
    verify(&tx, old).map_err(fault)
}

/// Checks chain, counts and states; with `old` also that the chain still contains that head.
///
/// # Errors
/// A storage error.
pub fn verify(db: &Connection, old: Option<(i64, Sha256)>) -> rusqlite::Result<Report> {
    let mut report = Report::default();
    chain(db, &mut report)?;
    if let Some((size, hash)) = old {
        old_head(db, size, hash, &mut report)?;
    }
    jobs(db, &mut report)?;
    approvals(db, &mut report)?;
    counts(db, &mut report)?;
    Ok(report)
}

fn chain(db: &Connection, report: &mut Report) -> rusqlite::Result<()> {
    let (mut after, mut prev) = (0i64, vec![0u8; 32]);
    loop {
        let mut statement = db.prepare_cached(rows_audit::PAGE)?;
        let page: Vec<Stored> = statement
            .query_map(params![after, 1000], Stored::read)?
            .collect::<Result<_, _>>()?;
        let Some(last) = page.last() else { break };
        let next_after = last.seq;
        for row in page {
            if row.seq != after + 1 {
                report.add(format!("audit row {} follows {after}: rows are missing", row.seq));
            }
            if row.prev_hash != prev {
                report.add(format!(
                    "audit row {}: it does not continue the row before it",
                    row.seq
                ));
            }
            if row.expected_hash(&row.prev_hash).as_slice() != row.hash {
                report.add(format!(
                    "audit row {}: its content does not match its hash",
                    row.seq
                ));
            }
            after = row.seq;
            prev = row.hash;
            report.rows += 1;
        }
        after = next_after;
    }
    report.head = <[u8; 32]>::try_from(prev.as_slice()).ok().map(Sha256);
    let highest: Option<i64> = db
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    if highest.unwrap_or(0) != after {
        report.add(format!(
            "the audit ends at row {after}, but row {} was once written",
            highest.unwrap_or(0)
        ));
    }
    Ok(())
}

fn old_head(db: &Connection, size: i64, hash: Sha256, report: &mut Report) -> rusqlite::Result<()> {
    let found: Option<Vec<u8>> = db
        .prepare_cached(rows_audit::BY_SEQ)?
        .query_row([size], |row| row.get(0))
        .optional()?;
    match found {
        _ if size == 0 => {}
        Some(found) if found == hash.0 => {}
        Some(_) => report.add(format!(
            "row {size} has another hash than the head kept elsewhere: history was rewritten"
        )),
        None => report.add(format!(
            "row {size} of the head kept elsewhere is gone: the audit was cut off"
        )),
    }
    Ok(())
}

fn jobs(db: &Connection, report: &mut Report) -> rusqlite::Result<()> {
    let mut statement = db.prepare(concat!(
        "SELECT ",
        rows_jobs::job_columns!(),
        " FROM jobs ORDER BY seq"
    ))?;
    let mut rows = statement.query([])?;
    let mut requested = 0i64;
    while let Some(row) = rows.next()? {
        let job = super::jobs::JobRow::read(row)?;
        report.jobs += 1;
        if sha256(&job.body).0.as_slice() != job.digest {
            report.add(format!(
                "job {}: its stored document does not match its digest",
                job.job_id
            ));
        }
        if let Some(what) = columns_disagree(&job) {
            report.add(format!(
                "job {}: its column {what} does not match its document",
                job.job_id
            ));
        }
        let last: Option<(String, Option<i64>)> = db
            .prepare_cached(rows_audit::LAST_TO)?
            .query_row([job.seq], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        let Some((to, attempt)) = last else {
            report.add(format!("job {}: no audit row", job.job_id));
            continue;
        };
        requested += 1;
        let claimed = job.state == State::Claimed.as_str();
        let agrees = to == job.state || (claimed && to == State::Ready.as_str());
        if !agrees {
            report.add(format!(
                "job {}: it is {}, the audit says {to}",
                job.job_id, job.state
            ));
        }
        let expected = attempt.map(|n| if claimed { n + 1 } else { n });
        if expected.is_some_and(|n| n != job.attempt) {
            report.add(format!(
                "job {}: attempt {}, the audit says {}",
                job.job_id,
                job.attempt,
                expected.unwrap_or_default()
            ));
        }
    }
    let in_audit: i64 = db.query_row("SELECT count(*) FROM audit WHERE kind = 'REQUESTED'", [], |row| {
        row.get(0)
    })?;
    if in_audit != requested {
        report.add(format!(
            "{requested} jobs, but {in_audit} were admitted: jobs are missing or were added"
        ));
    }
    Ok(())
}

/// The first column that is not what the stored document says.
fn columns_disagree(job: &super::jobs::JobRow) -> Option<&'static str> {
    let document: serde_json::Value = serde_json::from_slice(&job.body).ok()?;
    let text = |name: &str| {
        document
            .get(name)
            .and_then(serde_json::Value::as_str)
            .map(str::to_owned)
    };
    let provenance = job
        .provenance
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect::<String>();
    let pairs = [
        ("job_id", text("job_id"), Some(job.job_id.clone())),
        ("kind", text("job_type"), Some(job.kind.clone())),
        ("mission_id", text("mission_id"), Some(job.mission_id.clone())),
        ("object_id", text("object_id"), Some(job.object_id.clone())),
        ("vault_path", text("vault_path"), Some(job.vault_path.clone())),
        (
            "commit_id",
            text("source_commit").or_else(|| text("expected_commit")),
            Some(job.commit_id.clone()),
        ),
        (
            "provenance",
            text("provenance_hash").or_else(|| text("expected_provenance_hash")),
            Some(provenance),
        ),
        ("approval_id", text("approval_id"), job.approval_id.clone()),
        (
            "idempotency_key",
            text("idempotency_key"),
            Some(job.idempotency_key.clone()),
        ),
        ("created_at", text("created_at"), Some(job.created_at.clone())),
    ];
    pairs
        .into_iter()
        .find(|(_, said, stored)| said != stored)
        .map(|(name, _, _)| name)
}

/// An approval's state must be what the audit of its job implies.
fn approvals(db: &Connection, report: &mut Report) -> rusqlite::Result<()> {
    let mut statement =
        db.prepare("SELECT approval_id, state, job_id FROM approvals ORDER BY approval_id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, state, job): (String, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let spent = matches!(state.as_str(), "RESERVED" | "EXECUTED" | "CONSUMED");
        let sent: bool = db
            .prepare_cached("SELECT 1 FROM audit a JOIN jobs j ON j.seq = a.job_seq WHERE j.approval_id = ?1 AND a.kind = 'SENT'")?
            .exists([&id])?;
        if spent != sent {
            let said = if sent { "was spent" } else { "was never used" };
            report.add(format!("approval {id}: it is {state}, the audit says it {said}"));
        }
        if spent && job.is_none() {
            report.add(format!("approval {id}: spent, but by no job"));
        }
    }
    Ok(())
}

fn counts(db: &Connection, report: &mut Report) -> rusqlite::Result<()> {
    let mut real: BTreeMap<String, i64> = BTreeMap::new();
    let mut statement = db.prepare("SELECT state, count(*) FROM jobs GROUP BY state")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    for row in rows {
        let (state, n) = row?;
        real.insert(state, n);
    }
    let mut kept = db.prepare("SELECT label, n FROM counts WHERE name = 'jobs'")?;
    let rows = kept.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    for row in rows {
        let (state, n) = row?;
        let found = real.remove(&state).unwrap_or(0);
        if found != n {
            report.add(format!("{found} jobs are {state}, the kept count says {n}"));
        }
    }
    for (state, n) in real.into_iter().filter(|(_, n)| *n != 0) {
        report.add(format!("{n} jobs are {state}, no count is kept"));
    }
    Ok(())
}
