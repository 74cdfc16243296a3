//! Loom models of the lock-free parts of `cogwheel`: the harness; the models are in `tests/`.
//!
//! ```text
//! RUSTFLAGS="--cfg loom -C debug-assertions" CARGO_TARGET_DIR=target/loom \
//!     cargo test --release -p loom-tests
//! ```
//!
//! * `explore` runs a model in every interleaving and demands a least number of them.
//! * `World` is a timer without Tokio: the clock and the alarm are the model's.
//! * `Sleeper` is a sleep without Tokio: it does what `cogwheel`'s own does, and watches.
//!
//! Each model names in its documentation the bugs it was seen to catch. They are kept as patches
//! in `ci/mutants`, and `ci/loom-mutants` plants them one by one.
//!
//! Two limits of the tool: `compare_exchange_weak` never fails without a reason, and a load never
//! sees a store that has not been executed yet.

#![cfg(loom)]

mod explore;
mod sleeper;
mod world;

pub use crate::explore::{ALL, THREE, TWO, explore};
pub use crate::sleeper::{Hand, Sleeper};
pub use crate::sleeper::{assert_all_closed, assert_nodes_are_free, assert_nothing_lost};
pub use crate::world::{FakePark, World};

/// Runs `f` on a thread of the model.
pub fn spawn<R: 'static>(f: impl FnOnce() -> R + 'static) -> loom::thread::JoinHandle<R> {
    explore::note_thread();
    loom::thread::spawn(f)
}

/// Waits for a thread of the model and gives what it returned.
///
/// # Panics
///
/// If the thread did.
pub fn join<R>(thread: loom::thread::JoinHandle<R>) -> R {
    match thread.join() {
        Ok(result) => result,
        Err(_) => panic!("a thread of the model panicked"),
    }
}
