//! The wheel itself: entries, levels, the due list, and the turn that moves one to the other.
//!
//! Its indices are trusted: an [`EntryId`] must be of an entry that is still in the wheel. Who
//! cannot promise that takes [`Wheel`](crate::Wheel), whose keys carry a generation.
//!
//! # How a turn works
//!
//! 1. While some bucket's bound is not after `now`: detach the earliest, move what is due to the
//!    due list, set the rest aside. Buckets that lie ahead are not touched, at whatever level.
//! 2. Only now set `elapsed` to `now`, and place the rest by it: once, and strictly lower. Doing
//!    it earlier would let two rounds share a slot.
//! 3. Relink ahead: move a portion of each upper level's next bucket down, in proportion to the
//!    time that passed, so that it is empty when its time comes and no turn has to move it whole.
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

#![forbid(unsafe_code)]

use crate::tick::Tick;
use crate::wheel::agenda::Agenda;
use crate::wheel::bucket::{Bucket, BucketId, List};
use crate::wheel::entries::{Entries, EntryId};
use crate::wheel::geometry::Geometry;
use crate::wheel::turn::Turn;

/// A hierarchical wheel with trusted indices.
#[derive(Debug)]
pub(crate) struct Hierarchy<P> {
    pub(super) elapsed: Tick,
    pub(super) agenda: Agenda,
    pub(super) entries: Entries<P>,
    pub(super) due: List,
    /// Buckets of this length or less are not relinked ahead.
    pub(super) small: u32,
}

/// Moving so few at once takes some microseconds: not worth moving them early, as most of them
/// will be removed before their time.
const SMALL: u32 = 64;

/// The most that one turn relinks ahead, 0.2 to 0.4 ms of work on a wheel larger than the caches.
/// At a millisecond per turn a level needs this many only if it holds four million entries per
/// second; a wheel that is turned more rarely does the remainder when the bucket's time comes.
const MOST_RELINKED: u32 = 4096;

impl<P> Hierarchy<P> {
    /// An empty wheel whose time is `start`. Allocates nothing.
    pub(crate) const fn new(geometry: Geometry, start: Tick) -> Self {
        Self {
            elapsed: start,
            agenda: Agenda::new(geometry),
            entries: Entries::new(),
            due: List::EMPTY,
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

    /// How many entries are due and not yet popped.
    pub(crate) const fn due_len(&self) -> usize {
        self.due.len as usize
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

    /// Whether the entry is due and not yet popped.
    pub(crate) fn is_due(&self, id: EntryId) -> bool {
        self.entries[id].bucket.is_due()
    }

    /// The payload of the entry `id`, if there is one.
    pub(super) fn get(&self, id: EntryId) -> Option<&P> {
        self.entries.get(id).map(|entry| &entry.payload)
    }

    /// Adds an entry; one whose deadline has been reached goes straight to the due list.
    #[inline]
    pub(crate) fn insert(&mut self, deadline: Tick, payload: P) -> EntryId {
        if deadline <= self.elapsed {
            let due = BucketId::DUE;
            return self.due.push_new(&mut self.entries, due, deadline, payload);
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
            self.link(id, to, deadline);
        } else if !to.is_due() {
            self.agenda.bucket_mut(to).cover(deadline);
        }
    }

    /// Moves time to `now` and what is due by then to the due list. Does nothing if `now` is not
    /// ahead.
    ///
    /// `keep` is asked for each entry that is not due in the buckets that are looked at; those it
    /// refuses leave the wheel. It must not panic.
    pub(crate) fn advance(&mut self, now: Tick, keep: impl FnMut(&P) -> bool) -> Turn {
        let mut turn = Turn::at(self.elapsed.max(now));
        if now > self.elapsed {
            let rest = self.fire(now, keep, &mut turn);
            let from = core::mem::replace(&mut self.elapsed, now);
            turn.cascaded = self.place(rest);
            turn.relinked = self.relink_ahead(from);
        }
        turn.next = self.next_deadline();
        turn
    }

    /// Takes the entry that has been on the due list for the longest.
    pub(crate) fn pop_due(&mut self) -> Option<(Tick, P)> {
        let id = self.due.head.some()?;
        let entry = self.entries.remove(id);
        self.due.close(&mut self.entries, entry.prev, entry.next);
        Some((entry.deadline, entry.payload))
    }

    /// When the wheel must be turned next: no deadline is earlier, and the time of the last turn
    /// if something is due. Too early at most once per bucket from which entries were removed.
    pub(crate) fn next_deadline(&self) -> Option<Tick> {
        if self.due.len > 0 {
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
        let (agenda, due) = (&mut self.agenda, &mut self.due);
        self.entries.compact(|from, to, entry| {
            // The links between entries have been mapped; what is left are the ends of lists.
            if entry.prev.is_none() || entry.next.is_none() {
                let list = if entry.bucket.is_due() {
                    &mut *due
                } else {
                    &mut agenda.bucket_mut(entry.bucket).list
                };
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
        self.due = List::EMPTY;
        self.entries.clear();
    }

    /// Takes all entries out, in no particular order; time and levels stay.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Tick, P)> + use<P> {
        self.agenda.clear();
        self.due = List::EMPTY;
        core::mem::replace(&mut self.entries, Entries::new())
            .into_entries()
            .map(|entry| (entry.deadline, entry.payload))
    }

    /// All entries, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (EntryId, Tick, &P)> {
        self.entries
            .iter()
            .map(|(id, entry)| (id, entry.deadline, &entry.payload))
    }

    /// The last entry of the due list.
    pub(super) const fn due_tail(&self) -> EntryId {
        self.due.tail
    }

    /// The due entries behind `after`, all of them if that is none.
    pub(super) fn due_after(&self, after: EntryId) -> impl Iterator<Item = EntryId> {
        let first = match after.some() {
            Some(after) => self.entries[after].next,
            None => self.due.head,
        };
        List::walk(&self.entries, first)
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

    /// Moves everything due at `now` to the due list and gives the chain of what else was in the
    /// buckets touched.
    fn fire(&mut self, now: Tick, mut keep: impl FnMut(&P) -> bool, turn: &mut Turn) -> Chain {
        let mut rest = Chain::EMPTY;
        while let Some((bound, bucket)) = self.agenda.next(self.elapsed) {
            if bound > now {
                break;
            }
            let mut cursor = self.agenda.detach(bucket).list.head;
            while let Some(id) = cursor.some() {
                let entry = &self.entries[id];
                cursor = entry.next;
                if entry.deadline <= now {
                    self.due.push(&mut self.entries, id, BucketId::DUE);
                    turn.fired += 1;
                } else if keep(&entry.payload) {
                    rest.push(&mut self.entries, id);
                } else {
                    self.entries.remove(id);
                    turn.dropped += 1;
                }
            }
        }
        rest
    }

    /// Places the entries of a chain by the time it is now and counts those that changed place.
    fn place(&mut self, chain: Chain) -> usize {
        let mut cascaded = 0;
        let mut cursor = chain.head;
        while let Some(id) = cursor.some() {
            let entry = &self.entries[id];
            let (from, deadline) = (entry.bucket, entry.deadline);
            // The tail of the chain may still point to where it was.
            cursor = if id == chain.tail {
                EntryId::NONE
            } else {
                entry.next
            };
            let to = self.agenda.place(self.elapsed, deadline);
            debug_assert!(
                to.level() < from.level() || (to == from && to.level() == 0),
                "a bucket is touched after its start, so its entries go strictly lower"
            );
            cascaded += usize::from(to != from);
            self.link(id, to, deadline);
        }
        cascaded
    }

    /// Moves down portions of the next bucket of each level and counts what moved.
    fn relink_ahead(&mut self, from: Tick) -> usize {
        let geometry = self.agenda.geometry();
        let mut budget = MOST_RELINKED;
        // The lower the level, the sooner its next bucket is due to be empty.
        for level in (1_u32..).take(self.levels().saturating_sub(1)) {
            let value = geometry.value(level, self.elapsed);
            let (Some(begin), Some(end)) = (
                geometry.start(level, value),
                geometry.start(level, value + 1),
            ) else {
                continue;
            };
            let id = BucketId::new(level, geometry.slot_of_value(value + 1));
            let Bucket { list, .. } = *self.agenda.bucket(id);
            if list.len > self.small {
                let portion = portion(list.len, from.max(begin), self.elapsed, end).min(budget);
                self.relink(id, portion);
                budget -= portion;
            }
        }
        (MOST_RELINKED - budget) as usize
    }

    /// Moves `count` entries of a bucket in which nothing is due to lower levels.
    fn relink(&mut self, from: BucketId, count: u32) {
        let mut list = self.agenda.bucket(from).list;
        for _ in 0..count {
            let id = list.head;
            let entry = &self.entries[id];
            list.head = entry.next;
            list.len -= 1;
            let deadline = entry.deadline;
            let to = self.agenda.place(self.elapsed, deadline);
            debug_assert!(to.level() < from.level(), "the next bucket fits lower");
            self.link(id, to, deadline);
        }
        match list.head.some() {
            Some(head) => self.entries[head].prev = EntryId::NONE,
            None => {
                list = List::EMPTY;
                self.agenda.vacate(from);
            }
        }
        // The bound stays: it may be that of an entry that has moved, but is none too late.
        self.agenda.bucket_mut(from).list = list;
    }

    /// Appends an entry that is in no list to the list `to`.
    #[inline]
    fn link(&mut self, id: EntryId, to: BucketId, deadline: Tick) {
        let list = if to.is_due() {
            &mut self.due
        } else {
            &mut self.agenda.admit(to, deadline).list
        };
        list.push(&mut self.entries, id, to);
    }

    /// Closes the gap that an entry leaves in the list `from`.
    #[inline]
    fn close(&mut self, from: BucketId, prev: EntryId, next: EntryId) {
        if from.is_due() {
            self.due.close(&mut self.entries, prev, next);
            return;
        }
        let list = &mut self.agenda.bucket_mut(from).list;
        list.close(&mut self.entries, prev, next);
        if list.len == 0 {
            self.agenda.vacate(from);
        }
    }
}

/// A singly linked chain of entries between two places.
struct Chain {
    head: EntryId,
    tail: EntryId,
}

impl Chain {
    const EMPTY: Self = Self {
        head: EntryId::NONE,
        tail: EntryId::NONE,
    };

    fn push<P>(&mut self, entries: &mut Entries<P>, id: EntryId) {
        match self.tail.some() {
            Some(tail) => entries[tail].next = id,
            None => self.head = id,
        }
        self.tail = id;
    }
}

/// How many of `len` entries to move now, so that the last is moved by `end` if as many are moved
/// per tick from `begin` on.
fn portion(len: u32, begin: Tick, now: Tick, end: Tick) -> u32 {
    let passed = u128::from(now.count() - begin.count());
    let period = u128::from(end.count() - begin.count());
    let share = (u128::from(len) * passed).div_ceil(period);
    u32::try_from(share).map_or(len, |share| share.min(len))
}
