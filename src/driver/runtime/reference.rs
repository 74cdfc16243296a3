//! What handles and timers hold of a driver, and what they do with it.

#![forbid(unsafe_code)]

use core::task::Waker;

use tokio::runtime::Handle;

use super::{BOUNDED, Driver, Home, index_in};
use crate::clock;
use crate::driver::alarm::Kind;
use crate::driver::core::Core;
use crate::driver::events;
use crate::driver::keeper::Keeper;
use crate::driver::ledger::End;
use crate::driver::local::{self, Local};
use crate::driver::places::Full;
use crate::driver::registry;
use crate::driver::shared::{Armed, How, Refused};
use crate::driver::turn;
use crate::driver::wake_list::run_foreign;
use crate::error::TimerError;
use crate::metrics::TimerMetrics;
use crate::primitive::{Arc, Ordering};
use crate::sync::node::Next;
use crate::sync::pool::NodeId;
use crate::tick::Tick;

/// Every so many pushes a thread turns the wheel.
const PUSHES: u32 = 256;

/// A driver in one of its generations: what handles and timers hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriverRef {
    pub(crate) driver: &'static Driver,
    pub(crate) generation: u32,
}

/// A place that was taken; its drop gives it back, if its timer has a bound.
#[must_use = "dropping it gives the place back"]
pub(crate) struct Place(pub(crate) DriverRef);

impl Drop for Place {
    #[inline]
    fn drop(&mut self) {
        if self.0.driver.label() & BOUNDED != 0 {
            self.0.give_back_bounded();
        }
    }
}

impl PartialEq for DriverRef {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.driver, other.driver) && self.generation == other.generation
    }
}

impl DriverRef {
    /// The driver with this [`label`](Driver::label), whose lowest bits do not matter.
    #[inline]
    pub(crate) fn of_label(label: u32, generation: u32) -> Self {
        Self {
            driver: registry::driver(index_in(label)),
            generation,
        }
    }

    /// The tick at which a timer of `deadline` is to fire, on a driver that coalesces.
    #[cold]
    pub(crate) fn coalesced(self, deadline: Tick) -> Tick {
        let grid = self.driver.grid.load(Ordering::Relaxed).max(1);
        let multiple = deadline.count().div_ceil(grid).checked_mul(grid);
        multiple.map_or(Tick::MAX, Tick::new)
    }

    /// Takes a place for a timer that is to be made, if this timer has a bound, and gives the label
    /// to make it with. The place is given back by [`Place`].
    ///
    /// # Errors
    ///
    /// [`TimerError::AtCapacity`] if none is left.
    #[inline]
    pub(crate) fn take_place(self) -> Result<u32, TimerError> {
        let label = self.driver.label();
        if label & BOUNDED != 0 {
            self.take_bounded()?;
        }
        Ok(label)
    }

    /// As [`take_place`](Self::take_place), unless this timer is closed.
    ///
    /// # Errors
    ///
    /// [`TimerError::Closed`] or [`TimerError::AtCapacity`].
    pub(crate) fn take_place_if_open(self) -> Result<u32, TimerError> {
        if self.is_closed() {
            return Err(TimerError::Closed);
        }
        self.take_place()
    }

    /// A closed timer has room for everybody, because nothing that is made of it waits.
    #[cold]
    fn take_bounded(self) -> Result<(), TimerError> {
        match self.driver.places.take(self.generation) {
            Err(Full) if !self.is_closed() => Err(TimerError::AtCapacity),
            _ => Ok(()),
        }
    }

    #[cold]
    fn give_back_bounded(self) {
        // What was made of a closed timer may have taken no place; that timer is closed for good.
        if !self.is_closed() {
            self.driver.places.give_back(self.generation);
        }
    }

    /// What a timer with a thread of its own is kept by.
    pub(crate) fn keeper(self) -> Option<Arc<Keeper>> {
        if self.driver.kind != Kind::Thread {
            return None;
        }
        let keeper = self.driver.home.lock().keeper.upgrade()?;
        (keeper.timer == self).then_some(keeper)
    }

    /// Why a closed timer is closed.
    pub(crate) fn closed_text(self) -> &'static str {
        match self.driver.kind {
            Kind::Runtime => TimerError::Closed.text(),
            Kind::Thread => "this timer was closed, or its last handle was dropped",
            Kind::Manual => "this timer was closed, or the last handle of its clock was dropped",
        }
    }

    /// What was due by this time completes though this timer was closed: nothing, on a runtime.
    pub(crate) fn end(self) -> Tick {
        match self.driver.kind {
            Kind::Runtime => Tick::ZERO,
            Kind::Thread | Kind::Manual => self.driver.shared.end(self.generation),
        }
    }

    /// Lends the wheel; the caller turns afterwards. `None` if this timer is closed.
    pub(in crate::driver) fn inspect<R>(self, look: impl FnOnce(&mut Core) -> R) -> Option<R> {
        let Self { driver, generation } = self;
        turn::inspect(&driver.shared, &driver.lock, generation, look)
    }

    /// Whether the runtime has ended, or the timer was closed.
    #[inline]
    pub(crate) fn is_closed(self) -> bool {
        self.driver.shared.is_closed(self.generation)
    }

    /// The time of this timer's runtime.
    #[inline]
    pub(crate) fn now(self) -> Tick {
        self.of_own_clock(self.driver.now())
    }

    /// The time that a delay which begins now is counted from.
    #[inline]
    pub(crate) fn start(self) -> Tick {
        self.of_own_clock(self.driver.start())
    }

    /// The `now` that its driver gave; where a clock that is moved by hand stood when it was closed,
    /// as the driver may be another clock's since.
    #[inline]
    fn of_own_clock(self, now: Tick) -> Tick {
        match self.driver.kind {
            Kind::Manual if self.is_closed() => self.end(),
            _ => now,
        }
    }

    /// Whether this is the clock of a runtime that may pause and advance it.
    #[inline]
    pub(crate) fn clock_may_jump(self) -> bool {
        self.driver.clock.load(Ordering::Relaxed) != clock::SYSTEM
    }

    /// The time of the latest turn of this generation: nothing with a later deadline has fired, but
    /// by the end of it.
    #[inline]
    pub(crate) fn elapsed(self) -> Tick {
        let elapsed = self.driver.shared.elapsed();
        // Asked afterwards: what was read may be a later generation's, on another clock.
        if self.is_closed() {
            self.driver.shared.end(self.generation)
        } else {
            elapsed
        }
    }

    /// The deadline that the driver sleeps until.
    #[inline]
    pub(crate) fn parked(self) -> Tick {
        self.driver.shared.bell().deadline()
    }

    /// Turns the wheel, or leaves a note for the thread that does.
    #[cold]
    pub(crate) fn turn(self) {
        self.driver.turn();
    }

    /// Whether work of this timer runs on the timer's own runtime.
    #[inline]
    pub(crate) fn has_runtime(self) -> bool {
        self.driver.kind == Kind::Runtime
    }

    /// The runtime of this timer, unless that has ended.
    pub(crate) fn runtime(self) -> Option<Handle> {
        let handle = self.driver.home.lock().handle.clone()?;
        // It may be that of the next generation, which came only after this one was retired.
        (!self.is_closed()).then_some(handle)
    }

    /// Arms a timer; `None` if this timer is closed. Tells as well whether a turn was run for it,
    /// which may have fired it.
    #[inline]
    pub(crate) fn arm(self, deadline: Tick, waker: &Waker) -> Option<(NodeId, bool)> {
        let mut next = Next::Settled;
        let kept = local::with(self.driver, |local| {
            let (node, wanted) = self
                .driver
                .shared
                .rearm(&mut local.cache, deadline, waker)?;
            next = wanted;
            local.tally.armed.add_one();
            Some(node)
        });
        match kept {
            Some(node) if next == Next::Settled && !self.is_closed() => Some((node, false)),
            Some(node) => self.follow_up(node, deadline, next),
            None => self.arm_new(deadline, waker),
        }
    }

    #[cold]
    fn follow_up(self, node: NodeId, deadline: Tick, next: Next) -> Option<(NodeId, bool)> {
        let armed = local::with(self.driver, |local| {
            let Local { cache, shard, .. } = local;
            let shared = &self.driver.shared;
            let armed = shared.follow_up(cache, *shard, self.generation, node, deadline, next);
            local.count_refused(&armed);
            armed
        });
        self.finish(armed.map(|Armed { node, how }| (node, how == How::Ring)))
    }

    fn arm_new(self, deadline: Tick, waker: &Waker) -> Option<(NodeId, bool)> {
        // The user's code: before anything is borrowed or changed.
        let waker = waker.clone();
        let armed = self.arm_quietly(deadline, waker);
        self.finish(armed)
    }

    #[inline]
    fn finish(self, armed: Result<(NodeId, bool), Refused>) -> Option<(NodeId, bool)> {
        match armed {
            Ok((node, turn)) => {
                if turn {
                    self.turn();
                }
                Some((node, turn))
            }
            Err(Refused { waker, ring }) => {
                if ring {
                    self.turn();
                }
                drop(waker);
                None
            }
        }
    }

    /// As [`arm`](Self::arm), for callers that hold a lock: tells whether the wheel has to be
    /// turned, which is left to them. Here and in the next two no foreign code runs.
    #[inline]
    pub(crate) fn arm_quietly(
        self,
        deadline: Tick,
        waker: Waker,
    ) -> Result<(NodeId, bool), Refused> {
        let armed = local::with(self.driver, |local| {
            let Local { cache, shard, .. } = local;
            let shared = &self.driver.shared;
            local.tally.armed.add_one();
            let armed = shared.arm(cache, *shard, self.generation, deadline, waker);
            local.count_refused(&armed);
            let mut armed = armed?;
            if armed.how == How::Pushed {
                local.pushes = local.pushes.wrapping_add(1);
                if local.pushes.is_multiple_of(PUSHES) {
                    armed.how = How::Ring;
                }
            }
            Ok(armed)
        });
        armed.map(|Armed { node, how }| (node, how == How::Ring))
    }

    /// Moves the deadline of an armed timer.
    pub(crate) fn reset(self, node: NodeId, old: Tick, new: Tick) {
        if self.reset_quietly(node, old, new) {
            self.turn();
        }
    }

    /// As [`reset`](Self::reset); tells whether the caller has to turn the wheel.
    pub(crate) fn reset_quietly(self, node: NodeId, old: Tick, new: Tick) -> bool {
        local::with(self.driver, |local| {
            local.tally.resets.add_one();
            self.driver.shared.reset(local.shard, node, old, new)
        })
    }

    /// Counts a move that is done already, by [`Node::reset`](crate::sync::node::Node::reset);
    /// `label` is that of the timer's driver.
    #[inline]
    pub(crate) fn count_reset(label: u32) {
        local::count_reset(|| registry::driver(index_in(label)), label);
    }

    /// Ends a timer, whether it has fired or not, and drops its waker.
    #[inline]
    pub(crate) fn cancel(self, node: NodeId) {
        self.finish_as(node, End::Cancelled);
    }

    /// As [`cancel`](Self::cancel), for a timer whose deadline has come: if it has not fired, it
    /// counts as if it had.
    #[inline]
    pub(crate) fn complete(self, node: NodeId) {
        self.finish_as(node, End::Due);
    }

    #[inline]
    fn finish_as(self, node: NodeId, end: End) {
        match self.driver.cancel.load(Ordering::Relaxed) {
            0 => self.end_and_keep(node, end),
            _ => {
                let (waker, turn) = self.end_quietly(node, end);
                if turn {
                    self.turn();
                }
                drop(waker);
            }
        }
    }

    #[inline]
    fn end_and_keep(self, node: NodeId, end: End) {
        let waker = local::with(self.driver, |local| {
            let shared = &self.driver.shared;
            let (waker, waited) = shared.cancel_and_keep(&mut local.cache, node);
            if waited {
                local.tally.end(end);
            }
            waker
        });
        drop(waker);
    }

    /// As [`cancel`](Self::cancel); gives back the waker if it had not fired, and tells whether the
    /// caller has to turn the wheel.
    #[inline]
    pub(crate) fn cancel_quietly(self, node: NodeId) -> (Option<Waker>, bool) {
        self.end_quietly(node, End::Cancelled)
    }

    /// As [`complete`](Self::complete), in the same way.
    pub(crate) fn complete_quietly(self, node: NodeId) -> (Option<Waker>, bool) {
        self.end_quietly(node, End::Due)
    }

    #[inline]
    fn end_quietly(self, node: NodeId, end: End) -> (Option<Waker>, bool) {
        if self.driver.is_exact() {
            return self.end_exactly(node, end);
        }
        let waker = local::with(self.driver, |local| {
            let waker = self.driver.shared.cancel(&mut local.cache, node);
            if waker.is_some() {
                local.tally.end(end);
            }
            waker
        });
        (waker, false)
    }

    #[cold]
    fn end_exactly(self, node: NodeId, end: End) -> (Option<Waker>, bool) {
        local::with(self.driver, |local| {
            let shared = &self.driver.shared;
            let (waker, turn) = shared.cancel_exactly(&mut local.cache, local.shard, node);
            if waker.is_some() {
                local.tally.end(end);
            }
            (waker, turn)
        })
    }

    /// How things stand with this timer, or stood when it was closed.
    pub(crate) fn metrics(self) -> TimerMetrics {
        let Self { driver, generation } = self;
        let survey = |core: &Core| driver.ledger.survey(&driver.shared, core);
        match turn::observe(&driver.shared, &driver.lock, generation, survey) {
            Some((metrics, noted)) => {
                if noted {
                    self.turn();
                }
                metrics
            }
            None => driver.ledger.last(generation),
        }
    }

    /// Ends this generation: everything pending is woken and finds the timer closed.
    pub(crate) fn close(self) {
        let Self { driver, generation } = self;
        let last = |core: &Core| {
            let metrics = driver.ledger.survey(&driver.shared, core);
            driver.ledger.end(generation, metrics);
        };
        let Some(alarm) = turn::close(&driver.shared, &driver.lock, generation, last) else {
            return;
        };
        let kept = registry::forget(self);
        let Home { handle, guard, .. } = core::mem::take(&mut *driver.home.lock());
        // Dropping the last handle of a runtime may run the user's code.
        run_foreign(|| drop((alarm, kept, handle)));
        if let Some(guard) = guard {
            // Its drop finds the timer closed.
            run_foreign(|| guard.abort());
        }
        registry::recycle(driver);
        events::announce("timer closed", generation);
    }
}
