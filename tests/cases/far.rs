//! The far future: the longest durations, the last ticks, deadlines that mean never.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use cogwheel::time::{sleep, timeout};
use cogwheel::{DelayQueue, ManualClock, Tick, Timer, Wheel};

use crate::drive::{ms, poll};
use crate::{NS, armed, is_ready, secs};

on_both! {
    /// Case 98.
    async fn case_018_the_farthest_sleeps_are_polled_and_dropped() {
        let farthest = [
            secs(u64::MAX / 10),
            secs(u64::MAX),
            Duration::from_nanos(u64::MAX),
            Duration::from_nanos(u64::MAX) - 3 * NS,
            Duration::MAX,
        ];
        for delay in farthest {
            let mut far = sleep(delay);
            assert!(poll(&mut far, Waker::noop()).is_pending());
            let mut moved = sleep(ms(1));
            moved.set_deadline(far.deadline());
            assert!(poll(&mut moved, Waker::noop()).is_pending());
            drop(far);
            assert!(poll(&mut moved, Waker::noop()).is_pending());
        }
        sleep(ms(1)).await;
    }
}

/// Case 98.
#[test]
fn case_018_the_last_ticks_of_a_wheel_are_exact() {
    let last = [u64::MAX - 3, u64::MAX - 2, u64::MAX - 1, u64::MAX];
    for first_dropped in [false, true] {
        let mut wheel = Wheel::new();
        let keys = last.map(|tick| wheel.insert(Tick::new(tick), tick));
        if first_dropped {
            assert_eq!(wheel.remove(keys[0]), Some(last[0]));
        }
        wheel.advance(Tick::new(u64::MAX - 4));
        assert!(wheel.pop().is_none());
        for (n, tick) in last.into_iter().enumerate() {
            wheel.advance(Tick::new(tick));
            let due = wheel.pop().map(|expired| expired.value);
            let removed = first_dropped && n == 0;
            assert_eq!(due, (!removed).then_some(tick));
            assert!(wheel.pop().is_none());
        }
    }
    // Dropped with all of them pending.
    let mut wheel = Wheel::new();
    let held = Arc::new(());
    for tick in last {
        wheel.insert(Tick::new(tick), held.clone());
    }
    drop(wheel);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn case_018_a_sleep_near_the_end_of_the_clock_is_dropped_in_peace() {
    let clock = ManualClock::new();
    let end = clock.advance(Duration::MAX).now;
    for before in [3 * NS, 2 * NS, NS] {
        let clock = Timer::builder().build_manual_at(end - before);
        let mut sleeps = [NS, before, before + NS, Duration::MAX].map(|d| clock.timer().sleep(d));
        for sleep in &mut sleeps {
            let _ = poll(sleep, Waker::noop());
        }
        clock.advance(Duration::MAX);
        drop(sleeps);
        assert_eq!(clock.pending(), 0);
    }
    // Ends that a number of nanoseconds has, and what lies just before them.
    let clock = ManualClock::new();
    for end in [u64::MAX, u64::MAX / 2, u64::MAX / 1_000_000 * 1_000_000] {
        for before in 0..8 {
            drop(armed(&clock.timer(), Duration::from_nanos(end - before)));
        }
    }
    assert_eq!(clock.pending(), 0);
    assert_eq!(clock.advance(secs(3_600)).fired, 0);
}

on_both! {
    async fn case_020_work_delayed_for_ever_has_not_run_after_three_seconds_and_is_cancelled() {
        let runs = Arc::new(AtomicUsize::new(0));
        let ran = runs.clone();
        let work = Timer::current().schedule(Duration::MAX, async move {
            ran.fetch_add(1, Ordering::AcqRel);
        });
        tokio::time::sleep(secs(3)).await;
        assert_eq!(runs.load(Ordering::Acquire), 0);
        assert!(work.cancel());
        assert!(work.await.is_cancelled());
        assert_eq!(runs.load(Ordering::Acquire), 0);
    }
}

on_both! {
    async fn case_022_the_longest_timeouts_let_a_later_answer_through() {
        for longest in [Duration::from_nanos(u64::MAX), secs(u64::MAX), Duration::MAX] {
            assert_eq!(timeout(longest, async { 7 }).await, Ok(7));
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let answer = tokio::spawn(timeout(longest, receiver));
            tokio::task::yield_now().await;
            sender.send(8).unwrap();
            assert_eq!(answer.await.unwrap(), Ok(Ok(8)));
        }
    }
}

/// Case 98.
#[test]
fn case_021_three_years_ahead_is_exact_for_every_kind_of_timer() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let delay = secs(99_999_999);
    let deadline = clock.now() + delay;
    let mut sleep = armed(&timer, delay);
    let mut timeout = timer.timeout(delay, std::future::pending::<()>());
    assert!(poll(&mut timeout, Waker::noop()).is_pending());
    let mut queue = DelayQueue::new();
    let key = queue.insert_at("item", deadline);
    assert_eq!(queue.deadline(&key), deadline);
    assert_eq!(sleep.deadline(), deadline);

    clock.advance(delay - NS);
    assert!(!is_ready(&mut sleep));
    assert!(poll(&mut timeout, Waker::noop()).is_pending());
    clock.advance(NS);
    assert!(is_ready(&mut sleep));
    assert!(poll(&mut timeout, Waker::noop()).is_ready());
}
