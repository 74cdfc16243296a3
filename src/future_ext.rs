//! `FutureExt`: timeouts at the end of a call chain.

#![forbid(unsafe_code)]

use core::future::IntoFuture;
use core::time::Duration;

use tokio::time::Instant;

use crate::timeout::{LazyTimeout, Timeout, lazy_timeout, timeout, timeout_at};

/// `.timeout(…)` on every future, and on everything that becomes one by `.await`.
///
/// Each method is the free function of its name in [`cogwheel::time`](crate::time), written behind
/// the future instead of around it; what is said there about rounding, cancelling and cost holds
/// here.
///
/// # Beside other traits of this kind
///
/// `futures::FutureExt` has none of these names, so both can be imported. `tokio_util`'s
/// `FutureExt` has `timeout` and `timeout_at`, too, on Tokio's timers: where both are imported, a
/// call does not compile. Import one of them, or import the other as `_` in a narrower scope, or
/// name the trait in the call: `cogwheel::FutureExt::timeout(future, duration)`.
///
/// ```compile_fail,E0034
/// use cogwheel::FutureExt as _;
/// use tokio_util::future::FutureExt as _;
///
/// # async fn ambiguous() {
/// let _ = async {}.timeout(std::time::Duration::ZERO).await; // which one?
/// # }
/// ```
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
/// use cogwheel::FutureExt as _;
/// use tokio::sync::mpsc;
///
/// let (sender, mut receiver) = mpsc::channel(8);
/// sender.send(7).await.unwrap();
///
/// let patience = Duration::from_secs(5);
/// assert_eq!(receiver.recv().timeout(patience).await, Ok(Some(7)));
/// assert!(receiver.recv().timeout(patience).await.is_err());
/// # }
/// ```
pub trait FutureExt: IntoFuture {
    /// Gives this future until `duration` from now: [`time::timeout`](crate::time::timeout).
    ///
    /// # Panics
    ///
    /// At the call, and at the caller's location, if the thread is not in a Tokio runtime, if that
    /// runtime was built without timers, or if it was given a default timer that is at its
    /// [`max_timers`](crate::timer::Builder::max_timers).
    #[track_caller]
    fn timeout(self, duration: Duration) -> Timeout<Self::IntoFuture>
    where
        Self: Sized,
    {
        timeout(duration, self)
    }

    /// Gives this future until `deadline`: [`time::timeout_at`](crate::time::timeout_at).
    ///
    /// # Panics
    ///
    /// As [`timeout`](Self::timeout).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{FutureExt as _, time::{Duration, Instant, sleep}};
    ///
    /// let deadline = Instant::now() + Duration::from_secs(1);
    /// let minute = sleep(Duration::from_secs(60));
    /// assert!(minute.timeout_at(deadline).await.is_err());
    /// assert_eq!(Instant::now(), deadline);
    /// # }
    /// ```
    #[track_caller]
    fn timeout_at(self, deadline: Instant) -> Timeout<Self::IntoFuture>
    where
        Self: Sized,
    {
        timeout_at(deadline, self)
    }

    /// Gives this future until `duration` after the first poll that finds it pending:
    /// [`time::lazy_timeout`](crate::time::lazy_timeout).
    ///
    /// A future that is ready at once costs no clock read and needs no runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{FutureExt as _, time::Duration};
    ///
    /// let ready = async { 7 };
    /// assert_eq!(ready.lazy_timeout(Duration::from_secs(1)).await, Ok(7));
    /// # }
    /// ```
    fn lazy_timeout(self, duration: Duration) -> LazyTimeout<Self::IntoFuture>
    where
        Self: Sized,
    {
        lazy_timeout(duration, self)
    }
}

impl<F: IntoFuture> FutureExt for F {}
