//! Rounding: to a grid, and at the edges of ticks and levels.

use std::time::Duration;

use cogwheel::{ManualClock, Tick, Timer, Wheel};

use crate::drive::{Wakes, ms};
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
        assert_eq!(stop.now, begun + GRID * point, "{delay:?}");
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
        while ended < 100 {
            if inserted < 100 {
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
        let clock = on_grid(secs(2));
        let (timer, begun) = (clock.timer(), clock.now());
        let (wakes, waker) = Wakes::new();
        let _sleep = armed_by(&timer, secs(11), &waker);
        let mut fired_at = None;
        for _ in 0..10_000 {
            let before = clock.now() - begun;
            let fired = clock.advance(ms(step)).fired;
            let now = clock.now() - begun;
            if fired > 0 {
                assert_eq!((fired, fired_at), (1, None), "step {step}");
                fired_at = Some(now);
                assert!(before < secs(12) && now >= secs(11), "step {step}: {now:?}");
            }
            assert!(fired_at.is_some() || now < secs(12), "step {step}: {now:?}");
        }
        assert_eq!(wakes.count(), 1);
    }
}

#[test]
fn case_033_a_span_of_each_level_from_its_last_slot_fires_at_its_tick() {
    for level in 0..9_u32 {
        let (slot, span) = (1_u64 << (6 * level), 1_u64 << (6 * (level + 1)));
        // The last slot of this level, at its beginning and at its end, in the second round.
        for start in [2 * span - slot, 2 * span - 1] {
            let deadlines = [span - 1, span, span + 1].map(|delay| start + delay);
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
                assert!(wheel.pop().is_none(), "level {level}");
                wheel.advance(Tick::new(deadline));
                assert_eq!(wheel.pop().map(|expired| expired.value), Some(deadline));

                let stop = clock.advance_to_next().unwrap();
                assert_eq!(stop.now - begun, Duration::from_nanos(deadline - start));
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
