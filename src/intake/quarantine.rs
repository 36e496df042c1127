//! Files on which the process died three times, kept for a person to look at. In: a file's bytes and why. Out: the same,
//! in `quarantine/`, bounded in number and bytes; the oldest go first.
//!
//! The copy is complete and synced before the original is removed: a crash in between leaves two, never none.
//!
//! Not here: reading it again, parsing it.

use crate::failpoint;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Files kept, whatever their size.
const KEPT_MAX: usize = 256;
/// Ending of the sentence that stands beside each file.
const WHY: &str = ".why";
/// Beginning of what is not complete yet.
const UNFINISHED: &str = ".unfinished-";

/// The directory.
#[derive(Debug)]
pub struct Quarantine {
    dir: PathBuf,
    bytes_max: u64,
}

/// One file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// `NUMBER-UID-VIA-NAME`: numbers grow, so the first is the oldest.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The sentence beside it, if it can be read.
    pub why: String,
}

impl Quarantine {
    /// Opens it, and makes it if it is not there (0700).
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(dir: &Path, bytes_max: u64) -> io::Result<Quarantine> {
        match fs::DirBuilder::new().mode(0o700).create(dir) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        Ok(Quarantine {
            dir: dir.to_owned(),
            bytes_max,
        })
    }

    /// What is in it, the oldest first.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(&self) -> io::Result<Vec<Kept>> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.ends_with(WHY) || name.starts_with('.') {
                continue;
            }
            let why = fs::read_to_string(self.dir.join(format!("{name}{WHY}"))).unwrap_or_default();
            kept.push(Kept {
                bytes: entry.metadata()?.len(),
                why,
                name,
            });
        }
        kept.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(kept)
    }

    /// Keeps `bytes` under a name made from `name`, durably, and says which. Old ones are removed to make room; a file that
    /// alone is larger than the whole bound is kept by itself.
    ///
    /// # Errors
    /// Nothing was kept.
    pub(super) fn keep(&self, name: &str, bytes: &[u8], why: &str) -> io::Result<String> {
        let kept = self.list()?;
        let newest = kept
            .last()
            .and_then(|kept| kept.name.split('-').next()?.parse::<u64>().ok());
        let kept_as = format!("{:012}-{name}", newest.unwrap_or(0).saturating_add(1));
        self.make_room(kept, u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
        self.write(&format!("{kept_as}{WHY}"), why.as_bytes())?;
        failpoint::reach("intake.quarantine_why")?;
        self.write(&kept_as, bytes)?;
        failpoint::reach("intake.quarantined")?;
        Ok(kept_as)
    }

    fn make_room(&self, kept: Vec<Kept>, bytes: u64) -> io::Result<()> {
        let mut used: u64 = kept.iter().map(|kept| kept.bytes).sum();
        let mut left = kept.len();
        for oldest in kept {
            if left < KEPT_MAX && used.saturating_add(bytes) <= self.bytes_max {
                break;
            }
            fs::remove_file(self.dir.join(&oldest.name))?;
            gone(fs::remove_file(self.dir.join(format!("{}{WHY}", oldest.name))))?;
            left -= 1;
            used = used.saturating_sub(oldest.bytes);
        }
        Ok(())
    }

    /// Whole and synced, or not there.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.dir.join(format!("{UNFINISHED}{name}"));
        let mut options = File::options();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, self.dir.join(name))?;
        File::open(&self.dir)?.sync_all()
    }
}

/// Not being there is what was wanted.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_kept_with_their_reason_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::open(&dir.path().join("quarantine"), 1000).unwrap();
        let first = quarantine
            .keep("1000-drop-a.json", b"poison", "it killed us")
            .unwrap();
        let second = quarantine.keep("1000-drop-a.json", b"more", "again").unwrap();
        assert!(first < second);
        let kept = quarantine.list().unwrap();
        assert_eq!(kept.len(), 2);
        assert_eq!(
            (kept[0].name.as_str(), kept[0].bytes, kept[0].why.as_str()),
            (first.as_str(), 6, "it killed us")
        );
        assert_eq!(
            fs::read(dir.path().join("quarantine").join(first)).unwrap(),
            b"poison"
        );
    }

    #[test]
    fn the_oldest_make_room_by_bytes_and_by_number() {
        let dir = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::open(dir.path(), 100).unwrap();
        for at in 0..4 {
            quarantine.keep(&format!("{at}"), &[0; 40], "why").unwrap();
        }
        let names: Vec<String> = quarantine
            .list()
            .unwrap()
            .into_iter()
            .map(|kept| kept.name)
            .collect();
        assert_eq!(names, ["000000000003-2", "000000000004-3"]);
        quarantine.keep("huge", &[0; 500], "why").unwrap();
        assert_eq!(quarantine.list().unwrap().len(), 1);
        for at in 0..KEPT_MAX + 5 {
            quarantine.keep(&format!("{at}"), b"", "why").unwrap();
        }
        assert_eq!(quarantine.list().unwrap().len(), KEPT_MAX);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2 * KEPT_MAX);
    }

    #[test]
    fn an_unfinished_copy_is_not_listed_and_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::open(dir.path(), 100).unwrap();
        fs::write(dir.path().join(".unfinished-000000000001-a"), b"half").unwrap();
        assert_eq!(quarantine.list().unwrap(), []);
        let name = quarantine.keep("a", b"whole", "why").unwrap();
        assert_eq!(fs::read(dir.path().join(name)).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
