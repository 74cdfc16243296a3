//! The waker cell: who may write it, who reads it out, and who frees a node that was left.

#![cfg(loom)]

use std::sync::Arc;

use cogwheel::Tick;
use cogwheel::loom_only::node::Polled;
use loom_tests::{ALL, TWO, explore, join, spawn};
use loom_tests::{Hand, Sleeper, World, assert_nodes_are_free, assert_nothing_lost};

/// A timer that is due in the next turn.
fn due() -> (Arc<World>, Hand, Sleeper) {
    let world = World::open(0);
    let mut hand = Hand::new();
    let sleeper = Sleeper::armed(&world, &mut hand, 10);
    world.set_clock(10);
    (world, hand, sleeper)
}

/// M10 and WLOCK: the task moves, so its waker is replaced, while the timer fires. Afterwards the
/// poll has said so, or the newest waker is woken.
///
/// Seen to catch: `elapsed-after-fire`, `fire-ignores-wlock`, `firing-without-release`,
/// `replace-forgets-unused`, `replace-ignores-fired`, `replace-without-lock`,
/// `replace-without-release`.
///
/// Case 48.
#[test]
fn a_waker_replaced_while_the_timer_fires_is_woken_or_the_poll_says_fired() {
    explore("register ∥ fire", ALL, 120, || {
        let (world, mut hand, mut sleeper) = due();
        let node = sleeper.node.expect("it is armed");
        let task = Sleeper::new(&world, 0);
        let poller = {
            let world = Arc::clone(&world);
            spawn(move || {
                let polled = node.node().register(&task.waker());
                if polled == Polled::Fired {
                    assert!(Tick::new(10) <= world.shared.elapsed(), "I3");
                }
                (task, polled)
            })
        };
        world.turn();
        let (task, polled) = join(poller);
        assert!(polled == Polled::Fired || task.wakes() == 1, "lost wake");
        assert!(sleeper.wakes() + task.wakes() <= 1, "one wake at most");
        sleeper.cancel(&world, &mut hand);
        assert_eq!((sleeper.wakers(), task.wakers()), (0, 0));
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// Polled by the same task while it fires.
///
/// Seen to catch: `fire-without-release`.
///
/// Case 48.
#[test]
fn a_poll_that_sees_the_timer_fired_sees_the_time_of_that_turn() {
    explore("poll ∥ fire", ALL, 130, || {
        let (world, mut hand, mut sleeper) = due();
        let poller = {
            let world = Arc::clone(&world);
            spawn(move || {
                sleeper.poll(&world, &mut hand);
                let node = sleeper.node;
                (sleeper, hand, node)
            })
        };
        world.turn();
        let (mut sleeper, mut hand, node) = join(poller);
        assert!(node.is_some() || sleeper.done, "it is not armed twice");
        assert_nothing_lost(&world, &mut hand, &mut [&mut sleeper]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// ABANDONED: dropped while the turn takes the waker. The node comes back once, from one of both.
///
/// Seen to catch: `fire-ignores-abandoned`.
///
/// Case 39.
#[test]
fn a_node_left_while_it_fires_is_freed_once() {
    explore("drop ∥ fire", ALL, 50, || {
        let (world, mut hand, mut sleeper) = due();
        let dropper = {
            let world = Arc::clone(&world);
            spawn(move || {
                sleeper.cancel(&world, &mut hand);
                (sleeper, hand)
            })
        };
        world.turn();
        let (sleeper, mut hand) = join(dropper);
        assert_eq!(sleeper.wakers(), 0);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// ABANDONED, and the node is another's at once: the next owner comes after the one that left.
///
/// Seen to catch: `cancel-without-release`.
#[test]
fn a_node_left_while_it_fires_is_not_shared_with_its_next_owner() {
    explore("poll, drop ∥ fire, arm", ALL, 200, || {
        let (world, mut hand, mut sleeper) = due();
        let dropper = {
            let world = Arc::clone(&world);
            spawn(move || {
                let node = sleeper.node.expect("it is armed");
                let _ = node.node().register(&sleeper.waker());
                sleeper.cancel(&world, &mut hand);
                (sleeper, hand)
            })
        };
        world.turn();
        let mut other = Hand::new();
        let mut next = Sleeper::armed(&world, &mut other, 15);
        let (sleeper, mut hand) = join(dropper);
        assert_eq!(sleeper.wakers(), 0);
        assert_nothing_lost(&world, &mut other, &mut [&mut next]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
    });
}

/// ABANDONED while it is in an inbox as well: freed when it is drained, and not before.
///
/// Seen to catch: `abandoned-freed-while-queued`, `drained-ignores-abandoned`.
#[test]
fn a_node_left_while_it_fires_and_waits_in_an_inbox_is_freed_once() {
    explore("reset, drop ∥ fire", TWO, 8000, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
        world.set_clock(10);
        let dropper = {
            let world = Arc::clone(&world);
            spawn(move || {
                sleeper.reset(&world, &hand, 9);
                sleeper.cancel(&world, &mut hand);
                (sleeper, hand)
            })
        };
        world.turn();
        let (sleeper, mut hand) = join(dropper);
        assert_eq!(sleeper.wakers(), 0);
        let mut next = Sleeper::armed(&world, &mut hand, 15);
        assert_nothing_lost(&world, &mut hand, &mut [&mut next]);
        world.set_clock(20);
        world.turn();
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// The waker is replaced while the node is drained.
///
/// Seen to catch: `drained-drops-wlock`.
#[test]
fn a_waker_replaced_while_the_node_is_drained_is_the_one_woken() {
    explore("register ∥ drain", ALL, 600, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut first = Sleeper::armed(&world, &mut hand, 5);
        let mut sleeper = Sleeper::armed(&world, &mut hand, 7);
        let node = sleeper.node.expect("it is armed");
        let task = Sleeper::new(&world, 7);
        world.set_clock(7);
        let poller = spawn(move || {
            let polled = node.node().register(&task.waker());
            (task, polled)
        });
        world.turn();
        let (task, polled) = join(poller);
        assert!(polled == Polled::Fired || task.wakes() == 1, "lost wake");
        sleeper.cancel(&world, &mut hand);
        assert_eq!((sleeper.wakers(), task.wakers()), (0, 0));
        assert_nothing_lost(&world, &mut hand, &mut [&mut first]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}
