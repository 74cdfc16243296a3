//! Time for streams: timeouts, throttling, debouncing, chunks by time, and ticks as a stream.
//!
//! [`StreamExt`] adds the methods to every [`Stream`]. Each gives a stream that owns its source and
//! one [`Sleep`](crate::time::Sleep), and polls the source first: an item that is there wins over a
//! deadline that has passed.
//!
//! | method | gives | counts from |
//! |---|---|---|
//! | [`timeout`](StreamExt::timeout) | the items, and one error for each silence | the last item |
//! | [`timeout_repeating`](StreamExt::timeout_repeating) | the items, and errors while it is silent | the last item |
//! | [`throttle`](StreamExt::throttle) | all items, kept apart | the last item |
//! | [`debounce`](StreamExt::debounce) | the last item before each silence | the last item |
//! | [`chunks_timeout`](StreamExt::chunks_timeout) | items in groups | the first item of a group |
//!
//! Invariants:
//! * the source is polled before the timer, and never again after its end;
//! * a source that uses up the task's budget cannot keep the timer from being looked at;
//! * no poll takes more than a few dozen items without a look at the timer.
//!
//! # Runtime and clock
//!
//! The methods take the timer of the runtime that they are called in, and panic outside of one, as
//! [`time::sleep`](crate::time::sleep) does. So the streams are made where they will run; they may
//! be polled anywhere. [`with_timer`](StreamExt::with_timer) names another timer, and needs no
//! runtime.
//!
//! # After the end
//!
//! Once the source has ended and what was kept back is yielded, each of these streams gives `None`
//! for good, whatever the source would do; `FusedStream` says so.
//!
//! # Unpin
//!
//! Each is `Unpin` if its source is: no pinning is needed for a channel, an iterator or a boxed
//! stream.
//!
//! # Source
//!
//! Names and behaviour of `timeout`, `timeout_repeating`, `throttle`, `chunks_timeout` and
//! `IntervalStream` are those of the crate `tokio-stream`; the differences are told at each.
//! Debouncing is the operator of that name of ReactiveX.

#![forbid(unsafe_code)]

mod chunks_timeout;
mod debounce;
mod interval;
mod throttle;
mod timeout;
mod with_timer;

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};
use core::time::Duration;

#[doc(no_inline)]
pub use futures_core::Stream;
use tokio::task::coop;

use crate::error::TimerError;
use crate::interval::Interval;
use crate::sleep::sleep;
use crate::timer::Timer;

pub use self::chunks_timeout::ChunksTimeout;
pub use self::debounce::Debounce;
pub use self::interval::IntervalStream;
pub use self::throttle::Throttle;
pub use self::timeout::{Timeout, TimeoutRepeating};
pub use self::with_timer::WithTimer;

/// So many items are taken in one poll before the others have their turn.
const BATCH: usize = 32;

/// Time for every [`Stream`].
///
/// # Beside other traits of this kind
///
/// `futures::StreamExt` has none of these names, so both can be imported. `tokio_stream`'s has all
/// but `debounce`, on Tokio's timers: where both are imported, a call of these does not compile.
/// Name the trait in the call, `cogwheel::StreamExt::throttle(stream, duration)`, or take `next`,
/// `map` and the like from `futures`.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::{StreamExt as _, time::{Duration, Instant}};
/// use futures::{StreamExt as _, stream};
///
/// let start = Instant::now();
/// let mut letters = stream::iter(["a", "b", "c"]).throttle(Duration::from_millis(100));
/// while let Some(_letter) = letters.next().await {}
/// assert_eq!(start.elapsed(), Duration::from_millis(300));
/// # }
/// ```
pub trait StreamExt: Stream {
    /// Yields the items as `Ok`, and `Err(Elapsed)` when none has come for `duration`.
    ///
    /// It counts from this call and then from each item, and errs once in each silence: after an
    /// error nothing comes until the source yields again. It does not end by it.
    ///
    /// # Units and rounding
    ///
    /// As [`time::timeout`](crate::time::timeout). Zero errs whenever the source is pending;
    /// [`Duration::MAX`] never errs.
    ///
    /// # Panics
    ///
    /// At the call, and at the caller's location, if the thread is not in a Tokio runtime, if that
    /// runtime was built without timers, or if it was given a default timer that is at its
    /// [`max_timers`](crate::timer::Builder::max_timers). Polling panics after that runtime has
    /// shut down.
    ///
    /// # Cancel safety
    ///
    /// Waiting for the next item and dropping that wait loses nothing and does not start the
    /// duration again.
    ///
    /// # Cost
    ///
    /// One clock read for each item. No allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{StreamExt as _, stream::IntervalStream, time::{Duration, interval}};
    /// use futures::StreamExt as _;
    ///
    /// let beat = IntervalStream::new(interval(Duration::from_millis(100)));
    /// let mut guarded = beat.timeout(Duration::from_millis(60));
    /// assert!(guarded.next().await.unwrap().is_ok()); // at 0
    /// assert!(guarded.next().await.unwrap().is_err()); // at 60
    /// assert!(guarded.next().await.unwrap().is_ok()); // at 100
    /// # }
    /// ```
    #[track_caller]
    fn timeout(self, duration: Duration) -> Timeout<Self>
    where
        Self: Sized,
    {
        Timeout::new(self, sleep(duration), duration)
    }

    /// Yields the items as `Ok`, and `Err(Elapsed)` at each tick of `interval` while none comes.
    ///
    /// Each item makes the interval start again, so the first error comes one period after it. The
    /// very first tick is that of the interval as it is given: at once for
    /// [`time::interval`](crate::time::interval), which
    /// [`time::interval_at`](crate::time::interval_at) can avoid.
    ///
    /// # Cancel safety
    ///
    /// As [`timeout`](Self::timeout).
    ///
    /// # Cost
    ///
    /// One clock read for each item and each error. No allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{StreamExt as _, time::{Duration, Instant, interval_at}};
    /// use futures::{StreamExt as _, stream};
    ///
    /// let start = Instant::now();
    /// let second = Duration::from_secs(1);
    /// let nag = interval_at(start + second, second);
    /// let mut silent = stream::pending::<u8>().timeout_repeating(nag);
    /// for _ in 0..3 {
    ///     assert!(silent.next().await.unwrap().is_err());
    /// }
    /// assert_eq!(start.elapsed(), 3 * second);
    /// # }
    /// ```
    fn timeout_repeating(self, interval: Interval) -> TimeoutRepeating<Self>
    where
        Self: Sized,
    {
        TimeoutRepeating::new(self, interval)
    }

    /// Yields all items, but no two within `duration`.
    ///
    /// The first comes at once, each other one no sooner than `duration` after the last was
    /// yielded. Until then the source is not polled, so a bounded channel holds its senders back,
    /// and no item is lost. The end is seen after that wait, too.
    ///
    /// # Units and rounding
    ///
    /// As [`time::sleep`](crate::time::sleep). Zero changes nothing; [`Duration::MAX`] lets one
    /// item through.
    ///
    /// # Panics
    ///
    /// As [`timeout`](Self::timeout).
    ///
    /// # Cancel safety
    ///
    /// As [`timeout`](Self::timeout).
    ///
    /// # Cost
    ///
    /// One clock read for each item. No allocation.
    #[track_caller]
    fn throttle(self, duration: Duration) -> Throttle<Self>
    where
        Self: Sized,
    {
        Throttle::new(self, sleep(Duration::ZERO), duration)
    }

    /// Yields the latest item once none has come for `duration`, and drops those before it.
    ///
    /// For input that changes many times and matters when it has settled: key strokes, file
    /// events, the size of a window. When the source ends, the item that is kept back is yielded at
    /// once. A source that is never silent yields nothing until it ends.
    ///
    /// Time counts from the poll that takes an item. A poll that comes late, and finds both that
    /// the time is over and that a newer item is there, takes the newer one and waits for it: what
    /// is yielded is always the latest.
    ///
    /// # Units and rounding
    ///
    /// As [`time::sleep`](crate::time::sleep). Zero yields the latest of the items that are ready
    /// together; [`Duration::MAX`] yields the last item of all, at the end.
    ///
    /// # Panics
    ///
    /// As [`timeout`](Self::timeout).
    ///
    /// # Cancel safety
    ///
    /// Waiting for the next item and dropping that wait loses nothing: the latest item and its time
    /// stay in the stream.
    ///
    /// # Cost
    ///
    /// One clock read for each run of items that are ready together. No allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{StreamExt as _, time::{Duration, sleep}};
    /// use futures::{StreamExt as _, channel::mpsc};
    ///
    /// let (keys, typed) = mpsc::unbounded();
    /// tokio::spawn(async move {
    ///     for (text, pause) in [("c", 20), ("co", 20), ("cog", 500), ("cogs", 20)] {
    ///         keys.unbounded_send(text).unwrap();
    ///         sleep(Duration::from_millis(pause)).await;
    ///     }
    /// });
    /// let searches: Vec<_> = typed.debounce(Duration::from_millis(200)).collect().await;
    /// assert_eq!(searches, ["cog", "cogs"]);
    /// # }
    /// ```
    #[track_caller]
    fn debounce(self, duration: Duration) -> Debounce<Self>
    where
        Self: Sized,
    {
        Debounce::new(self, sleep(duration), duration)
    }

    /// Yields the items in groups: of `size`, or of those that came within `duration` of the first.
    ///
    /// A group is yielded when it is full, when `duration` has passed since its first item was
    /// taken, or when the source ends, whichever is first. No group is empty, and none is longer
    /// than `size`. Unlike that of tokio-stream, a group whose time is over closes even if the
    /// source always has more: after a few dozen items in one poll, the time is looked at.
    ///
    /// # Units and rounding
    ///
    /// As [`time::sleep`](crate::time::sleep). Zero yields what is ready together, in groups of a
    /// few dozen at most; [`Duration::MAX`] waits until the group is full.
    ///
    /// # Panics
    ///
    /// At the caller's location, if `size` is zero, and as [`timeout`](Self::timeout); in this
    /// order.
    ///
    /// # Cancel safety
    ///
    /// Waiting for the next group and dropping that wait loses nothing: the items and the time of
    /// the first stay in the stream. Dropping the stream drops them;
    /// [`into_parts`](ChunksTimeout::into_parts) gives them back.
    ///
    /// # Cost
    ///
    /// One clock read and one `Vec` for each group, which grows with the items: a large `size`
    /// costs nothing by itself.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{StreamExt as _, stream::IntervalStream, time::{Duration, interval}};
    /// use futures::StreamExt as _;
    ///
    /// let beat = IntervalStream::new(interval(Duration::from_millis(30))).take(5);
    /// let sizes = beat
    ///     .chunks_timeout(10, Duration::from_millis(70))
    ///     .map(|chunk| chunk.len());
    /// assert_eq!(sizes.collect::<Vec<_>>().await, [3, 2]);
    /// # }
    /// ```
    #[track_caller]
    fn chunks_timeout(self, size: usize, duration: Duration) -> ChunksTimeout<Self>
    where
        Self: Sized,
    {
        assert!(size > 0, "`size` must be non-zero.");
        ChunksTimeout::new(self, size, sleep(duration), duration)
    }

    /// Chooses the timer for the helper that is called next, instead of that of the current
    /// runtime.
    ///
    /// For [`timeout_repeating`](Self::timeout_repeating), which is given its interval, take that
    /// of [`Timer::interval`].
    ///
    /// # Panics
    ///
    /// At the caller, if `timer` is at its [`max_timers`](crate::timer::Builder::max_timers). On a
    /// closed timer the stream panics when it has to wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{ManualClock, StreamExt as _, time::Duration};
    /// use futures::{FutureExt as _, StreamExt as _, stream};
    ///
    /// let clock = ManualClock::new();
    /// let numbers = stream::iter(1..).with_timer(&clock.timer());
    /// let mut apart = numbers.throttle(Duration::from_secs(60));
    /// assert_eq!(apart.next().now_or_never(), Some(Some(1)));
    /// assert_eq!(apart.next().now_or_never(), None);
    /// clock.advance(Duration::from_secs(60));
    /// assert_eq!(apart.next().now_or_never(), Some(Some(2)));
    /// ```
    #[track_caller]
    fn with_timer(self, timer: &Timer) -> WithTimer<Self>
    where
        Self: Sized,
    {
        WithTimer::new(self, timer.sleep(Duration::ZERO))
    }

    /// As [`with_timer`](Self::with_timer), with an error instead of a panic, and instead of a
    /// stream that cannot wait.
    ///
    /// # Errors
    ///
    /// As [`Timer::try_sleep`]. The stream is dropped.
    fn try_with_timer(self, timer: &Timer) -> Result<WithTimer<Self>, TimerError>
    where
        Self: Sized,
    {
        Ok(WithTimer::new(self, timer.try_sleep(Duration::ZERO)?))
    }
}

impl<S: Stream + ?Sized> StreamExt for S {}

/// Polls a timer after a source that was pending, and that was polled with (`had_budget`) or
/// without cooperative budget left.
///
/// A source that uses the budget up may do so in every poll, and a timer that obeys it would never
/// be seen to end. So it is polled outside of the budget then, but not if there was none before:
/// then it is the task's turn to yield.
fn poll_timer<T>(
    had_budget: bool,
    cx: &mut Context<'_>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    let used_up_by_source = had_budget && !coop::has_budget_remaining();
    if used_up_by_source {
        pin!(coop::unconstrained(poll_fn(poll))).poll(cx)
    } else {
        poll(cx)
    }
}
