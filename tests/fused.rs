//! A `Sleep` after its end: ready again, terminated, and alive again after a reset.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use cogwheel::time::{Duration, Instant, sleep};
use futures::future::FusedFuture;
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready, task};

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[tokio::test(start_paused = true)]
async fn case_002_a_reset_in_the_turn_of_the_end_waits_the_whole_time_again() {
    let start = Instant::now();
    let mut sleep = task::spawn(sleep(secs(10)));
    let mut ends = Vec::new();
    assert_pending!(sleep.poll());
    for second in 1..=20 {
        advance(secs(1)).await;
        if sleep.poll().is_ready() {
            ends.push(second);
            sleep.set_deadline(Instant::now() + secs(10));
            assert_pending!(sleep.poll());
        }
    }
    assert_eq!(ends, [10, 20]);
    assert_eq!(sleep.deadline(), start + secs(30));
}

#[tokio::test(start_paused = true)]
async fn case_049_polled_after_its_end_it_is_ready_each_time() {
    for delay in [Duration::ZERO, secs(10)] {
        let mut sleep = task::spawn(sleep(delay));
        if !delay.is_zero() {
            assert_pending!(sleep.poll());
        }
        advance(delay).await;
        for _ in 0..4 {
            assert_ready!(sleep.poll());
            assert!(sleep.is_elapsed());
        }
        advance(secs(100)).await;
        assert_ready!(sleep.poll());
        assert!(sleep.is_elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn case_050_it_is_terminated_once_a_poll_has_said_so_and_until_a_reset() {
    let mut sleep = task::spawn(sleep(secs(1)));
    assert!(!sleep.is_terminated());
    advance(secs(2)).await;
    assert!(!sleep.is_terminated(), "due, but nobody was told");
    assert_ready!(sleep.poll());
    assert!(sleep.is_terminated());
    sleep.set_deadline(Instant::now() + secs(1));
    assert!(!sleep.is_terminated());
    assert!(!sleep.is_elapsed());
    assert_pending!(sleep.poll());
}

#[tokio::test(start_paused = true)]
async fn a_select_that_skips_terminated_futures_takes_it_by_reference() {
    let start = Instant::now();
    let (mut short, mut long) = (sleep(secs(1)), sleep(secs(3)));
    let mut ends = Vec::new();
    for _ in 0..2 {
        futures::select! {
            () = short => ends.push(start.elapsed()),
            () = long => ends.push(start.elapsed()),
        }
    }
    assert_eq!(ends, [secs(1), secs(3)]);
}
