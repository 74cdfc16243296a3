//! Clocks that differ: a queue or a timer used under more than one, and what a cancelled timer
//! leaves on a paused one.
#![allow(clippy::disallowed_methods, reason = "tests read the clock")]

use std::thread;
use std::time::Duration;

use cogwheel::time::Instant;
use cogwheel::{DelayQueue, Timer};
use futures::StreamExt;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true);
    builder.build().expect("a runtime can be built")
}

#[test]
fn a_queue_made_under_a_clock_that_is_ahead_yields_nothing_early() {
    let runtime = paused();
    thread::sleep(50 * MS); // the clock of the runtime stays behind
    let mut queue = DelayQueue::new();
    runtime.block_on(async {
        let start = Instant::now();
        queue.insert("x", 10 * MS);
        queue.next().await.unwrap();
        assert!(start.elapsed() >= 10 * MS, "after {:?}", start.elapsed());
    });
}

/// Case 70.
#[test]
fn a_queue_moved_to_a_clock_that_is_behind_yields_nothing_early_and_in_order() {
    let mut queue = DelayQueue::new();
    paused().block_on(async {
        queue.insert(0, HOUR);
        queue.next().await.unwrap();
    });
    paused().block_on(async {
        let start = Instant::now();
        queue.insert(2, 20 * MS);
        queue.insert(1, 10 * MS);
        for n in 1..=2 {
            assert_eq!(queue.next().await.unwrap().into_inner(), n);
            assert!(
                start.elapsed() >= 10 * MS * n,
                "after {:?}",
                start.elapsed()
            );
        }
        assert!(queue.next().await.is_none());
    });
}

async fn time_that_passes_while_waiting_for_a_thread() -> Duration {
    let (sender, receiver) = oneshot::channel();
    let start = Instant::now();
    let thread = thread::spawn(move || {
        thread::sleep(100 * MS);
        sender.send(())
    });
    receiver.await.expect("the thread sends");
    thread.join().expect("no panic").expect("it is received");
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn an_exactly_cancelled_timer_does_not_move_a_paused_clock() {
    let timer = Timer::builder().exact_cancel(true).build().unwrap();
    let mut cancelled = timer.sleep(HOUR);
    assert!(futures::poll!(&mut cancelled).is_pending());
    drop(cancelled);
    let passed = time_that_passes_while_waiting_for_a_thread().await;
    assert_eq!(passed, Duration::ZERO);

    // And the alarm can be set again afterwards, for the next deadline and no other.
    let start = Instant::now();
    let mut first = timer.sleep(MS);
    assert!(futures::poll!(&mut first).is_pending());
    let second = timer.sleep(HOUR);
    drop(first);
    second.await;
    assert_eq!(start.elapsed(), HOUR);
}
