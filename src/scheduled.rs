//! Scheduled work: futures that start later, and can be cancelled or moved until they do.
//!
//! [`Timer::schedule`] keeps a future until its time has come and then spawns it as a task of the
//! timer's runtime. [`Timer::schedule_every`] does so with a new future every period. Both give a
//! [`Scheduled`] handle at once.
//!
//! What waits costs no task: the future lies in one allocation, which is itself the waker that the
//! wheel fires. How that works is in `scheduled/task.rs`.
//!
//! # Which one do I want?
//!
//! * The code that waits is the code that goes on: [`time::sleep`](crate::time::sleep) or
//!   [`timeout`](crate::time::timeout), which cost less.
//! * Something is to be done later, unless somebody says otherwise before: [`Timer::schedule`].
//! * One task handles many things that become due: [`DelayQueue`](crate::DelayQueue).
//!
//! # Examples
//!
//! An order that closes unless it is paid for in time:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! use std::time::Duration;
//! use cogwheel::Timer;
//!
//! let timer = Timer::current();
//! let close = timer.schedule(Duration::from_secs(30 * 60), async { println!("closed unpaid") });
//!
//! // The payment has come: from here on it will not close.
//! assert!(close.cancel());
//! assert!(close.await.is_cancelled());
//! # }
//! ```
//!
//! [`Timer::schedule`]: crate::Timer::schedule
//! [`Timer::schedule_every`]: crate::Timer::schedule_every

#![forbid(unsafe_code)]

mod making;
mod outcome;
mod runner;
mod task;
mod work;

use core::convert::Infallible;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::borrow::Cow;

use tokio::time::Instant;

use crate::clock;
use crate::interval::MissedTickBehavior;
use crate::primitive::Arc;
use crate::scheduled::task::Job;

pub use self::outcome::Outcome;

/// A handle to scheduled work: made by [`Timer::schedule`](crate::Timer::schedule) and its
/// siblings.
///
/// Awaiting it waits for the end of the work and gives an [`Outcome`]; `&mut` of it can be awaited,
/// too. Dropping it detaches the work, which goes on without it, as dropping a `JoinHandle` of
/// Tokio's does; [`cancel_on_drop`](Self::cancel_on_drop) chooses the other way.
///
/// That of [`schedule_every`](crate::Timer::schedule_every) is a `Scheduled<Infallible>`: a series
/// never ends by itself, only [`Cancelled`](Outcome::Cancelled) or [`Closed`](Outcome::Closed).
///
/// # Start, cancel and move
///
/// Work that is due is spawned, and starts when its task is polled for the first time; on a busy
/// runtime that can be a while later. Until that moment it can be cancelled and moved. Whatever
/// threads do so at the same time, exactly one of them and the start wins.
///
/// # When the runtime ends
///
/// Whatever waits or runs then is dropped, and its outcome is [`Closed`](Outcome::Closed). On a timer
/// without a runtime of its own, work that waits finds out when it is due, and is dropped then.
///
/// # Panics
///
/// Polling it again after it gave the outcome panics, as polling a `JoinHandle` does.
///
/// # Cancel safety
///
/// Waiting for it through `&mut` is cancel safe: the outcome stays until it is taken.
///
/// # Cost
///
/// One allocation holds all of it until it starts, and the start spawns one task. Cancelling takes
/// a lock that is this work's own and one atomic exchange; it releases the future and all that
/// this captured, at once. Moving it to later is little more than that lock; to earlier, see
/// [`Sleep::set_deadline`](crate::time::Sleep::set_deadline).
///
/// The handle is `Send`, `Sync` and `Unpin` for every `T`.
pub struct Scheduled<T> {
    job: Arc<dyn Job<T>>,
    cancel_on_drop: bool,
    /// Whether the job may hold a waker of the party that waits through this handle.
    polled: bool,
}

impl<T> Scheduled<T> {
    fn new(job: Arc<dyn Job<T>>) -> Self {
        Self {
            job,
            cancel_on_drop: false,
            polled: false,
        }
    }

    /// Cancels the work, unless it has started.
    ///
    /// `true` means that it will never start; of a series, that no further round will. The future
    /// has been dropped then, or, if a round of the series is running, the closure will be when
    /// that round has ended; awaiting the handle waits for it. `false` means that it has started
    /// or ended, be it by an earlier call of this.
    ///
    /// A panic in the drop of the future is caught: the panic hook reports it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use std::time::Duration;
    /// use cogwheel::Timer;
    ///
    /// let mail = Timer::current().schedule(Duration::from_secs(5), async { "sent" });
    /// assert!(mail.cancel());
    /// assert!(!mail.cancel());
    /// # }
    /// ```
    pub fn cancel(&self) -> bool {
        self.job.cancel()
    }

    /// Moves the start to `deadline`, unless the work has started.
    ///
    /// `true` means that it will start at `deadline` and not before; at once, if that has passed.
    /// `false` means that it has started or ended, or that its runtime has. Of a series this moves
    /// the next round, also while one is running, and later rounds follow it by their period.
    ///
    /// # Units and rounding
    ///
    /// Exact to the nanosecond. An instant more than 500 years ahead means practically never.
    ///
    /// # Examples
    ///
    /// A session that ends after five idle minutes:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::{Duration, Instant, sleep}};
    ///
    /// let idle = Duration::from_secs(300);
    /// let start = Instant::now();
    /// let logout = Timer::current().schedule(idle, async { Instant::now() });
    ///
    /// sleep(Duration::from_secs(200)).await; // a request
    /// assert!(logout.reschedule(Instant::now() + idle));
    /// assert_eq!(logout.await.fired(), Some(start + Duration::from_secs(500)));
    /// # }
    /// ```
    pub fn reschedule(&self, deadline: Instant) -> bool {
        self.job.clone().reschedule(clock::tick_of(deadline))
    }

    /// Cancels the work when the handle is dropped, as [`cancel`](Self::cancel) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::{Duration, sleep}};
    ///
    /// let shout = async { panic!("this took too long") };
    /// let watchdog = Timer::current().schedule(Duration::from_secs(5), shout).cancel_on_drop();
    /// // The work.
    /// drop(watchdog);
    /// sleep(Duration::from_secs(10)).await;
    /// # }
    /// ```
    #[must_use = "dropping it cancels the work"]
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }

    /// Names the work in what it tells `tracing`: that it starts (at level debug), and that it
    /// panicked (warn). The first name stays.
    ///
    /// # Cost
    ///
    /// A `&'static str` is not copied. Nothing is formatted unless a subscriber wants it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::Duration};
    ///
    /// let report = Timer::current().schedule(Duration::from_secs(60), async {});
    /// assert_eq!(report.with_name("report").name(), Some("report"));
    /// # }
    /// ```
    #[must_use = "dropping it detaches the work"]
    pub fn with_name(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.job.name().get_or_init(|| name.into());
        self
    }

    /// The name that it was given.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.job.name().get().map(|name| &**name)
    }

    /// Whether the work has ended, in whatever way.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.job.is_finished()
    }

    /// When it starts, or was to start; of a series, when the next round does.
    ///
    /// A deadline more than 500 years ahead shows as one about that far ahead.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        clock::instant_of(self.job.deadline())
    }
}

/// Series of rounds.
impl Scheduled<Infallible> {
    /// Says what happens after missed rounds, from the next round on.
    ///
    /// A round is missed if its time comes while the one before is still running, or if the
    /// runtime is too busy to start it. By default missed rounds are made up for in a
    /// [burst](MissedTickBehavior::Burst).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Timer, time::{Duration, MissedTickBehavior, sleep}};
    ///
    /// let report = || async { sleep(Duration::from_millis(250)).await };
    /// let reports = Timer::current().schedule_every(Duration::from_millis(100), report);
    /// reports.set_missed_tick_behavior(MissedTickBehavior::Skip);
    /// sleep(Duration::from_millis(800)).await;
    /// assert_eq!(reports.rounds(), 3); // at 100, 350 and 600 ms
    /// # }
    /// ```
    pub fn set_missed_tick_behavior(&self, behavior: MissedTickBehavior) {
        self.job.set_missed_tick_behavior(behavior);
    }

    /// How many rounds have started.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.job.counts().rounds
    }

    /// How many rounds have panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.job.counts().panics
    }
}

impl<T> Future for Scheduled<T> {
    type Output = Outcome<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome<T>> {
        self.polled = true;
        self.job.poll(cx)
    }
}

impl<T> Drop for Scheduled<T> {
    fn drop(&mut self) {
        if self.polled {
            self.job.forget_waiter();
        }
        if self.cancel_on_drop {
            self.cancel();
        }
    }
}

impl<T> fmt::Debug for Scheduled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduled")
            .field("name", &self.name())
            .field("deadline", &self.deadline())
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
