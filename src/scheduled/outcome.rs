//! How scheduled work has ended.

#![forbid(unsafe_code)]

use core::any::Any;
use core::fmt;

/// How scheduled work has ended: what awaiting a [`Scheduled`](crate::Scheduled) gives.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
/// use cogwheel::{Timer, scheduled::Outcome};
///
/// let answer = Timer::current().schedule(Duration::from_secs(1), async { 42 });
/// match answer.await {
///     Outcome::Fired(answer) => assert_eq!(answer, 42),
///     Outcome::Cancelled | Outcome::Closed => println!("it did not come to that"),
///     Outcome::Panicked(payload) => std::panic::resume_unwind(payload),
/// }
/// # }
/// ```
pub enum Outcome<T> {
    /// It ran to its end, with this output.
    Fired(T),
    /// It was cancelled before it started.
    Cancelled,
    /// The timer's runtime has shut down, before or while it ran.
    Closed,
    /// It panicked, with this payload.
    Panicked(Box<dyn Any + Send>),
}

impl<T> Outcome<T> {
    /// Whether it ran to its end.
    #[must_use]
    pub const fn is_fired(&self) -> bool {
        matches!(self, Self::Fired(_))
    }

    /// Whether it was cancelled.
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Whether the runtime ended first.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Whether it panicked.
    #[must_use]
    pub const fn is_panicked(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }

    /// The output, if it ran to its end.
    #[must_use]
    pub fn fired(self) -> Option<T> {
        match self {
            Self::Fired(output) => Some(output),
            _ => None,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Outcome<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fired(output) => f.debug_tuple("Fired").field(output).finish(),
            Self::Cancelled => f.write_str("Cancelled"),
            Self::Closed => f.write_str("Closed"),
            Self::Panicked(payload) => {
                let text = text_of(&**payload).unwrap_or("..");
                f.debug_tuple("Panicked").field(&text).finish()
            }
        }
    }
}

/// What a panic says, if its payload is a text.
pub(super) fn text_of(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}
