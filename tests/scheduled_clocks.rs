//! Work on timers that belong to no runtime: it runs on the one that it is scheduled in.

#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

use std::time::Duration;

use cogwheel::error::TimerError;
use cogwheel::{ManualClock, Timer};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_on_a_manual_clock_starts_when_that_says_so() {
    let clock = ManualClock::new();
    let work = clock.timer().schedule(HOUR, async { 7 });
    let moved = clock.timer().schedule(HOUR, async { 8 });
    let cancelled = clock.timer().schedule(HOUR, async { 9 });
    assert!(moved.reschedule(clock.now() + HOUR * 2));
    assert!(cancelled.cancel());
    clock.advance(HOUR - Duration::from_nanos(1));
    assert!(!work.is_finished());
    clock.advance(Duration::from_nanos(1));
    assert_eq!(work.await.fired(), Some(7));
    assert!(cancelled.await.is_cancelled());
    assert!(!moved.is_finished());
    clock.advance(HOUR);
    assert_eq!(moved.await.fired(), Some(8));
}

#[tokio::test]
async fn work_that_waits_on_a_manual_clock_is_closed_with_it() {
    let clock = ManualClock::new();
    let work = clock.timer().schedule(HOUR, async { 7 });
    clock.close();
    assert!(work.await.is_closed());
}

#[test]
fn without_a_runtime_there_is_nowhere_to_run_it() {
    let clock = ManualClock::new();
    let refused = clock.timer().try_schedule(HOUR, async { 7 });
    assert_eq!(refused.unwrap_err(), TimerError::NoRuntime);
}

#[tokio::test]
async fn a_thread_of_its_own_starts_work_on_the_runtime_it_was_scheduled_in() {
    let timer = Timer::builder().dedicated_thread().build().unwrap();
    let here = std::thread::current().id();
    let work = timer.schedule(Duration::from_millis(1), async {
        std::thread::current().id()
    });
    assert_eq!(work.await.fired(), Some(here));
}

#[test]
fn work_whose_runtime_has_ended_finds_out_when_it_is_due() {
    let clock = ManualClock::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let context = runtime.enter();
    let work = clock.timer().schedule(HOUR, async { 7 });
    drop(context);
    drop(runtime);
    assert!(!work.is_finished());
    clock.advance(HOUR);
    assert!(work.is_finished());
    assert!(futures::executor::block_on(work).is_closed());
}
