//! Why a channel has not taken an item, or has none to give.

#![forbid(unsafe_code)]

use core::fmt;

/// An item was not put in; this gives it back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TryInsertError<T> {
    /// There is no room. Transient: there may be some when an item has been received or removed.
    Full(T),
    /// The receivers are gone, or have closed the channel. Permanent.
    Closed(T),
}

/// An item was not put in, because the receivers are gone or have closed the channel; this gives
/// it back. Permanent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// No item could be received without waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing is due now. Transient.
    Empty,
    /// Nothing is left and nothing will come. Permanent.
    Closed,
}

impl<T> TryInsertError<T> {
    /// The item.
    #[must_use]
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }

    /// Whether there was no room.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Whether the channel takes no items any more.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    const fn text(&self) -> &'static str {
        match self {
            Self::Full(_) => "the delay queue is full",
            Self::Closed(_) => CLOSED,
        }
    }
}

const CLOSED: &str = "the delay queue is closed";

impl<T> SendError<T> {
    /// The item.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for TryInsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_full() {
            "Full(..)"
        } else {
            "Closed(..)"
        })
    }
}

impl<T> fmt::Display for TryInsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl<T> std::error::Error for TryInsertError<T> {}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLOSED)
    }
}

impl<T> std::error::Error for SendError<T> {}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "nothing in the delay queue is due",
            Self::Closed => "the delay queue is closed and empty",
        })
    }
}

impl std::error::Error for TryRecvError {}
