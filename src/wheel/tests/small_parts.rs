//! The small parts of a wheel that the model has no word for.

#![forbid(unsafe_code)]

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::tick::Tick;
use crate::wheel::{Geometry, Wheel};

#[test]
fn a_value_can_be_changed_in_place_while_its_entry_is_there() {
    let mut wheel = Wheel::new();
    let key = wheel.insert(Tick::new(5), 1);
    *wheel.get_mut(key).unwrap() += 1;
    assert_eq!(wheel.get(key), Some(&2));
    wheel.advance(Tick::new(5));
    *wheel.get_mut(key).unwrap() += 1;
    assert_eq!(wheel.pop().map(|expired| expired.value), Some(3));
    assert_eq!(wheel.get_mut(key), None);
}

#[test]
fn an_empty_wheel_can_begin_again_at_any_time() {
    let mut wheel = Wheel::starting_at(Tick::new(1000));
    for start in [10, 5000] {
        wheel.restart(Tick::new(start));
        assert_eq!(wheel.elapsed(), Tick::new(start));
        wheel.insert(Tick::new(start + 3), ());
        assert_eq!(wheel.advance(Tick::new(start + 2)).fired, 0);
        assert_eq!(wheel.advance(Tick::new(start + 3)).fired, 1);
        assert!(wheel.pop().is_some());
    }
}

#[test]
fn a_successor_has_the_same_shape_and_time_and_no_key_of_the_wheel_before() {
    let geometry = Geometry::new(3, 2).unwrap();
    let mut before = Wheel::with_geometry(geometry, Tick::new(77));
    let old = before.insert(Tick::new(100), ());
    let mut after = before.successor();
    assert!(after.is_empty());
    assert_eq!(after.elapsed(), Tick::new(77));
    assert_eq!(after.hierarchy.geometry(), geometry);
    let new = after.insert(Tick::new(100), ());
    assert_ne!(old, new);
    assert!(!after.contains(old) && !before.contains(new));
}

#[test]
fn a_turn_counts_what_it_places_anew_but_not_what_stays_in_its_bucket() {
    // 9, 10 and 11 share a bucket of level 1, and have one each on level 0.
    let mut wheel = Wheel::with_geometry(Geometry::new(0, 2).unwrap(), Tick::ZERO);
    for deadline in 9..=11 {
        wheel.insert(Tick::new(deadline), ());
    }
    let turn = wheel.advance(Tick::new(9));
    assert_eq!((turn.fired, turn.cascaded, turn.relinked), (1, 2, 0));
    // The finest buckets are eight ticks wide: 5 stays where it is.
    let mut wheel = Wheel::with_geometry(Geometry::new(3, 2).unwrap(), Tick::ZERO);
    for deadline in [1, 5] {
        wheel.insert(Tick::new(deadline), ());
    }
    let turn = wheel.advance(Tick::new(2));
    assert_eq!((turn.fired, turn.cascaded, turn.relinked), (1, 0, 0));
}

#[test]
fn a_wheel_shows_its_time_and_how_much_is_in_it() {
    let mut wheel = Wheel::starting_at(Tick::new(7));
    wheel.insert(Tick::new(8), "secret");
    wheel.insert(Tick::new(100), "secret");
    wheel.advance(Tick::new(9));
    let shown = format!("{wheel:?}");
    for part in [
        "elapsed: Tick(9)",
        "len: 2",
        "due: 1",
        "next_deadline: Some(Tick(9))",
    ] {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn keys_are_told_apart_by_their_hashes() {
    let mut wheel = Wheel::new();
    let mut hash = || {
        let mut hasher = DefaultHasher::new();
        wheel.insert(Tick::new(5), ()).hash(&mut hasher);
        hasher.finish()
    };
    assert_ne!(hash(), hash());
}

#[test]
fn keys_are_ordered_by_insertion() {
    let mut wheel = Wheel::new();
    let first = wheel.insert(Tick::new(9), ());
    let second = wheel.insert(Tick::new(5), ());
    assert!(first < second);
    assert_eq!(first.partial_cmp(&second), Some(core::cmp::Ordering::Less));
}
