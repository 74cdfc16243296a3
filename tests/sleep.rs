//! `Sleep`: when it completes, who is woken, what a reset does; and a storm of them.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use cogwheel::Timer;
use cogwheel::time::{Duration, Instant, Sleep, sleep, sleep_until, timeout};
use tokio::task::coop;
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready, task};

#[path = "common/drive.rs"]
mod drive;

use drive::{
    LONG, PATIENCE, Wakes, acting, ms, one_thread, paused, poll, timer_of, two_workers, wait,
    watched,
};

const NANO: Duration = Duration::from_nanos(1);

// === zero and past ===

#[test]
fn a_deadline_that_is_not_ahead_is_met_at_the_first_poll_and_wakes_nobody() {
    for runtime in [paused(), one_thread(), two_workers()] {
        runtime.block_on(async {
            let now = Instant::now();
            for sleep in [
                sleep(Duration::ZERO),
                sleep_until(now),
                sleep_until(now - ms(5)),
                sleep_until(now - Duration::from_secs(3)),
            ] {
                let mut sleep = task::spawn(sleep);
                assert!(!sleep.is_elapsed(), "not before it is polled");
                assert_ready!(sleep.poll());
                assert!(sleep.is_elapsed());
                tokio::time::sleep(ms(2)).await;
                assert!(!sleep.is_woken());
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_to_a_time_that_is_not_ahead_wakes_the_task_that_waits() {
    for back in [Duration::ZERO, NANO, ms(5)] {
        let mut sleep = task::spawn(sleep(LONG));
        assert_pending!(sleep.poll());
        sleep.set_deadline(Instant::now() - back);
        assert!(sleep.is_woken());
        assert_ready!(sleep.poll());
    }
}

#[test]
fn case_024_a_million_zero_sleeps_in_one_task_let_others_run() {
    watched(|| {
        for runtime in [one_thread(), two_workers()] {
            runtime.block_on(async {
                let other = Arc::new(AtomicUsize::new(0));
                let counted = other.clone();
                let counter = tokio::spawn(async move {
                    loop {
                        counted.fetch_add(1, Ordering::Relaxed);
                        tokio::task::yield_now().await;
                    }
                });
                let zeros = tokio::spawn(async {
                    for _ in 0..1_000_000 {
                        sleep(Duration::ZERO).await;
                    }
                });
                zeros.await.unwrap();
                // A task's budget is 128 units.
                assert!(other.load(Ordering::Relaxed) >= 1_000_000 / 128 / 4);
                counter.abort();
            });
        }
    });
}

#[tokio::test]
async fn case_027_a_zero_timeout_takes_a_value_that_is_there_and_else_elapses() {
    for _ in 0..10_000 {
        assert!(timeout(Duration::ZERO, pending::<()>()).await.is_err());
        assert_eq!(timeout(Duration::ZERO, async { 5 }).await, Ok(5));
    }
}

#[tokio::test(start_paused = true)]
async fn case_028_zero_means_due_and_never_registers() {
    let start = Instant::now();
    for _ in 0..1_000 {
        let mut timeout = task::spawn(timeout(Duration::ZERO, pending::<()>()));
        if timeout.poll().is_pending() {
            // The budget is used up.
            tokio::task::yield_now().await;
            assert_ready!(timeout.poll()).unwrap_err();
        }
        assert!(!timeout.is_woken() || !coop::has_budget_remaining());
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_task_without_budget_is_woken_and_not_completed() {
    let mut due = task::spawn(sleep(Duration::ZERO));
    while coop::has_budget_remaining() {
        coop::consume_budget().await;
    }
    assert_pending!(due.poll());
    tokio::task::yield_now().await;
    assert!(due.is_woken());
    assert_ready!(due.poll());
}

// === polls see time ===

#[test]
fn case_074_a_poll_sees_the_time_though_nobody_has_turned_the_wheel() {
    for runtime in [one_thread(), two_workers()] {
        let timer = timer_of(&runtime);
        runtime.block_on(async {
            // Polled first, and not; alone, and with another timer before it.
            for company in [None, Some(ms(1)), Some(LONG)] {
                let mut company = company.map(|delay| timer.sleep(delay));
                if let Some(company) = &mut company {
                    let _ = poll(company, Waker::noop());
                }
                let (mut waiting, mut fresh) = (timer.sleep(ms(4)), timer.sleep(ms(4)));
                let _ = poll(&mut waiting, Waker::noop());
                thread::sleep(ms(10));
                assert!(poll(&mut waiting, Waker::noop()).is_ready());
                assert!(poll(&mut fresh, Waker::noop()).is_ready());
            }
        });
    }
}

#[test]
fn a_runtime_that_nobody_drives_has_time_that_polls_see() {
    let runtime = one_thread();
    let timer = timer_of(&runtime);
    let mut sleep = timer.sleep(ms(4));
    let _ = poll(&mut sleep, Waker::noop());
    thread::sleep(ms(10));
    assert!(poll(&mut sleep, Waker::noop()).is_ready());
}

#[tokio::test(start_paused = true)]
async fn it_is_pending_one_nanosecond_before_its_deadline_and_ready_at_it() {
    for delay in [NANO, ms(1) - NANO, ms(1), ms(1) + NANO, ms(64), LONG + NANO] {
        let mut sleep = task::spawn(sleep(delay));
        assert_pending!(sleep.poll());
        advance(delay - NANO).await;
        assert_pending!(sleep.poll());
        assert!(!sleep.is_woken());
        advance(NANO).await;
        assert_ready!(sleep.poll());
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_never_yields_ends_at_the_deadline() {
    tokio::time::resume();
    let mut sleep = sleep(ms(5));
    let start = Instant::now();
    while poll(&mut sleep, Waker::noop()).is_pending() {
        assert!(start.elapsed() < PATIENCE);
    }
    assert!(start.elapsed() >= ms(5));
}

#[test]
fn no_sleep_completes_early_on_a_real_clock() {
    watched(|| {
        for runtime in [one_thread(), two_workers()] {
            runtime.block_on(async {
                let tasks: Vec<_> = (0..1_000_u64)
                    .map(|n| {
                        tokio::spawn(async move {
                            let delay = Duration::from_nanos(n * 37_123);
                            let start = std::time::Instant::now();
                            sleep(delay).await;
                            assert!(start.elapsed() >= delay);
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
            });
        }
    });
}

// === reset ===

#[tokio::test(start_paused = true)]
async fn before_its_first_poll_it_may_be_moved_in_any_direction() {
    let start = Instant::now();
    let mut later = sleep(ms(10));
    later.set_deadline(start + ms(20));
    later.await;
    assert_eq!(start.elapsed(), ms(20));

    let start = Instant::now();
    let mut earlier = sleep(LONG);
    earlier.set_deadline(start + ms(5));
    earlier.await;
    assert_eq!(start.elapsed(), ms(5));

    let mut past = sleep(LONG);
    past.set_deadline(start);
    assert!(poll(&mut past, Waker::noop()).is_ready());

    // From zero, which needs no look at the clock, to a time ahead.
    let start = Instant::now();
    let mut zero = sleep(Duration::ZERO);
    zero.set_deadline(start + ms(5));
    zero.await;
    assert_eq!(start.elapsed(), ms(5));
}

#[tokio::test(start_paused = true)]
async fn case_038_while_it_waits_it_may_be_moved_in_any_direction() {
    // From 50 ms: later, earlier, earlier and later again, later and earlier again.
    for path in [
        &[70][..],
        &[30],
        &[20, 60],
        &[90, 40],
        &[10, 80, 10, 50],
        &[50],
    ] {
        let start = Instant::now();
        let mut sleep = task::spawn(sleep(ms(50)));
        assert_pending!(sleep.poll());
        for &to in path {
            sleep.set_deadline(start + ms(to));
        }
        let last = ms(path[path.len() - 1]);
        advance(last - NANO).await;
        assert!(!sleep.is_woken(), "{path:?}");
        assert!(!sleep.is_elapsed());
        advance(NANO).await;
        assert!(sleep.is_woken(), "{path:?}");
        assert!(sleep.is_elapsed());
        assert_ready!(sleep.poll());
    }
}

#[tokio::test(start_paused = true)]
async fn each_reset_after_completion_arms_it_again() {
    let start = Instant::now();
    let mut sleep = task::spawn(sleep(ms(10)));
    assert_pending!(sleep.poll());
    for n in 1..=5 {
        advance(ms(10)).await;
        assert!(sleep.is_woken());
        assert_ready!(sleep.poll());
        sleep.set_deadline(start + ms(10 * n + 10));
        assert!(!sleep.is_elapsed());
        assert_pending!(sleep.poll());
    }
    // Completed by a poll that saw the time, not by the wheel.
    sleep.set_deadline(Instant::now());
    assert_ready!(sleep.poll());
    sleep.set_deadline(Instant::now() + ms(3));
    assert_pending!(sleep.poll());
    advance(ms(3)).await;
    assert!(sleep.is_woken());
}

#[tokio::test(start_paused = true)]
async fn reset_through_a_pin_is_the_same() {
    let start = Instant::now();
    let mut pinned = std::pin::pin!(sleep(LONG));
    pinned.as_mut().reset(start + ms(7));
    assert_eq!(pinned.deadline(), start + ms(7));
    pinned.as_mut().await;
    assert_eq!(start.elapsed(), ms(7));
    Sleep::reset(pinned.as_mut(), start + ms(9));
    pinned.await;
    assert_eq!(start.elapsed(), ms(9));
}

#[tokio::test(start_paused = true)]
async fn case_036_fired_but_not_polled_it_may_be_moved_ahead() {
    let mut sleep = task::spawn(sleep(ms(5)));
    assert_pending!(sleep.poll());
    advance(ms(5)).await;
    assert!(sleep.is_woken());
    sleep.set_deadline(Instant::now() + LONG);
    assert!(!sleep.is_elapsed());
    assert_pending!(sleep.poll());
    advance(LONG - NANO).await;
    assert_pending!(sleep.poll());
    advance(NANO).await;
    assert!(sleep.is_woken());
    assert_ready!(sleep.poll());
}

#[test]
fn resets_that_race_with_the_wheel_lose_no_wake() {
    // One thread owns the sleep and moves it about its deadline; two workers turn the wheel.
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        let threads: Vec<_> = (0..4_u64)
            .map(|seed| {
                let timer = timer.clone();
                thread::spawn(move || {
                    let mut moved = timer.sleep(ms(1));
                    for round in 0..1_500 {
                        let (_, waker) = Wakes::new();
                        let micros =
                            |n: u64| Duration::from_micros((round * 97 + seed * 31 + n) % 2_500);
                        let _ = poll(&mut moved, &waker);
                        moved.set_deadline(Instant::now() + micros(700));
                        let _ = poll(&mut moved, &waker);
                        thread::sleep(micros(0) / 8);
                        let last = Instant::now() + micros(1_300) / 2;
                        moved.set_deadline(last);
                        wait(&mut moved);
                        assert!(Instant::now() >= last);
                        moved.set_deadline(Instant::now() + ms(1));
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

// === wakers ===

#[tokio::test(start_paused = true)]
async fn case_046_the_waker_of_the_latest_poll_is_woken() {
    let (first, a) = Wakes::new();
    let (second, b) = Wakes::new();
    let mut sleep = Box::new(sleep(ms(5)));
    assert!(poll(&mut sleep, &a).is_pending());
    let mut moved = *sleep;
    assert!(poll(&mut moved, &b).is_pending());
    assert_eq!(
        Arc::strong_count(&first),
        2,
        "the replaced waker is released"
    );
    advance(ms(5)).await;
    assert_eq!((first.count(), second.count()), (0, 1));
    assert!(poll(&mut moved, &a).is_ready());
}

/// Case 81.
#[tokio::test(start_paused = true)]
async fn a_thread_keeps_the_waker_of_the_timer_it_cancelled_last_and_no_other() {
    let timer = Timer::current();
    let tasks: Vec<_> = (0..100).map(|_| Wakes::new()).collect();
    let idle = Arc::strong_count(&tasks[0].0);
    for (_, waker) in &tasks {
        let mut dropped = timer.sleep(LONG);
        assert!(poll(&mut dropped, waker).is_pending());
    }
    let kept = |tasks: &[(Arc<Wakes>, Waker)]| {
        tasks
            .iter()
            .filter(|(wakes, _)| Arc::strong_count(wakes) > idle)
            .count()
    };
    assert!(kept(&tasks) <= 1);
    // The wheel's look at its place releases it, and wakes nobody.
    advance(LONG + ms(1)).await;
    assert_eq!(kept(&tasks), 0);
    assert!(tasks.iter().all(|(wakes, _)| wakes.count() == 0));
}

#[test]
fn a_kept_waker_is_released_when_its_thread_or_its_runtime_ends() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let timer = runtime.block_on(async { Timer::current() });
    let (wakes, waker) = Wakes::new();
    let idle = Arc::strong_count(&wakes);
    let cancel_one = || {
        let mut dropped = timer.sleep(LONG);
        assert!(poll(&mut dropped, &waker).is_pending());
    };
    thread::scope(|scope| {
        // The end of the scope alone does not wait for what a thread does with its locals.
        scope.spawn(cancel_one).join().unwrap();
    });
    assert_eq!(Arc::strong_count(&wakes), idle);
    cancel_one();
    assert_eq!(Arc::strong_count(&wakes), idle + 1, "this thread keeps it");
    drop(runtime);
    assert_eq!(Arc::strong_count(&wakes), idle);
    assert_eq!(wakes.count(), 0);
}

/// Case 81.
#[tokio::test(start_paused = true)]
async fn completion_and_drop_release_the_waker_at_once_where_that_is_asked_for() {
    let timer = Timer::builder().release_wakers(true).build().unwrap();
    let (wakes, waker) = Wakes::new();
    let idle = Arc::strong_count(&wakes);
    let mut dropped = timer.sleep(LONG);
    assert!(poll(&mut dropped, &waker).is_pending());
    assert_eq!(Arc::strong_count(&wakes), idle + 1);
    drop(dropped);
    assert_eq!(Arc::strong_count(&wakes), idle);
    let mut fired = timer.sleep(ms(5));
    assert!(poll(&mut fired, &waker).is_pending());
    advance(ms(5)).await;
    assert_eq!(Arc::strong_count(&wakes), idle);
    assert_eq!(wakes.count(), 1);
}

#[test]
fn of_many_wakers_in_a_row_the_last_is_the_one_that_is_woken() {
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        for round in 0..3_000_u64 {
            let mut sleep = timer.sleep(Duration::from_micros(round % 900 + 100));
            let mut last = None;
            // With a new waker each time, until it is about to fire.
            for _ in 0..20 {
                let (wakes, waker) = Wakes::new();
                if poll(&mut sleep, &waker).is_ready() {
                    last = None;
                    break;
                }
                last = Some(wakes);
            }
            if let Some(wakes) = last {
                wakes.wait();
                assert!(poll(&mut sleep, Waker::noop()).is_ready());
            }
        }
    });
}

#[tokio::test(start_paused = true)]
async fn case_049_after_completion_it_stays_complete() {
    let mut sleep = task::spawn(sleep(ms(5)));
    assert_pending!(sleep.poll());
    advance(ms(5)).await;
    for _ in 0..3 {
        assert_ready!(sleep.poll());
        assert!(sleep.is_elapsed());
        advance(ms(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn select_and_join_take_it_by_reference() {
    let start = Instant::now();
    let mut long = sleep(ms(50));
    let mut rounds = 0;
    loop {
        tokio::select! {
            () = &mut long => break,
            () = sleep(ms(7)) => rounds += 1,
        }
    }
    assert_eq!(rounds, 7);
    assert_eq!(start.elapsed(), ms(50));
    tokio::join!(sleep(ms(10)), sleep(ms(30)), sleep(ms(20)));
    assert_eq!(start.elapsed(), ms(80));
    futures::future::join_all((0..300).map(|n| sleep(ms(n)))).await;
    assert_eq!(start.elapsed(), ms(80 + 299));
}

#[tokio::test(start_paused = true)]
async fn equal_deadlines_wake_in_the_order_in_which_they_were_polled() {
    for at in [ms(1), ms(40), ms(90), Duration::from_secs(3), LONG] {
        let deadline = Instant::now() + at;
        let order: Arc<Mutex<Vec<usize>>> = Arc::default();
        let mut sleeps: Vec<_> = (0..500).map(|_| sleep_until(deadline)).collect();
        for (n, sleep) in sleeps.iter_mut().enumerate() {
            let order = order.clone();
            let waker = acting(move || order.lock().unwrap().push(n));
            assert!(poll(sleep, &waker).is_pending());
        }
        advance(at).await;
        let order = order.lock().unwrap();
        assert!(order.iter().copied().eq(0..500), "{order:?}");
    }
}

// === the far end ===

/// Cases 18, 98.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_does_not_fit_means_never_and_is_in_nobodys_way() {
    let never = [
        sleep(Duration::MAX),
        sleep(Duration::from_secs(u64::MAX)),
        sleep(Duration::from_secs(1 << 33)),
        sleep(Duration::from_millis(u64::MAX)),
    ];
    let mut never = never.map(task::spawn);
    for sleep in &mut never {
        assert_pending!(sleep.poll());
    }
    let start = Instant::now();
    sleep(ms(5)).await;
    assert_eq!(start.elapsed(), ms(5));
    sleep(Duration::from_secs(100 * 365 * 86_400)).await;
    for sleep in &mut never {
        assert!(!sleep.is_woken());
        assert_pending!(sleep.poll());
    }
    // And it can still be had sooner.
    let start = Instant::now();
    let [mut first, ..] = never.map(task::Spawn::into_inner);
    first.set_deadline(start + ms(3));
    first.await;
    assert_eq!(start.elapsed(), ms(3));
}

// === a storm ===

#[test]
fn a_storm_of_eight_threads_loses_nothing_and_is_never_early() {
    const ROUNDS: u64 = 100_000;
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        let completed = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..8)
            .map(|seed| {
                let (timer, completed) = (timer.clone(), completed.clone());
                thread::spawn(move || {
                    let mut random = Random(seed + 1);
                    let mut left: Vec<(Sleep, Arc<Wakes>)> = Vec::new();
                    for _ in 0..ROUNDS / 8 {
                        let around =
                            |random: &mut Random| Duration::from_micros(random.below(2_000));
                        let mut sleep = timer.sleep(around(&mut random));
                        let (wakes, waker) = Wakes::new();
                        if poll(&mut sleep, &waker).is_ready() {
                            assert!(Instant::now() >= sleep.deadline());
                            continue;
                        }
                        match random.below(8) {
                            0..=2 => {}
                            3 => drop(left.pop()),
                            4 => sleep.set_deadline(Instant::now() + around(&mut random)),
                            5 => {
                                sleep.set_deadline(Instant::now() + LONG);
                                sleep.set_deadline(Instant::now() + around(&mut random));
                            }
                            6 => thread::sleep(around(&mut random) / 10),
                            _ => {
                                wait(&mut sleep);
                                assert!(Instant::now() >= sleep.deadline());
                                completed.fetch_add(1, Ordering::Relaxed);
                                continue;
                            }
                        }
                        left.push((sleep, wakes));
                        if left.len() >= 64 {
                            complete(&mut left, &completed);
                        }
                    }
                    complete(&mut left, &completed);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(completed.load(Ordering::Relaxed) > 10_000);
        // Nothing that is left keeps the runtime awake.
        runtime.block_on(async { sleep(ms(3)).await });
    });
}

/// Waits for the wake of each of these, and checks that it came in time.
fn complete(left: &mut Vec<(Sleep, Arc<Wakes>)>, completed: &AtomicUsize) {
    for (mut sleep, wakes) in left.drain(..) {
        wakes.wait();
        // The wake may belong to an earlier deadline; the poll that follows decides.
        wait(&mut sleep);
        assert!(Instant::now() >= sleep.deadline());
        completed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Marsaglia's xorshift: the same storm in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// So many in each of 3,200 rounds; without debug assertions, a million in all.
const AT_ONCE: usize = if cfg!(debug_assertions) { 10 } else { 320 };

#[test]
fn case_039_timers_that_are_dropped_at_their_deadline_leave_nothing() {
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        let threads: Vec<_> = (0..8_u64)
            .map(|seed| {
                let timer = timer.clone();
                thread::spawn(move || {
                    for round in 0..400 {
                        let doomed: Vec<_> = (0..AT_ONCE)
                            .map(|_| {
                                let (wakes, waker) = Wakes::new();
                                let mut sleep = timer.sleep(ms(1));
                                let _ = poll(&mut sleep, &waker);
                                (sleep, wakes)
                            })
                            .collect();
                        thread::sleep(Duration::from_micros(900 + (round + seed) % 10 * 20));
                        for (sleep, wakes) in doomed {
                            drop(sleep);
                            // The waker is gone: dropped, or woken by a turn that is just at it.
                            for _ in 0..10_000 {
                                if Arc::strong_count(&wakes) == 1 {
                                    break;
                                }
                                thread::sleep(ms(1));
                            }
                            assert_eq!(Arc::strong_count(&wakes), 1);
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let metrics = timer.metrics();
        assert_eq!(metrics.live, 0);
        assert_eq!(metrics.created, metrics.fired + metrics.cancelled);
        assert!(metrics.fired > 100 && metrics.cancelled > 100, "{metrics}");
        runtime.block_on(async { sleep(ms(3)).await });
    });
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_in_a_poll_fn_is_woken_through_its_own_waker() {
    let mut first = sleep(ms(10));
    let mut polls = 0;
    poll_fn(|cx| {
        polls += 1;
        match Pin::new(&mut first).poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    assert_eq!(polls, 2);
}
