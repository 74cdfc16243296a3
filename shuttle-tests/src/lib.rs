//! Random schedules of models of `cogwheel` that are too large for loom.
//!
//! ```text
//! ci/shuttle
//! ```
//!
//! The world and the sleepers are those of `loom-tests`: a timer without Tokio, whose clock and alarm
//! are the model's. The models are in `tests/`; each names in its documentation the bugs of
//! `ci/mutants` that it was seen to catch.
//!
//! # What this shows, and what not
//!
//! Loom explores every interleaving of two or three threads that do a few things each, and every
//! value that a weak ordering lets a load see. Shuttle runs one interleaving of many threads at a
//! time, chosen at random, tens of thousands of times. So it may show faults that take four threads
//! or a long history, and it proves nothing. Its atomics are sequentially consistent whatever
//! ordering they are given: a missing release or acquire does not show. It has no cells; those of
//! `primitive.rs` see two threads that are in one at the same time, not two that lack an order.

#![cfg(shuttle)]

#[path = "../../loom-tests/src/sleeper.rs"]
mod sleeper;
#[path = "../../loom-tests/src/world.rs"]
mod world;

use std::env;
use std::str::FromStr;

use shuttle::Runner;
use shuttle::scheduler::{PctScheduler, RandomScheduler};

pub use crate::sleeper::{Hand, Sleeper};
pub use crate::sleeper::{assert_all_closed, assert_nodes_are_free, assert_nothing_lost};
pub use crate::world::{FakePark, World};

/// Schedules of each kind, unless `SHUTTLE_SCHEDULES` says otherwise.
const SCHEDULES: usize = 10_000;
/// How many changes of priority the second kind makes.
const DEPTH: usize = 3;

/// Runs `model` in many schedules: half of them take any thread at each step, half take the thread of
/// the highest priority and change priorities a few times (PCT), which finds other faults.
///
/// `SHUTTLE_SEED` repeats a run. Of a schedule that fails, shuttle prints how to replay it.
///
/// # Panics
///
/// If the model does.
pub fn explore(name: &str, model: impl Fn() + Send + Sync + Clone + 'static) {
    let schedules = variable("SHUTTLE_SCHEDULES").unwrap_or(SCHEDULES);
    let seed = variable("SHUTTLE_SEED").unwrap_or_else(shuttle_seed);
    eprintln!("{name}: {schedules} schedules of each kind, SHUTTLE_SEED={seed}");
    let random = RandomScheduler::new_from_seed(seed, schedules);
    Runner::new(random, shuttle::Config::default()).run(model.clone());
    let prioritised = PctScheduler::new_from_seed(seed, DEPTH, schedules);
    Runner::new(prioritised, shuttle::Config::default()).run(model);
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

/// Another one each time.
fn shuttle_seed() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed();
    since.map_or(0, |since| {
        since.as_secs() << 20 | u64::from(since.subsec_micros())
    })
}
