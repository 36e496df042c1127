//! Is one commit an ancestor of another? In: two commits. Out: yes or no, over every parent of every merge, each commit
//! re-hashed; or a fault where the history does not tell.
//!
//! Both commits are followed at once, newest first: what the descendant reaches is marked BELOW, what the ancestor reaches
//! OWN. The answer is yes when the ancestor is marked BELOW, and no when nothing is left to follow that is BELOW alone: what
//! is reached from the ancestor cannot lead back to it. Dates only order the walk, so a wrong clock costs time and never
//! changes an answer.
//! Not here: what the answer means for a job (local.rs, roles/).

use super::fault::SourceFault;
use super::read::{Commit, Reader, missing};
use gix::ObjectId;
use gix::objs::Kind;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Known ancestors of the tip, about 5 MB.
const KNOWN_MAX: usize = 100_000;
/// Answers about other pairs, about 0.5 MB.
const ANSWERS_MAX: usize = 4096;

/// Reached from the descendant.
const BELOW: u8 = 1;
/// Reached from the ancestor.
const OWN: u8 = 2;
/// Waiting to be followed.
const QUEUED: u8 = 4;
const MARKS: u8 = BELOW | OWN;

/// One walk.
struct Walk<'a> {
    reader: &'a Reader,
    marks: HashMap<ObjectId, u8>,
    queue: BinaryHeap<(i64, ObjectId, Vec<ObjectId>)>,
    /// Commits in the queue that are BELOW alone.
    open: usize,
    reads: u64,
    reads_max: u64,
    /// Commits that something BELOW names as its parent and that are not there.
    holes: Vec<ObjectId>,
}

impl Walk<'_> {
    fn mark(&mut self, id: ObjectId, with: u8) -> Result<(), SourceFault> {
        let seen = self.marks.entry(id).or_insert(0);
        let before = *seen;
        *seen |= with;
        let after = *seen;
        if before == after {
            return Ok(());
        }
        if before & QUEUED != 0 {
            if before & MARKS == BELOW {
                self.open -= 1;
            }
            return Ok(());
        }
        self.reads += 1;
        if self.reads > self.reads_max {
            return Err(SourceFault::Damaged {
                what: format!("the history above commit {id}"),
                why: "it is longer than source.limits.commits_walked_max; raise that, or make a job from a newer commit"
                    .to_owned(),
            });
        }
        let Some(Commit { parents, time, .. }) = self.reader.commit(&id)? else {
            if after & BELOW != 0 {
                self.holes.push(id);
            }
            return Ok(());
        };
        self.marks.insert(id, after | QUEUED);
        if after & MARKS == BELOW {
            self.open += 1;
        }
        self.queue.push((time, id, parents));
        Ok(())
    }

    /// Follows both until the answer is known.
    fn run(&mut self, ancestor: ObjectId, descendant: ObjectId) -> Result<bool, SourceFault> {
        self.mark(ancestor, OWN)?;
        self.mark(descendant, BELOW)?;
        while self.open > 0 {
            let Some((_, id, parents)) = self.queue.pop() else {
                break;
            };
            let marks = self.marks.get(&id).copied().unwrap_or(0) & MARKS;
            self.marks.insert(id, marks);
            if marks == BELOW {
                self.open -= 1;
            }
            // No commit leads back to itself, so the ancestor is met only from below.
            for parent in parents {
                if parent == ancestor {
                    self.marks.insert(parent, MARKS);
                    return Ok(true);
                }
                self.mark(parent, marks)?;
            }
        }
        // What only a missing commit would show is not known; what is above a common one cannot be the ancestor.
        let unknown = self
            .holes
            .iter()
            .find(|id| self.marks.get(*id).is_some_and(|marks| marks & MARKS == BELOW));
        match unknown {
            None => Ok(false),
            Some(id) if self.reader.opened.is_shallow() => Err(SourceFault::Damaged {
                what: format!("the history above commit {id}"),
                why: "the repository is shallow and does not tell; `git fetch --unshallow` there".to_owned(),
            }),
            Some(id) => Err(missing(Kind::Commit, id)),
        }
    }
}

/// Answers that stay true as long as the ids do.
#[derive(Debug, Default)]
pub(super) struct History {
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    tip: Option<ObjectId>,
    /// Of the tip.
    known: HashSet<ObjectId>,
    answers: HashMap<(ObjectId, ObjectId), bool>,
}

impl Memory {
    fn answer(&self, ancestor: ObjectId, descendant: ObjectId) -> Option<bool> {
        if self.tip == Some(descendant) && self.known.contains(&ancestor) {
            return Some(true);
        }
        self.answers.get(&(ancestor, descendant)).copied()
    }

    fn keep(&mut self, ancestor: ObjectId, descendant: ObjectId, answer: bool) {
        if self.answers.len() >= ANSWERS_MAX {
            self.answers.clear();
        }
        self.answers.insert((ancestor, descendant), answer);
    }

    /// What a walk from the tip found BELOW it.
    fn learn(&mut self, tip: ObjectId, marks: &HashMap<ObjectId, u8>) {
        if self.tip != Some(tip) {
            return;
        }
        let below = marks
            .iter()
            .filter(|(id, marks)| **marks & BELOW != 0 && **id != tip)
            .map(|(id, _)| *id);
        if self.known.len() + marks.len() > KNOWN_MAX {
            self.known.clear();
        }
        if marks.len() <= KNOWN_MAX {
            self.known.extend(below);
        }
    }
}

impl History {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `ancestor` is a strict ancestor of `descendant`.
    pub(super) fn is_ancestor(
        &self,
        reader: &Reader,
        ancestor: ObjectId,
        descendant: ObjectId,
        reads_max: u64,
    ) -> Result<bool, SourceFault> {
        if ancestor == descendant {
            return Ok(false);
        }
        if let Some(answer) = self.memory().answer(ancestor, descendant) {
            return Ok(answer);
        }
        let mut walk = Walk {
            reader,
            marks: HashMap::new(),
            queue: BinaryHeap::new(),
            open: 0,
            reads: 0,
            reads_max,
            holes: Vec::new(),
        };
        let answer = walk.run(ancestor, descendant)?;
        let mut memory = self.memory();
        memory.keep(ancestor, descendant, answer);
        memory.learn(descendant, &walk.marks);
        Ok(answer)
    }

    /// Whether `commit` is `tip` or an ancestor of it. What is known of an older tip stays known if the ref only moved forward.
    pub(super) fn is_on(
        &self,
        reader: &Reader,
        commit: ObjectId,
        tip: ObjectId,
        reads_max: u64,
    ) -> Result<bool, SourceFault> {
        if commit == tip {
            return Ok(true);
        }
        let before = self.memory().tip;
        if before != Some(tip) {
            let forward = match before {
                // Not knowing means starting anew.
                Some(before) => self.is_ancestor(reader, before, tip, reads_max).unwrap_or(false),
                None => false,
            };
            let mut memory = self.memory();
            if forward && memory.tip == before {
                memory.known.extend(before);
            } else {
                memory.known.clear();
            }
            memory.tip = Some(tip);
        }
        self.is_ancestor(reader, commit, tip, reads_max)
    }
}
