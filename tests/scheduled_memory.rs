//! What scheduled work costs in memory, counted by an allocator.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use cogwheel::Timer;
use cogwheel::time::{Duration, Instant, sleep};
use tokio::runtime::Builder;

/// Counts what the calling thread allocates, and what it holds.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
}

fn count(size: usize, sign: isize) {
    let bytes = isize::try_from(size).unwrap_or(isize::MAX);
    let _ = HELD.try_with(|held| held.set(held.get() + sign * bytes));
    if sign > 0 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    }
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn on_one_thread<F: Future>(test: F) -> F::Output {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(test)
}

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn creating_allocates_once_and_moving_and_cancelling_never() {
    on_one_thread(async {
        let timer = Timer::current();
        // The thread's cache and a page of nodes come with the first.
        assert!(timer.schedule(DAY, async {}).cancel());
        let payload = [7_u8; 100];
        for delay in [DAY, DAY * 30, Duration::from_secs(1)] {
            let before = ALLOCATIONS.get();
            let work = timer.schedule(delay, async move { payload });
            assert_eq!(ALLOCATIONS.get() - before, 1);
            let named = work.with_name("a name");
            let now = Instant::now();
            assert!(named.reschedule(now + delay * 2));
            assert!(named.reschedule(now + delay));
            assert!(named.cancel());
            assert_eq!(ALLOCATIONS.get() - before, 1);
        }
        let before = ALLOCATIONS.get();
        let series = timer.schedule_every(DAY, move || async move { _ = payload });
        assert_eq!(ALLOCATIONS.get() - before, 1);
        assert!(series.cancel());
    });
}

#[test]
fn case_080_a_million_cancelled_works_leave_their_captures_behind_at_once() {
    const MILLION: usize = 1_000_000;
    on_one_thread(async {
        let timer = Timer::current();
        let captured = Arc::new(());
        for _ in 0..1_000 {
            assert!(timer.schedule(DAY, async {}).cancel());
        }
        let before = HELD.get();
        for n in 1..=MILLION {
            let capture = (captured.clone(), [0_u8; 1_024]);
            let work = timer.schedule(DAY, async move { drop(capture) });
            assert!(work.cancel());
            assert_eq!(Arc::strong_count(&captured), 1, "number {n}");
        }
        let grown = HELD.get() - before;
        assert!(grown < 4_096, "{grown} bytes");
    });
}

#[test]
fn case_080_a_hundred_thousand_pending_works_are_released_by_their_cancels() {
    const COUNT: usize = 100_000;
    on_one_thread(async {
        let timer = Timer::current();
        let captured = Arc::new(());
        let mut works = Vec::with_capacity(COUNT);
        let round = |works: &mut Vec<_>| {
            for _ in 0..COUNT {
                let capture = (captured.clone(), [0_u8; 1_024]);
                works.push(timer.schedule(DAY, async move { drop(capture) }));
            }
            assert_eq!(Arc::strong_count(&captured), 1 + COUNT);
            for (cancelled, work) in works.drain(..).enumerate() {
                assert!(work.cancel());
                assert_eq!(Arc::strong_count(&captured), COUNT - cancelled);
            }
        };
        round(&mut works);
        // The nodes stay, to be used again; nothing else does.
        let before = HELD.get();
        for _ in 0..3 {
            round(&mut works);
        }
        sleep(Duration::from_millis(1)).await;
        let grown = HELD.get() - before;
        assert!(grown < 64 * 1_024, "{grown} bytes");
    });
}
