//! Faults that timers, timeouts and delay queues have had in practice, and that no other test of
//! this crate speaks of: by the numbers of `docs/cases.md`, in files by its headings.
//!
//! Deadlines are exact here, so what may be late by up to a tick elsewhere is on time; a case that
//! is about rounding runs on a timer that coalesces. Time is moved by hand, except where real time
//! is the point.

#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with the clocks of Tokio and of the system"
)]
#![allow(
    clippy::async_yields_async,
    reason = "work may give the handle of other work"
)]

use std::future::Future;
use std::task::Waker;
use std::time::Duration;

use cogwheel::time::Sleep;
use cogwheel::{ManualClock, Timer};
use tokio::runtime::Runtime;

#[path = "../common/drive.rs"]
mod drive;

use drive::{poll, watched};

/// Makes of an `async fn` one test on a runtime of one thread and one on a runtime of two workers.
macro_rules! on_both {
    ($(#[$meta:meta])* async fn $name:ident() $body:block) => {
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn case() $body

            #[test]
            fn one_thread() {
                crate::run(crate::drive::one_thread, case);
            }

            #[test]
            fn two_workers() {
                crate::run(crate::drive::two_workers, case);
            }
        }
    };
}

mod clocks;
mod crowds;
mod far;
mod firing;
mod handles;
mod polls;
mod queues;
mod real_time;
mod rounding;
mod tasks;
mod ticks;
mod wheel_cases;

const NS: Duration = Duration::from_nanos(1);

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Runs `case` as a task of a runtime that `make` makes.
fn run<F: Future<Output = ()> + Send + 'static>(make: fn() -> Runtime, case: fn() -> F) {
    watched(move || {
        let runtime = make();
        runtime.block_on(async { tokio::spawn(case()).await.unwrap() });
    });
}

/// A sleep that was polled with a waker that does nothing.
fn armed(timer: &Timer, delay: Duration) -> Sleep {
    armed_by(timer, delay, Waker::noop())
}

fn armed_by(timer: &Timer, delay: Duration, waker: &Waker) -> Sleep {
    let mut sleep = timer.sleep(delay);
    assert!(poll(&mut sleep, waker).is_pending());
    sleep
}

fn is_ready(sleep: &mut Sleep) -> bool {
    poll(sleep, Waker::noop()).is_ready()
}

/// A clock that is moved by hand, and that the free functions of this runtime go by.
fn default_clock() -> ManualClock {
    let clock = ManualClock::new();
    clock.timer().make_default().unwrap();
    clock
}

/// Lets the tasks of this runtime run until `done`.
async fn until(done: impl Fn() -> bool) {
    while !done() {
        tokio::task::yield_now().await;
    }
}

/// A clock whose timer wakes at the multiples of `grid`, and which stands at one.
fn on_grid(grid: Duration) -> ManualClock {
    let clock = Timer::builder().coalesce(grid).build_manual();
    let probe = armed(&clock.timer(), NS);
    let multiple = clock.next_deadline().unwrap();
    drop(probe);
    clock.advance_to(multiple);
    clock
}
