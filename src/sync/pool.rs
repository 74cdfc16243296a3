//! Where nodes live: pages that never move and are never freed, and the caches of the threads.
//!
//! Because a node's memory stays a node for ever, a thread may touch one without asking whether
//! its timer still exists. Memory is bounded by the greatest number of nodes that were ever in
//! use at once, plus what the caches hold.
//!
//! An idle node in a cache or in the pool may still be linked or queued. That is the point: the
//! next timer armed on it finds the work of inserting done.

use core::mem::size_of;

use crate::primitive::{Mutex, OnceLock, TINY};
use crate::sync::node::Node;
use crate::tick::Tick;

/// Nodes in a page.
const PAGE: u32 = if TINY { 4 } else { 512 };
/// Pages come in directories of 1, 2, 4, … pages: this many cover every 32-bit index.
const DIRECTORIES: usize = if TINY { 3 } else { 23 };
/// The most nodes a pool may have.
const MOST: u32 = 1 << 31;
/// Idle nodes that a thread keeps for one timer.
pub const CACHE: usize = if TINY { 2 } else { 32 };
/// How many of the most recent idle nodes are looked at for one that fits.
const CHOICES: usize = 4;

/// Names a node: a reference, because nodes are never freed.
#[derive(Debug, Clone, Copy)]
pub struct NodeId(&'static Node);

impl NodeId {
    /// The index of this node in its pool.
    #[inline]
    pub fn index(self) -> u32 {
        self.0.index()
    }

    /// The node.
    #[inline]
    pub fn node(self) -> &'static Node {
        self.0
    }
}

impl PartialEq for NodeId {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl Eq for NodeId {}

type Page = &'static [Node];
type Directory = Box<[OnceLock<Page>]>;

/// The pages, reachable without a lock.
#[derive(Debug)]
pub struct Pages {
    directories: [OnceLock<Directory>; DIRECTORIES],
}

impl Pages {
    fn new() -> Self {
        Self {
            directories: core::array::from_fn(|_| OnceLock::new()),
        }
    }

    /// The node with this index.
    ///
    /// # Panics
    ///
    /// Panics if the pool never gave out that index.
    #[inline]
    pub fn find(&self, index: u32) -> NodeId {
        let (directory, page, offset) = position(index);
        self.directories[directory]
            .get()
            .and_then(|directory| directory[page].get())
            .map(|page| NodeId(&page[offset]))
            .expect("an index comes from a page that exists")
    }

    /// Makes the page that begins with `first`.
    fn grow(&self, first: u32) {
        let (directory, page, _) = position(first);
        let directory = self.directories[directory]
            .get_or_init(|| (0..1_usize << directory).map(|_| OnceLock::new()).collect());
        directory[page].get_or_init(|| {
            let nodes: Box<[Node]> = (first..first + PAGE).map(Node::new).collect();
            Box::leak(nodes)
        });
    }
}

/// Directory, page in it and offset in that page of a node.
#[inline]
fn position(index: u32) -> (usize, usize, usize) {
    let page = index / PAGE + 1;
    let directory = page.ilog2();
    (
        directory as usize,
        (page - (1 << directory)) as usize,
        (index % PAGE) as usize,
    )
}

/// All nodes of one timer.
#[derive(Debug)]
pub struct Pool {
    pages: Pages,
    spare: Mutex<Spare>,
}

/// The nodes that nobody owns.
#[derive(Debug)]
struct Spare {
    /// Given back.
    idle: Vec<NodeId>,
    /// The first index that was never given out.
    fresh: u32,
}

impl Pool {
    /// A pool without nodes.
    pub fn new() -> Self {
        Self {
            pages: Pages::new(),
            spare: Mutex::new(Spare {
                idle: Vec::new(),
                fresh: 0,
            }),
        }
    }

    /// The pages of this pool.
    #[inline]
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// How many nodes were ever made.
    #[allow(dead_code, reason = "asked by models")]
    pub fn nodes(&self) -> u32 {
        self.spare.lock().fresh
    }

    /// The memory of the nodes, and of the list of those that nobody owns.
    #[allow(dead_code, reason = "not asked by models")]
    pub fn bytes(&self) -> usize {
        let spare = self.spare.lock();
        let nodes = spare.fresh.next_multiple_of(PAGE) as usize;
        nodes * size_of::<Node>() + spare.idle.capacity() * size_of::<NodeId>()
    }

    /// Takes an idle node for a timer of `deadline`, if possible one that is still linked in time.
    #[inline]
    pub fn take(&self, cache: &mut Cache, deadline: Tick) -> NodeId {
        if let Some(id) = cache.pop_fitting(deadline) {
            return id;
        }
        loop {
            if let Some(id) = cache.pop() {
                return id;
            }
            self.refill(cache);
        }
    }

    /// Gives an idle node back.
    #[inline]
    pub fn put(&self, cache: &mut Cache, id: NodeId) {
        if cache.len == CACHE {
            self.spill(cache, CACHE / 2);
        }
        cache.push(id);
    }

    /// Gives an idle node back past the caches.
    pub fn put_back(&self, id: NodeId) {
        self.spare.lock().idle.push(id);
    }

    /// Empties a cache.
    pub fn flush(&self, cache: &mut Cache) {
        self.spill(cache, cache.len);
    }

    #[cold]
    fn refill(&self, cache: &mut Cache) {
        let mut spare = self.spare.lock();
        let wanted = CACHE / 2;
        let kept = spare.idle.len().saturating_sub(wanted);
        for id in spare.idle.drain(kept..) {
            cache.push(id);
        }
        while cache.len < wanted {
            let index = spare.fresh;
            assert!(
                index < MOST,
                "more than two billion timers are pending at once"
            );
            if index.is_multiple_of(PAGE) {
                self.pages.grow(index);
            }
            spare.fresh += 1;
            cache.push(self.pages.find(index));
        }
    }

    /// Moves the `count` oldest nodes of a cache to the pool.
    #[cold]
    fn spill(&self, cache: &mut Cache, count: usize) {
        let oldest = cache.nodes[..count].iter().flatten();
        self.spare.lock().idle.extend(oldest);
        cache.nodes.copy_within(count..cache.len, 0);
        cache.len -= count;
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

/// The idle nodes that one thread keeps for one timer, most recent last.
#[derive(Debug)]
pub struct Cache {
    len: usize,
    nodes: [Option<NodeId>; CACHE],
    /// The node that was cancelled last, with its waker still in it.
    kept: Option<NodeId>,
    /// So many of the next cancelled timers do not keep theirs.
    pause: u8,
}

/// How long a thread for which keeping a waker was in vain, and cost an exchange, does not try it.
const PAUSE: u8 = if TINY { 0 } else { 31 };

impl Cache {
    /// A cache without nodes.
    pub const fn new() -> Self {
        Self {
            len: 0,
            nodes: [None; CACHE],
            kept: None,
            pause: 0,
        }
    }

    /// The node that keeps a waker, if there is one.
    #[inline]
    pub const fn kept(&self) -> Option<NodeId> {
        self.kept
    }

    /// Forgets the node that keeps a waker, which is the caller's now.
    #[inline]
    pub const fn take_kept(&mut self) -> Option<NodeId> {
        self.kept.take()
    }

    /// Whether the next cancelled timer is worth keeping the waker of.
    #[inline]
    pub const fn wants_kept(&mut self) -> bool {
        let wanted = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        wanted
    }

    /// Remembers a node that keeps a waker; gives the one before, which nobody came back for.
    #[inline]
    pub const fn keep(&mut self, id: NodeId) -> Option<NodeId> {
        let unused = self.kept.replace(id);
        if unused.is_some() {
            self.pause = PAUSE;
        }
        unused
    }

    /// The most recent node that a timer of `deadline` could be armed on without a push, of a few.
    #[inline]
    fn pop_fitting(&mut self, deadline: Tick) -> Option<NodeId> {
        let last = self.len.checked_sub(1)?;
        for choice in (0..=last).rev().take(CHOICES) {
            if let Some(id) = self.nodes[choice]
                && id.node().fits(deadline)
            {
                self.nodes.swap(choice, last);
                self.len = last;
                return Some(id);
            }
        }
        None
    }

    #[inline]
    fn pop(&mut self) -> Option<NodeId> {
        self.len = self.len.checked_sub(1)?;
        self.nodes[self.len]
    }

    #[inline]
    fn push(&mut self, id: NodeId) {
        self.nodes[self.len] = Some(id);
        self.len += 1;
    }

    /// How many nodes it holds.
    #[allow(dead_code, reason = "asked by models")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    #[allow(dead_code, reason = "asked by models")]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}
