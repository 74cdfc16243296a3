//! `Timer`: a handle to a timer.

#![forbid(unsafe_code)]

mod builder;

use core::fmt;

use tokio::runtime::Handle;
use tokio::time::Instant;

pub use self::builder::Builder;
use crate::clock;
use crate::driver::keeper::Keeper;
use crate::driver::registry;
use crate::driver::runtime::DriverRef;
use crate::error::TimerError;
use crate::metrics::TimerMetrics;
use crate::primitive::Arc;

/// A handle to the timer of one Tokio runtime, or to one with a thread or a clock of its own.
///
/// The free functions of [`cogwheel::time`](crate::time) use the timer of the runtime that they
/// are called in, as Tokio's do. A `Timer` names one explicitly: it can be carried to any thread,
/// in a runtime or not, and what it makes waits on *its* runtime's clock. Making a timer through a
/// handle also saves looking the runtime up, unless that is a `current_thread` one: it may have
/// paused its clock, so whether the thread is inside of it has to be asked.
///
/// Each runtime has one default timer, made when it is first asked for. It costs one task that
/// never runs: when the runtime shuts down and drops that task, the timer closes.
///
/// A timer that needs no runtime is made by [`Builder::dedicated_thread`], or by a
/// [`ManualClock`](crate::ManualClock) for tests.
///
/// # After the runtime has shut down
///
/// The timer is closed for good, and so it is after [`close`](Self::close). A
/// [`Sleep`](crate::time::Sleep) that is pending then is woken, and panics when it is polled, with
/// Tokio's text; [`try_sleep`](Self::try_sleep) gives [`TimerError::Closed`]; dropping anything is
/// harmless, in any order.
///
/// A timer with a thread or a manual clock differs in two points: the text begins with "this timer
/// was closed", and a sleep that was due when the timer was closed completes.
///
/// # Cost
///
/// A handle is three words. Cloning one counts no references, except of a timer with a thread of
/// its own.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
/// use cogwheel::Timer;
///
/// let timer = Timer::current();
/// let slow = async { timer.sleep(Duration::from_secs(60)).await };
/// assert!(timer.timeout(Duration::from_secs(1), slow).await.is_err());
/// # }
/// ```
#[derive(Clone)]
pub struct Timer {
    driver: DriverRef,
    /// Of a timer with a thread of its own.
    _keeper: Option<Arc<Keeper>>,
}

/// Whether they are handles to the same timer.
impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.driver == other.driver
    }
}

impl Timer {
    /// The timer of the current runtime, made on first use.
    ///
    /// # Panics
    ///
    /// Panics if the calling thread is not in a Tokio runtime, or in one that was built without
    /// timers. [`try_current`](Self::try_current) does not.
    ///
    /// # Examples
    ///
    /// Ask anew in each runtime. One that is kept in a `static` belongs to the runtime that was the
    /// first to ask, and ends with it; each `#[tokio::test]` has one of its own.
    ///
    /// ```
    /// use cogwheel::Timer;
    /// use tokio::runtime::Builder;
    ///
    /// let runtime = || Builder::new_current_thread().enable_time().build().unwrap();
    /// let first = runtime().block_on(async { Timer::current() });
    /// assert!(first.is_closed());
    /// runtime().block_on(async { assert_ne!(first, Timer::current()) });
    /// ```
    #[must_use]
    #[track_caller]
    pub fn current() -> Self {
        Self::of(registry::current())
    }

    /// The timer of the current runtime, made on first use.
    ///
    /// # Errors
    ///
    /// [`TimerError::NoRuntime`] outside of a runtime; [`TimerError::TimeDisabled`] in one that was
    /// built without timers. Tokio can only be asked about the latter by provoking its panic, so
    /// the panic hook runs in that case, though nothing unwinds out of this call; a program built
    /// with `panic = "abort"` ends there.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Timer, error::TimerError};
    ///
    /// assert_eq!(Timer::try_current().unwrap_err(), TimerError::NoRuntime);
    /// ```
    pub fn try_current() -> Result<Self, TimerError> {
        registry::try_current().map(Self::of)
    }

    /// Chooses how a timer of its own behaves.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The time on this timer's clock.
    ///
    /// On a closed timer it is the time of some clock, and of no use.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::Duration};
    ///
    /// let timer = Timer::current();
    /// let deadline = timer.now() + Duration::from_secs(1);
    /// timer.sleep_until(deadline).await;
    /// assert_eq!(timer.now(), deadline);
    /// # }
    /// ```
    #[must_use]
    pub fn now(&self) -> Instant {
        clock::instant_of(self.driver.now())
    }

    /// Closes this timer, as the end of its runtime would, for all handles and for good.
    ///
    /// Everything that is pending is woken before this returns. A thread of the timer's own ends
    /// soon after. Closing a timer that is closed does nothing. The default timer of a runtime may
    /// be closed too: the runtime is given a new one when it next asks.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Timer, error::TimerError};
    /// use std::time::Duration;
    ///
    /// let timer = Timer::builder().dedicated_thread().build()?;
    /// let other = timer.clone();
    /// timer.close();
    /// timer.close();
    /// assert!(other.is_closed());
    /// assert_eq!(other.try_sleep(Duration::ZERO).unwrap_err(), TimerError::Closed);
    /// # Ok::<(), TimerError>(())
    /// ```
    pub fn close(&self) {
        self.driver.close();
    }

    /// Whether this timer's runtime has shut down, or it was closed. It stays so.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.driver.is_closed()
    }

    /// How many timers this one has, what became of the others, how late they were and how the
    /// wheel stands: a snapshot.
    ///
    /// It may be asked from any thread, also inside of a waker, and after the timer was closed. See
    /// [`metrics`](crate::metrics) for what is counted and how exact it is.
    ///
    /// # Cost
    ///
    /// Nobody turns the wheel meanwhile. It is linear in the changes that wait for the next turn
    /// ([`queued`](TimerMetrics::queued)), in the threads that ever used this timer at once, and in
    /// the occupied buckets. It turns nothing itself, so asking does not change what the next one
    /// says; only a turn that somebody wanted in the meantime is made up for.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::Timer;
    /// use std::time::Duration;
    ///
    /// let timer = Timer::current();
    /// timer.sleep(Duration::from_millis(5)).await;
    /// let metrics = timer.metrics();
    /// assert_eq!((metrics.created, metrics.fired, metrics.live), (1, 1, 0));
    /// assert_eq!(metrics.wake_ups, 1);
    /// # }
    /// ```
    #[must_use]
    pub fn metrics(&self) -> TimerMetrics {
        self.driver.metrics()
    }

    /// Makes this the timer that the free functions of [`cogwheel::time`](crate::time) and
    /// [`Timer::current`] use in the current runtime.
    ///
    /// Whatever timer it is: one of this runtime that was [built](Self::builder) otherwise, one
    /// with a [thread](Builder::dedicated_thread) or a [manual clock](crate::ManualClock) of its
    /// own, even that of another runtime. All threads of the runtime use it from now on. What was
    /// made before stays with the timer that it was made with, and that timer stays open.
    ///
    /// When this timer is closed, the runtime is given a new standard one when it next asks. A
    /// timer with a thread of its own is kept by the runtime as if by a handle.
    ///
    /// The durations that the free functions are given count from *this timer's* clock, and so do
    /// the instants. `Instant::now` stays Tokio's, so with a manual clock ask [`Timer::now`].
    ///
    /// # Errors
    ///
    /// [`TimerError::NoRuntime`] outside of a runtime; [`TimerError::Closed`] if this timer is
    /// closed. Nothing has changed then.
    ///
    /// # Cost
    ///
    /// One idle task of that runtime. Each thread looks its timer up once more.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "multi_thread", worker_threads = 2)]
    /// # async fn main() -> Result<(), cogwheel::error::TimerError> {
    /// use cogwheel::ManualClock;
    /// use cogwheel::time::{Duration, sleep};
    ///
    /// let clock = ManualClock::new();
    /// clock.timer().make_default()?;
    /// let minute = tokio::spawn(sleep(Duration::from_secs(60)));
    /// while clock.pending() == 0 {
    ///     tokio::task::yield_now().await;
    /// }
    /// clock.advance(Duration::from_secs(60));
    /// minute.await.unwrap();
    /// # Ok(())
    /// # }
    /// ```
    pub fn make_default(&self) -> Result<(), TimerError> {
        let handle = Handle::try_current().map_err(|_| TimerError::NoRuntime)?;
        self.make_default_of(&handle)
    }

    /// As [`make_default`](Self::make_default), for the runtime of `handle`.
    ///
    /// For a runtime that has shut down this does nothing.
    ///
    /// # Errors
    ///
    /// [`TimerError::Closed`] if this timer is closed.
    ///
    /// # Examples
    ///
    /// Before anything runs in it:
    ///
    /// ```
    /// use cogwheel::Timer;
    /// # use tokio::runtime::Builder;
    ///
    /// # let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    /// let precise = Timer::builder().dedicated_thread().build()?;
    /// precise.make_default_of(runtime.handle())?;
    /// runtime.block_on(async { assert_eq!(Timer::current(), precise) });
    /// # Ok::<(), cogwheel::error::TimerError>(())
    /// ```
    pub fn make_default_of(&self, handle: &Handle) -> Result<(), TimerError> {
        registry::make_default(handle, self.driver)
    }

    pub(crate) fn of(driver: DriverRef) -> Self {
        Self {
            driver,
            _keeper: driver.keeper(),
        }
    }

    pub(crate) const fn driver(&self) -> DriverRef {
        self.driver
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
