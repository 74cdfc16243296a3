//! Who is measured, and what each of them must be able to do.

use std::fmt;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::heap::Heap;
use crate::measure::Metrics;
use crate::rivals::{AsyncIo, Free, FuturesTimer, Handle, Pingora, Tokio};
use crate::world::Scale;

/// A column of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Tokio,
    TokioUtil,
    Cogwheel,
    CogwheelFree,
    Pingora,
    AsyncIo,
    FuturesTimer,
    Heap,
}

/// All names.
pub(crate) const NAMES: [Name; 8] = [
    Name::Tokio,
    Name::TokioUtil,
    Name::Cogwheel,
    Name::CogwheelFree,
    Name::Pingora,
    Name::AsyncIo,
    Name::FuturesTimer,
    Name::Heap,
];

/// Those whose timers are single futures, this crate's by way of a handle.
pub(crate) const TIMERS: &[Name] = &[
    Name::Tokio,
    Name::Cogwheel,
    Name::Pingora,
    Name::AsyncIo,
    Name::FuturesTimer,
    Name::Heap,
];

/// The same, and this crate's free functions.
pub(crate) const TIMERS_AND_FREE: &[Name] = &[
    Name::Tokio,
    Name::Cogwheel,
    Name::CogwheelFree,
    Name::Pingora,
    Name::AsyncIo,
    Name::FuturesTimer,
    Name::Heap,
];

impl Name {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Tokio => "tokio",
            Self::TokioUtil => "tokio-util",
            Self::Cogwheel => "cogwheel",
            Self::CogwheelFree => "cogwheel-free",
            Self::Pingora => "pingora",
            Self::AsyncIo => "async-io",
            Self::FuturesTimer => "futures-timer",
            Self::Heap => "heap",
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Tokio => "tokio::time",
            Self::TokioUtil => "tokio_util::time::DelayQueue",
            Self::Cogwheel => "this crate, by way of a Timer handle",
            Self::CogwheelFree => "this crate's free functions, which look the runtime up",
            Self::Pingora => "pingora_timeout::fast_timeout; 10 ms, cannot be reset",
            Self::AsyncIo => "async_io::Timer",
            Self::FuturesTimer => "futures_timer::Delay",
            Self::Heap => "home-made: a BinaryHeap under a lock and a thread, cancelling marks",
        }
    }

    pub(crate) const fn is_ours(self) -> bool {
        matches!(self, Self::Cogwheel | Self::CogwheelFree)
    }

    /// Whether a reader looks for this peer in a load that is compared with `base`.
    pub(crate) fn could_be_expected(self, base: Self) -> bool {
        match self {
            Self::TokioUtil | Self::CogwheelFree => false,
            Self::Tokio => base == Self::Tokio,
            _ => true,
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        NAMES.into_iter().find(|name| name.text() == text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// Something that makes timers.
pub(crate) trait Peer: Clone + Send + Sync + 'static {
    type Sleep: Future + Send + 'static;

    /// That of the current runtime.
    fn here() -> Self;

    fn sleep(&self, duration: Duration) -> Self::Sleep;

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        self.sleep(deadline.saturating_duration_since(Instant::now()))
    }

    fn timeout<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send;

    /// What the peer offers for futures that are mostly ready at once.
    fn timeout_mostly_ready<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        self.timeout(duration, future)
    }

    /// Moves a pending timer.
    fn reset(_sleep: Pin<&mut Self::Sleep>, _deadline: Instant) {
        unreachable!("loads that reset leave out the peers that cannot");
    }
}

/// One kind of work, which any peer can be given.
pub(crate) trait Work: Copy + 'static {
    fn run<P: Peer>(self, scale: Scale) -> Metrics;
}

/// Gives `work` to the peer of this name.
pub(crate) fn run_as(name: Name, work: impl Work, scale: Scale) -> Metrics {
    match name {
        Name::Tokio => work.run::<Tokio>(scale),
        Name::Cogwheel => work.run::<Handle>(scale),
        Name::CogwheelFree => work.run::<Free>(scale),
        Name::Pingora => work.run::<Pingora>(scale),
        Name::AsyncIo => work.run::<AsyncIo>(scale),
        Name::FuturesTimer => work.run::<FuturesTimer>(scale),
        Name::Heap => work.run::<Heap>(scale),
        Name::TokioUtil => unreachable!("tokio-util has a queue and no timers of its own"),
    }
}
