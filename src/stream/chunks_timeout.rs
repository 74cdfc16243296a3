//! `chunks_timeout`: items in groups, by number and by time.

#![forbid(unsafe_code)]

use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use futures_core::stream::{FusedStream, Stream};
use pin_project_lite::pin_project;
use tokio::task::coop;

use crate::sleep::Sleep;
use crate::stream::{BATCH, poll_timer};

pin_project! {
    /// The stream of [`chunks_timeout`](crate::StreamExt::chunks_timeout).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct ChunksTimeout<S: Stream> {
        #[pin]
        source: S,
        // Counts from the first item, while there is one.
        delay: Sleep,
        duration: Duration,
        items: Vec<S::Item>,
        size: usize,
        ended: bool,
    }
}

impl<S: Stream> ChunksTimeout<S> {
    /// `size` is not zero.
    pub(super) const fn new(source: S, size: usize, delay: Sleep, duration: Duration) -> Self {
        Self {
            source,
            delay,
            duration,
            items: Vec::new(),
            size,
            ended: false,
        }
    }

    /// The source.
    pub const fn get_ref(&self) -> &S {
        &self.source
    }

    /// The source, to be changed in place. Items that are taken from it here are in no group.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// The source, and the items of the group that is not complete.
    pub fn into_parts(self) -> (S, Vec<S::Item>) {
        (self.source, self.items)
    }
}

impl<S: Stream> Stream for ChunksTimeout<S> {
    type Item = Vec<S::Item>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let had_budget = coop::has_budget_remaining();
        let (mut taken, mut is_drained) = (0, false);
        while taken < BATCH && !is_drained {
            match this.source.as_mut().poll_next(cx) {
                Poll::Ready(Some(item)) => {
                    if this.items.is_empty() {
                        this.delay.set_tick(this.delay.now().after(*this.duration));
                    }
                    this.items.push(item);
                    taken += 1;
                    if this.items.len() >= *this.size {
                        return Poll::Ready(Some(mem::take(this.items)));
                    }
                }
                Poll::Ready(None) => {
                    *this.ended = true;
                    let rest = mem::take(this.items);
                    return Poll::Ready((!rest.is_empty()).then_some(rest));
                }
                Poll::Pending => is_drained = true,
            }
        }
        if this.items.is_empty() {
            return Poll::Pending;
        }
        let poll = poll_timer(had_budget, cx, |cx| Pin::new(&mut *this.delay).poll(cx));
        if poll.is_ready() {
            return Poll::Ready(Some(mem::take(this.items)));
        }
        if !is_drained {
            // There may be more: after the others had their turn.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// At best all groups are full, at worst each item to come is one.
    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.ended {
            return (0, Some(0));
        }
        let kept = usize::from(!self.items.is_empty());
        let (lower, upper) = self.source.size_hint();
        let lower = lower.saturating_add(self.items.len()).div_ceil(self.size);
        let upper = upper.and_then(|items| items.checked_add(kept));
        (lower, upper)
    }
}

impl<S: Stream> FusedStream for ChunksTimeout<S> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}
