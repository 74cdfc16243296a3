//! Scheduling work on a timer.

#![forbid(unsafe_code)]

use core::convert::Infallible;
use core::future::Future;
use core::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::clock;
use crate::error::TimerError;
use crate::primitive::Arc;
use crate::scheduled::Scheduled;
use crate::scheduled::task::Task;
use crate::scheduled::work::{Every, Once, Work};
use crate::tick::Tick;
use crate::timer::Timer;

/// Scheduling work.
impl Timer {
    /// Runs `future` in `delay` from now, as a task of this timer's runtime.
    ///
    /// It never runs on the driver: work that is slow or panics delays no timer. It is a task like
    /// any other, though: what blocks belongs into [`spawn_blocking`](tokio::task::spawn_blocking).
    ///
    /// May be called from any thread, in a runtime or not. On a closed timer the future is dropped
    /// at once and the outcome is [`Closed`](crate::scheduled::Outcome::Closed);
    /// [`try_schedule`](Self::try_schedule) tells so right away.
    ///
    /// # Units and rounding
    ///
    /// Exact to the nanosecond, and never early. A zero `delay` spawns the work at once, but not
    /// inline. One that overflows means practically never.
    ///
    /// # Panics
    ///
    /// Panics, at the caller, if this timer has no runtime of its own and the calling thread is
    /// not in one: enter a runtime first; and if this timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers).
    ///
    /// # Cost
    ///
    /// One clock reading and one allocation, for the future and the handle together. No task is
    /// spawned before it is due. See [`Scheduled`].
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
    /// let reminder = timer.schedule(Duration::from_secs(60), async { "stand up" });
    /// assert_eq!(reminder.await.fired(), Some("stand up"));
    /// # }
    /// ```
    ///
    /// # Source
    ///
    /// `newTimeout` of Netty's `HashedWheelTimer` and Go's `time.AfterFunc`; that work never runs
    /// on the timer's own thread is Kafka's rule.
    #[track_caller]
    pub fn schedule<F>(&self, delay: Duration, future: F) -> Scheduled<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let now = self.driver().start();
        let handle = self.begin(Once::new(future), now, now.after(delay));
        Scheduled::new(handle)
    }

    /// As [`schedule`](Self::schedule), with an error instead of work that will not run.
    ///
    /// # Errors
    ///
    /// [`TimerError::Closed`] if the runtime of this timer has shut down, and where
    /// [`schedule`](Self::schedule) panics, [`TimerError::NoRuntime`] or
    /// [`TimerError::AtCapacity`]. The future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Timer, error::TimerError, time::Duration};
    /// use tokio::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    /// let timer = runtime.block_on(async { Timer::current() });
    /// drop(runtime);
    /// let late = timer.try_schedule(Duration::ZERO, async {});
    /// assert_eq!(late.unwrap_err(), TimerError::Closed);
    /// ```
    pub fn try_schedule<F>(
        &self,
        delay: Duration,
        future: F,
    ) -> Result<Scheduled<F::Output>, TimerError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.open_for_work()?;
        let now = self.driver().start();
        let handle = self.try_begin(Once::new(future), now, now.after(delay))?;
        Ok(Scheduled::new(handle))
    }

    /// Runs `future` at `deadline`, as [`schedule`](Self::schedule) does.
    ///
    /// A deadline that has passed is due now.
    ///
    /// # Panics
    ///
    /// As [`schedule`](Self::schedule).
    #[track_caller]
    pub fn schedule_at<F>(&self, deadline: Instant, future: F) -> Scheduled<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let now = self.driver().now();
        let handle = self.begin(Once::new(future), now, clock::tick_of(deadline));
        Scheduled::new(handle)
    }

    /// As [`schedule_at`](Self::schedule_at), with an error instead of work that will not run.
    ///
    /// # Errors
    ///
    /// As [`try_schedule`](Self::try_schedule).
    pub fn try_schedule_at<F>(
        &self,
        deadline: Instant,
        future: F,
    ) -> Result<Scheduled<F::Output>, TimerError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.open_for_work()?;
        let now = self.driver().now();
        let handle = self.try_begin(Once::new(future), now, clock::tick_of(deadline))?;
        Ok(Scheduled::new(handle))
    }

    /// Runs what `make` gives every `period`, for the first time one `period` from now.
    ///
    /// Each round is a task of this timer's runtime, as the work of [`schedule`](Self::schedule).
    /// It goes on until it is cancelled or the runtime ends.
    ///
    /// # Rounds
    ///
    /// * They never overlap: one that takes longer than `period` lets those wait that come after
    ///   it, and then [`set_missed_tick_behavior`](Scheduled::set_missed_tick_behavior) decides.
    ///   The times are those of a loop over
    ///   [`interval_at(now + period, period)`](crate::time::interval_at).
    /// * One that panics does not end the series. `tracing` is told, and
    ///   [`panics`](Scheduled::panics) counts it. `make` is called again even if it was `make`
    ///   that panicked: it must not leave its captures half changed.
    /// * To begin at another time, [`reschedule`](Scheduled::reschedule) the first round.
    ///
    /// # Units and rounding
    ///
    /// Round n is due at exactly `start + n * period`, to the nanosecond, and never starts early.
    ///
    /// # Panics
    ///
    /// Panics, at the caller, if `period` is zero, and where [`schedule`](Self::schedule) does.
    ///
    /// # Cost
    ///
    /// One allocation, and one spawned task per round.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use cogwheel::{Timer, time::{Duration, sleep}};
    ///
    /// static BEATS: AtomicU32 = AtomicU32::new(0);
    /// let beats = Timer::current().schedule_every(Duration::from_secs(1), || async {
    ///     BEATS.fetch_add(1, Ordering::Relaxed);
    /// });
    /// sleep(Duration::from_millis(3_500)).await;
    /// assert!(beats.cancel());
    /// assert_eq!(BEATS.load(Ordering::Relaxed), 3);
    /// # }
    /// ```
    #[track_caller]
    pub fn schedule_every<M, F>(&self, period: Duration, make: M) -> Scheduled<Infallible>
    where
        M: FnMut() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        assert!(!period.is_zero(), "`period` must be non-zero.");
        let now = self.driver().start();
        let handle = self.begin(Every::new(period, make), now, now.after(period));
        Scheduled::new(handle)
    }

    /// As [`schedule_every`](Self::schedule_every), with an error instead of work that will not
    /// run.
    ///
    /// # Errors
    ///
    /// As [`try_schedule`](Self::try_schedule).
    ///
    /// # Panics
    ///
    /// Panics, at the caller, if `period` is zero.
    #[track_caller]
    pub fn try_schedule_every<M, F>(
        &self,
        period: Duration,
        make: M,
    ) -> Result<Scheduled<Infallible>, TimerError>
    where
        M: FnMut() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        assert!(!period.is_zero(), "`period` must be non-zero.");
        self.open_for_work()?;
        let now = self.driver().start();
        let handle = self.try_begin(Every::new(period, make), now, now.after(period))?;
        Ok(Scheduled::new(handle))
    }

    #[track_caller]
    fn begin<W: Work>(&self, work: W, now: Tick, deadline: Tick) -> Arc<Task<W>> {
        match self.try_begin(work, now, deadline) {
            Ok(task) => task,
            Err(error) => panic!("{error}"),
        }
    }

    fn try_begin<W: Work>(
        &self,
        work: W,
        now: Tick,
        deadline: Tick,
    ) -> Result<Arc<Task<W>>, TimerError> {
        let runtime = self.place_of_work()?;
        self.driver().take_place()?;
        Ok(Task::schedule(self.driver(), runtime, work, now, deadline))
    }

    /// Where work is to run: nowhere else than on the timer's own runtime, if it has one, which
    /// is then asked for when the work is due.
    fn place_of_work(&self) -> Result<Option<Handle>, TimerError> {
        if self.driver().has_runtime() {
            return Ok(None);
        }
        let current = Handle::try_current().map_err(|_| TimerError::NoRuntime)?;
        Ok(Some(current))
    }

    fn open_for_work(&self) -> Result<(), TimerError> {
        if self.is_closed() {
            return Err(TimerError::Closed);
        }
        Ok(())
    }
}
