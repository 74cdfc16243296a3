//! Async timers for Tokio on a hierarchical timing wheel.

#![doc(test(attr(deny(warnings))))]

mod driver;
mod sync;
mod tick;
pub mod wheel;

#[cfg(not(loom))]
mod primitive;
#[cfg(loom)]
#[doc(hidden)]
pub mod primitive;

// The async rooms stand on Tokio, which a build for loom leaves out.
#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
pub mod delay_queue;
#[cfg(not(loom))]
pub mod error;
#[cfg(not(loom))]
mod interval;
#[cfg(not(loom))]
mod sleep;
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
pub use crate::delay_queue::DelayQueue;
#[cfg(not(loom))]
#[doc(inline)]
pub use crate::timer::Timer;

/// What the models in `loom-tests` explore; not part of the interface.
#[cfg(loom)]
#[doc(hidden)]
pub mod loom_only {
    pub use crate::driver::{core, shared, turn, wake_list};
    pub use crate::sync::{doorbell, inbox, node, pool, turn_lock};
}
