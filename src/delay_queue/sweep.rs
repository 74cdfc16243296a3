//! Going through all items of a [`DelayQueue`]: keeping some of them, or taking them all.

#![forbid(unsafe_code)]

use core::fmt;
use core::iter::FusedIterator;
use core::mem;

use tokio::time::Instant;

use super::{DelayQueue, Expired, Key};
use crate::clock;
use crate::tick::Tick;
use crate::wheel::Wheel;

impl<T> DelayQueue<T> {
    /// Removes and drops every item that `keep` refuses.
    ///
    /// It is asked once for each item, due or not, in no particular order, and is given the item's
    /// key, its deadline and the item itself, which it may change. The task that waits for the
    /// queue is woken if nothing is left.
    ///
    /// If `keep` panics, or an item in its drop, the queue is in order: the items that were not
    /// asked for yet are kept, as is one that `keep` has panicked over.
    ///
    /// # Cost
    ///
    /// O(capacity), no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut sessions = DelayQueue::new();
    /// for user in ["ada", "bob", "ada"] {
    ///     sessions.insert(user, Duration::from_secs(60));
    /// }
    /// sessions.retain(|_key, _deadline, user| *user != "ada");
    /// assert_eq!(sessions.len(), 1);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&Key, Instant, &mut T) -> bool) {
        let settled = Settled(self);
        let queue = settled.0.id;
        settled.0.wheel.retain(|entry, deadline, item| {
            keep(&Key { queue, entry }, clock::instant_of(deadline), item)
        });
    }

    /// Takes all items out, due or not, in the order of their deadlines, and equal ones in the
    /// order of insertion.
    ///
    /// The queue is empty from this call on: items that the iterator does not give are dropped with
    /// it, or leaked with it. The task that waits for the queue is woken by this call, to see the
    /// end. The capacity stays, unless the iterator is leaked or an item panics in its drop.
    ///
    /// # Cost
    ///
    /// O(n log n), once, for the order; allocates for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert("second", Duration::from_secs(20));
    /// queue.insert("first", Duration::from_secs(10));
    ///
    /// let left: Vec<_> = queue.drain().map(|expired| expired.into_inner()).collect();
    /// assert_eq!(left, ["first", "second"]);
    /// assert!(queue.is_empty());
    /// ```
    pub fn drain(&mut self) -> Drain<'_, T> {
        let recall = self.alarm.settle(None);
        let successor = self.wheel.successor();
        let mut all = mem::replace(&mut self.wheel, successor);
        // Everything is due at the end of time, and so in order.
        all.advance(Tick::MAX);
        let drain = Drain { queue: self, all };
        // With the items in the hands of `drain`, should the waker panic.
        drop(recall);
        drain
    }
}

/// Tells the waiting task what has become of the queue, also when a panic ends the change.
struct Settled<'a, T>(&'a mut DelayQueue<T>);

impl<T> Drop for Settled<'_, T> {
    fn drop(&mut self) {
        self.0.settle();
    }
}

/// All items of a [`DelayQueue`], in their order; made by [`drain`](DelayQueue::drain).
pub struct Drain<'a, T> {
    queue: &'a mut DelayQueue<T>,
    /// The wheel with the items, turned to the end of time.
    all: Wheel<T>,
}

impl<T> Iterator for Drain<'_, T> {
    type Item = Expired<T>;

    fn next(&mut self) -> Option<Expired<T>> {
        let expired = self.all.pop()?;
        Some(Expired::new(self.queue.id, expired))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.all.len(), Some(self.all.len()))
    }
}

impl<T> ExactSizeIterator for Drain<'_, T> {}

impl<T> FusedIterator for Drain<'_, T> {}

impl<T> Drop for Drain<'_, T> {
    /// Drops what is left and gives the room back to the queue, which has got nothing meanwhile.
    fn drop(&mut self) {
        self.all.clear();
        self.all.restart(self.queue.wheel.elapsed());
        mem::swap(&mut self.queue.wheel, &mut self.all);
    }
}

impl<T> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("left", &self.all.len())
            .finish_non_exhaustive()
    }
}
