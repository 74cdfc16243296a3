//! Runtimes, random numbers and pinned rows, the same for every load.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) quick: bool,
}

impl Scale {
    /// `full`, or a tenth of it in a quick run.
    pub(crate) fn of(self, full: u64) -> u64 {
        if self.quick { full / 10 } else { full }
    }
}

/// The runtime a load runs in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    CurrentThread,
    /// With this many workers.
    MultiThread(usize),
}

impl Place {
    pub(crate) fn build(self) -> Runtime {
        let mut builder = match self {
            Self::CurrentThread => Builder::new_current_thread(),
            Self::MultiThread(_) => Builder::new_multi_thread(),
        };
        if let Self::MultiThread(workers) = self {
            builder.worker_threads(workers);
        }
        builder.enable_all().build().expect("a runtime")
    }
}

/// A small generator of random numbers (xorshift64*), the same sequence for both sides.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `end`, which is less than 2^32.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) * end) >> 32
    }

    /// A duration from `start` until `end`, in whole microseconds.
    pub(crate) fn between(&mut self, start: Duration, end: Duration) -> Duration {
        let span = u64::try_from((end - start).as_micros()).unwrap_or(u64::MAX);
        start + Duration::from_micros(self.below(span))
    }
}

/// Futures that lie next to each other and do not move.
pub(crate) struct Row<F>(Box<[F]>);

impl<F: Future> Row<F> {
    /// A row of what `make` makes, none of them polled.
    pub(crate) fn made(len: u64, make: impl FnMut(u64) -> F) -> Self {
        Self((0..len).map(make).collect())
    }

    /// A row of what `make` makes, each polled once: all must be pending.
    pub(crate) fn armed(len: u64, cx: &mut Context<'_>, make: impl FnMut(u64) -> F) -> Self {
        let mut row = Self::made(len, make);
        for index in 0..row.0.len() {
            assert!(row.pinned(index).poll(cx).is_pending());
        }
        row
    }

    /// The future at `index`.
    pub(crate) fn pinned(&mut self, index: usize) -> Pin<&mut F> {
        // SAFETY: the futures stay in this box, which gives none of them out, until they drop.
        unsafe { Pin::new_unchecked(&mut self.0[index]) }
    }

    /// The index of a future picked by `random`.
    pub(crate) fn pick(&self, random: &mut Random) -> usize {
        let len = u64::try_from(self.0.len()).unwrap_or(0);
        usize::try_from(random.below(len)).unwrap_or(0)
    }
}
