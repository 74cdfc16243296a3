//! The harness itself: a race that is planted is found.

#![cfg(loom)]
#![allow(
    clippy::arc_with_non_send_sync,
    reason = "the threads of a model share one thread of the system"
)]

use std::sync::Arc;

use cogwheel::primitive::{AtomicU32, Ordering, UnsafeCell};
use loom_tests::{explore, join, spawn};

struct Slot {
    ready: AtomicU32,
    value: UnsafeCell<u32>,
}

fn hand_over(store: Ordering) {
    let slot = Arc::new(Slot {
        ready: AtomicU32::new(0),
        value: UnsafeCell::new(0),
    });
    let writer = {
        let slot = Arc::clone(&slot);
        spawn(move || {
            // SAFETY: the reader waits for `ready`; that this is enough is what is explored.
            slot.value.with_mut(|value| unsafe { *value = 7 });
            slot.ready.store(1, store);
        })
    };
    if slot.ready.load(Ordering::Acquire) == 1 {
        // SAFETY: as above.
        assert_eq!(slot.value.with(|value| unsafe { *value }), 7);
    }
    join(writer);
}

#[test]
fn a_value_handed_over_by_release_and_acquire_is_no_race() {
    explore("release", None, 2, || hand_over(Ordering::Release));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_value_handed_over_by_a_relaxed_store_is_found_to_be_a_race() {
    explore("relaxed", None, 2, || hand_over(Ordering::Relaxed));
}

#[test]
#[should_panic(expected = "has shrunk")]
fn a_model_without_a_race_falls_below_its_floor() {
    explore("nothing", None, 2, || {});
}

/// Loom alone never runs the exchange before the other thread's load; see `primitive.rs`.
#[test]
fn an_exchange_after_a_load_is_tried_before_the_load_of_another_thread() {
    let outcomes = Arc::new([const { std::sync::atomic::AtomicBool::new(false) }; 2]);
    let seen = Arc::clone(&outcomes);
    explore("load, exchange ∥ load", None, 2, move || {
        let word = Arc::new(AtomicU32::new(0));
        let other = {
            let word = Arc::clone(&word);
            spawn(move || {
                word.load(Ordering::Relaxed);
                word.fetch_or(1, Ordering::Relaxed);
            })
        };
        let outcome = word.load(Ordering::Relaxed) as usize;
        seen[outcome].store(true, Ordering::Relaxed);
        join(other);
    });
    for outcome in &*outcomes {
        assert!(outcome.load(Ordering::Relaxed));
    }
}
