//! A deadline that is moved while the turn looks at it (I4).

#![cfg(loom)]

use std::sync::Arc;

use loom_tests::{ALL, TWO, explore, join, spawn};
use loom_tests::{Hand, Sleeper, World, assert_nodes_are_free, assert_nothing_lost};

/// Moves a timer of `old`, first to `before`, then on another thread to each of `moves` in turn,
/// while the wheel is turned at `clock`. Tells how often its task was woken.
fn reset_while_turning(old: u64, before: Option<u64>, moves: &'static [u64], clock: u64) -> u32 {
    let world = World::open(0);
    let mut hand = Hand::new();
    let mut sleeper = Sleeper::armed(&world, &mut hand, old);
    if let Some(before) = before {
        sleeper.reset(&world, &hand, before);
    }
    world.set_clock(clock);
    let mover = {
        let world = Arc::clone(&world);
        spawn(move || {
            for &deadline in moves {
                sleeper.reset(&world, &hand, deadline);
            }
            (sleeper, hand)
        })
    };
    world.turn();
    let (mut sleeper, mut hand) = join(mover);
    assert_nothing_lost(&world, &mut hand, &mut [&mut sleeper]);
    assert_eq!(
        world.clock(),
        sleeper.deadline.count().max(clock),
        "it fired in the turn of its deadline"
    );
    assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    sleeper.wakes()
}

/// M6: moved earlier, to now or to the past, while it fires or becomes due.
///
/// Seen to catch: `reset-without-push`.
#[test]
fn a_timer_moved_earlier_while_it_fires_is_not_lost() {
    explore("reset to the past ∥ fire", TWO, 3000, || {
        reset_while_turning(10, None, &[8], 10);
    });
    explore("reset to the past ∥ turn", TWO, 400, || {
        reset_while_turning(20, None, &[8], 10);
    });
    explore("reset earlier ∥ turn", TWO, 350, || {
        reset_while_turning(20, None, &[15], 10);
    });
}

/// M6: moved later while it is due for the old deadline.
///
/// Seen to catch: `elapsed-runs-ahead`.
#[test]
fn a_timer_moved_later_while_it_fires_is_not_early() {
    explore("reset later ∥ fire", ALL, 8, || {
        reset_while_turning(10, None, &[20], 10);
    });
}

/// M6: moved later and still later while the turn places it anew.
///
/// Seen to catch: `look-ignores-deadline`.
#[test]
fn a_timer_moved_later_while_it_is_placed_anew_is_not_lost() {
    explore("reset later ∥ later", ALL, 25, || {
        let wakes = reset_while_turning(10, Some(20), &[30], 10);
        assert_eq!(wakes, 1, "it was moved before, so nothing was due");
    });
}

/// I4: moved earlier while the turn raises the bound past the new deadline.
///
/// Seen to catch: `look-without-acquire`, `look-without-release`, `look-without-rmw`,
/// `look-without-second-read`, `reset-without-acquire`, `reset-without-release`,
/// `reset-without-rmw`.
#[test]
fn a_timer_moved_earlier_while_its_bound_is_raised_is_not_lost() {
    explore("reset earlier ∥ later", TWO, 800, || {
        reset_while_turning(10, Some(30), &[12], 10);
    });
    explore("reset to the past ∥ later", TWO, 5000, || {
        reset_while_turning(10, Some(30), &[9], 10);
    });
}

/// I4 twice: earlier, and earlier again or later.
///
/// Seen to catch: `look-settles-too-soon`, `reset-reads-too-soon`.
#[test]
fn a_timer_moved_twice_while_its_bound_is_raised_is_not_lost() {
    explore("reset earlier, earlier ∥ later", TWO, 15000, || {
        reset_while_turning(10, Some(30), &[20, 12], 10);
    });
    explore("reset earlier, later ∥ later", TWO, 2500, || {
        reset_while_turning(10, Some(30), &[12, 20], 10);
    });
}

/// A world that sleeps until 5 and has a timer in its inbox: one of 30, on a fresh node, or in
/// place of one of 10.
fn queued(in_place: bool) -> (Arc<World>, Hand, Sleeper, Sleeper) {
    let world = World::open(0);
    let mut hand = Hand::new();
    let first = Sleeper::armed(&world, &mut hand, 5);
    if in_place {
        Sleeper::armed(&world, &mut hand, 10).cancel(&world, &mut hand);
    }
    let sleeper = Sleeper::armed(&world, &mut hand, 30);
    (world, hand, first, sleeper)
}

/// I4 on the way into the wheel: moved while it is drained from the inbox.
///
/// Seen to catch: `drained-without-acquire`, `drained-without-release`,
/// `drained-without-second-look`.
#[test]
fn a_timer_moved_earlier_while_it_is_drained_is_not_lost() {
    for (in_place, moved) in [(false, 20), (false, 7), (false, 3), (true, 12)] {
        explore("reset earlier ∥ drain", TWO, 700, move || {
            let (world, hand, mut first, mut sleeper) = queued(in_place);
            let mover = {
                let world = Arc::clone(&world);
                spawn(move || {
                    sleeper.reset(&world, &hand, moved);
                    (sleeper, hand)
                })
            };
            world.turn();
            let (mut sleeper, mut hand) = join(mover);
            assert_nothing_lost(&world, &mut hand, &mut [&mut sleeper, &mut first]);
            assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
        });
    }
}

/// Moved before the next deadline while it waits in the inbox, and nobody else turns.
///
/// Seen to catch: `ring-forgotten`.
#[test]
fn a_timer_moved_before_the_next_deadline_while_it_is_queued_is_not_lost() {
    explore("reset earlier ∥ arm", ALL, 70, || {
        let (world, hand, mut first, mut sleeper) = queued(false);
        let mover = {
            let world = Arc::clone(&world);
            spawn(move || {
                sleeper.reset(&world, &hand, 3);
                (sleeper, hand)
            })
        };
        let mut other = Hand::new();
        let mut late = Sleeper::armed(&world, &mut other, 40);
        let (mut sleeper, mut hand) = join(mover);
        let mut all = [&mut sleeper, &mut first, &mut late];
        assert_nothing_lost(&world, &mut hand, &mut all);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
    });
}

/// The whole life of a timer against one turn: armed, moved, cancelled.
///
/// Seen to catch: `cancel-keeps-waker`.
#[test]
fn a_timer_armed_moved_and_cancelled_during_a_turn_leaves_nothing_behind() {
    explore("arm, reset, cancel ∥ turn", TWO, 15000, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut other = Sleeper::armed(&world, &mut hand, 10);
        world.set_clock(10);
        let user = {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut sleeper = Sleeper::armed(&world, &mut hand, 14);
                sleeper.reset(&world, &hand, 12);
                let given_back = sleeper.cancel(&world, &mut hand);
                (sleeper, hand, given_back)
            })
        };
        world.turn();
        let (sleeper, mut hand, given_back) = join(user);
        assert!(given_back && sleeper.wakes() == 0, "it was never due");
        assert_eq!(sleeper.wakers(), 0);
        assert_nothing_lost(&world, &mut hand, &mut [&mut other]);
        world.set_clock(20);
        world.turn();
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}
