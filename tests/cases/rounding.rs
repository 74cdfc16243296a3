//! Rounding: to a grid, and at the edges of ticks and levels.

use std::time::Duration;

use cogwheel::time::{Instant, sleep_until};
use cogwheel::{ManualClock, Tick, Timer, Wheel};

use crate::drive::{Wakes, ms, paused};
use crate::{NS, armed, armed_by, is_ready, on_grid, secs};

const GRID: Duration = Duration::from_millis(10);

#[test]
fn case_029_deadlines_on_and_beside_a_grid_wake_once_at_its_next_point() {
    let delays = [
        (GRID, 1),
        (GRID + NS, 2),
        (Duration::from_micros(10_100), 2),
        (2 * GRID - NS, 2),
        (2 * GRID, 2),
    ];
    for (delay, point) in delays {
        let clock = on_grid(GRID);
        let begun = clock.now();
        let (wakes, waker) = Wakes::new();
        let mut sleep = armed_by(&clock.timer(), delay, &waker);
        let stop = clock.advance_to_next().unwrap();
        let due = begun + GRID * point;
        assert_eq!((stop.now, stop.fired), (due, 1), "{delay:?}");
        assert_eq!(wakes.count(), 1, "{delay:?}");
        assert!(is_ready(&mut sleep));
        assert_eq!(clock.advance_to_next(), None);
        clock.advance(10 * GRID);
        assert_eq!(wakes.count(), 1, "{delay:?}");
    }
    // All in one wheel, tick by tick.
    let clock = on_grid(GRID);
    let mut sleeps = delays.map(|(delay, point)| (armed(&clock.timer(), delay), point));
    for point in 1..=2 {
        clock.advance(GRID - NS);
        assert!(
            sleeps
                .iter_mut()
                .all(|(sleep, at)| *at < point || !sleep.is_elapsed())
        );
        clock.advance(NS);
        assert!(
            sleeps
                .iter_mut()
                .all(|(sleep, at)| *at > point || is_ready(sleep))
        );
    }
}

#[test]
fn case_030_the_clock_is_driven_exactly_to_the_deadline() {
    let clock = ManualClock::new();
    let (timer, begun) = (clock.timer(), clock.now());
    assert!(is_ready(&mut timer.sleep_until(begun)));
    assert_eq!(clock.advance_to_next(), None);
    assert_eq!(clock.now(), begun);

    let mut sleep = timer.sleep_until(begun + ms(1_000));
    assert!(!is_ready(&mut sleep));
    assert_eq!(clock.advance_to_next().unwrap().now, begun + ms(1_000));
    assert!(is_ready(&mut sleep));
    assert_eq!(clock.now(), begun + ms(1_000));

    // And so does Tokio's clock, when it is paused.
    paused().block_on(async {
        let begun = Instant::now();
        for due in [begun, begun + ms(1_000)] {
            sleep_until(due).await;
            assert_eq!(Instant::now(), due);
        }
    });
}

#[test]
fn case_031_lateness_lies_between_zero_and_one_tick_in_every_phase() {
    let mut random = 0x1234_5678_u64;
    let mut below = |limit: u128| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        Duration::from_nanos(u64::try_from(u128::from(random) % limit).unwrap())
    };
    for tenth in 0..10 {
        let clock = on_grid(GRID);
        clock.advance(GRID * tenth / 10);
        let timer = clock.timer();
        let mut waiting = Vec::new();
        let mut inserted = 0;
        let mut ended = 0;
        while ended < 640 {
            if inserted < 640 {
                let delay = GRID / 100 + below((GRID * 5 - GRID / 100).as_nanos());
                let (wakes, waker) = Wakes::new();
                waiting.push((armed_by(&timer, delay, &waker), wakes));
                inserted += 1;
            }
            // From one insertion or wake-up to the next.
            let step = clock.now() + below((GRID / 2).as_nanos());
            match clock.next_deadline() {
                Some(next) if next <= step => drop(clock.advance_to_next()),
                _ => drop(clock.advance_to(step)),
            }
            let now = clock.now();
            waiting.retain(|(sleep, wakes)| {
                let woken = wakes.count() > 0;
                let deadline = sleep.deadline();
                if woken {
                    assert!(now >= deadline && now < deadline + GRID, "phase {tenth}");
                    ended += 1;
                } else {
                    assert!(now < deadline + GRID, "phase {tenth}: it is lost");
                }
                !woken
            });
        }
    }
}

#[test]
fn case_032_a_coarse_timeout_elapses_once_and_in_time_under_every_stepping() {
    for step in [1_800, 300, 2_200, 7_000] {
        let grid = secs(2);
        let clock = on_grid(grid);
        let (timer, begun) = (clock.timer(), clock.now());
        let (wakes, waker) = Wakes::new();
        let mut sleep = armed_by(&timer, secs(11), &waker);
        assert_eq!(clock.next_deadline(), Some(begun + secs(12)));
        let mut elapsed = 0;
        for _ in 0..10_000 {
            // The first point of the grid at or after the deadline.
            let due = clock.next_deadline().unwrap();
            assert!(due >= sleep.deadline() && due < sleep.deadline() + grid);
            assert_eq!((due - begun).as_nanos() % grid.as_nanos(), 0);
            let moved = clock.advance(ms(step));
            assert_eq!(moved.fired, usize::from(moved.now >= due), "step {step}");
            elapsed += moved.fired;
            assert_eq!(wakes.count(), elapsed);
            if moved.fired > 0 {
                assert!(is_ready(&mut sleep));
                assert_eq!(clock.next_deadline(), None, "it is over");
                sleep = armed_by(&timer, secs(11), &waker);
            }
        }
        assert!(elapsed > 100, "step {step}: {elapsed}");
    }
}

#[test]
fn case_033_a_span_of_each_level_from_its_last_slot_fires_at_its_tick() {
    // Levels as of a wheel with slots of a tick, and those of the standard one.
    let slots = (0..9)
        .map(|level| 6 * level)
        .chain((0..6).map(|level| 20 + 6 * level));
    for slot in slots.map(|bits| 1_u64 << bits) {
        let (span, next) = (64 * slot, 64 * 64 * slot);
        // The last slot of this level: at its beginning, and in the second round at its end; and
        // the last slots of the next level.
        let starts = [
            span - slot,
            2 * span - slot,
            2 * span - 1,
            next - span,
            next - slot,
        ];
        for start in starts {
            let delays = [span - 1, span, span + 1, next - 1, next + 1];
            let deadlines = delays.map(|delay| start + delay);
            let mut wheel = Wheel::starting_at(Tick::new(start));
            let clock = ManualClock::new();
            clock.advance(Duration::from_nanos(start));
            let begun = clock.now();
            for deadline in deadlines {
                wheel.insert(Tick::new(deadline), deadline);
            }
            let mut sleeps =
                deadlines.map(|at| armed(&clock.timer(), Duration::from_nanos(at - start)));
            for (n, deadline) in deadlines.into_iter().enumerate() {
                wheel.advance(Tick::new(deadline - 1));
                assert!(wheel.pop().is_none(), "slots of {slot}");
                wheel.advance(Tick::new(deadline));
                assert_eq!(wheel.pop().map(|expired| expired.value), Some(deadline));

                let due = begun + Duration::from_nanos(deadline - start);
                assert_eq!(clock.advance_to(due - NS).fired, 0, "slots of {slot}");
                assert!(!is_ready(&mut sleeps[n]));
                let stop = clock.advance_to_next().unwrap();
                assert_eq!((stop.now, stop.fired), (due, 1), "slots of {slot}");
                assert!(is_ready(&mut sleeps[n]));
            }
        }
    }
}

/// Without a grid, there is none: nothing is rounded on a clock that is moved by hand.
#[test]
fn case_031_without_a_grid_nothing_is_late() {
    let clock = Timer::builder().build_manual();
    for nanos in (1..5_000_000).step_by(49_999) {
        let mut sleep = armed(&clock.timer(), Duration::from_nanos(nanos));
        assert_eq!(clock.advance_to_next().unwrap().now, sleep.deadline());
        assert!(is_ready(&mut sleep));
    }
}
