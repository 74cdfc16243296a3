//! A sleep without Tokio, the thread that it runs on, and what must hold when all is quiet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Wake, Waker};

use cogwheel::Tick;
use cogwheel::loom_only::node::Polled;
use cogwheel::loom_only::pool::{Cache, NodeId, Pool};
use cogwheel::loom_only::shared::{Armed, How, Refused};
use cogwheel::primitive::{AtomicU32, Ordering};

use crate::world::World;

/// What a thread keeps.
#[derive(Debug, Default)]
pub struct Hand {
    /// Idle nodes.
    pub cache: Cache,
    /// The inbox it pushes into.
    pub shard: usize,
}

impl Hand {
    /// A thread that pushes into the first inbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// A thread that pushes into this inbox.
    pub fn of_shard(shard: usize) -> Self {
        Self {
            shard,
            ..Self::default()
        }
    }
}

/// Counts wake-ups. A task that is woken comes after the thread that woke it, so loom sees this.
#[derive(Debug)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// A sleep: one deadline, one task, at most one node.
#[derive(Debug)]
pub struct Sleeper {
    /// When it is to complete.
    pub deadline: Tick,
    /// The generation it belongs to.
    pub generation: u32,
    /// Its node, while it is armed or has fired and was not polled.
    pub node: Option<NodeId>,
    /// Whether it completed.
    pub done: bool,
    /// Whether it found the timer closed.
    pub closed: bool,
    wakes: Arc<Wakes>,
    /// Spare references, so that a waker that is dropped twice shows in their count.
    spare: [Arc<Wakes>; 2],
    polled: u32,
}

impl Sleeper {
    /// One that is not armed yet.
    pub fn new(world: &World, deadline: u64) -> Self {
        let wakes = Arc::new(Wakes(AtomicU32::new(0)));
        Self {
            deadline: Tick::new(deadline),
            generation: world.shared.generation(),
            node: None,
            done: false,
            closed: false,
            spare: [Arc::clone(&wakes), Arc::clone(&wakes)],
            wakes,
            polled: 0,
        }
    }

    /// One that is armed.
    pub fn armed(world: &World, hand: &mut Hand, deadline: u64) -> Self {
        let mut sleeper = Self::new(world, deadline);
        sleeper.arm(world, hand);
        sleeper
    }

    /// A waker of its task.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.wakes))
    }

    /// How often its task was woken.
    pub fn wakes(&self) -> u32 {
        self.wakes.0.load(Ordering::Acquire)
    }

    /// How many of its wakers exist.
    ///
    /// # Panics
    ///
    /// If more were dropped than made.
    pub fn wakers(&self) -> usize {
        let own = 1 + self.spare.len();
        let all = Arc::strong_count(&self.wakes);
        all.checked_sub(own).expect("no waker is dropped twice")
    }

    /// Arms it.
    ///
    /// # Panics
    ///
    /// If it is armed already.
    pub fn arm(&mut self, world: &World, hand: &mut Hand) {
        assert!(self.node.is_none());
        let waker = self.waker();
        let armed = world.shared.arm(
            &mut hand.cache,
            hand.shard,
            self.generation,
            self.deadline,
            waker,
        );
        self.follow(world, armed);
    }

    fn follow(&mut self, world: &World, armed: Result<Armed, Refused>) {
        match armed {
            Ok(armed) => {
                self.node = Some(armed.node);
                if armed.how == How::Ring {
                    world.turn();
                }
            }
            Err(Refused { waker, ring }) => {
                if ring {
                    world.turn();
                }
                drop(waker);
                self.closed = true;
            }
        }
    }

    /// Moves its deadline.
    pub fn reset(&mut self, world: &World, hand: &Hand, deadline: u64) {
        let old = std::mem::replace(&mut self.deadline, Tick::new(deadline));
        let Some(node) = self.node else { return };
        if world.shared.reset(hand.shard, node, old, self.deadline) {
            world.turn();
        }
    }

    /// Ends it; tells whether it gave its waker back.
    pub fn cancel(&mut self, world: &World, hand: &mut Hand) -> bool {
        let Some(node) = self.node.take() else {
            return false;
        };
        world.shared.cancel(&mut hand.cache, node).is_some()
    }

    /// Ends it and keeps its waker in the hand; tells whether it did.
    pub fn cancel_and_keep(&mut self, world: &World, hand: &mut Hand) -> bool {
        let Some(node) = self.node.take() else {
            return false;
        };
        let (other, _) = world.shared.cancel_and_keep(&mut hand.cache, node);
        assert!(other.is_none(), "these models keep one at a time");
        hand.cache.kept().is_some()
    }

    /// Arms it again for another deadline, with the waker that the hand keeps if it still does.
    pub fn rearm(&mut self, world: &World, hand: &mut Hand, deadline: u64) {
        self.deadline = Tick::new(deadline);
        let waker = self.waker();
        let kept = world.shared.rearm(&mut hand.cache, self.deadline, &waker);
        drop(waker);
        let Some((node, next)) = kept else {
            return self.arm(world, hand);
        };
        let armed = world.shared.follow_up(
            &mut hand.cache,
            hand.shard,
            self.generation,
            node,
            self.deadline,
            next,
        );
        self.follow(world, armed);
    }

    /// Ends it and has its node unlinked at once.
    pub fn cancel_exactly(&mut self, world: &World, hand: &mut Hand) -> bool {
        let Some(node) = self.node.take() else {
            return false;
        };
        let (waker, turn) = world
            .shared
            .cancel_exactly(&mut hand.cache, hand.shard, node);
        if turn {
            world.turn();
        }
        waker.is_some()
    }

    /// What its task does when it is woken.
    ///
    /// # Panics
    ///
    /// If it completes too early.
    pub fn poll(&mut self, world: &World, hand: &mut Hand) {
        self.polled = self.wakes();
        if self.done || self.closed {
            return;
        }
        if world.shared.is_closed(self.generation) {
            self.closed = true;
            self.cancel(world, hand);
            return;
        }
        let Some(node) = self.node else {
            return self.arm(world, hand);
        };
        let waker = self.waker();
        match node.node().register(&waker) {
            Polled::Armed => {}
            Polled::Fired if self.deadline <= world.shared.elapsed() => {
                assert!(
                    self.deadline.count() <= world.clock(),
                    "never early: {self:?}"
                );
                self.done = true;
                self.cancel(world, hand);
            }
            Polled::Fired => {
                self.cancel(world, hand);
                self.arm(world, hand);
            }
        }
    }

    /// Polls it if its task was woken since the last poll; tells whether.
    pub fn poll_if_woken(&mut self, world: &World, hand: &mut Hand) -> bool {
        let woken = self.wakes() > self.polled;
        if woken {
            self.poll(world, hand);
        }
        woken
    }

    fn is_waiting(&self) -> bool {
        self.node.is_some() && !self.done && !self.closed
    }
}

/// Lets time go by, from one published deadline to the next, until every sleeper that waits has
/// completed, and asserts that each does so in the turn of its deadline.
///
/// For one thread, after all others were joined.
///
/// # Panics
///
/// If a timer is lost: the driver sleeps past it, the alarm is not set for when the driver sleeps
/// until, or its task is not woken in the turn at its deadline.
pub fn assert_nothing_lost(world: &World, hand: &mut Hand, sleepers: &mut [&mut Sleeper]) {
    for _ in 0..16 {
        // What fired for a deadline that was moved is armed again.
        // A poll may turn the wheel, which wakes one that was polled before it.
        while sleepers
            .iter_mut()
            .any(|sleeper| sleeper.poll_if_woken(world, hand))
        {}
        if !sleepers.iter().any(|sleeper| sleeper.is_waiting()) {
            for sleeper in sleepers {
                assert_eq!(sleeper.wakers(), 0, "no waker is kept: {sleeper:?}");
            }
            return;
        }
        let parked = world.shared.bell().deadline();
        assert!(
            world.alarm() <= parked,
            "the alarm is set for {:?}, the driver sleeps until {parked:?}",
            world.alarm(),
        );
        for sleeper in sleepers.iter().filter(|sleeper| sleeper.is_waiting()) {
            assert!(
                parked <= sleeper.deadline,
                "the driver sleeps until {parked:?}, past {sleeper:?}"
            );
        }
        world.set_clock(world.alarm().count());
        assert!(world.ring_alarm());
        for sleeper in sleepers.iter().filter(|sleeper| sleeper.is_waiting()) {
            assert!(
                sleeper.deadline.count() > world.clock() || sleeper.wakes() > sleeper.polled,
                "not woken in time: {sleeper:?}"
            );
        }
    }
    panic!("the timers never end: {sleepers:?}");
}

/// Asserts that every sleeper that waits was woken when its generation ended, and finds it closed.
///
/// For one thread, after all others were joined.
///
/// # Panics
///
/// If one was not, or keeps its waker.
pub fn assert_all_closed(world: &World, hand: &mut Hand, sleepers: &mut [&mut Sleeper]) {
    for sleeper in sleepers {
        if sleeper.is_waiting() {
            assert!(
                sleeper.poll_if_woken(world, hand),
                "left behind: {sleeper:?}"
            );
            assert!(sleeper.closed || sleeper.done);
        }
        assert_eq!(sleeper.wakers(), 0, "no waker is kept: {sleeper:?}");
    }
}

/// Asserts that every node of the pool is there to be taken, and once. Call it after all timers
/// have ended and the last turn is over.
///
/// # Panics
///
/// If a node was lost or came back twice.
pub fn assert_nodes_are_free(pool: &Pool, hands: &mut [&mut Hand]) {
    for hand in hands {
        assert!(hand.cache.kept().is_none(), "let the thread end first");
        pool.flush(&mut hand.cache);
    }
    let all = pool.nodes();
    let mut cache = Cache::new();
    let free: BTreeMap<u32, NodeId> = (0..all)
        .map(|_| pool.take(&mut cache, Tick::MAX))
        .map(|node| (node.index(), node))
        .collect();
    assert_eq!(free.len(), all as usize, "no node is free twice: {free:?}");
    assert_eq!(pool.nodes(), all, "no node is lost");
    free.into_values().for_each(|node| pool.put_back(node));
}
