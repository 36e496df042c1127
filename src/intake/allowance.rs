//! What each requester may still bring in this scan. In: rooms, and entries that want in. Out: yes or not now.
//!
//! Not here: where the numbers come from (ledger/), what happens to a file that can never fit (`reading`).

use super::queue::{Entry, May};
use super::rules::Verdict;
use std::collections::{BTreeMap, BTreeSet};

/// What one requester may still bring. Files that do not fit stay where they are, unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Documents that may be admitted now.
    pub jobs_left: u64,
    /// The whole limit: a file with more documents can never be admitted and is refused.
    pub jobs_max: u64,
    /// Bytes that may be admitted now.
    pub bytes_left: u64,
    /// The whole limit: a larger file is refused.
    pub bytes_max: u64,
}

impl Room {
    /// No limit.
    pub const UNLIMITED: Room = Room {
        jobs_left: u64::MAX,
        jobs_max: u64::MAX,
        bytes_left: u64::MAX,
        bytes_max: u64::MAX,
    };
}

/// The rooms of one scan, with what it has already taken of them.
pub(super) struct Allowance<'a> {
    room: &'a dyn Fn(u32) -> Room,
    asked: BTreeMap<u32, Room>,
    blocked: BTreeSet<u32>,
    /// Of these a file that was chosen turned out not to fit when it was read.
    waiting: BTreeSet<u32>,
}

impl<'a> Allowance<'a> {
    pub(super) fn new(room: &'a dyn Fn(u32) -> Room) -> Allowance<'a> {
        Allowance {
            room,
            asked: BTreeMap::new(),
            blocked: BTreeSet::new(),
            waiting: BTreeSet::new(),
        }
    }

    /// The room of a requester as far as it is left.
    pub(super) fn room(&mut self, uid: u32) -> Room {
        *self.asked.entry(uid).or_insert_with(|| (self.room)(uid))
    }

    pub(super) fn is_blocked(&self, uid: u32) -> bool {
        self.blocked.contains(&uid)
    }

    /// Nothing more of this requester is chosen in this scan.
    fn block(&mut self, uid: u32) {
        self.blocked.insert(uid);
    }

    /// Nothing more of this requester is read in this scan, even if it was chosen: its files keep their order.
    pub(super) fn wait(&mut self, uid: u32) {
        self.block(uid);
        self.waiting.insert(uid);
    }

    pub(super) fn waits(&self, uid: u32) -> bool {
        self.waiting.contains(&uid)
    }

    /// Whether the entry may be taken. What is refused anyway takes no room; what can never fit is taken, to be refused.
    pub(super) fn may(&mut self, entry: &Entry) -> May {
        let uid = entry.look.uid;
        if self.is_blocked(uid) {
            return May::NotNow;
        }
        if !takes_room(entry) {
            return May::Yes;
        }
        let room = self.room(uid);
        if entry.bytes > room.bytes_max || (room.jobs_left > 0 && entry.bytes <= room.bytes_left) {
            return May::Yes;
        }
        self.block(uid);
        May::NotNow
    }

    /// One document of the entry's bytes.
    pub(super) fn reserve(&mut self, entry: &Entry) {
        if takes_room(entry) {
            self.use_up(entry.look.uid, 1, entry.bytes);
        }
    }

    /// The further documents of a file that turned out to have `documents`; false if there is no room for them.
    pub(super) fn reserve_rest(&mut self, uid: u32, documents: u64) -> bool {
        let more = documents.saturating_sub(1);
        let fits = more <= self.room(uid).jobs_left;
        if fits {
            self.use_up(uid, more, 0);
        }
        fits
    }

    fn use_up(&mut self, uid: u32, jobs: u64, bytes: u64) {
        let room = self.room(uid);
        let left = Room {
            jobs_left: room.jobs_left.saturating_sub(jobs),
            bytes_left: room.bytes_left.saturating_sub(bytes),
            ..room
        };
        self.asked.insert(uid, left);
    }
}

fn takes_room(entry: &Entry) -> bool {
    entry.look.verdict == Verdict::Read
}
