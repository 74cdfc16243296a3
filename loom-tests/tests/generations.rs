//! A timer that ends and begins again: one generation at a time, and each knows its own end.

#![cfg(loom)]

use std::sync::Arc;

use cogwheel::Tick;
use loom_tests::{ALL, TWO, explore, join, spawn};
use loom_tests::{Hand, Sleeper, World};
use loom_tests::{assert_all_closed, assert_nodes_are_free, assert_nothing_lost};

/// Closed by two threads at once: one of them has done it, and the next generation is open.
///
/// Seen to catch: `close-looks-before-the-lock`.
#[test]
fn a_timer_closed_by_two_threads_ends_one_generation() {
    explore("close ∥ close", ALL, 80, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
        let closer = {
            let world = Arc::clone(&world);
            spawn(move || world.close(0))
        };
        let mine = world.close(0);
        let theirs = join(closer);
        assert!(mine != theirs, "one of both has closed it");
        assert_eq!(world.shared.generation(), 1);
        assert_all_closed(&world, &mut hand, &mut [&mut sleeper]);
        world.reopen();
        let mut next = Sleeper::armed(&world, &mut hand, 5);
        assert_nothing_lost(&world, &mut hand, &mut [&mut next]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// Asks for the end of the first generation, once that is over, while that and perhaps some after it
/// are closed, each `at` its time. A sleep of the first that was due by the answer completes.
fn ask_while_closing(at: &[u64]) -> Option<Tick> {
    let world = World::open(0);
    let asker = {
        let world = Arc::clone(&world);
        spawn(move || {
            let shared = &world.shared;
            shared.is_closed(0).then(|| shared.end(0))
        })
    };
    for (generation, &end) in (0..).zip(at) {
        if generation > 0 {
            world.reopen();
        }
        world.set_clock(end);
        world.close(generation);
        assert_eq!(world.shared.end(generation), Tick::new(end));
    }
    join(asker)
}

/// Whoever finds a generation closed finds when that was.
///
/// Seen to catch: `end-published-too-late`.
#[test]
fn a_generation_that_is_over_has_its_end() {
    explore("end ∥ close", ALL, 30, || {
        let end = ask_while_closing(&[10]);
        assert!(end.is_none_or(|end| end == Tick::new(10)), "{end:?}");
    });
}

/// Whoever an inbox refuses finds the generation over, and when that was: a sleep that was due by
/// then completes, and is not told that its timer is closed.
///
/// Seen to catch: `refused-without-acquire`.
#[test]
fn a_timer_that_an_inbox_refuses_finds_the_end_of_its_generation() {
    explore("arm, end ∥ close", TWO, 900, || {
        let world = World::open(0);
        world.set_clock(10);
        let armer = {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut hand = Hand::new();
                let sleeper = Sleeper::armed(&world, &mut hand, 20);
                let end = sleeper.closed.then(|| world.shared.end(0));
                (sleeper, hand, end)
            })
        };
        world.close(0);
        let (mut sleeper, mut hand, end) = join(armer);
        assert!(end.is_none_or(|end| end == Tick::new(10)), "{end:?}");
        assert_all_closed(&world, &mut hand, &mut [&mut sleeper]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand]);
    });
}

/// The end of a later generation, on a clock of its own perhaps, is never taken for that of an
/// earlier one: its sleeps would complete that were cut short.
///
/// Seen to catch: `end-in-one-place`, `end-read-too-late`, `end-without-release`.
#[test]
fn the_end_of_a_generation_is_its_own_or_unknown() {
    for at in [&[10, 20][..], &[10, 20, 30]] {
        explore("end ∥ close, open, close", TWO, 160, move || {
            let end = ask_while_closing(at);
            let known = [Tick::new(10), Tick::ZERO];
            assert!(end.is_none_or(|end| known.contains(&end)), "{end:?}");
        });
    }
}
