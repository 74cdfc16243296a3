//! `Backoff::retry`: an operation that is run until it succeeds.

#![forbid(unsafe_code)]

use core::fmt;
use core::future::Future;

use super::Backoff;

/// Retrying.
impl Backoff {
    /// Runs `operation` until it succeeds, with this backoff's delays between the tries.
    ///
    /// Each call starts anew, as after a [`reset`](Self::reset), so one value serves one operation
    /// after another.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] with the last error, if [`max_attempts`](Self::max_attempts) or
    /// [`max_elapsed`](Self::max_elapsed) was met. For errors that no further try can mend, see
    /// [`retry_if`](Self::retry_if).
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait), from the start: also if the first try succeeds. A panic of the
    /// operation is passed on.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the try that is under way. The next call starts anew.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Backoff, time::{Duration, timeout}};
    ///
    /// let mut backoff = Backoff::new(Duration::from_millis(10)).max_attempts(4);
    /// let silent = || timeout(Duration::from_secs(1), std::future::pending::<()>());
    /// let error = backoff.retry(silent).await.unwrap_err();
    /// assert_eq!(error.attempts(), 4);
    /// assert_eq!(error.to_string(), "gave up after 4 attempts: deadline has elapsed");
    /// # }
    /// ```
    pub async fn retry<T, E, F, R>(&mut self, operation: F) -> Result<T, GaveUp<E>>
    where
        F: FnMut() -> R,
        R: Future<Output = Result<T, E>>,
    {
        self.retry_if(operation, |_| true).await
    }

    /// As [`retry`](Self::retry), but gives up at once on an error that `is_transient` denies.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] with the last error.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Backoff, time::Duration};
    ///
    /// let mut backoff = Backoff::new(Duration::from_millis(10));
    /// let refused = || std::future::ready(Err::<(), u16>(403));
    /// let error = backoff.retry_if(refused, |status| *status >= 500).await.unwrap_err();
    /// assert_eq!((error.attempts(), error.into_last()), (1, 403));
    /// # }
    /// ```
    pub async fn retry_if<T, E, F, R, P>(
        &mut self,
        mut operation: F,
        mut is_transient: P,
    ) -> Result<T, GaveUp<E>>
    where
        F: FnMut() -> R,
        R: Future<Output = Result<T, E>>,
        P: FnMut(&E) -> bool,
    {
        self.reset();
        self.started();
        let mut attempts = 0_u32;
        loop {
            let last = match operation().await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            attempts = attempts.saturating_add(1);
            if !is_transient(&last) || self.wait().await.is_none() {
                return Err(GaveUp { attempts, last });
            }
        }
    }
}

/// An operation did not succeed, and [`Backoff::retry`] tries no more.
///
/// Its text ends with that of the last error, which is therefore not its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GaveUp<E> {
    attempts: u32,
    last: E,
}

impl<E> GaveUp<E> {
    /// How often the operation was run.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The error of the last try.
    #[must_use]
    pub const fn last(&self) -> &E {
        &self.last
    }

    /// The error of the last try, by value.
    #[must_use]
    pub fn into_last(self) -> E {
        self.last
    }
}

impl<E: fmt::Display> fmt::Display for GaveUp<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.attempts == 1 {
            "attempt"
        } else {
            "attempts"
        };
        write!(f, "gave up after {} {noun}: {}", self.attempts, self.last)
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for GaveUp<E> {}
