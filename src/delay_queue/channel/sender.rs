//! The side where items go in.

#![forbid(unsafe_code)]

use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Context, Poll, ready};

use tokio::task::coop;
use tokio::time::{Duration, Instant};

use super::line::Arrival;
use super::state::{Admission, State};
use super::{SendError, Shared, TryInsertError};
use crate::clock;
use crate::delay_queue::{Expired, Key, MAX_ITEMS};
use crate::driver::registry;
use crate::primitive::Arc;
use crate::tick::Tick;

/// Puts items into a [`channel`](super::channel), and removes and moves those that wait.
///
/// It can be cloned, and used from any task or thread, in a runtime or not. When the last one is
/// dropped, the receivers get what waits at its deadlines, and then `None`.
///
/// # Units and rounding
///
/// Deadlines are exact to the nanosecond, as in a [`DelayQueue`](crate::DelayQueue); a delay of
/// zero and a deadline in the past are due at once, and one too long for the clock is practically
/// never.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::delay_queue;
/// use std::time::Duration;
///
/// let (idle, mut reaper) = delay_queue::channel();
/// let connection = idle.insert("connection", Duration::from_secs(30));
/// // There was a packet, from another task:
/// let worker = idle.clone();
/// tokio::spawn(async move { worker.reset(&connection, Duration::from_secs(60)) });
///
/// let start = tokio::time::Instant::now();
/// assert_eq!(reaper.recv().await.unwrap().into_inner(), "connection");
/// assert_eq!(start.elapsed(), Duration::from_secs(60));
/// # }
/// ```
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    pub(super) fn first(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// Puts `value` in, to come out `delay` from now.
    ///
    /// For a channel without a bound whose receivers live as long as its senders;
    /// [`try_insert`](Self::try_insert) and [`send`](Self::send) are for all others.
    ///
    /// # Panics
    ///
    /// At the caller, if the channel is closed or full. The value is dropped then.
    ///
    /// # Cost
    ///
    /// A clock reading and O(1) under the lock. Wakes one receiver if the item is now the first to
    /// come.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (sender, _receiver) = cogwheel::delay_queue::channel();
    /// let key = sender.insert("tea", Duration::from_secs(180));
    /// assert_eq!(sender.remove(&key).unwrap().into_inner(), "tea");
    /// ```
    #[track_caller]
    pub fn insert(&self, value: T, delay: Duration) -> Key {
        expect(self.try_insert(value, delay))
    }

    /// Puts `value` in, to come out at `when`. Otherwise like [`insert`](Self::insert).
    ///
    /// # Panics
    ///
    /// At the caller, if the channel is closed or full. The value is dropped then.
    #[track_caller]
    pub fn insert_at(&self, value: T, when: Instant) -> Key {
        expect(self.try_insert_at(value, when))
    }

    /// Puts `value` in, to come out `delay` from now, if it is taken.
    ///
    /// # Errors
    ///
    /// With the value, [`TryInsertError::Full`] if there is no room (room that is reserved for a
    /// waiting [`send`](Self::send) is none), [`TryInsertError::Closed`] if the receivers are gone
    /// or have closed the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (sender, receiver) = cogwheel::delay_queue::channel_bounded(1);
    /// assert!(sender.try_insert("first", Duration::ZERO).is_ok());
    /// let error = sender.try_insert("second", Duration::ZERO).unwrap_err();
    /// assert!(error.is_full());
    /// assert_eq!(error.into_inner(), "second");
    ///
    /// drop(receiver);
    /// let error = sender.try_insert("third", Duration::ZERO).unwrap_err();
    /// assert!(error.is_closed());
    /// ```
    pub fn try_insert(&self, value: T, delay: Duration) -> Result<Key, TryInsertError<T>> {
        self.try_insert_tick(value, registry::deadline_in(delay))
    }

    /// Puts `value` in, to come out at `when`, if it is taken.
    ///
    /// # Errors
    ///
    /// As [`try_insert`](Self::try_insert).
    pub fn try_insert_at(&self, value: T, when: Instant) -> Result<Key, TryInsertError<T>> {
        self.try_insert_tick(value, clock::tick_of(when))
    }

    fn try_insert_tick(&self, value: T, deadline: Tick) -> Result<Key, TryInsertError<T>> {
        self.shared.with(|state, later| {
            if state.closed {
                return Err(TryInsertError::Closed(value));
            }
            if state.is_full() {
                return Err(TryInsertError::Full(value));
            }
            Ok(state.insert(value, deadline, later))
        })
    }

    /// Puts `value` in, to come out `delay` from this call, and waits for room if there is none.
    ///
    /// Senders that wait are served in the order in which they came. The wait does not move the
    /// deadline: an item that had to wait for longer than its delay is due at once.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if the receivers are gone or have closed the channel, also
    /// while this waits.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, the value has not been put in and is dropped
    /// with it, and the place in the line goes to the next one.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use std::time::Duration;
    ///
    /// let (sender, mut receiver) = cogwheel::delay_queue::channel_bounded(10);
    /// tokio::spawn(async move {
    ///     for id in 0..100 {
    ///         sender.send(id, Duration::from_secs(1)).await.unwrap();
    ///     }
    /// });
    /// let mut received = 0;
    /// while receiver.recv().await.is_some() {
    ///     received += 1;
    /// }
    /// assert_eq!(received, 100);
    /// # }
    /// ```
    pub fn send(
        &self,
        value: T,
        delay: Duration,
    ) -> impl Future<Output = Result<Key, SendError<T>>> {
        self.send_tick(value, registry::deadline_in(delay))
    }

    /// Puts `value` in, to come out at `when`, and waits for room if there is none. Otherwise like
    /// [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    ///
    /// # Cancel safety
    ///
    /// As [`send`](Self::send).
    pub fn send_at(
        &self,
        value: T,
        when: Instant,
    ) -> impl Future<Output = Result<Key, SendError<T>>> {
        self.send_tick(value, clock::tick_of(when))
    }

    async fn send_tick(&self, value: T, deadline: Tick) -> Result<Key, SendError<T>> {
        let mut item = Some((value, deadline));
        let mut place = Blocked {
            shared: &self.shared,
            place: None,
        };
        poll_fn(|cx| place.poll_send(cx, &mut item)).await
    }

    /// Takes the item of `key` out, whether it is due or not; `None` if it does not wait here (any
    /// more).
    ///
    /// Exactly one of this and a receiver gets it. That makes room for another one.
    ///
    /// # Cost
    ///
    /// O(1) under the lock. Wakes no receiver, unless that was the last item of a channel that
    /// takes no more.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (sender, mut receiver) = cogwheel::delay_queue::channel();
    /// let key = sender.insert("tea", Duration::ZERO);
    /// assert!(receiver.try_recv().is_ok());
    /// assert!(sender.remove(&key).is_none());
    /// ```
    pub fn remove(&self, key: &Key) -> Option<Expired<T>> {
        self.shared.with(|state, later| state.remove(key, later))
    }

    /// Moves the deadline of `key` to `delay` from now, or gives `false` if that item does not wait
    /// here (any more).
    ///
    /// # Cost
    ///
    /// A clock reading and O(1) under the lock. Wakes one receiver if the item is now the first to
    /// come and comes earlier than the first did before; to put the first item off wakes nobody.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (sender, mut receiver) = cogwheel::delay_queue::channel();
    /// let key = sender.insert("tea", Duration::from_secs(180));
    /// assert!(sender.reset(&key, Duration::ZERO));
    /// assert!(receiver.try_recv().is_ok());
    /// assert!(!sender.reset(&key, Duration::ZERO));
    /// ```
    pub fn reset(&self, key: &Key, delay: Duration) -> bool {
        self.reset_tick(key, registry::deadline_in(delay))
    }

    /// Moves the deadline of `key` to `when`, or gives `false` if that item does not wait here
    /// (any more). Otherwise like [`reset`](Self::reset).
    pub fn reset_at(&self, key: &Key, when: Instant) -> bool {
        self.reset_tick(key, clock::tick_of(when))
    }

    fn reset_tick(&self, key: &Key, deadline: Tick) -> bool {
        self.shared
            .with(|state, later| state.reset(key, deadline, later))
    }

    /// Waits until the receivers are gone or have closed the channel.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let (sender, receiver) = cogwheel::delay_queue::channel::<u32>();
    /// tokio::spawn(async move { drop(receiver) });
    /// sender.closed().await;
    /// assert!(sender.is_closed());
    /// # }
    /// ```
    pub async fn closed(&self) {
        let mut place = Mourning {
            shared: &self.shared,
            place: None,
        };
        poll_fn(|cx| place.poll_closed(cx)).await;
    }

    /// Whether the receivers are gone or have closed the channel. It stays so.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.with(|state, _| state.closed)
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

    /// Whether [`try_insert`](Self::try_insert) would find no room: as many items wait as may, or
    /// what is free is reserved for a waiting [`send`](Self::send).
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.shared.with(|state, _| state.is_full())
    }

    /// How many items may wait, or `None` if the channel was made without a bound.
    #[must_use]
    pub fn capacity(&self) -> Option<usize> {
        let capacity = self.shared.with(|state, _| state.capacity);
        (capacity < MAX_ITEMS).then_some(capacity)
    }

    /// Whether `other` belongs to the same channel, so that its keys are valid here.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

#[track_caller]
fn expect<T>(inserted: Result<Key, TryInsertError<T>>) -> Key {
    match inserted {
        Ok(key) => key,
        Err(error) => panic!("{error}"),
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.with(|state, _| state.senders += 1);
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.with(|state, later| {
            state.senders -= 1;
            state.finish(later);
        });
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, closed) = self
            .shared
            .with(|state, _| (state.queue.len(), state.closed));
        f.debug_struct("Sender")
            .field("len", &len)
            .field("closed", &closed)
            .finish_non_exhaustive()
    }
}

/// A sender that may be waiting for room.
struct Blocked<'a, T> {
    shared: &'a Shared<T>,
    place: Option<usize>,
}

impl<T> Blocked<'_, T> {
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        item: &mut Option<(T, Tick)>,
    ) -> Poll<Result<Key, SendError<T>>> {
        let budget = ready!(coop::poll_proceed(cx));
        let waker = cx.waker();
        let mut arrival = Arrival { waker, fresh: None };
        loop {
            let admission = self
                .shared
                .with(|state, later| state.admit(&mut self.place, &mut arrival, item, later));
            let result = match admission {
                Admission::Inserted(key) => Ok(key),
                Admission::Closed => match item.take() {
                    Some((value, _)) => Err(SendError(value)),
                    None => return Poll::Pending,
                },
                Admission::Wait => return Poll::Pending,
                Admission::NeedsWaker => {
                    arrival.fresh = Some((waker.clone(), None));
                    continue;
                }
            };
            budget.made_progress();
            return Poll::Ready(result);
        }
    }
}

impl<T> Drop for Blocked<'_, T> {
    fn drop(&mut self) {
        if self.place.is_some() {
            self.shared
                .with(|state, later| state.give_up(&mut self.place, later));
        }
    }
}

/// A sender that may be waiting for the end.
struct Mourning<'a, T> {
    shared: &'a Shared<T>,
    place: Option<usize>,
}

impl<T> Mourning<'_, T> {
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker();
        let mut arrival = Arrival { waker, fresh: None };
        loop {
            let known = self.shared.with(|state, later| {
                let State {
                    closed, mourning, ..
                } = state;
                (!*closed).then(|| mourning.wait(&mut self.place, &mut arrival, later))
            });
            match known {
                None => return Poll::Ready(()),
                Some(true) => return Poll::Pending,
                Some(false) => arrival.fresh = Some((waker.clone(), None)),
            }
        }
    }
}

impl<T> Drop for Mourning<'_, T> {
    fn drop(&mut self) {
        if self.place.is_some() {
            self.shared.with(|state, later| {
                state.mourning.leave(&mut self.place, later);
            });
        }
    }
}
