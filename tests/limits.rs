//! What timers may hold on to: memory while no worker comes to turn the wheel, and anything at
//! all when their runtime has ended. Measured through `/proc`, so on Linux alone; the benchmark
//! `core` measures the same for longer.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads the clock and may unwrap"
)]

use std::fs;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

/// Each test measures the process, so they take turns.
static PROCESS: Mutex<()> = Mutex::new(());

fn runtime(workers: usize) -> Runtime {
    let mut builder = match workers {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if workers > 0 {
        builder.worker_threads(workers);
    }
    builder.enable_all().build().unwrap()
}

/// Resident memory in KiB.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4
}

/// How many entries a directory of `/proc/self` has.
fn entries(directory: &str) -> usize {
    let path = format!("/proc/self/{directory}");
    fs::read_dir(path).unwrap().count()
}

/// Makes and drops timeouts of 30 s to an hour until `end`, without ever yielding.
async fn hog(seed: u32, begin: Arc<Barrier>, period: Duration) -> u64 {
    // Blocks the worker: both hogs have one of their own.
    begin.wait();
    let end = Instant::now() + period;
    let (mut random, mut made) = (seed, 0);
    poll_fn(|cx| {
        while Instant::now() < end {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let delay = Duration::from_millis(30_000 + u64::from(random >> 10));
            let timeout = cogwheel::time::timeout(delay, pending::<()>());
            assert!(pin!(timeout).poll(cx).is_pending());
            made += 1;
        }
        Poll::Ready(())
    })
    .await;
    made
}

/// Case 81.
#[test]
fn timeouts_made_and_dropped_on_hogged_workers_take_no_memory() {
    let _turn = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = runtime(2);
    let begin = Arc::new(Barrier::new(2));
    let before = resident();
    let hogs: Vec<_> = (1..=2)
        .map(|seed| {
            let hog = hog(seed, begin.clone(), Duration::from_secs(1));
            runtime.spawn(tokio::task::unconstrained(hog))
        })
        .collect();
    let mut peak = before;
    while hogs.iter().any(|hog| !hog.is_finished()) {
        thread::sleep(Duration::from_millis(10));
        peak = peak.max(resident());
    }
    for hog in hogs {
        let made = runtime.block_on(hog).unwrap();
        assert!(made > 10_000, "only {made} timeouts in a second");
    }
    let growth = peak - before;
    assert!(growth < 16 << 10, "grew by {growth} KiB");

    let task = runtime.spawn(async {
        let deadline = Instant::now() + Duration::from_millis(200);
        cogwheel::time::sleep_until(deadline.into()).await;
        Instant::now().checked_duration_since(deadline)
    });
    let late = runtime.block_on(task).unwrap();
    let late = late.expect("it fires early");
    assert!(late < Duration::from_millis(500), "{late:?} late");
}

/// Runtimes of both kinds, one after the other, each dropped with timers pending.
fn generations(count: usize) {
    for generation in 0..count {
        let runtime = runtime(generation % 2);
        for seconds in 60..70 {
            runtime.spawn(cogwheel::time::lazy_timeout(
                Duration::from_secs(seconds),
                pending::<()>(),
            ));
            let _context = runtime.enter();
            runtime.spawn(cogwheel::time::sleep(Duration::from_secs(seconds)));
        }
        runtime.block_on(async {
            cogwheel::time::sleep(Duration::from_nanos(1)).await;
        });
    }
}

#[test]
fn a_thousand_runtimes_leave_nothing_behind() {
    let _turn = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    generations(500);
    let (memory, threads, files) = (resident(), entries("task"), entries("fd"));
    generations(500);
    // A thread that was joined may stay listed for a moment.
    let patience = Instant::now() + Duration::from_secs(5);
    while entries("task") > threads && Instant::now() < patience {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(entries("task") <= threads, "threads stay");
    assert!(entries("fd") <= files, "descriptors stay");
    let growth = resident().saturating_sub(memory);
    assert!(growth < 4 << 10, "grew by {growth} KiB");
}
