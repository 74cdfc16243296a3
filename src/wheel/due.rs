//! The order in which due entries are handed out: by deadline, then by sequence.
//!
//! The hierarchy tells what is due in the order of buckets. What one turn fires lies after what
//! any turn before it fired, so each turn's entries are sorted and appended to one *run*. Entries
//! that were late on arrival may belong anywhere and go to a heap; the earlier of both heads is
//! next. Items whose entry has been removed or reset since are *stale*: they are skipped at the
//! heads, and once they outnumber the others all are cleaned out, so they cost no more than a
//! constant share of room and time.

#![forbid(unsafe_code)]

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::tick::Tick;
use crate::wheel::entries::EntryId;

/// The place of one due entry in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) deadline: Tick,
    pub(super) sequence: u64,
    pub(super) id: EntryId,
}

/// All due entries, and some stale items.
#[derive(Debug)]
pub(super) struct DueOrder {
    pub(super) run: VecDeque<Due>,
    pub(super) late: BinaryHeap<Reverse<Due>>,
    /// What the present turn has fired, to be sorted; empty between turns.
    batch: Vec<Due>,
}

/// Fewer stale items than this are not worth being cleaned up.
const FEW: usize = 32;

impl DueOrder {
    pub(super) const fn new() -> Self {
        Self {
            run: VecDeque::new(),
            late: BinaryHeap::new(),
            batch: Vec::new(),
        }
    }

    /// Takes in an entry that the present turn has fired.
    pub(super) fn fired(&mut self, due: Due) {
        self.batch.push(due);
    }

    /// Adds what the turn has fired: all of it is later than what earlier turns have fired.
    pub(super) fn turned(&mut self) {
        self.batch.sort_unstable();
        self.run.extend(self.batch.drain(..));
    }

    /// Adds an entry that was late when it was inserted or reset.
    pub(super) fn late(&mut self, due: Due) {
        self.late.push(Reverse(due));
    }

    /// The first item. It is not stale, if [`settle`](Self::settle) was called since something
    /// became so.
    pub(super) fn first(&self) -> Option<Due> {
        match (self.run.front(), self.late.peek()) {
            (Some(&run), Some(&Reverse(late))) => Some(run.min(late)),
            (Some(&due), None) | (None, Some(&Reverse(due))) => Some(due),
            (None, None) => None,
        }
    }

    /// Takes stale items from both heads.
    pub(super) fn settle(&mut self, is_live: impl Fn(&Due) -> bool) {
        while self.run.front().is_some_and(|due| !is_live(due)) {
            self.run.pop_front();
        }
        while self.late.peek().is_some_and(|due| !is_live(&due.0)) {
            self.late.pop();
        }
    }

    /// Whether stale items outnumber the `live` ones so far that they should be cleaned out.
    pub(super) fn is_stale(&self, live: usize) -> bool {
        self.run.len() + self.late.len() > 2 * live + FEW
    }

    /// Drops what is stale.
    pub(super) fn clean(&mut self, is_live: impl Fn(&Due) -> bool) {
        let late = self.late.drain().map(|Reverse(due)| due);
        let mut all: Vec<_> = self.run.drain(..).chain(late).filter(is_live).collect();
        // An entry that was moved away and back has two items alike, neither of them stale.
        all.sort_unstable();
        all.dedup();
        self.run.extend(all);
    }

    /// Makes the order anew of the `live` items.
    pub(super) fn renew(&mut self, live: impl Iterator<Item = Due>) {
        self.clear();
        self.run.extend(live);
        self.run.make_contiguous().sort_unstable();
    }

    pub(super) fn clear(&mut self) {
        self.run.clear();
        self.late.clear();
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.run.shrink_to_fit();
        self.late.shrink_to_fit();
        self.batch.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(run: u64, late: u64) -> DueOrder {
        let due = |sequence| Due {
            deadline: Tick::new(sequence),
            sequence,
            id: EntryId::NONE,
        };
        let mut order = DueOrder::new();
        (0..run).map(due).for_each(|due| order.fired(due));
        order.turned();
        (0..late).map(due).for_each(|due| order.late(due));
        order
    }

    #[test]
    fn stale_items_are_cleaned_out_once_they_outnumber_the_live_ones_by_a_few() {
        // Twice the live ones, and 32 more, are not worth it.
        assert!(!order(20, 0).is_stale(10));
        assert!(!order(20, 32).is_stale(10));
        assert!(order(20, 33).is_stale(10));
        assert!(order(53, 0).is_stale(10));
        assert!(!order(32, 0).is_stale(0));
        assert!(order(16, 17).is_stale(0));
    }

    #[test]
    fn an_empty_order_gives_its_room_back() {
        let mut order = order(100, 100);
        order.clear();
        order.shrink_to_fit();
        let room = (
            order.run.capacity(),
            order.late.capacity(),
            order.batch.capacity(),
        );
        assert_eq!(room, (0, 0, 0));
    }
}
