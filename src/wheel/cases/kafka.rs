//! Kafka's cases, 1 to 11.

#![forbid(unsafe_code)]

use super::{small, turn, walk};
use crate::tick::Tick;
use crate::wheel::{Geometry, Key, Wheel};

#[test]
fn case_001_past_deadlines_are_due_without_any_turn() {
    let mut wheel = small(100);
    for late in 1..=5 {
        wheel.insert(Tick::new(100 - late), late);
    }
    let mut late: Vec<_> = core::iter::from_fn(|| wheel.pop())
        .map(|e| e.value)
        .collect();
    late.sort_unstable();
    assert_eq!(late, [1, 2, 3, 4, 5]);
}

#[test]
fn case_002_every_one_of_585_tasks_runs_exactly_once() {
    let mut wheel = small(0);
    let ids = (0..5).chain((10..100).flat_map(|n| [n, n])).chain(100..500);
    let ids: Vec<u64> = ids.collect();
    assert_eq!(ids.len(), 585);
    for &id in &ids {
        wheel.insert(Tick::new(id), id);
    }
    let mut fired = turn(&mut wheel, 0);
    fired.extend(walk(&mut wheel, 500).into_iter().map(|(now, id)| {
        assert_eq!(now, id);
        id
    }));
    fired.sort_unstable();
    assert_eq!(fired, ids);
    assert!(wheel.is_empty());
}

#[test]
fn case_003_a_deadline_ahead_is_accepted_and_counted() {
    let mut wheel = small(1000);
    wheel.insert(Tick::new(1020), ());
    assert_eq!(wheel.len(), 1);
    assert_eq!(wheel.hierarchy.due_len(), 0);
    assert_eq!(wheel.next_deadline(), Some(Tick::new(1020)));
}

#[test]
fn case_004_a_deadline_in_the_past_is_never_parked() {
    let mut wheel = small(1000);
    let key = wheel.insert(Tick::new(999), ());
    assert_eq!(wheel.hierarchy.levels(), 0, "it saw no bucket");
    assert_eq!(wheel.pop().map(|e| e.key), Some(key));
}

#[test]
fn case_005_a_deadline_inside_the_current_finest_bucket_does_not_fire_early() {
    let mut wheel = Wheel::with_geometry(Geometry::new(4, 2).unwrap(), Tick::new(1000));
    wheel.insert(Tick::new(1005), ());
    assert_eq!(wheel.pop(), None);
    assert_eq!(turn(&mut wheel, 1004), []);
    assert_eq!(turn(&mut wheel, 1005), [()]);
}

#[test]
fn case_006_a_cancelled_task_stays_cancelled() {
    let mut wheel = small(1000);
    let key = wheel.insert(Tick::new(1020), ());
    assert_eq!(wheel.remove(key), Some(()));
    assert!(!wheel.reset(key, Tick::new(1030)));
    assert_eq!((wheel.len(), wheel.next_deadline()), (0, None));
    assert_eq!(turn(&mut wheel, 2000), []);
}

#[test]
fn case_007_and_008_time_is_what_the_wheel_was_told_and_is_not_rounded() {
    let mut wheel: Wheel<()> = Wheel::with_geometry(Geometry::new(3, 2).unwrap(), Tick::new(1000));
    assert_eq!(wheel.advance(Tick::new(1005)).now, Tick::new(1005));
    assert_eq!(wheel.elapsed(), Tick::new(1005));
    assert_eq!(wheel.advance(Tick::new(1010)).now, Tick::new(1010));
}

#[test]
fn case_009_an_upper_level_is_made_on_demand_and_only_once() {
    let mut wheel = small(1000);
    assert_eq!(wheel.hierarchy.levels(), 0);
    wheel.insert(Tick::new(1004), ());
    assert_eq!(wheel.hierarchy.levels(), 1);
    wheel.insert(Tick::new(1060), ());
    let levels = wheel.hierarchy.levels();
    assert!(levels > 1);
    wheel.insert(Tick::new(1061), ());
    assert_eq!(wheel.hierarchy.levels(), levels);
}

#[test]
fn case_010_all_levels_move_with_the_time() {
    let mut wheel = small(1000);
    wheel.insert(Tick::new(1060), 60);
    wheel.insert(Tick::new(1061), 61);
    assert_eq!(turn(&mut wheel, 1060), [60]);
    let levels = wheel.hierarchy.levels();
    // What is as far from the new time as those were from the old one needs no new level.
    wheel.insert(Tick::new(1120), 120);
    assert_eq!(wheel.hierarchy.levels(), levels);
    assert_eq!(walk(&mut wheel, 1120), [(1061, 61), (1120, 120)]);
}

#[test]
fn case_011_moving_tasks_between_buckets_never_changes_their_count() {
    let mut wheel = small(0);
    let keys: Vec<_> = (0..10).map(|n| wheel.insert(Tick::new(5), n)).collect();
    assert_eq!(wheel.len(), 10);
    for &key in &keys[..4] {
        wheel.reset(key, Tick::new(6));
    }
    assert_eq!(wheel.len(), 10);
    for &key in &keys[4..] {
        wheel.reset(key, Tick::new(700));
    }
    wheel.assert_valid();
    assert_eq!(wheel.len(), 10);
    let all: Vec<Key> = wheel.iter().map(|(key, ..)| key).collect();
    for key in all {
        assert!(wheel.remove(key).is_some());
    }
    wheel.assert_valid();
    assert!(wheel.is_empty());
}
