//! Wake-ups at the multiples of a grid: fewer of them, and none early.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::task::{Poll, Waker};
use std::time::Duration;

use cogwheel::time::{Instant, Sleep};
use cogwheel::{ManualClock, Timer};

#[path = "common/drive.rs"]
mod drive;

use drive::{Wakes, ms, poll, stops_of};

const NS: Duration = Duration::from_nanos(1);
const GRID: Duration = Duration::from_millis(10);

fn armed(timer: &Timer, delay: Duration) -> Sleep {
    let mut sleep = timer.sleep(delay);
    assert!(poll(&mut sleep, Waker::noop()).is_pending());
    sleep
}

/// A clock that coalesces and stands `phase` after a multiple.
fn clock_at(phase: Duration) -> ManualClock {
    let clock = Timer::builder().coalesce(GRID).build_manual();
    let probe = armed(&clock.timer(), NS);
    let multiple = clock.next_deadline().unwrap();
    drop(probe);
    clock.advance_to(multiple + phase);
    clock
}

fn stop(clock: &ManualClock) -> Option<Instant> {
    clock.advance_to_next().map(|stop| stop.now)
}

#[test]
fn case_004_wakes_come_at_the_next_multiple_and_never_before_the_deadline() {
    for phase in 0..10 {
        let clock = clock_at(ms(phase));
        let multiple = clock.now() - ms(phase);
        for delay in [1, 9, 10, 15, 640 + 5] {
            let clock = clock_at(ms(phase));
            let base = clock.now() - ms(phase);
            let deadline = clock.now() + ms(delay);
            let sleep = armed(&clock.timer(), ms(delay));
            let woken = stop(&clock).unwrap();
            assert!(woken >= deadline && woken < deadline + GRID);
            assert_eq!((woken - base).as_nanos() % GRID.as_nanos(), 0);
            assert!(sleep.is_elapsed());
        }
        assert!(multiple <= clock.now());
    }
}

#[test]
fn a_deadline_on_a_multiple_is_met_there() {
    let clock = clock_at(Duration::ZERO);
    let deadline = clock.now() + GRID;
    let _on_time = armed(&clock.timer(), GRID);
    assert_eq!(stop(&clock), Some(deadline));
    let _late = armed(&clock.timer(), GRID + NS);
    assert_eq!(stop(&clock), Some(deadline + GRID * 2));
}

#[test]
fn timers_of_one_period_share_a_wake_up_also_across_timers() {
    let clock = clock_at(Duration::ZERO);
    let sleeps: Vec<_> = (1..=10).map(|n| armed(&clock.timer(), ms(n))).collect();
    let end = clock.now() + GRID;
    let moved = clock.advance_to_next().unwrap();
    assert_eq!((moved.fired, moved.now), (10, end));
    drop(sleeps);
    // The multiples do not depend on where a clock began.
    let other = Timer::builder().coalesce(GRID).build_manual_at(end + ms(7));
    let _sleep = armed(&other.timer(), ms(1));
    assert_eq!(stop(&other), Some(end + GRID));
}

/// Wheel case 51.
#[test]
fn sixty_timers_a_millisecond_apart_wake_no_more_often_than_the_grid_has_points() {
    let grid = ms(3);
    let clock = Timer::builder().coalesce(grid).build_manual();
    let probe = armed(&clock.timer(), NS);
    clock.advance_to(clock.next_deadline().unwrap());
    drop(probe);
    let begun = clock.now();
    let mut sleeps: Vec<_> = (1..=60).map(|n| armed(&clock.timer(), ms(n))).collect();
    for stops in 1..=20 {
        let moved = clock.advance_to_next().unwrap();
        assert_eq!((moved.fired, moved.now), (3, begun + grid * stops));
        for sleep in sleeps.drain(..3) {
            let deadline = sleep.deadline();
            assert!(moved.now >= deadline && moved.now < deadline + grid);
            assert!(sleep.is_elapsed());
        }
        assert!(sleeps.iter().all(|sleep| !sleep.is_elapsed()));
    }
    assert_eq!(stop(&clock), None);
}

#[test]
fn the_deadline_stays_what_was_asked_for_and_a_poll_after_it_is_complete() {
    let clock = clock_at(ms(3));
    let deadline = clock.now() + ms(1);
    let (wakes, waker) = Wakes::new();
    let mut sleep = clock.timer().sleep(ms(1));
    assert!(poll(&mut sleep, &waker).is_pending());
    assert_eq!(sleep.deadline(), deadline);
    clock.advance(ms(1) - NS);
    assert!(poll(&mut sleep, &waker).is_pending());
    clock.advance(NS);
    assert_eq!(wakes.count(), 0);
    assert!(poll(&mut sleep, &waker).is_ready());
    // And what is due already waits for no multiple.
    assert!(poll(&mut clock.timer().sleep(Duration::ZERO), &waker).is_ready());
}

#[test]
fn a_deadline_that_moves_is_woken_at_its_own_multiple() {
    let clock = clock_at(Duration::ZERO);
    let base = clock.now();
    let mut sleep = armed(&clock.timer(), ms(25));
    sleep.set_deadline(base + ms(42));
    assert_eq!(clock.next_deadline(), Some(base + ms(50)));
    sleep.set_deadline(base + ms(41));
    assert_eq!(clock.next_deadline(), Some(base + ms(50)));
    sleep.set_deadline(base + ms(11));
    assert_eq!(clock.next_deadline(), Some(base + ms(20)));
    assert_eq!(stop(&clock), Some(base + ms(20)));
    assert!(sleep.is_elapsed());
    sleep.set_deadline(base + ms(33));
    assert!(poll(&mut sleep, Waker::noop()).is_pending());
    assert_eq!(stop(&clock), Some(base + ms(40)));
}

#[test]
fn an_interval_does_not_drift() {
    let clock = clock_at(Duration::ZERO);
    let begun = clock.now();
    let mut beat = clock.timer().interval(ms(15));
    for n in 0..20 {
        let tick = loop {
            match poll(&mut Box::pin(beat.tick()), Waker::noop()) {
                Poll::Ready(tick) => break tick,
                Poll::Pending => assert!(stop(&clock).is_some()),
            }
        };
        assert_eq!(tick, begun + ms(15) * n);
        assert!(clock.now() >= tick && clock.now() < tick + GRID);
    }
}

#[test]
fn zero_is_off_and_any_grid_is_taken() {
    for grid in [Duration::ZERO, NS] {
        let clock = Timer::builder().coalesce(grid).build_manual();
        let deadline = clock.now() + Duration::from_nanos(1_234_567);
        let _sleep = armed(&clock.timer(), Duration::from_nanos(1_234_567));
        assert_eq!(stop(&clock), Some(deadline));
    }
    // The next multiple lies at the end of time.
    let clock = Timer::builder().coalesce(Duration::MAX).build_manual();
    let (wakes, waker) = Wakes::new();
    let mut sleep = clock.timer().sleep(ms(1));
    assert!(poll(&mut sleep, &waker).is_pending());
    assert_eq!(stop(&clock), None);
    clock.advance(ms(1));
    assert_eq!(wakes.count(), 0);
    assert!(poll(&mut sleep, &waker).is_ready());
}

#[test]
fn a_runtime_wakes_less_often() {
    let stops = |grid| {
        stops_of(move || async move {
            let timer = Timer::builder().coalesce(grid).build().unwrap();
            let sleeps = (1..=40).map(|n| tokio::spawn(timer.sleep(ms(n))));
            for sleep in sleeps.collect::<Vec<_>>() {
                sleep.await.unwrap();
            }
        })
        .len()
    };
    assert_eq!(stops(Duration::ZERO), 40);
    assert!(stops(GRID) <= 5);
}

#[test]
fn a_first_poll_after_the_deadline_completes_though_the_wake_up_lies_ahead() {
    let clock = clock_at(ms(1));
    let mut sleep = clock.timer().sleep(ms(1));
    clock.advance(ms(2));
    assert!(clock.now() >= sleep.deadline());
    assert!(poll(&mut sleep, Waker::noop()).is_ready());
}
