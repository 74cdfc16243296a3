//! What the users of a timer and its driver share, and what users do with it.
//!
//! Every operation takes the calling thread's cache and shard as arguments; it runs no foreign
//! code and takes no lock, except the pool's when a cache runs empty or full.

#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

use core::task::Waker;

use crate::primitive::{AtomicU32, AtomicU64, CachePadded, Ordering};
use crate::sync::doorbell::Doorbell;
use crate::sync::inbox::{Inbox, Pushed};
use crate::sync::node::{Cancelled, Next, Node};
use crate::sync::pool::{Cache, NodeId, Pool};
use crate::tick::Tick;

/// A timer that was armed.
#[derive(Debug)]
#[must_use]
pub struct Armed {
    /// Its node.
    pub node: NodeId,
    /// What that took.
    pub how: How,
}

/// What it took to arm a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Nothing: the node was still placed early enough.
    Settled,
    /// A node was pushed; the turn takes it in time.
    Pushed,
    /// The caller has to turn the wheel now.
    Ring,
}

/// The timer is closed: nothing was armed.
#[derive(Debug)]
#[must_use]
pub struct Refused {
    /// The waker that was to be armed, to be dropped outside of every borrow.
    pub waker: Option<Waker>,
    /// Whether the caller has to turn the wheel now: the idle node may lie in an inbox of the next
    /// generation, where whoever takes it relies on its bound.
    pub ring: bool,
}

/// The nodes, the inboxes and the published times of one timer.
#[derive(Debug)]
pub struct Shared {
    pool: Pool,
    shards: Box<[CachePadded<Inbox>]>,
    bell: CachePadded<Doorbell>,
    elapsed: AtomicU64,
    generation: AtomicU32,
    /// When the latest even generation ended, and the latest odd one.
    ends: [AtomicU64; 2],
}

impl Shared {
    /// A closed timer with this many inboxes; [`open`](Self::open) lets it begin.
    pub fn new(shards: usize) -> Self {
        let shared = Self {
            pool: Pool::new(),
            shards: (0..shards).map(|_| CachePadded(Inbox::new())).collect(),
            bell: CachePadded(Doorbell::new()),
            elapsed: AtomicU64::new(0),
            generation: AtomicU32::new(0),
            ends: [AtomicU64::new(0), AtomicU64::new(0)],
        };
        for shard in &shared.shards {
            shard.0.close(shared.pool.pages()).for_each(drop);
        }
        shared
    }

    /// The nodes of this timer.
    #[inline]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The node with this index.
    #[inline]
    pub fn find(&self, index: u32) -> NodeId {
        self.pool.pages().find(index)
    }

    /// How many timers wait. Looks at every node there is.
    #[allow(dead_code, reason = "not asked by models")]
    pub fn armed(&self) -> usize {
        let nodes = (0..self.pool.nodes()).map(|index| self.find(index).node());
        nodes.filter(|node| node.waits_until().is_some()).count()
    }

    /// How many nodes wait in the inboxes. For the holder of the turn lock only.
    #[allow(dead_code, reason = "not asked by models")]
    pub fn queued(&self) -> usize {
        self.inboxes()
            .map(|inbox| inbox.count(self.pool.pages()))
            .sum()
    }

    /// The inboxes of this timer.
    #[inline]
    pub fn inboxes(&self) -> impl Iterator<Item = &Inbox> {
        self.shards.iter().map(|shard| &shard.0)
    }

    /// The deadline the driver sleeps until.
    #[inline]
    pub fn bell(&self) -> &Doorbell {
        &self.bell.0
    }

    /// The time of the latest turn: nothing with a later deadline has fired.
    #[inline]
    pub fn elapsed(&self) -> Tick {
        // ORDERING: whoever has seen FIRED (Acquire) sees the `elapsed` stored before it (I3).
        // Acquire so that who reads that of a later generation finds its own over.
        Tick::new(self.elapsed.load(Ordering::Acquire))
    }

    /// Publishes the time of a turn. For the turn only, before it fires anything.
    pub fn publish_elapsed(&self, now: Tick) {
        // ORDERING: the release that sets FIRED publishes it. Release for those that ask whether
        // their generation is over: it was retired before the next one has a time.
        self.elapsed.store(now.count(), Ordering::Release);
    }

    /// Publishes the time at which the current generation ends. For the turn only, before it
    /// retires that generation.
    pub fn publish_end(&self, end: Tick) {
        // ORDERING: `retire_generation` publishes it to those that ask for this end. Release for
        // those that ask for the last but one, which stood here: they find that a generation more
        // is over by now.
        self.end_of(self.generation())
            .store(end.count(), Ordering::Release);
    }

    /// When `generation`, which has ended, did: what fired later did so because of that. The origin if
    /// that is not known any more.
    pub fn end(&self, generation: u32) -> Tick {
        // ORDERING: Acquire pairs with `publish_end`. Read in this order, so that an end that was
        // written over is noticed.
        let end = self.end_of(generation).load(Ordering::Acquire);
        if self.generation() == generation.wrapping_add(1) {
            Tick::new(end)
        } else {
            Tick::ZERO
        }
    }

    /// Where the end of this generation stands until the one after the next ends. Not in the same
    /// place as that of the next, which is written while this one is still the latest to have ended.
    fn end_of(&self, generation: u32) -> &AtomicU64 {
        &self.ends[(generation % 2) as usize]
    }

    /// The generation that is open now, or was open last.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether the timer that began with this generation has ended.
    #[inline]
    pub fn is_closed(&self, generation: u32) -> bool {
        // ORDERING: Acquire pairs with `retire_generation`, so that a late push into the inboxes
        // of the next generation is recognised by the pusher.
        self.generation.load(Ordering::Acquire) != generation
    }

    /// Ends the current generation. For the turn only.
    pub fn retire_generation(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Begins the current generation at `now`. For the turn only.
    pub fn open(&self, now: Tick) {
        self.publish_elapsed(now);
        self.bell().publish(Tick::MAX);
        for inbox in self.inboxes() {
            inbox.open();
        }
    }
}

// === what a user does ===

impl Shared {
    /// Arms a timer.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the generation has ended.
    #[inline]
    pub fn arm(
        &self,
        cache: &mut Cache,
        shard: usize,
        generation: u32,
        deadline: Tick,
        waker: Waker,
    ) -> Result<Armed, Refused> {
        let id = self.pool.take(cache, deadline);
        let next = id.node().arm(deadline, waker);
        self.follow_up(cache, shard, generation, id, deadline, next)
    }

    /// Arms a timer on the node that keeps this very waker, if there is one and its place is early
    /// enough. The caller goes on with [`follow_up`](Self::follow_up).
    #[inline]
    pub fn rearm(
        &self,
        cache: &mut Cache,
        deadline: Tick,
        waker: &Waker,
    ) -> Option<(NodeId, Next)> {
        let id = cache.kept()?;
        let node = id.node();
        if !node.will_wake(waker) || !node.fits(deadline) {
            return None;
        }
        let next = match node.rearm(deadline)? {
            Next::Ring if !self.bell().rings(deadline) => Next::Settled,
            next => next,
        };
        cache.take_kept();
        Some((id, next))
    }

    /// Does what the arming of a node asks for.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the generation has ended.
    #[inline]
    pub fn follow_up(
        &self,
        cache: &mut Cache,
        shard: usize,
        generation: u32,
        id: NodeId,
        deadline: Tick,
        next: Next,
    ) -> Result<Armed, Refused> {
        let node = id.node();
        let Ok(ring) = self.follow(shard, id, node, deadline, next) else {
            return self.undo(cache, id, node);
        };
        if self.is_closed(generation) {
            // It was armed among the timers of a later generation, in place or by a push. That
            // went through a word which the later generation wrote, so the load above sees it.
            let waker = self.cancel(cache, id);
            return Err(Refused { waker, ring });
        }
        let how = match next {
            _ if ring => How::Ring,
            Next::Push => How::Pushed,
            _ => How::Settled,
        };
        Ok(Armed { node: id, how })
    }

    /// Moves the deadline of an armed timer; tells whether the caller has to turn the wheel.
    #[inline]
    pub fn reset(&self, shard: usize, id: NodeId, old: Tick, new: Tick) -> bool {
        let node = id.node();
        match node.reset(old, new) {
            Next::Settled => false,
            // A closed timer resolves what is linked by itself.
            next => self
                .follow(shard, id, node, new, next)
                .unwrap_or_else(|Closed| {
                    let waker = node.refused();
                    debug_assert!(waker.is_none(), "an armed node is linked");
                    false
                }),
        }
    }

    /// Ends a timer and gives back its waker, if it had not fired.
    #[inline]
    pub fn cancel(&self, cache: &mut Cache, id: NodeId) -> Option<Waker> {
        self.put(cache, id, id.node().cancel())
    }

    /// Ends a timer and keeps its waker in the cache, for [`rearm`](Self::rearm). Gives back a
    /// waker that is kept no longer, and tells whether the timer had not fired.
    #[inline]
    pub fn cancel_and_keep(&self, cache: &mut Cache, id: NodeId) -> (Option<Waker>, bool) {
        let ended = if cache.wants_kept() {
            id.node().cancel_and_keep()
        } else {
            id.node().cancel()
        };
        if !matches!(ended, Cancelled::Kept) {
            let waker = self.put(cache, id, ended);
            let waited = waker.is_some();
            return (waker, waited);
        }
        let unused = cache.keep(id);
        let waker = unused.and_then(|unused| self.put(cache, unused, unused.node().release()));
        (waker, true)
    }

    /// Empties a cache. Gives back the waker that it kept.
    pub fn flush(&self, cache: &mut Cache) -> Option<Waker> {
        let waker = cache
            .take_kept()
            .and_then(|id| self.put(cache, id, id.node().release()));
        self.pool.flush(cache);
        waker
    }

    #[inline]
    fn put(&self, cache: &mut Cache, id: NodeId, ended: Cancelled) -> Option<Waker> {
        match ended {
            Cancelled::Owned(waker) => {
                self.pool.put(cache, id);
                waker
            }
            Cancelled::Kept | Cancelled::Abandoned => None,
        }
    }

    /// As [`cancel`](Self::cancel), and asks the turn to unlink the node at once; tells whether
    /// the caller has to turn the wheel.
    pub fn cancel_exactly(
        &self,
        cache: &mut Cache,
        shard: usize,
        id: NodeId,
    ) -> (Option<Waker>, bool) {
        let node = id.node();
        let Cancelled::Owned(waker) = node.cancel() else {
            return (None, false);
        };
        let turn = match node.retire() {
            Next::Settled => false,
            next => match self.follow(shard, id, node, Tick::ZERO, next) {
                Ok(_) => true,
                Err(Closed) => {
                    node.refused();
                    false
                }
            },
        };
        self.pool.put(cache, id);
        (waker, turn)
    }

    /// Does what a change of a node asks for; tells whether the driver must be woken.
    #[inline]
    fn follow(
        &self,
        shard: usize,
        id: NodeId,
        node: &Node,
        deadline: Tick,
        next: Next,
    ) -> Result<bool, Closed> {
        match next {
            Next::Settled => Ok(false),
            Next::Ring => Ok(self.bell().rings(deadline)),
            Next::Push => match self.shards[shard].0.push(id, node) {
                Pushed::Seen => Ok(false),
                Pushed::Parked => Ok(self.bell().rings(deadline)),
                Pushed::Closed => Err(Closed),
            },
        }
    }

    #[cold]
    fn undo(&self, cache: &mut Cache, id: NodeId, node: &Node) -> Result<Armed, Refused> {
        let waker = match node.refused() {
            Some(waker) => {
                self.pool.put(cache, id);
                Some(waker)
            }
            None => self.cancel(cache, id),
        };
        Err(Refused { waker, ring: false })
    }

    /// How many inboxes there are.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }
}

/// The inbox has been closed.
#[derive(Debug)]
struct Closed;
