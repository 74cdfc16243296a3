//! Making sleeps, in the current runtime and through the handle of a timer.

#![forbid(unsafe_code)]

use core::time::Duration;

use tokio::time::Instant;

use super::{FRESH, LAST, Sleep, WAITING, help};
use crate::clock;
use crate::driver::registry;
use crate::driver::runtime::DriverRef;
use crate::error::TimerError;
use crate::tick::Tick;
use crate::timer::Timer;

/// Waits for `duration`, counted from this call.
///
/// A drop-in for [`tokio::time::sleep`].
///
/// # Units and rounding
///
/// The deadline is exact to the nanosecond and never rounded. The future completes at the first
/// turn of the wheel at or after it; Tokio's clock, which wakes the wheel, counts milliseconds and
/// rounds up. A zero `duration` is complete at the first poll, with the one exception that [`Sleep`]
/// tells. One that overflows means practically never; there is no upper limit.
///
/// # Panics
///
/// Panics if the calling thread is not in a Tokio runtime or in one without timers, and if that
/// runtime was given a default timer that is at its
/// [`max_timers`](crate::timer::Builder::max_timers). [`Timer::try_current`] and
/// [`Timer::try_sleep`] do not.
///
/// # Cancel safety
///
/// Dropping the future cancels it; nothing else happens. See [`Sleep`].
///
/// # Cost
///
/// One clock reading and one look-up of the current runtime, which a [`Timer`] handle saves. No
/// allocation, no lock.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, Instant, sleep};
///
/// let start = Instant::now();
/// sleep(Duration::from_millis(250)).await;
/// assert!(start.elapsed() >= Duration::from_millis(250));
/// # }
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let (timer, now) = registry::current_and_time();
    Sleep::after(timer, now, duration)
}

/// Waits until `deadline`.
///
/// A drop-in for [`tokio::time::sleep_until`]. All that [`sleep`] says holds here as well; a
/// deadline that has passed is complete at the first poll, with the one exception that [`Sleep`]
/// tells.
///
/// # Panics
///
/// As [`sleep`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, Instant, sleep_until};
///
/// let deadline = Instant::now() + Duration::from_secs(1);
/// sleep_until(deadline).await;
/// assert!(Instant::now() >= deadline);
/// # }
/// ```
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::until(registry::current(), clock::tick_of(deadline))
}

/// Making sleeps.
impl Timer {
    /// Waits for `duration`, counted from this call, on this timer's clock.
    ///
    /// As [`time::sleep`](crate::time::sleep), from any thread. On a closed timer the future panics
    /// when it is polled; see [`try_sleep`](Self::try_sleep).
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
    /// use std::time::Duration;
    ///
    /// let timer = cogwheel::Timer::current();
    /// timer.sleep(Duration::from_millis(1)).await;
    /// # }
    /// ```
    #[inline]
    #[track_caller]
    pub fn sleep(&self, duration: Duration) -> Sleep {
        let driver = self.driver();
        Sleep::after(driver, driver.start(), duration)
    }

    /// As [`sleep`](Self::sleep), with an error instead of a panic, and instead of a future that
    /// cannot be awaited.
    ///
    /// # Errors
    ///
    /// [`TimerError::Closed`] if the runtime of this timer has shut down;
    /// [`TimerError::AtCapacity`] if this timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers).
    pub fn try_sleep(&self, duration: Duration) -> Result<Sleep, TimerError> {
        let driver = self.driver();
        if driver.is_closed() {
            return Err(TimerError::Closed);
        }
        let now = driver.start();
        help(driver, now);
        let label = driver.take_place_if_open()?;
        Ok(Sleep::after_with(driver, label, now, duration))
    }

    /// Waits until `deadline` on this timer's clock.
    ///
    /// As [`time::sleep_until`](crate::time::sleep_until), from any thread.
    ///
    /// # Panics
    ///
    /// As [`sleep`](Self::sleep).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::Instant};
    ///
    /// Timer::current().sleep_until(Instant::now()).await;
    /// # }
    /// ```
    #[inline]
    #[track_caller]
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep::until(self.driver(), clock::tick_of(deadline))
    }

    /// As [`sleep_until`](Self::sleep_until), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// As [`try_sleep`](Self::try_sleep).
    pub fn try_sleep_until(&self, deadline: Instant) -> Result<Sleep, TimerError> {
        Sleep::try_until(self.driver(), clock::tick_of(deadline))
    }
}

impl Sleep {
    /// Ends `duration` after `now`.
    ///
    /// # Panics
    ///
    /// Panics, at the caller, if the timer is at its bound.
    #[inline]
    #[track_caller]
    fn after(timer: DriverRef, now: Tick, duration: Duration) -> Self {
        help(timer, now);
        let label = take_place(timer);
        Self::after_with(timer, label, now, duration)
    }

    /// As [`after`](Self::after), with the label that a place was taken for.
    #[inline]
    fn after_with(timer: DriverRef, label: u32, now: Tick, duration: Duration) -> Self {
        let state = if duration.is_zero() { WAITING } else { FRESH };
        Self::with(timer, label | state, now.after(duration))
    }

    /// Ends at `deadline`.
    ///
    /// # Panics
    ///
    /// Panics, at the caller, if the timer is at its bound.
    #[inline]
    #[track_caller]
    pub(crate) fn until(timer: DriverRef, deadline: Tick) -> Self {
        let label = take_place(timer);
        Self::with(timer, label | WAITING, deadline)
    }

    /// As [`until`](Self::until), with an error instead of the panic and for a closed timer.
    pub(crate) fn try_until(timer: DriverRef, deadline: Tick) -> Result<Self, TimerError> {
        let label = timer.take_place_if_open()?;
        Ok(Self::with(timer, label | WAITING, deadline))
    }

    #[inline]
    fn with(timer: DriverRef, driver_and_state: u32, deadline: Tick) -> Self {
        Self {
            node: None,
            deadline: deadline.min(LAST),
            generation: timer.generation,
            driver_and_state,
        }
    }
}

#[inline]
#[track_caller]
fn take_place(timer: DriverRef) -> u32 {
    match timer.take_place() {
        Ok(label) => label,
        Err(error) => panic!("{error}"),
    }
}
