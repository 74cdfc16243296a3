//! Changing what waits: taking items out of a [`DelayQueue`] and moving their deadlines.
//!
//! Each operation comes in two forms. The plain one is for keys that are known to be live and
//! panics at its caller if they are not; the `try_` form is for keys that may be stale. Every
//! change is completed first, and only then is a poller woken or an item dropped.

#![forbid(unsafe_code)]

use tokio::time::{Duration, Instant};

use super::{DelayQueue, Expired, Key};
use crate::clock;
use crate::driver::registry;
use crate::tick::Tick;

/// The text of the panics about keys.
pub(super) const INVALID_KEY: &str = "invalid key";

impl<T> DelayQueue<T> {
    /// Takes the item of `key` out, whether it is due or not.
    ///
    /// If that leaves the queue empty, the task that waits for it is woken to see the end.
    ///
    /// # Panics
    ///
    /// At the caller, with "invalid key", if the queue has no item of that key (anymore).
    /// [`try_remove`](Self::try_remove) does not panic.
    ///
    /// # Cost
    ///
    /// O(1), no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// assert_eq!(queue.remove(&key).into_inner(), "foo");
    /// ```
    #[track_caller]
    pub fn remove(&mut self, key: &Key) -> Expired<T> {
        let Some(expired) = self.try_remove(key) else {
            panic!("{INVALID_KEY}")
        };
        expired
    }

    /// Takes the item of `key` out, or gives `None` if the queue has no item of that key.
    ///
    /// Otherwise like [`remove`](Self::remove). To remove what has been yielded in the meantime is
    /// no error: that is what this form is for.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// assert_eq!(queue.try_remove(&key).unwrap().into_inner(), "foo");
    /// assert!(queue.try_remove(&key).is_none());
    /// ```
    pub fn try_remove(&mut self, key: &Key) -> Option<Expired<T>> {
        let entry = self.entry(key)?;
        let deadline = self.wheel.deadline(entry)?;
        let data = self.wheel.remove(entry)?;
        // In one value before any waker runs: should that panic, the item is dropped, not leaked.
        let expired = Expired {
            data,
            deadline: clock::instant_of(deadline),
            key: *key,
        };
        self.settle();
        Some(expired)
    }

    /// Moves the deadline of `key` to `timeout` from now.
    ///
    /// It may be moved in both directions, any number of times, also when the item is due but has
    /// not been yielded. A timeout of zero makes the item due at once.
    ///
    /// # Panics
    ///
    /// At the caller, with "invalid key", if the queue has no item of that key (anymore).
    /// [`try_reset`](Self::try_reset) does not panic.
    ///
    /// # Cost
    ///
    /// O(1) and a clock read, no allocation.
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
    /// let start = Instant::now();
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// queue.reset(&key, Duration::from_secs(10));
    ///
    /// assert_eq!(queue.next().await.unwrap().into_inner(), "foo");
    /// assert_eq!(start.elapsed(), Duration::from_secs(10));
    /// # }
    /// ```
    #[track_caller]
    pub fn reset(&mut self, key: &Key, timeout: Duration) {
        assert!(self.try_reset(key, timeout), "{INVALID_KEY}");
    }

    /// Moves the deadline of `key` to `when`; in the past means due at once.
    ///
    /// # Panics
    ///
    /// At the caller, with "invalid key", if the queue has no item of that key (anymore).
    /// [`try_reset_at`](Self::try_reset_at) does not panic.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    /// use tokio::time::Instant;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// assert!(queue.pop_expired().is_none());
    ///
    /// queue.reset_at(&key, Instant::now());
    /// assert_eq!(queue.pop_expired().unwrap().into_inner(), "foo");
    /// # }
    /// ```
    #[track_caller]
    pub fn reset_at(&mut self, key: &Key, when: Instant) {
        assert!(self.try_reset_at(key, when), "{INVALID_KEY}");
    }

    /// Moves the deadline of `key` to `timeout` from now, or gives `false` if the queue has no
    /// item of that key.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// assert!(queue.try_reset(&key, Duration::from_secs(10)));
    ///
    /// queue.remove(&key);
    /// assert!(!queue.try_reset(&key, Duration::from_secs(10)));
    /// ```
    pub fn try_reset(&mut self, key: &Key, timeout: Duration) -> bool {
        self.reset_tick(key, registry::deadline_in(timeout))
    }

    /// Moves the deadline of `key` to `when`, or gives `false` if the queue has no item of that
    /// key.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let (mut queue, mut other) = (DelayQueue::new(), DelayQueue::new());
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// other.insert("bar", Duration::from_secs(5));
    ///
    /// let later = queue.deadline(&key) + Duration::from_secs(5);
    /// assert!(queue.try_reset_at(&key, later));
    /// assert!(!other.try_reset_at(&key, later));
    /// ```
    pub fn try_reset_at(&mut self, key: &Key, when: Instant) -> bool {
        self.reset_tick(key, clock::tick_of(when))
    }

    pub(super) fn reset_tick(&mut self, key: &Key, deadline: Tick) -> bool {
        let moved = self
            .entry(key)
            .is_some_and(|entry| self.wheel.reset(entry, deadline));
        if moved {
            self.settle();
        }
        moved
    }

    /// Drops all items. Their keys become stale; the capacity stays.
    ///
    /// The task that waits for the queue is woken to see the end. If an item panics when it is
    /// dropped, the other items are dropped too and the queue is empty and in order; only its
    /// capacity is gone.
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
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// queue.clear();
    ///
    /// assert!(queue.is_empty());
    /// assert!(queue.try_remove(&key).is_none());
    /// ```
    pub fn clear(&mut self) {
        // It outlives the drops of the items: should one panic, the poller is woken all the same.
        let _recall = self.alarm.settle(None);
        self.wheel.clear();
    }
}
