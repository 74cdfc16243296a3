//! A delay queue between tasks: many hands put items in, many take them out when they are due.
//!
//! ```text
//!  Sender ─┐                                   ┌─ Receiver
//!  Sender ─┼─► State (under one lock): items, ─┼─ Receiver
//!  Sender ─┘   waiting lines, alarm            └─ Receiver
//! ```
//!
//! The lock is a plain mutex, held for as long as it takes to change a wheel and a waiting line:
//! amortised O(1) for each item that is put in or taken out. Foreign code (wakers, drops of items,
//! a turn of a runtime's timer) runs after it has been released; [`Later`] collects it.
//!
//! # Waiting
//!
//! All receivers together have one timer, the *alarm*, which rings for the channel and not for one
//! of them; the channel then calls the receiver that has waited longest. So a receiver that comes
//! or goes costs the others nothing, and an item that becomes due wakes one. `state.rs` has the
//! rule by which no wake-up is lost, `alarm.rs` how the timer is armed outside of the lock.

#![forbid(unsafe_code)]

mod alarm;
mod error;
mod later;
mod line;
mod receiver;
mod sender;
mod state;
#[cfg(test)]
mod tests;

use core::task::{Context, Poll, Waker};
use std::task::Wake;

pub use self::error::{SendError, TryInsertError, TryRecvError};
pub use self::receiver::Receiver;
pub use self::sender::Sender;
use super::MAX_ITEMS;
use crate::delay_queue::channel::alarm::{Bell, Errand};
use crate::delay_queue::channel::later::Later;
use crate::delay_queue::channel::state::State;
use crate::error::TimerError;
use crate::primitive::{Arc, Mutex};

/// A delay queue that is shared by tasks or threads: items that go in at the [`Sender`] come out at
/// the [`Receiver`] when their time has come.
///
/// Both sides can be cloned. Each item goes to exactly one receiver, never before its deadline,
/// in the order of deadlines, and in the order of insertion where deadlines are equal. A sender
/// keeps the [`Key`](super::Key) of its item and can remove it or move its deadline as long as it
/// waits.
///
/// There is no limit to the number of items but that of every queue, 2³⁰ - 1;
/// [`channel_bounded`] sets one.
///
/// # The end
///
/// When all senders are gone, what waits still comes at its deadlines, and then `None`. The same
/// after [`Receiver::close`], which also turns the senders away. When all receivers are gone, what
/// waits is dropped and the senders are turned away.
///
/// # Cost
///
/// An operation locks a mutex and costs what it costs on a [`DelayQueue`](super::DelayQueue). An
/// item wakes one receiver when it becomes due, and one when it is put in before everything else;
/// nothing else wakes anybody.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::delay_queue;
/// use std::time::Duration;
///
/// let (orders, mut closing) = delay_queue::channel();
/// let paid = orders.insert("order 1", Duration::from_secs(1800));
/// tokio::spawn(async move {
///     orders.insert("order 2", Duration::from_secs(900));
///     assert!(orders.remove(&paid).is_some());
/// });
///
/// assert_eq!(closing.recv().await.unwrap().into_inner(), "order 2");
/// assert!(closing.recv().await.is_none()); // the only sender is gone, and nothing is left
/// # }
/// ```
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    pair(MAX_ITEMS)
}

/// As [`channel`], with room for `capacity` items.
///
/// An item takes up room from its insertion until it is received or removed, also while it is due.
/// While there is no room, [`Sender::try_insert`] refuses and [`Sender::send`] waits; senders that
/// wait are served in the order in which they came.
///
/// # Panics
///
/// At the caller, if `capacity` is zero.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::delay_queue;
/// use std::time::Duration;
///
/// let (sender, mut receiver) = delay_queue::channel_bounded(1);
/// sender.insert("first", Duration::from_secs(2));
/// assert!(sender.try_insert("second", Duration::ZERO).unwrap_err().is_full());
///
/// let second = tokio::spawn(async move { sender.send("second", Duration::from_secs(1)).await });
/// assert_eq!(receiver.recv().await.unwrap().into_inner(), "first");
/// assert_eq!(receiver.recv().await.unwrap().into_inner(), "second");
/// assert!(second.await.unwrap().is_ok());
/// # }
/// ```
#[must_use]
#[track_caller]
pub fn channel_bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a delay queue's capacity must not be zero");
    pair(capacity.min(MAX_ITEMS))
}

fn pair<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State::new(capacity)),
    });
    (Sender::first(shared.clone()), Receiver::first(shared))
}

/// What the handles of a channel share.
struct Shared<T> {
    state: Mutex<State<T>>,
}

impl<T> Shared<T> {
    /// Changes the state, and afterwards runs the foreign code that has become due by it.
    fn with<R>(&self, change: impl FnOnce(&mut State<T>, &mut Later) -> R) -> R {
        let mut later = Later::default();
        let result = change(&mut self.state.lock(), &mut later);
        drop(later);
        result
    }
}

/// The ring of the alarm.
impl<T: Send + 'static> Wake for Shared<T> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(errand) = self.with(State::ring) {
            self.arm_for_others(errand);
        }
    }
}

impl<T: Send + 'static> Shared<T> {
    /// Arms the alarm for a receiver that waits. `false` if it has to look at the queue again.
    ///
    /// # Panics
    ///
    /// Panics if a new bell is needed and the calling thread is in no runtime that could have one.
    #[track_caller]
    fn arm(self: &Arc<Self>, errand: Errand) -> bool {
        let fresh = errand.bell.is_none();
        let armed = self.run(errand);
        assert!(!(fresh && armed.is_none()), "{}", TimerError::Closed);
        armed.unwrap_or(false)
    }

    /// Arms the alarm for those who wait, or calls one of them.
    fn arm_for_others(self: &Arc<Self>, errand: Errand) {
        self.run(errand);
        self.with(State::pass_on);
    }

    /// Whether the alarm is armed; `None` if its timer is closed.
    #[track_caller]
    fn run(self: &Arc<Self>, Errand { until, bell }: Errand) -> Option<bool> {
        let mut out = Out {
            shared: self,
            back: false,
        };
        let mut bell = match bell {
            Some(mut bell) => {
                bell.sleep.set_tick(until);
                bell
            }
            None => Bell::new(until),
        };
        let waker = Waker::from(self.clone());
        let polled = bell.sleep.try_poll(&mut Context::from_waker(&waker));
        out.back = true;
        self.with(|state, later| match polled {
            Some(Poll::Pending) => Some(state.bring_back(bell, until, later)),
            Some(Poll::Ready(())) => {
                state.bring_back_unarmed(Some(bell), later);
                Some(false)
            }
            None => {
                state.bring_back_unarmed(None, later);
                later.silence(Some(bell));
                None
            }
        })
    }
}

/// Says that the alarm will not come back, if a panic keeps it from doing so.
struct Out<'a, T> {
    shared: &'a Shared<T>,
    back: bool,
}

impl<T> Drop for Out<'_, T> {
    fn drop(&mut self) {
        if !self.back {
            self.shared.with(|state, later| {
                state.bring_back_unarmed(None, later);
                state.pass_on(later);
            });
        }
    }
}
