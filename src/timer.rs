//! `Timer`: a handle to the timer of a runtime.

#![forbid(unsafe_code)]

use core::fmt;

use tokio::runtime::Handle;

use crate::driver::registry;
use crate::driver::runtime::{Config, DriverRef};
use crate::error::TimerError;

/// A handle to the timer of one Tokio runtime.
///
/// The free functions of [`cogwheel::time`](crate::time) use the timer of the runtime that they
/// are called in, as Tokio's do. A `Timer` names one explicitly: it can be carried to any thread,
/// in a runtime or not, and what it makes waits on *its* runtime's clock. Making a timer through a
/// handle also saves looking the runtime up.
///
/// Each runtime has one default timer, made when it is first asked for. It costs one task that
/// never runs: when the runtime shuts down and drops that task, the timer closes.
///
/// # After the runtime has shut down
///
/// The timer is closed for good. A [`Sleep`](crate::time::Sleep) that is pending then is woken,
/// and panics when it is polled, with Tokio's text; [`try_sleep`](Self::try_sleep) gives
/// [`TimerError::Closed`]; dropping anything is harmless, in any order.
///
/// # Cost
///
/// A handle is two words, `Copy`-cheap to clone, and counts no references.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
/// use cogwheel::Timer;
///
/// let timer = Timer::current();
/// let slow = async { timer.sleep(Duration::from_secs(60)).await };
/// assert!(timer.timeout(Duration::from_secs(1), slow).await.is_err());
/// # }
/// ```
#[derive(Clone, PartialEq)]
pub struct Timer {
    driver: DriverRef,
}

impl Timer {
    /// The timer of the current runtime, made on first use.
    ///
    /// # Panics
    ///
    /// Panics if the calling thread is not in a Tokio runtime, or in one that was built without
    /// timers. [`try_current`](Self::try_current) does not.
    #[must_use]
    #[track_caller]
    pub fn current() -> Self {
        Self {
            driver: registry::current(),
        }
    }

    /// The timer of the current runtime, made on first use.
    ///
    /// # Errors
    ///
    /// [`TimerError::NoRuntime`] outside of a runtime; [`TimerError::TimeDisabled`] in one that was
    /// built without timers. Tokio can only be asked about the latter by provoking its panic, so
    /// the panic hook runs in that case, though nothing unwinds out of this call; a program built
    /// with `panic = "abort"` ends there.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Timer, error::TimerError};
    ///
    /// assert_eq!(Timer::try_current().unwrap_err(), TimerError::NoRuntime);
    /// ```
    pub fn try_current() -> Result<Self, TimerError> {
        registry::try_current().map(|driver| Self { driver })
    }

    /// Chooses how a timer of its own behaves.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Whether this timer's runtime has shut down. It stays so.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.driver.is_closed()
    }

    pub(crate) const fn driver(&self) -> DriverRef {
        self.driver
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// Makes a [`Timer`] of its own, beside the default one of its runtime.
///
/// Such a timer is not found by [`Timer::current`] nor used by the free functions. It has a wheel
/// and an alarm of its own, which it keeps until its runtime shuts down: make one per purpose, not
/// one per request.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), cogwheel::error::TimerError> {
/// use std::time::Duration;
/// use cogwheel::Timer;
///
/// let timer = Timer::builder().exact_cancel(true).build()?;
/// timer.sleep(Duration::from_secs(1)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    handle: Option<Handle>,
    config: Config,
}

impl Builder {
    fn new() -> Self {
        Self {
            handle: None,
            config: Config::default(),
        }
    }

    /// The runtime that drives the timer; without this, the current one.
    #[must_use]
    pub fn runtime(mut self, handle: Handle) -> Self {
        self.handle = Some(handle);
        self
    }

    /// Takes a cancelled timer off the wheel at once.
    ///
    /// By default it stays there, to be re-used by the thread's next timer, which makes cancelling
    /// nearly free; the wheel may wake once for it. Under a paused clock such a wake-up shows as an
    /// additional stop of Tokio's auto-advance: a runtime that is idle until something from outside
    /// comes has its clock moved to that stop. A simulation that minds wants this.
    ///
    /// # Cost
    ///
    /// Every cancelled timer turns the wheel.
    #[must_use]
    pub fn exact_cancel(mut self, exact: bool) -> Self {
        self.config.exact_cancel = exact;
        self
    }

    /// Releases the waker of every cancelled timer at once.
    ///
    /// By default a thread keeps the waker of the timer it cancelled last, so that the next timer
    /// of the same task clones none: the one that a task makes for its next request, mostly. It is
    /// dropped when the thread cancels another timer, when the wheel looks at its place, when the
    /// thread ends and when the runtime ends. So at most one waker per thread and timer outlives
    /// its `Sleep`, and with it the memory of a task that may have ended, though not its future.
    ///
    /// # Cost
    ///
    /// A clone and a drop of a waker per timer.
    #[must_use]
    pub fn release_wakers(mut self, release: bool) -> Self {
        self.config.release_wakers = release;
        self
    }

    /// Makes the timer.
    ///
    /// # Errors
    ///
    /// [`TimerError::NoRuntime`] if none was given and the calling thread is not in one;
    /// [`TimerError::TimeDisabled`] if it was built without timers, see [`Timer::try_current`].
    pub fn build(self) -> Result<Timer, TimerError> {
        let handle = match self.handle {
            Some(handle) => handle,
            None => Handle::try_current().map_err(|_| TimerError::NoRuntime)?,
        };
        registry::open(&handle, self.config).map(|driver| Timer { driver })
    }
}
