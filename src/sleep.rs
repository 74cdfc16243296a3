//! SCAFFOLD: the final API of `Sleep` over Tokio's, until the driver is there.
use crate::clock;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::FusedFuture;
use tokio::time::{Duration, Instant};

/// Waits until a deadline.
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Sleep {
    inner: Pin<Box<tokio::time::Sleep>>,
    deadline: Instant,
    done: bool,
}

/// Waits for a duration.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(clock::instant_of(clock::deadline_in(duration)))
}

/// Waits until an instant.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep {
        inner: Box::pin(tokio::time::sleep_until(deadline)),
        deadline,
        done: false,
    }
}

impl Sleep {
    /// Its deadline.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
    /// Whether it has fired.
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        self.inner.is_elapsed()
    }
    /// Moves the deadline (Tokio's signature).
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.get_mut().set_deadline(deadline);
    }
    /// Moves the deadline.
    pub fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
        self.done = false;
        self.inner.as_mut().reset(deadline);
    }
}
impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let poll = self.inner.as_mut().poll(cx);
        self.done = poll.is_ready();
        poll
    }
}
impl FusedFuture for Sleep {
    fn is_terminated(&self) -> bool {
        self.done
    }
}
