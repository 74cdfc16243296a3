//! Taking many items at once.
//!
//! A batch costs one reading of the clock and one unit of the task's budget, whatever its length,
//! and writes into a vector of the caller's, which can be used again.

#![forbid(unsafe_code)]

use core::future::poll_fn;
use core::task::{Context, Poll};

use super::{DelayQueue, Expired};
use crate::driver::registry;

impl<T> DelayQueue<T> {
    /// Takes up to `limit` items that are due now, without waiting, and appends them to `buffer`
    /// in their order. Tells how many.
    ///
    /// As [`pop_expired`](Self::pop_expired), for a batch. What becomes due during the call is left
    /// for the next one.
    ///
    /// # Cost
    ///
    /// One clock reading, and amortised O(1) for each item. Allocates only if `buffer` has to grow.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// for id in 0..5 {
    ///     queue.insert(id, Duration::from_millis(id));
    /// }
    /// tokio::time::advance(Duration::from_millis(3)).await;
    ///
    /// let mut batch = Vec::new();
    /// assert_eq!(queue.pop_expired_into(&mut batch, 3), 3);
    /// assert_eq!(queue.pop_expired_into(&mut batch, 3), 1);
    /// let ids: Vec<_> = batch.into_iter().map(|expired| expired.into_inner()).collect();
    /// assert_eq!(ids, [0, 1, 2, 3]);
    /// # }
    /// ```
    pub fn pop_expired_into(&mut self, buffer: &mut Vec<Expired<T>>, limit: usize) -> usize {
        let taken = self.take_many(buffer, limit);
        self.settle();
        taken
    }

    /// Takes up to `limit` items that are due and appends them to `buffer` in their order.
    /// `Ready` tells how many; `Pending` means that none is due, and the task is woken as told
    /// [above](Self#waking).
    ///
    /// As [`poll_expired`](Self::poll_expired), for a batch: `Ready(0)` is given if the queue is
    /// empty, and if `limit` is zero.
    ///
    /// # Panics
    ///
    /// As [`poll_expired`](Self::poll_expired).
    ///
    /// # Cancel safety
    ///
    /// An item leaves the queue only into `buffer`, and only if the answer is `Ready`.
    ///
    /// # Cost
    ///
    /// That of [`pop_expired_into`](Self::pop_expired_into). The whole batch counts as one step of
    /// the task in Tokio's cooperative scheduling.
    ///
    /// # Examples
    ///
    /// See [`next_many`](Self::next_many), which is this as a future.
    #[track_caller]
    pub fn poll_expired_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<Expired<T>>,
        limit: usize,
    ) -> Poll<usize> {
        if limit == 0 {
            return Poll::Ready(0);
        }
        self.poll_with(cx, |queue| match queue.take_many(buffer, limit) {
            0 => None,
            taken => Some(taken),
        })
        .map(Option::unwrap_or_default)
    }

    /// Waits until something is due, takes up to `limit` items that are, and appends them to
    /// `buffer` in their order. Tells how many; zero if the queue is empty or `limit` is zero.
    ///
    /// # Panics
    ///
    /// As [`poll_expired`](Self::poll_expired).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing: as long as it is pending no item has been taken.
    ///
    /// # Cost
    ///
    /// That of [`poll_expired_many`](Self::poll_expired_many).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// for id in 0..100 {
    ///     queue.insert(id, Duration::from_millis(id / 50));
    /// }
    ///
    /// let mut batch = Vec::with_capacity(64);
    /// let mut sizes = Vec::new();
    /// while queue.next_many(&mut batch, 64).await > 0 {
    ///     sizes.push(batch.len());
    ///     batch.clear();
    /// }
    /// assert_eq!(sizes, [50, 50]);
    /// # }
    /// ```
    pub async fn next_many(&mut self, buffer: &mut Vec<Expired<T>>, limit: usize) -> usize {
        poll_fn(|cx| self.poll_expired_many(cx, buffer, limit)).await
    }

    fn take_many(&mut self, buffer: &mut Vec<Expired<T>>, limit: usize) -> usize {
        let now = registry::now();
        let before = buffer.len();
        while buffer.len() - before < limit {
            // A push that has no room panics before anything has left the queue.
            buffer.reserve(1);
            let Some(expired) = self.take_due(now) else {
                break;
            };
            buffer.push(expired);
        }
        buffer.len() - before
    }
}
