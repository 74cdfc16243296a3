//! What is scheduled: a future that runs once, or a closure that makes one for each round.

#![forbid(unsafe_code)]

use core::convert::Infallible;
use core::future::Future;
use core::time::Duration;

/// What a task runs. All of it is foreign code.
pub(super) trait Work: Send + Sized + 'static {
    /// One round of it.
    type Round: Future + Send;
    /// What somebody who waits for its end gets, if it ends by itself.
    type Output: Send;

    /// Begins a round.
    fn begin(&mut self) -> Self::Round;

    /// The output of the whole, if it ends with a round that gave `output`.
    fn output(output: <Self::Round as Future>::Output) -> Option<Self::Output>;

    /// The time from one round to the next; none if there is one round only.
    fn period(&self) -> Option<Duration>;

    /// Whether [`period`](Self::period) gives one.
    const REPEATS: bool;
}

/// A future that runs once.
pub(super) struct Once<F>(Option<F>);

impl<F> Once<F> {
    pub(super) const fn new(future: F) -> Self {
        Self(Some(future))
    }
}

impl<F> Work for Once<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Round = F;
    type Output = F::Output;

    const REPEATS: bool = false;

    fn begin(&mut self) -> F {
        self.0.take().expect("there is one round only")
    }

    fn output(output: F::Output) -> Option<F::Output> {
        Some(output)
    }

    fn period(&self) -> Option<Duration> {
        None
    }
}

/// A closure that makes a future every `period`.
pub(super) struct Every<M> {
    make: M,
    period: Duration,
}

impl<M> Every<M> {
    pub(super) const fn new(period: Duration, make: M) -> Self {
        Self { make, period }
    }
}

impl<M, F> Work for Every<M>
where
    M: FnMut() -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    type Round = F;
    type Output = Infallible;

    const REPEATS: bool = true;

    fn begin(&mut self) -> F {
        (self.make)()
    }

    fn output((): ()) -> Option<Infallible> {
        None
    }

    fn period(&self) -> Option<Duration> {
        Some(self.period)
    }
}
