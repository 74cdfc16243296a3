//! The rivals: Tokio's timers, and this crate's by way of the free functions and of a handle.

use std::future::{Future, Pending, pending, ready};
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

/// Something that makes timers.
pub(crate) trait Clock: Send + Sync + 'static {
    type Sleep: Future<Output = ()> + Send;
    type Timeout: Future + Send;

    /// The clock of the current runtime.
    fn here() -> Self;
    fn sleep(&self, duration: Duration) -> Self::Sleep;
    fn sleep_until(&self, deadline: Instant) -> Self::Sleep;
    /// A timeout around a future that never ends.
    fn timeout(&self, duration: Duration) -> Self::Timeout;
    /// A timeout around a future that is ready at once.
    fn timeout_ready(&self, duration: Duration) -> impl Future + Send;
    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant);
}

/// `tokio::time`.
pub(crate) struct Tokio;

/// `cogwheel::time`.
pub(crate) struct Free;

/// `cogwheel::Timer`.
pub(crate) struct Handle(cogwheel::Timer);

impl Clock for Tokio {
    type Sleep = tokio::time::Sleep;
    type Timeout = tokio::time::Timeout<Pending<()>>;

    fn here() -> Self {
        Self
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        tokio::time::sleep(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        tokio::time::sleep_until(deadline)
    }

    fn timeout(&self, duration: Duration) -> Self::Timeout {
        tokio::time::timeout(duration, pending())
    }

    fn timeout_ready(&self, duration: Duration) -> impl Future + Send {
        tokio::time::timeout(duration, ready(()))
    }

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.reset(deadline);
    }
}

impl Clock for Free {
    type Sleep = cogwheel::time::Sleep;
    type Timeout = cogwheel::time::Timeout<Pending<()>>;

    fn here() -> Self {
        Self
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        cogwheel::time::sleep(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        cogwheel::time::sleep_until(deadline)
    }

    fn timeout(&self, duration: Duration) -> Self::Timeout {
        cogwheel::time::timeout(duration, pending())
    }

    fn timeout_ready(&self, duration: Duration) -> impl Future + Send {
        cogwheel::time::timeout(duration, ready(()))
    }

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.reset(deadline);
    }
}

impl Clock for Handle {
    type Sleep = cogwheel::time::Sleep;
    type Timeout = cogwheel::time::Timeout<Pending<()>>;

    fn here() -> Self {
        Self(cogwheel::Timer::current())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        self.0.sleep_until(deadline)
    }

    fn timeout(&self, duration: Duration) -> Self::Timeout {
        self.0.timeout(duration, pending())
    }

    fn timeout_ready(&self, duration: Duration) -> impl Future + Send {
        self.0.timeout(duration, ready(()))
    }

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.reset(deadline);
    }
}
