//! Four threads with several timers each, all of which do as they like.
//!
//! Seen to catch, of `ci/mutants`: `note-not-left`, `close-skips-inboxes`, and
//! `cancel-ignores-firing`, by which the process dies. `replace-without-lock` survives: a sleeper has
//! one waker only, and so never replaces it.

#![cfg(shuttle)]

use std::sync::Arc;

use cogwheel::primitive::{AtomicU32, Ordering};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use shuttle_tests::{Hand, Sleeper, World, explore};
use shuttle_tests::{assert_all_closed, assert_nodes_are_free, assert_nothing_lost};

const THREADS: usize = 4;
/// Timers of a thread: with those of the others they stay below what a small world has room for.
const TIMERS: usize = 3;
const ACTIONS: usize = 12;
/// Deadlines lie before this; the wheel of a small world has four slots a level.
const END: u64 = 40;

fn below(end: u64) -> u64 {
    thread_rng().gen_range(0..end)
}

/// A thread of the model, with what it has.
struct User {
    hand: Hand,
    sleepers: Vec<Sleeper>,
}

impl User {
    fn new(world: &World, shard: usize) -> Self {
        Self {
            hand: Hand::of_shard(shard),
            sleepers: (0..TIMERS)
                .map(|_| Sleeper::new(world, below(END)))
                .collect(),
        }
    }

    /// Does something with one of its timers.
    fn act(&mut self, world: &World) {
        let Self { hand, sleepers } = self;
        let n = below(TIMERS as u64) as usize;
        let sleeper = &mut sleepers[n];
        match below(8) {
            0 | 1 => sleeper.poll(world, hand),
            2 | 3 => sleeper.reset(world, hand, below(END)),
            4 => drop(sleeper.cancel(world, hand)),
            5 => drop(sleeper.cancel_exactly(world, hand)),
            6 => {
                sleeper.poll_if_woken(world, hand);
            }
            _ => keep_and_rearm(world, hand, sleeper),
        }
        if sleeper.node.is_none() && !sleeper.closed {
            // Cancelled or completed: the next timer of the same task.
            let deadline = below(END);
            *sleeper = Sleeper::new(world, deadline);
        }
    }

    fn flush(&mut self, world: &World) {
        drop(world.shared.flush(&mut self.hand.cache));
    }
}

/// Leaves the waker in the node, and arms it again.
fn keep_and_rearm(world: &World, hand: &mut Hand, sleeper: &mut Sleeper) {
    let Some(node) = sleeper.node.take() else {
        return;
    };
    let other = world.shared.cancel_and_keep(&mut hand.cache, node);
    drop(other);
    sleeper.rearm(world, hand, below(END));
}

/// Starts the threads; each gives back what it has.
fn start(
    world: &Arc<World>,
    shards: usize,
    left: &Arc<AtomicU32>,
) -> Vec<thread::JoinHandle<User>> {
    (0..THREADS)
        .map(|n| {
            let (world, left) = (Arc::clone(world), Arc::clone(left));
            thread::spawn(move || {
                let mut user = User::new(&world, n % shards);
                for _ in 0..ACTIONS {
                    user.act(&world);
                }
                left.fetch_sub(1, Ordering::AcqRel);
                user
            })
        })
        .collect()
}

/// Lets time pass until all users have ended.
fn pass_time(world: &World, left: &AtomicU32) {
    let mut now = world.clock();
    while left.load(Ordering::Acquire) > 0 {
        now = (now + below(3)).min(END);
        world.set_clock(now);
        world.ring_alarm();
        thread::yield_now();
    }
}

fn join<R>(thread: thread::JoinHandle<R>) -> R {
    thread.join().expect("a thread of the model panicked")
}

fn crowd(shards: usize) {
    let world = World::with_shards(shards, 0);
    let left = Arc::new(AtomicU32::new(THREADS as u32));
    let threads = start(&world, shards, &left);
    pass_time(&world, &left);
    let mut users: Vec<_> = threads.into_iter().map(join).collect();
    users.iter_mut().for_each(|user| user.flush(&world));
    let mut hand = Hand::new();
    let mut all: Vec<_> = users
        .iter_mut()
        .flat_map(|user| &mut user.sleepers)
        .collect();
    let waiting = all.iter_mut().filter(|sleeper| sleeper.node.is_some());
    let mut waiting: Vec<_> = waiting.map(|sleeper| &mut **sleeper).collect();
    assert_nothing_lost(&world, &mut hand, &mut waiting);
    drop(world.shared.flush(&mut hand.cache));
    let mut hands: Vec<_> = users.iter_mut().map(|user| &mut user.hand).collect();
    hands.push(&mut hand);
    world.turn();
    assert_nodes_are_free(world.shared.pool(), &mut hands);
}

/// Fire, cancel, keep and reset, all at once: nothing is early, lost or woken twice, no waker is
/// leaked or dropped twice, no node is lost.
#[test]
fn four_threads_with_three_timers_each_lose_nothing() {
    explore("crowd", || crowd(1));
}

/// The same with an inbox for every other thread.
#[test]
fn four_threads_on_two_inboxes_lose_nothing() {
    explore("crowd, two inboxes", || crowd(2));
}

/// The timer ends in the middle of it and another begins, which the old timers are strange to.
#[test]
fn four_threads_are_told_when_the_timer_is_closed() {
    explore("crowd ∥ close", || {
        let world = World::with_shards(2, 0);
        let left = Arc::new(AtomicU32::new(THREADS as u32));
        let threads = start(&world, 2, &left);
        let closer = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                for _ in 0..below(30) {
                    thread::yield_now();
                }
                world.close(0);
                world.reopen();
            })
        };
        pass_time(&world, &left);
        let mut users: Vec<_> = threads.into_iter().map(join).collect();
        join(closer);
        users.iter_mut().for_each(|user| user.flush(&world));
        let generation = world.shared.generation();
        let mut hand = Hand::new();
        let mut all: Vec<_> = users
            .iter_mut()
            .flat_map(|user| &mut user.sleepers)
            .collect();
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for sleeper in all.drain(..).filter(|sleeper| sleeper.node.is_some()) {
            if sleeper.generation == generation {
                new.push(sleeper);
            } else {
                old.push(sleeper);
            }
        }
        assert_all_closed(&world, &mut hand, &mut old);
        assert_nothing_lost(&world, &mut hand, &mut new);
        drop(world.shared.flush(&mut hand.cache));
        let mut hands: Vec<_> = users.iter_mut().map(|user| &mut user.hand).collect();
        hands.push(&mut hand);
        world.turn();
        assert_nodes_are_free(world.shared.pool(), &mut hands);
    });
}
