//! `debounce`: the last item before each silence.

#![forbid(unsafe_code)]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use futures_core::stream::{FusedStream, Stream};
use pin_project_lite::pin_project;
use tokio::task::coop;

use crate::sleep::Sleep;
use crate::stream::{BATCH, poll_timer};

pin_project! {
    /// The stream of [`debounce`](crate::StreamExt::debounce).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Debounce<S: Stream> {
        #[pin]
        source: S,
        delay: Sleep,
        duration: Duration,
        latest: Option<S::Item>,
        ended: bool,
    }
}

impl<S: Stream> Debounce<S> {
    pub(super) const fn new(source: S, delay: Sleep, duration: Duration) -> Self {
        Self {
            source,
            delay,
            duration,
            latest: None,
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

    /// The source, and the item that is kept back.
    pub fn into_parts(self) -> (S, Option<S::Item>) {
        (self.source, self.latest)
    }
}

impl<S: Stream> Stream for Debounce<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let had_budget = coop::has_budget_remaining();
        let (mut taken, mut is_silent) = (0, false);
        while taken < BATCH && !is_silent {
            match this.source.as_mut().poll_next(cx) {
                Poll::Ready(Some(item)) => {
                    *this.latest = Some(item);
                    taken += 1;
                }
                Poll::Ready(None) => {
                    *this.ended = true;
                    return Poll::Ready(this.latest.take());
                }
                Poll::Pending => is_silent = true,
            }
        }
        if taken > 0 {
            this.delay.set_tick(this.delay.now().after(*this.duration));
        }
        if !is_silent {
            // There may be more: after the others had their turn.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if this.latest.is_none() {
            return Poll::Pending;
        }
        ready!(poll_timer(had_budget, cx, |cx| {
            Pin::new(&mut *this.delay).poll(cx)
        }));
        Poll::Ready(this.latest.take())
    }

    /// The last item of all comes; each other one may.
    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.ended {
            return (0, Some(0));
        }
        let kept = usize::from(self.latest.is_some());
        let (lower, upper) = self.source.size_hint();
        let upper = upper.and_then(|items| items.checked_add(kept));
        (lower.max(kept).min(1), upper)
    }
}

impl<S: Stream> FusedStream for Debounce<S> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}
