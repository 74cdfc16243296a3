//! Lost wakes and timers that never fire: what is inserted in the middle of a turn, a clock that
//! reads short, numbers that wrap.

use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use cogwheel::{ManualClock, Tick, Timer, Wheel};
use tokio::time::{Instant, advance};

use crate::drive::{Wakes, acting, ms, paused, poll, stops_of};
use crate::{NS, armed, armed_by, is_ready, secs};

/// The spans of all levels of a wheel with 64 slots of `base` nanoseconds.
fn spans(base: u64) -> impl Iterator<Item = u64> {
    (1..).map_while(move |level| base.checked_mul(1_u64.checked_shl(6 * level)?))
}

/// Here the driver is behind: when it turns, the clock has passed the deadline by most of a ring.
/// The waker then arms a timer for the slot that is just being emptied, in this round or the next,
/// and one that is a whole ring ahead.
#[test]
fn case_003_what_an_overdue_waker_arms_for_the_same_slot_keeps_its_own_deadline() {
    for slot in [20, 26, 32].map(|bits| Duration::from_nanos(1 << bits)) {
        for ahead in [11, 64, 75, 128] {
            paused().block_on(async {
                let timer = Timer::current();
                let (wakes, later) = Wakes::new();
                let made = Arc::new(Mutex::new(None));
                let (inner, keep) = (timer.clone(), made.clone());
                let waker = acting(move || {
                    let second = armed_by(&inner, slot * ahead, &later);
                    *keep.lock().unwrap() = Some((second, inner.now()));
                });
                let _first = armed_by(&timer, slot, &waker);
                advance(slot * 54).await;
                tokio::task::yield_now().await;
                let (mut second, armed_at) = made.lock().unwrap().take().unwrap();
                assert_eq!(timer.metrics().lateness.max(), slot * 53, "it was overdue");
                assert_eq!(second.deadline(), armed_at + slot * ahead);
                // Turns the wheel a moment before.
                let mut before = armed(&timer, slot * ahead - ms(3));
                advance(slot * ahead - NS).await;
                tokio::task::yield_now().await;
                assert!(before.is_elapsed());
                assert!(is_ready(&mut before));
                assert_eq!(wakes.count(), 0, "slots of {slot:?}, {ahead} ahead");
                assert!(!second.is_elapsed());
                advance(ms(1)).await; // of which Tokio's alarms are multiples
                tokio::task::yield_now().await;
                assert_eq!(wakes.count(), 1, "slots of {slot:?}, {ahead} ahead");
                assert!(is_ready(&mut second));
            });
        }
    }
}

#[test]
fn case_014_what_is_inserted_while_a_bucket_is_emptied_keeps_its_own_time() {
    for span in spans(1).take(9) {
        let first = span + 5;
        let mut wheel = Wheel::new();
        wheel.insert(Tick::new(first), "popped");
        wheel.insert(Tick::new(first), "not yet popped");
        wheel.advance(Tick::new(first));
        assert_eq!(wheel.pop().unwrap().value, "popped");
        // In the middle of the bucket: one that takes the same place a round later, and a near one.
        wheel.insert(Tick::new(first + span), "a round later");
        wheel.insert(Tick::new(first + 3), "near");
        assert_eq!(wheel.pop().unwrap().value, "not yet popped");
        assert_eq!(wheel.elapsed(), Tick::new(first), "time does not run ahead");

        let mut fired = Vec::new();
        while let Some(next) = wheel.next_deadline() {
            wheel.advance(next);
            while let Some(expired) = wheel.pop() {
                fired.push((expired.value, wheel.elapsed().count()));
            }
        }
        let expected = [("near", first + 3), ("a round later", first + span)];
        let mut expected = expected.to_vec();
        expected.sort_by_key(|&(_, at)| at);
        assert_eq!(fired, expected, "span {span}");
    }
}

#[test]
fn case_014_what_a_waker_inserts_in_the_middle_of_a_turn_keeps_its_own_time() {
    for span in spans(1).take(9) {
        let clock = ManualClock::new();
        let (timer, begun) = (clock.timer(), clock.now());
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (noted, keep, inner) = (log.clone(), kept.clone(), timer.clone());
        let waker = acting(move || {
            for delay in [Duration::from_nanos(span), 3 * NS] {
                let (noted, clock) = (noted.clone(), inner.clone());
                let note = acting(move || noted.lock().unwrap().push((delay, clock.now())));
                keep.lock().unwrap().push(armed_by(&inner, delay, &note));
            }
        });
        let delay = Duration::from_nanos(span + 5);
        let _first = armed_by(&timer, delay, &waker);
        while clock.advance_to_next().is_some() {}
        let fired = begun + delay;
        let log = log.lock().unwrap();
        assert_eq!(log.len(), 2);
        for &(delay, at) in log.iter() {
            assert_eq!(at, fired + delay, "span {span}");
        }
    }
}

#[test]
fn case_015_a_clock_that_is_a_nanosecond_short_leaves_the_timer_armed() {
    let clock = ManualClock::new();
    let (wakes, waker) = Wakes::new();
    let mut sleep = armed_by(&clock.timer(), ms(20), &waker);
    assert_eq!(clock.advance(ms(20) - NS).fired, 0);
    assert_eq!(wakes.count(), 0);
    // Before a poll that might arm it anew, and after it.
    assert_eq!(clock.next_deadline(), Some(sleep.deadline()));
    assert!(poll(&mut sleep, &waker).is_pending());
    assert_eq!(clock.next_deadline(), Some(sleep.deadline()));
    assert_eq!(clock.advance_to_next().unwrap().fired, 1);
    assert_eq!(wakes.count(), 1);
    assert!(is_ready(&mut sleep));
}

#[test]
fn case_015_a_driver_that_wakes_a_nanosecond_short_parks_for_the_rest() {
    paused().block_on(async {
        let start = Instant::now();
        let (wakes, waker) = Wakes::new();
        let mut sleep = cogwheel::time::sleep(ms(20));
        assert!(poll(&mut sleep, &waker).is_pending());
        advance(ms(20) - NS).await; // wakes the driver if anything does
        tokio::task::yield_now().await;
        assert_eq!(wakes.count(), 0);
        assert!(poll(&mut sleep, &waker).is_pending());
        sleep.await;
        assert!(start.elapsed() >= ms(20) && start.elapsed() <= ms(21));
    });
    // And it parks once for the rest, not again and again.
    let stops = stops_of(|| async {
        let sleep = tokio::spawn(cogwheel::time::sleep(ms(20)));
        tokio::task::yield_now().await;
        advance(ms(20) - NS).await;
        sleep.await.unwrap();
    });
    assert!(stops.len() <= 2, "{stops:?}");
}

/// Case 98.
#[test]
fn case_017_deadlines_that_differ_in_bit_31_and_32_are_told_apart_in_every_order() {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in orders {
        // Of nanoseconds, as these timers count, and of milliseconds, as others do.
        for unit in [1, 1_000_000] {
            told_apart(
                [5, (1 << 31) + 5, (1 << 32) + 5].map(|far| far * unit),
                order,
            );
        }
    }
}

/// Ticks that are armed in `order`, on a wheel and on a clock.
fn told_apart(ticks: [u64; 3], order: [usize; 3]) {
    let mut wheel = Wheel::new();
    let clock = ManualClock::new();
    let begun = clock.now();
    let mut sleeps = Vec::new();
    for n in order {
        wheel.insert(Tick::new(ticks[n]), n);
        let delay = Duration::from_nanos(ticks[n]);
        sleeps.push((n, armed(&clock.timer(), delay)));
    }
    for (passed, at) in ticks.into_iter().enumerate() {
        wheel.advance(Tick::new(at - 1));
        assert!(wheel.pop().is_none());
        wheel.advance(Tick::new(at));
        assert_eq!(wheel.pop().map(|expired| expired.value), Some(passed));
        assert!(wheel.pop().is_none());

        let due = begun + Duration::from_nanos(at);
        assert_eq!(clock.advance_to(due - NS).fired, 0, "{order:?}");
        assert_eq!(clock.advance_to_next().unwrap().fired, 1, "{order:?}");
        assert_eq!(clock.now(), due);
        for (n, sleep) in &mut sleeps {
            assert_eq!(is_ready(sleep), *n <= passed, "{order:?}");
        }
    }
}

/// The same on a clock that does not begin at zero, where the carry goes through all bits.
#[test]
fn case_013_a_near_timer_fires_beside_a_far_one_whatever_bits_carry() {
    for bits in 1..58 {
        let clock = ManualClock::new();
        clock.advance(Duration::from_nanos((1 << bits) - 1));
        let (wakes, waker) = Wakes::new();
        let _never = armed_by(&clock.timer(), secs(u64::MAX), Waker::noop());
        let _near = armed_by(&clock.timer(), 2 * NS, &waker);
        assert_eq!(clock.advance(NS).fired, 0, "2^{bits}");
        assert_eq!(clock.advance(NS).fired, 1, "2^{bits}");
        assert_eq!(wakes.count(), 1);
    }
}
