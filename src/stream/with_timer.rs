//! `with_timer`: the helpers of a stream on a timer that is named.

#![forbid(unsafe_code)]

use core::time::Duration;

use futures_core::stream::Stream;

use crate::sleep::Sleep;
use crate::stream::{ChunksTimeout, Debounce, Throttle, Timeout};

/// A stream and the timer that its helper is to wait on: made by
/// [`with_timer`](crate::StreamExt::with_timer).
///
/// It is not a stream itself. Each method is the one of [`StreamExt`](crate::StreamExt) of that
/// name, from any thread; time counts from the call, on the clock of the timer.
#[derive(Debug)]
#[must_use = "it does nothing until one of its methods is called"]
pub struct WithTimer<S> {
    source: S,
    /// Of that timer, and moved to where the helper wants it.
    delay: Sleep,
}

impl<S> WithTimer<S> {
    pub(super) const fn new(source: S, delay: Sleep) -> Self {
        Self { source, delay }
    }

    /// The source, without the timer.
    pub fn into_inner(self) -> S {
        self.source
    }

    fn count_from_now(&mut self, duration: Duration) {
        self.delay.set_tick(self.delay.now().after(duration));
    }
}

impl<S: Stream> WithTimer<S> {
    /// As [`StreamExt::timeout`](crate::StreamExt::timeout).
    pub fn timeout(mut self, duration: Duration) -> Timeout<S> {
        self.count_from_now(duration);
        Timeout::new(self.source, self.delay, duration)
    }

    /// As [`StreamExt::throttle`](crate::StreamExt::throttle).
    pub fn throttle(self, duration: Duration) -> Throttle<S> {
        Throttle::new(self.source, self.delay, duration)
    }

    /// As [`StreamExt::debounce`](crate::StreamExt::debounce).
    pub fn debounce(self, duration: Duration) -> Debounce<S> {
        Debounce::new(self.source, self.delay, duration)
    }

    /// As [`StreamExt::chunks_timeout`](crate::StreamExt::chunks_timeout).
    ///
    /// # Panics
    ///
    /// At the caller, if `size` is zero.
    #[track_caller]
    pub fn chunks_timeout(self, size: usize, duration: Duration) -> ChunksTimeout<S> {
        assert!(size > 0, "`size` must be non-zero.");
        ChunksTimeout::new(self.source, size, self.delay, duration)
    }
}
