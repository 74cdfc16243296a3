//! Who turns, what becomes of a note, and whether the alarm is set.

#![cfg(loom)]

use std::sync::Arc;

use cogwheel::loom_only::turn_lock::TurnLock;
use cogwheel::primitive::{AtomicU32, Ordering};
use loom_tests::{ALL, THREE, TWO, explore, join, spawn};
use loom_tests::{Hand, Sleeper, World, assert_nodes_are_free, assert_nothing_lost};

/// Carries out what is asked for in `work`, if the lock can be had; as the turn does it.
fn work_off(lock: &TurnLock<u32>, work: &AtomicU32) {
    let Some(mut turning) = lock.try_lock() else {
        return;
    };
    loop {
        *turning += work.swap(0, Ordering::Relaxed);
        match turning.release() {
            Some(again) => turning = again,
            None => return,
        }
    }
}

/// A note that is left is answered: what was asked for before it is done.
///
/// Seen to catch: `lock-without-acquire`, `note-not-left`, `release-ignores-note`,
/// `release-without-release`.
#[test]
fn a_note_left_while_the_lock_is_given_back_is_answered() {
    explore("note ∥ release", ALL, 250, || {
        let shared = Arc::new((TurnLock::new(0), AtomicU32::new(0)));
        let asker = {
            let shared = Arc::clone(&shared);
            spawn(move || {
                let (lock, work) = &*shared;
                work.fetch_add(1, Ordering::Relaxed);
                work_off(lock, work);
            })
        };
        let (lock, work) = &*shared;
        work.fetch_add(1, Ordering::Relaxed);
        work_off(lock, work);
        join(asker);
        let done = lock.try_lock().expect("nobody turns");
        assert_eq!(*done, 2, "all was done");
    });
}

/// The alarm goes off while another thread turns: it is never believed set when it is not.
///
/// Seen to catch: `alarm-not-noted`, `note-without-acquire`, `note-without-release`.
#[test]
fn an_alarm_that_goes_off_during_a_turn_is_set_again() {
    explore("alarm ∥ turn", ALL, 200, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut one = Sleeper::armed(&world, &mut hand, 10);
        let mut two = Sleeper::armed(&world, &mut hand, 20);
        world.set_clock(10);
        let alarm = {
            let world = Arc::clone(&world);
            spawn(move || {
                world.ring_alarm();
            })
        };
        world.turn();
        join(alarm);
        assert_nothing_lost(&world, &mut hand, &mut [&mut one, &mut two]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// The alarm goes off while another thread arms a timer for less.
///
/// Seen to catch: `note-answered-by-leaving`.
#[test]
fn an_alarm_that_goes_off_while_it_is_moved_is_set_again() {
    explore("alarm ∥ arm", TWO, 2500, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut one = Sleeper::armed(&world, &mut hand, 10);
        world.set_clock(10);
        let alarm = {
            let world = Arc::clone(&world);
            spawn(move || {
                world.ring_alarm();
            })
        };
        let mut other = Hand::new();
        let mut two = Sleeper::armed(&world, &mut other, 9);
        join(alarm);
        assert_nothing_lost(&world, &mut hand, &mut [&mut one, &mut two]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
    });
}

/// Two timers are a batch here, so the lock is given back in the middle of the turn.
///
/// Seen to catch: `paused-turn-drops-rest`.
#[test]
fn a_turn_that_pauses_to_wake_is_finished_by_whoever_has_the_lock() {
    explore("turn ∥ turn", TWO, 1000, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut one = Sleeper::armed(&world, &mut hand, 8);
        let mut two = Sleeper::armed(&world, &mut hand, 9);
        let mut three = Sleeper::armed(&world, &mut hand, 10);
        let mut four = Sleeper::armed(&world, &mut hand, 40);
        world.set_clock(10);
        let other = {
            let world = Arc::clone(&world);
            spawn(move || world.turn())
        };
        world.ring_alarm();
        join(other);
        assert!(one.wakes() == 1 && two.wakes() == 1 && three.wakes() == 1);
        let mut all = [&mut one, &mut two, &mut three, &mut four];
        assert_nothing_lost(&world, &mut hand, &mut all);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// A turn that has gone round too often leaves the rest to the alarm: so the alarm has to be set,
/// even if the time it is set for passes while it is.
///
/// Seen to catch: `arm-without-looking-at-the-time`, `left-without-alarm`.
#[test]
fn a_turn_that_leaves_early_leaves_an_alarm_behind() {
    explore("a slow turn", ALL, 1, || {
        const MILLISECOND: u64 = 1_000_000;
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut sleepers: Vec<_> = (1..=24)
            .map(|n| Sleeper::armed(&world, &mut hand, n * MILLISECOND))
            .collect();
        world.set_clock(MILLISECOND);
        world.set_pace(MILLISECOND);
        world.ring_alarm();
        world.set_pace(0);
        while sleepers.iter().any(|sleeper| sleeper.wakes() == 0) {
            assert!(world.alarm().count() < u64::MAX, "nobody will turn again");
            world.set_clock(world.alarm().count());
            world.ring_alarm();
        }
        for sleeper in &mut sleepers {
            sleeper.poll_if_woken(&world, &mut hand);
            assert!(sleeper.done);
        }
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// Everything at once: armed, cancelled and turned on three threads.
///
/// Seen to catch: `fire-by-exchange`.
#[test]
fn arming_and_cancelling_on_two_threads_during_a_turn_loses_nothing() {
    explore("arm ∥ cancel ∥ turn", THREE, 600, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
        world.set_clock(10);
        let canceller = {
            let world = Arc::clone(&world);
            spawn(move || {
                let given_back = sleeper.cancel(&world, &mut hand);
                (sleeper, hand, given_back)
            })
        };
        let armer = {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut hand = Hand::new();
                let sleeper = Sleeper::armed(&world, &mut hand, 12);
                (sleeper, hand)
            })
        };
        world.turn();
        let (sleeper, mut hand, given_back) = join(canceller);
        let (mut armed, mut other) = join(armer);
        assert_eq!(sleeper.wakes(), u32::from(!given_back));
        assert_nothing_lost(&world, &mut hand, &mut [&mut armed]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
    });
}
