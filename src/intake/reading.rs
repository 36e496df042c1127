//! What becomes of one entry whose turn it is. In: the entry. Out: a file or a refusal in the batch, or nothing: it comes
//! again.
//!
//! Not here: choosing (`scan`), removing.

use super::allowance::Allowance;
use super::batch::{Batch, FileRefusal, Poisoned, RawFile, Stuck, Ticket};
use super::drop_dir::{DropDir, Reading};
use super::listing::Handling;
use super::queue::Entry;
use super::rules::{Reason, Verdict, bytes_max, mode_keeps_out};
use super::scan::Intake;
use super::seen::FileId;
use crate::job::{Code, Refusal, Sha256, sha256};

/// What the requester of a poisonous file is told.
const POISONED: &str = "the service stopped three times while it read this file, which was set aside for its operator; submit it again only \
     after asking them";

impl Intake {
    /// Opens, reads, and judges again by what the descriptor says.
    pub(super) fn read(&mut self, entry: &Entry, allowance: &mut Allowance<'_>, batch: &mut Batch) {
        match entry.look.verdict {
            Verdict::Read | Verdict::Refuse(Reason::TooLarge(_)) => {}
            Verdict::Refuse(reason) => {
                refuse(entry, entry.id, reason, reason.digest(), batch);
                return;
            }
        }
        // An earlier file of this requester turned out not to fit: the later ones wait behind it.
        if entry.look.verdict == Verdict::Read && allowance.waits(entry.look.uid) {
            return;
        }
        let Some(dir) = self.places.dir(entry.place) else {
            return;
        };
        match dir.read(&entry.name, entry.id, bytes_max(entry.look.form)) {
            Reading::Read(bytes, seen) => {
                let verdict = dir
                    .look(entry.name.as_bytes(), &seen, &self.refused_uids)
                    .map(|look| look.verdict);
                self.known.calm(&entry.id);
                match verdict {
                    Some(Verdict::Read) => take(entry, bytes, allowance, batch),
                    // One byte more than allowed was read, so this is the whole document's digest where it has just one.
                    Some(Verdict::Refuse(reason @ Reason::TooLarge(_))) => {
                        refuse(entry, entry.id, reason, sha256(&bytes), batch);
                    }
                    Some(Verdict::Refuse(reason)) => refuse(entry, entry.id, reason, reason.digest(), batch),
                    None => {}
                }
            }
            Reading::Gone => self.known.calm(&entry.id),
            Reading::Busy => {}
            Reading::Changed => {
                if self.known.changed(&entry.id) {
                    // Whatever it is by now: it is the same inode, and it was given its chances.
                    let inode = entry.id.in_any_state();
                    refuse(entry, inode, Reason::Restless, Reason::Restless.digest(), batch);
                }
            }
            Reading::KeptOut(error) => {
                if seen_again(dir, entry).is_some_and(|seen| mode_keeps_out(&seen, self.me)) {
                    refuse(
                        entry,
                        entry.id,
                        Reason::Unreadable,
                        Reason::Unreadable.digest(),
                        batch,
                    );
                } else {
                    self.stuck(
                        entry,
                        format!("cannot be opened, though its mode allows it: {error}"),
                        batch,
                    );
                }
            }
            Reading::Broken(error) => self.stuck(entry, format!("cannot be read: {error}"), batch),
            Reading::Exhausted(error) => {
                batch.notices.push(format!("nothing can be opened now: {error}"));
                self.list_again();
            }
        }
    }

    /// Moves a file on which the process died too often away.
    pub(super) fn poison(&mut self, entry: &Entry, batch: &mut Batch) -> Option<FileId> {
        let dir = self.places.dir(entry.place)?;
        let bytes = match dir.read(&entry.name, entry.id, bytes_max(entry.look.form)) {
            Reading::Read(bytes, _) => bytes,
            Reading::Gone
            | Reading::Changed
            | Reading::Busy
            | Reading::KeptOut(_)
            | Reading::Broken(_)
            | Reading::Exhausted(_) => return None,
        };
        let (uid, via) = (entry.look.uid, entry.look.via);
        let name = format!("{uid}-{}-{}", via.as_str(), entry.name);
        let why = format!("the process died three times while it read this file of UID {uid}\n");
        match self.quarantine.keep(&name, &bytes, &why) {
            Ok(kept_as) => {
                batch.poisoned.push(Poisoned {
                    name: entry.name.clone(),
                    kept_as,
                    uid,
                    via,
                    digest: sha256(&bytes),
                    refusal: Refusal::new(Code::MalformedJson, "", POISONED),
                });
                batch.stuck.extend(self.remove(&ticket(entry, entry.id)));
                Some(entry.id)
            }
            Err(error) => {
                self.stuck(entry, format!("cannot be moved to quarantine: {error}"), batch);
                None
            }
        }
    }

    /// It stays where it is and is tried again at each listing, without a word.
    fn stuck(&mut self, entry: &Entry, why: String, batch: &mut Batch) {
        if self.known.set_stuck(entry.id, Handling::Read)
            && let Some(dir) = self.places.dir(entry.place)
        {
            let (dir, name) = (dir.path().to_owned(), entry.name.clone());
            batch.stuck.push(Stuck {
                dir,
                name,
                uid: entry.look.uid,
                why,
            });
        }
    }
}

/// A whole file: into the batch, if its requester has room for all of it.
fn take(entry: &Entry, bytes: Vec<u8>, allowance: &mut Allowance<'_>, batch: &mut Batch) {
    let look = entry.look;
    let digest = sha256(&bytes);
    let Some(file) = RawFile::new(ticket(entry, entry.id), look.uid, look.via, look.form, bytes) else {
        refuse(entry, entry.id, Reason::TooManyLines, digest, batch);
        return;
    };
    let documents = u64::try_from(file.documents().len()).unwrap_or(u64::MAX);
    let room = allowance.room(look.uid);
    if documents > room.jobs_max || entry.bytes > room.bytes_max {
        refuse(entry, entry.id, Reason::OverLimit, digest, batch);
    } else if allowance.reserve_rest(look.uid, documents) {
        batch.files.push(file);
    } else {
        allowance.wait(look.uid);
    }
}

fn refuse(entry: &Entry, id: FileId, reason: Reason, digest: Sha256, batch: &mut Batch) {
    batch.refused.push(FileRefusal {
        ticket: ticket(entry, id),
        uid: entry.look.uid,
        via: entry.look.via,
        digest,
        refusal: reason.refusal(),
    });
}

fn ticket(entry: &Entry, id: FileId) -> Ticket {
    Ticket {
        place: entry.place,
        name: entry.name.clone(),
        id,
        owner: entry.look.uid,
    }
}

fn seen_again(dir: &DropDir, entry: &Entry) -> Option<super::seen::Seen> {
    let name = std::ffi::CString::new(entry.name.as_str()).ok()?;
    dir.see(&name).ok().filter(|seen| seen.id == entry.id)
}
