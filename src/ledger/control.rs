//! Persistent facts about the role: paused, frozen, epoch, the highest wall time seen. In: an operator's verb or a start-up
//! check. Out: what every claim and every EXECUTING transaction asks again.
//!
//! Not here: the root-owned `frozen` file (daemon/).

use super::audit::{AuditKind, Entry};
use super::error::LedgerError;
use super::rows_control as sql;
use super::tx::Tx;
use crate::clock::WallMs;
use rusqlite::{Connection, OptionalExtension, params};

/// Whether work may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Admits and claims.
    Running,
    /// Admits, does not claim.
    Paused,
    /// Neither.
    Frozen,
}

impl Flow {
    /// The stored and shown word.
    pub fn as_str(self) -> &'static str {
        match self {
            Flow::Running => "running",
            Flow::Paused => "paused",
            Flow::Frozen => "frozen",
        }
    }
}

/// What can be switched on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Stop claiming.
    Pause,
    /// Stop admitting and claiming.
    Freeze,
}

/// How far behind the highest wall time seen the clock may be before DELETE stops, ms.
pub const CLOCK_BEHIND_MS: i64 = 5 * 60 * 1000;
/// How much newer a wall time must be before it is written down again, ms: bounds writes on an idle role.
const CLOCK_STEP_MS: i64 = 30_000;

pub(super) fn get(db: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    db.prepare_cached(sql::GET)?
        .query_row([key], |row| row.get(0))
        .optional()
}

pub(super) fn set(db: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    db.prepare_cached(sql::SET)?.execute(params![key, value])?;
    Ok(())
}

fn number(db: &Connection, key: &str) -> rusqlite::Result<i64> {
    Ok(get(db, key)?.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// The epoch: raised by each restore.
pub fn epoch(db: &Connection) -> rusqlite::Result<i64> {
    number(db, "epoch")
}

/// Whether the role runs, is paused or frozen.
pub fn flow(db: &Connection) -> rusqlite::Result<Flow> {
    if get(db, "frozen")?.as_deref() == Some("1") {
        return Ok(Flow::Frozen);
    }
    if get(db, "paused")?.as_deref() == Some("1") {
        return Ok(Flow::Paused);
    }
    Ok(Flow::Running)
}

/// The highest wall time this ledger has seen.
pub fn clock_high(db: &Connection) -> rusqlite::Result<WallMs> {
    number(db, "clock_high_ms").map(WallMs)
}

/// Whether the wall clock can be trusted for expiry: not more than five minutes behind the highest time seen.
pub fn clock_trusted(db: &Connection, now: WallMs) -> rusqlite::Result<bool> {
    Ok(now.0 >= clock_high(db)?.0 - CLOCK_BEHIND_MS)
}

impl Tx<'_> {
    /// Whether the role runs now, judged inside this transaction.
    ///
    /// # Errors
    /// A storage error.
    pub fn flow(&self) -> rusqlite::Result<Flow> {
        flow(self.db)
    }

    /// Keeps the highest wall time seen.
    ///
    /// # Errors
    /// A storage error.
    pub fn note_clock(&mut self) -> rusqlite::Result<()> {
        if self.now.0 > clock_high(self.db)?.0 + CLOCK_STEP_MS {
            self.db
                .prepare_cached(sql::RAISE)?
                .execute(params!["clock_high_ms", self.now.0.to_string()])?;
        }
        Ok(())
    }

    /// An operator says that the present wall time is right.
    ///
    /// # Errors
    /// A storage error.
    pub fn accept_clock(&mut self, uid: u32, reason: &str) -> Result<(), LedgerError> {
        let before = clock_high(self.db)?;
        set(self.db, "clock_high_ms", &self.now.0.to_string())?;
        let note = format!("clock accept: {} ms -> {} ms; {reason}", before.0, self.now.0);
        self.operator(uid, &note)?;
        Ok(())
    }

    /// Pauses, resumes, freezes or unfreezes, and records who did it and why.
    ///
    /// # Errors
    /// A storage error.
    pub fn switch(&mut self, switch: Switch, on: bool, uid: u32, reason: &str) -> Result<(), LedgerError> {
        let (key, verb, event) = match (switch, on) {
            (Switch::Pause, true) => ("paused", "pause", "role.paused"),
            (Switch::Pause, false) => ("paused", "resume", "role.resumed"),
            (Switch::Freeze, true) => ("frozen", "freeze", "role.frozen"),
            (Switch::Freeze, false) => ("frozen", "unfreeze", "role.unfrozen"),
        };
        set(self.db, key, if on { "1" } else { "0" })?;
        self.operator(uid, &format!("{verb}: {reason}"))?;
        let role = get(self.db, "role")?.unwrap_or_default();
        self.event(
            event,
            ("role", &role),
            None,
            &serde_json::json!({ "role": role, "uid": uid }),
        )?;
        Ok(())
    }

    /// One OPERATOR row that concerns no single job.
    pub(super) fn operator(&mut self, uid: u32, note: &str) -> rusqlite::Result<()> {
        let note = super::clip(note, 1000);
        self.audit(
            AuditKind::Operator,
            &Entry {
                uid: Some(uid),
                note: Some(note),
                ..Entry::default()
            },
        )
    }

    /// Raises the epoch after a restore: approvals issued before it and undelivered events are void, the role starts paused.
    ///
    /// # Errors
    /// A storage error.
    pub fn begin_epoch(&mut self, epoch: i64, why: &str) -> Result<(), LedgerError> {
        set(self.db, "epoch", &epoch.to_string())?;
        set(self.db, "paused", "1")?;
        set(self.db, "restored_ms", &self.now.0.to_string())?;
        self.epoch = epoch;
        self.db
            .prepare_cached(super::rows_audit::VOID_EVENTS)?
            .execute([epoch])?;
        self.db
            .prepare_cached(super::rows_approvals::VOID_BEFORE)?
            .execute(params![epoch, self.now.0])?;
        self.operator(0, &format!("restored: epoch {epoch}; {why}"))?;
        let role = get(self.db, "role")?.unwrap_or_default();
        self.event(
            "role.restored",
            ("role", &role),
            None,
            &serde_json::json!({ "role": role, "epoch": epoch }),
        )?;
        Ok(())
    }
}
