//! The core: owns the wheel and moves nodes between it, the inboxes and the wakers.
//!
//! It knows neither Tokio nor a clock; whoever holds the turn lock calls it with the time. See
//! [`turn`](super::turn) for the order of the calls.

#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

use std::collections::VecDeque;

use crate::driver::ahead::Ahead;
use crate::driver::counts::{Counts, Report};
use crate::driver::shared::Shared;
use crate::driver::wake_list::WakeList;
use crate::sync::node::{Drained, Look, Node, Taken};
use crate::sync::pool::NodeId;
use crate::tick::Tick;
use crate::wheel::Geometry;
use crate::wheel::{EntryId, Hierarchy, Occupancy};

/// The wheel of one timer; its entries are the indices of nodes.
#[derive(Debug)]
pub struct Core {
    wheel: Hierarchy<u32>,
    /// The entries that are due, in the order in which they became so. Some may have been taken
    /// out or moved since, or name a younger entry.
    due: VecDeque<EntryId>,
    ahead: Ahead,
    counts: Counts,
}

impl Core {
    /// An empty wheel that begins at `now`.
    pub fn new(now: Tick) -> Self {
        Self::with_geometry(Geometry::STANDARD, now)
    }

    /// An empty wheel of another shape, for models with a small world.
    pub fn with_geometry(geometry: Geometry, now: Tick) -> Self {
        Self {
            wheel: Hierarchy::new(geometry, now),
            due: VecDeque::new(),
            ahead: Ahead::new(),
            counts: Counts::new(),
        }
    }

    /// This core in the place of `before`, whose timer has ended.
    pub fn after(mut self, before: &Self) -> Self {
        self.counts.fired_before = before.counts.fired_before + before.counts.fired;
        self
    }

    /// The time of the latest advance.
    pub fn elapsed(&self) -> Tick {
        self.wheel.elapsed()
    }

    /// How many timers have fired so far.
    pub const fn fired(&self) -> u64 {
        self.counts.fired
    }

    /// What the turns have done so far.
    #[allow(dead_code, reason = "not asked by models")]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// From now on timers that fire more than so many ticks after their deadlines are reported.
    #[allow(dead_code, reason = "not asked by models")]
    pub fn tell_when_later_than(&mut self, ticks: u64) {
        self.counts.tell_when_later_than(ticks);
    }

    /// Takes what was done since the last report.
    pub fn report(&mut self) -> Report {
        self.counts.report(self.wheel.levels())
    }

    /// Takes a report back that could not be told.
    pub fn keep(&mut self, report: &Report) {
        self.counts.keep(report);
    }

    /// The levels of the wheel made so far, the finest first.
    #[allow(dead_code, reason = "not asked by models")]
    pub(crate) fn occupancy(&self) -> impl Iterator<Item = Occupancy> {
        self.wheel.occupancy()
    }

    /// The memory of the wheel and of what is due.
    #[allow(dead_code, reason = "not asked by models")]
    pub fn bytes(&self) -> usize {
        self.wheel.bytes() + self.due.capacity() * size_of::<EntryId>()
    }

    /// A time before which nothing is due; the present if something is.
    pub fn bound(&self) -> Tick {
        self.wheel.next_deadline().unwrap_or(Tick::MAX)
    }

    /// The deadline of the earliest timer that waits, exactly; the present if it is due.
    ///
    /// Walks the earliest bucket of each level. All that is found cancelled or moved in one walk is
    /// taken off or placed anew, so that a bucket of cancelled timers costs no walk for each; what
    /// is found due in that, because its owner has moved it just now, fires and its waker goes to
    /// `wakes`.
    pub fn next_exactly(&mut self, shared: &Shared, wakes: &mut WakeList) -> Option<Tick> {
        let mut stale = Vec::new();
        while self.wheel.due_len() == 0 {
            let waits =
                |&index: &u32, linked| shared.find(index).node().waits_until() == Some(linked);
            let earliest = self.wheel.earliest_wanted(waits, &mut stale);
            if stale.is_empty() {
                return earliest;
            }
            for entry in stale.drain(..) {
                let index = *self.wheel.payload(entry);
                self.wheel.remove(entry);
                self.look(shared, wakes, index);
            }
        }
        Some(self.wheel.elapsed())
    }

    /// How many nodes the wheel holds.
    #[allow(dead_code, reason = "asked by models")]
    pub fn linked(&self) -> usize {
        self.wheel.len()
    }

    /// Places everything that lies in the inboxes.
    pub fn drain(&mut self, shared: &Shared, wakes: &mut WakeList) {
        for inbox in shared.inboxes() {
            for (id, node) in inbox.take_all(shared.pool().pages()) {
                self.place(shared, wakes, id, node);
            }
        }
    }

    /// Moves the wheel to `now`; what is due then waits for [`fire`](Self::fire).
    pub fn advance(&mut self, shared: &Shared, wakes: &mut WakeList, now: Tick) {
        let now = now.max(self.wheel.elapsed());
        shared.publish_elapsed(now);
        // A touched bucket of cancelled timers is swept, so that it costs one stale look.
        let sweep = |&index: &u32| {
            let id = shared.find(index);
            match id.node().sweep() {
                None => true,
                Some(Look::Retired(taken)) => {
                    retire(shared, wakes, id, taken);
                    false
                }
                Some(_) => false,
            }
        };
        let due = &mut self.due;
        let turn = self.wheel.advance(now, sweep, |id, _, _| due.push_back(id));
        self.counts.turns += 1;
        self.counts.cascaded += (turn.cascaded + turn.relinked) as u64;
    }

    /// Fires what is due until the batch is full; tells whether nothing is left.
    // One copy of the loop, with what it calls in it, rather than one in each caller.
    #[inline(never)]
    pub fn fire(&mut self, shared: &Shared, wakes: &mut WakeList) -> bool {
        while !wakes.is_full() {
            let Some(id) = self.due.pop_front() else {
                return true;
            };
            let Some(index) = self.wheel.take_due(id) else {
                continue;
            };
            self.look(shared, wakes, index);
        }
        false
    }

    /// Looks at a node that has just left the wheel; its waker goes to `wakes`, if it has fired.
    fn look(&mut self, shared: &Shared, wakes: &mut WakeList, index: u32) {
        let id = shared.find(index);
        let node = id.node();
        // Before its owner can arm it again. One that is moved at this very moment may count with
        // either deadline.
        let (now, due) = (self.wheel.elapsed(), node.deadline());
        match node.look(now) {
            Look::Idle => {}
            Look::Later(deadline) => self.link(node, deadline, index),
            Look::Fired => self.counts.fire(due, now),
            Look::Wake(Taken { waker, free }) => {
                self.counts.fire(due, now);
                if free {
                    shared.pool().put_back(id);
                }
                wakes.push(waker);
            }
            Look::Retired(taken) => retire(shared, wakes, id, taken),
        }
    }

    /// Publishes when the sleep that follows ends and parks the inboxes. That is the next deadline,
    /// or, unless it has to be `exact`, an earlier time that saves turns.
    ///
    /// `None` if something was pushed meanwhile: drain again.
    pub fn park(&mut self, shared: &Shared, now: Tick, exact: bool) -> Option<Tick> {
        let mut next = self.wheel.next_deadline().unwrap_or(Tick::MAX);
        if !exact {
            next = self.ahead.choose(now, next);
        }
        shared.bell().publish(next);
        let mut empty = true;
        for inbox in shared.inboxes() {
            empty &= inbox.park();
        }
        empty.then_some(next)
    }

    /// Refuses all further pushes and makes everything that is armed due.
    pub fn close(&mut self, shared: &Shared, wakes: &mut WakeList) {
        shared.retire_generation();
        for inbox in shared.inboxes() {
            for (id, node) in inbox.close(shared.pool().pages()) {
                self.place(shared, wakes, id, node);
            }
        }
        let due = &mut self.due;
        self.wheel
            .advance(Tick::MAX, |_| true, |id, _, _| due.push_back(id));
    }

    fn place(&mut self, shared: &Shared, wakes: &mut WakeList, id: NodeId, node: &Node) {
        let entry = node.entry().map(EntryId::from_index);
        match (node.drained(), entry) {
            (Drained::Place(deadline), Some(entry)) => {
                self.wheel.reset(entry, deadline);
                self.note_due(entry);
            }
            (Drained::Place(deadline), None) => self.link(node, deadline, id.index()),
            (Drained::Unlink, Some(entry)) => {
                self.wheel.remove(entry);
            }
            (Drained::Unlink, None) => {}
            (Drained::Retired(taken), entry) => {
                if let Some(entry) = entry {
                    self.wheel.remove(entry);
                }
                retire(shared, wakes, id, taken);
            }
            (Drained::Free, entry) => {
                debug_assert!(
                    entry.is_none(),
                    "a node is abandoned only after it was unlinked"
                );
                shared.pool().put_back(id);
            }
        }
    }
}

impl Core {
    fn link(&mut self, node: &Node, deadline: Tick, index: u32) {
        let entry = self.wheel.insert(deadline, index);
        node.set_entry(entry.index());
        self.note_due(entry);
    }

    /// Remembers an entry that was placed, if its deadline has been reached already.
    fn note_due(&mut self, entry: EntryId) {
        if self.wheel.is_due(entry) {
            self.due.push_back(entry);
        }
    }
}

/// Sees to a kept waker that nobody came back for.
fn retire(shared: &Shared, wakes: &mut WakeList, id: NodeId, taken: Taken) {
    if taken.free {
        shared.pool().put_back(id);
    }
    wakes.retire(taken.waker);
}
