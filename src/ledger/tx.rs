//! One write's view of the ledger: the connection inside the group transaction, one reading of the clocks, and what must be
//! true when it ends (counts, audit chain). In: the writer's connection. Out: rows, audit entries, events.
//!
//! Not here: the decisions themselves.

use super::audit::{self, AuditKind, Entry};
use super::error::LedgerError;
use super::{Ledger, rows_audit};
use crate::clock::{BootMs, WallMs};
use crate::job::Uuid4;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// One closure's transaction.
pub struct Tx<'a> {
    pub(super) db: &'a Connection,
    /// Wall time of this write.
    pub now: WallMs,
    /// Boot time of this write.
    pub boot: BootMs,
    /// This boot.
    pub boot_id: String,
    pub(super) epoch: i64,
    pub(super) tail: Option<[u8; 32]>,
    deltas: BTreeMap<(&'static str, &'static str), i64>,
    requesters: BTreeMap<u32, (i64, i64)>,
}

impl std::fmt::Debug for Tx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl Ledger {
    /// Runs one write and waits until it is durable; every state change of the ledger goes through here.
    ///
    /// # Errors
    /// The closure's own refusal, or a storage fault; in both cases nothing is kept.
    pub fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Tx<'_>) -> Result<T, LedgerError> + Send + 'static,
    ) -> super::error::WriteResult<T> {
        let clock = std::sync::Arc::clone(&self.clock);
        let path = self.path.clone();
        self.writer.write(move |db| {
            let sort = |error: LedgerError| match error {
                LedgerError::Sql(error) => crate::sqlite::WriteError::Storage(
                    crate::sqlite::StorageFault::from_sqlite(&path, &error),
                ),
                LedgerError::LostLease { .. }
                | LedgerError::Illegal(_)
                | LedgerError::NoSuchJob(_)
                | LedgerError::WrongState { .. }
                | LedgerError::TooEarly { .. }
                | LedgerError::Denied { .. }
                | LedgerError::Stopped(_)
                | LedgerError::Unreadable { .. } => crate::sqlite::WriteError::Inner(error),
            };
            let mut tx = Tx {
                db,
                now: clock.wall(),
                boot: clock.boot(),
                boot_id: clock.boot_id(),
                epoch: super::control::epoch(db).map_err(|error| sort(error.into()))?,
                tail: None,
                deltas: BTreeMap::new(),
                requesters: BTreeMap::new(),
            };
            let answer = write(&mut tx).map_err(sort)?;
            tx.flush().map_err(|error| sort(error.into()))?;
            Ok(answer)
        })
    }
}

impl Tx<'_> {
    /// Appends to the audit.
    pub(super) fn audit(&mut self, kind: AuditKind, entry: &Entry<'_>) -> rusqlite::Result<()> {
        self.count("audit", kind.as_str(), 1);
        audit::append(self, kind, entry)
    }

    /// Notes a change of a maintained count; written once when the transaction ends.
    pub(super) fn count(&mut self, name: &'static str, label: &'static str, by: i64) {
        *self.deltas.entry((name, label)).or_insert(0) += by;
    }

    /// Notes that a requester has more or fewer live jobs and bytes.
    pub(super) fn live(&mut self, uid: u32, jobs: i64, bytes: i64) {
        let entry = self.requesters.entry(uid).or_insert((0, 0));
        entry.0 += jobs;
        entry.1 += bytes;
    }

    /// Writes one event into the outbox.
    pub(super) fn event(
        &mut self,
        kind: &'static str,
        aggregate: (&str, &str),
        correlation: Option<&str>,
        payload: &serde_json::Value,
    ) -> rusqlite::Result<()> {
        self.db.prepare_cached(rows_audit::EVENT)?.execute(params![
            Uuid4::random().to_string(),
            kind,
            aggregate.0,
            aggregate.1,
            correlation,
            payload.to_string(),
            self.now.0,
            self.epoch
        ])?;
        self.count("events", kind, 1);
        Ok(())
    }

    fn flush(&mut self) -> rusqlite::Result<()> {
        let mut count = self.db.prepare_cached(rows_audit::COUNT)?;
        for ((name, label), by) in std::mem::take(&mut self.deltas) {
            if by != 0 {
                count.execute(params![name, label, by])?;
            }
        }
        let mut live = self.db.prepare_cached(super::rows_jobs::REQUESTER)?;
        for (uid, (jobs, bytes)) in std::mem::take(&mut self.requesters) {
            live.execute(params![uid, jobs, bytes])?;
        }
        Ok(())
    }
}
