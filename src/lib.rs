//! Async timers for Tokio on a hierarchical timing wheel.

#![doc(test(attr(deny(warnings))))]

mod clock;
pub mod delay_queue;
mod driver;
pub mod error;
mod interval;
mod primitive;
mod sleep;
mod sync;
mod tick;
pub mod time;
mod timeout;
mod timer;
pub mod wheel;

#[doc(inline)]
pub use crate::delay_queue::DelayQueue;
pub use crate::tick::Tick;
pub use crate::timer::Timer;
#[doc(inline)]
pub use crate::wheel::Wheel;
