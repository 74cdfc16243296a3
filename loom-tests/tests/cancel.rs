//! A timer that is cancelled, and its node armed again, while the turn has it in hand.

#![cfg(loom)]

use std::sync::Arc;

use loom_tests::{ALL, THREE, TWO, explore, join, spawn};
use loom_tests::{Hand, Sleeper, World, assert_nodes_are_free, assert_nothing_lost};

/// Cancels `sleeper` on another thread, arms the next one there for `again`, and meanwhile turns.
/// Tells whether the cancelled one was given back.
fn cancel_and_arm_while_turning(
    world: &Arc<World>,
    mut sleeper: Sleeper,
    mut hand: Hand,
    again: Option<u64>,
    others: &mut [&mut Sleeper],
) -> bool {
    let canceller = {
        let world = Arc::clone(world);
        spawn(move || {
            let given_back = sleeper.cancel(&world, &mut hand);
            let next = again.map(|deadline| Sleeper::armed(&world, &mut hand, deadline));
            (sleeper, hand, next, given_back)
        })
    };
    world.turn();
    let (sleeper, mut hand, mut next, given_back) = join(canceller);
    assert_eq!(
        sleeper.wakes(),
        u32::from(!given_back),
        "either woken or given back"
    );
    assert_eq!(sleeper.wakers(), 0, "its waker is gone");
    let mut pending: Vec<&mut Sleeper> = Vec::new();
    pending.extend(next.as_mut());
    pending.extend(others.iter_mut().map(|other| &mut **other));
    assert_nothing_lost(world, &mut hand, &mut pending);
    // The wheel may hold nodes that nobody waits on: a turn at the end of time sweeps them.
    world.set_clock(1 << 20);
    world.turn();
    assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    given_back
}

/// A world that sleeps until 5, with a timer that is still in the inbox and one that is not.
fn queued(deadline: u64) -> (Arc<World>, Hand, Sleeper, Sleeper) {
    let world = World::open(0);
    let mut hand = Hand::new();
    let first = Sleeper::armed(&world, &mut hand, 5);
    let sleeper = Sleeper::armed(&world, &mut hand, deadline);
    (world, hand, first, sleeper)
}

/// A world with a timer in the wheel.
fn linked(deadline: u64) -> (Arc<World>, Hand, Sleeper) {
    let world = World::open(0);
    let mut hand = Hand::new();
    let sleeper = Sleeper::armed(&world, &mut hand, deadline);
    (world, hand, sleeper)
}

/// M3: cancelled while it is drained.
///
/// Seen to catch: `cancel-forgets-armed`.
///
/// Case 96.
#[test]
fn a_timer_cancelled_while_it_is_drained_is_given_back() {
    explore("cancel ∥ drain", ALL, 30, || {
        let (world, hand, mut first, sleeper) = queued(10);
        assert!(cancel_and_arm_while_turning(
            &world,
            sleeper,
            hand,
            None,
            &mut [&mut first]
        ));
    });
}

/// M3 with the node armed again: in the inbox, in the wheel or out of both.
///
/// Seen to catch: `drained-gives-up`.
#[test]
fn a_node_armed_again_while_it_is_drained_is_not_lost() {
    for again in [10, 7, 20] {
        explore("cancel, arm ∥ drain", TWO, 1500, move || {
            let (world, hand, mut first, sleeper) = queued(10);
            cancel_and_arm_while_turning(&world, sleeper, hand, Some(again), &mut [&mut first]);
        });
    }
}

/// M4: exactly one of fire and cancel wins.
///
/// Seen to catch: `cancel-ignores-firing`.
///
/// Case 40.
#[test]
fn exactly_one_of_fire_and_cancel_wins() {
    explore("cancel ∥ fire", ALL, 50, || {
        let (world, hand, sleeper) = linked(10);
        world.set_clock(10);
        cancel_and_arm_while_turning(&world, sleeper, hand, None, &mut []);
    });
}

/// M4 with the node armed again in place, for a later and for an earlier deadline.
///
/// Seen to catch: `arm-without-release`, `cancel-after-fire-without-acquire`,
/// `fire-without-acquire`, `fire-without-firing`, `fired-without-release`, `look-unlinks-armed`.
#[test]
fn a_node_armed_again_while_it_fires_is_not_lost() {
    for again in [10, 12, 30] {
        explore("cancel, arm ∥ fire", TWO, 1500, move || {
            let (world, hand, sleeper) = linked(10);
            world.set_clock(10);
            cancel_and_arm_while_turning(&world, sleeper, hand, Some(again), &mut []);
        });
    }
}

/// M5: cancelled while the turn finds that it was moved later, and armed again.
///
/// Seen to catch: `cancel-and-arm-without-acquire`, `look-keeps-bound`.
///
/// Case 40.
#[test]
fn a_timer_cancelled_while_it_is_placed_anew_is_given_back() {
    for again in [None, Some(12), Some(20), Some(40)] {
        explore("cancel, arm ∥ later", TWO, 20, move || {
            let (world, hand, mut sleeper) = linked(10);
            sleeper.reset(&world, &hand, 20);
            world.set_clock(10);
            assert!(cancel_and_arm_while_turning(
                &world,
                sleeper,
                hand,
                again,
                &mut []
            ));
        });
    }
}

/// M5: cancelled, and armed again, while its bucket is swept for the sake of another timer.
///
/// Seen to catch: `sweep-keeps-linked`.
#[test]
fn a_timer_cancelled_while_its_bucket_is_swept_is_given_back() {
    for again in [None, Some(31), Some(40), Some(28)] {
        explore("cancel, arm ∥ sweep", TWO, 6, move || {
            let (world, mut hand, sleeper) = linked(31);
            let mut other = Sleeper::armed(&world, &mut hand, 29);
            world.turn();
            world.set_clock(29);
            assert!(cancel_and_arm_while_turning(
                &world,
                sleeper,
                hand,
                again,
                &mut [&mut other]
            ));
        });
    }
}

/// Cancelled with its node unlinked at once, while it is drained or fires.
///
/// Seen to catch: `drained-keeps-linked`.
#[test]
fn a_timer_cancelled_exactly_is_given_back_or_woken() {
    for clock in [0, 10] {
        explore("cancel exactly ∥ turn", TWO, 12000, move || {
            let (world, mut hand, mut sleeper) = linked(10);
            world.set_clock(clock);
            let canceller = {
                let world = Arc::clone(&world);
                spawn(move || {
                    let given_back = sleeper.cancel_exactly(&world, &mut hand);
                    let next = Sleeper::armed(&world, &mut hand, 15);
                    (sleeper, hand, next, given_back)
                })
            };
            world.turn();
            let (sleeper, mut hand, mut next, given_back) = join(canceller);
            assert_eq!(sleeper.wakes(), u32::from(!given_back));
            assert_nothing_lost(&world, &mut hand, &mut [&mut next]);
            world.set_clock(1 << 20);
            world.turn();
            assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
        });
    }
}

/// M9: the node goes through the pool to another thread, which arms it, while the turn looks at
/// it for the timer it was before.
///
/// Seen to catch: `unlink-by-store`.
#[test]
fn a_node_that_changes_hands_while_the_turn_looks_is_not_lost() {
    explore("cancel ∥ arm elsewhere ∥ look", THREE, 2000, || {
        let (world, mut hand, mut sleeper) = linked(10);
        world.set_clock(10);
        let canceller = {
            let world = Arc::clone(&world);
            spawn(move || {
                let given_back = sleeper.cancel(&world, &mut hand);
                world.shared.pool().flush(&mut hand.cache);
                (sleeper, given_back)
            })
        };
        let armer = {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut hand = Hand::new();
                let sleeper = Sleeper::armed(&world, &mut hand, 15);
                (sleeper, hand)
            })
        };
        world.turn();
        let (sleeper, given_back) = join(canceller);
        let (mut next, mut hand) = join(armer);
        assert_eq!(sleeper.wakes(), u32::from(!given_back));
        assert_eq!(sleeper.wakers(), 0);
        assert_nothing_lost(&world, &mut hand, &mut [&mut next]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}
