//! The cases of Seastar, Tokio, `DelayQueue`, Linux, Erlang and our own, 92 to 111.

#![forbid(unsafe_code)]

use super::{DAY, MS, SECOND, hop, small, turn, walk};
use crate::tick::Tick;
use crate::wheel::{Geometry, Wheel};

#[test]
fn case_092_a_timer_that_cancels_and_re_arms_others_does_so_exactly() {
    let mut wheel = Wheel::new();
    let ms = |ms: u64| Tick::new(ms * MS);
    wheel.insert(ms(500), 500);
    let cancelled = wheel.insert(ms(700), 700);
    let re_armed = wheel.insert(ms(800), 800);
    wheel.insert(ms(900), 900);
    wheel.insert(ms(1000), 1000);
    assert_eq!(turn(&mut wheel, 500 * MS), [500]);
    wheel.remove(cancelled);
    assert!(wheel.reset(re_armed, ms(500 + 1100)));
    assert_eq!(
        hop(&mut wheel, u64::MAX - 1)
            .into_iter()
            .map(|(now, id)| (now / MS, id))
            .collect::<Vec<_>>(),
        [(900, 900), (1000, 1000), (1600, 800)]
    );
}

#[test]
fn case_093_arming_and_cancelling_in_turn_fires_once() {
    let mut wheel = small(0);
    for n in 0..2 {
        let key = wheel.insert(Tick::new(10), n);
        wheel.remove(key);
    }
    wheel.insert(Tick::new(10), 2);
    assert_eq!(walk(&mut wheel, 50), [(10, 2)]);
}

#[test]
fn case_095_turning_to_the_same_time_twice_is_harmless() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(193 * MS), ());
    assert_eq!(turn(&mut wheel, 62 * MS), []);
    assert_eq!(turn(&mut wheel, 192 * MS), []);
    assert_eq!(turn(&mut wheel, 192 * MS), []);
    assert_eq!(turn(&mut wheel, 193 * MS), [()]);
}

#[test]
fn case_096_every_one_of_1024_timers_fires_in_its_own_turn() {
    for geometry in [
        Geometry::new(0, 2),
        Geometry::new(0, 6),
        Geometry::new(4, 3),
    ] {
        let mut wheel = Wheel::with_geometry(geometry.unwrap(), Tick::ZERO);
        wheel.hierarchy.small = 0;
        for n in (0..1024).rev() {
            wheel.insert(Tick::new(n), n);
        }
        for now in 0..1024 {
            assert_eq!(turn(&mut wheel, now), [now]);
        }
    }
}

#[test]
fn case_097_a_tick_beyond_the_millisecond_is_waited_for() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(MS + 1), ());
    assert_eq!(turn(&mut wheel, MS), []);
    assert_eq!(turn(&mut wheel, MS + 1), [()]);
}

#[test]
fn case_098_a_timer_that_wraps_around_the_lowest_level_fires_on_time() {
    let mut wheel = Wheel::with_geometry(Geometry::new(0, 6).unwrap(), Tick::ZERO);
    wheel.insert(Tick::new(5), 5);
    assert_eq!(walk(&mut wheel, 5), [(5, 5)]);
    for round in 0..10 {
        let deadline = 5 + (round + 1) * 60;
        wheel.insert(Tick::new(deadline), 60);
        assert_eq!(walk(&mut wheel, deadline), [(deadline, 60)]);
    }
}

#[test]
fn case_099_reset_moves_a_timer_in_either_direction_before_and_after_it_fired() {
    let mut wheel = Wheel::new();
    let later = wheel.insert(Tick::new(100 * MS), "later");
    let earlier = wheel.insert(Tick::new(100 * MS), "earlier");
    wheel.reset(later, Tick::new(200 * MS));
    wheel.reset(earlier, Tick::new(80 * MS));
    assert_eq!(turn(&mut wheel, 80 * MS - 1), [""; 0]);
    assert_eq!(turn(&mut wheel, 80 * MS), ["earlier"]);
    assert_eq!(turn(&mut wheel, 200 * MS - 1), [""; 0]);
    // Fired but not popped, then armed again.
    wheel.advance(Tick::new(200 * MS));
    assert!(wheel.reset(later, Tick::new(210 * MS)));
    assert_eq!(wheel.pop(), None);
    assert!(wheel.reset(later, Tick::new(10 * MS)), "to the past");
    assert_eq!(wheel.next_deadline(), Some(Tick::new(200 * MS)));
    assert_eq!(wheel.pop().map(|e| e.value), Some("later"));
}

#[test]
fn case_100_there_is_no_deadline_too_far() {
    let year = 365 * DAY;
    let mut wheel = Wheel::starting_at(Tick::new(1 << 61));
    let start = 1 << 61;
    for years in [5, 10, 500] {
        wheel.insert(Tick::new(start + years * year), years);
    }
    for huge in [u64::MAX / 10 * 9, u64::MAX - 1, u64::MAX] {
        wheel.insert(Tick::new(huge), huge);
    }
    assert_eq!(turn(&mut wheel, start + 10 * year - 1), [5]);
    assert_eq!(turn(&mut wheel, start + 10 * year), [10]);
    wheel.insert(Tick::new(start + 10 * year + MS), 1);
    assert_eq!(turn(&mut wheel, start + 10 * year + MS), [1]);
}

#[test]
fn case_101_a_timer_can_be_removed_on_the_tick_it_is_due_on() {
    let mut wheel = small(0);
    let keys = [0, 1, 2].map(|n| wheel.insert(Tick::new(10), n));
    wheel.advance(Tick::new(10));
    assert_eq!(wheel.remove(keys[1]), Some(1));
    assert_eq!(wheel.remove(keys[0]), Some(0));
    wheel.assert_valid();
    assert_eq!(turn(&mut wheel, 10), [2]);
}

#[test]
fn case_103_a_far_timer_is_in_no_near_ones_way_after_a_long_uptime() {
    let mut wheel = Wheel::with_geometry(Geometry::new(0, 6).unwrap(), Tick::ZERO);
    wheel.insert(Tick::new(1 << 36), 0);
    wheel.insert(Tick::new(u64::MAX), 0);
    assert_eq!(turn(&mut wheel, 1 << 30), []);
    for round in 1..=500 {
        let deadline = (1 << 30) + round * 333;
        wheel.insert(Tick::new(deadline), round);
        assert_eq!(wheel.next_deadline(), Some(Tick::new(deadline)));
        assert_eq!(turn(&mut wheel, deadline - 1), []);
        assert_eq!(turn(&mut wheel, deadline), [round]);
    }
}

#[test]
fn case_104_a_timer_fires_on_time_after_an_uptime_of_any_power_of_two() {
    for bits in 0..64 {
        for geometry in [Geometry::new(0, 6).unwrap(), Geometry::new(0, 2).unwrap()] {
            let mut wheel = Wheel::with_geometry(geometry, Tick::ZERO);
            wheel.insert(Tick::MAX, 0);
            let now = (1 << bits) - 1;
            turn(&mut wheel, now);
            wheel.insert(Tick::new(now + 10_000), 1);
            assert_eq!(turn(&mut wheel, now + 9_999), []);
            assert_eq!(turn(&mut wheel, now + 10_000), [1]);
        }
    }
}

#[test]
fn case_105_an_entry_due_at_insertion_can_be_reset_to_the_future() {
    let mut wheel = small(100);
    let key = wheel.insert(Tick::new(50), ());
    assert_eq!(wheel.next_deadline(), Some(Tick::new(100)));
    wheel.reset(key, Tick::new(120));
    assert_eq!(wheel.pop(), None);
    assert_eq!(walk(&mut wheel, 200), [(120, ())]);
}

#[test]
fn case_105_resetting_to_the_past_or_removing_the_last_shows_in_the_next_deadline() {
    let mut wheel = small(100);
    let key = wheel.insert(Tick::new(150), ());
    wheel.reset(key, Tick::new(3));
    assert_eq!(wheel.next_deadline(), Some(Tick::new(100)));
    wheel.reset(key, Tick::new(150));
    wheel.remove(key);
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn case_105_several_resets_order_the_entries_by_their_last_deadlines() {
    let mut wheel = Wheel::new();
    let [one, two, three] = [200, 300, 400].map(|ms| wheel.insert(Tick::new(ms * MS), ms));
    wheel.reset(one, Tick::new(500 * MS));
    wheel.reset(three, Tick::new(100 * MS));
    wheel.reset(two, Tick::new(500 * MS));
    assert_eq!(
        hop(&mut wheel, SECOND),
        [(100 * MS, 400), (500 * MS, 200), (500 * MS, 300)]
    );
}

#[test]
fn case_105_resets_after_the_start_of_a_slot_go_either_way() {
    for to in [300, 255, 270, 1_000_000] {
        let mut wheel = Wheel::with_geometry(Geometry::new(0, 6).unwrap(), Tick::ZERO);
        let key = wheel.insert(Tick::new(290), ());
        assert_eq!(turn(&mut wheel, 250), []);
        wheel.reset(key, Tick::new(to));
        assert_eq!(hop(&mut wheel, 2_000_000), [(to, ())]);
    }
}

#[test]
fn case_105_what_is_due_and_not_yet_popped_can_be_removed_and_reset_at_slot_zero() {
    let mut wheel = Wheel::with_geometry(Geometry::new(0, 6).unwrap(), Tick::ZERO);
    let [one, two, three] = [0, 64, 64].map(|deadline| wheel.insert(Tick::new(deadline), deadline));
    wheel.advance(Tick::new(64));
    assert_eq!(wheel.remove(one), Some(0));
    assert!(wheel.reset(two, Tick::new(128)));
    assert_eq!(wheel.pop().map(|e| e.key), Some(three));
    assert_eq!(walk(&mut wheel, 200), [(128, 64)]);
}

#[test]
fn case_106_a_timer_beyond_all_levels_in_use_is_never_immediate() {
    for start in [1, 5, 63, 64, 1 << 20, (1 << 36) + 17] {
        let mut wheel = small(start);
        let far = start + (1 << 40);
        wheel.insert(Tick::new(far), ());
        assert_eq!(turn(&mut wheel, start + 1), []);
        assert_eq!(turn(&mut wheel, far - 1), []);
        assert_eq!(turn(&mut wheel, far), [()]);
    }
}

#[test]
fn case_107_an_expired_timer_moves_neither_time_nor_the_next_deadline_back() {
    let mut wheel = small(100);
    wheel.insert(Tick::new(40), 1);
    assert_eq!(wheel.elapsed(), Tick::new(100));
    assert_eq!(wheel.next_deadline(), Some(Tick::new(100)));
    wheel.insert(Tick::new(110), 2);
    assert_eq!(wheel.pop().map(|e| e.value), Some(1));
    assert_eq!(wheel.next_deadline(), Some(Tick::new(110)));
}

#[test]
fn case_109_timers_armed_while_firing_do_not_fire_in_the_same_turn() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(MS), 0);
    for round in 0..100_u64 {
        let now = MS + round * 16_400 * MS;
        wheel.advance(Tick::new(now));
        let mut fired = 0;
        while let Some(expired) = wheel.pop() {
            fired += 1;
            wheel.insert(Tick::new(now + 16_400 * MS), expired.value + 1);
        }
        assert_eq!(fired, 1);
    }
}

#[test]
fn case_110_after_an_hour_of_idleness_a_5_ms_timer_costs_no_relink_and_no_level() {
    let mut wheel = Wheel::new();
    let hour = 3_600 * SECOND;
    wheel.advance(Tick::new(hour));
    wheel.insert(Tick::new(hour + 5 * MS), ());
    assert_eq!(wheel.hierarchy.levels(), 1);
    let turn = wheel.advance(Tick::new(hour + 5 * MS));
    assert_eq!((turn.fired, turn.cascaded, turn.relinked), (1, 0, 0));
}

#[test]
fn case_111_a_flood_of_cancelled_timers_does_not_delay_the_next_one() {
    let mut wheel = Wheel::new();
    for n in 0..500_000 {
        let key = wheel.insert(Tick::new(30 * SECOND + n), n);
        wheel.remove(key);
    }
    wheel.insert(Tick::new(200 * MS), 1);
    assert_eq!(wheel.next_deadline(), Some(Tick::new(200 * MS)));
    let turn = wheel.advance(Tick::new(200 * MS));
    assert_eq!(
        (turn.fired, turn.cascaded, turn.next),
        (1, 0, Some(Tick::new(200 * MS)))
    );
    assert!(wheel.capacity() < 8);
}
