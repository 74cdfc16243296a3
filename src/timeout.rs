//! `timeout`: a future with a deadline.
//!
//! A [`Timeout`] is its future and one [`Sleep`]. Each poll asks the future first and the sleep
//! only if the future is pending, so a future that is ready wins whatever the time is:
//!
//! ```text
//! poll ─► value ─ ready ──────────────────────► Ok(output)
//!           └─── pending ─► delay ─ elapsed ──► Err(Elapsed)
//!                             └──── pending ──► Pending (both wakers are registered)
//! ```
//!
//! Invariants:
//! * the value is polled before the delay, in every poll;
//! * a value that eats Tokio's cooperative budget cannot keep the delay from being looked at;
//! * an elapsed timeout that is polled again asks the value again and is elapsed again.

#![forbid(unsafe_code)]

mod lazy;

use core::future::{Future, IntoFuture};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;
use tokio::task::coop;
use tokio::time::Instant;

use crate::error::{Elapsed, TimerError};
use crate::sleep::{Sleep, sleep, sleep_until};
use crate::timer::Timer;

pub use self::lazy::{LazyTimeout, lazy_timeout};

/// Gives `future` until `duration` from now.
///
/// The duration counts from this call, not from the first poll; for the other wish, and for
/// futures that are mostly ready at once, see [`lazy_timeout`].
///
/// # Units and rounding
///
/// The deadline is kept to the nanosecond and never passes early. Zero means "one poll": the
/// future is polled once and, unless it is ready, the timeout elapses in the same poll. A duration
/// that does not fit in the clock, such as [`Duration::MAX`], means never.
///
/// # Errors
///
/// The future returns [`Elapsed`] if the deadline has come and the inner future, polled first, was
/// still pending. The inner future is not dropped then but with the [`Timeout`]; it can be had
/// back with [`Timeout::into_inner`].
///
/// # Panics
///
/// At the call, and at the caller's location, if the thread is not in a Tokio runtime, if that
/// runtime was built without timers, or if it was given a default timer that is at its
/// [`max_timers`](crate::timer::Builder::max_timers); [`Timer::try_current`] and
/// [`Timer::try_timeout`] do not. Polling panics after that runtime has shut down.
///
/// # Cancel safety
///
/// Dropping the [`Timeout`] drops the future and its timer. Whether work is lost by that is up to
/// the inner future.
///
/// A future that never yields is never interrupted: nobody can look at the clock meanwhile.
///
/// # Cost
///
/// One clock read. The timer is registered by the first poll that finds the future pending.
/// No allocation.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, sleep, timeout};
///
/// let quick = async { sleep(Duration::from_millis(5)).await; "answer" };
/// assert_eq!(timeout(Duration::from_secs(1), quick).await, Ok("answer"));
///
/// let slow = sleep(Duration::from_secs(3_600));
/// assert!(timeout(Duration::from_secs(1), slow).await.is_err());
/// # }
/// ```
#[track_caller]
pub fn timeout<F>(duration: Duration, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    let value = future.into_future();
    Timeout::new(value, sleep(duration))
}

/// Gives `future` until `deadline`.
///
/// All of [`timeout`] holds here, without the clock read. A deadline in the past is due now.
///
/// # Panics
///
/// As [`timeout`].
///
/// # Examples
///
/// Two steps that share one deadline:
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, Instant, sleep, timeout_at};
///
/// let deadline = Instant::now() + Duration::from_millis(30);
/// let step = || sleep(Duration::from_millis(20));
/// assert!(timeout_at(deadline, step()).await.is_ok());
/// assert!(timeout_at(deadline, step()).await.is_err());
/// # }
/// ```
#[track_caller]
pub fn timeout_at<F>(deadline: Instant, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    let value = future.into_future();
    Timeout::new(value, sleep_until(deadline))
}

/// Making timeouts.
impl Timer {
    /// Gives `future` until `duration` from now, on this timer's clock.
    ///
    /// As [`time::timeout`](crate::time::timeout), from any thread and without looking a runtime
    /// up. On a closed timer the future panics when it is polled.
    ///
    /// # Panics
    ///
    /// At the caller, if this timer is at its [`max_timers`](crate::timer::Builder::max_timers).
    /// One without such a bound never panics here.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::Duration};
    ///
    /// let timer = Timer::current();
    /// assert_eq!(timer.timeout(Duration::from_secs(1), async { 7 }).await, Ok(7));
    /// # }
    /// ```
    #[track_caller]
    pub fn timeout<F>(&self, duration: Duration, future: F) -> Timeout<F::IntoFuture>
    where
        F: IntoFuture,
    {
        let value = future.into_future();
        Timeout::new(value, self.sleep(duration))
    }

    /// As [`timeout`](Self::timeout), with an error instead of a panic, and instead of a future
    /// that cannot be awaited.
    ///
    /// # Errors
    ///
    /// [`TimerError::Closed`] if the runtime of this timer has shut down;
    /// [`TimerError::AtCapacity`] if this timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers). The future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), cogwheel::error::TimerError> {
    /// use cogwheel::{Timer, error::TimerError, time::Duration};
    ///
    /// let timer = Timer::builder().max_timers(1).build()?;
    /// let patience = Duration::from_secs(1);
    /// let first = timer.try_timeout(patience, async { "served" })?;
    /// let second = timer.try_timeout(patience, async { "served" });
    /// assert_eq!(second.err(), Some(TimerError::AtCapacity));
    /// assert_eq!(first.await, Ok("served"));
    /// assert!(timer.try_timeout(patience, async { "served" }).is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_timeout<F>(
        &self,
        duration: Duration,
        future: F,
    ) -> Result<Timeout<F::IntoFuture>, TimerError>
    where
        F: IntoFuture,
    {
        let value = future.into_future();
        Ok(Timeout::new(value, self.try_sleep(duration)?))
    }

    /// Gives `future` until `deadline` on this timer's clock.
    ///
    /// As [`time::timeout_at`](crate::time::timeout_at), from any thread.
    ///
    /// # Panics
    ///
    /// As [`timeout`](Self::timeout).
    #[track_caller]
    pub fn timeout_at<F>(&self, deadline: Instant, future: F) -> Timeout<F::IntoFuture>
    where
        F: IntoFuture,
    {
        let value = future.into_future();
        Timeout::new(value, self.sleep_until(deadline))
    }

    /// As [`timeout_at`](Self::timeout_at), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// As [`try_timeout`](Self::try_timeout).
    pub fn try_timeout_at<F>(
        &self,
        deadline: Instant,
        future: F,
    ) -> Result<Timeout<F::IntoFuture>, TimerError>
    where
        F: IntoFuture,
    {
        let value = future.into_future();
        Ok(Timeout::new(value, self.try_sleep_until(deadline)?))
    }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    ///
    /// It is `Unpin`, `Send` and `Sync` if the inner future is. Dropping it cancels both.
    ///
    /// After it returned [`Elapsed`] it may be polled on: the inner future is asked again and may
    /// still win. After it returned `Ok` it must not be polled, as the inner future must not.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Timeout<T> {
        #[pin]
        value: T,
        delay: Sleep,
    }
}

impl<T> Timeout<T> {
    /// Lets `delay` bound `value`, whatever timer and clock it belongs to.
    pub(crate) const fn new(value: T, delay: Sleep) -> Self {
        Self { value, delay }
    }

    /// The inner future.
    pub const fn get_ref(&self) -> &T {
        &self.value
    }

    /// The inner future, to be changed in place.
    pub const fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The inner future without its deadline, as far as it has got.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::time::{Duration, sleep, timeout};
    ///
    /// let mut patient = timeout(Duration::from_secs(1), sleep(Duration::from_secs(2)));
    /// assert!((&mut patient).await.is_err());
    /// patient.into_inner().await; // one second more
    /// # }
    /// ```
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Future for Timeout<T>
where
    T: Future,
{
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(output) = this.value.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        poll_delay(this.delay, had_budget, cx).map(Err)
    }
}

/// Polls the delay of a pending value that was polled with (`had_budget`) or without budget left.
///
/// Without budget the delay is pending whatever the time is. If it was the value that used it up,
/// it may do so in every poll, and its timeout would never come: then the delay is polled outside
/// the budget. If there was none before, it is the task's turn to yield, and the delay obeys: a
/// loop of elapsed timeouts must not hog its thread.
///
/// Not generic, so that one copy serves every kind of future.
fn poll_delay(delay: &mut Sleep, had_budget: bool, cx: &mut Context<'_>) -> Poll<Elapsed> {
    let used_up_by_value = had_budget && !coop::has_budget_remaining();
    let poll = if used_up_by_value {
        Pin::new(&mut coop::unconstrained(delay)).poll(cx)
    } else {
        Pin::new(delay).poll(cx)
    };
    poll.map(|()| Elapsed::new())
}
