//! The name of an entry of a [`Wheel`](crate::Wheel), and the entry that comes out.

#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use crate::tick::Tick;
use crate::wheel::entries::EntryId;

/// Names one entry of one [`Wheel`](crate::Wheel), for ever: the key of an entry that is gone never
/// names another one.
///
/// Keys are ordered by insertion. A key is for the wheel that made it. Another wheel either knows
/// no entry of that name, or, as each wheel of your own counts from the same number, has one of
/// the same age in the same place.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Where the entry was when the key was made: still right unless the wheel was compacted.
    pub(super) id: EntryId,
    /// How many entries were inserted before; makes the key unique, so it alone is compared.
    pub(super) sequence: u64,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.sequence == other.sequence
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.sequence.cmp(&other.sequence)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sequence.hash(state);
    }
}

/// An entry that was due and has left the wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expired<T> {
    /// The key that [`insert`](crate::Wheel::insert) gave for it, now stale.
    pub key: Key,
    /// The exact deadline, not the time of the turn that found it due.
    pub deadline: Tick,
    /// What was inserted.
    pub value: T,
}
