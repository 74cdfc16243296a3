//! One sleep over its whole life, polled while another thread turns.

#![cfg(loom)]

use std::sync::Arc;

use loom_tests::{Hand, Sleeper, World, assert_nodes_are_free, assert_nothing_lost};
use loom_tests::{TWO, explore, join, spawn};

/// Polled, moved to `moved` and polled again, whether or not it was woken, while time passes its
/// deadline and what it was moved to. It completes once, never early (`Sleeper::poll` looks at the
/// clock), and no wake is lost.
///
/// Seen to catch: `register-ignores-fired`.
#[test]
fn a_sleep_polled_and_moved_while_another_thread_turns_completes_once() {
    for (moved, turns) in [(8, &[10][..]), (12, &[10, 12])] {
        explore("poll, move, poll ∥ turns", TWO, 40000, move || {
            let world = World::open(0);
            let mut hand = Hand::new();
            let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
            let task = {
                let world = Arc::clone(&world);
                spawn(move || {
                    sleeper.poll(&world, &mut hand);
                    if !sleeper.done {
                        sleeper.reset(&world, &hand, moved);
                    }
                    sleeper.poll(&world, &mut hand);
                    (sleeper, hand)
                })
            };
            for &now in turns {
                world.set_clock(now);
                world.turn();
            }
            let (mut sleeper, mut hand) = join(task);
            assert_nothing_lost(&world, &mut hand, &mut [&mut sleeper]);
            assert!(sleeper.done && !sleeper.closed);
            assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
        });
    }
}
