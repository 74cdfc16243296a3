//! `Deadline`: one point in time that many futures share.
//!
//! A request has one deadline and many steps. A [`Deadline`] is that point in time together with
//! the timer whose clock it lies on, as a value of three words: no allocation, no count,
//! and nothing is registered before a future made with it has to wait.

#![forbid(unsafe_code)]

use core::fmt;
use core::future::IntoFuture;
use core::time::Duration;

use tokio::time::Instant;

use crate::clock;
use crate::driver::registry;
use crate::driver::runtime::DriverRef;
use crate::error::{Elapsed, TimerError};
use crate::sleep::Sleep;
use crate::tick::Tick;
use crate::timeout::Timeout;
use crate::timer::Timer;

/// A deadline that all futures of one piece of work share.
///
/// Made once, at the top, and handed down by copy. Each step takes what is left, where a plain
/// duration would start again at each of them.
///
/// It remembers the timer it was made with, and looks at the clock of that timer only: on the timer
/// of a runtime whose clock is paused it counts by that clock, whatever thread asks.
///
/// # Units and rounding
///
/// Kept to the nanosecond, never early. A deadline that does not fit in the clock, such as one in
/// [`Duration::MAX`], means never.
///
/// # After the runtime has shut down
///
/// Nobody can wait any more: the deadline counts as elapsed, with nothing remaining, and a future
/// made with it panics when it is polled, as all futures of a closed timer do.
///
/// # Cost
///
/// Making one is one clock read; asking it is another. It is three words, counts no references and
/// registers nothing.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
/// use cogwheel::{Deadline, error::Elapsed, time::sleep};
///
/// async fn step(deadline: Deadline) -> Result<(), Elapsed> {
///     deadline.timeout(sleep(Duration::from_millis(40))).await
/// }
///
/// let request = Deadline::after(Duration::from_millis(100));
/// assert_eq!(step(request).await, Ok(()));
/// assert_eq!(step(request).await, Ok(()));
/// assert_eq!(request.remaining(), Duration::from_millis(20));
/// assert!(step(request).await.is_err());
/// assert!(request.is_elapsed());
/// # }
/// ```
///
/// # Source
///
/// The idea is that of Go's `context.WithDeadline` and of gRPC's deadlines, without their tree.
#[derive(Clone, Copy, PartialEq)]
#[must_use = "a deadline does nothing by itself"]
pub struct Deadline {
    /// None is the one of [`never`](Self::never), which has no clock.
    timer: Option<DriverRef>,
    /// [`Tick::MAX`] is never.
    tick: Tick,
}

impl Eq for Deadline {}

/// Making deadlines.
impl Deadline {
    /// The deadline `duration` from now, on the timer of the current runtime.
    ///
    /// # Panics
    ///
    /// At the caller's location, if the thread is not in a Tokio runtime or that runtime was built
    /// without timers. [`Timer::deadline`] does not.
    #[track_caller]
    pub fn after(duration: Duration) -> Self {
        Self::on(registry::current(), duration)
    }

    /// The deadline at `instant`, on the timer of the current runtime.
    ///
    /// One in the past has elapsed already.
    ///
    /// # Panics
    ///
    /// As [`after`](Self::after).
    #[track_caller]
    pub fn at(instant: Instant) -> Self {
        Self {
            timer: Some(registry::current()),
            tick: clock::tick_of(instant),
        }
    }

    /// The deadline that never comes: for work without a limit.
    ///
    /// It belongs to no timer and can be made anywhere. Waiting with it takes the timer of the
    /// runtime that is current then; [`Timer::deadline`] with [`Duration::MAX`] takes its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::Deadline;
    /// use std::time::Duration;
    ///
    /// static LIMIT: Deadline = Deadline::never();
    /// assert!(LIMIT.is_never() && !LIMIT.is_elapsed());
    /// assert_eq!(LIMIT.remaining(), Duration::MAX);
    /// ```
    pub const fn never() -> Self {
        Self {
            timer: None,
            tick: Tick::MAX,
        }
    }

    fn on(timer: DriverRef, duration: Duration) -> Self {
        Self {
            timer: Some(timer),
            tick: timer.start().after(duration),
        }
    }

    /// The one of the two that comes first.
    ///
    /// Two deadlines of one timer are compared as points in time. Two of different timers may lie
    /// on different clocks: there the one with less time remaining now is taken, which need not
    /// stay the first if one of the clocks is paused. Of two equal ones it is `self`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Deadline, time::Duration};
    ///
    /// let request = Deadline::after(Duration::from_secs(5));
    /// let server = Deadline::after(Duration::from_secs(60));
    /// assert_eq!(server.earlier_of(request), request);
    /// assert_eq!(Deadline::never().earlier_of(request), request);
    /// # }
    /// ```
    pub fn earlier_of(self, other: Self) -> Self {
        let other_is_earlier = if self.timer == other.timer {
            other.tick < self.tick
        } else {
            other.remaining() < self.remaining()
        };
        if other_is_earlier { other } else { self }
    }

    /// A deadline for a part of the work: `duration` from now, but never later than this one.
    ///
    /// It lies on the same timer.
    ///
    /// # Panics
    ///
    /// Only on [`never`](Self::never), which has to take the timer of the current runtime: there as
    /// [`after`](Self::after).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Deadline, time::Duration};
    ///
    /// let request = Deadline::after(Duration::from_secs(5));
    /// let query = request.cap(Duration::from_secs(2));
    /// assert_eq!(query.remaining(), Duration::from_secs(2));
    /// assert_eq!(request.cap(Duration::from_secs(60)), request);
    /// # }
    /// ```
    #[track_caller]
    pub fn cap(self, duration: Duration) -> Self {
        let timer = self.timer();
        Self {
            timer: Some(timer),
            tick: self.tick.min(timer.start().after(duration)),
        }
    }
}

/// Asking and waiting.
impl Deadline {
    /// How much time is left: zero once it has elapsed, [`Duration::MAX`] if it never comes.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        match self.timer {
            Some(timer) if timer.is_closed() => Duration::ZERO,
            Some(timer) if !self.is_never() => self.tick.since(timer.now()),
            _ => Duration::MAX,
        }
    }

    /// Whether the time has come.
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        self.remaining().is_zero()
    }

    /// `Ok` while there is time, for a step that does not wait.
    ///
    /// # Errors
    ///
    /// [`Elapsed`] if the time has come. Permanent: a deadline does not move.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Deadline, error::Elapsed, time::Duration};
    ///
    /// fn sum(numbers: &[u64], deadline: Deadline) -> Result<u64, Elapsed> {
    ///     let mut sum = 0;
    ///     for chunk in numbers.chunks(1_000) {
    ///         deadline.check()?;
    ///         sum += chunk.iter().sum::<u64>();
    ///     }
    ///     Ok(sum)
    /// }
    /// assert_eq!(sum(&[1, 2, 3], Deadline::after(Duration::from_secs(1))), Ok(6));
    /// assert!(sum(&[1, 2, 3], Deadline::after(Duration::ZERO)).is_err());
    /// # }
    /// ```
    pub fn check(&self) -> Result<(), Elapsed> {
        if self.is_elapsed() {
            return Err(Elapsed::new());
        }
        Ok(())
    }

    /// Whether it never comes.
    #[must_use]
    pub const fn is_never(&self) -> bool {
        self.tick.count() == Tick::MAX.count()
    }

    /// When it is; one that never comes shows as one about 500 years ahead.
    #[must_use]
    pub fn instant(&self) -> Instant {
        clock::instant_of(self.tick)
    }

    /// Gives `future` until this deadline.
    ///
    /// As [`time::timeout_at`](crate::time::timeout_at): the future is polled first, so one that is
    /// ready wins even if the time has come.
    ///
    /// # Errors
    ///
    /// The future returns [`Elapsed`] if the deadline has come and the inner future, polled first,
    /// was still pending.
    ///
    /// # Panics
    ///
    /// At the caller, if the timer is at its [`max_timers`](crate::timer::Builder::max_timers), and
    /// on [`never`](Self::never) as [`after`](Self::after). Polling panics after the runtime of
    /// this timer has shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the [`Timeout`] drops the future and its timer; the deadline and whatever else
    /// waits for it are not touched.
    ///
    /// # Cost
    ///
    /// No clock read here. The timer is registered by the first poll that finds the future pending.
    #[track_caller]
    pub fn timeout<F>(&self, future: F) -> Timeout<F::IntoFuture>
    where
        F: IntoFuture,
    {
        let value = future.into_future();
        Timeout::new(value, self.sleep())
    }

    /// As [`timeout`](Self::timeout), with an error instead of a panic, and instead of a future
    /// that cannot be awaited.
    ///
    /// # Errors
    ///
    /// [`TimerError::Closed`] if the runtime of this timer has shut down;
    /// [`TimerError::AtCapacity`] if the timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers); and on [`never`](Self::never) those of
    /// [`Timer::try_current`]. The future is dropped.
    pub fn try_timeout<F>(&self, future: F) -> Result<Timeout<F::IntoFuture>, TimerError>
    where
        F: IntoFuture,
    {
        let value = future.into_future();
        Ok(Timeout::new(value, self.try_sleep()?))
    }

    /// Waits until this deadline.
    ///
    /// # Panics
    ///
    /// As [`timeout`](Self::timeout).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Deadline, time::Duration};
    ///
    /// let deadline = Deadline::after(Duration::from_secs(1));
    /// deadline.sleep().await;
    /// assert!(deadline.is_elapsed());
    /// # }
    /// ```
    #[track_caller]
    pub fn sleep(&self) -> Sleep {
        Sleep::until(self.timer(), self.tick)
    }

    /// As [`sleep`](Self::sleep), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// As [`try_timeout`](Self::try_timeout).
    pub fn try_sleep(&self) -> Result<Sleep, TimerError> {
        let timer = match self.timer {
            Some(timer) => timer,
            None => registry::try_current()?,
        };
        Sleep::try_until(timer, self.tick)
    }

    #[track_caller]
    fn timer(&self) -> DriverRef {
        match self.timer {
            Some(timer) => timer,
            None => registry::current(),
        }
    }
}

/// Making deadlines.
impl Timer {
    /// The deadline `duration` from now, on this timer's clock.
    ///
    /// As [`Deadline::after`], from any thread; it never panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::Duration};
    ///
    /// let deadline = Timer::current().deadline(Duration::from_secs(1));
    /// assert!(deadline.timeout(std::future::pending::<()>()).await.is_err());
    /// # }
    /// ```
    pub fn deadline(&self, duration: Duration) -> Deadline {
        Deadline::on(self.driver(), duration)
    }

    /// The deadline at `instant`, on this timer's clock.
    ///
    /// As [`Deadline::at`], from any thread; it never panics.
    pub fn deadline_at(&self, instant: Instant) -> Deadline {
        Deadline {
            timer: Some(self.driver()),
            tick: clock::tick_of(instant),
        }
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Deadline");
        match self.is_never() {
            true => debug.field("instant", &"never"),
            false => debug.field("instant", &self.instant()),
        };
        debug.finish_non_exhaustive()
    }
}
