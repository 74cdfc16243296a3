//! Looking at what waits in a [`DelayQueue`], and at the memory it takes.

#![forbid(unsafe_code)]

use core::fmt;

use tokio::time::{Duration, Instant};

use super::edit::INVALID_KEY;
use super::{DelayQueue, Key, MAX_ITEMS};
use crate::clock;
use crate::driver::registry;

impl<T> DelayQueue<T> {
    /// How many items wait: those that are not due yet, and those that are and have not been
    /// yielded.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert("soon", Duration::ZERO);
    /// queue.insert("later", Duration::from_secs(5));
    /// assert_eq!(queue.len(), 2);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.wheel.len()
    }

    /// Whether nothing waits, neither due nor to come.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// assert!(queue.is_empty());
    /// queue.insert("foo", Duration::ZERO);
    /// assert!(!queue.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }

    /// The deadline of `key`, exactly as it was last set; it may have passed.
    ///
    /// # Panics
    ///
    /// At the caller, with "invalid key", if the queue has no item of that key (anymore).
    /// [`try_deadline`](Self::try_deadline) does not panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// let first = queue.insert("foo", Duration::from_secs(5));
    /// let second = queue.insert("bar", Duration::from_secs(10));
    /// assert!(queue.deadline(&first) < queue.deadline(&second));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn deadline(&self, key: &Key) -> Instant {
        let Some(deadline) = self.try_deadline(key) else {
            panic!("{INVALID_KEY}")
        };
        deadline
    }

    /// The deadline of `key`, or `None` if the queue has no item of that key.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// assert_eq!(queue.try_deadline(&key), Some(queue.deadline(&key)));
    /// queue.remove(&key);
    /// assert_eq!(queue.try_deadline(&key), None);
    /// ```
    #[must_use]
    pub fn try_deadline(&self, key: &Key) -> Option<Instant> {
        let tick = self.wheel.deadline(self.entry(key)?)?;
        Some(clock::instant_of(tick))
    }

    /// How long the item of `key` still has to wait: zero if it is due, `None` if the queue has no
    /// item of that key.
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
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// tokio::time::advance(Duration::from_secs(2)).await;
    /// assert_eq!(queue.remaining(&key), Some(Duration::from_secs(3)));
    /// tokio::time::advance(Duration::from_secs(7)).await;
    /// assert_eq!(queue.remaining(&key), Some(Duration::ZERO));
    /// # }
    /// ```
    #[must_use]
    pub fn remaining(&self, key: &Key) -> Option<Duration> {
        let deadline = self.wheel.deadline(self.entry(key)?)?;
        Some(deadline.since(registry::now()))
    }

    /// The item of `key`, or `None` if the queue has no item of that key.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("foo", Duration::from_secs(5));
    /// assert_eq!(queue.get(&key), Some(&"foo"));
    /// ```
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&T> {
        self.wheel.get(self.entry(key)?)
    }

    /// The item of `key`, to be changed, or `None` if the queue has no item of that key. Its
    /// deadline stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert(1, Duration::from_secs(5));
    /// *queue.get_mut(&key).unwrap() += 1;
    /// assert_eq!(queue.remove(&key).into_inner(), 2);
    /// ```
    #[must_use]
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut T> {
        let entry = self.entry(key)?;
        self.wheel.get_mut(entry)
    }

    /// All items with their keys and deadlines, in no particular order.
    ///
    /// # Cost
    ///
    /// O(capacity) for the whole.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert(1, Duration::from_secs(5));
    /// queue.insert(2, Duration::from_secs(50));
    ///
    /// let sum: i32 = queue.iter().map(|(_key, _deadline, item)| item).sum();
    /// assert_eq!(sum, 3);
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (Key, Instant, &T)> {
        self.wheel
            .iter()
            .map(|(entry, deadline, item)| (self.key(entry), clock::instant_of(deadline), item))
    }

    /// The key of the item that will be yielded next if nothing changes until then.
    ///
    /// # Cost
    ///
    /// O(1) if an item has been found due and not been yielded. Otherwise a search through the
    /// items that lie nearest to now, one bucket per level of the wheel.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert("foo", Duration::from_secs(10));
    /// let first = queue.insert("bar", Duration::from_secs(5));
    /// assert_eq!(queue.peek(), Some(first));
    /// ```
    #[must_use]
    pub fn peek(&self) -> Option<Key> {
        self.wheel.peek().map(|entry| self.key(entry))
    }

    /// The deadline of the item that will be yielded next, or `None` if the queue is empty. It has
    /// passed if an item is due.
    ///
    /// # Cost
    ///
    /// That of [`peek`](Self::peek).
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// assert_eq!(queue.next_deadline(), None);
    /// let key = queue.insert("foo", Duration::from_secs(10));
    /// assert_eq!(queue.next_deadline(), Some(queue.deadline(&key)));
    /// ```
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let tick = self.wheel.deadline(self.wheel.peek()?)?;
        Some(clock::instant_of(tick))
    }

    /// How many items the queue can hold without allocating.
    ///
    /// # Examples
    ///
    /// ```
    /// let queue: cogwheel::DelayQueue<i32> = cogwheel::DelayQueue::with_capacity(10);
    /// assert!(queue.capacity() >= 10);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.wheel.capacity()
    }

    /// Makes room for at least `additional` more items, so that inserting them does not allocate.
    ///
    /// # Panics
    ///
    /// At the caller, with "max queue capacity exceeded", if the queue would have to hold more
    /// than 2³⁰ - 1 items.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert("foo", Duration::from_secs(10));
    /// queue.reserve(10);
    /// assert!(queue.capacity() >= 11);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        let fits = self
            .len()
            .checked_add(additional)
            .is_some_and(|wanted| wanted <= MAX_ITEMS);
        assert!(fits, "max queue capacity exceeded");
        self.wheel.reserve(additional);
    }

    /// Gives back memory at the end of the storage. Items are not moved, so one that was inserted
    /// late can hold on to it; [`compact`](Self::compact) moves them.
    ///
    /// # Cost
    ///
    /// O(capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut queue: cogwheel::DelayQueue<i32> = cogwheel::DelayQueue::with_capacity(10);
    /// queue.shrink_to_fit();
    /// assert_eq!(queue.capacity(), 0);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        self.wheel.shrink_to_fit();
    }

    /// Gives back all memory that the items do not need, moving them together. Keys stay valid.
    ///
    /// # Cost
    ///
    /// O(capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::DelayQueue;
    /// use std::time::Duration;
    ///
    /// let mut queue = DelayQueue::with_capacity(10);
    /// let first = queue.insert(5, Duration::from_secs(5));
    /// let last = queue.insert(10, Duration::from_secs(10));
    /// queue.remove(&first);
    ///
    /// queue.compact();
    /// assert_eq!(queue.capacity(), 1);
    /// assert_eq!(queue.get(&last), Some(&10));
    /// ```
    pub fn compact(&mut self) {
        self.wheel.compact();
    }
}

impl<T> fmt::Debug for DelayQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayQueue")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("next_deadline", &self.next_deadline())
            .finish_non_exhaustive()
    }
}
