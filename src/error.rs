//! The errors of this crate.

#![forbid(unsafe_code)]

use core::fmt;
use std::io;

/// The deadline of a [`timeout`](crate::time::timeout) passed before its future completed.
///
/// Permanent for that call: the future was not finished in time. Converts to an
/// [`io::Error`] of kind [`TimedOut`](io::ErrorKind::TimedOut).
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, timeout};
///
/// let error = timeout(Duration::from_millis(5), std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(error.to_string(), "deadline has elapsed");
/// assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::TimedOut);
/// # }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl Elapsed {
    pub(crate) const fn new() -> Self {
        Self(())
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(_: Elapsed) -> Self {
        io::ErrorKind::TimedOut.into()
    }
}

/// Why no timer could be had, or why it takes no more work.
///
/// # Examples
///
/// ```
/// use cogwheel::{ManualClock, error::TimerError, time::Duration};
///
/// let clock = ManualClock::new();
/// let timer = clock.timer();
/// clock.close();
/// let error = timer.try_sleep(Duration::from_secs(1)).unwrap_err();
/// assert_eq!(error, TimerError::Closed);
/// assert_eq!(error.to_string(), "this timer was closed, or its runtime has shut down");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimerError {
    /// The calling thread is not in a Tokio runtime. Enter one, or use a [`Timer`](crate::Timer)
    /// handle that was made inside it.
    NoRuntime,
    /// The current runtime was built without timers: call `enable_time` or `enable_all` on its
    /// builder.
    TimeDisabled,
    /// The runtime of this timer has shut down, or the timer was closed. Permanent.
    Closed,
    /// The system has refused the thread that was to drive this timer. Try again when there are
    /// fewer, or use the timer of a runtime.
    NoThread,
    /// As many timers live as [`max_timers`](crate::timer::Builder::max_timers) allows. Try again
    /// when some were dropped, turn the work away that wanted one more, or allow more.
    AtCapacity,
}

impl TimerError {
    /// The text of Tokio's panic for the same situation, if Tokio has it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::NoRuntime => {
                "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
            }
            Self::TimeDisabled => {
                "A Tokio 1.x context was found, but timers are disabled. Call `enable_time` on the runtime builder to enable timers."
            }
            Self::Closed => "A Tokio 1.x context was found, but it is being shutdown.",
            Self::NoThread => "the system has refused a thread for the timer",
            Self::AtCapacity => {
                "as many timers live as `max_timers` allows; drop some, or allow more"
            }
        }
    }
}

impl fmt::Display for TimerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            // Tokio's text speaks of the runtime that the caller is in. The timer may be of another
            // one, or of none.
            Self::Closed => "this timer was closed, or its runtime has shut down",
            _ => self.text(),
        })
    }
}

impl std::error::Error for TimerError {}
