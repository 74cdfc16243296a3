//! The places of a timer with a bound: never more than there are, and none is lost.

#![cfg(loom)]

use std::sync::Arc;

use cogwheel::loom_only::places::{Full, Places};
use loom_tests::{ALL, explore, join, spawn};

const ONE: u32 = 1;

/// Two threads want the one place: they never have it both, and afterwards it is free again.
///
/// Seen to catch: `place-taken-by-store`.
#[test]
fn one_place_is_never_had_by_two_and_is_free_again() {
    explore("take ∥ take", ALL, 4, || {
        let places = Arc::new(Places::new());
        places.open(0, ONE);
        let other = {
            let places = Arc::clone(&places);
            spawn(move || places.take(0))
        };
        let mine = places.take(0);
        let theirs = join(other);
        assert!(mine.is_ok() != theirs.is_ok(), "{mine:?} and {theirs:?}");
        places.give_back(0);
        assert_eq!(places.take(0), Ok(()));
        assert_eq!(places.take(0), Err(Full));
    });
}

/// What is left of a closed timer gives back its place while the driver is opened for another one.
///
/// Seen to catch: `place-of-any-generation`.
#[test]
fn a_place_of_a_closed_timer_is_given_back_to_no_other() {
    explore("give back ∥ open", ALL, 4, || {
        let places = Arc::new(Places::new());
        places.open(0, ONE);
        assert_eq!(places.take(0), Ok(()));
        let left = {
            let places = Arc::clone(&places);
            spawn(move || places.give_back(0))
        };
        places.open(1, ONE);
        assert_eq!(places.take(1), Ok(()));
        join(left);
        assert_eq!(places.take(1), Err(Full));
        places.give_back(1);
        assert_eq!(places.take(1), Ok(()));
    });
}
