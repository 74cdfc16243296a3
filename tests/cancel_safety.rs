//! Dropping futures in each of their states, and losing a `select!`.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::future::{Future, pending, poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use cogwheel::time::{
    Duration, Instant, interval, interval_at, lazy_timeout, sleep, timeout, timeout_at,
};
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready, task};

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

type Wait = fn() -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Every future of the crate, made so that it waits 10 ms from now for nothing.
const WAITS: [(&str, Wait); 5] = [
    ("sleep", || Box::pin(sleep(ms(10)))),
    ("timeout", || {
        let timeout = timeout(ms(10), pending::<()>());
        Box::pin(async { timeout.await.unwrap_or_default() })
    }),
    ("timeout_at", || {
        let timeout = timeout_at(Instant::now() + ms(10), pending::<()>());
        Box::pin(async { timeout.await.unwrap_or_default() })
    }),
    ("lazy_timeout", || {
        let timeout = lazy_timeout(ms(10), pending::<()>());
        Box::pin(async { timeout.await.unwrap_or_default() })
    }),
    ("interval", || {
        let mut beat = interval_at(Instant::now() + ms(10), ms(10));
        Box::pin(async move { _ = beat.tick().await })
    }),
];

#[tokio::test(start_paused = true)]
async fn dropped_before_the_first_poll_a_future_leaves_nothing_behind() {
    for (_, wait) in WAITS {
        drop(wait());
    }
    let start = Instant::now();
    sleep(ms(20)).await; // with a node of its own, or one that was left
    assert_eq!(start.elapsed(), ms(20));
}

#[tokio::test(start_paused = true)]
async fn dropped_while_it_waits_a_future_wakes_nobody_at_its_deadline() {
    for (name, wait) in WAITS {
        let mut future = wait();
        let mut task = task::spawn(());
        assert_pending!(task.enter(|cx, _| future.as_mut().poll(cx)));
        advance(ms(5)).await;
        drop(future);
        sleep(ms(20)).await;
        assert!(!task.is_woken(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_between_the_wake_and_the_poll_a_future_disturbs_no_other() {
    for (name, wait) in WAITS {
        let (mut doomed, mut other) = (task::spawn(wait()), task::spawn(wait()));
        assert_pending!(doomed.poll());
        assert_pending!(other.poll());
        sleep(ms(10)).await;
        assert!(doomed.is_woken(), "{name}");
        drop(doomed);
        assert!(other.is_woken(), "{name}");
        assert_ready!(other.poll());
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_after_its_end_or_after_a_reset_a_sleep_wakes_nobody() {
    for reset in [false, true] {
        let mut task = task::spawn(());
        let mut slept = sleep(ms(10));
        assert_pending!(task.enter(|cx, _| Pin::new(&mut slept).poll(cx)));
        advance(ms(10)).await;
        assert_ready!(task.enter(|cx, _| Pin::new(&mut slept).poll(cx)));
        if reset {
            slept.set_deadline(Instant::now() + ms(10));
            assert_pending!(task.enter(|cx, _| Pin::new(&mut slept).poll(cx)));
        }
        drop(slept);
        sleep(ms(30)).await;
        assert!(!task.is_woken(), "reset: {reset}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_aborted_task_takes_its_timers_with_it() {
    for (name, wait) in WAITS {
        let task = tokio::spawn(wait());
        tokio::task::yield_now().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled(), "{name}");
    }
    let start = Instant::now();
    sleep(ms(50)).await;
    assert_eq!(start.elapsed(), ms(50));
}

#[tokio::test(start_paused = true)]
async fn a_future_that_moves_to_another_task_wakes_that_one_alone() {
    for (name, wait) in WAITS {
        let mut future = wait();
        let mut first = task::spawn(());
        let first_poll = first.enter(|cx, _| future.as_mut().poll(cx));
        assert_pending!(first_poll);
        let mut second = task::spawn(future);
        assert_pending!(second.poll());
        sleep(ms(10)).await;
        assert!(!first.is_woken(), "{name}");
        assert!(second.is_woken(), "{name}");
        assert_ready!(second.poll());
    }
}

#[tokio::test(start_paused = true)]
async fn the_value_of_a_timeout_is_dropped_with_it_and_once_in_every_state() {
    /// Pending, and counts its drops.
    struct Counted(Arc<AtomicUsize>);
    impl Future for Counted {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            Poll::Pending
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    for polls in 0..=2 {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut eager = task::spawn(timeout(ms(10), Counted(Arc::clone(&drops))));
        let mut lazy = task::spawn(lazy_timeout(ms(10), Counted(Arc::clone(&drops))));
        for _ in 0..polls {
            let elapsed = (eager.poll().is_ready(), lazy.poll().is_ready());
            assert_eq!(drops.load(Ordering::Relaxed), 0, "elapsed: {elapsed:?}");
            advance(ms(10)).await;
        }
        drop((eager, lazy));
        assert_eq!(drops.load(Ordering::Relaxed), 2, "after {polls} polls");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleep_that_loses_a_select_keeps_its_deadline() {
    let start = Instant::now();
    let mut long = sleep(ms(100));
    let mut rounds = 0;
    loop {
        tokio::select! {
            () = &mut long => break,
            () = sleep(ms(7)) => rounds += 1,
        }
    }
    assert_eq!(rounds, 14); // up to 98 ms
    assert_eq!(start.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn a_tick_that_is_cancelled_was_not_taken() {
    let start = Instant::now();
    let mut beat = interval_at(start + ms(10), ms(10));
    for round in 1..=100 {
        let scheduled = start + ms(10) * round;
        // Cancelled while it waits ...
        for _ in 0..3 {
            tokio::select! {
                biased;
                tick = beat.tick() => panic!("{:?} early", scheduled - tick),
                () = ready(()) => {}
            }
        }
        // ... and, unpolled, when it is due.
        advance(scheduled - Instant::now()).await;
        drop(beat.tick());
        assert_eq!(beat.tick().await, scheduled);
    }
}

#[tokio::test(start_paused = true)]
async fn case_043_ticks_that_race_with_another_branch_are_neither_lost_nor_doubled() {
    let start = Instant::now();
    let (mut beat, mut other) = (interval(ms(10)), interval(ms(10)));
    let (mut ticks, mut others) = (Vec::new(), 0);
    while others < 1_000 || ticks.len() < 1_000 {
        // Both are due at the same instants; `select!` asks one of them first, at random.
        tokio::select! {
            tick = beat.tick(), if ticks.len() < 1_000 => ticks.push(tick),
            _ = other.tick(), if others < 1_000 => others += 1,
        }
    }
    let grid: Vec<_> = (0..1_000).map(|round| start + ms(10) * round).collect();
    assert_eq!(ticks, grid);
    assert_eq!(Instant::now(), start + ms(9_990));
}

#[tokio::test(start_paused = true)]
async fn of_two_sleeps_that_end_together_the_first_polled_may_drop_the_other() {
    let start = Instant::now();
    for _ in 0..100 {
        let mut pair = [Some(sleep(ms(3))), Some(sleep(ms(3)))];
        poll_fn(|cx| {
            let [left, right] = &mut pair;
            let left = left.as_mut().expect("it is never dropped");
            let poll = Pin::new(left).poll(cx);
            match (poll, right.as_mut()) {
                (Poll::Ready(()), _) => *right = None,
                (Poll::Pending, Some(right)) => assert_pending!(Pin::new(right).poll(cx)),
                (Poll::Pending, None) => unreachable!(),
            }
            poll
        })
        .await;
    }
    assert_eq!(start.elapsed(), ms(300));
}

#[tokio::test(start_paused = true)]
async fn futures_dropped_in_any_order_leave_the_rest_on_time() {
    let start = Instant::now();
    let mut cx = Context::from_waker(Waker::noop());
    let mut sleeps: Vec<_> = (1..=100).map(|n| Some(sleep(ms(n)))).collect();
    for sleep in sleeps.iter_mut().flatten() {
        assert!(Pin::new(sleep).poll(&mut cx).is_pending());
    }
    for n in (0..100).filter(|n| n * 37 % 100 < 50) {
        sleeps[n] = None;
    }
    for (n, sleep) in (1..).zip(&mut sleeps) {
        if let Some(sleep) = sleep {
            sleep.await;
            assert_eq!(start.elapsed(), ms(n));
        }
    }
}
