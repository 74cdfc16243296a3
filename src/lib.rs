//! Async timers for Tokio on a hierarchical timing wheel: never early, never lost, nearly free to
//! cancel.
//!
//! Most timers in a service are timeouts, and almost all of them are cancelled before they fire.
//! Here, in the steady state, making and cancelling one through a handle is a clock reading and two
//! atomic exchanges on a node the thread already has; no lock is taken, and nothing is allocated.
//!
//! # Start here
//!
//! * [`time`]: `sleep`, `timeout`, `interval` and the rest under the names of `tokio::time`. A
//!   service changes `use tokio::time` to `use cogwheel::time` and nothing else.
//! * [`Timer`]: a handle to the timer of one runtime, usable from any thread; or to one with a
//!   thread of its own.
//! * [`ManualClock`]: a timer whose time you move, for tests on any number of threads.
//! * [`Scheduled`]: work that is to be done later, cancellable and movable until it starts; made
//!   by [`Timer::schedule`] and [`Timer::schedule_every`].
//! * [`DelayQueue`]: values that come out at their deadlines, by key removable and movable.
//! * [`FutureExt`]: `.timeout(…)` behind a future. [`Deadline`]: one for all steps of a request.
//! * [`Backoff`]: how long to wait before the next try.
//! * [`Timer::metrics`]: how many timers there are, what became of the others, and how late they
//!   were.
//! * [`Wheel`]: the synchronous wheel inside, for an event loop of your own.
//!
//! # Example
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! use cogwheel::time::{Duration, sleep, timeout};
//!
//! let slow = async { sleep(Duration::from_secs(60)).await };
//! assert!(timeout(Duration::from_secs(1), slow).await.is_err());
//! # }
//! ```
//!
//! # What is promised
//!
//! * **Never early.** Deadlines are exact to the nanosecond. A timer fires in the first turn at or
//!   after its deadline.
//! * **Cancel is drop**, and releases the waker at once; only the one that a thread cancelled last
//!   may be kept for the next timer of the same task
//!   ([`release_wakers`](timer::Builder::release_wakers)).
//! * **Exactly one of fire and cancel** happens.
//! * **No limit.** `Duration::MAX` means practically never. It is cancellable, and in nobody's way.
//! * **A wake-up has a reason.** An idle timer wakes nobody; a lone one once.
//! * **When the runtime ends** everything pending is woken and finds the timer closed. Nothing
//!   hangs.
//!
//! # Clock
//!
//! Time is Tokio's: monotonic, so a suspended system suspends its timers, and pausable in tests
//! (`tokio::time::pause`). A clock that steps back moves nothing back. A [`ManualClock`] has a time
//! of its own.
//!
//! # Features
//!
//! * `stream`: `stream`, with `StreamExt` for timeouts, throttling, debouncing and chunks by time.
//! * `metrics`: `TimerMetrics::record` hands a snapshot to the `metrics` crate.
//! * `tracing-spans`: the wakes of each turn happen inside a span.
//! * `test-util`: `pause`, `advance` and `resume` in [`time`].
//!
//! Which timer to take for what is in the [`guide`]; how it works is in [`architecture`].

#![doc(test(attr(deny(warnings))))]

mod driver;
pub mod metrics;
mod sync;
mod tick;
pub mod wheel;

#[cfg(not(loom))]
mod primitive;
#[cfg(loom)]
#[doc(hidden)]
pub mod primitive;

#[cfg(doc)]
pub mod architecture;
#[cfg(all(any(doc, doctest), not(loom)))]
pub mod guide;

// The async rooms stand on Tokio, which a build for loom leaves out.
#[cfg(not(loom))]
pub mod backoff;
#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
mod deadline;
#[cfg(not(loom))]
pub mod delay_queue;
#[cfg(not(loom))]
pub mod error;
#[cfg(not(loom))]
mod future_ext;
#[cfg(not(loom))]
mod interval;
#[cfg(not(loom))]
pub mod manual_clock;
#[cfg(not(loom))]
pub mod scheduled;
#[cfg(not(loom))]
mod sleep;
#[cfg(all(feature = "stream", not(loom)))]
pub mod stream;
#[cfg(not(loom))]
pub mod time;
#[cfg(not(loom))]
mod timeout;
#[cfg(not(loom))]
pub mod timer;

pub use crate::tick::Tick;
#[doc(inline)]
pub use crate::wheel::Wheel;

#[cfg(not(loom))]
#[doc(inline)]
pub use crate::backoff::Backoff;
#[cfg(not(loom))]
pub use crate::deadline::Deadline;
#[cfg(not(loom))]
#[doc(inline)]
pub use crate::delay_queue::DelayQueue;
#[cfg(not(loom))]
pub use crate::future_ext::FutureExt;
#[cfg(not(loom))]
#[doc(inline)]
pub use crate::manual_clock::ManualClock;
#[cfg(not(loom))]
#[doc(inline)]
pub use crate::scheduled::Scheduled;
#[cfg(all(feature = "stream", not(loom)))]
#[doc(inline)]
pub use crate::stream::StreamExt;
#[cfg(not(loom))]
#[doc(inline)]
pub use crate::timer::Timer;

/// What the models in `loom-tests` explore; not part of the interface.
#[cfg(loom)]
#[doc(hidden)]
pub mod loom_only {
    pub use crate::driver::{core, counts, places, shared, turn, wake_list};
    pub use crate::sync::{alarm_clock, doorbell, inbox, node, pool, turn_lock};
}
