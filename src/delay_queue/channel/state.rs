//! What the lock of a channel guards, and the rule that no wake-up is lost.
//!
//! # The watch
//!
//! As long as a receiver waits and the queue is not empty, somebody has the *watch*:
//!
//! * the alarm is armed, no later than the next deadline, in a runtime in which a receiver waits;
//!   or
//! * it is out, being armed, and whoever has it looks at the queue when it comes back; or
//! * a receiver was called and has not polled yet: its poll looks at the queue, its drop passes
//!   the watch on.
//!
//! Every change keeps that up, and looks whether it still holds where it may have ended: a receiver
//! that took an item or left settles the watch behind it ([`State::settle`], [`State::pass_on`]), a
//! receiver that begins to wait arms the alarm ([`State::watch`]), and an item that comes before
//! what the alarm is armed for calls one receiver ([`State::announce`]). Nothing else calls, so
//! there is no more than one call for each item that becomes the first or becomes due.

#![forbid(unsafe_code)]

use super::alarm::{Alarm, Bell, Errand, Ring};
use super::later::Later;
use super::line::{Arrival, Line};
use crate::delay_queue::{DelayQueue, Expired, Key};
use crate::tick::Tick;

pub(super) struct State<T> {
    /// Never polled: it has no poller to wake, so no change of it runs foreign code.
    pub(super) queue: DelayQueue<T>,
    pub(super) capacity: usize,
    pub(super) senders: usize,
    pub(super) receivers: usize,
    pub(super) closed: bool,
    /// Receivers that wait for an item.
    pub(super) waiting: Line,
    /// Senders that wait for room. One that was called has room reserved.
    pub(super) blocked: Line,
    /// Senders that wait for the end.
    pub(super) mourning: Line,
    pub(super) alarm: Alarm,
}

/// What a receiver's poll comes to.
pub(super) enum Look<R> {
    Taken(R, Option<Errand>),
    /// Nothing is left, nothing will come.
    Over,
    Wait,
    /// Wait, and arm the alarm first.
    Arm(Errand),
    NeedsWaker,
}

/// What a blocked sender's poll comes to.
pub(super) enum Admission {
    Inserted(Key),
    Closed,
    Wait,
    NeedsWaker,
}

impl<T> State<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            queue: DelayQueue::new(),
            capacity,
            senders: 1,
            receivers: 1,
            closed: false,
            waiting: Line::default(),
            blocked: Line::default(),
            mourning: Line::default(),
            alarm: Alarm::default(),
        }
    }

    // === senders ===

    /// Whether there is no room but what is reserved.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() + self.blocked.called() >= self.capacity
    }

    /// Adds an item, for which there is room.
    pub(super) fn insert(&mut self, value: T, deadline: Tick, later: &mut Later) -> Key {
        let key = self.queue.insert_tick(value, deadline);
        self.announce(deadline, later);
        key
    }

    pub(super) fn remove(&mut self, key: &Key, later: &mut Later) -> Option<Expired<T>> {
        let expired = self.queue.try_remove(key)?;
        self.make_room(later);
        self.finish(later);
        Some(expired)
    }

    pub(super) fn reset(&mut self, key: &Key, deadline: Tick, later: &mut Later) -> bool {
        let moved = self.queue.reset_tick(key, deadline);
        if moved {
            self.announce(deadline, later);
        }
        moved
    }

    /// The poll of a sender that waits for room.
    pub(super) fn admit(
        &mut self,
        place: &mut Option<usize>,
        arrival: &mut Arrival<'_>,
        item: &mut Option<(T, Tick)>,
        later: &mut Later,
    ) -> Admission {
        if self.closed {
            self.blocked.leave(place, later);
            return Admission::Closed;
        }
        let admitted = match *place {
            Some(place) => self.blocked.is_called(place),
            None => !self.is_full(),
        };
        if admitted && let Some((value, deadline)) = item.take() {
            self.blocked.leave(place, later);
            return Admission::Inserted(self.insert(value, deadline, later));
        }
        if self.blocked.wait(place, arrival, later) {
            Admission::Wait
        } else {
            Admission::NeedsWaker
        }
    }

    /// A sender does not wait for room any longer.
    pub(super) fn give_up(&mut self, place: &mut Option<usize>, later: &mut Later) {
        if self.blocked.leave(place, later) {
            self.make_room(later);
        }
    }

    /// Reserves free room for those who wait for it.
    fn make_room(&mut self, later: &mut Later) {
        while !self.blocked.is_empty() && !self.is_full() {
            self.blocked.call_first(later);
        }
    }

    // === the end ===

    /// Whether no item will come in any more.
    pub(super) fn is_ended(&self) -> bool {
        self.closed || self.senders == 0
    }

    /// Whether that is so and no item is left.
    pub(super) fn is_over(&self) -> bool {
        self.is_ended() && self.queue.is_empty()
    }

    /// Lets nothing in any more.
    pub(super) fn close(&mut self, later: &mut Later) {
        self.closed = true;
        self.blocked.call_all(later);
        self.mourning.call_all(later);
        self.finish(later);
    }

    /// Calls all receivers if there is nothing more to wait for.
    pub(super) fn finish(&mut self, later: &mut Later) {
        if self.is_over() {
            self.waiting.call_all(later);
        }
    }

    // === receivers ===

    /// The next item that is due at `now`. Whoever takes one settles the watch.
    pub(super) fn take(&mut self, now: Tick, later: &mut Later) -> Option<Expired<T>> {
        let expired = self.queue.take_due(now)?;
        self.make_room(later);
        Some(expired)
    }

    /// The poll of a receiver that takes what `take` gives it.
    pub(super) fn look<R>(
        &mut self,
        now: Tick,
        place: &mut Option<usize>,
        arrival: &mut Arrival<'_>,
        later: &mut Later,
        take: impl FnOnce(&mut Self, &mut Later) -> Option<R>,
    ) -> Look<R> {
        if let Some(taken) = take(self, later) {
            self.waiting.leave(place, later);
            return Look::Taken(taken, self.settle(now, later));
        }
        if self.is_over() {
            self.waiting.leave(place, later);
            return Look::Over;
        }
        if !self.waiting.wait(place, arrival, later) {
            return Look::NeedsWaker;
        }
        let runtime = place.and_then(|place| self.waiting.runtime(place));
        self.watch(runtime, later).map_or(Look::Wait, Look::Arm)
    }

    /// A receiver does not wait any longer and has taken nothing.
    pub(super) fn leave(&mut self, place: &mut Option<usize>, later: &mut Later) {
        self.waiting.leave(place, later);
        self.pass_on(later);
    }

    /// The last receiver has gone. Gives what nobody will take.
    pub(super) fn abandon(&mut self, later: &mut Later) -> DelayQueue<T> {
        self.close(later);
        later.silence(self.alarm.take_away());
        core::mem::take(&mut self.queue)
    }

    // === the watch ===

    /// Whether a receiver or an errand is on its way to look at the queue, or nobody wants to know.
    fn is_looked_after(&self) -> bool {
        self.waiting.is_empty() || self.waiting.called() > 0 || self.alarm.is_out()
    }

    /// An item has come to this deadline.
    fn announce(&mut self, deadline: Tick, later: &mut Later) {
        if !self.is_looked_after() && !self.alarm.covers(deadline) {
            self.waiting.call_first(later);
        }
    }

    /// A receiver has begun to wait in `runtime`, and nothing is due.
    fn watch(&mut self, runtime: Option<u64>, later: &mut Later) -> Option<Errand> {
        let next = self.queue.next()?;
        if self.alarm.is_out() {
            return None;
        }
        let own = self.alarm.runtime() == runtime;
        if self.alarm.covers(next) && (own || self.waiting.waits_in(self.alarm.runtime())) {
            return None;
        }
        let (errand, other) = self.alarm.take_out_in(runtime, next);
        later.silence(other);
        Some(errand)
    }

    /// Something has been taken, or the alarm has rung; it is `now`.
    pub(super) fn settle(&mut self, now: Tick, later: &mut Later) -> Option<Errand> {
        self.finish(later);
        if self.is_looked_after() {
            return None;
        }
        self.queue.turn(now);
        let next = self.queue.next()?;
        if next > now && self.waiting.waits_in(self.alarm.runtime()) {
            if self.alarm.covers(next) {
                return None;
            }
            if self.alarm.has_bell() {
                return Some(self.alarm.take_out(next));
            }
        }
        self.waiting.call_first(later);
        None
    }

    /// As [`settle`](Self::settle) for those who cannot arm the alarm, or just did.
    pub(super) fn pass_on(&mut self, later: &mut Later) {
        if self.is_looked_after() {
            return;
        }
        if let Some(next) = self.queue.next()
            && !(self.alarm.covers(next) && self.waiting.waits_in(self.alarm.runtime()))
        {
            self.waiting.call_first(later);
        }
    }

    /// The alarm is back. Whether it is armed no later than the next deadline.
    pub(super) fn bring_back(&mut self, bell: Bell, until: Tick, later: &mut Later) -> bool {
        let armed = self.alarm.bring_back(bell, until);
        if self.receivers == 0 {
            later.silence(self.alarm.take_away());
        }
        armed && self.queue.next().is_none_or(|next| until <= next)
    }

    /// The alarm is back and not armed.
    pub(super) fn bring_back_unarmed(&mut self, bell: Option<Bell>, later: &mut Later) {
        self.alarm.bring_back_unarmed(bell);
        if self.receivers == 0 {
            later.silence(self.alarm.take_away());
        }
    }

    /// The alarm rings.
    pub(super) fn ring(&mut self, later: &mut Later) -> Option<Errand> {
        match self.alarm.ring() {
            Ring::Nothing => None,
            Ring::Struck(now) => self.settle(now, later),
            Ring::Unclear(bell) => {
                later.silence(bell);
                self.pass_on(later);
                None
            }
        }
    }
}
