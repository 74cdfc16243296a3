//! `throttle`: all items, kept apart.

#![forbid(unsafe_code)]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use futures_core::stream::{FusedStream, Stream};
use pin_project_lite::pin_project;

use crate::sleep::Sleep;

pin_project! {
    /// The stream of [`throttle`](crate::StreamExt::throttle).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Throttle<S> {
        #[pin]
        source: S,
        delay: Sleep,
        duration: Duration,
        // Whether the next item has to wait for the delay.
        waiting: bool,
        ended: bool,
    }
}

impl<S> Throttle<S> {
    pub(super) const fn new(source: S, delay: Sleep, duration: Duration) -> Self {
        Self {
            source,
            delay,
            duration,
            waiting: false,
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

    /// The source at its own pace. Nothing is lost by this.
    pub fn into_inner(self) -> S {
        self.source
    }
}

impl<S: Stream> Stream for Throttle<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        if *this.waiting {
            ready!(Pin::new(&mut *this.delay).poll(cx));
            *this.waiting = false;
        }
        let item = ready!(this.source.poll_next(cx));
        if item.is_none() {
            *this.ended = true;
        } else if !this.duration.is_zero() {
            this.delay.set_tick(this.delay.now().after(*this.duration));
            *this.waiting = true;
        }
        Poll::Ready(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.ended {
            return (0, Some(0));
        }
        self.source.size_hint()
    }
}

impl<S: Stream> FusedStream for Throttle<S> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}
