//! The drop-in face: the names of `tokio::time`, on this crate's wheel.
//!
//! To move a service over, write
//!
//! ```
//! use cogwheel::time; // was: use tokio::time
//! # let _ = time::Duration::ZERO;
//! ```
//!
//! and leave the rest as it is. Signatures, panics, their texts and their locations are Tokio's.
//! [`Instant`] is Tokio's own type, so the two libraries read one clock: `pause` and `advance` in
//! your tests move both, and a Tokio sleep and one of these may stand in the same `select!`.
//!
//! # What changes
//!
//! | | `tokio::time` | here |
//! |---|---|---|
//! | [`Sleep`], [`Timeout`] | `!Unpin`: pinned or boxed for `&mut` | `Unpin` (if the inner future is) |
//! | resolution | milliseconds, rounded up | nanoseconds kept; the only rounding is that of the thread's wait |
//! | zero and past deadlines | up to 1 ms, also under a paused clock | ready at the first poll, with the exception that [`Sleep`] tells |
//! | a poll after the deadline | pending until the driver has run | ready: the poll looks at the clock |
//! | `Sleep` after `Ready` | ready again | the same, and `FusedFuture` says so |
//! | longest delay | clamped to 30 years | none; what does not fit in the clock means never |
//! | [`Interval::period`] | clamped to 30 years | as given |
//! | [`MissedTickBehavior::Skip`] | panics when 584 years late | saturates |
//! | `timeout(d, f)` with a `d` that overflows | needs no runtime | needs one, as every timeout |
//! | a cancelled timer, or one that is the earliest of many, under a paused clock | leaves nothing | may be one more stop of auto-advance; see [`exact_cancel`](crate::timer::Builder::exact_cancel) |
//! | one more name | | [`lazy_timeout`]: no clock read for futures that are ready at once |
//!
//! What stays: timers belong to the runtime they are made in, a task's cooperative budget counts,
//! and a system that is suspended suspends them, because the clock is monotonic.
//!
//! # Examples
//!
//! A `Sleep` in a loop, with no pinning:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! use cogwheel::time::{Duration, Instant, interval, sleep};
//!
//! let idle = Duration::from_millis(25);
//! let mut packets = interval(Duration::from_millis(10));
//! let mut received = 0;
//! let mut give_up = sleep(idle);
//! loop {
//!     tokio::select! {
//!         () = &mut give_up => break,
//!         _ = packets.tick(), if received < 3 => {
//!             received += 1;
//!             give_up.set_deadline(Instant::now() + idle);
//!         }
//!     }
//! }
//! assert_eq!(received, 3);
//! # }
//! ```

#![forbid(unsafe_code)]

#[doc(inline)]
pub use crate::interval::{Interval, MissedTickBehavior, interval, interval_at};
#[doc(inline)]
pub use crate::sleep::{Sleep, sleep, sleep_until};
#[doc(inline)]
pub use crate::timeout::{LazyTimeout, Timeout, lazy_timeout, timeout, timeout_at};

#[doc(no_inline)]
pub use core::time::Duration;
#[doc(no_inline)]
pub use tokio::time::Instant;
#[cfg(feature = "test-util")]
#[doc(no_inline)]
pub use tokio::time::{advance, pause, resume};

/// The names of `tokio::time::error`.
pub mod error {
    #[doc(inline)]
    pub use crate::error::Elapsed;
    #[doc(no_inline)]
    pub use tokio::time::error::Error;
}
