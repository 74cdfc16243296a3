//! Going through all entries of a [`Wheel`] to change or remove them.

#![forbid(unsafe_code)]

use crate::tick::Tick;
use crate::wheel::entries::EntryId;
use crate::wheel::{Key, Wheel};

impl<T> Wheel<T> {
    /// Removes every entry that `keep` refuses; it is asked once for each, in no particular order.
    ///
    /// Entries that are due and not popped yet are asked for as well. Each entry has left the
    /// wheel before its value is dropped, so if `keep` or a drop panics the wheel is in order, and
    /// the entries that were not asked for yet are still in it.
    ///
    /// # Cost
    ///
    /// Linear in the capacity, no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let odd = wheel.insert(Tick::new(10), 1);
    /// let even = wheel.insert(Tick::new(20), 2);
    /// wheel.retain(|_key, _deadline, number| *number % 2 == 0);
    /// assert!(!wheel.contains(odd));
    /// assert!(wheel.contains(even));
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(Key, Tick, &mut T) -> bool) {
        let mut next = self.hierarchy.first_from(EntryId::from_index(0));
        while let Some(id) = next {
            let deadline = self.hierarchy.deadline(id);
            let item = self.hierarchy.payload_mut(id);
            let sequence = item.sequence;
            let key = Key { id, sequence };
            if !keep(key, deadline, &mut item.value) {
                drop(self.remove(key));
            }
            next = self
                .hierarchy
                .first_from(EntryId::from_index(id.index() + 1));
        }
    }

    /// Sets the time of an empty wheel, in either direction.
    pub(crate) fn restart(&mut self, start: Tick) {
        debug_assert!(
            self.is_empty(),
            "entries lie where an earlier time put them"
        );
        self.hierarchy.restart(start);
    }

    /// An empty wheel of the same shape and time, whose keys go on where those of this one end.
    pub(crate) fn successor(&self) -> Self {
        Self::with_first_sequence(self.hierarchy.geometry(), self.elapsed(), self.sequence)
    }
}
