//! The side where items come out.

#![forbid(unsafe_code)]

use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use futures_core::{FusedStream, Stream};
use tokio::task::coop;
use tokio::time::Instant;

use super::later::Later;
use super::line::Arrival;
use super::state::{Look, State};
use super::{Shared, TryRecvError};
use crate::clock;
use crate::delay_queue::Expired;
use crate::driver::registry;
use crate::primitive::Arc;
use crate::tick::Tick;

/// Most items that [`Receiver::recv_many`] takes at once, so that the lock is held shortly.
const BATCH: usize = 64;

/// Takes items out of a [`channel`](super::channel) when their time has come.
///
/// It can be cloned: then each item goes to exactly one of the receivers. It is a [`Stream`], too.
///
/// # Waking
///
/// An item that becomes due wakes one receiver, the one that has waited longest, and so does an
/// item that is put in before everything the receivers wait for. A receiver that was woken and
/// is dropped before it has taken the item passes the wake on. Like every waiting line, this one
/// relies on those who were woken: a pending [`recv`](Self::recv) that is neither polled nor
/// dropped after its wake keeps the others waiting. Used as a stream, the place in the line is the
/// receiver's own, and is given up only when it is dropped or next used; do not leave a receiver
/// alone that was polled as a stream while others wait.
///
/// # Runtime
///
/// A receiver that has to wait for an item that is there needs a Tokio runtime with time enabled,
/// the one that it is polled in. Nothing is spawned. The receivers of one channel may live in
/// different runtimes; the timer is always that of one which waits.
///
/// # Examples
///
/// Two workers that share the load:
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
///
/// let (sender, mut first) = cogwheel::delay_queue::channel();
/// let mut second = first.clone();
/// for id in 0..10_u64 {
///     sender.insert(id, Duration::from_secs(id));
/// }
/// drop(sender);
///
/// let other = tokio::spawn(async move {
///     let mut count = 0;
///     while second.recv().await.is_some() {
///         count += 1;
///     }
///     count
/// });
/// let mut count = 0;
/// while first.recv().await.is_some() {
///     count += 1;
/// }
/// assert_eq!(count + other.await.unwrap(), 10);
/// # }
/// ```
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// Where it stands in the line, if it waits or was called.
    place: Option<usize>,
}

impl<T> Receiver<T> {
    pub(super) fn first(shared: Arc<Shared<T>>) -> Self {
        let place = None;
        Self { shared, place }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<Shared<T>> {
        &self.shared
    }

    /// Lets no items in any more. What waits can still be received, at its deadlines.
    ///
    /// Senders get their items back, those that wait for room at once. This closes the channel for
    /// all receivers. More than once has no effect.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (sender, mut receiver) = cogwheel::delay_queue::channel();
    /// sender.insert("last", Duration::ZERO);
    /// receiver.close();
    /// assert!(sender.try_insert("late", Duration::ZERO).unwrap_err().is_closed());
    /// assert_eq!(receiver.try_recv().unwrap().into_inner(), "last");
    /// ```
    pub fn close(&self) {
        self.shared.with(State::close);
    }

    /// Whether nothing comes in any more: the channel was closed, or all senders are gone. What
    /// waits still comes out.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.with(|state, _| state.is_ended())
    }

    /// How many items wait, those included that are due and have not been received.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.with(|state, _| state.queue.len())
    }

    /// Whether no item waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The deadline of the item that comes next, or `None` if none waits. It has passed if an item
    /// is due.
    ///
    /// # Cost
    ///
    /// That of [`DelayQueue::peek`](crate::DelayQueue::peek), under the lock.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.shared.with(|state, _| state.queue.next_deadline())
    }

    /// Does not wait any longer.
    fn leave(&mut self) {
        if self.place.is_some() {
            self.shared
                .with(|state, later| state.leave(&mut self.place, later));
        }
    }
}

impl<T: Send + 'static> Receiver<T> {
    /// Waits for the next item that is due; `None` if none is left and none will come.
    ///
    /// # Panics
    ///
    /// If it has to wait for an item and there is no Tokio runtime, or one without timers, or one
    /// that is being shut down, or one whose default timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing: an item leaves the queue only when the future is ready,
    /// and a wake that it has got goes to the next receiver.
    ///
    /// # Cost
    ///
    /// Amortised O(1) under the lock, and a clock reading. No allocation, once as many receivers
    /// have waited at a time.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use std::time::Duration;
    ///
    /// let (sender, mut receiver) = cogwheel::delay_queue::channel();
    /// sender.insert(5, Duration::from_secs(5));
    /// drop(sender);
    /// assert_eq!(receiver.recv().await.unwrap().into_inner(), 5);
    /// assert!(receiver.recv().await.is_none());
    /// # }
    /// ```
    pub async fn recv(&mut self) -> Option<Expired<T>> {
        let waiting = Waiting(self);
        poll_fn(|cx| waiting.0.poll_recv(cx)).await
    }

    /// Waits until an item is due, takes up to `limit` items that are, and appends them to `buffer`
    /// in their order. Tells how many: zero if none is left and none will come, or if `limit` is
    /// zero.
    ///
    /// No more than 64 are taken at once, so that the others do not have to wait for the lock.
    ///
    /// # Panics
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Cancel safety
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Cost
    ///
    /// One clock reading and one lock for the batch. Allocates only if `buffer` has to grow.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use std::time::Duration;
    ///
    /// let (sender, mut receiver) = cogwheel::delay_queue::channel();
    /// for id in 0..10 {
    ///     sender.insert(id, Duration::from_secs(id / 6));
    /// }
    /// let mut batch = Vec::new();
    /// assert_eq!(receiver.recv_many(&mut batch, 32).await, 6);
    /// assert_eq!(receiver.recv_many(&mut batch, 32).await, 4);
    /// # }
    /// ```
    pub async fn recv_many(&mut self, buffer: &mut Vec<Expired<T>>, limit: usize) -> usize {
        let waiting = Waiting(self);
        poll_fn(|cx| waiting.0.poll_recv_many(cx, buffer, limit)).await
    }

    /// Takes the next item that is due now, without waiting.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if nothing is due, [`TryRecvError::Closed`] if nothing is left and
    /// nothing will come.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::delay_queue::{self, TryRecvError};
    /// use std::time::Duration;
    ///
    /// let (sender, mut receiver) = delay_queue::channel();
    /// let key = sender.insert("tea", Duration::from_secs(180));
    /// assert_eq!(receiver.try_recv().unwrap_err(), TryRecvError::Empty);
    /// sender.reset(&key, Duration::ZERO);
    /// assert_eq!(receiver.try_recv().unwrap().into_inner(), "tea");
    /// drop(sender);
    /// assert_eq!(receiver.try_recv().unwrap_err(), TryRecvError::Closed);
    /// ```
    pub fn try_recv(&mut self) -> Result<Expired<T>, TryRecvError> {
        self.leave();
        let now = registry::now();
        let (taken, errand) = self
            .shared
            .with(|state, later| match state.take(now, later) {
                Some(expired) => (Ok(expired), state.settle(now, later)),
                None if state.is_over() => (Err(TryRecvError::Closed), None),
                None => (Err(TryRecvError::Empty), None),
            });
        if let Some(errand) = errand {
            self.shared.arm_for_others(errand);
        }
        taken
    }

    /// The next item that is due, `Ready(None)` if none is left and none will come, or `Pending`.
    ///
    /// This is the [`Stream`]'s own poll. Unlike [`recv`](Self::recv) it leaves this receiver in
    /// the line until it is polled again, used otherwise, or dropped.
    ///
    /// # Panics
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Cancel safety
    ///
    /// An item leaves the queue only in the value that is returned.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        self.poll_with(cx, |state, now, later| state.take(now, later))
    }

    /// [`recv_many`](Self::recv_many) as a poll, in the way of [`poll_recv`](Self::poll_recv).
    ///
    /// # Panics
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Cancel safety
    ///
    /// An item leaves the queue only into `buffer`, and only if the answer is `Ready`.
    pub fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<Expired<T>>,
        limit: usize,
    ) -> Poll<usize> {
        if limit == 0 {
            return Poll::Ready(0);
        }
        // Before the lock: growing it takes long.
        let most = limit.min(BATCH);
        buffer.reserve(most);
        let take = |state: &mut State<T>, now, later: &mut Later| {
            let before = buffer.len();
            let due = core::iter::from_fn(|| state.take(now, later));
            buffer.extend(due.take(most));
            let taken = buffer.len() - before;
            (taken > 0).then_some(taken)
        };
        self.poll_with(cx, take).map(Option::unwrap_or_default)
    }

    fn poll_with<R>(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut State<T>, Tick, &mut Later) -> Option<R>,
    ) -> Poll<Option<R>> {
        let budget = ready!(coop::poll_proceed(cx));
        let waker = cx.waker();
        let mut arrival = Arrival { waker, fresh: None };
        loop {
            let now = registry::now();
            let look = self.shared.with(|state, later| {
                state.look(now, &mut self.place, &mut arrival, later, |state, later| {
                    take(state, now, later)
                })
            });
            match look {
                Look::Taken(taken, errand) => {
                    budget.made_progress();
                    if let Some(errand) = errand {
                        self.shared.arm_for_others(errand);
                    }
                    return Poll::Ready(Some(taken));
                }
                Look::Over => return Poll::Ready(None),
                Look::NeedsWaker => arrival.fresh = Some((waker.clone(), clock::context())),
                Look::Arm(errand) => {
                    if self.shared.arm(errand) {
                        return Poll::Pending;
                    }
                }
                Look::Wait => return Poll::Pending,
            }
        }
    }
}

/// A receiver that stands in the line for no longer than this lives.
struct Waiting<'a, T>(&'a mut Receiver<T>);

impl<T> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<T> Clone for Receiver<T> {
    /// Another receiver of the same channel. It does not wait yet.
    fn clone(&self) -> Self {
        self.shared.with(|state, _| state.receivers += 1);
        Self::first(self.shared.clone())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.leave();
        let abandoned = self.shared.with(|state, later| {
            state.receivers -= 1;
            (state.receivers == 0).then(|| state.abandon(later))
        });
        drop(abandoned);
    }
}

impl<T: Send + 'static> Stream for Receiver<T> {
    type Item = Expired<T>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_recv(cx)
    }
}

/// Terminated when none is left and none will come.
impl<T: Send + 'static> FusedStream for Receiver<T> {
    fn is_terminated(&self) -> bool {
        self.shared.with(|state, _| state.is_over())
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, closed) = self
            .shared
            .with(|state, _| (state.queue.len(), state.is_ended()));
        f.debug_struct("Receiver")
            .field("len", &len)
            .field("closed", &closed)
            .finish_non_exhaustive()
    }
}
