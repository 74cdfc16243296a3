//! The invariants of the wheel, one sentence each, for the tests to check after every step.

#![forbid(unsafe_code)]

use std::collections::HashSet;

use crate::tick::Tick;
use crate::wheel::bucket::{BucketId, List};
use crate::wheel::entries::EntryId;
use crate::wheel::geometry::RING;
use crate::wheel::hierarchy::Hierarchy;
use crate::wheel::{Wheel, due_item, is_live};

impl<P> Hierarchy<P> {
    /// Panics unless every invariant holds.
    pub(crate) fn assert_valid(&self) {
        let geometry = self.agenda.geometry();
        let levels = self.agenda.levels();
        assert!(
            levels.len() <= geometry.levels() as usize,
            "there are no more levels than it takes to reach every tick"
        );
        assert_eq!(
            self.due().count(),
            self.due_len(),
            "the wheel knows how many entries are due"
        );
        let mut linked = self.due_len();
        for id in self.due() {
            assert!(
                self.deadline(id) <= self.elapsed,
                "what is due has reached its deadline"
            );
        }
        for (level, ring) in (0_u32..).zip(levels) {
            for slot in 0..RING {
                let bucket = ring.bucket(slot);
                assert_eq!(
                    ring.occupied >> slot & 1 == 1,
                    bucket.list.len > 0,
                    "a slot is marked if and only if its bucket is not empty"
                );
                linked += self.assert_list(bucket.list, BucketId::new(level, slot));
                if bucket.list.len > 0 {
                    self.assert_bucket(level, slot);
                }
            }
        }
        assert_eq!(
            linked,
            self.len(),
            "every entry is due or in the list of exactly one bucket"
        );
        self.assert_next_deadline();
    }

    fn assert_bucket(&self, level: u32, slot: usize) {
        let geometry = self.agenda.geometry();
        let bucket = self.agenda.levels()[level as usize].bucket(slot);
        let value = geometry.value(level, self.deadline(bucket.list.head));
        assert!(
            bucket.bound > self.elapsed,
            "a bucket's bound lies ahead after every turn"
        );
        assert!(
            Some(bucket.bound) >= geometry.start(level, value),
            "a bucket's bound is not before its start"
        );
        for id in List::walk(&self.entries, bucket.list.head) {
            let deadline = self.deadline(id);
            assert!(deadline > self.elapsed, "what is in a bucket is not due");
            assert!(
                bucket.bound <= deadline,
                "a bucket's bound is not after any of its deadlines"
            );
            assert_eq!(
                geometry.value(level, deadline),
                value,
                "two rounds never share a slot"
            );
            assert_eq!(
                geometry.slot(level, deadline),
                slot,
                "an entry is in its slot"
            );
            assert!(
                geometry.block(level, deadline) <= geometry.block(level, self.elapsed) + 1,
                "an entry is in the block of the current time or in the next"
            );
        }
    }

    /// Checks the links of a list and gives its length.
    fn assert_list(&self, list: List, id: BucketId) -> usize {
        let mut prev = EntryId::NONE;
        let mut len = 0;
        for entry in List::walk(&self.entries, list.head) {
            assert_eq!(
                self.entries[entry].prev, prev,
                "an entry points back to the one that points to it"
            );
            assert_eq!(
                self.entries[entry].bucket, id,
                "an entry knows the list it is in"
            );
            prev = entry;
            len += 1;
            assert!(len <= self.len(), "a list does not run in circles");
        }
        assert_eq!(list.tail, prev, "the tail is the last entry");
        assert_eq!(list.len as usize, len, "a list knows its length");
        len
    }

    fn assert_next_deadline(&self) {
        let earliest = self.iter().map(|(_, deadline, _)| deadline).min();
        let next = self.next_deadline();
        assert_eq!(
            next.is_some(),
            earliest.is_some(),
            "there is a next turn if and only if there is an entry"
        );
        if self.due_len() > 0 {
            assert_eq!(
                next,
                Some(self.elapsed),
                "the next turn is now if something is due"
            );
        } else if let (Some(next), Some(earliest)) = (next, earliest) {
            assert!(next <= earliest, "the next turn is not after any deadline");
            assert!(next > self.elapsed, "the next turn lies ahead");
        }
    }
}

impl<T> Wheel<T> {
    /// Panics unless every invariant holds.
    pub(crate) fn assert_valid(&self) {
        self.hierarchy.assert_valid();
        let items: Vec<_> = self.order.run.iter().copied().collect();
        assert!(items.is_sorted(), "the run is in order");
        let late = self.order.late.iter().map(|item| item.0);
        let items: HashSet<_> = items
            .into_iter()
            .chain(late)
            .filter(|due| is_live(&self.hierarchy, due))
            .map(|due| (due.deadline, due.sequence, due.id))
            .collect();
        let due: HashSet<_> = self
            .hierarchy
            .due()
            .map(|id| due_item(&self.hierarchy, id))
            .map(|due| (due.deadline, due.sequence, due.id))
            .collect();
        assert_eq!(items, due, "the order has an item for everything due");
        assert!(
            !self.order.is_stale(self.hierarchy.due_len()),
            "stale items do not pile up"
        );
        assert!(
            self.order
                .first()
                .is_none_or(|due| is_live(&self.hierarchy, &due)),
            "the first item is not stale"
        );
        for (&sequence, &id) in &self.moved {
            let item = self.hierarchy.get(id);
            assert_eq!(
                item.map(|item| item.sequence),
                Some(sequence),
                "a moved entry is where the map says"
            );
        }
        assert!(
            self.hierarchy
                .iter()
                .all(|(_, _, item)| item.sequence < self.sequence),
            "no sequence has been given twice"
        );
    }
}

/// Checks of the checker: an invariant that cannot fail holds nothing.
mod tests {
    use super::*;
    use crate::wheel::Geometry;

    fn broken(breakage: impl FnOnce(&mut Hierarchy<u32>)) {
        let mut wheel = Hierarchy::new(Geometry::new(0, 2).unwrap(), Tick::ZERO);
        for n in 0..20 {
            wheel.insert(Tick::new(u64::from(n)), n);
        }
        wheel.assert_valid();
        breakage(&mut wheel);
        wheel.assert_valid();
    }

    #[test]
    #[should_panic(expected = "a bucket's bound is not after any of its deadlines")]
    fn a_bound_that_is_too_late_is_detected() {
        broken(|wheel| wheel.agenda.bucket_mut(BucketId::new(0, 5)).bound = Tick::new(6));
    }

    #[test]
    #[should_panic(expected = "a slot is marked if and only if its bucket is not empty")]
    fn a_forgotten_mark_is_detected() {
        broken(|wheel| wheel.agenda.vacate(BucketId::new(0, 5)));
    }

    #[test]
    #[should_panic(expected = "an entry points back to the one that points to it")]
    fn a_broken_link_is_detected() {
        broken(|wheel| {
            let tail = wheel.agenda.bucket(BucketId::new(1, 2)).list.tail;
            wheel.entries[tail].prev = EntryId::NONE;
        });
    }

    #[test]
    #[should_panic(expected = "the next turn lies ahead")]
    fn time_that_runs_ahead_of_the_buckets_is_detected() {
        broken(|wheel| {
            let due = wheel.due().next().expect("the one of tick zero");
            wheel.take_due(due).expect("it is due");
            wheel.agenda.bucket_mut(BucketId::new(0, 1)).bound = Tick::ZERO;
            wheel.assert_next_deadline();
        });
    }
}
