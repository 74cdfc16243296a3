//! One ring of the hierarchy: two blocks of slots and the bitmap of those that are occupied.
//!
//! The block of the current time and the block after it are both in the ring, so an entry may sit
//! one block ahead. That is what lets an upper bucket be moved down before its time comes.

#![forbid(unsafe_code)]

use crate::wheel::bucket::Bucket;
use crate::wheel::geometry::RING;

/// A ring of buckets.
#[derive(Debug)]
pub(super) struct Level {
    /// Bit `s` is set if and only if the bucket at slot `s` is not empty.
    pub(super) occupied: u128,
    buckets: Box<[Bucket; RING]>,
}

impl Level {
    pub(super) fn new() -> Self {
        Self {
            occupied: 0,
            buckets: Box::new([Bucket::EMPTY; RING]),
        }
    }

    #[inline]
    pub(super) fn bucket(&self, slot: usize) -> &Bucket {
        &self.buckets[slot & (RING - 1)]
    }

    #[inline]
    pub(super) fn bucket_mut(&mut self, slot: usize) -> &mut Bucket {
        &mut self.buckets[slot & (RING - 1)]
    }

    #[inline]
    pub(super) fn mark(&mut self, slot: usize) {
        self.occupied |= 1 << slot;
    }

    #[inline]
    pub(super) fn unmark(&mut self, slot: usize) {
        self.occupied &= !(1 << slot);
    }

    /// Empties the bucket at `slot` and gives what was in it.
    #[inline]
    pub(super) fn detach(&mut self, slot: usize) -> Bucket {
        self.unmark(slot);
        core::mem::replace(self.bucket_mut(slot), Bucket::EMPTY)
    }

    /// The first occupied slot in ring order from `current`.
    #[inline]
    pub(super) fn first_from(&self, current: usize) -> Option<usize> {
        let ahead = self.occupied >> current << current;
        // Slots before the current one belong to the block after: time comes to them last.
        let candidates = if ahead == 0 { self.occupied } else { ahead };
        (candidates != 0).then(|| candidates.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_occupied_slot_is_the_one_a_walk_around_the_ring_finds(
            occupied in any::<u128>(),
            mask in any::<u128>(),
            current in 0_usize..RING,
        ) {
            for occupied in [occupied, occupied & mask, 0, 1 << (mask & 127)] {
                let mut level = Level::new();
                level.occupied = occupied;
                let walk = (current..RING).chain(0..current);
                let found = walk.into_iter().find(|&slot| occupied >> slot & 1 == 1);
                prop_assert_eq!(level.first_from(current), found);
            }
        }
    }
}
