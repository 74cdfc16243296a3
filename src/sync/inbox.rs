//! The insertion queue: many threads push nodes, the turn takes all at once.
//!
//! A shard is one word: the newest node of a stack that is linked through the nodes, and two flag
//! bits. A push is one exchange of that word, and so is taking all; there is no ABA, because a
//! push links to whatever the word says, and nothing pops a single node.
//!
//! `PARKED` lies in the same word so that the push itself learns whether the driver sleeps. Were
//! it a flag of its own, pusher and driver would have to store one word and then read the other,
//! each with a fence in between; so, the exchange orders them: either the driver's
//! [`park`](Inbox::park) finds the node, or the push finds the bit.
//!
//! The shape, push and take-all, is Treiber's stack without its pop (R. K. Treiber, "Systems
//! Programming: Coping with Parallelism", 1986).

use crate::primitive::{AtomicU64, Ordering};
use crate::sync::node::Node;
use crate::sync::pool::{NodeId, Pages};

const PARKED: u64 = 1 << 32;
const CLOSED: u64 = 1 << 33;
const NODE: u64 = u32::MAX as u64;
/// No node has this index.
const EMPTY: u64 = NODE;

/// What a push found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Pushed {
    /// A turn is under way and takes the node before it ends.
    Seen,
    /// The driver sleeps: ring if the deadline is earlier than the one it sleeps until.
    Parked,
    /// The timer is closed; the node was not taken.
    Closed,
}

/// One shard of the insertion queue.
#[derive(Debug)]
pub struct Inbox {
    head: AtomicU64,
}

impl Inbox {
    /// An empty inbox whose driver sleeps.
    pub fn new() -> Self {
        Self {
            head: AtomicU64::new(EMPTY | PARKED),
        }
    }

    /// Hands `node`, whose `QUEUED` bit the caller has just set, to the next turn.
    #[inline]
    pub fn push(&self, id: NodeId, node: &Node) -> Pushed {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head & CLOSED != 0 {
                // ORDERING: Acquire pairs with `close`, so that whoever is refused finds the
                // generation over, and its end.
                self.head.load(Ordering::Acquire);
                return Pushed::Closed;
            }
            node.link.store(link_of(head), Ordering::Relaxed);
            let next = u64::from(id.index()) | (head & PARKED);
            // ORDERING: Release hands the node's fields to `take_all`; Acquire pairs with
            // `park`, so that a push that finds PARKED also sees the published deadline.
            match self
                .head
                .compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) if head & PARKED != 0 => return Pushed::Parked,
                Ok(_) => return Pushed::Seen,
                Err(now) => head = now,
            }
        }
    }

    /// Takes all nodes, oldest first, and clears `PARKED`. For the turn only.
    pub fn take_all<'a>(&self, pages: &'a Pages) -> Chain<'a> {
        // ORDERING: Acquire pairs with `push`; Release keeps the turn's earlier reads of the
        // nodes it took before ahead of the next push that finds this word.
        let head = self.head.swap(EMPTY, Ordering::AcqRel);
        Chain::reversed(pages, head)
    }

    /// Sets `PARKED` and tells whether the inbox is empty. For the turn only, after it has
    /// published the deadline it will sleep until; if not empty it has to take all again.
    pub fn park(&self) -> bool {
        // ORDERING: Release publishes that deadline to the `push` that finds the bit; Acquire so
        // that the following `take_all` is not the only one to see what was pushed.
        self.head.fetch_or(PARKED, Ordering::AcqRel) & NODE == EMPTY
    }

    /// Refuses further pushes and takes all nodes. For the turn only.
    pub fn close<'a>(&self, pages: &'a Pages) -> Chain<'a> {
        let head = self.head.swap(EMPTY | CLOSED, Ordering::AcqRel);
        Chain::reversed(pages, head)
    }

    /// Accepts pushes again after [`close`](Self::close), with a driver that sleeps.
    pub fn open(&self) {
        // ORDERING: Release publishes the new generation to a late push of the old one, which
        // reads it again afterwards.
        self.head.store(EMPTY | PARKED, Ordering::Release);
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Inbox {
    /// How many nodes wait here, without taking them. For the holder of the turn lock only: nobody
    /// else takes a node out, and the links of those that are in do not change.
    pub fn count(&self, pages: &Pages) -> usize {
        // ORDERING: Acquire pairs with the release of every `push` up to this one, each of which
        // carried on from the exchange before it, and so makes their links visible.
        let mut current = link_of(self.head.load(Ordering::Acquire));
        let mut count = 0;
        while u64::from(current) != EMPTY {
            current = pages.find(current).node().link.load(Ordering::Relaxed);
            count += 1;
        }
        count
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the low half of the word is the index"
)]
fn link_of(head: u64) -> u32 {
    (head & NODE) as u32
}

/// The nodes taken from an inbox, oldest first.
#[derive(Debug)]
pub struct Chain<'a> {
    pages: &'a Pages,
    next: u32,
}

impl<'a> Chain<'a> {
    /// Turns the stack that starts at `head` around, in place.
    fn reversed(pages: &'a Pages, head: u64) -> Self {
        let (mut current, mut previous) = (link_of(head), link_of(EMPTY));
        while u64::from(current) != EMPTY {
            let node = pages.find(current).node();
            let below = node.link.load(Ordering::Relaxed);
            node.link.store(previous, Ordering::Relaxed);
            (previous, current) = (current, below);
        }
        Self {
            pages,
            next: previous,
        }
    }
}

impl Iterator for Chain<'_> {
    type Item = (NodeId, &'static Node);

    fn next(&mut self) -> Option<Self::Item> {
        if u64::from(self.next) == EMPTY {
            return None;
        }
        let id = self.pages.find(self.next);
        let node = id.node();
        // Read before the caller drains the node: from then on its owner may push it again.
        self.next = node.link.load(Ordering::Relaxed);
        Some((id, node))
    }
}
