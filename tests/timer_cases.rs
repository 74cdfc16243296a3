//! Cases of sleeps, timeouts and clocks that were real faults in some timer, by their numbers in
//! `docs/cases.md`.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "some cases are about the system's clock"
)]

use std::future::pending;
use std::sync::Barrier;
use std::task::Waker;
use std::thread;
use std::time::Duration;

use cogwheel::time::{Instant, Sleep, sleep, timeout};
use cogwheel::{ManualClock, Timer};
use proptest::prelude::*;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, PATIENCE, Wakes, acting, ms, one_thread, paused, poll, two_workers};

const NS: Duration = Duration::from_nanos(1);
const TICK: Duration = Duration::from_millis(10);

fn armed(timer: &Timer, delay: Duration) -> Sleep {
    let mut sleep = timer.sleep(delay);
    assert!(poll(&mut sleep, Waker::noop()).is_pending());
    sleep
}

/// A clock that wakes at multiples of [`TICK`] only and stands `phase` after one.
fn coarse_clock_at(phase: Duration) -> ManualClock {
    let clock = Timer::builder().coalesce(TICK).build_manual();
    let probe = armed(&clock.timer(), NS);
    let multiple = clock.next_deadline().unwrap();
    drop(probe);
    clock.advance_to(multiple + phase);
    clock
}

// === late, or never ===

#[test]
fn case_008_an_idle_timer_has_no_coarse_heartbeat() {
    for runtime in [one_thread(), two_workers()] {
        runtime.block_on(async {
            for _ in 0..5 {
                let begun = Instant::now();
                timeout(ms(100), pending::<()>()).await.unwrap_err();
                let took = begun.elapsed();
                assert!(took >= ms(100));
                // Room for a busy machine; the heartbeats that were seen lasted seconds.
                assert!(took < ms(600), "{took:?}");
            }
        });
    }
}

#[test]
fn case_015_an_alarm_that_comes_a_nanosecond_too_soon_is_set_again() {
    let clock = ManualClock::new();
    let (wakes, waker) = Wakes::new();
    let mut sleep = clock.timer().sleep(ms(20));
    let deadline = sleep.deadline();
    assert!(poll(&mut sleep, &waker).is_pending());
    assert_eq!(clock.advance_to(deadline - NS).fired, 0);
    assert_eq!((wakes.count(), clock.next_deadline()), (0, Some(deadline)));
    assert_eq!(clock.advance(NS).fired, 1);
    assert_eq!(wakes.count(), 1);
    assert!(poll(&mut sleep, &waker).is_ready());
}

#[test]
fn case_015_a_thread_that_is_woken_too_soon_sleeps_for_the_rest() {
    let timer = Timer::builder().dedicated_thread().build().unwrap();
    let (wakes, waker) = Wakes::new();
    let mut sleep = timer.sleep(ms(400));
    assert!(poll(&mut sleep, &waker).is_pending());
    // Each of these wakes the thread long before the deadline.
    for _ in 0..10 {
        drop(armed(&timer, ms(200)));
        thread::sleep(ms(2));
    }
    wakes.wait();
    assert!(sleep.deadline() <= Instant::now());
    assert!(poll(&mut sleep, &waker).is_ready());
}

#[test]
fn case_017_deadlines_beyond_31_and_32_bits_of_ticks_do_not_pass_for_near_ones() {
    let delays = [ms(5), ms((1 << 31) + 5), ms((1 << 32) + 5)];
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in orders {
        let clock = ManualClock::new();
        let sleeps = order.map(|n: usize| (n, armed(&clock.timer(), delays[n])));
        assert_eq!(clock.advance(ms(5)).fired, 1);
        for (n, sleep) in &sleeps {
            assert_eq!(sleep.is_elapsed(), *n == 0);
        }
        assert_eq!(clock.advance(ms(1 << 31)).fired, 1);
        assert_eq!(clock.advance(ms(1 << 31)).fired, 1);
    }
}

// === far ===

#[test]
fn case_018_deadlines_at_the_end_of_time_are_pending_and_dropped_in_peace() {
    let far = Duration::from_secs(u64::MAX / 10);
    for runtime in [one_thread(), two_workers()] {
        runtime.block_on(async {
            drop(armed(&Timer::current(), far));
            drop(armed(&Timer::current(), Duration::MAX));
        });
    }
    let clock = ManualClock::new();
    // The end of time in nanoseconds, and what lies on both sides of it.
    for short in 0..8 {
        for end in [u64::MAX, u64::MAX / 2, u64::MAX / 1_000_000 * 1_000_000] {
            drop(armed(&clock.timer(), Duration::from_nanos(end - short)));
        }
    }
    assert_eq!(clock.advance(LONG).fired, 0);
    assert_eq!(clock.pending(), 0);
}

// === rounding ===

#[test]
fn case_029_a_coarse_timer_rounds_up_and_wakes_once() {
    let delays = [
        (TICK, TICK),
        (TICK + NS, TICK * 2),
        (Duration::from_micros(10_100), TICK * 2),
        (Duration::from_nanos(19_999_999), TICK * 2),
        (TICK * 2, TICK * 2),
    ];
    for (delay, due) in delays {
        let clock = coarse_clock_at(Duration::ZERO);
        let begun = clock.now();
        let (wakes, waker) = Wakes::new();
        let mut sleep = clock.timer().sleep(delay);
        assert!(poll(&mut sleep, &waker).is_pending());
        let stop = clock.advance_to_next().unwrap();
        assert_eq!((stop.now - begun, stop.fired), (due, 1));
        assert_eq!(wakes.count(), 1);
    }
}

#[test]
fn case_030_the_clock_moves_no_further_than_the_deadline() {
    paused().block_on(async {
        let begun = Instant::now();
        cogwheel::time::sleep_until(begun).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        cogwheel::time::sleep_until(begun + ms(1_000)).await;
        assert_eq!(begun.elapsed(), ms(1_000));
    });
    let clock = ManualClock::new();
    let begun = clock.now();
    let mut sleep = clock.timer().sleep_until(begun);
    assert!(poll(&mut sleep, Waker::noop()).is_ready());
    let _ahead = armed(&clock.timer(), ms(1_000));
    assert_eq!(clock.advance_to_next().unwrap().now - begun, ms(1_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn case_031_lateness_lies_within_one_tick_at_every_phase_of_the_clock(
        phase in 0_u32..10,
        delays in prop::collection::vec((1_u64..500, 0_u64..100), 100),
    ) {
        let clock = coarse_clock_at(TICK / 10 * phase);
        let hundredth = TICK / 100;
        for (delay, apart) in delays {
            clock.advance(hundredth * u32::try_from(apart).unwrap());
            let delay = hundredth * u32::try_from(delay).unwrap();
            let sleep = armed(&clock.timer(), delay);
            let woken = loop {
                let stop = clock.advance_to_next().unwrap();
                if sleep.is_elapsed() {
                    break stop.now;
                }
            };
            prop_assert!(woken >= sleep.deadline());
            prop_assert!(woken - sleep.deadline() < TICK);
        }
    }
}

#[test]
fn case_032_a_timeout_fires_once_whatever_steps_the_clock_takes() {
    let tick = Duration::from_secs(2);
    for step in [ms(1_800), ms(300), ms(2_200), ms(7_000)] {
        let clock = Timer::builder().coalesce(tick).build_manual();
        let timer = clock.timer();
        let mut armed_at = clock.now();
        let mut sleep = armed(&timer, ms(11_000));
        let mut fired = 0;
        for _ in 0..10_000 {
            let before = clock.now();
            let moved = clock.advance(step);
            if moved.fired == 0 {
                // It is never late by more than a tick.
                assert!(moved.now < armed_at + ms(11_000) + tick);
                continue;
            }
            fired += 1;
            assert!(sleep.is_elapsed());
            assert!(moved.now >= armed_at + ms(11_000));
            assert!(before < armed_at + ms(11_000) + tick);
            armed_at = clock.now();
            sleep = armed(&timer, ms(11_000));
        }
        let most = (step * 10_000).as_millis() / 11_000;
        assert!(fired > 0 && fired <= most, "{fired} of {most}");
    }
}

#[test]
fn case_033_deadlines_on_both_sides_of_a_span_fire_at_their_ticks() {
    // In ticks of the finest level; a level has 64 slots twice.
    let tick: u64 = 1 << 20;
    for level in 1..=5 {
        let span = tick << (6 * level);
        for cursor in [span - tick, span * 63, span * 64 - tick] {
            for delay in [span - 1, span, span + 1, span * 64 - 1, span * 64 + 1] {
                let clock = ManualClock::new();
                clock.advance(Duration::from_nanos(cursor));
                let sleep = armed(&clock.timer(), Duration::from_nanos(delay));
                let just_before = clock.advance(Duration::from_nanos(delay - 1));
                assert_eq!((just_before.fired, sleep.is_elapsed()), (0, false));
                assert_eq!(clock.advance(NS).fired, 1);
            }
        }
    }
}

// === wakers, clocks, bursts ===

#[test]
fn case_053_of_a_hundred_wakers_the_37th_panics_and_the_others_are_woken() {
    for runtime in [one_thread(), two_workers()] {
        let timer = drive::timer_of(&runtime);
        let deadline = Instant::now() + ms(50);
        let (wakes, waker) = Wakes::new();
        let panicking = acting(|| panic!("as planned"));
        let sleeps: Vec<_> = (1..=100)
            .map(|n| {
                let mut sleep = timer.sleep_until(deadline);
                let waker = if n == 37 { &panicking } else { &waker };
                assert!(poll(&mut sleep, waker).is_pending());
                sleep
            })
            .collect();
        runtime.block_on(async {
            let waiting = async {
                while wakes.count() < 99 {
                    sleep(ms(1)).await;
                }
            };
            timeout(PATIENCE, waiting).await.unwrap();
            // And the timer goes on.
            sleep(ms(1)).await;
        });
        assert_eq!(wakes.count(), 99);
        assert!(sleeps.iter().all(Sleep::is_elapsed));
    }
}

#[test]
fn case_066_time_never_goes_back_when_a_paused_clock_goes_on() {
    one_thread().block_on(async {
        let mut pending = armed(&Timer::current(), ms(1_500));
        tokio::time::pause();
        let before = Instant::now();
        tokio::time::advance(ms(1_000)).await;
        assert!(poll(&mut pending, Waker::noop()).is_pending());
        tokio::time::resume();
        let resumed = Instant::now();
        assert!(resumed >= before + ms(1_000));
        assert!(poll(&mut pending, Waker::noop()).is_pending());
        let deadline = pending.deadline();
        timeout(PATIENCE, pending).await.unwrap();
        assert!(Instant::now() >= deadline);
        assert!(resumed.elapsed() >= ms(400));
    });
}

#[test]
fn case_078_the_first_turn_after_a_burst_takes_time_in_proportion() {
    let clock_time = |count: usize| {
        let clock = ManualClock::new();
        let (timer, barrier) = (clock.timer(), Barrier::new(4));
        let make = || {
            barrier.wait();
            let begun = std::time::Instant::now();
            let sleeps: Vec<_> = (0..count / 4).map(|_| armed(&timer, ms(5))).collect();
            (sleeps, begun.elapsed())
        };
        thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(make));
            let made = threads.map(|thread| thread.join().unwrap());
            let begun = std::time::Instant::now();
            assert_eq!(clock.advance(ms(5)).fired, count);
            made.iter().map(|(_, took)| *took).max().unwrap() + begun.elapsed()
        })
    };
    // Medians: the machine may be busy.
    let median = |count| {
        let mut times = [(); 3].map(|()| clock_time(count));
        times.sort();
        times[1]
    };
    let (small, large) = (median(20_000), median(200_000));
    assert!(large < small * 40 + ms(500), "{small:?}, {large:?}");
}

#[test]
fn case_081_a_million_dropped_sleeps_release_their_wakers_and_keep_no_memory() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let (wakes, waker) = Wakes::new();
    for n in 0..1_000_000_u64 {
        let mut sleep = timer.sleep(ms(1_000 + n % 60_000));
        assert!(poll(&mut sleep, &waker).is_pending());
    }
    drop(waker);
    // The clock has not moved once; the thread keeps one waker for its next timer.
    assert_eq!(clock.pending(), 0);
    assert!(std::sync::Arc::strong_count(&wakes) <= 2);
    clock.advance(LONG);
    assert_eq!(
        (std::sync::Arc::strong_count(&wakes), wakes.count()),
        (1, 0)
    );
}

#[test]
fn case_100_short_sleeps_on_a_clock_of_milliseconds_are_not_zero() {
    for runtime in [one_thread(), two_workers()] {
        runtime.block_on(async {
            for delay in [Duration::from_micros(1_500), Duration::from_micros(200)] {
                for _ in 0..200 {
                    let begun = Instant::now();
                    sleep(delay).await;
                    assert!(begun.elapsed() >= delay);
                }
            }
        });
    }
}
