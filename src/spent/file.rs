//! The file under the lock. In: what is known of it, text to append. Out: everything before the end verified, a torn end
//! closed, the text durable, or certainty about what is not.
//!
//! Not here: which entries are appended (the log), which line follows which (scan).

use super::fault::{SpentFault, Step};
use super::scan::{self, Found, Scanner, Tail};
use super::{SpentLog, State, entries, line};
use crate::failpoint;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

impl SpentLog {
    /// Appends at the end of the file and syncs once. Under the lock, after [`SpentLog::catch_up`].
    pub(super) fn append(&self, state: &mut State, text: &[u8]) -> Result<(), SpentFault> {
        let len = self.len()?;
        if let Err(error) = self.file.write_all_at(text, len) {
            return Err(self.take_back(state, len, error));
        }
        let synced = failpoint::reach("spent.appended")
            .and_then(|()| self.file.sync_all())
            .and_then(|()| failpoint::reach("spent.synced"));
        synced.map_err(|error| self.die(state, Step::Sync, error))
    }

    /// After a write that failed: nothing was spent only if what was written is durably gone again.
    fn take_back(&self, state: &mut State, len: u64, error: std::io::Error) -> SpentFault {
        match self.file.set_len(len).and_then(|()| self.file.sync_all()) {
            Ok(()) => self.nothing(Step::Write, error),
            Err(_) => self.die(state, Step::Write, error),
        }
    }

    /// Verifies and indexes what is behind the known end, and closes a torn end.
    pub(super) fn catch_up(&self, state: &mut State) -> Result<(), SpentFault> {
        let len = self.len()?;
        if len < state.end {
            return Err(SpentFault::Shorter {
                path: self.path.clone(),
                was: state.end,
                is: len,
            });
        }
        if len == state.end {
            return Ok(());
        }
        let section = entries::Section::new(Arc::clone(&self.file), state.end, len);
        let mut scanner = Scanner::new(state.prev, state.lines);
        let index = &mut state.index;
        let tail = scan::read_all(
            &mut BufReader::with_capacity(64 * 1024, section),
            &mut scanner,
            |found| match found {
                Found::Entry(entry) => index.add(&entry),
                Found::Torn(fragment) => index.add_readable(&fragment),
            },
        )
        .map_err(|error| error.at(&self.path))?;
        match tail {
            Tail::Clean => {}
            Tail::LineEndMissing => self.append(state, b"\n")?,
            Tail::Torn { close, fragment } => {
                state.index.add_readable(&fragment);
                let mut text = String::from(if close { "\n" } else { "" });
                let prev = line::write_torn(&mut text, &fragment, scanner.prev());
                tracing::warn!(path = %self.path.display(), line = scanner.lines() + 1, bytes = fragment.len(),
                    "a write was cut off here; it is closed, and approvals that can be read in it count as spent");
                self.append(state, text.as_bytes())?;
                scanner.closed(prev);
            }
        }
        state.end = self.len()?;
        state.lines = scanner.lines();
        state.prev = scanner.prev();
        Ok(())
    }

    /// The file's length, if it still is the file of that name.
    fn len(&self) -> Result<u64, SpentFault> {
        let held = self
            .file
            .metadata()
            .map_err(|error| self.nothing(Step::Read, error))?;
        let named = self.path.symlink_metadata();
        if !named.is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())) {
            return Err(SpentFault::Replaced {
                path: self.path.clone(),
            });
        }
        Ok(held.len())
    }

    pub(super) fn lock(&self) -> Result<FileLock<'_>, SpentFault> {
        rustix::io::retry_on_intr(|| rustix::fs::flock(&*self.file, FlockOperation::LockExclusive))
            .map_err(|error| self.nothing(Step::Lock, error.into()))?;
        Ok(FileLock(&self.file))
    }

    pub(super) fn nothing(&self, step: Step, source: std::io::Error) -> SpentFault {
        SpentFault::Nothing {
            path: self.path.clone(),
            step,
            source,
        }
    }

    fn die(&self, state: &mut State, step: Step, source: std::io::Error) -> SpentFault {
        state.dead = Some(format!("cannot {step}: {source}"));
        SpentFault::Maybe {
            path: self.path.clone(),
            step,
            source,
        }
    }
}

/// The lock between processes; let go when dropped.
pub(super) struct FileLock<'a>(&'a File);

impl Drop for FileLock<'_> {
    fn drop(&mut self) {
        if let Err(error) = rustix::fs::flock(self.0, FlockOperation::Unlock) {
            tracing::error!(%error, "spent.log stays locked until this process ends");
        }
    }
}
