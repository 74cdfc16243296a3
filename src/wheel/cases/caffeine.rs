//! Caffeine's cases, 53 to 65.

#![forbid(unsafe_code)]

use super::{DAY, MS, SECOND, hop, small, turn};
use crate::tick::Tick;
use crate::wheel::{Geometry, Wheel};

/// Clocks around every edge that has made a timer fail: zero, the sign of a signed clock, the end.
fn clocks() -> [u64; 8] {
    let sign = 1 << 63;
    let room = 3_600 * SECOND;
    [
        0,
        1,
        sign - (1 << 36) + 1,
        sign - 1,
        sign,
        0x0fff_ffff_fc00_0000,
        u64::MAX - room - (1 << 36) + 1,
        u64::MAX - room,
    ]
}

#[test]
fn case_053_timers_of_25_90_and_240_s_fire_in_turn_from_every_clock() {
    for clock in clocks() {
        let mut wheel = Wheel::starting_at(Tick::new(clock));
        for seconds in [25, 90, 240] {
            wheel.insert(Tick::new(clock + seconds * SECOND), seconds);
        }
        assert_eq!(turn(&mut wheel, clock + 10 * SECOND), []);
        assert_eq!(turn(&mut wheel, clock + 180 * SECOND), [25, 90]);
        assert_eq!(turn(&mut wheel, clock + 600 * SECOND), [240]);
    }
}

#[test]
fn case_055_any_deadline_in_the_past_is_due_now() {
    let now = 1 << 40;
    for past in [now, now - 1, now - (1 << 36), 1, 0] {
        let mut wheel = small(now);
        wheel.insert(Tick::new(past), ());
        assert_eq!(wheel.next_deadline(), Some(Tick::new(now)));
        assert_eq!(wheel.pop().map(|e| e.deadline), Some(Tick::new(past)));
    }
}

#[test]
fn case_056_a_huge_deadline_lands_on_the_top_level() {
    let mut wheel = small(0);
    wheel.insert(Tick::MAX, ());
    let levels = Geometry::new(0, 2).unwrap().levels() as usize;
    assert_eq!(wheel.hierarchy.levels(), levels);
    wheel.assert_valid();
}

#[test]
fn case_057_nothing_fires_before_its_deadline() {
    for bits in 0..64 {
        let deadline = 1 << bits;
        let mut wheel = small(0);
        wheel.insert(Tick::new(deadline), ());
        assert_eq!(turn(&mut wheel, deadline - 1), [], "2^{bits}");
        assert_eq!(turn(&mut wheel, deadline), [()], "2^{bits}");
    }
}

#[test]
fn case_058_crossing_the_sign_of_the_clock_fires_exactly_once() {
    let sign: u64 = 1 << 63;
    for (start, deadline, now) in [
        (sign - 5, sign + 5, sign + 5),
        (sign - 5, sign, sign),
        (0, sign, sign + 1),
        (sign, u64::MAX - 1, u64::MAX - 1),
        (1, sign - 1 + 1, u64::MAX),
    ] {
        for mut wheel in [small(start), Wheel::starting_at(Tick::new(start))] {
            wheel.insert(Tick::new(deadline), ());
            assert_eq!(turn(&mut wheel, deadline - 1), []);
            assert_eq!(turn(&mut wheel, now), [()]);
            assert_eq!(turn(&mut wheel, u64::MAX), []);
        }
    }
}

#[test]
fn case_059_turning_back_by_three_spans_of_each_level_fires_and_loses_nothing() {
    let start = 1 << 62;
    let mut wheel = Wheel::starting_at(Tick::new(start));
    for bits in 0..60 {
        wheel.insert(Tick::new(start + (1 << bits)), bits);
    }
    for level in 0..7 {
        let span = 3 << Geometry::STANDARD.shift(level);
        assert_eq!(turn(&mut wheel, start - span), []);
        assert_eq!(wheel.elapsed(), Tick::new(start));
    }
    assert!(turn(&mut wheel, u64::MAX).into_iter().eq(0..60));
}

#[test]
fn case_060_a_timer_that_moved_to_a_lower_level_still_waits_for_its_deadline() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(15 * SECOND), 15);
    wheel.insert(Tick::new(80 * SECOND), 80);
    assert_eq!(turn(&mut wheel, 45 * SECOND), [15]);
    assert_eq!(turn(&mut wheel, 70 * SECOND), []);
    assert_eq!(wheel.len(), 1);
    assert_eq!(turn(&mut wheel, 90 * SECOND), [80]);
}

#[test]
fn case_062_with_a_budget_the_due_come_in_portions_and_none_is_lost() {
    let mut wheel = small(0);
    let budget = 10;
    for n in 0..=2 * budget {
        wheel.insert(Tick::new(1 + n), n);
    }
    wheel.advance(Tick::new(100));
    let mut portions = Vec::new();
    while wheel.next_deadline() == Some(Tick::new(100)) {
        let portion = (0..budget).map_while(|_| wheel.pop()).count();
        wheel.assert_valid();
        portions.push(portion);
    }
    assert_eq!(portions, [10, 10, 1]);
}

#[test]
fn case_063_a_budget_that_ends_at_the_end_of_a_bucket_continues_with_the_next() {
    let mut wheel = small(0);
    for n in 0..8 {
        wheel.insert(Tick::new(5 + n / 4), n);
    }
    wheel.advance(Tick::new(10));
    let first: Vec<_> = (0..4)
        .filter_map(|_| wheel.pop())
        .map(|e| e.value)
        .collect();
    assert_eq!(first, [0, 1, 2, 3]);
    assert_eq!(turn(&mut wheel, 11), [4, 5, 6, 7]);
}

#[test]
fn case_064_the_next_deadline_is_the_exact_minimum_over_all_levels() {
    let mut wheel = Wheel::new();
    assert_eq!(wheel.next_deadline(), None);
    wheel.insert(Tick::new(14 * DAY), 2);
    assert_eq!(wheel.next_deadline(), Some(Tick::new(14 * DAY)));
    wheel.insert(Tick::new(SECOND), 1);
    assert_eq!(wheel.next_deadline(), Some(Tick::new(SECOND)));
    assert_eq!(hop(&mut wheel, u64::MAX), [(SECOND, 1), (14 * DAY, 2)]);
}

#[test]
fn case_064_an_occupied_current_bucket_does_not_mask_an_earlier_one() {
    let mut wheel = small(0);
    // Both on level 2; then time enters the bucket of the later one without touching it.
    wheel.insert(Tick::new(63), 63);
    wheel.hierarchy.small = u32::MAX;
    assert_eq!(turn(&mut wheel, 49), []);
    wheel.insert(Tick::new(52), 52);
    wheel.insert(Tick::new(66), 66);
    assert_eq!(wheel.next_deadline(), Some(Tick::new(52)));
    assert_eq!(hop(&mut wheel, 100), [(52, 52), (63, 63), (66, 66)]);
}

#[test]
fn case_065_rescheduling_from_15_min_to_2_h_moves_the_timer() {
    let mut wheel = Wheel::new();
    let minute = 60_000 * MS;
    let key = wheel.insert(Tick::new(15 * minute), ());
    assert!(wheel.reset(key, Tick::new(120 * minute)));
    assert_eq!(turn(&mut wheel, 119 * minute), []);
    assert_eq!(turn(&mut wheel, DAY), [()]);
    assert!(wheel.is_empty());
}
