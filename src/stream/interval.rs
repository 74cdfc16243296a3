//! `IntervalStream`: ticks as a stream.

#![forbid(unsafe_code)]

use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream};
use tokio::time::Instant;

use crate::interval::Interval;

/// The ticks of an [`Interval`] as a stream that never ends.
///
/// Each item is the instant that the tick was scheduled for, as of
/// [`Interval::tick`](crate::time::Interval::tick).
///
/// # Cancel safety
///
/// Waiting for the next tick and dropping that wait takes no tick.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::{stream::IntervalStream, time::{Duration, Instant, interval}};
/// use futures::StreamExt as _;
///
/// let start = Instant::now();
/// let beat = IntervalStream::new(interval(Duration::from_millis(10)));
/// let ticks: Vec<_> = beat.take(3).map(|tick| (tick - start).as_millis()).collect().await;
/// assert_eq!(ticks, [0, 10, 20]);
/// # }
/// ```
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct IntervalStream {
    interval: Interval,
}

impl IntervalStream {
    /// The ticks of `interval`, from the next one on.
    pub const fn new(interval: Interval) -> Self {
        Self { interval }
    }

    /// The interval. No tick is lost by this.
    #[must_use]
    pub fn into_inner(self) -> Interval {
        self.interval
    }
}

impl From<Interval> for IntervalStream {
    fn from(interval: Interval) -> Self {
        Self::new(interval)
    }
}

impl AsRef<Interval> for IntervalStream {
    fn as_ref(&self) -> &Interval {
        &self.interval
    }
}

/// To reset the interval, or to say what happens after missed ticks.
impl AsMut<Interval> for IntervalStream {
    fn as_mut(&mut self) -> &mut Interval {
        &mut self.interval
    }
}

impl Stream for IntervalStream {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.interval.poll_tick(cx).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

impl FusedStream for IntervalStream {
    fn is_terminated(&self) -> bool {
        false
    }
}
