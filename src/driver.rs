//! Who turns the wheel, and when.
//!
//! There is no driver task. A turn is run
//!
//! * by Tokio's clock: the driver keeps one `tokio::time::Sleep`, armed at the exact next
//!   deadline, and the waker it is polled with turns the wheel inline (see `ahead` for when it is
//!   armed earlier);
//! * by a thread that arms a timer earlier than that deadline;
//! * by a thread on every 256th of its pushes, so that the inboxes stay short while all workers
//!   are busy;
//! * by a thread that reads the clock for a timer and finds the driver overdue;
//! * at shutdown.
//!
//! A timer with a thread of its own parks that thread where the others arm Tokio's sleep, and one
//! with a manual clock is turned by whoever moves the clock; all else is the same for them.
//!
//! One idle guard task per runtime is the driver's death notice: the runtime drops it when it
//! shuts down, which closes the timer and resolves everything that is pending.
//!
//! Drivers are never freed. One whose runtime has ended is closed, its generation is retired, and
//! the next runtime gets it again; a handle of the old generation sees the difference. That is
//! what lets a timer hold a plain reference instead of a counted one.
//!
//! * [`shared`]: what users and driver share; [`core`]: the wheel; [`turn`]: the loop;
//!   [`wake_list`]: a batch of wakers; [`places`]: how many timers may live; [`counts`]: what the
//!   turns have done; `ahead`: when the alarm is set earlier than it is needed. These know neither
//!   Tokio nor a clock.
//! * `runtime`: the driver, which knows the time; `alarm`: what ends its sleep, by its kind:
//!   `parker` for a runtime, `keeper` for a thread, `manual` for a clock that is moved by hand.
//! * `registry`: which runtime has which driver; `local`: what a thread keeps; `nesting`: which
//!   timers it is turning.
//! * `ledger`: what each thread has done, and the snapshot of all; `events`: what is told to
//!   subscribers of `tracing`.

#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

mod ahead;
pub mod core;
pub mod counts;
pub mod places;
pub mod shared;
pub mod turn;
pub mod wake_list;

#[cfg(not(loom))]
pub(crate) mod alarm;
#[cfg(not(loom))]
mod events;
#[cfg(not(loom))]
pub(crate) mod keeper;
#[cfg(not(loom))]
mod ledger;
#[cfg(not(loom))]
pub(crate) mod local;
#[cfg(not(loom))]
pub(crate) mod manual;
#[cfg(not(loom))]
mod nesting;
#[cfg(not(loom))]
mod parker;
#[cfg(not(loom))]
pub(crate) mod registry;
#[cfg(not(loom))]
pub(crate) mod runtime;
