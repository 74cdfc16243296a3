//! A queue whose items come out when their time has come.
//!
//! [`DelayQueue`] is a stream over this crate's [`Wheel`]: the wheel orders the items, one timer
//! of the runtime wakes the task that waits for the first of them.
//!
//! # Invariants
//!
//! 1. An item is yielded never before its deadline, in the order of deadlines, and in the order of
//!    insertion where deadlines are equal.
//! 2. Every item leaves the queue once: it is yielded, removed or cleared.
//! 3. A key that is not of a live item of this very queue changes nothing.
//! 4. A pending poller is woken when its answer changes or when it has to wake up earlier, and not
//!    for anything else.
//! 5. Wakers and the drops of items run when the queue has finished its change.

#![forbid(unsafe_code)]

mod alarm;
mod batch;
mod channel;
mod edit;
mod entry;
mod poll;
mod sweep;
mod view;

use tokio::time::{Duration, Instant};

use self::alarm::Alarm;
pub use self::channel::{
    Receiver, SendError, Sender, TryInsertError, TryRecvError, channel, channel_bounded,
};
pub use self::entry::{Expired, Key};
pub use self::sweep::Drain;
use crate::clock;
use crate::driver::registry;
use crate::primitive::counter::{AtomicU64, Ordering};
use crate::tick::Tick;
use crate::wheel::{self, Wheel};

/// A queue of items, each of which comes out when its own deadline has been reached.
///
/// Items go in with a delay or a deadline and come out of the [`Stream`](futures_core::Stream), or
/// of [`poll_expired`](Self::poll_expired). The [`Key`] that [`insert`](Self::insert) returns finds
/// the item again while it waits: to remove it, to move its deadline, to read it or change it.
/// That makes one task the keeper of any number of deadlines: session expiry, retries, keep-alive,
/// the entries of a cache.
///
/// The type has the surface of `tokio_util::time::DelayQueue` and can take its place. What it does
/// beyond that one: it never confuses keys, takes any deadline however far, keeps the order of
/// items that are due together, yields what is due already without a millisecond of delay, and
/// lets its items be seen.
///
/// # Order
///
/// Items come in the order of their deadlines; items with equal deadlines come in the order in
/// which they were inserted, whether they have been reset since or not. An item inserted with a
/// deadline that has passed already is due at once and takes its place among the others that are
/// due.
///
/// # The end of the stream
///
/// An empty queue yields `None`. That is not the end: insert another item and the stream goes on,
/// and a task that was told `None` by its last poll is woken for it.
/// [`FusedStream::is_terminated`](futures_core::FusedStream::is_terminated) is true exactly while
/// the queue is empty, so that a `futures::select!` loop skips an empty queue and takes it up again
/// later.
///
/// # Units and rounding
///
/// Deadlines are exact to the nanosecond and are reported as they were set. An item is never
/// yielded before its deadline. It is yielded by the first poll at or after it; the task that waits
/// is woken by the runtime's timer, which is as precise as [`Sleep`](crate::time::Sleep). There is
/// no limit on deadlines: [`Duration::MAX`] is practically never.
///
/// # Waking
///
/// A poll that finds nothing due leaves the waker of its task; only the last one counts, as for
/// every stream. That task is woken
///
/// * when the first deadline is reached;
/// * when an insertion or a reset puts an item before everything it waits for;
/// * when the queue becomes empty under it, by [`remove`](Self::remove), [`clear`](Self::clear),
///   [`retain`](Self::retain), [`drain`](Self::drain) or [`pop_expired`](Self::pop_expired),
///   because its answer is `None` now;
/// * when it was told `None` and there is an item again.
///
/// Nothing else wakes it. In particular, putting the first item off or removing it while others
/// remain just moves the timer, so an idle timeout that is reset on every packet costs no wakes.
///
/// # Cancel safety
///
/// The queue keeps its items while nobody polls it. A future like `StreamExt::next` may be dropped
/// at any point, so the queue may stand in a `select!`: an item is either returned or still there.
///
/// # Runtime
///
/// The queue may be made, filled, changed and dropped anywhere. Only a poll that has to wait needs
/// a Tokio runtime with time enabled, the one that its task runs in; nothing is spawned. Time is
/// that of the current runtime's default timer: Tokio's clock, or a manual one that was
/// [made the default](crate::Timer::make_default). A queue that waits counts as one timer of that,
/// and the poll panics where a [bound](crate::timer::Builder::max_timers) leaves no place for it.
///
/// It takes part in Tokio's cooperative scheduling: after a burst of items in one poll of a task it
/// returns `Pending` once, so that other tasks get their turn.
///
/// # Cost
///
/// Inserting, removing and resetting are O(1); yielding an item is amortised O(1), each item being
/// moved at most once per level of the wheel. Memory is kept for the peak number of items until
/// [`compact`](Self::compact) or [`shrink_to_fit`](Self::shrink_to_fit).
///
/// # Examples
///
/// A cache whose entries live for thirty seconds after their last use. Whoever owns it lets
/// [`poll_expired`](Self::poll_expired) purge it:
///
/// ```
/// use cogwheel::{DelayQueue, delay_queue};
/// use std::collections::HashMap;
/// use std::future::poll_fn;
/// use std::task::{Context, Poll, ready};
/// use std::time::Duration;
///
/// const TTL: Duration = Duration::from_secs(30);
///
/// #[derive(Default)]
/// struct Cache {
///     entries: HashMap<String, (u64, delay_queue::Key)>,
///     expirations: DelayQueue<String>,
/// }
///
/// impl Cache {
///     fn insert(&mut self, name: &str, value: u64) {
///         let key = self.expirations.insert(name.to_owned(), TTL);
///         if let Some((_, old)) = self.entries.insert(name.to_owned(), (value, key)) {
///             self.expirations.try_remove(&old);
///         }
///     }
///
///     fn get(&mut self, name: &str) -> Option<u64> {
///         let (value, key) = self.entries.get(name)?;
///         self.expirations.try_reset(key, TTL);
///         Some(*value)
///     }
///
///     /// Purges what has expired; ready when nothing is left.
///     fn poll_purge(&mut self, cx: &mut Context<'_>) -> Poll<()> {
///         while let Some(expired) = ready!(self.expirations.poll_expired(cx)) {
///             self.entries.remove(expired.get_ref());
///         }
///         Poll::Ready(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let mut cache = Cache::default();
/// cache.insert("a", 1);
/// cache.insert("b", 2);
///
/// tokio::time::advance(Duration::from_secs(20)).await;
/// assert_eq!(cache.get("a"), Some(1)); // lives until second 50
///
/// tokio::time::advance(Duration::from_secs(10)).await;
/// let purge = poll_fn(|cx| Poll::Ready(cache.poll_purge(cx))).await;
/// assert!(purge.is_pending()); // "a" is left
/// assert_eq!(cache.get("b"), None);
///
/// let start = tokio::time::Instant::now();
/// poll_fn(|cx| cache.poll_purge(cx)).await;
/// assert_eq!(start.elapsed(), Duration::from_secs(20));
/// assert!(cache.entries.is_empty());
/// # }
/// ```
///
/// As a stream, next to other work:
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::DelayQueue;
/// use futures::StreamExt;
/// use std::time::Duration;
/// use tokio::sync::mpsc;
///
/// let (send, mut requests) = mpsc::channel(8);
/// tokio::spawn(async move {
///     for id in [1, 2, 3] {
///         send.send(id).await.unwrap();
///     }
/// });
///
/// // Answer every request after a delay of its own, until there are no more.
/// let mut queue = DelayQueue::new();
/// let mut answered = Vec::new();
/// let mut open = true;
/// while open || !queue.is_empty() {
///     tokio::select! {
///         request = requests.recv(), if open => match request {
///             Some(id) => { queue.insert(id, Duration::from_secs(10 - id)); }
///             None => open = false,
///         },
///         Some(expired) = queue.next() => answered.push(expired.into_inner()),
///     }
/// }
/// assert_eq!(answered, [3, 2, 1]);
/// # }
/// ```
pub struct DelayQueue<T> {
    /// Tells the keys of this queue from those of others.
    id: u64,
    wheel: Wheel<T>,
    alarm: Alarm,
}

/// How many items a queue can hold. Tokio's queue has the same limit.
const MAX_ITEMS: usize = (1 << 30) - 1;

/// An identity that no queue of this process has had.
fn fresh_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // ORDERING: nothing is published with the number; it only has to be unique.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<T> DelayQueue<T> {
    /// An empty queue, without memory for items.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue: cogwheel::DelayQueue<u32> = cogwheel::DelayQueue::new();
    /// assert!(queue.is_empty());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            id: fresh_id(),
            wheel: Wheel::starting_at(registry::now()),
            alarm: Alarm::default(),
        }
    }

    /// An empty queue with memory for `capacity` items.
    ///
    /// # Panics
    ///
    /// If `capacity` is more than a queue can hold, as [`reserve`](Self::reserve) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue: cogwheel::DelayQueue<u32> = cogwheel::DelayQueue::with_capacity(10);
    /// assert!(queue.capacity() >= 10);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut queue = Self::new();
        queue.reserve(capacity);
        queue
    }

    /// Puts `value` in, to come out `timeout` from now.
    ///
    /// A timeout of zero means due at once. One that is too long for the clock is practically
    /// never. The waiting task is woken if this is now the first item to come.
    ///
    /// # Panics
    ///
    /// At the caller, with "max entries exceeded", if the queue holds 2³⁰ - 1 items.
    ///
    /// # Cost
    ///
    /// O(1) and a clock read; allocates if the capacity is used up.
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
    /// queue.insert("second", Duration::from_millis(20));
    /// queue.insert("first", Duration::from_millis(10));
    /// queue.insert("never", Duration::MAX);
    ///
    /// assert_eq!(queue.next().await.unwrap().into_inner(), "first");
    /// assert_eq!(queue.next().await.unwrap().into_inner(), "second");
    /// assert_eq!(queue.len(), 1);
    /// # }
    /// ```
    #[track_caller]
    pub fn insert(&mut self, value: T, timeout: Duration) -> Key {
        self.insert_tick(value, registry::deadline_in(timeout))
    }

    /// Puts `value` in, to come out at `when`.
    ///
    /// A deadline in the past means due at once. It is kept as it is, which is what orders the
    /// item among others that are due.
    ///
    /// # Panics
    ///
    /// At the caller, with "max entries exceeded", if the queue holds 2³⁰ - 1 items.
    ///
    /// # Cost
    ///
    /// O(1); allocates if the capacity is used up.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::DelayQueue;
    /// use futures::StreamExt;
    /// use std::time::Duration;
    /// use tokio::time::Instant;
    ///
    /// let mut queue = DelayQueue::new();
    /// let deadline = Instant::now() + Duration::from_micros(1_500);
    /// let key = queue.insert_at("tea", deadline);
    ///
    /// assert_eq!(queue.deadline(&key), deadline);
    /// assert_eq!(queue.next().await.unwrap().get_ref(), &"tea");
    /// assert!(Instant::now() >= deadline);
    /// # }
    /// ```
    #[track_caller]
    pub fn insert_at(&mut self, value: T, when: Instant) -> Key {
        self.insert_tick(value, clock::tick_of(when))
    }

    #[track_caller]
    fn insert_tick(&mut self, value: T, deadline: Tick) -> Key {
        assert!(self.len() < MAX_ITEMS, "max entries exceeded");
        let entry = self.wheel.insert(deadline, value);
        drop(self.alarm.add(deadline));
        self.key(entry)
    }

    /// The name outside of what the wheel calls `entry`.
    fn key(&self, entry: wheel::Key) -> Key {
        let queue = self.id;
        Key { queue, entry }
    }

    /// The wheel's name for `key`, if it is a key of this queue at all.
    fn entry(&self, key: &Key) -> Option<wheel::Key> {
        (key.queue == self.id).then_some(key.entry)
    }
}

impl<T> Default for DelayQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Nothing in the queue is ever pinned.
impl<T> Unpin for DelayQueue<T> {}
