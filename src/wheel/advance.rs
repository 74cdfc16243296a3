//! The turn: moves time, and tells what is due by then.
//!
//! 1. While some bucket's bound is not after `now`: detach the earliest, mark and tell what is
//!    due, set the rest aside. Buckets that lie ahead are not touched, at whatever level.
//! 2. Only now set `elapsed` to `now`, and place the rest by it: once, and strictly lower. Doing
//!    it earlier would let two rounds share a slot.
//! 3. Relink ahead: move a portion of each upper level's next bucket down, in proportion to the
//!    time that passed, so that it is empty when its time comes and no turn has to move it whole.

#![forbid(unsafe_code)]

use crate::tick::Tick;
use crate::wheel::bucket::{Bucket, BucketId, List};
use crate::wheel::entries::{Entries, EntryId};
use crate::wheel::hierarchy::Hierarchy;
use crate::wheel::turn::Turn;

/// The most that one turn relinks ahead, 0.2 to 0.4 ms of work on a wheel larger than the caches.
/// At a millisecond per turn a level needs this many only if it holds four million entries per
/// second; a wheel that is turned more rarely does the remainder when the bucket's time comes.
const MOST_RELINKED: u32 = 4096;

impl<P> Hierarchy<P> {
    /// Moves time to `now` and makes due what is by then. Does nothing if `now` is not ahead.
    ///
    /// `keep` is asked for each entry that is not due in the buckets that are looked at; those it
    /// refuses leave the wheel. `fired` is told each entry that becomes due, with its deadline: now
    /// its memory is at hand, later it may not be. Neither may panic.
    pub(crate) fn advance(
        &mut self,
        now: Tick,
        keep: impl FnMut(&P) -> bool,
        fired: impl FnMut(EntryId, Tick, &P),
    ) -> Turn {
        let mut turn = Turn::at(self.elapsed.max(now));
        if now > self.elapsed {
            let rest = self.fire(now, keep, fired, &mut turn);
            let from = core::mem::replace(&mut self.elapsed, now);
            turn.cascaded = self.place(rest);
            turn.relinked = self.relink_ahead(from);
        }
        turn.next = self.next_deadline();
        turn
    }

    /// Makes everything due that is at `now`, and gives the chain of what else was in the buckets
    /// touched.
    fn fire(
        &mut self,
        now: Tick,
        mut keep: impl FnMut(&P) -> bool,
        mut fired: impl FnMut(EntryId, Tick, &P),
        turn: &mut Turn,
    ) -> Chain {
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
                    fired(id, entry.deadline, &entry.payload);
                    self.set_due(id);
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
