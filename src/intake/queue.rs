//! Whose file is next. In: entries as they are listed. Out: one at a time, round-robin by requester, oldest first within
//! one requester.
//!
//! Bounded: whoever drops 100,000 files makes the queue forget their newest, never anybody else's oldest.
//!
//! Not here: limits (`scan`).

use super::rules::{Look, bytes_max};
use super::seen::FileId;
use std::collections::{BTreeMap, BTreeSet};

/// Entries remembered between two listings: at about 200 bytes each, under 2 MiB.
pub const QUEUED_MAX: usize = 8192;
/// Of one requester. When many requesters fill the queue this shrinks, for all alike.
pub const QUEUED_PER_UID_MAX: usize = 2048;

/// An entry that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Which directory.
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) id: FileId,
    pub(super) bytes: u64,
    pub(super) look: Look,
    /// Arrival: the last change of the entry, which a rename is. Its owner cannot set it.
    pub(super) arrived_ns: i64,
}

type Arrival = (i64, String, usize);

impl Entry {
    /// Bytes that reading it costs.
    pub(super) fn bytes_read(&self) -> u64 {
        let most = u64::try_from(bytes_max(self.look.form)).unwrap_or(u64::MAX);
        self.bytes.min(most)
    }

    fn key(&self) -> Arrival {
        (self.arrived_ns, self.name.clone(), self.place)
    }
}

/// The queue.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: BTreeMap<u32, BTreeMap<Arrival, Entry>>,
    len: usize,
    per_uid_max: usize,
    /// Who was served last.
    last: Option<u32>,
    /// Of whom entries had to be forgotten.
    forgotten: BTreeSet<u32>,
    /// Whether that happened to requesters of whom nothing is remembered.
    strangers: bool,
}

/// What a caller says to the next entry of a requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    /// Take it.
    Yes,
    /// Nothing of this requester for now.
    NotNow,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue {
            waiting: BTreeMap::new(),
            len: 0,
            per_uid_max: QUEUED_PER_UID_MAX,
            last: None,
            forgotten: BTreeSet::new(),
            strangers: false,
        }
    }

    /// Forgets everything but whose turn it is.
    pub(super) fn clear(&mut self) {
        *self = Queue {
            last: self.last,
            ..Queue::new()
        };
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether another listing would find entries that did not fit, of a requester that counts.
    pub(super) fn forgot(&self, counts: impl Fn(u32) -> bool) -> bool {
        self.strangers || self.forgotten.iter().any(|uid| counts(*uid))
    }

    pub(super) fn push(&mut self, entry: Entry) {
        if self.len >= QUEUED_MAX {
            self.shrink();
        }
        let per_uid_max = self.per_uid_max;
        // Not even room for one of each requester: the rest is for the next listing.
        if self.len >= QUEUED_MAX && !self.waiting.contains_key(&entry.look.uid) {
            self.strangers = true;
            return;
        }
        let uid = entry.look.uid;
        let theirs = self.waiting.entry(uid).or_default();
        if theirs.insert(entry.key(), entry).is_none() {
            self.len += 1;
        }
        if theirs.len() > per_uid_max && theirs.pop_last().is_some() {
            self.len -= 1;
            self.forgotten.insert(uid);
        }
    }

    /// Halves everybody's share until a quarter is free, or everybody has one.
    fn shrink(&mut self) {
        while self.len > QUEUED_MAX / 4 * 3 && self.per_uid_max > 1 {
            self.per_uid_max /= 2;
            for (uid, theirs) in &mut self.waiting {
                while theirs.len() > self.per_uid_max && theirs.pop_last().is_some() {
                    self.len -= 1;
                    self.forgotten.insert(*uid);
                }
            }
        }
    }

    /// The next entry: of the first requester after the one served last whose oldest entry `may` agrees to.
    pub(super) fn next(&mut self, mut may: impl FnMut(&Entry) -> May) -> Option<Entry> {
        let after = self.last.map_or(0, |last| last.saturating_add(1));
        let uid = self
            .waiting
            .range(after..)
            .chain(self.waiting.range(..after))
            .find(|(_, theirs)| {
                theirs
                    .first_key_value()
                    .is_some_and(|(_, entry)| may(entry) == May::Yes)
            })
            .map(|(uid, _)| *uid)?;
        let theirs = self.waiting.get_mut(&uid)?;
        let (_, entry) = theirs.pop_first()?;
        if theirs.is_empty() {
            self.waiting.remove(&uid);
        }
        self.len -= 1;
        self.last = Some(uid);
        Some(entry)
    }

    /// Puts an entry back that was just taken; its requester is next.
    pub(super) fn put_back(&mut self, entry: Entry) {
        self.last = entry.look.uid.checked_sub(1);
        self.len += 1;
        self.waiting
            .entry(entry.look.uid)
            .or_default()
            .insert(entry.key(), entry);
    }

    /// The requesters of whom something waits.
    pub(super) fn uids(&self) -> impl Iterator<Item = u32> {
        self.waiting.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::{Form, Via};
    use super::super::rules::Verdict;
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    fn entry(uid: u32, arrived_ns: i64, name: &str) -> Entry {
        let look = Look {
            uid,
            via: Via::Drop,
            form: Form::One,
            verdict: Verdict::Read,
        };
        let id = FileId {
            dev: 1,
            ino: 1,
            ctime_ns: arrived_ns,
        };
        Entry {
            place: 0,
            name: name.to_owned(),
            id,
            bytes: 1,
            look,
            arrived_ns,
        }
    }

    fn drain(queue: &mut Queue) -> Vec<String> {
        std::iter::from_fn(|| queue.next(|_| May::Yes))
            .map(|entry| entry.name)
            .collect()
    }

    #[test]
    fn requesters_take_turns_and_each_is_served_in_order_of_arrival() {
        let mut queue = Queue::new();
        for (uid, at, name) in [
            (7, 3, "7c"),
            (7, 1, "7a"),
            (7, 2, "7b"),
            (9, 9, "9b"),
            (9, 8, "9a"),
            (1, 5, "1b"),
            (1, 5, "1a"),
        ] {
            queue.push(entry(uid, at, name));
        }
        assert_eq!(drain(&mut queue), ["1a", "7a", "9a", "1b", "7b", "9b", "7c"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn whose_turn_it_is_outlives_a_listing() {
        let mut queue = Queue::new();
        queue.push(entry(1, 1, "a"));
        assert_eq!(queue.next(|_| May::Yes).unwrap().name, "a");
        queue.clear();
        queue.push(entry(1, 2, "b"));
        queue.push(entry(2, 3, "c"));
        assert_eq!(drain(&mut queue), ["c", "b"]);
    }

    #[test]
    fn who_may_not_is_passed_over_and_stays() {
        let mut queue = Queue::new();
        queue.push(entry(1, 1, "a"));
        queue.push(entry(2, 2, "b"));
        let not_one = |entry: &Entry| {
            if entry.look.uid == 1 {
                May::NotNow
            } else {
                May::Yes
            }
        };
        assert_eq!(queue.next(not_one).unwrap().name, "b");
        assert_eq!(queue.next(not_one), None);
        assert_eq!(queue.uids().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn what_was_put_back_is_next() {
        let mut queue = Queue::new();
        for (uid, name) in [(0, "x"), (5, "a"), (6, "b")] {
            queue.push(entry(uid, 1, name));
        }
        let first = queue.next(|_| May::Yes).unwrap();
        queue.put_back(first);
        assert_eq!(queue.next(|_| May::Yes).unwrap().name, "x");
        let second = queue.next(|_| May::Yes).unwrap();
        queue.put_back(second);
        assert_eq!(drain(&mut queue), ["a", "b"]);
    }

    #[test]
    fn a20_a_flood_makes_the_queue_forget_the_floods_newest_only() {
        let mut queue = Queue::new();
        for at in 0..100_000i64 {
            queue.push(entry(1, 100_000 - at, &format!("f{at}")));
        }
        queue.push(entry(2, 500_000, "late"));
        assert_eq!(queue.len, QUEUED_PER_UID_MAX + 1);
        assert!(queue.forgot(|uid| uid == 1) && !queue.forgot(|uid| uid != 1));
        assert_eq!(queue.next(|_| May::Yes).unwrap().name, "f99999");
        assert_eq!(queue.next(|_| May::Yes).unwrap().name, "late");
    }

    #[test]
    fn a20_a_flood_from_many_uids_is_bounded_too() {
        let mut queue = Queue::new();
        for uid in 0..20_000u32 {
            for at in 0..3 {
                queue.push(entry(uid, at, "x"));
            }
        }
        assert!(queue.len <= QUEUED_MAX, "{}", queue.len);
        assert!(queue.forgot(|_| false), "there is not even one of each");
    }

    proptest! {
        #[test]
        fn nobody_is_served_twice_while_another_waits(files in proptest::collection::vec((0u32..6, 0i64..50), 1..200)) {
            let mut queue = Queue::new();
            for (at, (uid, arrived)) in files.iter().enumerate() {
                queue.push(entry(*uid, *arrived, &format!("{at}")));
            }
            prop_assert_eq!(queue.len, files.len());
            let mut served = Vec::new();
            loop {
                let waiting: Vec<u32> = queue.uids().collect();
                let Some(entry) = queue.next(|_| May::Yes) else { break };
                for other in waiting.iter().filter(|other| **other != entry.look.uid) {
                    let since = served.iter().rposition(|uid| uid == other).map_or(0, |at| at + 1);
                    let twice = served[since..].iter().filter(|uid| **uid == entry.look.uid).count();
                    prop_assert!(twice <= 1, "{} again before {other}", entry.look.uid);
                }
                served.push(entry.look.uid);
            }
            prop_assert_eq!(served.len(), files.len());
        }
    }
}
