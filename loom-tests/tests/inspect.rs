//! The next deadline, asked for exactly while timers are used: the answer was right at some moment,
//! and asking changes nothing.

#![cfg(loom)]

use std::sync::Arc;

use cogwheel::Tick;
use loom_tests::{Hand, Sleeper, World, assert_nodes_are_free, assert_nothing_lost};
use loom_tests::{TWO, explore, join, spawn};

/// Asks for the next deadline while another thread does `act` with a timer of 10, which lies in the
/// wheel. The answer is one of `answers`.
fn ask_while(act: impl FnOnce(&World, &mut Hand, &mut Sleeper) + 'static, answers: &[Option<u64>]) {
    let world = World::open(0);
    let mut hand = Hand::new();
    let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
    let user = {
        let world = Arc::clone(&world);
        spawn(move || {
            act(&world, &mut hand, &mut sleeper);
            (sleeper, hand)
        })
    };
    let next = world.next_exactly(0).map(Tick::count);
    let (mut sleeper, mut hand) = join(user);
    assert!(answers.contains(&next), "{next:?} is none of {answers:?}");
    assert_eq!(sleeper.wakes(), 0, "nothing was due");
    let last = world.next_exactly(0).map(Tick::count);
    let waits = sleeper.node.map(|_| sleeper.deadline.count());
    assert_eq!(last, waits, "when all is quiet the answer is exact");
    assert_nothing_lost(&world, &mut hand, &mut [&mut sleeper]);
    world.set_clock(1 << 20);
    world.turn();
    assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
}

/// The timer is moved, either way.
///
/// Seen to catch: `inspect-forgets-the-moved`.
#[test]
fn a_timer_moved_while_the_next_deadline_is_asked_for_is_not_lost() {
    for moved in [8, 20] {
        explore("next ∥ reset", TWO, 10, move || {
            ask_while(
                move |world, hand, sleeper| sleeper.reset(world, hand, moved),
                &[Some(10), Some(moved)],
            );
        });
    }
}

/// The timer is cancelled, or cancelled and armed again in its place or in another.
///
/// Seen to catch: `inspect-trusts-the-wheel`.
#[test]
fn a_timer_cancelled_while_the_next_deadline_is_asked_for_is_no_answer_for_long() {
    explore("next ∥ cancel", TWO, 5, || {
        ask_while(
            |world, hand, sleeper| {
                sleeper.cancel(world, hand);
            },
            &[Some(10), None],
        );
    });
    for again in [8, 20] {
        explore("next ∥ cancel, arm", TWO, 900, move || {
            ask_while(
                move |world, hand, sleeper| {
                    sleeper.cancel(world, hand);
                    sleeper.deadline = Tick::new(again);
                    sleeper.arm(world, hand);
                },
                &[Some(10), None, Some(again)],
            );
        });
    }
}
