//! Agrona's cases, 71 to 88.

#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{small, turn, walk};
use crate::tick::Tick;
use crate::wheel::{Geometry, Wheel};

/// A wheel with finest buckets of 2^20 ticks and 8 slots per level.
fn coarse<T>(start: u64) -> Wheel<T> {
    Wheel::with_geometry(Geometry::new(20, 3).unwrap(), Tick::new(start))
}

const TICK: u64 = 1 << 20;

#[test]
fn case_071_only_shapes_of_powers_of_two_exist_and_impossible_ones_are_refused() {
    assert!(Geometry::new(20, 3).is_some());
    for (base_bits, slot_bits) in [(64, 1), (u32::MAX, 6), (0, 0), (0, 7), (20, u32::MAX)] {
        assert_eq!(Geometry::new(base_bits, slot_bits), None);
    }
}

#[test]
fn case_072_a_deadline_on_the_edge_of_a_bucket_fires_on_that_edge() {
    let mut wheel = coarse(0);
    wheel.insert(Tick::new(5 * TICK), ());
    assert_eq!(turn(&mut wheel, 5 * TICK - 1), []);
    assert_eq!(turn(&mut wheel, 5 * TICK), [()]);
}

#[test]
fn case_073_a_wheel_that_starts_late_fires_relative_to_its_time() {
    let mut wheel = coarse(100 * TICK);
    wheel.insert(Tick::new(105 * TICK), ());
    for tick in 101..105 {
        assert_eq!(turn(&mut wheel, tick * TICK), []);
    }
    assert_eq!(turn(&mut wheel, 105 * TICK), [()]);
}

#[test]
fn case_074_a_deadline_just_after_an_edge_does_not_fire_on_the_edge() {
    let mut wheel = coarse(0);
    wheel.insert(Tick::new(5 * TICK + 1), ());
    assert_eq!(turn(&mut wheel, 5 * TICK), []);
    assert_eq!(turn(&mut wheel, 6 * TICK), [()]);
}

#[test]
fn case_075_a_deadline_several_rounds_ahead_survives_them_and_fires_once() {
    let mut wheel = Wheel::with_geometry(Geometry::new(0, 4).unwrap(), Tick::ZERO);
    wheel.insert(Tick::new(63), ());
    assert_eq!(walk(&mut wheel, 200), [(63, ())]);
}

#[test]
fn case_076_a_timer_cancelled_between_rounds_never_fires_and_cancels_only_once() {
    let mut wheel = Wheel::with_geometry(Geometry::new(0, 4).unwrap(), Tick::ZERO);
    let key = wheel.insert(Tick::new(63), ());
    assert_eq!(walk(&mut wheel, 16), []);
    assert_eq!(wheel.remove(key), Some(()));
    assert_eq!(wheel.remove(key), None);
    assert_eq!(walk(&mut wheel, 128), []);
}

#[test]
fn case_077_a_first_turn_long_after_the_deadline_fires_it() {
    let mut wheel = Wheel::with_geometry(Geometry::new(0, 4).unwrap(), Tick::ZERO);
    wheel.insert(Tick::new(15), ());
    assert_eq!(turn(&mut wheel, 32), [()]);
}

#[test]
fn case_078_two_timers_fire_each_at_its_own_time_whatever_slots_they_have() {
    for (one, two) in [(15, 23), (15, 15), (7, 15), (15, 14), (1, 64)] {
        let mut wheel = Wheel::with_geometry(Geometry::new(0, 3).unwrap(), Tick::ZERO);
        wheel.insert(Tick::new(one), 1);
        wheel.insert(Tick::new(two), 2);
        let mut expected = [(one, 1), (two, 2)];
        expected.sort_unstable();
        assert_eq!(walk(&mut wheel, 100), expected);
    }
}

#[test]
fn case_079_one_at_a_time_keeps_the_order_and_starves_nobody() {
    let mut wheel = small(0);
    wheel.insert(Tick::new(15), 1);
    wheel.insert(Tick::new(15), 2);
    wheel.advance(Tick::new(16));
    assert_eq!(wheel.pop().map(|e| e.value), Some(1));
    wheel.advance(Tick::new(17));
    assert_eq!(wheel.pop().map(|e| e.value), Some(2));
    assert_eq!(wheel.pop(), None);
}

#[test]
fn case_080_a_handler_can_refuse_a_timer_which_then_stays() {
    let mut wheel = small(0);
    let first = wheel.insert(Tick::new(15), 1);
    wheel.insert(Tick::new(15), 2);
    wheel.advance(Tick::new(16));
    // The handler looks, refuses and stops.
    assert_eq!(wheel.peek(), Some(first));
    assert_eq!(wheel.len(), 2);
    wheel.advance(Tick::new(17));
    assert_eq!(turn(&mut wheel, 17), [1, 2]);
}

#[test]
fn case_081_a_handler_that_panics_loses_its_own_timer_only() {
    let mut wheel = small(0);
    for n in 0..3 {
        wheel.insert(Tick::new(15), n);
    }
    wheel.advance(Tick::new(15));
    let handled = catch_unwind(AssertUnwindSafe(|| {
        assert!(wheel.pop().is_none(), "the handler fails");
    }));
    assert!(handled.is_err());
    assert_eq!(turn(&mut wheel, 16), [1, 2]);
    assert_eq!(wheel.len(), 0);
}

#[test]
fn case_083_clearing_forgets_every_timer_and_deadline() {
    let mut wheel = small(0);
    let keys: Vec<_> = (0..50).map(|n| wheel.insert(Tick::new(n * n), n)).collect();
    wheel.advance(Tick::new(100));
    wheel.clear();
    wheel.assert_valid();
    assert_eq!((wheel.len(), wheel.next_deadline()), (0, None));
    assert!(keys.iter().all(|&key| wheel.deadline(key).is_none()));
    assert_eq!(walk(&mut wheel, 3_000), []);
}

#[test]
fn case_085_time_that_leaps_delivers_what_is_due() {
    let mut wheel = coarse(0);
    for n in 1..=100 {
        wheel.insert(Tick::new(n * TICK), n);
    }
    let mut fired = Vec::new();
    for now in [1, 5, 25, 125] {
        fired.extend(turn(&mut wheel, now * TICK));
    }
    assert!(fired.into_iter().eq(1..=100));
}

#[test]
fn case_086_a_deadline_before_now_fires_in_the_next_turn() {
    let mut wheel = small(10);
    wheel.insert(Tick::new(7), ());
    assert_eq!(turn(&mut wheel, 11), [()]);
}

#[test]
fn case_087_ids_stay_valid_while_a_bucket_and_the_capacity_grow() {
    let mut wheel = small(0);
    let mut keys = Vec::new();
    let first = wheel.capacity();
    for n in 0..10_000 {
        keys.push((wheel.insert(Tick::new(5), n), n));
    }
    assert!(wheel.capacity() > first);
    for (key, n) in keys {
        assert_eq!(wheel.get(key), Some(&n));
        assert_eq!(wheel.deadline(key), Some(Tick::new(5)));
    }
}

#[test]
fn case_088_a_stale_key_does_not_cancel_the_timer_that_took_its_place() {
    let mut wheel = small(0);
    let first = wheel.insert(Tick::new(10), 1);
    wheel.remove(first);
    let second = wheel.insert(Tick::new(10), 2);
    assert_eq!(first.id, second.id, "the place is used again");
    assert_eq!(wheel.remove(first), None);
    assert!(!wheel.reset(first, Tick::new(99)));
    assert_eq!(wheel.get_mut(first), None);
    assert_eq!(turn(&mut wheel, 10), [2]);
}
