//! Time that is moved by hand, on any number of threads and with no runtime.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with the system's clock"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use cogwheel::error::TimerError;
use cogwheel::time::{Instant, MissedTickBehavior, Sleep};
use cogwheel::{ManualClock, Timer};

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, Wakes, acting, ms, poll, text_of, two_workers, wait, watched};

const NS: Duration = Duration::from_nanos(1);

/// A sleep that was polled with a waker that does nothing.
fn armed(timer: &Timer, delay: Duration) -> Sleep {
    armed_by(timer, delay, Waker::noop())
}

fn armed_by(timer: &Timer, delay: Duration, waker: &Waker) -> Sleep {
    let mut sleep = timer.sleep(delay);
    assert!(poll(&mut sleep, waker).is_pending());
    sleep
}

/// Waits until `count` timers are pending.
fn arrive(clock: &ManualClock, count: usize) {
    while clock.pending() != count {
        thread::yield_now();
    }
}

fn is_ready(sleep: &mut Sleep) -> bool {
    poll(sleep, Waker::noop()).is_ready()
}

// === the clock ===

#[test]
fn case_064_the_clock_moves_by_exactly_what_it_is_told() {
    let clock = ManualClock::new();
    let begun = clock.now();
    let moved = clock.advance(Duration::from_micros(3_141_592));
    assert_eq!(moved.now, begun + Duration::from_micros(3_141_592));
    clock.advance(Duration::from_micros(1));
    assert_eq!(clock.now(), begun + Duration::from_micros(3_141_593));
    assert_eq!(clock.timer().now(), clock.now());
}

#[test]
fn the_clock_does_not_move_by_itself_nor_back() {
    let clock = ManualClock::new();
    let begun = clock.now();
    thread::sleep(ms(20));
    assert_eq!(clock.now(), begun);
    clock.advance(ms(10));
    let moved = clock.advance_to(begun);
    assert_eq!((moved.now, moved.fired), (begun + ms(10), 0));
    assert_eq!(clock.now(), begun + ms(10));
}

#[test]
fn a_clock_can_be_moved_to_the_end_of_time_and_never_stays_never() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let mut century = armed(&timer, Duration::from_secs(100 * 365 * 86_400));
        let mut never = armed(&timer, Duration::MAX);
        assert_eq!(clock.advance(Duration::MAX).fired, 1);
        assert_eq!(clock.advance(Duration::MAX).fired, 0);
        assert!(is_ready(&mut century));
        assert!(!is_ready(&mut never));
        assert_eq!(clock.next_deadline(), None);
        assert_eq!(clock.advance_to_next(), None);
        assert_eq!(clock.pending(), 1);
    });
}

/// Case 98.
#[test]
fn case_099_a_clock_may_begin_anywhere() {
    let base = ManualClock::new().now();
    let days = |count: f64| Duration::from_secs_f64(count * 86_400.0);
    let starts = [
        base.checked_sub(days(365.0)),
        Some(base),
        base.checked_add(days(24.85)),
        base.checked_add(days(49.7)),
        base.checked_add(days(400.0 * 365.0)),
        // So close to the end of the line that the clock stops there.
        Some(ManualClock::new().advance(Duration::MAX).now),
    ];
    for start in starts.into_iter().flatten() {
        watched(move || {
            let clock = Timer::builder().build_manual_at(start);
            let timer = clock.timer();
            assert_eq!(clock.now(), start);
            let mut beat = timer.interval(Duration::from_secs(1));
            let mut sleep = armed(&timer, Duration::from_secs(5));
            for beats in 0..30_u32 {
                let mut tick = Box::pin(beat.tick());
                if let Poll::Ready(at) = poll(&mut tick, Waker::noop()) {
                    assert_eq!(at, start + Duration::from_secs(1) * beats);
                }
                drop(tick);
                clock.advance(Duration::from_secs(1));
            }
            let moved = clock.now() >= start + Duration::from_secs(30);
            assert_eq!(is_ready(&mut sleep), moved);
        });
    }
}

// === timers on it ===

#[test]
fn case_001_each_timer_fires_at_its_own_tick_and_at_none_before() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let ticks = [64 + 5, 2 * 64 + 5, 64 * 64 + 5];
    let mut sleeps = ticks.map(|tick| armed(&timer, ms(tick)));
    for now in 1..=64 * 64 + 5 {
        let fired = clock.advance(ms(1)).fired;
        assert_eq!(fired, usize::from(ticks.contains(&now)), "at {now}");
        for (sleep, tick) in sleeps.iter_mut().zip(ticks) {
            assert_eq!(is_ready(sleep), now >= tick, "{tick} at {now}");
        }
    }
}

#[test]
fn case_002_a_sleep_that_is_reset_after_it_completed_completes_once_more() {
    let clock = ManualClock::new();
    let mut sleep = armed(&clock.timer(), Duration::from_secs(10));
    let mut completed = 0;
    for second in 1..=20 {
        clock.advance(Duration::from_secs(1));
        if is_ready(&mut sleep) {
            completed += 1;
            assert_eq!(second, completed * 10);
            sleep.set_deadline(clock.now() + Duration::from_secs(10));
            assert!(!is_ready(&mut sleep));
        }
    }
    assert_eq!(completed, 2);
}

#[test]
fn case_007_a_later_timer_does_not_hide_an_earlier_one() {
    let clock = ManualClock::new();
    let (timer, begun) = (clock.timer(), clock.now());
    let mut first = armed(&timer, ms(100));
    clock.advance(ms(60));
    let mut second = armed(&timer, ms(50));
    assert_eq!(clock.next_deadline(), Some(begun + ms(100)));
    assert_eq!(clock.advance_to_next().unwrap().fired, 1);
    assert!(is_ready(&mut first) && !is_ready(&mut second));
    assert_eq!(clock.advance_to_next().unwrap().now, begun + ms(110));
    assert!(is_ready(&mut second));
}

/// Case 98.
#[test]
fn case_013_a_timer_for_ever_hides_no_near_one_at_any_boundary() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let _never = armed(&timer, Duration::MAX);
        let begun = clock.now();
        for bits in [6, 12, 18, 20, 26, 30, 32, 38, 44, 50, 56] {
            let boundary = begun + Duration::from_nanos(1 << bits);
            clock.advance_to(boundary - NS);
            let start = clock.now();
            let mut beat = timer.interval(ms(333));
            for n in 0..10 {
                let tick = start + ms(333) * n;
                assert_eq!(
                    poll(&mut Box::pin(beat.tick()), Waker::noop()),
                    Poll::Ready(tick)
                );
                let mut next = Box::pin(beat.tick());
                assert!(poll(&mut next, Waker::noop()).is_pending());
                let stop = clock.advance_to_next().unwrap();
                assert_eq!((stop.now, stop.fired), (tick + ms(333), 1));
            }
        }
    });
}

/// Case 98.
#[test]
fn case_021_a_deadline_years_ahead_is_exact() {
    let clock = ManualClock::new();
    let delay = Duration::from_secs(99_999_999);
    let mut sleep = armed(&clock.timer(), delay);
    let deadline = clock.now() + delay;
    assert_eq!(sleep.deadline(), deadline);
    assert_eq!(clock.next_deadline(), Some(deadline));
    assert_eq!(clock.advance_to(deadline - NS).fired, 0);
    assert!(!is_ready(&mut sleep));
    assert_eq!(clock.advance(NS).fired, 1);
    assert!(is_ready(&mut sleep));
}

#[test]
fn case_071_a_jump_of_six_hours_is_answered_as_each_behaviour_says() {
    let minute = Duration::from_secs(60);
    let behaviors = [
        (MissedTickBehavior::Burst, 361, minute),
        (MissedTickBehavior::Skip, 1, minute / 2),
        (MissedTickBehavior::Delay, 1, minute),
    ];
    for (behavior, at_once, then) in behaviors {
        let clock = ManualClock::new();
        let mut beat = clock.timer().interval(minute);
        beat.set_missed_tick_behavior(behavior);
        let mut ready = || poll(&mut Box::pin(beat.tick()), Waker::noop()).is_ready();
        assert!(ready());
        clock.advance(Duration::from_secs(6 * 3_600) + minute / 2);
        let mut ticks = 0;
        while ready() {
            ticks += 1;
        }
        let expected = if at_once == 1 { 1 } else { 360 };
        assert_eq!(ticks, expected, "{behavior:?}");
        // The grid of a burst goes on half a minute from now.
        let next = if behavior == MissedTickBehavior::Burst {
            minute / 2
        } else {
            then
        };
        clock.advance(next - NS);
        assert!(!ready(), "{behavior:?}");
        clock.advance(NS);
        assert!(ready(), "{behavior:?}");
    }
}

#[test]
fn a_reset_of_an_interval_counts_from_the_manual_clock() {
    let clock = ManualClock::new();
    let mut beat = clock.timer().interval(ms(100));
    assert!(poll(&mut Box::pin(beat.tick()), Waker::noop()).is_ready());
    clock.advance(ms(60));
    beat.reset();
    let due = clock.now() + ms(100);
    assert!(poll(&mut Box::pin(beat.tick()), Waker::noop()).is_pending());
    clock.advance(ms(100));
    assert_eq!(
        poll(&mut Box::pin(beat.tick()), Waker::noop()),
        Poll::Ready(due)
    );
    beat.reset_after(ms(7));
    clock.advance(ms(7));
    assert_eq!(
        poll(&mut Box::pin(beat.tick()), Waker::noop()),
        Poll::Ready(due + ms(7))
    );
    beat.reset_immediately();
    assert_eq!(
        poll(&mut Box::pin(beat.tick()), Waker::noop()),
        Poll::Ready(due + ms(7))
    );
}

#[test]
fn a_timeout_elapses_by_the_manual_clock_alone() {
    let clock = ManualClock::new();
    let mut timeout = clock.timer().timeout(ms(10), std::future::pending::<()>());
    assert!(poll(&mut timeout, Waker::noop()).is_pending());
    thread::sleep(ms(30));
    assert!(poll(&mut timeout, Waker::noop()).is_pending());
    clock.advance(ms(10));
    assert!(poll(&mut timeout, Waker::noop()).is_ready());
}

#[test]
fn a_zero_or_past_deadline_is_complete_at_the_first_poll() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    assert!(is_ready(&mut timer.sleep(Duration::ZERO)));
    assert!(is_ready(&mut timer.sleep_until(clock.now() - ms(1))));
    // Made before the clock was moved, polled after.
    let mut late = timer.sleep(ms(1));
    clock.advance(ms(1));
    assert!(is_ready(&mut late));
    assert_eq!(clock.pending(), 0);
}

// === steps ===

#[test]
fn timers_fire_in_the_order_of_their_deadlines_each_at_its_own_time() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let order = Arc::new(Mutex::new(Vec::new()));
    let delays = [30, 10, 2_000, 10, 20, 70_000, 1];
    let begun = clock.now();
    let sleeps: Vec<_> = (0..)
        .zip(delays)
        .map(|(n, delay): (usize, u64)| {
            let (order, timer) = (order.clone(), timer.clone());
            let waker = acting(move || order.lock().unwrap().push((timer.now(), n)));
            armed_by(&clock.timer(), ms(delay), &waker)
        })
        .collect();
    assert_eq!(clock.advance(ms(70_000)).fired, delays.len());
    let at = |delay| begun + ms(delay);
    let expected = [
        (1, 6),
        (10, 1),
        (10, 3),
        (20, 4),
        (30, 0),
        (2_000, 2),
        (70_000, 5),
    ];
    assert_eq!(
        *order.lock().unwrap(),
        expected.map(|(delay, n)| (at(delay), n))
    );
    drop(sleeps);
}

#[test]
fn a_timer_that_a_waker_arms_fires_at_its_own_time_in_the_same_advance() {
    let clock = ManualClock::new();
    let times = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::new(Mutex::new(Vec::new()));
    fn arm(timer: &Timer, times: &Arc<Mutex<Vec<Instant>>>, kept: &Arc<Mutex<Vec<Sleep>>>) {
        let (inner, log, keep) = (timer.clone(), times.clone(), kept.clone());
        let waker = acting(move || {
            log.lock().unwrap().push(inner.now());
            arm(&inner, &log, &keep);
        });
        kept.lock().unwrap().push(armed_by(timer, ms(3), &waker));
    }
    let begun = clock.now();
    arm(&clock.timer(), &times, &kept);
    assert_eq!(clock.advance(ms(10)).fired, 3);
    let expected = [3, 6, 9].map(|n| begun + ms(n));
    assert_eq!(*times.lock().unwrap(), expected);
    assert_eq!(clock.next_deadline(), Some(begun + ms(12)));
    drop(std::mem::take(&mut *kept.lock().unwrap()));
}

#[test]
fn case_003_an_overdue_waker_that_arms_a_timer_ends_the_advance() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let (wakes, later) = Wakes::new();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let inner = timer.clone();
        let waker = acting(move || {
            // In the bucket that is just being emptied, one round later.
            let sleep = armed_by(&inner, Duration::from_nanos(64 << 20), &later);
            kept.lock().unwrap().push(sleep);
        });
        let _first = armed_by(&timer, ms(1), &waker);
        clock.advance(ms(54));
        assert_eq!(wakes.count(), 0);
        clock.advance_to_next().unwrap();
        assert_eq!(wakes.count(), 1);
    });
}

#[test]
fn a_waker_may_move_the_clock_and_the_call_that_runs_it_fires_the_rest() {
    watched(|| {
        let clock = ManualClock::new();
        let begun = clock.now();
        let (wakes, last) = Wakes::new();
        let timer = clock.timer();
        let inner = clock.clone();
        let waker = acting(move || {
            let moved = inner.advance(ms(100));
            assert_eq!((moved.fired, moved.now), (0, begun + ms(101)));
        });
        let _first = armed_by(&timer, ms(1), &waker);
        let _second = armed_by(&timer, ms(50), &last);
        let moved = clock.advance(ms(2));
        assert_eq!((moved.fired, moved.now), (2, begun + ms(101)));
        assert_eq!(wakes.count(), 1);
    });
}

#[test]
fn cancelled_and_moved_timers_are_no_stops() {
    let clock = ManualClock::new();
    let (timer, begun) = (clock.timer(), clock.now());
    let cancelled: Vec<_> = (1..=500).map(|n| armed(&timer, ms(n))).collect();
    let mut moved = armed(&timer, ms(5));
    let mut last = armed(&timer, ms(1_000));
    assert_eq!(clock.pending(), 502);
    moved.set_deadline(begun + ms(700));
    drop(cancelled);
    assert_eq!(clock.pending(), 2);
    assert_eq!(clock.next_deadline(), Some(begun + ms(700)));
    let stop = clock.advance_to_next().unwrap();
    assert_eq!((stop.now, stop.fired), (begun + ms(700), 1));
    let stop = clock.advance_to_next().unwrap();
    assert_eq!((stop.now, stop.fired), (begun + ms(1_000), 1));
    assert!(is_ready(&mut moved) && is_ready(&mut last));
    assert_eq!(clock.advance_to_next(), None);
}

#[test]
fn asking_for_the_next_deadline_moves_no_timer_from_its_own() {
    let clock = ManualClock::new();
    let (timer, begun) = (clock.timer(), clock.now());
    let log = Arc::new(Mutex::new(Vec::new()));
    // Ten at each of five deadlines a nanosecond apart: all in one bucket, and in no order.
    let delays = (0..50).map(|n| ms(5) + NS * (n * 7 % 5));
    let sleeps: Vec<_> = delays
        .map(|delay| {
            let (log, timer) = (log.clone(), timer.clone());
            let waker = acting(move || log.lock().unwrap().push((delay, timer.now())));
            armed_by(&clock.timer(), delay, &waker)
        })
        .collect();
    for late in (0..5).map(|n| NS * n) {
        let due = begun + ms(5) + late;
        for _ in 0..10 {
            assert_eq!(clock.next_deadline(), Some(due));
        }
        assert_eq!(clock.advance_to(due - NS).fired, 0);
        let stop = clock.advance_to_next().unwrap();
        assert_eq!((stop.now, stop.fired), (due, 10));
    }
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 50);
    assert!(log.iter().all(|&(delay, woken)| woken == begun + delay));
    drop(sleeps);
}

#[test]
fn thirty_thousand_stops_take_no_quadratic_time() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let sleeps: Vec<_> = (0..30_000_u64)
            .map(|n| armed(&timer, Duration::from_micros(1 + n * 7_919 % 1_000_003)))
            .collect();
        let mut stops = 0;
        while clock.advance_to_next().is_some() {
            stops += 1;
        }
        assert_eq!(stops, 30_000);
        drop(sleeps);
    });
}

#[test]
fn a_bucket_of_cancelled_timers_is_not_walked_for_each_of_them() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let cancelled: Vec<_> = (0..300_000).map(|_| armed(&timer, LONG)).collect();
        let last = armed(&timer, LONG * 2);
        drop(cancelled);
        assert_eq!(clock.next_deadline(), Some(last.deadline()));
        assert_eq!(clock.advance_to_next().unwrap().now, last.deadline());
        assert_eq!(clock.advance_to_next(), None);
    });
}

#[test]
fn a_panicking_waker_costs_the_others_nothing_and_the_advance_returns() {
    let clock = ManualClock::new();
    let (wakes, waker) = Wakes::new();
    let bad = acting(|| panic!("a waker panics"));
    let _bad = armed_by(&clock.timer(), ms(1), &bad);
    let _good = armed_by(&clock.timer(), ms(1), &waker);
    assert_eq!(clock.advance(ms(1)).fired, 2);
    assert_eq!(wakes.count(), 1);
}

// === threads and runtimes ===

#[test]
fn case_065_a_task_that_sleeps_is_woken_by_the_advance() {
    let runtime = two_workers();
    let clock = ManualClock::new();
    let flag = Arc::new(AtomicBool::new(false));
    let (timer, set) = (clock.timer(), flag.clone());
    let task = runtime.spawn(async move {
        timer.sleep(ms(500)).await;
        set.store(true, Ordering::Release);
    });
    arrive(&clock, 1);
    assert_eq!(clock.advance(ms(500) - NS).fired, 0);
    assert!(!flag.load(Ordering::Acquire));
    assert_eq!(clock.advance(NS).fired, 1);
    runtime.block_on(task).unwrap();
    assert!(flag.load(Ordering::Acquire));
}

#[test]
fn code_on_many_threads_becomes_deterministic() {
    watched(|| {
        let run = || {
            let runtime = two_workers();
            let clock = ManualClock::new();
            let begun = clock.now();
            let log = Arc::new(Mutex::new(Vec::new()));
            for n in 1..=8_u64 {
                let (timer, log) = (clock.timer(), log.clone());
                runtime.spawn(async move {
                    for round in 0..5 {
                        timer.sleep(ms(n * 10 + round)).await;
                        log.lock().unwrap().push((timer.now() - begun, n, round));
                    }
                });
            }
            let mut logged = 0;
            while logged < 40 {
                // All that have rounds left wait.
                let ended = log.lock().unwrap().iter().filter(|row| row.2 == 4).count();
                arrive(&clock, 8 - ended);
                let fired = clock.advance_to_next().unwrap().fired;
                logged += fired;
                while log.lock().unwrap().len() < logged {
                    thread::yield_now();
                }
                // Those that were due together may run in any order.
                log.lock().unwrap()[logged - fired..].sort_unstable();
            }
            let log = log.lock().unwrap();
            log.clone()
        };
        let first = run();
        assert!(first.is_sorted());
        assert_eq!(run(), first);
    });
}

#[test]
fn plain_threads_may_wait_for_it_and_move_it() {
    watched(|| {
        let clock = ManualClock::new();
        let begun = clock.now();
        let ended = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = (0..4_u64)
            .map(|n| {
                let (timer, ended) = (clock.timer(), ended.clone());
                thread::spawn(move || {
                    for round in 1..=200 {
                        let delay = ms(1 + (n * 31 + round * 17) % 50);
                        let deadline = timer.now() + delay;
                        wait(timer.sleep_until(deadline));
                        assert!(timer.now() >= deadline);
                    }
                    ended.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        let movers: Vec<_> = (0..2)
            .map(|_| {
                let (clock, ended) = (clock.clone(), ended.clone());
                thread::spawn(move || {
                    while ended.load(Ordering::Relaxed) < 4 {
                        clock.advance(Duration::from_micros(300));
                    }
                })
            })
            .collect();
        for thread in waiters.into_iter().chain(movers) {
            thread.join().unwrap();
        }
        assert!(clock.now() > begun);
        assert_eq!(clock.pending(), 0);
    });
}

#[test]
fn case_070_time_seen_by_any_thread_never_goes_back_and_nothing_is_early() {
    watched(|| {
        let clock = ManualClock::new();
        let ended = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (clock, ended) = (clock.clone(), ended.clone());
                thread::spawn(move || {
                    let mut latest = clock.now();
                    while !ended.load(Ordering::Relaxed) {
                        let (now, timers) = (clock.now(), clock.timer().now());
                        assert!(now >= latest && timers >= now);
                        latest = timers;
                    }
                })
            })
            .collect();
        let timer = clock.timer();
        for n in 0..10_000_u64 {
            let mut sleep = armed(&timer, Duration::from_nanos(1 + n % 100));
            // Into the past as well: the clock stays.
            clock.advance_to(clock.now() - ms(n % 50));
            assert!(!is_ready(&mut sleep));
            clock.advance(Duration::from_nanos(1 + n % 100));
            assert!(is_ready(&mut sleep));
        }
        ended.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

// === the end ===

#[test]
fn the_last_clock_closes_the_timer_and_what_is_pending_does_not_hang() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let (wakes, waker) = Wakes::new();
    let mut sleep = armed_by(&timer, ms(1), &waker);
    let other = clock.clone();
    drop(clock);
    assert!(!timer.is_closed());
    drop(other);
    assert!(timer.is_closed());
    assert_eq!(wakes.count(), 1);
    let text = text_of(|| {
        let _ = poll(&mut sleep, &waker);
    });
    assert!(text.starts_with("this timer was closed"), "{text}");
    assert_eq!(timer.try_sleep(ms(1)).unwrap_err(), TimerError::Closed);
    let first = catch_unwind(AssertUnwindSafe(|| poll(&mut timer.sleep(ms(1)), &waker)));
    assert!(first.is_err());
}

#[test]
fn a_sleep_that_was_due_when_the_clock_went_completes() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let mut fired = armed(&timer, ms(5));
    let mut unpolled = timer.sleep(ms(5));
    let mut pending = armed(&timer, ms(6));
    clock.advance(ms(5));
    drop(clock);
    assert!(is_ready(&mut fired) && is_ready(&mut fired));
    assert!(is_ready(&mut unpolled));
    assert!(catch_unwind(AssertUnwindSafe(|| is_ready(&mut pending))).is_err());
}

#[test]
fn a_closed_clock_stands_still_and_answers_at_once() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let _pending = armed(&timer, ms(7));
    clock.advance(ms(5));
    let end = clock.now();
    clock.close();
    clock.close();
    timer.close();
    assert!(timer.is_closed());
    // Another clock, which may well use the same parts again.
    let next = ManualClock::new();
    next.advance(LONG);
    let moved = clock.advance(ms(1));
    assert_eq!((moved.fired, moved.now), (0, end));
    assert_eq!(clock.now(), end);
    assert_eq!(clock.advance_to_next(), None);
    assert_eq!(clock.next_deadline(), None);
    assert_eq!(clock.pending(), 0);
}

#[test]
fn a_waker_may_close_the_clock_that_wakes_it() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let inner = timer.clone();
        let waker = acting(move || inner.close());
        let _first = armed_by(&timer, ms(1), &waker);
        let (wakes, last) = Wakes::new();
        let _second = armed_by(&timer, ms(2), &last);
        clock.advance(ms(3));
        assert!(timer.is_closed());
        assert_eq!(wakes.count(), 1, "woken by the end");
    });
}

#[test]
fn clocks_that_come_and_go_take_nothing_from_each_other() {
    watched(|| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                thread::spawn(|| {
                    for n in 1..=500 {
                        let clock = ManualClock::new();
                        let begun = clock.now();
                        let mut sleep = armed(&clock.timer(), ms(n));
                        let _far = armed(&clock.timer(), LONG);
                        assert_eq!(clock.advance(ms(n)).now, begun + ms(n));
                        assert!(is_ready(&mut sleep));
                        assert_eq!(clock.pending(), 1);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn handles_are_send_and_sync() {
    fn assert<T: Send + Sync + Clone + 'static>() {}
    assert::<ManualClock>();
    assert::<Timer>();
}

#[test]
fn what_is_left_of_a_closed_clock_does_not_see_the_time_of_another() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let mut pending = timer.sleep(LONG);
    assert!(poll(&mut pending, Waker::noop()).is_pending());
    let ahead = ManualClock::new();
    ahead.advance(LONG);
    let of_ahead = ahead.timer();
    drop((clock, ahead));

    // They may be made of what the others have left behind.
    let others: Vec<ManualClock> = (0..8).map(|_| ManualClock::new()).collect();
    let later = of_ahead.sleep(ms(1));
    for other in &others {
        other.advance(2 * LONG);
    }
    assert!(!pending.is_elapsed());
    for sleep in [pending, later, of_ahead.sleep(ms(1)), timer.sleep(ms(1))] {
        let mut sleep = sleep;
        let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut sleep, Waker::noop())));
        assert!(polled.is_err(), "{polled:?}");
    }
}
