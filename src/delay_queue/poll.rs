//! Waiting for what is due in a [`DelayQueue`], and taking it.

#![forbid(unsafe_code)]

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use futures_core::{FusedStream, Stream};
use tokio::task::coop;

use super::{DelayQueue, Expired};
use crate::driver::registry;
use crate::tick::Tick;

impl<T> DelayQueue<T> {
    /// The next item that is due, `Ready(None)` if the queue is empty, or `Pending`, and then the
    /// task is woken as told [above](Self#waking).
    ///
    /// This is the [`Stream`]'s own poll, for code that is written in terms of [`Poll`].
    ///
    /// # Panics
    ///
    /// If it has to wait and there is no Tokio runtime, or one without timers, or one that is
    /// being shut down, or one whose default timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers). A queue that is empty or has an item due does not need any.
    ///
    /// # Cancel safety
    ///
    /// An item leaves the queue only in the value that is returned.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::DelayQueue;
    /// use std::future::poll_fn;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert(5, Duration::from_secs(5));
    ///
    /// let expired = poll_fn(|cx| queue.poll_expired(cx)).await;
    /// assert_eq!(expired.unwrap().into_inner(), 5);
    /// assert!(poll_fn(|cx| queue.poll_expired(cx)).await.is_none());
    /// # }
    /// ```
    #[track_caller]
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        self.poll_with(cx, |queue| queue.take_due(registry::now()))
    }

    /// Polls until `take` gives something; `Ready(None)` if the queue is empty.
    #[track_caller]
    pub(super) fn poll_with<R>(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut Self) -> Option<R>,
    ) -> Poll<Option<R>> {
        while !self.wheel.is_empty() {
            let budget = ready!(coop::poll_proceed(cx));
            if let Some(taken) = take(self) {
                budget.made_progress();
                self.alarm.answer();
                return Poll::Ready(Some(taken));
            }
            // The sleep below has its own share of the budget, which this would give back.
            drop(budget);
            ready!(self.alarm.poll_until(self.next().unwrap_or(Tick::MAX), cx));
        }
        self.alarm.promise_empty(cx.waker());
        Poll::Ready(None)
    }

    /// Takes the next item that is due now, without waiting.
    ///
    /// `None` means that nothing is due; [`is_empty`](Self::is_empty) tells whether something is
    /// to come. [`pop_expired_into`](Self::pop_expired_into) takes a batch. A task that waits in
    /// [`poll_expired`](Self::poll_expired) is woken if this leaves the queue empty.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::DelayQueue;
    /// use futures::StreamExt;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// for id in 0..5 {
    ///     queue.insert(id, Duration::from_millis(id / 4));
    /// }
    ///
    /// let first = queue.next().await.unwrap();
    /// let mut batch = vec![first.into_inner()];
    /// while let Some(expired) = queue.pop_expired() {
    ///     batch.push(expired.into_inner());
    /// }
    /// assert_eq!(batch, [0, 1, 2, 3]);
    /// assert_eq!(queue.len(), 1);
    /// # }
    /// ```
    pub fn pop_expired(&mut self) -> Option<Expired<T>> {
        let expired = self.take_due(registry::now());
        self.settle();
        expired
    }

    /// The next item that is due at `now`.
    pub(super) fn take_due(&mut self, now: Tick) -> Option<Expired<T>> {
        if now < self.wheel.elapsed() && self.earliest()? > now {
            // The queue was turned by a clock that was ahead of this one.
            return None;
        }
        let expired = self.wheel.pop().or_else(|| {
            self.wheel.advance(now);
            self.wheel.pop()
        })?;
        Some(Expired::new(self.id, expired))
    }

    /// Until when there is nothing to do, if nothing is due.
    ///
    /// The wheel knows the next deadline, or after a removal a tick before it: then the wait ends
    /// early, the turn of `take_due` finds nothing, and the next bound is better.
    pub(super) fn next(&self) -> Option<Tick> {
        match self.wheel.next_deadline() {
            // Due by a clock that was ahead of the present one, or `take_due` had found it.
            Some(next) if next <= self.wheel.elapsed() => self.earliest(),
            next => next,
        }
    }

    /// Finds out what is due at `now`.
    pub(super) fn turn(&mut self, now: Tick) {
        self.wheel.advance(now);
    }

    /// The exact deadline of the first item.
    pub(super) fn earliest(&self) -> Option<Tick> {
        self.wheel.deadline(self.wheel.peek()?)
    }

    /// Keeps or breaks what a pending poller was promised, after any change.
    pub(super) fn settle(&mut self) {
        if self.alarm.is_promised() {
            drop(self.alarm.settle(self.wheel.next_deadline()));
        }
    }
}

impl<T> Stream for DelayQueue<T> {
    type Item = Expired<T>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_expired(cx)
    }

    /// What the queue holds now, all of which a sole owner will be given.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

/// Terminated exactly while it is empty.
impl<T> FusedStream for DelayQueue<T> {
    fn is_terminated(&self) -> bool {
        self.is_empty()
    }
}
