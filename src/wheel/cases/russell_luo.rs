//! The cases of RussellLuo's timing wheel, 67 to 70.

#![forbid(unsafe_code)]

use super::{MS, small, turn};
use crate::tick::Tick;
use crate::wheel::Wheel;

#[test]
fn case_067_delays_of_all_magnitudes_fire_in_the_first_turn_at_or_after_them() {
    let delays = [1, 5, 10, 50, 100, 500, 1000];
    let mut wheel = Wheel::new();
    for &delay in delays.iter().rev() {
        wheel.insert(Tick::new(delay * MS), delay);
    }
    let mut fired = Vec::new();
    for ms in 1..=1000 {
        let due = turn(&mut wheel, ms * MS);
        assert!(due.iter().all(|&delay| delay == ms));
        fired.extend(due);
    }
    assert_eq!(fired, delays);
}

#[test]
fn case_068_a_chain_of_delays_fires_at_the_sums() {
    let mut wheel = Wheel::new();
    let mut sum = 0;
    for delay in [1, 4, 5, 40, 50, 400, 500] {
        let now = wheel.elapsed().count();
        wheel.insert(Tick::new(now + delay * MS), ());
        sum += delay * MS;
        assert_eq!(wheel.next_deadline(), Some(Tick::new(sum)));
        assert_eq!(turn(&mut wheel, sum - 1), []);
        assert_eq!(turn(&mut wheel, sum), [()]);
    }
    assert_eq!(sum, 1000 * MS);
}

#[test]
fn case_069_a_bucket_that_was_looked_at_keeps_nothing_that_is_due() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(7), 1);
    wheel.insert(Tick::new(8), 2);
    assert_eq!(turn(&mut wheel, 8), [1, 2]);
    assert!(wheel.is_empty());
}

#[test]
fn case_070_a_task_that_arms_itself_anew_a_million_times_never_stalls() {
    let mut wheel = small(0);
    wheel.insert(Tick::new(6), ());
    for round in 1..=1_000_000 {
        assert_eq!(wheel.next_deadline(), Some(Tick::new(6 * round)));
        assert_eq!(wheel.advance(Tick::new(6 * round)).fired, 1);
        assert!(wheel.pop().is_some());
        wheel.insert(Tick::new(6 * (round + 1)), ());
    }
    wheel.assert_valid();
    assert!(wheel.capacity() < 8);
}
