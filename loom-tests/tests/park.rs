//! A timer that is armed while the driver goes to sleep: one of the two notices.

#![cfg(loom)]

use std::sync::Arc;

use cogwheel::Tick;
use cogwheel::loom_only::inbox::Pushed;
use loom_tests::{ALL, THREE, TWO, explore, join, spawn};
use loom_tests::{Hand, Sleeper, World, assert_nodes_are_free, assert_nothing_lost};

/// Arms `deadline` on another thread while a turn goes to sleep until `until`, in a world that
/// slept until `before`. A turn that parks finds the node, or the push finds that it has to ring.
fn push_while_parking(before: u64, until: u64, deadline: u64) {
    let world = World::open(0);
    let shared = &world.shared;
    shared.bell().publish(Tick::new(before));
    for inbox in shared.inboxes() {
        inbox.park();
    }
    let mut hand = Hand::new();
    let inbox = shared.inboxes().next().expect("there is one");
    // What the turn has come for.
    let first = shared.pool().take(&mut hand.cache, Tick::ZERO);
    let _ = inbox.push(first, first.node());
    let id = shared.pool().take(&mut hand.cache, Tick::ZERO);
    let pusher = {
        let world = Arc::clone(&world);
        spawn(move || {
            let shared = &world.shared;
            let sleeper = Sleeper::new(&world, deadline);
            let node = id.node();
            let _ = node.arm(sleeper.deadline, sleeper.waker());
            let inbox = shared.inboxes().next().expect("there is one");
            match inbox.push(id, node) {
                Pushed::Parked => (sleeper.deadline < shared.bell().deadline(), sleeper),
                Pushed::Seen => (false, sleeper),
                Pushed::Closed => unreachable!("it is open"),
            }
        })
    };
    let taken = inbox.take_all(shared.pool().pages()).count();
    shared.bell().publish(Tick::new(until));
    let empty = inbox.park();
    let (rang, sleeper) = join(pusher);
    assert!(
        taken == 2 || !empty || rang || until <= deadline,
        "asleep until {until}, and nobody rang for {deadline}"
    );
    drop(id.node().cancel());
    assert_eq!(sleeper.wakers(), 0);
}

/// Counting what lies in an inbox follows links that were written before.
///
/// Seen to catch: `count-without-acquire`.
#[test]
fn a_count_of_an_inbox_sees_whole_pushes() {
    explore("push ∥ count", ALL, 50, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let ids = [10, 20].map(|deadline| {
            let id = world.shared.pool().take(&mut hand.cache, Tick::ZERO);
            (id, deadline)
        });
        let pusher = {
            let world = Arc::clone(&world);
            spawn(move || {
                let inbox = world.shared.inboxes().next().expect("there is one");
                ids.map(|(id, deadline)| {
                    let sleeper = Sleeper::new(&world, deadline);
                    let _ = id.node().arm(sleeper.deadline, sleeper.waker());
                    let _ = inbox.push(id, id.node());
                    sleeper
                })
            })
        };
        // Whoever counts holds the turn lock, so nothing is taken out meanwhile.
        let inbox = world.shared.inboxes().next().expect("there is one");
        let pages = world.shared.pool().pages();
        let seen = inbox.count(pages);
        let later = inbox.count(pages);
        assert!(seen <= later && later <= 2, "{seen} and then {later}");
        let sleepers = join(pusher);
        assert_eq!(inbox.count(pages), 2);
        for ((id, _), sleeper) in ids.iter().zip(&sleepers) {
            drop(id.node().cancel());
            assert_eq!(sleeper.wakers(), 0);
        }
    });
}

/// M1 at its core: the push sees the bit, or the turn sees the node.
///
/// Seen to catch: `park-without-look`.
#[test]
fn a_push_and_a_parking_turn_never_miss_each_other() {
    explore("push ∥ park", ALL, 50, || {
        push_while_parking(100, 100, 10);
    });
}

/// A push that sees the bit sees the deadline that was published with it.
///
/// Seen to catch: `park-without-release`, `push-without-acquire`.
#[test]
fn a_push_that_finds_the_park_bit_finds_its_deadline() {
    explore("deadline moves later", ALL, 50, || {
        push_while_parking(5, 100, 10);
    });
    explore("deadline moves earlier", ALL, 50, || {
        push_while_parking(100, 5, 10);
    });
}

/// M1 with two pushes: each is taken, seen by the turn that parks, or told to ring; none is lost.
///
/// Seen to catch: `take-all-in-two-steps`.
#[test]
fn two_pushes_and_a_parking_turn_never_miss_each_other() {
    explore("push ∥ push ∥ park", THREE, 400, || {
        let world = World::open(0);
        let shared = &world.shared;
        let pages = shared.pool().pages();
        let inbox = shared.inboxes().next().expect("there is one");
        // A turn is under way: it has taken something, which has cleared the bit.
        let mut hand = Hand::new();
        let other = shared.pool().take(&mut hand.cache, Tick::ZERO);
        assert_eq!(inbox.push(other, other.node()), Pushed::Parked);
        assert_eq!(inbox.take_all(pages).count(), 1);
        let pushers = [10, 20].map(|deadline| {
            let world = Arc::clone(&world);
            let id = shared.pool().take(&mut hand.cache, Tick::ZERO);
            let pusher = spawn(move || {
                let sleeper = Sleeper::new(&world, deadline);
                let _ = id.node().arm(sleeper.deadline, sleeper.waker());
                let inbox = world.shared.inboxes().next().expect("there is one");
                let pushed = inbox.push(id, id.node());
                (sleeper, pushed)
            });
            (id, pusher)
        });
        let taken: Vec<_> = inbox.take_all(pages).map(|(id, _)| id).collect();
        shared.bell().publish(Tick::new(100));
        let empty = inbox.park();
        let pushed = pushers.map(|(id, pusher)| (id, join(pusher)));
        let left: Vec<_> = inbox.take_all(pages).map(|(id, _)| id).collect();
        for (id, (sleeper, pushed)) in pushed {
            let first = taken.iter().filter(|&&node| node == id).count();
            let later = left.iter().filter(|&&node| node == id).count();
            assert_eq!(first + later, 1, "it is taken once");
            assert!(
                first == 1 || !empty || pushed == Pushed::Parked,
                "asleep, and nobody rang for {sleeper:?}"
            );
            drop(id.node().cancel());
            assert_eq!(sleeper.wakers(), 0);
        }
    });
}

/// M1 with the whole turn: armed for less than the driver's next deadline while it parks.
///
/// Seen to catch: `park-not-repeated`, `publish-after-park`, `push-without-release`,
/// `take-all-without-acquire`.
#[test]
fn a_timer_armed_while_the_driver_parks_is_not_lost() {
    for (first, clock) in [(20, 0), (5, 5)] {
        explore("arm ∥ turn", TWO, 150, move || {
            let world = World::open(0);
            let mut hand = Hand::new();
            let mut one = Sleeper::armed(&world, &mut hand, first);
            let mut two = Sleeper::armed(&world, &mut hand, 20);
            world.set_clock(clock);
            let armer = {
                let world = Arc::clone(&world);
                spawn(move || {
                    let mut hand = Hand::new();
                    let sleeper = Sleeper::armed(&world, &mut hand, 10);
                    (sleeper, hand)
                })
            };
            world.turn();
            let (mut sleeper, mut theirs) = join(armer);
            let mut all = [&mut sleeper, &mut one, &mut two];
            assert_nothing_lost(&world, &mut hand, &mut all);
            assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut theirs]);
        });
    }
}

/// M2: armed while the turn crosses its deadline; it fires in that turn or in one that is rung for.
///
/// Seen to catch: `turn-goes-round-once`.
///
/// Case 14.
#[test]
fn a_timer_armed_while_time_crosses_its_deadline_is_neither_early_nor_lost() {
    explore("arm ∥ advance", TWO, 4000, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut other = Sleeper::armed(&world, &mut hand, 8);
        let armer = {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut hand = Hand::new();
                let mut sleeper = Sleeper::armed(&world, &mut hand, 10);
                sleeper.poll_if_woken(&world, &mut hand);
                (sleeper, hand)
            })
        };
        world.set_clock(9);
        world.ring_alarm();
        world.set_clock(10);
        world.turn();
        let (mut sleeper, mut theirs) = join(armer);
        assert_nothing_lost(&world, &mut hand, &mut [&mut sleeper, &mut other]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut theirs]);
    });
}

/// Two threads with an inbox each arm while a third turns.
///
/// Seen to catch: `park-first-inbox-only`.
#[test]
fn two_threads_that_arm_during_a_turn_lose_nothing() {
    explore("arm ∥ arm ∥ turn", THREE, 20000, || {
        let world = World::with_shards(2, 0);
        let armer = |shard, deadline| {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut hand = Hand::of_shard(shard);
                let sleeper = Sleeper::armed(&world, &mut hand, deadline);
                (sleeper, hand)
            })
        };
        let (one, two) = (armer(0, 10), armer(1, 20));
        world.turn();
        let (mut first, mut hand) = join(one);
        let (mut second, mut other) = join(two);
        assert_nothing_lost(&world, &mut hand, &mut [&mut first, &mut second]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
    });
}

/// Two threads push into one inbox while a third turns.
///
/// Seen to catch: `push-links-once`.
///
/// Case 96.
#[test]
fn two_threads_that_share_an_inbox_lose_nothing() {
    explore("push ∥ push ∥ turn", THREE, 20000, || {
        let world = World::open(0);
        let armer = |deadline| {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut hand = Hand::new();
                let sleeper = Sleeper::armed(&world, &mut hand, deadline);
                (sleeper, hand)
            })
        };
        let (one, two) = (armer(10), armer(20));
        world.turn();
        let (mut first, mut hand) = join(one);
        let (mut second, mut other) = join(two);
        assert_nothing_lost(&world, &mut hand, &mut [&mut first, &mut second]);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
    });
}

/// Of two pushes into an inbox of a driver that sleeps, the first need not ring, the second must.
///
/// Seen to catch: `park-bit-dropped-by-push`.
#[test]
fn a_push_that_need_not_ring_leaves_the_park_bit_to_the_next() {
    explore("push ∥ push", TWO, 400, || {
        let world = World::open(0);
        let mut hand = Hand::new();
        let mut first = Sleeper::armed(&world, &mut hand, 15);
        let armer = {
            let world = Arc::clone(&world);
            spawn(move || {
                let mut hand = Hand::new();
                let sleeper = Sleeper::armed(&world, &mut hand, 10);
                (sleeper, hand)
            })
        };
        let mut second = Sleeper::armed(&world, &mut hand, 20);
        let (mut third, mut other) = join(armer);
        let mut all = [&mut first, &mut second, &mut third];
        assert_nothing_lost(&world, &mut hand, &mut all);
        assert_nodes_are_free(world.shared.pool(), &mut [&mut hand, &mut other]);
    });
}
