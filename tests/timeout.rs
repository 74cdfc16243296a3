//! `timeout`, `timeout_at` and `lazy_timeout`, through the public API.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cogwheel::time::error::Elapsed;
use cogwheel::time::{Duration, Instant, lazy_timeout, sleep, timeout, timeout_at};
use futures::FutureExt;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::coop;
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready, assert_ready_eq, task};

const NANO: Duration = Duration::from_nanos(1);

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[tokio::test(start_paused = true)]
async fn it_elapses_in_the_nanosecond_of_its_deadline_and_not_one_before() {
    for duration in [NANO, ms(1), ms(64) + NANO, Duration::from_secs(3_600)] {
        let mut timeout = task::spawn(timeout(duration, pending::<()>()));
        assert_pending!(timeout.poll());
        advance(duration - NANO).await;
        assert_pending!(timeout.poll());
        advance(NANO).await;
        assert_ready!(timeout.poll()).unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn the_waiting_task_is_woken_at_the_deadline() {
    let start = Instant::now();
    timeout(ms(250), pending::<()>()).await.unwrap_err();
    lazy_timeout(ms(250), pending::<()>()).await.unwrap_err();
    timeout_at(start + ms(750), pending::<()>())
        .await
        .unwrap_err();
    assert_eq!(start.elapsed(), ms(750));
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_ready_wins_over_a_deadline_that_has_passed() {
    let past = timeout_at(Instant::now(), ready(1));
    let short = timeout(ms(1), ready(2));
    advance(ms(10)).await;
    assert_eq!(past.await, Ok(1));
    assert_eq!(short.await, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn a_future_that_becomes_ready_in_the_poll_of_the_deadline_wins() {
    let (sender, receiver) = oneshot::channel();
    let mut timeout = task::spawn(timeout(ms(10), receiver));
    assert_pending!(timeout.poll());
    advance(ms(10)).await;
    sender.send(7).unwrap();
    assert_ready_eq!(timeout.poll(), Ok(Ok(7)));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_in_the_past_elapses_in_the_first_poll() {
    advance(ms(5)).await;
    let mut past = task::spawn(timeout_at(Instant::now() - ms(5), pending::<()>()));
    assert_ready!(past.poll()).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn the_duration_counts_from_the_call_and_the_lazy_one_from_the_first_pending_poll() {
    let eager = timeout(ms(20), pending::<()>());
    let lazy = lazy_timeout(ms(20), pending::<()>());
    advance(ms(15)).await;

    let start = Instant::now();
    eager.await.unwrap_err();
    assert_eq!(start.elapsed(), ms(5));

    let start = Instant::now();
    lazy.await.unwrap_err();
    assert_eq!(start.elapsed(), ms(20));
}

#[tokio::test(start_paused = true)]
async fn an_elapsed_timeout_may_be_polled_on_and_its_future_may_still_win() {
    let (sender, receiver) = oneshot::channel();
    let mut timeout = task::spawn(timeout(ms(10), receiver));
    assert_pending!(timeout.poll());
    advance(ms(10)).await;
    assert!(assert_ready!(timeout.poll()).is_err());
    assert!(assert_ready!(timeout.poll()).is_err());
    sender.send(7).unwrap();
    assert_ready_eq!(timeout.poll(), Ok(Ok(7)));
}

#[tokio::test(start_paused = true)]
async fn the_inner_of_two_nested_timeouts_elapses_by_itself() {
    let inner = timeout(ms(10), pending::<()>());
    let elapsed = timeout(ms(20), inner).await.unwrap().unwrap_err();
    assert_eq!(elapsed.to_string(), "deadline has elapsed");
}

#[tokio::test(start_paused = true)]
async fn the_inner_future_can_be_seen_changed_and_had_back() {
    let mut eager = timeout(ms(10), sleep(ms(20)));
    let mut lazy = lazy_timeout(ms(10), sleep(ms(20)));
    let deadline = Instant::now() + ms(30);
    assert_eq!(eager.get_ref().deadline(), Instant::now() + ms(20));
    assert_eq!(lazy.get_ref().deadline(), Instant::now() + ms(20));
    eager.get_mut().set_deadline(deadline);
    lazy.get_mut().set_deadline(deadline);
    (&mut eager).await.unwrap_err();
    eager.into_inner().await;
    lazy.into_inner().await;
    assert_eq!(Instant::now(), deadline);
}

#[test]
fn a_lazy_timeout_of_a_ready_future_needs_no_runtime() {
    let answer = lazy_timeout(ms(10), ready(7)).now_or_never();
    assert_eq!(answer, Some(Ok(7)));
}

#[tokio::test(start_paused = true)]
async fn case_022_the_longest_durations_let_ready_and_later_answers_through() {
    let longest = [
        Duration::from_nanos(u64::MAX),
        Duration::from_secs(i64::MAX.unsigned_abs()),
        Duration::MAX,
    ];
    for duration in longest {
        assert_eq!(timeout(duration, ready(7)).await, Ok(7));
        assert_eq!(lazy_timeout(duration, ready(7)).await, Ok(7));

        let (sender, receiver) = oneshot::channel();
        let answer = tokio::spawn(timeout(duration, receiver));
        let (lazy_sender, receiver) = oneshot::channel();
        let lazy_answer = tokio::spawn(lazy_timeout(duration, receiver));
        advance(Duration::from_secs(86_400)).await;
        sender.send(8).unwrap();
        lazy_sender.send(9).unwrap();
        assert_eq!(answer.await.unwrap(), Ok(Ok(8)));
        assert_eq!(lazy_answer.await.unwrap(), Ok(Ok(9)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_027_a_timeout_of_zero_is_one_poll_of_its_future() {
    for _ in 0..10_000 {
        assert!(timeout(Duration::ZERO, pending::<()>()).await.is_err());
        assert_eq!(timeout(Duration::ZERO, ready(5)).await, Ok(5));
        assert!(lazy_timeout(Duration::ZERO, pending::<()>()).await.is_err());
        assert_eq!(lazy_timeout(Duration::ZERO, ready(5)).await, Ok(5));
    }
}

#[tokio::test(start_paused = true)]
async fn case_028_a_timeout_of_zero_completes_in_one_poll_without_moving_the_clock() {
    let start = Instant::now();
    for _ in 0..1_000 {
        tokio::task::yield_now().await; // a fresh budget
        let mut eager = task::spawn(timeout(Duration::ZERO, pending::<()>()));
        assert!(assert_ready!(eager.poll()).is_err());
        let mut lazy = task::spawn(lazy_timeout(Duration::ZERO, pending::<()>()));
        assert!(assert_ready!(lazy.poll()).is_err());
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn case_028_a_loop_of_zero_timeouts_lets_other_tasks_run() {
    let other_ran = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&other_ran);
    tokio::spawn(async move { other.store(true, Ordering::Relaxed) });
    for round in 0.. {
        timeout(Duration::ZERO, pending::<()>()).await.unwrap_err();
        if other_ran.load(Ordering::Relaxed) {
            break;
        }
        assert!(round < 10_000, "the loop never yields");
    }
}

#[tokio::test(start_paused = true)]
async fn case_045_a_dropped_timeout_drops_its_future_and_what_that_held() {
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let dropped = Arc::new(AtomicUsize::new(0));
    let permits = Arc::new(Semaphore::new(1));
    let taken = permits.acquire().await.unwrap();
    let waiters: Vec<_> = (0..100)
        .map(|_| {
            let (guard, permits) = (Guard(Arc::clone(&dropped)), Arc::clone(&permits));
            tokio::spawn(timeout(ms(5), async move {
                let _guard = guard;
                permits.acquire_owned().await
            }))
        })
        .collect();
    for waiter in waiters {
        assert!(waiter.await.unwrap().is_err());
    }
    assert_eq!(dropped.load(Ordering::Relaxed), 100);
    drop(taken);
    let permit = permits.acquire().now_or_never();
    assert!(permit.is_some(), "a dead waiter holds the permit");
}

#[tokio::test(start_paused = true)]
async fn case_067_auto_advance_does_not_overtake_blocking_work() {
    let work = tokio::task::spawn_blocking(|| std::thread::sleep(ms(50)));
    let outcome = timeout(Duration::from_secs(100), work).await;
    outcome
        .expect("the work is done long before the deadline")
        .unwrap();
}

/// Uses up the whole budget of its task in every poll, and is always pending.
async fn glutton() {
    loop {
        coop::consume_budget().await;
    }
}

/// The times two kinds of timeout need to interrupt a [`glutton`], on the real clock.
async fn interrupt_gluttons() -> [(Duration, Result<(), Elapsed>); 2] {
    let start = Instant::now();
    let eager = timeout(ms(50), glutton()).await;
    let eager = (start.elapsed(), eager);
    let start = Instant::now();
    let lazy = lazy_timeout(ms(50), glutton()).await;
    [eager, (start.elapsed(), lazy)]
}

#[test]
fn case_073_a_future_that_eats_the_budget_cannot_outlive_its_timeout() {
    use tokio::runtime::Builder;
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = builder.worker_threads(1).enable_time().build().unwrap();
        // On a thread of its own: a timeout that never comes leaves no chance to say so.
        let (report, reports) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let task = runtime.spawn(interrupt_gluttons());
            report.send(runtime.block_on(task))
        });
        let outcomes = reports.recv_timeout(Duration::from_secs(20));
        for (elapsed, outcome) in outcomes.expect("it starves").unwrap() {
            assert!(outcome.is_err());
            assert!(elapsed >= ms(50), "early: {elapsed:?}");
            assert!(elapsed < ms(2_000), "starved: {elapsed:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_a_timeout_did_not_wait_for_is_still_there() {
    let (sender, mut receiver) = mpsc::channel(1);
    timeout(ms(5), receiver.recv()).await.unwrap_err();
    sender.send("late").await.unwrap();
    assert_eq!(timeout(ms(5), receiver.recv()).await, Ok(Some("late")));
}
