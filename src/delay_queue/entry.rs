//! What a queue hands out: the [`Key`] of an item, and the item itself once it has [`Expired`].

#![forbid(unsafe_code)]

use tokio::time::Instant;

use crate::clock;
use crate::wheel;

/// The name of an item in a [`DelayQueue`](super::DelayQueue).
///
/// A key belongs to one item of one queue, for ever. When the item has been yielded, removed or
/// cleared away its key is *stale*: it never names a later item, whatever slot of memory that one
/// is kept in, and it never names an item of another queue. Memory operations
/// ([`compact`](super::DelayQueue::compact), [`shrink_to_fit`](super::DelayQueue::shrink_to_fit))
/// leave keys valid.
///
/// # Examples
///
/// ```
/// use cogwheel::DelayQueue;
/// use std::time::Duration;
///
/// let mut queue = DelayQueue::new();
/// let first = queue.insert("first", Duration::from_secs(1));
/// queue.remove(&first);
///
/// // The second item takes over the memory of the first, but not its name.
/// let second = queue.insert("second", Duration::from_secs(1));
/// assert_ne!(first, second);
/// assert!(queue.try_remove(&first).is_none());
/// assert_eq!(queue.get(&second), Some(&"second"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which queue: every wheel counts its entries from the same number.
    pub(super) queue: u64,
    /// Which entry of its wheel.
    pub(super) entry: wheel::Key,
}

/// An item that has left a [`DelayQueue`](super::DelayQueue), because its deadline was reached or
/// because it was removed.
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
/// let key = queue.insert(String::from("tea"), Duration::from_secs(180));
///
/// let mut expired = queue.next().await.unwrap();
/// assert_eq!(expired.key(), key);
/// assert_eq!(expired.get_ref(), "tea");
/// expired.get_mut().push_str(" is ready");
/// assert_eq!(expired.into_inner(), "tea is ready");
/// # }
/// ```
#[derive(Debug)]
pub struct Expired<T> {
    pub(super) data: T,
    pub(super) deadline: Instant,
    pub(super) key: Key,
}

impl<T> Expired<T> {
    /// What has come out of the wheel of this queue.
    pub(super) fn new(queue: u64, expired: wheel::Expired<T>) -> Self {
        let entry = expired.key;
        Self {
            data: expired.value,
            deadline: clock::instant_of(expired.deadline),
            key: Key { queue, entry },
        }
    }

    /// The item.
    #[must_use]
    pub const fn get_ref(&self) -> &T {
        &self.data
    }

    /// The item, to be changed.
    #[must_use]
    pub const fn get_mut(&mut self) -> &mut T {
        &mut self.data
    }

    /// Takes the item out.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data
    }

    /// The deadline the item had when it left the queue, exactly as it was last set.
    ///
    /// What lies between it and now is how late the item is handled.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The key the item had. It is stale: the item is no longer in the queue.
    #[must_use]
    pub const fn key(&self) -> Key {
        self.key
    }
}
