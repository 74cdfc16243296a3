//! The timers of this crate and of others, called in the way that each of them recommends.

use std::fmt::Debug;
use std::future::{Future, Pending, pending};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use pingora_timeout::fast_timeout::{FastOrTokioTimeout, fast_timeout};
use tokio::time::Instant;

use crate::peer::Peer;

/// `tokio::time`.
#[derive(Clone)]
pub(crate) struct Tokio;

/// `cogwheel::Timer`.
#[derive(Clone)]
pub(crate) struct Handle(cogwheel::Timer);

/// `cogwheel::time`.
#[derive(Clone)]
pub(crate) struct Free;

/// `pingora_timeout`. Beyond 15 minutes it hands over to Tokio; no load goes there.
#[derive(Clone)]
pub(crate) struct Pingora;

/// `async_io::Timer`.
#[derive(Clone)]
pub(crate) struct AsyncIo;

/// `futures_timer::Delay`.
#[derive(Clone)]
pub(crate) struct FuturesTimer;

impl Peer for Tokio {
    type Sleep = tokio::time::Sleep;

    fn here() -> Self {
        Self
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        tokio::time::sleep(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        tokio::time::sleep_until(deadline)
    }

    fn timeout<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        tokio::time::timeout(duration, future)
    }

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.reset(deadline);
    }
}

impl Peer for Handle {
    type Sleep = cogwheel::time::Sleep;

    fn here() -> Self {
        Self(cogwheel::Timer::current())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        self.0.sleep_until(deadline)
    }

    fn timeout<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        self.0.timeout(duration, future)
    }

    fn timeout_mostly_ready<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        cogwheel::time::lazy_timeout(duration, future)
    }

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.reset(deadline);
    }
}

impl Peer for Free {
    type Sleep = cogwheel::time::Sleep;

    fn here() -> Self {
        Self
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        cogwheel::time::sleep(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        cogwheel::time::sleep_until(deadline)
    }

    fn timeout<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        cogwheel::time::timeout(duration, future)
    }

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.reset(deadline);
    }
}

impl Peer for Pingora {
    type Sleep = pingora_timeout::Timeout<Pending<()>, FastOrTokioTimeout>;

    fn here() -> Self {
        Self
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        fast_timeout(duration, pending())
    }

    fn timeout<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        fast_timeout(duration, future)
    }
}

impl Peer for AsyncIo {
    type Sleep = async_io::Timer;

    fn here() -> Self {
        Self
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        async_io::Timer::after(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        async_io::Timer::at(deadline.into_std())
    }

    fn timeout<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        Within::new(future, self.sleep(duration))
    }

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.get_mut().set_at(deadline.into_std());
    }
}

impl Peer for FuturesTimer {
    type Sleep = futures_timer::Delay;

    fn here() -> Self {
        Self
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        futures_timer::Delay::new(duration)
    }

    fn timeout<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        Within::new(future, self.sleep(duration))
    }

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        let duration = deadline.saturating_duration_since(Instant::now());
        sleep.get_mut().reset(duration);
    }
}

pin_project! {
    /// A timeout for the peers that have none.
    pub(crate) struct Within<F, S> {
        #[pin]
        future: F,
        #[pin]
        sleep: S,
    }
}

impl<F, S> Within<F, S> {
    pub(crate) const fn new(future: F, sleep: S) -> Self {
        Self { future, sleep }
    }
}

impl<F: Future, S: Future> Future for Within<F, S> {
    type Output = Result<F::Output, ()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        ready!(this.sleep.poll(cx));
        Poll::Ready(Err(()))
    }
}
