//! Which files are being read right now, and on which the process died before. In: file ids. Out: a lock, and a count of
//! deaths for each.
//!
//! The table `intake.attempts` holds what was under way: a file is written there before it is read and taken out when its
//! batch has ended. What a new holder of the lock finds was under way when a process died. It is written with one system
//! call a batch and not synced: it has to outlive the process, not the machine. A mix of an old and a new table, as a kill
//! in the middle of the write may leave, is read line by line and is at worst one death off for a file.
//!
//! Not here: what happens to a file with three deaths (`quarantine`).

use super::seen::FileId;
use rustix::fs::FlockOperation;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Deaths after which a file is not read again.
pub(super) const DEATHS_MAX: u8 = 3;
/// Files the table names. Beyond, those with the fewest deaths are forgotten.
const ENTRIES_MAX: usize = 4096;
/// Bytes that many lines have at most; what follows is not read.
const TABLE_BYTES_MAX: u64 = 64 * 4096 + 64;
const END: &str = "end\n";

/// The open table.
#[derive(Debug)]
pub(super) struct Attempts {
    file: File,
    deaths: BTreeMap<FileId, u8>,
    /// Named by the table, but at the last complete listing no longer there.
    absent: BTreeSet<FileId>,
}

/// Whether this process may read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Held,
    Elsewhere,
}

impl Attempts {
    pub(super) fn open(path: &Path) -> std::io::Result<Attempts> {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let file = file.custom_flags(flags).open(path)?;
        let mut attempts = Attempts {
            file,
            deaths: BTreeMap::new(),
            absent: BTreeSet::new(),
        };
        attempts.load()?;
        Ok(attempts)
    }

    /// Takes the lock without waiting and reads the table anew: another process may have died since.
    pub(super) fn lock(&mut self) -> std::io::Result<Lock> {
        match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Lock::Elsewhere),
            Err(error) => return Err(error.into()),
        }
        match self.load() {
            Ok(()) => Ok(Lock::Held),
            Err(error) => {
                self.unlock()?;
                Err(error)
            }
        }
    }

    /// Deaths on this file so far.
    pub(super) fn deaths(&self, id: &FileId) -> u8 {
        self.deaths.get(id).copied().unwrap_or(0)
    }

    /// The files with any.
    pub(super) fn suspects(&self) -> BTreeSet<FileId> {
        self.deaths.keys().copied().collect()
    }

    /// These suspects are no longer in any directory.
    pub(super) fn set_absent(&mut self, absent: BTreeSet<FileId>) {
        self.absent = absent;
    }

    /// Counts these files: if the process dies from here on, it died on them. Before they are read.
    pub(super) fn begin(&self, under_way: &[FileId]) -> std::io::Result<()> {
        let mut table = self.deaths.clone();
        for id in under_way {
            let deaths = table.entry(*id).or_insert(0);
            *deaths = deaths.saturating_add(1);
        }
        self.write(&table)
    }

    /// The batch has ended: `done` are forgotten, everything else is as it was before. Releases the lock.
    pub(super) fn close(&mut self, done: &[FileId]) -> std::io::Result<()> {
        for id in done.iter().chain(&std::mem::take(&mut self.absent)) {
            self.deaths.remove(id);
        }
        let written = self.write(&self.deaths);
        self.unlock()?;
        written
    }

    /// Releases the lock; the table stays as it is on file.
    pub(super) fn unlock(&self) -> std::io::Result<()> {
        Ok(rustix::fs::flock(&self.file, FlockOperation::Unlock)?)
    }

    fn write(&self, table: &BTreeMap<FileId, u8>) -> std::io::Result<()> {
        let mut kept: Vec<(&FileId, &u8)> = table.iter().collect();
        if kept.len() > ENTRIES_MAX {
            kept.sort_by_key(|(_, deaths)| std::cmp::Reverse(**deaths));
            kept.truncate(ENTRIES_MAX);
        }
        let mut text: String = kept.into_iter().map(|(id, deaths)| line(id, *deaths)).collect();
        text.push_str(END);
        self.file.write_all_at(text.as_bytes(), 0)
    }

    fn load(&mut self) -> std::io::Result<()> {
        use std::io::Seek;
        self.file.rewind()?;
        let mut bytes = Vec::new();
        (&self.file).take(TABLE_BYTES_MAX).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.split_inclusive('\n').take_while(|line| *line != END);
        self.deaths = lines.filter_map(parse).collect();
        Ok(())
    }
}

/// Lines of one length, so that a partly overwritten table still has whole lines.
fn line(id: &FileId, deaths: u8) -> String {
    format!(
        "v1 {:016x} {:016x} {:016x} {:02x}\n",
        id.dev, id.ino, id.ctime_ns, deaths
    )
}

fn parse(line: &str) -> Option<(FileId, u8)> {
    let fields: Vec<&str> = line.strip_suffix('\n')?.split(' ').collect();
    let ["v1", dev, ino, ctime, deaths] = fields.as_slice() else {
        return None;
    };
    let number = |text: &str| {
        (text.len() == 16)
            .then(|| u64::from_str_radix(text, 16).ok())
            .flatten()
    };
    let id = FileId {
        dev: number(dev)?,
        ino: number(ino)?,
        ctime_ns: number(ctime)?.cast_signed(),
    };
    Some((id, u8::from_str_radix(deaths, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ino: u64) -> FileId {
        FileId {
            dev: 1,
            ino,
            ctime_ns: -5,
        }
    }

    fn at(dir: &tempfile::TempDir) -> Attempts {
        Attempts::open(&dir.path().join("intake.attempts")).unwrap()
    }

    #[test]
    fn what_was_under_way_when_the_process_died_is_found_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        for deaths in 0..3 {
            let mut attempts = at(&dir);
            assert_eq!(attempts.lock().unwrap(), Lock::Held);
            assert_eq!(attempts.deaths(&id(7)), deaths);
            attempts.begin(&[id(7)]).unwrap();
        }
        assert_eq!(at(&dir).deaths(&id(7)), DEATHS_MAX);
    }

    #[test]
    fn a_batch_that_ended_leaves_nothing_and_one_that_was_given_back_no_death() {
        let dir = tempfile::tempdir().unwrap();
        let mut attempts = at(&dir);
        assert_eq!(attempts.lock().unwrap(), Lock::Held);
        attempts.begin(&[id(1), id(2), id(3)]).unwrap();
        attempts.close(&[id(1)]).unwrap();
        assert_eq!(at(&dir).suspects().len(), 0);
    }

    #[test]
    fn one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let (mut first, mut second) = (at(&dir), at(&dir));
        assert_eq!(first.lock().unwrap(), Lock::Held);
        assert_eq!(second.lock().unwrap(), Lock::Elsewhere);
        first.begin(&[id(1)]).unwrap();
        first.close(&[id(1)]).unwrap();
        assert_eq!(second.lock().unwrap(), Lock::Held);
        drop(second);
        assert_eq!(
            first.lock().unwrap(),
            Lock::Held,
            "the lock goes with its process"
        );
    }

    #[test]
    fn suspects_that_are_gone_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        at(&dir).begin(&[id(1), id(2)]).unwrap();
        let mut attempts = at(&dir);
        assert_eq!(attempts.lock().unwrap(), Lock::Held);
        attempts.set_absent(BTreeSet::from([id(1)]));
        attempts.begin(&[]).unwrap();
        attempts.close(&[]).unwrap();
        assert_eq!(at(&dir).suspects(), BTreeSet::from([id(2)]));
    }

    #[test]
    fn a_torn_or_hostile_table_is_read_as_far_as_it_makes_sense() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("intake.attempts");
        let good = line(&id(9), 2);
        for junk in [
            "\u{0}\u{0}\n",
            "v1 zz\n",
            "v2 1 2 3 4\n",
            "v1 1 2 3 4",
            "\u{fffd}\n",
        ] {
            std::fs::write(&path, format!("{junk}\n{good}{good}end\n{}", line(&id(8), 1))).unwrap();
            assert_eq!(at(&dir).suspects(), BTreeSet::from([id(9)]), "{junk:?}");
        }
        std::fs::write(&path, [0xffu8; 1_000_000]).unwrap();
        assert_eq!(at(&dir).suspects().len(), 0);
    }

    #[test]
    fn the_table_is_bounded_and_keeps_the_worst() {
        let dir = tempfile::tempdir().unwrap();
        let worst = id(5_000_000);
        at(&dir).begin(&[worst]).unwrap();
        at(&dir).begin(&[worst]).unwrap();
        let many: Vec<FileId> = (0..5000).map(id).collect();
        at(&dir).begin(&many).unwrap();
        let kept = at(&dir);
        assert_eq!(kept.suspects().len(), ENTRIES_MAX);
        assert_eq!(kept.deaths(&worst), 2);
    }
}
