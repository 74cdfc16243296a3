//! The list that lives in a slot, and the name of its place.
//!
//! Lists are doubly linked by index and grow at the tail. A [`Bucket`] is a list with a *bound*:
//! no deadline in it is earlier. The bound is exact until the entry that set it leaves; from then
//! on it may be too early, which costs one look at the bucket, until that look sets it anew.

#![forbid(unsafe_code)]

use core::num::NonZeroU32;

use crate::tick::Tick;
use crate::wheel::entries::{Entries, Entry, EntryId};
use crate::wheel::geometry::RING;

/// Where an entry is: in a slot of a level, or among the entries that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketId(NonZeroU32);

const SLOT_BITS: u32 = RING.trailing_zeros();

impl BucketId {
    /// The place of the entries that are due, which are in no list.
    pub(super) const DUE: Self = Self(NonZeroU32::MIN);

    /// The list at `slot` of `level`.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a slot has seven bits")]
    pub(super) const fn new(level: u32, slot: usize) -> Self {
        // Levels count from one here, so that the numbers below `RING` are free for `DUE`.
        match NonZeroU32::new((level + 1) << SLOT_BITS | slot as u32) {
            Some(number) => Self(number),
            None => Self::DUE,
        }
    }

    #[inline]
    pub(super) fn is_due(self) -> bool {
        self == Self::DUE
    }

    /// The level of a bucket.
    #[inline]
    pub(super) const fn level(self) -> u32 {
        (self.0.get() >> SLOT_BITS) - 1
    }

    #[inline]
    pub(super) const fn slot(self) -> usize {
        self.0.get() as usize & (RING - 1)
    }
}

/// A doubly linked list of entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) head: EntryId,
    pub(super) tail: EntryId,
    pub(super) len: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self {
        head: EntryId::NONE,
        tail: EntryId::NONE,
        len: 0,
    };

    /// Appends an entry that is in no list.
    #[inline]
    pub(super) fn push<P>(&mut self, entries: &mut Entries<P>, id: EntryId, bucket: BucketId) {
        let entry = &mut entries[id];
        entry.prev = self.tail;
        entry.next = EntryId::NONE;
        entry.bucket = bucket;
        self.join(entries, id);
    }

    /// Makes an entry and appends it.
    #[inline]
    pub(super) fn push_new<P>(
        &mut self,
        entries: &mut Entries<P>,
        bucket: BucketId,
        deadline: Tick,
        payload: P,
    ) -> EntryId {
        let id = entries.insert(Entry {
            deadline,
            prev: self.tail,
            next: EntryId::NONE,
            bucket,
            payload,
        });
        self.join(entries, id);
        id
    }

    /// Makes `id`, whose own links are set, the tail.
    #[inline]
    fn join<P>(&mut self, entries: &mut Entries<P>, id: EntryId) {
        match self.tail.some() {
            Some(tail) => entries[tail].next = id,
            None => self.head = id,
        }
        self.tail = id;
        self.len += 1;
    }

    /// Joins the two neighbours of an entry that leaves.
    #[inline]
    pub(super) fn close<P>(&mut self, entries: &mut Entries<P>, prev: EntryId, next: EntryId) {
        match prev.some() {
            Some(prev) => entries[prev].next = next,
            None => self.head = next,
        }
        match next.some() {
            Some(next) => entries[next].prev = prev,
            None => self.tail = prev,
        }
        self.len -= 1;
    }

    /// The ids from `first` to the tail.
    pub(super) fn walk<P>(entries: &Entries<P>, first: EntryId) -> impl Iterator<Item = EntryId> {
        core::iter::successors(first.some(), |&id| entries[id].next.some())
    }
}

/// The list of a slot with the lower bound of its deadlines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    pub(super) list: List,
    /// Meaningless while the list is empty.
    pub(super) bound: Tick,
}

impl Bucket {
    pub(super) const EMPTY: Self = Self {
        list: List::EMPTY,
        bound: Tick::MAX,
    };

    /// Sees to it that the bound covers a deadline about to enter.
    #[inline]
    pub(super) fn cover(&mut self, deadline: Tick) {
        if self.list.len == 0 || deadline < self.bound {
            self.bound = deadline;
        }
    }
}
