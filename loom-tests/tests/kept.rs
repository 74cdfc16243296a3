//! A timer that is cancelled with its waker kept, and armed again with it, while the turn has its
//! node in hand: the waker is woken for the timer it is armed for, or dropped once.

#![cfg(loom)]

use std::sync::Arc;

use loom_tests::{ALL, TWO, explore, join, spawn};
use loom_tests::{Hand, Sleeper, World};
use loom_tests::{assert_all_closed, assert_nodes_are_free, assert_nothing_lost};

/// A world with a timer that lies in the wheel, or still in the inbox behind another.
fn world(queued: bool) -> (Arc<World>, Hand, Sleeper, Option<Sleeper>) {
    let world = World::open(0);
    let mut hand = Hand::new();
    let first = queued.then(|| Sleeper::armed(&world, &mut hand, 5));
    let sleeper = Sleeper::armed(&world, &mut hand, 10);
    (world, hand, sleeper, first)
}

/// The end of the thread whose hand this is.
fn end(world: &World, hand: &mut Hand) {
    drop(world.shared.flush(&mut hand.cache));
}

/// Cancels a timer, and arms it again for `again` or ends the thread, while another turns at
/// `clock`.
fn keep_while_turning(queued: bool, clock: u64, again: Option<u64>) {
    let (world, mut hand, mut sleeper, mut first) = world(queued);
    world.set_clock(clock);
    let user = {
        let world = Arc::clone(&world);
        spawn(move || {
            let kept = sleeper.cancel_and_keep(&world, &mut hand);
            match again {
                Some(deadline) => sleeper.rearm(&world, &mut hand, deadline),
                None => end(&world, &mut hand),
            }
            (sleeper, hand, kept)
        })
    };
    world.turn();
    let (mut sleeper, mut hand, kept) = join(user);
    // What does not fit in its place was armed elsewhere, and the waker is still kept.
    end(&world, &mut hand);
    let mut pending: Vec<&mut Sleeper> = Vec::new();
    if again.is_some() {
        pending.push(&mut sleeper);
    } else {
        assert_eq!(sleeper.wakers(), 0, "its waker is gone");
        assert_eq!(sleeper.wakes(), u32::from(!kept), "either woken or kept");
    }
    pending.extend(first.as_mut());
    assert_nothing_lost(&world, &mut hand, &mut pending);
    world.set_clock(1 << 20);
    world.turn();
    assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
}

/// Armed again while the turn looks at the node, which is due.
///
/// Seen to catch: `kept-looked-at-as-idle`, `kept-taken-without-firing`, `rearm-ignores-taken`.
#[test]
fn a_kept_timer_armed_again_while_the_turn_looks_is_not_lost() {
    for again in [10, 12, 30] {
        explore("keep, arm ∥ look", TWO, 100, move || {
            keep_while_turning(false, 10, Some(again));
        });
    }
}

/// Armed again, for an earlier deadline than the one it was moved to, while the turn looks.
///
/// Seen to catch: `rearm-without-release`.
#[test]
fn a_kept_timer_armed_again_for_an_earlier_deadline_is_not_lost() {
    for again in [10, 12] {
        explore("move, keep, arm ∥ look", TWO, 100, move || {
            let (world, mut hand, mut sleeper, _) = world(false);
            world.turn();
            sleeper.reset(&world, &hand, 30);
            world.set_clock(10);
            let user = {
                let world = Arc::clone(&world);
                spawn(move || {
                    sleeper.cancel_and_keep(&world, &mut hand);
                    sleeper.rearm(&world, &mut hand, again);
                    (sleeper, hand)
                })
            };
            world.turn();
            let (mut sleeper, mut hand) = join(user);
            end(&world, &mut hand);
            assert_nothing_lost(&world, &mut hand, &mut [&mut sleeper]);
        });
    }
}

/// Armed again while the turn takes the node out of the inbox.
///
/// Seen to catch: `drained-forgets-kept`.
#[test]
fn a_kept_timer_armed_again_while_it_is_drained_is_not_lost() {
    for again in [10, 7, 20] {
        explore("keep, arm ∥ drain", TWO, 100, move || {
            keep_while_turning(true, 0, Some(again));
        });
    }
}

/// Armed again before the next deadline while its node waits in the inbox, and nobody else turns.
///
/// Seen to catch: `rearm-does-not-ring`.
#[test]
fn a_kept_timer_armed_again_before_the_next_deadline_while_it_is_queued_is_not_lost() {
    for again in [3, 7, 20] {
        explore("keep, arm earlier ∥ arm", ALL, 6, move || {
            let world = World::open(0);
            let mut hand = Hand::new();
            let mut first = Sleeper::armed(&world, &mut hand, 5);
            let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
            assert!(sleeper.cancel_and_keep(&world, &mut hand), "it is kept");
            let user = {
                let world = Arc::clone(&world);
                spawn(move || {
                    sleeper.rearm(&world, &mut hand, again);
                    (sleeper, hand)
                })
            };
            let mut other = Hand::new();
            let mut late = Sleeper::armed(&world, &mut other, 40);
            let (mut sleeper, mut hand) = join(user);
            end(&world, &mut hand);
            let mut all = [&mut sleeper, &mut first, &mut late];
            assert_nothing_lost(&world, &mut hand, &mut all);
            world.set_clock(1 << 20);
            world.turn();
            assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
        });
    }
}

/// The thread ends, and drops what it kept, while the turn takes it.
///
/// Seen to catch: `retired-not-freed`.
#[test]
fn a_kept_waker_is_dropped_once_when_its_thread_ends() {
    for (queued, clock) in [(false, 10), (true, 0)] {
        explore("keep, end ∥ turn", ALL, 50, move || {
            keep_while_turning(queued, clock, None);
        });
    }
}

/// The kept waker is given up, and the thread arms another timer, perhaps on the same node, while
/// the turn takes that waker.
///
/// Seen to catch: `release-ignores-firing`.
#[test]
fn a_node_is_not_given_back_while_the_turn_takes_its_kept_waker() {
    explore("keep, release, arm ∥ look", TWO, 50, || {
        let (world, mut hand, mut sleeper, _) = world(false);
        world.turn();
        world.set_clock(10);
        let user = {
            let world = Arc::clone(&world);
            spawn(move || {
                sleeper.cancel_and_keep(&world, &mut hand);
                end(&world, &mut hand);
                let next = Sleeper::armed(&world, &mut hand, 40);
                (sleeper, next, hand)
            })
        };
        world.turn();
        let (sleeper, mut next, mut hand) = join(user);
        assert_eq!(sleeper.wakers(), 0, "its waker is gone");
        assert_nothing_lost(&world, &mut hand, &mut [&mut next]);
        world.set_clock(1 << 20);
        world.turn();
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// The bucket of a node that keeps a waker is swept for the sake of another timer.
///
/// Seen to catch: `sweep-forgets-waker`.
#[test]
fn a_kept_waker_is_dropped_when_its_bucket_is_swept() {
    for again in [None, Some(31), Some(28)] {
        explore("keep, arm ∥ sweep", TWO, 6, move || {
            let world = World::open(0);
            let mut hand = Hand::new();
            let mut sleeper = Sleeper::armed(&world, &mut hand, 31);
            let mut other = Sleeper::armed(&world, &mut hand, 29);
            world.turn();
            world.set_clock(29);
            let user = {
                let world = Arc::clone(&world);
                spawn(move || {
                    sleeper.cancel_and_keep(&world, &mut hand);
                    if let Some(deadline) = again {
                        sleeper.rearm(&world, &mut hand, deadline);
                    }
                    (sleeper, hand)
                })
            };
            world.turn();
            let (mut sleeper, mut hand) = join(user);
            assert_nothing_lost(&world, &mut hand, &mut [&mut other]);
            // At the latest the turn at the time of its place takes it.
            world.set_clock(31);
            world.turn();
            sleeper.poll_if_woken(&world, &mut hand);
            assert_eq!(sleeper.wakers(), 0, "its waker is gone");
            end(&world, &mut hand);
            world.set_clock(1 << 20);
            world.turn();
            assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
        });
    }
}

/// The timer is closed while a waker is kept, and used again: nothing of it stays behind.
///
/// Seen to catch: `close-forgets-kept`.
#[test]
fn a_kept_waker_is_dropped_when_the_timer_is_closed() {
    for (queued, again) in [
        (false, None),
        (true, None),
        (false, Some(12)),
        (true, Some(12)),
    ] {
        explore("keep, arm ∥ close", TWO, 50, move || {
            let (world, mut hand, mut sleeper, first) = world(queued);
            let user = {
                let world = Arc::clone(&world);
                spawn(move || {
                    sleeper.cancel_and_keep(&world, &mut hand);
                    if let Some(deadline) = again {
                        sleeper.rearm(&world, &mut hand, deadline);
                    }
                    (sleeper, hand)
                })
            };
            world.close(0);
            let (mut sleeper, mut hand) = join(user);
            let mut all = vec![&mut sleeper];
            let mut first = first;
            all.extend(first.as_mut());
            assert_all_closed(&world, &mut hand, &mut all);
            end(&world, &mut hand);
            assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
        });
    }
}
