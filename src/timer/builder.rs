//! `Builder`: chooses how a timer behaves, and makes it.

#![forbid(unsafe_code)]

use core::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::Timer;
use crate::clock;
use crate::driver::registry;
use crate::driver::runtime::Config;
use crate::driver::{keeper, manual};
use crate::error::TimerError;
use crate::manual_clock::ManualClock;

/// Makes a [`Timer`] of its own, beside the default one of its runtime.
///
/// Such a timer is not found by [`Timer::current`] nor used by the free functions, unless it is
/// [made the default](Timer::make_default). It has a wheel and an alarm of its own, which it keeps
/// until it is closed or its runtime shuts down: make one per purpose, not one per request.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), cogwheel::error::TimerError> {
/// use std::time::Duration;
/// use cogwheel::Timer;
///
/// let timer = Timer::builder().exact_cancel(true).build()?;
/// timer.sleep(Duration::from_secs(1)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder {
    handle: Option<Handle>,
    /// The name of the thread, if there is to be one.
    thread: Option<String>,
    config: Config,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            handle: None,
            thread: None,
            config: Config::default(),
        }
    }

    /// The runtime that drives the timer; without this, the current one.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Timer, time::Duration};
    /// # use tokio::runtime::Builder;
    ///
    /// # let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    /// // On any thread:
    /// let timer = Timer::builder().runtime(runtime.handle().clone()).build()?;
    /// runtime.block_on(timer.sleep(Duration::from_millis(1)));
    /// # Ok::<(), cogwheel::error::TimerError>(())
    /// ```
    pub fn runtime(mut self, handle: Handle) -> Self {
        self.handle = Some(handle);
        self
    }

    /// Lets a thread of its own drive the timer, and no runtime.
    ///
    /// For deadlines that are to be met to a fraction of a millisecond, where Tokio's clock counts
    /// whole ones, or while all workers of a runtime are busy; and for programs without a runtime.
    /// Tasks of any runtime may wait for it. The thread reads the system's clock, which nobody can
    /// pause. Wakers run on it, so a slow one delays the others. It is named `cogwheel-timer`; see
    /// [`thread_name`](Self::thread_name). A [`runtime`](Self::runtime) that was chosen as well
    /// does not matter.
    ///
    /// It parks until the exact next deadline, and without a timeout while nothing is armed. It
    /// ends when the timer is [closed](Timer::close), or soon after the last handle was dropped and
    /// the last armed timer has ended. A [`Sleep`](crate::time::Sleep) is not a handle and arms its
    /// timer when it is first polled: one that is polled after the thread has ended panics, with a
    /// text that begins "this timer was closed", unless it was due before.
    ///
    /// # Cost
    ///
    /// A thread. A timer that becomes the earliest unparks it.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::Timer;
    /// use std::time::Duration;
    ///
    /// let timer = Timer::builder().dedicated_thread().build()?;
    /// futures::executor::block_on(timer.sleep(Duration::from_micros(250)));
    /// # Ok::<(), cogwheel::error::TimerError>(())
    /// ```
    pub fn dedicated_thread(self) -> Self {
        match self.thread {
            Some(_) => self,
            None => self.thread_name("cogwheel-timer"),
        }
    }

    /// As [`dedicated_thread`](Self::dedicated_thread), for a thread of this name.
    ///
    /// A name ends where it has a zero byte, which the system could not take.
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        let mut name = name.into();
        if let Some(end) = name.find('\0') {
            name.truncate(end);
        }
        self.thread = Some(name);
        self
    }

    /// Lets timers share their wake-ups, for a system that is to sleep long and often.
    ///
    /// A waiting task is woken at the next multiple of `grid` that is not before its deadline, and
    /// so never early and up to `grid` late. The multiples are the same for all timers of the
    /// process. Zero, the default, wakes at the deadlines themselves.
    ///
    /// Only the wake-up is put off. [`Sleep::deadline`](crate::time::Sleep::deadline) stays what
    /// was asked for, a poll that comes after it for another reason finds the sleep complete, and
    /// the ticks of an interval do not drift.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::Timer;
    /// use std::pin::Pin;
    /// use std::task::{Context, Waker};
    /// use std::time::Duration;
    ///
    /// let clock = Timer::builder().coalesce(Duration::from_secs(3)).build_manual();
    /// let mut sleeps: Vec<_> = (1..=100)
    ///     .map(|n| clock.timer().sleep(Duration::from_millis(n)))
    ///     .collect();
    /// let mut context = Context::from_waker(Waker::noop());
    /// for sleep in &mut sleeps {
    ///     assert!(Pin::new(sleep).poll(&mut context).is_pending());
    /// }
    /// let mut stops = 0;
    /// while clock.advance_to_next().is_some() {
    ///     stops += 1;
    /// }
    /// assert!(stops <= 2);
    /// ```
    pub fn coalesce(mut self, grid: Duration) -> Self {
        self.config.coalesce = grid;
        self
    }

    /// Warns, through `tracing`, when timers fire more than `lateness` after their deadlines.
    ///
    /// One event per turn, with the number of such timers and the worst lateness; see
    /// [`metrics`](crate::metrics#events). It means that nobody turned the wheel: all workers of
    /// the runtime were busy, or the machine was. By default there is no such warning, as a test
    /// that moves a paused clock makes timers late on purpose; for a service something like 100
    /// milliseconds is sensible, far above what Tokio's clock of whole milliseconds adds.
    ///
    /// # Units and rounding
    ///
    /// Counted as [`TimerMetrics::lateness`](crate::metrics::TimerMetrics::lateness), to the
    /// nanosecond. Timers that their own poll finds due before a turn does are not looked at.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), cogwheel::error::TimerError> {
    /// use cogwheel::Timer;
    /// use std::time::Duration;
    ///
    /// let late = Duration::from_millis(100);
    /// let timer = Timer::builder().warn_when_late(late).build()?;
    /// timer.make_default()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn warn_when_late(mut self, lateness: Duration) -> Self {
        self.config.warn_when_late = Some(lateness);
        self
    }

    /// Takes a cancelled timer off the wheel at once, and wakes at deadlines alone.
    ///
    /// By default a cancelled timer stays there, to be re-used by the thread's next timer, which
    /// makes cancelling nearly free; the wheel may wake once for it. And where timer after timer is
    /// due before all others, the alarm is set ahead of need, which saves most of their turns and
    /// may cost a wake-up. Under a paused clock such a wake-up shows as an additional stop of
    /// Tokio's auto-advance: a runtime that is idle until something from outside comes has its clock
    /// moved to that stop. A simulation that minds wants this. A [`ManualClock`] is exact without it.
    ///
    /// # Cost
    ///
    /// Every cancelled timer turns the wheel, and so does every one that is due before all others.
    pub fn exact_cancel(mut self, exact: bool) -> Self {
        self.config.exact_cancel = exact;
        self
    }

    /// Releases the waker of every cancelled timer at once.
    ///
    /// By default a thread keeps the waker of the timer it cancelled last, so that the next timer
    /// of the same task clones none: the one that a task makes for its next request, mostly. It is
    /// dropped when the thread cancels another timer, when the wheel looks at its place, when the
    /// thread ends and when the runtime ends. So at most one waker per thread and timer outlives
    /// its `Sleep`, and with it the memory of a task that may have ended, though not its future.
    ///
    /// # Cost
    ///
    /// A clone and a drop of a waker per timer.
    pub fn release_wakers(mut self, release: bool) -> Self {
        self.config.release_wakers = release;
        self
    }

    /// Lets at most `most` timers of this one live at once: for a service that makes them on behalf
    /// of others, who may want too many.
    ///
    /// One more is refused where it is made: the `try_` methods of [`Timer`] give
    /// [`TimerError::AtCapacity`], and their siblings panic at the caller, as do the free functions
    /// where this timer was [made the default](Timer::make_default). What has been made is never
    /// refused anything: no poll and no reset fails.
    ///
    /// # What lives
    ///
    /// * A [`Sleep`](crate::time::Sleep) and what holds one (a timeout, an interval, a stream of
    ///   `StreamExt`): from the call that makes it until it is dropped. It counts
    ///   as one whether it was polled, is armed, has fired, or was moved afterwards, and one that
    ///   is leaked counts until the timer is closed. A `lazy_timeout` begins with the first poll
    ///   that finds its future pending.
    /// * Scheduled work: until it starts or is cancelled, a series until it ends. Whether there is
    ///   still a handle does not matter.
    /// * A [`DelayQueue`](crate::DelayQueue) or a receiver of one that waits in this timer: one,
    ///   however many items there are; see
    ///   [`channel_bounded`](crate::delay_queue::channel_bounded) for those. Such a poll panics if
    ///   there is no place.
    ///
    /// So no more than `most` are ever [pending](ManualClock::pending). What
    /// [`TimerMetrics::live`](crate::metrics::TimerMetrics::live) counts is that, too: a sleep that
    /// was made and not polled has a place, and is not counted there. Of a closed timer nothing lives, and nothing is
    /// refused for this reason.
    ///
    /// Zero is a timer that makes none. A number that does not fit into 32 bits is no bound.
    ///
    /// # Cost
    ///
    /// One word that all threads share: an exchange when a timer is made, and one when it is
    /// dropped. Timers without a bound do not touch it.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Timer, error::TimerError, time::Duration};
    ///
    /// let clock = Timer::builder().max_timers(1).build_manual();
    /// let timer = clock.timer();
    /// let only = timer.try_sleep(Duration::from_secs(1))?;
    /// assert_eq!(timer.try_sleep(Duration::ZERO).unwrap_err(), TimerError::AtCapacity);
    /// assert_eq!(timer.metrics().live, 0); // it was not polled
    /// drop(only);
    /// assert!(timer.try_sleep(Duration::ZERO).is_ok());
    /// # Ok::<(), TimerError>(())
    /// ```
    pub fn max_timers(mut self, most: usize) -> Self {
        self.config.max_timers = u32::try_from(most).ok();
        self
    }

    /// Makes the timer.
    ///
    /// # Errors
    ///
    /// For a thread of its own, [`TimerError::NoThread`] if the system refuses one. Otherwise
    /// [`TimerError::NoRuntime`] if none was given and the calling thread is not in one, and
    /// [`TimerError::TimeDisabled`] if it was built without timers, see [`Timer::try_current`].
    pub fn build(self) -> Result<Timer, TimerError> {
        if let Some(name) = self.thread {
            let keeper = keeper::open(self.config, name)?;
            return Ok(Timer {
                driver: keeper.timer,
                _keeper: Some(keeper),
            });
        }
        let handle = match self.handle {
            Some(handle) => handle,
            None => Handle::try_current().map_err(|_| TimerError::NoRuntime)?,
        };
        registry::open(&handle, self.config).map(Timer::of)
    }

    /// Makes a timer that is driven by hand, and gives its clock.
    ///
    /// As [`ManualClock::new`], with the other choices of this builder. It needs neither a runtime
    /// nor a thread.
    #[must_use]
    pub fn build_manual(self) -> ManualClock {
        let start = clock::context_now();
        ManualClock::of(manual::open(self.config, start), start)
    }

    /// As [`build_manual`](Self::build_manual), for a clock that begins at `start`.
    #[must_use]
    pub fn build_manual_at(self, start: Instant) -> ManualClock {
        let start = clock::tick_of(start);
        ManualClock::of(manual::open(self.config, start), start)
    }
}
