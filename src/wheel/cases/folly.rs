//! folly's cases, 33 to 52.

#![forbid(unsafe_code)]

use std::rc::Rc;

use super::{MS, SECOND, hop, small, turn, walk};
use crate::tick::Tick;
use crate::wheel::{Geometry, Wheel};

#[test]
fn case_033_scheduling_again_replaces_the_first_schedule() {
    let mut wheel = small(0);
    wheel.insert(Tick::new(20), 1);
    let second = wheel.insert(Tick::new(15), 2);
    wheel.reset(second, Tick::new(20));
    wheel.insert(Tick::new(40), 3);
    assert_eq!(wheel.len(), 3);
    assert_eq!(walk(&mut wheel, 100), [(20, 1), (20, 2), (40, 3)]);
}

#[test]
fn case_034_what_a_timer_holds_is_released_when_that_timer_ends() {
    let held = Rc::new(());
    let mut wheel = small(0);
    let first = wheel.insert(Tick::new(20), Rc::clone(&held));
    wheel.insert(Tick::new(10), Rc::clone(&held));
    assert_eq!(Rc::strong_count(&held), 3);
    drop(turn(&mut wheel, 10));
    assert_eq!(Rc::strong_count(&held), 2);
    drop(wheel.remove(first));
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn case_035_a_timer_made_while_firing_fires_once() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(500 * MS), 1);
    assert_eq!(turn(&mut wheel, 500 * MS), [1]);
    wheel.insert(Tick::new(501 * MS), 2);
    assert_eq!(turn(&mut wheel, 505 * MS), [2]);
    assert!(wheel.is_empty());
}

#[test]
fn case_037_and_040_a_wheel_that_is_dropped_while_firing_drops_each_value_once() {
    let held = Rc::new(());
    let mut wheel = small(0);
    for _ in 0..3 {
        wheel.insert(Tick::new(10), Rc::clone(&held));
    }
    wheel.insert(Tick::new(5_000), Rc::clone(&held));
    wheel.advance(Tick::new(10));
    let third = core::iter::from_fn(|| wheel.pop()).nth(1);
    assert_eq!(Rc::strong_count(&held), 1 + 3, "one is popped and gone");
    drop(wheel);
    assert_eq!(Rc::strong_count(&held), 1 + 1);
    drop(third);
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn case_038_scheduling_again_for_earlier_fires_earlier() {
    let mut wheel = small(0);
    let key = wheel.insert(Tick::new(10), ());
    wheel.reset(key, Tick::new(5));
    assert_eq!(walk(&mut wheel, 20), [(5, ())]);
}

#[test]
fn case_039_a_full_ring_less_one_from_the_middle_of_a_ring_is_not_immediate() {
    for (slot_bits, now) in [(2, 2), (2, 4), (6, 32), (6, 64), (6, 128)] {
        for ahead in [
            (1 << slot_bits) - 1,
            (2 << slot_bits) - 1,
            (4 << slot_bits) - 1,
        ] {
            let geometry = Geometry::new(0, slot_bits).unwrap();
            let mut wheel = Wheel::with_geometry(geometry, Tick::ZERO);
            wheel.insert(Tick::new(now), 1);
            assert_eq!(walk(&mut wheel, now), [(now, 1)]);
            wheel.insert(Tick::new(now + ahead), 2);
            assert_eq!(walk(&mut wheel, now + 2 * ahead), [(now + ahead, 2)]);
        }
    }
}

#[test]
fn case_043_of_two_timers_due_at_once_the_first_to_run_can_cancel_the_other() {
    let mut wheel = small(0);
    wheel.insert(Tick::new(10), ());
    wheel.insert(Tick::new(10), ());
    wheel.advance(Tick::new(10));
    let mut cancelled = 0;
    while wheel.pop().is_some() {
        cancelled += wheel.len();
        wheel.clear();
    }
    assert_eq!(cancelled, 1);
}

#[test]
fn case_045_the_time_remaining_is_known_until_the_timer_has_fired() {
    let mut wheel = small(0);
    let key = wheel.insert(Tick::new(10), ());
    turn(&mut wheel, 4);
    let remaining =
        |wheel: &Wheel<()>| Some(wheel.deadline(key)?.since(wheel.elapsed()).as_nanos());
    assert_eq!(remaining(&wheel), Some(6));
    turn(&mut wheel, 10);
    assert_eq!(remaining(&wheel), None);
}

#[test]
fn case_047_a_timer_of_the_second_level_fires_on_time() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(500 * MS), ());
    assert!(wheel.hierarchy.levels() > 1);
    let mut fired = Vec::new();
    for ms in 1..=600 {
        fired.extend(turn(&mut wheel, ms * MS).into_iter().map(|()| ms));
    }
    assert_eq!(fired, [500]);
}

#[test]
fn case_048_a_very_negative_timeout_is_as_zero_and_harms_no_later_one() {
    let mut wheel = Wheel::starting_at(Tick::new(10));
    wheel.insert(Tick::new(10_u64.saturating_sub(500_000_000 * MS)), 1);
    wheel.insert(Tick::new(11), 2);
    assert_eq!(turn(&mut wheel, 10), [1]);
    assert_eq!(turn(&mut wheel, 11), [2]);
}

#[test]
fn case_050_a_late_loop_fires_late_once_and_the_next_timer_on_time() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(5 * MS), 1);
    assert_eq!(turn(&mut wheel, 10 * MS), [1]);
    wheel.insert(Tick::new(15 * MS), 2);
    assert_eq!(turn(&mut wheel, 15 * MS - 1), []);
    assert_eq!(turn(&mut wheel, 15 * MS), [2]);
}

#[test]
fn case_051_timers_closer_than_the_turns_fire_no_more_than_one_turn_late() {
    let mut wheel = Wheel::new();
    for ms in 1..=60 {
        wheel.insert(Tick::new(ms * MS), ms);
    }
    let mut fired = 0;
    for now in (3..=60).step_by(3) {
        for ms in turn(&mut wheel, now * MS) {
            assert!(ms <= now && now < ms + 3);
            fired += 1;
        }
    }
    assert_eq!(fired, 60);
}

#[test]
fn case_052_timers_of_upper_levels_fire_exactly() {
    for unit in [1, MS] {
        let mut wheel = Wheel::with_geometry(Geometry::new(0, 6).unwrap(), Tick::ZERO);
        wheel.insert(Tick::new(605 * 256 * unit), 605);
        wheel.insert(Tick::new(300 * 256 * unit), 300);
        assert_eq!(
            hop(&mut wheel, 1_000 * SECOND),
            [(300 * 256 * unit, 300), (605 * 256 * unit, 605)]
        );
    }
}
