//! Nodes that go from thread to thread through the pool: each has one owner at a time.

#![cfg(loom)]

use std::sync::Arc;

use loom_tests::{Hand, Sleeper, World, assert_nodes_are_free, assert_nothing_lost};
use loom_tests::{TWO, explore, join, spawn};

/// Two threads take more nodes than a cache holds and give them back. What a node holds while it is
/// armed is a cell, so two owners of one would be a race.
///
/// Seen to catch: `fresh-node-in-two-steps`.
#[test]
fn a_node_that_goes_through_the_pool_has_one_owner() {
    explore("take, give back ∥ take, give back", TWO, 9000, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        // Nobody has to ring for what follows.
        let mut first = Sleeper::armed(&world, &mut hand, 5);
        let user = {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut hand = Hand::new();
                take_and_give_back(&world, &mut hand);
                hand
            })
        };
        take_and_give_back(&world, &mut hand);
        let mut other = join(user);
        assert_nothing_lost(&world, &mut hand, &mut [&mut first]);
        world.set_clock(1 << 20);
        world.turn();
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
    });
}

fn take_and_give_back(world: &World, hand: &mut Hand) {
    let mut sleepers = [10, 11, 12].map(|deadline| Sleeper::armed(world, hand, deadline));
    for sleeper in &mut sleepers {
        assert!(sleeper.cancel(world, hand), "it was not due");
        assert_eq!(sleeper.wakers(), 0);
    }
    world.shared.pool().flush(&mut hand.cache);
}
