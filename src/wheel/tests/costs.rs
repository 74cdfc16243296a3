//! What the wheel promises about work and memory, counted instead of timed.

#![forbid(unsafe_code)]

use crate::tick::Tick;
use crate::wheel::{Geometry, Wheel};

const MS: u64 = 1_000_000;

fn drain(wheel: &mut Wheel<u64>) -> usize {
    core::iter::from_fn(|| wheel.pop()).count()
}

#[test]
fn a_lone_far_entry_takes_one_turn_and_no_cascade() {
    let mut wheel = Wheel::new();
    let deadline = Tick::new(86_400_000 * MS + 17);
    wheel.insert(deadline, 0);
    assert_eq!(wheel.next_deadline(), Some(deadline));
    let turn = wheel.advance(deadline);
    assert_eq!((turn.fired, turn.cascaded, turn.relinked), (1, 0, 0));
}

#[test]
fn no_turn_moves_many_entries_when_time_moves_evenly() {
    let mut wheel = Wheel::new();
    let count: u64 = 200_000;
    for n in 0..count {
        wheel.insert(Tick::new(1 + n * 4_500 * MS / count), n);
    }
    let (mut fired, mut longest) = (0, 0);
    for ms in 1..=4_500 {
        let turn = wheel.advance(Tick::new(ms * MS));
        let moved = turn.cascaded + turn.relinked;
        longest = longest.max(turn.fired + moved);
        fired += drain(&mut wheel);
    }
    assert_eq!(fired, 200_000);
    // 44 are due in each millisecond, and as many pass from each of the levels above.
    assert!(longest < 5 * 44, "one turn handled {longest} entries");
    wheel.assert_valid();
}

#[test]
fn one_turn_relinks_no_more_than_its_bound_ahead_of_time() {
    let mut wheel = Wheel::new();
    // All in one bucket of level 1, the period before which passes in one turn.
    let (begin, width) = (7_u64 << 26, 1_u64 << 26);
    for n in 0..20_000 {
        wheel.insert(Tick::new(begin + n * (width / 20_000)), n);
    }
    let turn = wheel.advance(Tick::new(begin - 1));
    assert_eq!(turn.fired, 0);
    assert!(turn.relinked > 0 && turn.relinked <= 4096, "{turn:?}");
    wheel.assert_valid();
}

#[test]
fn small_buckets_are_not_relinked_ahead() {
    let mut wheel = Wheel::new();
    for n in 0..64 {
        wheel.insert(Tick::new(10_000 * MS + n), n);
    }
    for ms in 1..10_000 {
        let turn = wheel.advance(Tick::new(ms * MS));
        assert_eq!((turn.cascaded, turn.relinked), (0, 0));
    }
    assert_eq!(wheel.advance(Tick::new(10_000 * MS + 63)).fired, 64);
}

#[test]
fn an_entry_moves_at_most_once_per_level() {
    let geometry = Geometry::new(0, 2).unwrap();
    let mut wheel = Wheel::with_geometry(geometry, Tick::ZERO);
    wheel.hierarchy.small = 0;
    let count = 2_000;
    for n in 0..count {
        wheel.insert(Tick::new(1 + n * 8), n);
    }
    let levels = wheel.hierarchy.levels();
    let mut moves = 0;
    for now in 1..=count * 8 {
        let turn = wheel.advance(Tick::new(now));
        moves += turn.cascaded + turn.relinked;
        drain(&mut wheel);
    }
    assert!(wheel.is_empty());
    assert!(
        moves <= 2_000 * (levels - 1),
        "{moves} moves over {levels} levels"
    );
}

#[test]
fn memory_is_bounded_by_the_peak_of_live_entries_under_churn() {
    let mut wheel = Wheel::new();
    for n in 0..300_000 {
        let key = wheel.insert(Tick::new(30_000 * MS + n), n);
        assert_eq!(wheel.remove(key), Some(n));
    }
    assert!(wheel.capacity() <= 8, "{}", wheel.capacity());
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn late_entries_that_are_removed_leave_nothing_behind() {
    let mut wheel = Wheel::starting_at(Tick::new(100));
    let stays = wheel.insert(Tick::new(50), 0);
    for n in 0..100_000 {
        let key = wheel.insert(Tick::new(60), n);
        assert_eq!(wheel.remove(key), Some(n));
        wheel.reset(stays, Tick::new(n % 100));
    }
    wheel.assert_valid();
    assert!(wheel.order.run.len() + wheel.order.late.len() < 100);
    assert_eq!(wheel.pop().map(|e| e.key), Some(stays));
}

#[test]
fn a_late_entry_that_is_moved_back_and_forth_leaves_nothing_behind() {
    let mut wheel = Wheel::starting_at(Tick::new(100));
    let key = wheel.insert(Tick::new(50), 0);
    for n in 0..1_000 {
        wheel.reset(key, Tick::new(60 + n % 2));
        wheel.assert_valid();
    }
    assert_eq!(wheel.pop().map(|e| e.key), Some(key));
    assert_eq!(wheel.pop().map(|e| e.key), None);
}

#[test]
fn compaction_brings_capacity_down_and_keys_stay_valid() {
    let mut wheel = Wheel::new();
    let keys: Vec<_> = (0..10_000)
        .map(|n| wheel.insert(Tick::new(n % 97 * MS), n))
        .collect();
    for (n, &key) in (0..10_000).zip(&keys) {
        if n % 100 != 37 {
            assert_eq!(wheel.remove(key), Some(n));
        }
    }
    let before = wheel.capacity();
    wheel.compact();
    wheel.assert_valid();
    assert!(
        before >= 10_000 && wheel.capacity() <= 128,
        "{}",
        wheel.capacity()
    );
    // New entries take the places that old keys point to, and are not found by them.
    let fresh: Vec<_> = (0..5_000).map(|n| wheel.insert(Tick::MAX, n)).collect();
    for (n, &key) in (0..10_000).zip(&keys) {
        let alive = n % 100 == 37;
        assert_eq!(wheel.get(key), alive.then_some(&n));
        assert_eq!(wheel.reset(key, Tick::new(n * MS)), alive);
    }
    wheel.compact();
    wheel.assert_valid();
    for (n, &key) in (0..5_000).zip(&fresh) {
        assert_eq!(wheel.remove(key), Some(n));
    }
    wheel.advance(Tick::new(10_000 * MS));
    for n in (0..10_000).filter(|n| n % 100 == 37) {
        let expired = wheel.pop().unwrap();
        assert_eq!(
            (expired.key, expired.value),
            (keys[usize::try_from(n).unwrap()], n)
        );
    }
    assert!(wheel.is_empty() && wheel.moved.is_empty());
}

#[test]
fn a_wheel_shrinks_to_nothing_when_it_is_empty() {
    let mut wheel = Wheel::new();
    let keys: Vec<_> = (0..20_000).map(|n| wheel.insert(Tick::new(n), n)).collect();
    for key in keys {
        wheel.remove(key);
    }
    assert!(wheel.capacity() >= 20_000);
    wheel.shrink_to_fit();
    assert_eq!(wheel.capacity(), 0);
    wheel.insert(Tick::new(1), 1);
    wheel.assert_valid();
}

#[test]
fn clearing_keeps_the_room_and_a_panicking_drop_leaves_a_sound_wheel() {
    struct Grumpy(bool);
    impl Drop for Grumpy {
        fn drop(&mut self) {
            assert!(!self.0 || std::thread::panicking(), "grumpy");
        }
    }
    let mut wheel = Wheel::new();
    for n in 0..10_000 {
        wheel.insert(Tick::new(n), Grumpy(false));
    }
    let capacity = wheel.capacity();
    wheel.clear();
    wheel.assert_valid();
    assert_eq!(wheel.capacity(), capacity);
    for n in 0..10_000 {
        wheel.insert(Tick::new(n), Grumpy(n == 5_000));
    }
    let clear = std::panic::AssertUnwindSafe(|| wheel.clear());
    assert!(std::panic::catch_unwind(clear).is_err());
    wheel.assert_valid();
    assert!(wheel.is_empty());
    wheel.insert(Tick::new(1), Grumpy(false));
    assert_eq!(wheel.advance(Tick::new(1)).fired, 1);
}

#[test]
fn a_wheel_whose_keys_start_elsewhere_knows_no_foreign_key() {
    let new = |first| Wheel::with_first_sequence(Geometry::STANDARD, Tick::ZERO, first);
    let (mut one, mut two) = (new(0), new(1 << 40));
    let keys: Vec<_> = (0..10).map(|n| one.insert(Tick::new(n), n)).collect();
    for n in 0..10 {
        two.insert(Tick::new(n), n);
    }
    for key in keys {
        assert_eq!(two.get(key), None);
        assert!(!two.reset(key, Tick::new(5)));
        assert_eq!(two.remove(key), None);
    }
    assert_eq!(two.len(), 10);
}

#[test]
fn reserving_takes_the_room_at_once_and_insertion_takes_no_more() {
    let mut wheel = Wheel::new();
    wheel.reserve(10_000);
    let capacity = wheel.capacity();
    assert!(capacity >= 10_000);
    for n in 0..10_000 {
        wheel.insert(Tick::new(n), n);
    }
    assert_eq!(wheel.capacity(), capacity);
}

#[test]
fn reserving_takes_no_more_room_than_is_missing() {
    let mut wheel = Wheel::new();
    for n in 0..10 {
        wheel.insert(Tick::new(n), n);
    }
    wheel.reserve(100);
    assert_eq!(wheel.capacity(), 110);
    wheel.reserve(50);
    assert_eq!(wheel.capacity(), 110);
}
