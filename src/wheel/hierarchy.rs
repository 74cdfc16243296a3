//! The wheel itself: entries and levels. What a turn does is in `advance.rs`.
//!
//! Its indices are trusted: an [`EntryId`] must be of an entry that is still in the wheel. Who
//! cannot promise that takes [`Wheel`](crate::Wheel), whose keys carry a generation.
//!
//! # Invariants
//!
//! Checked by `assert_valid` in `check.rs` after every step of the tests.
//!
//! * An entry in a bucket lies ahead of `elapsed`, in the block of `elapsed` or the one after it.
//!   So the values in a ring lie in a window of less than its length, and no slot is ever shared
//!   by two rounds.
//! * A bucket's bound is not after any deadline in it, not before the bucket's start, and ahead of
//!   `elapsed`.
//! * A bucket is marked occupied if and only if it is not empty.
//! * An entry that is due is in no bucket and in no list. Whoever turns the wheel was told its id
//!   and has it in an order of his own, so taking it out touches no neighbour.

#![forbid(unsafe_code)]

use crate::tick::Tick;
use crate::wheel::agenda::Agenda;
use crate::wheel::bucket::{BucketId, List};
use crate::wheel::entries::{Entries, Entry, EntryId};
use crate::wheel::geometry::Geometry;

/// A hierarchical wheel with trusted indices.
#[derive(Debug)]
pub(crate) struct Hierarchy<P> {
    pub(super) elapsed: Tick,
    pub(super) agenda: Agenda,
    pub(super) entries: Entries<P>,
    /// How many entries are due.
    pub(super) due: usize,
    /// Buckets of this length or less are not relinked ahead.
    pub(super) small: u32,
}

/// Moving so few at once takes some microseconds: not worth moving them early, as most of them
/// will be removed before their time.
const SMALL: u32 = 64;

impl<P> Hierarchy<P> {
    /// An empty wheel whose time is `start`. Allocates nothing.
    pub(crate) const fn new(geometry: Geometry, start: Tick) -> Self {
        Self {
            elapsed: start,
            agenda: Agenda::new(geometry),
            entries: Entries::new(),
            due: 0,
            small: SMALL,
        }
    }

    /// The time of the last turn.
    pub(crate) const fn elapsed(&self) -> Tick {
        self.elapsed
    }

    /// How many entries there are, the due ones included.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries are due and not yet taken out.
    pub(crate) const fn due_len(&self) -> usize {
        self.due
    }

    /// How many levels have been made so far.
    pub(crate) fn levels(&self) -> usize {
        self.agenda.levels().len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    pub(crate) fn contains(&self, id: EntryId) -> bool {
        self.entries.get(id).is_some()
    }

    pub(crate) fn deadline(&self, id: EntryId) -> Tick {
        self.entries[id].deadline
    }

    pub(crate) fn payload(&self, id: EntryId) -> &P {
        &self.entries[id].payload
    }

    pub(crate) fn payload_mut(&mut self, id: EntryId) -> &mut P {
        &mut self.entries[id].payload
    }

    /// The first entry whose id is `from` or greater.
    pub(super) fn first_from(&self, from: EntryId) -> Option<EntryId> {
        self.entries.first_from(from)
    }

    pub(super) const fn geometry(&self) -> Geometry {
        self.agenda.geometry()
    }

    /// Sets the time of a wheel without entries.
    pub(super) fn restart(&mut self, start: Tick) {
        self.elapsed = start;
    }

    /// Whether the entry is due and not yet taken out.
    pub(crate) fn is_due(&self, id: EntryId) -> bool {
        self.entries[id].bucket.is_due()
    }

    /// The payload of the entry `id`, if there is one.
    pub(super) fn get(&self, id: EntryId) -> Option<&P> {
        self.entries.get(id).map(|entry| &entry.payload)
    }

    /// Adds an entry; one whose deadline has been reached is due at once, which nobody is told.
    #[inline]
    pub(crate) fn insert(&mut self, deadline: Tick, payload: P) -> EntryId {
        if deadline <= self.elapsed {
            self.due += 1;
            return self.entries.insert(Entry {
                deadline,
                prev: EntryId::NONE,
                next: EntryId::NONE,
                bucket: BucketId::DUE,
                payload,
            });
        }
        let id = self.agenda.place(self.elapsed, deadline);
        let bucket = self.agenda.admit(id, deadline);
        bucket
            .list
            .push_new(&mut self.entries, id, deadline, payload)
    }

    /// Takes an entry out, whether due or not.
    #[inline]
    pub(crate) fn remove(&mut self, id: EntryId) -> P {
        let entry = self.entries.remove(id);
        self.close(entry.bucket, entry.prev, entry.next);
        entry.payload
    }

    /// Gives an entry another deadline, whether it is due or not.
    #[inline]
    pub(crate) fn reset(&mut self, id: EntryId, deadline: Tick) {
        let to = if deadline <= self.elapsed {
            BucketId::DUE
        } else {
            self.agenda.place(self.elapsed, deadline)
        };
        let entry = &mut self.entries[id];
        entry.deadline = deadline;
        let (from, prev, next) = (entry.bucket, entry.prev, entry.next);
        if to != from {
            self.close(from, prev, next);
            if to.is_due() {
                self.set_due(id);
            } else {
                self.link(id, to, deadline);
            }
        } else if !to.is_due() {
            self.agenda.bucket_mut(to).cover(deadline);
        }
    }

    /// Takes out what is named `id` now, if that is an entry that is due.
    #[inline]
    pub(crate) fn take_due(&mut self, id: EntryId) -> Option<P> {
        self.entries.get(id).filter(|entry| entry.bucket.is_due())?;
        self.due -= 1;
        Some(self.entries.remove(id).payload)
    }

    /// When the wheel must be turned next: no deadline is earlier, and the time of the last turn
    /// if something is due. Too early at most once per bucket from which entries were removed.
    pub(crate) fn next_deadline(&self) -> Option<Tick> {
        if self.due > 0 {
            return Some(self.elapsed);
        }
        self.agenda.next(self.elapsed).map(|(bound, _)| bound)
    }

    /// Makes room for `additional` more entries.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.entries.reserve(additional);
    }

    /// Gives back what room can be given back without changing an id.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// Renumbers the entries so that they need the least room, and tells each pair of old and new
    /// id.
    pub(crate) fn compact(&mut self, mut moved: impl FnMut(EntryId, EntryId, &P)) {
        let agenda = &mut self.agenda;
        self.entries.compact(|from, to, entry| {
            // The links between entries have been mapped; what is left are the ends of lists.
            if !entry.bucket.is_due() {
                let list = &mut agenda.bucket_mut(entry.bucket).list;
                if entry.prev.is_none() {
                    list.head = to;
                }
                if entry.next.is_none() {
                    list.tail = to;
                }
            }
            moved(from, to, &entry.payload);
        });
    }

    /// Drops all entries; time, levels and room stay.
    pub(crate) fn clear(&mut self) {
        self.agenda.clear();
        self.due = 0;
        self.entries.clear();
    }

    /// All entries, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (EntryId, Tick, &P)> {
        self.entries
            .iter()
            .map(|(id, entry)| (id, entry.deadline, &entry.payload))
    }

    /// The entries that are due, in no particular order. Walks all.
    pub(super) fn due(&self) -> impl Iterator<Item = EntryId> {
        let due = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.bucket.is_due());
        due.map(|(id, _)| id)
    }

    /// Of the entries that are not due, the one with the least deadline and then key.
    ///
    /// The earliest entry of a level is in its first occupied bucket. Walks those.
    pub(super) fn earliest_by_key<K: Ord>(&self, key: impl Fn(&P) -> K) -> Option<EntryId> {
        let mut best: Option<(Tick, K, EntryId)> = None;
        for (bound, bucket) in self.agenda.firsts(self.elapsed) {
            if best.as_ref().is_some_and(|best| best.0 < bound) {
                continue;
            }
            for id in List::walk(&self.entries, self.agenda.bucket(bucket).list.head) {
                let entry = &self.entries[id];
                let candidate = (entry.deadline, key(&entry.payload), id);
                if best.as_ref().is_none_or(|best| candidate < *best) {
                    best = Some(candidate);
                }
            }
        }
        best.map(|(_, _, id)| id)
    }

    /// Of the entries that are not due and that are `wanted`, the least deadline, if `stale` stays
    /// empty: else what is not wanted of the buckets in which the earliest entry is.
    pub(crate) fn earliest_wanted(
        &self,
        wanted: impl Fn(&P, Tick) -> bool,
        stale: &mut Vec<EntryId>,
    ) -> Option<Tick> {
        let mut best: Option<Tick> = None;
        for (bound, bucket) in self.agenda.firsts(self.elapsed) {
            if best.is_some_and(|best| best < bound) {
                continue;
            }
            for id in List::walk(&self.entries, self.agenda.bucket(bucket).list.head) {
                let entry = &self.entries[id];
                if !wanted(&entry.payload, entry.deadline) {
                    stale.push(id);
                } else if best.is_none_or(|best| entry.deadline < best) {
                    best = Some(entry.deadline);
                }
            }
        }
        best
    }

    /// Appends an entry that is in no list to the bucket `to`.
    #[inline]
    pub(super) fn link(&mut self, id: EntryId, to: BucketId, deadline: Tick) {
        let list = &mut self.agenda.admit(to, deadline).list;
        list.push(&mut self.entries, id, to);
    }

    /// Makes an entry due that is in no list. Its links mean nothing from now on.
    #[inline]
    pub(super) fn set_due(&mut self, id: EntryId) {
        self.entries[id].bucket = BucketId::DUE;
        self.due += 1;
    }

    /// Closes the gap that an entry leaves where it was, `from`.
    #[inline]
    fn close(&mut self, from: BucketId, prev: EntryId, next: EntryId) {
        if from.is_due() {
            self.due -= 1;
            return;
        }
        let list = &mut self.agenda.bucket_mut(from).list;
        list.close(&mut self.entries, prev, next);
        if list.len == 0 {
            self.agenda.vacate(from);
        }
    }
}
