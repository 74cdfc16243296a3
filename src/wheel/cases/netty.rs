//! Netty's cases, 16 to 32.

#![forbid(unsafe_code)]

use super::{MS, SECOND, hop, small, turn, walk};
use crate::tick::Tick;
use crate::wheel::{Key, Wheel};

#[test]
fn case_016_a_10_s_timeout_has_not_run_after_3_s() {
    let mut wheel = Wheel::new();
    let key = wheel.insert(Tick::new(10 * SECOND), ());
    assert_eq!(turn(&mut wheel, 3 * SECOND), []);
    assert!(wheel.contains(key));
}

#[test]
fn case_017_a_2_s_timeout_has_run_after_3_s() {
    let mut wheel = Wheel::new();
    let key = wheel.insert(Tick::new(2 * SECOND), ());
    assert_eq!(turn(&mut wheel, 3 * SECOND), [()]);
    assert!(!wheel.contains(key));
}

#[test]
fn case_018_what_is_pending_at_the_end_can_be_had_and_what_has_fired_cannot() {
    let mut wheel = Wheel::new();
    for n in 0..3 {
        wheel.insert(Tick::new(MS), n);
    }
    assert_eq!(turn(&mut wheel, SECOND), [0, 1, 2]);
    assert_eq!(wheel.iter().count(), 0);
    for n in 0..5 {
        wheel.insert(Tick::new(6 * SECOND), n);
    }
    assert_eq!(turn(&mut wheel, 2 * SECOND), []);
    let pending: Vec<Key> = wheel.iter().map(|(key, ..)| key).collect();
    assert_eq!(pending.len(), 5);
    for key in pending {
        assert!(wheel.remove(key).is_some());
    }
    assert_eq!(turn(&mut wheel, 10 * SECOND), []);
}

#[test]
fn case_021_a_task_that_arms_itself_anew_completes_and_its_last_timer_is_pending() {
    let mut wheel = Wheel::new();
    let period = 100 * MS;
    wheel.insert(Tick::new(period), ());
    for round in 1..=3 {
        assert_eq!(turn(&mut wheel, round * period), [()]);
        wheel.insert(Tick::new((round + 1) * period), ());
    }
    let pending: Vec<_> = wheel
        .iter()
        .map(|(_, deadline, _)| deadline.count())
        .collect();
    assert_eq!(pending, [4 * period]);
}

#[test]
fn case_024_to_026_a_limit_on_pending_timers_can_rely_on_the_count() {
    let mut wheel = Wheel::new();
    let first = wheel.insert(Tick::new(5 * SECOND), ());
    wheel.insert(Tick::new(90 * MS), ());
    assert_eq!(wheel.len(), 2, "a third would be rejected");
    wheel.remove(first);
    assert_eq!(wheel.len(), 1, "a cancelled one makes room at once");
    wheel.advance(Tick::new(90 * MS));
    assert!(wheel.pop().is_some());
    assert_eq!(wheel.len(), 0, "so does one that was handed out");
}

#[test]
fn case_027_the_pending_count_is_exact() {
    let mut wheel = Wheel::new();
    let minute = 60 * SECOND;
    let long = [(); 2].map(|()| wheel.insert(Tick::new(100 * minute), ()));
    wheel.insert(Tick::new(90 * MS), ());
    assert_eq!(wheel.len(), 3);
    for key in long {
        wheel.remove(key);
    }
    turn(&mut wheel, 90 * MS);
    assert_eq!(wheel.len(), 0);
}

#[test]
fn case_028_the_longest_delay_neither_fires_nor_resists_being_cancelled() {
    let mut wheel = Wheel::new();
    let key = wheel.insert(Tick::MAX, ());
    assert_eq!(turn(&mut wheel, SECOND), []);
    assert_eq!(wheel.remove(key), Some(()));
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn case_029_a_cancelled_value_is_given_back_and_never_fires() {
    let mut wheel = small(0);
    let key = wheel.insert(Tick::new(9), "cancelled");
    assert_eq!(wheel.remove(key), Some("cancelled"));
    assert_eq!(walk(&mut wheel, 100), []);
}

#[test]
fn case_031_a_10_s_task_that_arms_itself_anew_runs_12_times_in_123_s_without_drift() {
    let mut wheel = Wheel::new();
    wheel.insert(Tick::new(10 * SECOND), ());
    let mut runs = Vec::new();
    while let Some(next) = wheel.next_deadline() {
        if next.count() > 123 * SECOND {
            break;
        }
        for () in turn(&mut wheel, next.count()) {
            runs.push(next.count());
            wheel.insert(Tick::new(next.count() + 10 * SECOND), ());
        }
    }
    assert!(runs.into_iter().eq((1..=12).map(|n| n * 10 * SECOND)));
}

#[test]
fn case_032_a_negative_timeout_fires_at_once_and_not_10_s_later() {
    let mut wheel = Wheel::starting_at(Tick::new(SECOND));
    wheel.insert(Tick::new(SECOND - 46), -46);
    assert_eq!(wheel.next_deadline(), Some(Tick::new(SECOND)));
    assert_eq!(hop(&mut wheel, SECOND), [(SECOND, -46)]);
}
