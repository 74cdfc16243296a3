//! What a timer has done so far, and what it holds: for a person, a dashboard or an alert.
//!
//! [`Timer::metrics`](crate::Timer::metrics) gives a [`TimerMetrics`], a value that says how things
//! stood at one moment. It is always on: nothing is registered or started, and a timer that nobody
//! looks at pays a few instructions per operation.
//!
//! # Examples
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! use cogwheel::Timer;
//! use cogwheel::time::{Duration, sleep, timeout};
//!
//! for _ in 0..9 {
//!     // Ready at once: the timeout is never armed, and so is no timer to the wheel.
//!     let _ = timeout(Duration::from_secs(30), async {}).await;
//!     // Answered in time: its timeout is cancelled.
//!     let _ = timeout(Duration::from_secs(30), sleep(Duration::from_millis(5))).await;
//! }
//! let metrics = Timer::current().metrics();
//! assert_eq!((metrics.created, metrics.fired, metrics.cancelled), (18, 9, 9));
//! assert_eq!(metrics.live, 0);
//! // println!("{metrics}") shows all of it, one line each.
//! assert!(metrics.to_string().starts_with("live "));
//! # }
//! ```
//!
//! # What counts
//!
//! A timer is *created* when it is armed: by the first poll that has to wait, and by the first
//! after a completed one was reset. What is ready at its first poll, or is never polled, is no
//! timer to the wheel. Each tick of an [`Interval`](crate::time::Interval) that is waited for is
//! one, and so is each round of [scheduled work](crate::scheduled). The items of a
//! [`DelayQueue`](crate::DelayQueue) are not: the queue has a wheel of its own, and one timer, for
//! the earliest of them.
//!
//! # How exact it is
//!
//! While nobody uses the timer, everything is exact, and `created == fired + cancelled + live`.
//!
//! While others do, a snapshot is taken between their steps. What an operation that is under way at
//! that moment has done may be in one of the numbers and not in the other yet, so that equation may
//! be off by as many timers as were armed, fired and cancelled while the snapshot was taken. No
//! number that only grows is ever seen to shrink, as long as it is asked for from one thread.
//!
//! # After the end
//!
//! A timer that was closed, or whose runtime has ended, gives its last figures: those that were
//! pending count as cancelled. They are kept until another timer has taken its place in memory and
//! has ended as well; from then on everything is zero.
//!
//! # Events
//!
//! What a timer tells a subscriber of `tracing`. Nothing is formatted unless it is wanted, no lock
//! is held meanwhile, and what panics in a subscriber ends there. What a subscriber does to timers
//! while it is told of one is not told in turn.
//!
//! | target | level | message | fields |
//! |---|---|---|---|
//! | `cogwheel::driver` | debug | `timer opened`: the default timer of a runtime | `generation` |
//! | `cogwheel::driver` | debug | `timer closed` | `generation` |
//! | `cogwheel::driver` | debug | `levels added`: a deadline lay beyond the highest level | `levels` |
//! | `cogwheel::driver` | warn | `timers fired late`, once per turn, see [`warn_when_late`](crate::timer::Builder::warn_when_late) | `count`, `worst` |
//! | `cogwheel::driver` | trace | `turn`, after its timers were woken | `rounds`, `fired`, `cascaded` |
//! | `cogwheel` | debug | `scheduled work starts` | `name` |
//! | `cogwheel` | warn | `scheduled work panicked` | `name`, `panic` |
//!
//! With the feature `tracing-spans` the wakes of a turn happen inside a span `wakes` of the target
//! `cogwheel::driver`, level trace.

#![forbid(unsafe_code)]

mod display;
#[cfg(all(feature = "metrics", not(loom)))]
mod export;
mod histogram;

use core::time::Duration;

pub use crate::metrics::histogram::Histogram;

/// How things stood with a timer at one moment.
///
/// See the [module documentation](self) for what counts and how exact it is. The figures count from
/// when the timer was made. [`Display`](core::fmt::Display) shows them to a person.
///
/// # Cost
///
/// Some 3 KiB and one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimerMetrics {
    /// Timers that wait: armed, neither fired nor cancelled. What
    /// [`max_timers`](crate::timer::Builder::max_timers) bounds is another number: it counts from
    /// the making to the drop.
    pub live: u64,
    /// Timers that were armed.
    pub created: u64,
    /// Timers that have come due: fired by a turn, or found due by their own poll before a turn got
    /// to it.
    pub fired: u64,
    /// Timers that were dropped while they waited, or were waiting when the timer was closed.
    pub cancelled: u64,
    /// How often the deadline of an armed timer was moved, earlier or later.
    pub resets: u64,
    /// Changes that the next turn takes in: they lie in the inboxes.
    pub queued: u64,
    /// How often the wheel was turned.
    pub turns: u64,
    /// How often the driver was woken because a deadline had come: the runtime's clock or the
    /// thread of the timer went off. Always zero with a manual clock, which wakes nobody.
    pub wake_ups: u64,
    /// Timers that a turn moved to a lower level, cancelled ones that are still linked included.
    pub cascades: u64,
    /// Nodes that were made, as many as timers were ever live at once, plus the few idle ones that
    /// each thread keeps.
    pub nodes: u64,
    /// Memory of the nodes, the levels, their entries and the counts of the threads. Approximate:
    /// what wakers and tasks hold is not in it.
    pub bytes: u64,
    /// How much later than its deadline each timer was fired: up to the time at which the turn read
    /// the clock. What the wakers of the same turn took before is not in it, nor are timers that
    /// their own poll found due. On a timer that [coalesces](crate::timer::Builder::coalesce) it
    /// counts from the common wake-up.
    pub lateness: Histogram,
    /// The levels of the wheel made so far, the finest first. Empty once the timer is closed.
    pub levels: Vec<LevelMetrics>,
    /// Whether the timer is closed.
    pub closed: bool,
}

/// How things stand in one level of a wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelMetrics {
    /// How much time one bucket covers.
    pub bucket: Duration,
    /// How much time the buckets of one round cover, which is what one bucket of the next level
    /// covers; 584 years if it is more.
    pub span: Duration,
    /// Which buckets are occupied. Bit 0 is the one in which the time of the latest turn lies, bit
    /// `n` the one that begins `n` buckets later. There are two rounds, 128 buckets in all.
    pub occupied: u128,
    /// Entries in these buckets: timers, and cancelled ones that are still linked.
    pub entries: u64,
}

impl LevelMetrics {
    pub(crate) const fn new(
        bucket: Duration,
        span: Duration,
        occupied: u128,
        entries: u64,
    ) -> Self {
        Self {
            bucket,
            span,
            occupied,
            entries,
        }
    }
}

impl TimerMetrics {
    /// The last figures of a timer that is closed now.
    #[cfg(not(loom))]
    pub(crate) fn into_last(mut self) -> Self {
        self.cancelled += self.live;
        self.live = 0;
        self.queued = 0;
        self.levels.clear();
        self.closed = true;
        self
    }

    /// What is left of a timer that ended long ago.
    #[cfg(not(loom))]
    pub(crate) fn forgotten() -> Self {
        Self {
            closed: true,
            ..Self::default()
        }
    }
}
