//! `interval`: ticks at a fixed period.
//!
//! An [`Interval`] is one [`Sleep`] whose deadline is the next tick. Taking a tick moves the
//! deadline on; where to, if ticks were missed, is the question that
//! [`MissedTickBehavior`] answers.
//!
//! Invariants:
//! * a tick yields the instant it was scheduled for, not the one it was taken at;
//! * nothing is registered between a taken tick and the next poll;
//! * a cancelled [`Interval::tick`] has not taken a tick.

#![forbid(unsafe_code)]

mod missed;

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::time::Instant;

use crate::clock;
use crate::error::TimerError;
use crate::sleep::{Sleep, sleep, sleep_until};
use crate::timer::Timer;

pub use self::missed::MissedTickBehavior;

/// Ticks every `period`, the first time at once.
///
/// Same as [`interval_at`] with the current time as `start`.
///
/// # Panics
///
/// As [`interval_at`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, Instant, interval};
///
/// let start = Instant::now();
/// let mut beat = interval(Duration::from_millis(10));
/// beat.tick().await; // at once
/// beat.tick().await;
/// beat.tick().await;
/// assert_eq!(start.elapsed(), Duration::from_millis(20));
/// # }
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    assert!(!period.is_zero(), "`period` must be non-zero.");
    Interval::new(sleep(Duration::ZERO), period)
}

/// Ticks at `start` and every `period` after it.
///
/// What happens if ticks are taken late is up to [`Interval::set_missed_tick_behavior`]; by
/// default the missed ones are made up for in a [burst](MissedTickBehavior::Burst).
///
/// # Units and rounding
///
/// Tick n is at exactly `start + n * period`, to the nanosecond, and never early: lateness does not
/// add up. A `start` in the past is due at once. A next tick beyond the end of the clock never
/// comes, and no period is too long to ask for.
///
/// # Panics
///
/// At the call, and at the caller's location, if `period` is zero, if the thread is not in a Tokio
/// runtime, if that runtime was built without timers, or if it was given a default timer that is at
/// its [`max_timers`](crate::timer::Builder::max_timers); in this order. Ticking panics after that
/// runtime has shut down.
///
/// # Cost
///
/// One registration of a timer and one clock read per tick. No allocation.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, Instant, interval_at};
///
/// let period = Duration::from_millis(10);
/// let start = Instant::now() + period;
/// let mut beat = interval_at(start, period);
/// assert_eq!(beat.tick().await, start);
/// assert_eq!(beat.tick().await, start + period);
/// # }
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "`period` must be non-zero.");
    Interval::new(sleep_until(start), period)
}

/// Making intervals.
impl Timer {
    /// Ticks now and then every `period`, on this timer's clock.
    ///
    /// As [`time::interval`](crate::time::interval), from any thread.
    ///
    /// # Panics
    ///
    /// At the caller, if `period` is zero, and if this timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::Duration};
    ///
    /// let mut beat = Timer::current().interval(Duration::from_millis(10));
    /// let first = beat.tick().await;
    /// assert_eq!(beat.tick().await, first + Duration::from_millis(10));
    /// # }
    /// ```
    #[track_caller]
    pub fn interval(&self, period: Duration) -> Interval {
        assert!(!period.is_zero(), "`period` must be non-zero.");
        Interval::new(self.sleep(Duration::ZERO), period)
    }

    /// As [`interval`](Self::interval), with an error instead of an interval that cannot be had.
    ///
    /// # Errors
    ///
    /// [`TimerError::Closed`] if the runtime of this timer has shut down;
    /// [`TimerError::AtCapacity`] if this timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers).
    ///
    /// # Panics
    ///
    /// At the caller, if `period` is zero.
    #[track_caller]
    pub fn try_interval(&self, period: Duration) -> Result<Interval, TimerError> {
        assert!(!period.is_zero(), "`period` must be non-zero.");
        Ok(Interval::new(self.try_sleep(Duration::ZERO)?, period))
    }

    /// Ticks at `start` and then every `period`, on this timer's clock.
    ///
    /// As [`time::interval_at`](crate::time::interval_at), from any thread.
    ///
    /// # Panics
    ///
    /// As [`interval`](Self::interval).
    #[track_caller]
    pub fn interval_at(&self, start: Instant, period: Duration) -> Interval {
        assert!(!period.is_zero(), "`period` must be non-zero.");
        Interval::new(self.sleep_until(start), period)
    }

    /// As [`interval_at`](Self::interval_at), with an error instead of an interval that cannot be
    /// had.
    ///
    /// # Errors
    ///
    /// As [`try_interval`](Self::try_interval).
    ///
    /// # Panics
    ///
    /// At the caller, if `period` is zero.
    #[track_caller]
    pub fn try_interval_at(
        &self,
        start: Instant,
        period: Duration,
    ) -> Result<Interval, TimerError> {
        assert!(!period.is_zero(), "`period` must be non-zero.");
        Ok(Interval::new(self.try_sleep_until(start)?, period))
    }
}

/// Ticks at a fixed period: made by [`interval`] and [`interval_at`].
///
/// It is `Send`, `Sync` and `Unpin`. Dropping it cancels the next tick.
#[derive(Debug)]
pub struct Interval {
    /// Ends at the next tick.
    delay: Sleep,
    period: Duration,
    missed_tick_behavior: MissedTickBehavior,
}

impl Interval {
    /// Ticks when `delay` ends, and then every `period`, which is not zero.
    pub(crate) fn new(delay: Sleep, period: Duration) -> Self {
        Self {
            delay,
            period,
            missed_tick_behavior: MissedTickBehavior::default(),
        }
    }

    /// Waits for the next tick and takes it.
    ///
    /// Returns the instant the tick was scheduled for, which may be earlier than now.
    ///
    /// # Panics
    ///
    /// If the runtime this interval was made in has shut down.
    ///
    /// # Cancel safety
    ///
    /// Safe: if this future is dropped before it returned, no tick was taken, and the next call
    /// waits for the same one.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::time::{Duration, interval, sleep};
    ///
    /// let mut beat = interval(Duration::from_millis(10));
    /// let mut beats = 0;
    /// let mut end = sleep(Duration::from_millis(35));
    /// loop {
    ///     tokio::select! {
    ///         _ = beat.tick() => beats += 1,
    ///         () = &mut end => break,
    ///     }
    /// }
    /// assert_eq!(beats, 4); // at 0, 10, 20 and 30 ms
    /// # }
    /// ```
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Takes the next tick if it is due, else registers the task to be woken when it is.
    ///
    /// Only the waker of the latest call is woken. After a tick was taken none is: poll until
    /// `Pending` to be woken again.
    ///
    /// # Panics
    ///
    /// If the runtime this interval was made in has shut down.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.delay).poll(cx));
        let scheduled = self.delay.tick();
        let behavior = self.missed_tick_behavior;
        let next = behavior.next_tick(scheduled, self.delay.now(), self.period);
        self.delay.set_tick(next);
        Poll::Ready(clock::instant_of(scheduled))
    }

    /// Lets the next tick come one period from now; later ones follow it.
    ///
    /// Ticks that were missed are forgotten, here and in the other resets.
    ///
    /// # Examples
    ///
    /// A keep-alive that is put off by every packet:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::time::{Duration, Instant, interval, sleep};
    ///
    /// let period = Duration::from_millis(100);
    /// let mut keep_alive = interval(period);
    /// keep_alive.tick().await;
    ///
    /// sleep(Duration::from_millis(60)).await; // a packet
    /// keep_alive.reset();
    /// let packet = Instant::now();
    /// assert_eq!(keep_alive.tick().await, packet + period);
    /// # }
    /// ```
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// Lets the next tick come now; later ones follow it.
    pub fn reset_immediately(&mut self) {
        self.delay.set_tick(self.delay.now());
    }

    /// Lets the next tick come `after` from now; later ones follow it.
    ///
    /// A duration that does not fit in the clock means never.
    pub fn reset_after(&mut self, after: Duration) {
        self.delay.set_tick(self.delay.now().after(after));
    }

    /// Lets the next tick come at `deadline`; later ones follow it.
    ///
    /// A deadline in the past is due now, and ticks between it and now are missed ones, to which
    /// the [`MissedTickBehavior`] applies.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.set_deadline(deadline);
    }

    /// What happens after missed ticks.
    #[must_use]
    pub const fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed_tick_behavior
    }

    /// Says what is to happen after missed ticks, from the next tick on.
    pub const fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed_tick_behavior = behavior;
    }

    /// The time between two ticks, as it was given.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.period
    }
}
