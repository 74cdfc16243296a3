//! `timeout` and `timeout_repeating`: a stream that says when it is silent.

#![forbid(unsafe_code)]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use futures_core::stream::{FusedStream, Stream};
use pin_project_lite::pin_project;
use tokio::task::coop;

use crate::error::Elapsed;
use crate::interval::Interval;
use crate::sleep::Sleep;
use crate::stream::poll_timer;

pin_project! {
    /// The stream of [`timeout`](crate::StreamExt::timeout).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Timeout<S> {
        #[pin]
        source: S,
        delay: Sleep,
        duration: Duration,
        // Whether this silence has not been reported yet.
        armed: bool,
        ended: bool,
    }
}

impl<S> Timeout<S> {
    pub(super) const fn new(source: S, delay: Sleep, duration: Duration) -> Self {
        Self {
            source,
            delay,
            duration,
            armed: true,
            ended: false,
        }
    }

    /// The source.
    pub const fn get_ref(&self) -> &S {
        &self.source
    }

    /// The source, to be changed in place. Items that are taken from it here do not count.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// The source without its timeout. Nothing is lost by this.
    pub fn into_inner(self) -> S {
        self.source
    }
}

impl<S: Stream> Stream for Timeout<S> {
    type Item = Result<S::Item, Elapsed>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let had_budget = coop::has_budget_remaining();
        match this.source.poll_next(cx) {
            Poll::Ready(Some(item)) => {
                this.delay.set_tick(this.delay.now().after(*this.duration));
                *this.armed = true;
                return Poll::Ready(Some(Ok(item)));
            }
            Poll::Ready(None) => {
                *this.ended = true;
                return Poll::Ready(None);
            }
            Poll::Pending if !*this.armed => return Poll::Pending,
            Poll::Pending => {}
        }
        ready!(poll_timer(had_budget, cx, |cx| {
            Pin::new(&mut *this.delay).poll(cx)
        }));
        *this.armed = false;
        Poll::Ready(Some(Err(Elapsed::new())))
    }

    /// There is at most one error before each item and one before the end.
    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.ended {
            return (0, Some(0));
        }
        let (lower, upper) = self.source.size_hint();
        let upper = upper
            .and_then(|items| items.checked_mul(2))
            .and_then(|both| both.checked_add(usize::from(self.armed)));
        (lower, upper)
    }
}

impl<S: Stream> FusedStream for Timeout<S> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

pin_project! {
    /// The stream of [`timeout_repeating`](crate::StreamExt::timeout_repeating).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct TimeoutRepeating<S> {
        #[pin]
        source: S,
        interval: Interval,
        ended: bool,
    }
}

impl<S> TimeoutRepeating<S> {
    pub(super) const fn new(source: S, interval: Interval) -> Self {
        Self {
            source,
            interval,
            ended: false,
        }
    }

    /// The source.
    pub const fn get_ref(&self) -> &S {
        &self.source
    }

    /// The source, to be changed in place. Items that are taken from it here do not count.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// The source without its timeouts. Nothing is lost by this.
    pub fn into_inner(self) -> S {
        self.source
    }
}

impl<S: Stream> Stream for TimeoutRepeating<S> {
    type Item = Result<S::Item, Elapsed>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let had_budget = coop::has_budget_remaining();
        match this.source.poll_next(cx) {
            Poll::Ready(Some(item)) => {
                this.interval.reset();
                return Poll::Ready(Some(Ok(item)));
            }
            Poll::Ready(None) => {
                *this.ended = true;
                return Poll::Ready(None);
            }
            Poll::Pending => {}
        }
        ready!(poll_timer(had_budget, cx, |cx| this.interval.poll_tick(cx)));
        Poll::Ready(Some(Err(Elapsed::new())))
    }

    /// There may be any number of errors.
    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.ended {
            return (0, Some(0));
        }
        (self.source.size_hint().0, None)
    }
}

impl<S: Stream> FusedStream for TimeoutRepeating<S> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}
