//! Which connections are open on a listener, and which one goes when another must come in. In: user ids. Out: slots.
//!
//! Idle connections never keep a new one out: at the cap the idle one of whoever holds most is closed. So a listener at
//! its cap stays reachable for a health probe (F-206), and one user id cannot fill it.
//!
//! Not here: sockets.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::Notify;

/// The open connections of one listener.
#[derive(Debug)]
pub(super) struct Connections {
    max: usize,
    per_uid_max: usize,
    open: RefCell<HashMap<u64, Rc<Connection>>>,
    /// Grows at every change: numbers connections, and orders idle ones by how long they have been so, without a clock.
    ticks: Cell<u64>,
    changed: Notify,
}

/// One open connection.
#[derive(Debug)]
pub(super) struct Connection {
    uid: Option<u32>,
    /// Tick at which it became idle; `None` while a request is being answered.
    idle_since: Cell<Option<u64>>,
    close: Notify,
}

/// Whether a new connection may come in.
#[derive(Debug)]
pub(super) enum Entry {
    /// Yes; dropping the slot ends it.
    Slot(Slot),
    /// This user id holds as many as it may, all of them in use.
    UidFull,
    /// All connections are in use: wait for [`Connections::changed`].
    AllBusy,
}

/// A place taken by a connection.
#[derive(Debug)]
pub(super) struct Slot {
    table: Rc<Connections>,
    id: u64,
    connection: Rc<Connection>,
}

/// A request being answered; the connection counts as idle again when this is dropped.
#[derive(Debug)]
pub(super) struct Busy {
    table: Rc<Connections>,
    connection: Rc<Connection>,
}

impl Connections {
    pub(super) fn new(max: usize, per_uid_max: usize) -> Rc<Connections> {
        Rc::new(Connections {
            max: max.max(1),
            per_uid_max: per_uid_max.clamp(1, max.max(1)),
            open: RefCell::new(HashMap::new()),
            ticks: Cell::new(0),
            changed: Notify::new(),
        })
    }
    fn tick(&self) -> u64 {
        let now = self.ticks.get() + 1;
        self.ticks.set(now);
        now
    }
    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.open.borrow().len()
    }
    /// A connection went away or became idle.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
    /// Takes a slot for a peer, closing an idle connection if that makes room.
    pub(super) fn enter(self: &Rc<Connections>, uid: Option<u32>) -> Entry {
        let own = self.open.borrow().values().filter(|open| open.uid == uid).count();
        if own >= self.per_uid_max && !self.evict(|open| open.uid == uid) {
            return Entry::UidFull;
        }
        if self.count() >= self.max && !self.evict_from_largest() {
            return Entry::AllBusy;
        }
        let id = self.tick();
        let connection = Rc::new(Connection {
            uid,
            idle_since: Cell::new(Some(id)),
            close: Notify::new(),
        });
        self.open.borrow_mut().insert(id, connection.clone());
        Entry::Slot(Slot {
            table: self.clone(),
            id,
            connection,
        })
    }
    /// Closes the longest idle connection of whoever holds most; `false` if none is idle.
    pub(super) fn evict_from_largest(&self) -> bool {
        let mut held: HashMap<Option<u32>, usize> = HashMap::new();
        let mut idle: Vec<Option<u32>> = Vec::new();
        for open in self.open.borrow().values() {
            *held.entry(open.uid).or_default() += 1;
            if open.idle_since.get().is_some() {
                idle.push(open.uid);
            }
        }
        let largest = idle
            .into_iter()
            .max_by_key(|uid| held.get(uid).copied().unwrap_or(0));
        largest.is_some_and(|uid| self.evict(|open| open.uid == uid))
    }
    fn evict(&self, among: impl Fn(&Connection) -> bool) -> bool {
        let mut open = self.open.borrow_mut();
        let oldest = open
            .iter()
            .filter(|(_, open)| among(open))
            .filter_map(|(id, open)| open.idle_since.get().map(|since| (since, *id)))
            .min();
        let Some(victim) = oldest.and_then(|(_, id)| open.remove(&id)) else {
            return false;
        };
        victim.close.notify_one();
        true
    }
}

impl Slot {
    /// Resolves when the connection must go to make room.
    pub(super) async fn evicted(&self) {
        self.connection.close.notified().await;
    }
    /// Marks the connection as in use.
    pub(super) fn busy(&self) -> Busy {
        self.connection.idle_since.set(None);
        Busy {
            table: self.table.clone(),
            connection: self.connection.clone(),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.table.open.borrow_mut().remove(&self.id);
        self.table.changed.notify_one();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.connection.idle_since.set(Some(self.table.tick()));
        self.table.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(table: &Rc<Connections>, uid: u32) -> Slot {
        let entry = table.enter(Some(uid));
        let Entry::Slot(slot) = entry else {
            panic!("{entry:?}");
        };
        slot
    }
    fn is_open(table: &Connections, slot: &Slot) -> bool {
        table.open.borrow().contains_key(&slot.id)
    }

    #[test]
    fn the_longest_idle_connection_of_the_largest_holder_makes_room() {
        let table = Connections::new(3, 3);
        let lone = slot(&table, 1);
        let first = slot(&table, 2);
        let second = slot(&table, 2);
        drop(first.busy()); // has just answered: idle for less time than `second`
        let newcomer = slot(&table, 3);
        assert!(is_open(&table, &lone) && is_open(&table, &first) && is_open(&table, &newcomer));
        assert!(!is_open(&table, &second));
        assert_eq!(table.count(), 3);
        drop(second);
        assert_eq!(table.count(), 3);
    }

    #[test]
    fn connections_in_use_are_never_closed_for_another() {
        let table = Connections::new(2, 2);
        let (a, b) = (slot(&table, 1), slot(&table, 2));
        let (in_use, _also) = (a.busy(), b.busy());
        assert!(matches!(table.enter(Some(3)), Entry::AllBusy));
        drop(in_use);
        let _newcomer = slot(&table, 3);
        assert!(!is_open(&table, &a) && is_open(&table, &b));
    }

    #[test]
    fn one_user_id_cannot_take_the_others_places() {
        let table = Connections::new(8, 2);
        let (a, b) = (slot(&table, 1), slot(&table, 1));
        let other = slot(&table, 2);
        let c = slot(&table, 1);
        assert!(!is_open(&table, &a) && is_open(&table, &b) && is_open(&table, &other));
        let _in_use = (b.busy(), c.busy());
        assert!(matches!(table.enter(Some(1)), Entry::UidFull));
        assert!(matches!(table.enter(Some(2)), Entry::Slot(_)));
    }
}
