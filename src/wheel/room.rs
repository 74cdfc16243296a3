//! The room a wheel takes, and how to give it back.
//!
//! A compaction moves entries, but keys say where entries were. What has moved is noted by its
//! sequence in a map, in which a key is looked up only if its entry is not where it says: a wheel
//! that is never compacted pays one comparison with zero.

#![forbid(unsafe_code)]

use crate::wheel::Wheel;

impl<T> Wheel<T> {
    /// How many entries fit without allocation.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.hierarchy.capacity()
    }

    /// Makes room for `additional` more entries.
    ///
    /// # Panics
    ///
    /// If there would be more than 2^32 − 2^12 entries.
    pub fn reserve(&mut self, additional: usize) {
        self.hierarchy.reserve(additional);
    }

    /// Gives back what memory can be given back without moving entries.
    ///
    /// # Cost
    ///
    /// Linear in the capacity at worst.
    pub fn shrink_to_fit(&mut self) {
        self.hierarchy.shrink_to_fit();
        self.order.shrink_to_fit();
        self.moved.shrink_to_fit();
    }

    /// Moves the entries together and gives the rest of the memory back. All keys stay valid.
    ///
    /// # Cost
    ///
    /// Linear in the capacity. Afterwards the wheel looks keys up in a hash map, if they are of
    /// entries that had to move.
    pub fn compact(&mut self) {
        let mut moved = core::mem::take(&mut self.moved);
        self.hierarchy.compact(|from, to, item| {
            // An entry that moves back to where its key says may stay in the map: it is right.
            if from != to || moved.contains_key(&item.sequence) {
                moved.insert(item.sequence, to);
            }
        });
        moved.shrink_to_fit();
        self.moved = moved;
        self.renew_order();
        self.order.shrink_to_fit();
    }

    /// Drops all entries. Time and capacity stay, and the keys of the dropped entries are stale.
    pub fn clear(&mut self) {
        self.order.clear();
        self.moved.clear();
        self.hierarchy.clear();
    }
}
