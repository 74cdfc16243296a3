//! `lazy_timeout`: a timeout that costs nothing unless its future has to wait.
//!
//! Most reads of a busy connection, lock and channel are ready at once. [`LazyTimeout`] holds a
//! plain [`Duration`] until a poll finds the future pending; only then is the clock read and a
//! [`Sleep`] made:
//!
//! ```text
//! Waiting(duration) ─ first pending poll: now + duration ─► Counting(Sleep)
//! ```
//!
//! Invariant: a value that is ready at its first poll costs no clock read and no timer.

#![forbid(unsafe_code)]

use core::future::{Future, IntoFuture};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;
use tokio::task::coop;

use crate::error::Elapsed;
use crate::sleep::{Sleep, sleep};
use crate::timeout::poll_delay;

/// Gives `future` until `duration` after the first poll that finds it pending.
///
/// Like [`timeout`](crate::time::timeout), but for futures that are mostly ready at once: those
/// cost no clock read and no timer. The time between this call and the first poll does not count.
///
/// # Units and rounding
///
/// As [`timeout`](crate::time::timeout), counted from that poll.
///
/// # Errors
///
/// The future returns [`Elapsed`] if the deadline has come and the inner future, polled first, was
/// still pending.
///
/// # Panics
///
/// Not here. The timer is made by the first poll that finds the future pending, so it is that poll
/// which panics if its thread is not in a Tokio runtime with timers, or if the default timer there
/// is at its [`max_timers`](crate::timer::Builder::max_timers): a place is taken no earlier. A
/// future that is ready at once needs no runtime at all.
///
/// # Cancel safety
///
/// As [`timeout`](crate::time::timeout).
///
/// # Cost
///
/// A ready future: a few instructions. A pending one: that of [`timeout`](crate::time::timeout).
/// No allocation.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, lazy_timeout};
/// use tokio::sync::mpsc;
///
/// let (sender, mut receiver) = mpsc::channel(8);
/// sender.send("ready").await.unwrap();
///
/// let patience = Duration::from_secs(5);
/// assert_eq!(lazy_timeout(patience, receiver.recv()).await, Ok(Some("ready")));
/// assert!(lazy_timeout(patience, receiver.recv()).await.is_err());
/// # }
/// ```
#[inline]
pub fn lazy_timeout<F>(duration: Duration, future: F) -> LazyTimeout<F::IntoFuture>
where
    F: IntoFuture,
{
    LazyTimeout {
        value: future.into_future(),
        delay: Delay::Waiting(duration),
    }
}

pin_project! {
    /// The future of [`lazy_timeout`].
    ///
    /// It is `Unpin`, `Send` and `Sync` if the inner future is. Dropping it cancels both. After it
    /// returned [`Elapsed`] it may be polled on, after `Ok` it must not.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct LazyTimeout<T> {
        #[pin]
        value: T,
        delay: Delay,
    }
}

/// The deadline, before and after it is known.
#[derive(Debug)]
enum Delay {
    /// No poll has found the value pending yet.
    Waiting(Duration),
    /// One has, and this sleep counts from it.
    Counting(Sleep),
}

impl Delay {
    /// The first pending poll: time starts to count.
    ///
    /// The budget needs no look here. If the value has used it up, the new sleep asks for another
    /// poll, and that one is a [`poll_delay`].
    #[cold]
    fn start(&mut self, duration: Duration, cx: &mut Context<'_>) -> Poll<Elapsed> {
        let mut delay = sleep(duration);
        let poll = Pin::new(&mut delay).poll(cx);
        *self = Self::Counting(delay);
        poll.map(|()| Elapsed::new())
    }
}

impl<T> LazyTimeout<T> {
    /// The inner future.
    pub const fn get_ref(&self) -> &T {
        &self.value
    }

    /// The inner future, to be changed in place.
    pub const fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The inner future without its deadline, as far as it has got.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Future for LazyTimeout<T>
where
    T: Future,
{
    type Output = Result<T::Output, Elapsed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.delay {
            Delay::Waiting(duration) => {
                let duration = *duration;
                if let Poll::Ready(output) = this.value.poll(cx) {
                    return Poll::Ready(Ok(output));
                }
                this.delay.start(duration, cx).map(Err)
            }
            Delay::Counting(delay) => {
                let had_budget = coop::has_budget_remaining();
                if let Poll::Ready(output) = this.value.poll(cx) {
                    return Poll::Ready(Ok(output));
                }
                poll_delay(delay, had_budget, cx).map(Err)
            }
        }
    }
}
