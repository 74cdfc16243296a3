//! A hierarchical timing wheel for an event loop of your own.
//!
//! A [`Wheel`] knows ticks, not clocks, and values, not wakers: you tell it what time it is, and
//! it tells you what is due. Inserting, removing and resetting an entry cost the same few
//! nanoseconds whether the wheel holds ten entries or ten million. It runs no code but the drops
//! of the values it is told to drop, and reads no clock.
//!
//! # Examples
//!
//! A poll loop with one timeout per connection. The loop sleeps until
//! [`next_deadline`](Wheel::next_deadline), turns the wheel with [`advance`](Wheel::advance), and
//! takes what is due with [`pop`](Wheel::pop).
//!
//! ```
//! use std::time::Duration;
//!
//! use cogwheel::{Tick, Wheel};
//!
//! // One tick per nanosecond, as the standard geometry expects.
//! let at = |seconds| Tick::ZERO.after(Duration::from_secs(seconds));
//! let mut wheel = Wheel::new();
//! let reader = wheel.insert(at(30), "reader");
//! let writer = wheel.insert(at(30), "writer");
//! wheel.insert(at(5), "handshake");
//!
//! // Traffic: the reader's time starts anew, the writer is done.
//! assert!(wheel.reset(reader, at(45)));
//! assert_eq!(wheel.remove(writer), Some("writer"));
//!
//! let mut closed = Vec::new();
//! while let Some(next) = wheel.next_deadline() {
//!     // Here a real loop waits for input until `next`, and then reads its clock.
//!     let now = next;
//!     wheel.advance(now);
//!     while let Some(expired) = wheel.pop() {
//!         assert!(expired.deadline <= now);
//!         closed.push((expired.deadline, expired.value));
//!     }
//! }
//! assert_eq!(closed, [(at(5), "handshake"), (at(45), "reader")]);
//! ```
//!
//! # How it works
//!
//! Time is cut into levels of slots as a number is cut into digits, and each slot has a bucket: a
//! doubly linked list of entries. An entry lies on the lowest level that reaches its deadline. A
//! turn looks only at buckets in which something may be due; what is due leaves from whatever
//! level it is on, the rest of that bucket moves down. Deadlines are kept exactly and never
//! rounded, so nothing fires early, and nothing fires later than the first turn at or after its
//! deadline. There is no deadline that is too far ahead.
//!
//! # Source
//!
//! George Varghese and Tony Lauck, *Hashed and Hierarchical Timing Wheels* (1987), scheme 7. The
//! levels made on demand and the queue of non-empty buckets are those of Kafka's timer.

#![forbid(unsafe_code)]

mod advance;
mod agenda;
mod bucket;
mod due;
mod entries;
mod geometry;
mod hierarchy;
mod key;
mod level;
mod occupancy;
mod room;
mod sweep;
mod turn;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod check;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use core::fmt;
use std::collections::HashMap;

use crate::tick::Tick;
use crate::wheel::due::{Due, DueOrder};
pub(crate) use crate::wheel::entries::EntryId;
pub use crate::wheel::geometry::Geometry;
pub(crate) use crate::wheel::hierarchy::Hierarchy;
pub use crate::wheel::key::{Expired, Key};
pub(crate) use crate::wheel::occupancy::Occupancy;
pub use crate::wheel::turn::Turn;

/// A hierarchical timing wheel that holds values until their deadlines.
///
/// See the [module documentation](self) for an example and for how it works.
///
/// # Units and rounding
///
/// Deadlines are [`Tick`]s of whatever unit you turn the wheel in. They are exact: an entry is due
/// in the first [`advance`](Self::advance) to its deadline or beyond, and never before. The
/// standard [`Geometry`] is for ticks of a nanosecond; coarser ticks need another one to be as
/// fast.
///
/// # Cost
///
/// `insert`, `remove` and `reset` take constant time and touch three or four cache lines. Memory
/// is bounded by the largest number of entries there ever was at a time, plus 3 KiB per level
/// used; [`compact`](Self::compact) gives it back.
pub struct Wheel<T> {
    hierarchy: Hierarchy<Item<T>>,
    order: DueOrder,
    /// The sequence of the next entry.
    sequence: u64,
    /// Where entries are that a compaction has moved away from where their keys say.
    moved: HashMap<u64, EntryId>,
}

/// What the hierarchy carries for a wheel.
struct Item<T> {
    sequence: u64,
    value: T,
}

impl<T> Wheel<T> {
    /// An empty wheel of the [standard geometry](Geometry::STANDARD) at [`Tick::ZERO`].
    ///
    /// # Cost
    ///
    /// Allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Tick::ZERO)
    }

    /// An empty wheel of the [standard geometry](Geometry::STANDARD) whose time is `start`.
    #[must_use]
    pub fn starting_at(start: Tick) -> Self {
        Self::with_geometry(Geometry::STANDARD, start)
    }

    /// An empty wheel of the given shape whose time is `start`.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::wheel::{Geometry, Wheel};
    /// use cogwheel::Tick;
    ///
    /// // A simulation in frames: single frames are told apart.
    /// let frames = Geometry::new(0, 6).expect("a valid shape");
    /// let mut wheel = Wheel::with_geometry(frames, Tick::ZERO);
    /// wheel.insert(Tick::new(3), "jump");
    /// assert_eq!(wheel.advance(Tick::new(2)).fired, 0);
    /// assert_eq!(wheel.advance(Tick::new(3)).fired, 1);
    /// ```
    #[must_use]
    pub fn with_geometry(geometry: Geometry, start: Tick) -> Self {
        Self::with_first_sequence(geometry, start, 0)
    }

    /// As [`with_geometry`](Self::with_geometry), with keys that start from `first`. Wheels whose
    /// ranges of sequences are disjoint know none of each other's keys.
    pub(crate) fn with_first_sequence(geometry: Geometry, start: Tick, first: u64) -> Self {
        Self {
            hierarchy: Hierarchy::new(geometry, start),
            order: DueOrder::new(),
            sequence: first,
            moved: HashMap::new(),
        }
    }

    /// Adds `value`, due at `deadline`. If that has been reached already, it is due now:
    /// [`pop`](Self::pop) gives it without another [`advance`](Self::advance).
    ///
    /// # Panics
    ///
    /// If the wheel holds 2^32 − 2^12 entries.
    ///
    /// # Cost
    ///
    /// Constant, and no more than one page of entries is allocated or copied; logarithmic in the
    /// number of late entries for one that is late.
    pub fn insert(&mut self, deadline: Tick, value: T) -> Key {
        let sequence = self.sequence;
        let id = self.hierarchy.insert(deadline, Item { sequence, value });
        self.sequence += 1;
        if deadline <= self.elapsed() {
            self.order.late(Due {
                deadline,
                sequence,
                id,
            });
        }
        Key { id, sequence }
    }

    /// Takes the entry out and gives its value, or `None` if it has left the wheel before. An entry
    /// that is due can be removed until it is popped.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let id = self.resolve(key)?;
        let was_due = self.hierarchy.is_due(id);
        let item = self.take(id);
        if was_due {
            self.tidy();
        }
        Some(item.value)
    }

    /// Gives the entry another deadline, earlier or later, and says whether it was in the wheel.
    ///
    /// The key stays, and so does the place among entries of equal deadline, which is by insertion.
    /// An entry that was due and is not popped yet waits for the new deadline.
    ///
    /// # Cost
    ///
    /// As [`insert`](Self::insert); less if the entry stays in its bucket.
    pub fn reset(&mut self, key: Key, deadline: Tick) -> bool {
        let Some(id) = self.resolve(key) else {
            return false;
        };
        let was_due = self.hierarchy.is_due(id);
        self.hierarchy.reset(id, deadline);
        if deadline <= self.elapsed() {
            let sequence = key.sequence;
            self.order.late(Due {
                deadline,
                sequence,
                id,
            });
        }
        if was_due {
            self.tidy();
        }
        true
    }

    /// The value of an entry, or `None` if it has left the wheel.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&T> {
        let id = self.resolve(key)?;
        Some(&self.hierarchy.payload(id).value)
    }

    /// The value of an entry, or `None` if it has left the wheel.
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let id = self.resolve(key)?;
        Some(&mut self.hierarchy.payload_mut(id).value)
    }

    /// The exact deadline of an entry, or `None` if it has left the wheel.
    #[must_use]
    pub fn deadline(&self, key: Key) -> Option<Tick> {
        Some(self.hierarchy.deadline(self.resolve(key)?))
    }

    /// Whether the entry is in the wheel, due or not.
    #[must_use]
    pub fn contains(&self, key: Key) -> bool {
        self.resolve(key).is_some()
    }

    /// Moves the wheel's time to `now`: every entry whose deadline is not after it is due, and
    /// waits for [`pop`](Self::pop). A `now` before [`elapsed`](Self::elapsed) changes nothing, and
    /// [`Tick::MAX`] makes everything due.
    ///
    /// # Cost
    ///
    /// Linear in the number of entries that become due, which are sorted, and in the length of the
    /// buckets they are in; time is never walked through tick by tick. Entries of upper levels are
    /// moved down a few at a time by the turns before theirs, so a wheel that is turned regularly
    /// has no turn much longer than the others.
    pub fn advance(&mut self, now: Tick) -> Turn {
        let order = &mut self.order;
        let turn = self.hierarchy.advance(
            now,
            |_| true,
            |id, deadline, item| {
                let sequence = item.sequence;
                order.fired(Due {
                    deadline,
                    sequence,
                    id,
                });
            },
        );
        order.turned();
        turn
    }

    /// Takes the first entry that is due, or `None` if none is. They come in the order of their
    /// deadlines, those of equal deadlines in the order of their insertion.
    ///
    /// # Cost
    ///
    /// Constant; logarithmic for entries that were late when they were inserted or reset.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// wheel.insert(Tick::new(20), "second");
    /// wheel.insert(Tick::new(20), "third");
    /// wheel.insert(Tick::new(10), "first");
    /// wheel.advance(Tick::new(25));
    /// let order: Vec<_> = std::iter::from_fn(|| wheel.pop()).map(|e| e.value).collect();
    /// assert_eq!(order, ["first", "second", "third"]);
    /// ```
    pub fn pop(&mut self) -> Option<Expired<T>> {
        let Due { deadline, id, .. } = self.order.first()?;
        let Item { sequence, value } = self.take(id);
        self.tidy();
        Some(Expired {
            key: Key { id, sequence },
            deadline,
            value,
        })
    }

    /// The key of the entry that [`pop`](Self::pop) will give next: now if something is due, after
    /// a long enough [`advance`](Self::advance) otherwise. `None` if the wheel is empty.
    ///
    /// # Cost
    ///
    /// Constant if something is due. Otherwise linear in the length of the first bucket of each
    /// level.
    #[must_use]
    pub fn peek(&self) -> Option<Key> {
        let id = match self.order.first() {
            Some(due) => due.id,
            None => self.hierarchy.earliest_by_key(|item| item.sequence)?,
        };
        let sequence = self.hierarchy.payload(id).sequence;
        Some(Key { id, sequence })
    }

    /// When [`advance`](Self::advance) must be called next: [`elapsed`](Self::elapsed) if something
    /// is due, otherwise no later than the earliest deadline. `None` if the wheel is empty.
    ///
    /// Exactly the earliest deadline, unless the entry that had it was removed or reset: then it
    /// may still be that entry's, and the turn at that time finds nothing due and corrects it. That
    /// is at most one turn too many per bucket.
    ///
    /// # Cost
    ///
    /// Constant: one look per level.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        self.hierarchy.next_deadline()
    }

    /// The wheel's time: that of the latest [`advance`](Self::advance), or of the start.
    #[must_use]
    pub fn elapsed(&self) -> Tick {
        self.hierarchy.elapsed()
    }

    /// How many entries there are, those due included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hierarchy.len()
    }

    /// Whether there is no entry, due or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hierarchy.is_empty()
    }

    /// All entries with their deadlines, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Tick, &T)> {
        self.hierarchy.iter().map(|(id, deadline, item)| {
            let sequence = item.sequence;
            (Key { id, sequence }, deadline, &item.value)
        })
    }

    /// Where the entry of a key is.
    fn resolve(&self, key: Key) -> Option<EntryId> {
        match self.hierarchy.get(key.id) {
            Some(item) if item.sequence == key.sequence => Some(key.id),
            _ => self.resolve_moved(key),
        }
    }

    #[cold]
    fn resolve_moved(&self, key: Key) -> Option<EntryId> {
        self.moved.get(&key.sequence).copied()
    }

    /// Takes an entry out of everything but the order.
    fn take(&mut self, id: EntryId) -> Item<T> {
        let item = self.hierarchy.remove(id);
        if !self.moved.is_empty() {
            self.moved.remove(&item.sequence);
        }
        item
    }

    /// Cleans up after an entry that was due has been taken out or moved.
    fn tidy(&mut self) {
        let hierarchy = &self.hierarchy;
        if self.order.is_stale(hierarchy.due_len()) {
            self.order.clean(|due| is_live(hierarchy, due));
        } else {
            self.order.settle(|due| is_live(hierarchy, due));
        }
    }

    /// Makes the order anew after a compaction, which has renamed what is due.
    fn renew_order(&mut self) {
        let hierarchy = &self.hierarchy;
        let all = hierarchy.due();
        self.order.renew(all.map(|id| due_item(hierarchy, id)));
    }
}

/// The place in the order of the due entry `id`.
fn due_item<T>(hierarchy: &Hierarchy<Item<T>>, id: EntryId) -> Due {
    Due {
        deadline: hierarchy.deadline(id),
        sequence: hierarchy.payload(id).sequence,
        id,
    }
}

/// Whether an item of the order still stands for a due entry.
fn is_live<T>(hierarchy: &Hierarchy<Item<T>>, due: &Due) -> bool {
    hierarchy.contains(due.id) && hierarchy.is_due(due.id) && due_item(hierarchy, due.id) == *due
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Wheel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel")
            .field("elapsed", &self.elapsed())
            .field("len", &self.len())
            .field("due", &self.hierarchy.due_len())
            .field("next_deadline", &self.next_deadline())
            .finish_non_exhaustive()
    }
}
