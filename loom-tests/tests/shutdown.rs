//! A timer that is closed, and opened again, while it is used: everything is resolved.

#![cfg(loom)]

use std::sync::Arc;

use cogwheel::loom_only::node::Polled;
use loom_tests::{ALL, TWO, explore, join, spawn};
use loom_tests::{Hand, Sleeper, World};
use loom_tests::{assert_all_closed, assert_nodes_are_free, assert_nothing_lost};

/// Closes a world with a timer of 10 while another thread does `act` with that timer, and perhaps
/// makes another.
fn act_while_closing(
    queued: bool,
    act: impl FnOnce(&World, &mut Hand, &mut Sleeper) -> Option<Sleeper> + 'static,
) {
    let world = World::open(0);
    let mut hand = Hand::new();
    let mut first = Sleeper::armed(&world, &mut hand, if queued { 5 } else { 20 });
    let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
    let user = {
        let world = Arc::clone(&world);
        spawn(move || {
            let other = act(&world, &mut hand, &mut sleeper);
            (sleeper, other, hand)
        })
    };
    world.close(0);
    let (mut sleeper, mut other, mut hand) = join(user);
    let mut all = vec![&mut sleeper, &mut first];
    all.extend(other.as_mut());
    assert_all_closed(&world, &mut hand, &mut all);
    assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    // Nothing of it stays in the way of the next generation.
    world.reopen();
    let (mut one, mut two) = (
        Sleeper::armed(&world, &mut hand, 5),
        Sleeper::armed(&world, &mut hand, 7),
    );
    assert_nothing_lost(&world, &mut hand, &mut [&mut one, &mut two]);
}

/// M7: dropped while the timer is closed.
///
/// Seen to catch: `close-skips-inboxes`.
#[test]
fn a_timer_dropped_while_all_are_closed_is_resolved_once() {
    for queued in [false, true] {
        explore("cancel ∥ close", ALL, 50, move || {
            act_while_closing(queued, |world, hand, sleeper| {
                let given_back = sleeper.cancel(world, hand);
                assert!(given_back || sleeper.node.is_none());
                None
            });
        });
    }
}

/// Cancelled with its node unlinked at once, while the timer is closed: the inbox that refuses the
/// node leaves it as good as any.
///
/// Seen to catch: `cancel-exactly-keeps-queued`.
#[test]
fn a_timer_cancelled_exactly_while_all_are_closed_is_resolved() {
    for queued in [false, true] {
        explore("cancel exactly ∥ close", TWO, 1000, move || {
            act_while_closing(queued, |world, hand, sleeper| {
                let given_back = sleeper.cancel_exactly(world, hand);
                assert!(given_back || sleeper.node.is_none());
                None
            });
        });
    }
}

/// M7: moved while the timer is closed.
///
/// Seen to catch: `refused-keeps-queued`.
#[test]
fn a_timer_moved_while_all_are_closed_is_resolved() {
    for queued in [false, true] {
        explore("reset ∥ close", TWO, 3000, move || {
            act_while_closing(queued, |world, hand, sleeper| {
                sleeper.reset(world, hand, 4);
                None
            });
        });
    }
}

/// Polled while the timer is closed: the poll sees it, or the task is woken.
///
/// Seen to catch: `close-forgets-last-batch`.
#[test]
fn a_timer_polled_while_all_are_closed_is_resolved() {
    explore("poll ∥ close", ALL, 400, || {
        act_while_closing(false, |world, hand, sleeper| {
            sleeper.poll(world, hand);
            None
        });
    });
}

/// M10 at the end: the task moves, so its waker is replaced, while the timer is closed.
///
/// Seen to catch: `replace-finds-fired-and-waits`.
#[test]
fn a_waker_replaced_while_all_are_closed_is_woken_or_the_poll_says_fired() {
    for queued in [false, true] {
        explore("register ∥ close", ALL, 120, move || {
            let world = World::open(0);
            let mut hand = Hand::new();
            let mut first = Sleeper::armed(&world, &mut hand, if queued { 5 } else { 20 });
            let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
            let node = sleeper.node.expect("it is armed");
            let task = Sleeper::new(&world, 10);
            let poller = spawn(move || {
                let polled = node.node().register(&task.waker());
                (task, polled)
            });
            world.close(0);
            let (task, polled) = join(poller);
            assert!(polled == Polled::Fired || task.wakes() == 1, "lost wake");
            assert!(sleeper.wakes() + task.wakes() <= 1, "one wake at most");
            sleeper.cancel(&world, &mut hand);
            assert_eq!((sleeper.wakers(), task.wakers()), (0, 0));
            assert_all_closed(&world, &mut hand, &mut [&mut first]);
            assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
        });
    }
}

/// M8: armed while the timer is closed, on a node of its own or in place.
///
/// Seen to catch: `close-without-acquire`, `push-ignores-closed`, `refused-keeps-waker`.
#[test]
fn a_timer_armed_while_all_are_closed_is_refused_or_resolved() {
    explore("arm ∥ close", TWO, 3500, || {
        act_while_closing(false, |world, _, _| {
            let mut hand = Hand::new();
            let mut other = Sleeper::armed(world, &mut hand, 4);
            assert!(other.closed || other.node.is_some());
            other.cancel(world, &mut hand);
            world.shared.pool().flush(&mut hand.cache);
            Some(other)
        });
    });
    for again in [10, 4] {
        explore("cancel, arm ∥ close", TWO, 2000, move || {
            act_while_closing(false, move |world, hand, sleeper| {
                sleeper.cancel(world, hand);
                let mut next = Sleeper::new(world, again);
                next.generation = 0;
                next.arm(world, hand);
                Some(next)
            });
        });
    }
}

/// A push of an old generation that comes late, into inboxes that are open again, is refused, and
/// its node is as good as any afterwards.
///
/// Seen to catch: `late-push-not-rung-for`, `late-push-unnoticed`, `open-without-release`.
#[test]
fn a_timer_of_an_ended_generation_is_refused_after_the_next_has_begun() {
    explore("arm old ∥ close, open", TWO, 12000, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut sleeper = Sleeper::new(&world, 10);
        let armer = {
            let world = Arc::clone(&world);
            spawn(move || {
                sleeper.arm(&world, &mut hand);
                (sleeper, hand)
            })
        };
        world.close(0);
        world.reopen();
        let (mut sleeper, mut hand) = join(armer);
        assert_all_closed(&world, &mut hand, &mut [&mut sleeper]);
        let mut next = Sleeper::armed(&world, &mut hand, 15);
        assert_nothing_lost(&world, &mut hand, &mut [&mut next]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// The same, where the node that the old generation takes is linked in the wheel of the new one,
/// so that no push is needed and none is refused.
///
/// Seen to catch: `late-arm-in-place-unnoticed`.
#[test]
fn a_timer_of_an_ended_generation_is_refused_on_a_node_of_the_next() {
    explore("arm old in place ∥ turn", TWO, 900, || {
        let world = World::open(0);
        let mut old = Sleeper::new(&world, 20);
        world.close(0);
        world.reopen();
        let mut hand = Hand::new();
        Sleeper::armed(&world, &mut hand, 10).cancel(&world, &mut hand);
        let armer = {
            let world = Arc::clone(&world);
            spawn(move || {
                old.arm(&world, &mut hand);
                (old, hand)
            })
        };
        world.set_clock(10);
        world.turn();
        let (mut old, mut hand) = join(armer);
        assert_all_closed(&world, &mut hand, &mut [&mut old]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// Closed by two, and while a turn fires: all is resolved, by whoever gets there.
///
/// Seen to catch: `close-leaves-the-wheel`.
#[test]
fn a_timer_closed_during_a_turn_resolves_everything() {
    explore("turn ∥ close", TWO, 1500, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut one = Sleeper::armed(&world, &mut hand, 10);
        let mut two = Sleeper::armed(&world, &mut hand, 5);
        world.set_clock(5);
        let turner = {
            let world = Arc::clone(&world);
            spawn(move || {
                world.ring_alarm();
            })
        };
        world.close(0);
        world.close(0);
        join(turner);
        assert_all_closed(&world, &mut hand, &mut [&mut one, &mut two]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}
