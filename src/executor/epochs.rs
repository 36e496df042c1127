//! The `epoch` file beside the ledger: what the database must at least contain. In: the ledger's epoch and head. Out: a record on disk, before
//! each send and at most every few seconds otherwise.
//!
//! Not here: judging a start by it (epoch/, daemon/restored).

use crate::epoch::{EpochFile, EpochRecord};
use crate::ledger::{Ledger, control};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file, and what was written to it last.
#[derive(Debug)]
pub struct Epochs {
    file: EpochFile,
    written: Mutex<Option<EpochRecord>>,
}

impl Epochs {
    /// The file in a state directory.
    ///
    /// # Errors
    /// As a sentence naming the file.
    pub fn open(state_dir: &Path) -> Result<Epochs, String> {
        let file = EpochFile::in_dir(state_dir);
        file.sweep().map_err(|error| error.to_string())?;
        Ok(Epochs {
            file,
            written: Mutex::new(None),
        })
    }

    /// What the file says.
    ///
    /// # Errors
    /// As a sentence naming the file.
    pub fn read(&self) -> Result<Option<EpochRecord>, String> {
        self.file.read().map_err(|error| error.to_string())
    }

    /// Writes the ledger's present epoch and head, synced, if they changed. Never goes back: another process may have
    /// written a later head, which the file keeps.
    ///
    /// # Errors
    /// As a sentence naming the file.
    pub fn note(&self, ledger: &Ledger) -> Result<(), String> {
        let (head, epoch) = ledger
            .read(|db| Ok((crate::ledger::audit::head(db)?, control::epoch(db)?)))
            .map_err(|fault| fault.to_string())?;
        let record = EpochRecord {
            epoch: u64::try_from(epoch).unwrap_or(0),
            audit_seq: u64::try_from(head.size).unwrap_or(0),
            head: head.hash,
        };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written == Some(record) {
            return Ok(());
        }
        self.file.advance(record).map_err(|error| error.to_string())?;
        *written = Some(record);
        Ok(())
    }
}
