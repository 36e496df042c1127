//! What is spent, in memory. In: entries and fragments. Out: whether an approval id or a nonce was seen.
//!
//! About 50 bytes an entry: ids as their 16 bytes, nonces as half of their SHA-256 (of the hash, so that nobody can choose a
//! nonce that collides with another one).
//! Not here: the file.

use super::SpentEntry;
use crate::clock::WallMs;
use crate::job::{ApprovalId, Nonce, Uuid4, sha256};
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct Index {
    approvals: BTreeSet<[u8; 16]>,
    nonces: BTreeSet<[u8; 16]>,
    highest: Option<WallMs>,
    entries: u64,
}

impl Index {
    pub(super) fn has_approval(&self, id: &ApprovalId) -> bool {
        self.approvals.contains(id.0.as_bytes())
    }
    pub(super) fn has_nonce(&self, nonce: &Nonce) -> bool {
        self.nonces.contains(&short(nonce))
    }
    pub(super) fn highest_wall_ms(&self) -> Option<WallMs> {
        self.highest
    }
    /// How many were added.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn add(&mut self, entry: &SpentEntry) {
        self.approvals.insert(*entry.approval_id.0.as_bytes());
        self.nonces.insert(short(&entry.nonce));
        self.highest = self.highest.max(Some(entry.wall_ms));
        self.entries += 1;
    }

    pub(super) fn join(&mut self, other: Index) {
        self.approvals.extend(other.approvals);
        self.nonces.extend(other.nonces);
        self.highest = self.highest.max(other.highest);
        self.entries += other.entries;
    }

    /// Everything in a fragment that reads as an id or a nonce. A job id or a hash taken for one harms nobody.
    pub(super) fn add_readable(&mut self, fragment: &[u8]) {
        let words = fragment.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        for word in words.filter_map(|word| std::str::from_utf8(word).ok()) {
            if let Some(id) = Uuid4::parse(word) {
                self.approvals.insert(*id.as_bytes());
            } else if let Some(nonce) = Nonce::parse(word) {
                self.nonces.insert(short(&nonce));
            }
        }
    }
}

fn short(nonce: &Nonce) -> [u8; 16] {
    let mut half = [0u8; 16];
    half.copy_from_slice(&sha256(&nonce.0).0[..16]);
    half
}
