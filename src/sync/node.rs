//! The cell that one timer and the driver share.
//!
//! # Who is who
//!
//! A node has one *owner* at a time: a `Sleep`, a thread's cache, or the pool. The *turn* is
//! whoever holds the turn lock. The two meet only here, through `state`:
//!
//! ```text
//!            arm                 drained                look: due
//!   idle ───────────► ARMED ───────────────► ARMED ───────────────► FIRING ─────► FIRED
//!    ▲               |QUEUED                |LINKED                    │            │
//!    │                 │                      │                        │ dropped    │ arm
//!    └──── cancel ─────┴──────── cancel ──────┘                        ▼            ▼
//!          (QUEUED and LINKED stay: the next                       ABANDONED      ARMED
//!           arm may find the node still placed)                 (the turn frees it)
//! ```
//!
//! | bit | means | set by | cleared by |
//! |---|---|---|---|
//! | `ARMED` | a timer waits for `deadline` | owner | owner (cancel), turn (fire) |
//! | `LINKED` | the wheel holds an entry for this node | turn | turn |
//! | `QUEUED` | the node is in an inbox | owner, before it pushes | turn, when it drains |
//! | `FIRING` | the turn is taking the waker | turn | turn |
//! | `FIRED` | the timer has fired | turn | owner (arm) |
//! | `WLOCK` | the owner is replacing the waker | owner | owner |
//! | `ABANDONED` | the owner left while `FIRING` | owner | turn, which frees the node |
//! | `KEPT` | cancelled, with the waker still in its cell | owner (cancel) | owner (arm again), turn (look) |
//!
//! A node that is `KEPT` is re-armed for the same task without a clone of its waker. The turn that
//! looks at it first takes the waker away, through `FIRING` as if it fired, but wakes nobody.
//!
//! # Invariants
//!
//! * **I1** The waker is written only by the owner, and only while the node is not armed or under
//!   `WLOCK`, and never while it is `KEPT`; the turn reads it out only between `FIRING` and `FIRED`.
//! * **I2** The turn looks at a linked node no later than `bound`; a node that is armed and not
//!   queued has `bound <= deadline`.
//! * **I3** The driver publishes `elapsed` before any `FIRED` of that turn: `FIRED` together with
//!   `deadline <= elapsed` means never early. `FIRED` alone may stem from an earlier deadline
//!   that a concurrent reset has just moved.
//! * **I4** The owner moves `deadline` later with a plain store. To move it earlier it stores,
//!   then does a read-modify-write of `state`, then reads `bound`; the turn that raises `bound`
//!   stores it, then does a read-modify-write of `state`, then reads `deadline`. Those two
//!   read-modify-writes are ordered, so at least one side sees the other.

use core::mem::MaybeUninit;
use core::task::Waker;

use crate::primitive::{AtomicU32, AtomicU64, Ordering, UnsafeCell};
use crate::tick::Tick;

const ARMED: u32 = 1;
const LINKED: u32 = 1 << 1;
const QUEUED: u32 = 1 << 2;
const FIRING: u32 = 1 << 3;
const FIRED: u32 = 1 << 4;
const WLOCK: u32 = 1 << 5;
const ABANDONED: u32 = 1 << 6;
const KEPT: u32 = 1 << 7;

/// What the owner has to do after it changed a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Nothing: the turn looks at the node in time.
    Settled,
    /// Push it into an inbox; the `QUEUED` bit is set already.
    Push,
    /// It is in an inbox: ring if the driver sleeps past the new deadline.
    Ring,
}

/// What became of a cancelled timer's node.
#[derive(Debug)]
#[must_use]
pub enum Cancelled {
    /// The node is the caller's again, and so is the waker if the timer had not fired.
    Owned(Option<Waker>),
    /// The node is the caller's again, with the waker still in it.
    Kept,
    /// The turn is firing it at this moment and frees the node itself.
    Abandoned,
}

/// What a re-poll finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// Armed, and the given waker is the one that will be woken.
    Armed,
    /// Fired, or just being fired, for this deadline or for an earlier one (I3).
    Fired,
}

/// What the turn finds in a node that came out of an inbox.
#[derive(Debug)]
pub enum Drained {
    /// Place it at this deadline.
    Place(Tick),
    /// Nobody waits: take it off the wheel if it is there.
    Unlink,
    /// As `Unlink`, and this waker was kept in it. Put the node into the pool if it is to be freed.
    Retired(Taken),
    /// Nobody owns it either: put it back into the pool as well.
    Free,
}

/// What the turn finds in a node whose bound has come.
#[derive(Debug)]
pub enum Look {
    /// It was cancelled: its entry is gone now.
    Idle,
    /// Its deadline was moved: place it there.
    Later(Tick),
    /// It has fired, and the owner sees to the wake.
    Fired,
    /// It has fired; wake this.
    Wake(Taken),
    /// As `Idle`, and this waker was kept in it.
    Retired(Taken),
}

/// What the turn has taken out of a node.
#[derive(Debug)]
pub struct Taken {
    /// The waker that was in it.
    pub waker: Waker,
    /// Whether the owner has left meanwhile: put the node back into the pool.
    pub free: bool,
}

/// The shared cell of one timer: 48 bytes.
#[derive(Debug)]
pub struct Node {
    /// Which node of its pool this is.
    index: u32,
    state: AtomicU32,
    /// The next node of the inbox, while `QUEUED`. Written by the pusher, read by the turn.
    pub(super) link: AtomicU32,
    /// The wheel's entry, while `LINKED`. Touched by the turn alone.
    entry: AtomicU32,
    deadline: AtomicU64,
    bound: AtomicU64,
    waker: UnsafeCell<MaybeUninit<Waker>>,
}

// SAFETY: all fields but `waker` are atomics, or never change; `waker` is accessed by the rules of I1, which the
// transitions of `state` in this file enforce, and a `Waker` itself is Send and Sync.
unsafe impl Sync for Node {}
// SAFETY: as above; nothing in a node is tied to a thread.
unsafe impl Send for Node {}

impl Node {
    /// A node in the state idle.
    pub fn new(index: u32) -> Self {
        Self {
            index,
            state: AtomicU32::new(0),
            link: AtomicU32::new(0),
            entry: AtomicU32::new(0),
            deadline: AtomicU64::new(0),
            bound: AtomicU64::new(0),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }
}

// === the owner's side ===

impl Node {
    /// Which node of its pool this is.
    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Whether a timer of `deadline` could be armed here without a push.
    #[inline]
    pub fn fits(&self, deadline: Tick) -> bool {
        // Only a hint for choosing among idle nodes; `arm` decides.
        let state = self.state.load(Ordering::Relaxed);
        state & QUEUED != 0
            || state & LINKED != 0 && self.bound.load(Ordering::Relaxed) <= deadline.count()
    }

    /// Arms the node, which must be idle or fired and the caller's own.
    #[inline]
    pub fn arm(&self, deadline: Tick, waker: Waker) -> Next {
        self.deadline.store(deadline.count(), Ordering::Relaxed);
        self.write_waker(waker);
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            debug_assert_eq!(state & (ARMED | FIRING | WLOCK | ABANDONED | KEPT), 0);
            let known = state & (LINKED | QUEUED);
            if known == 0 {
                // The turn does not know this node, so nobody else writes `bound` or `state`.
                // ORDERING: Acquire pairs with the turn's last write of `state`, so that its
                // reads of the node come before what is written here.
                self.state.load(Ordering::Acquire);
                self.bound.store(deadline.count(), Ordering::Relaxed);
                self.state.store(ARMED | QUEUED, Ordering::Relaxed);
                return Next::Push;
            }
            // ORDERING: Release hands `deadline` and the waker to the acquiring exchange in
            // `look` and `drained`; Acquire pairs with their release, so that the `bound` read
            // in `settle` is at least as new as theirs (I4).
            match self.state.compare_exchange_weak(
                state,
                ARMED | known,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return self.settle(ARMED | known, deadline),
                Err(now) => state = now,
            }
        }
    }

    /// Arms the node, which must be the caller's own and has been [kept](Self::cancel_and_keep),
    /// with the waker that is still in it. `None` if the turn has taken that away.
    #[inline]
    pub fn rearm(&self, deadline: Tick) -> Option<Next> {
        self.deadline.store(deadline.count(), Ordering::Relaxed);
        let mut state = self.state.load(Ordering::Relaxed);
        while state & KEPT != 0 {
            let armed = state & !KEPT | ARMED;
            // ORDERING: as in `arm`. The waker was handed over by the exchange of an earlier arm;
            // all that happened to `state` since were read-modify-writes.
            match self.state.compare_exchange_weak(
                state,
                armed,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(self.settle(armed, deadline)),
                Err(now) => state = now,
            }
        }
        None
    }

    /// Moves the deadline of an armed node from `old` to `new`.
    ///
    /// If the node has fired meanwhile this changes nothing that matters: the next poll sees
    /// `FIRED` with a deadline that has not elapsed, and arms again.
    #[inline]
    pub fn reset(&self, old: Tick, new: Tick) -> Next {
        self.deadline.store(new.count(), Ordering::Relaxed);
        if new >= old {
            // The turn that reads the old value looks too early, finds the new one or fires for
            // the old one, which I3 catches.
            return Next::Settled;
        }
        // ORDERING: the owner's read-modify-write of I4; partners are `drained` and `look`.
        let state = self.state.fetch_or(0, Ordering::AcqRel);
        self.settle(state, new)
    }

    /// Asks the turn to look at an idle node that is still linked, so that it unlinks it now.
    pub fn retire(&self) -> Next {
        match self.state.load(Ordering::Relaxed) & (LINKED | QUEUED) {
            0 => Next::Settled,
            LINKED => self.queue(),
            _ => Next::Ring,
        }
    }

    /// After a read-modify-write that published `deadline`: is a look in time assured?
    #[inline]
    fn settle(&self, state: u32, deadline: Tick) -> Next {
        if state & ARMED == 0 || self.bound.load(Ordering::Relaxed) <= deadline.count() {
            return Next::Settled;
        }
        if state & QUEUED != 0 {
            return Next::Ring;
        }
        self.queue()
    }

    /// Sets `QUEUED` on a node that the turn knows, unless it has left the wheel meanwhile.
    #[cold]
    fn queue(&self) -> Next {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & LINKED == 0 {
                return Next::Settled;
            }
            debug_assert_eq!(state & QUEUED, 0);
            // ORDERING: Release as in `arm`: the turn that drains this must see `deadline`.
            match self.state.compare_exchange_weak(
                state,
                state | QUEUED,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Next::Push,
                Err(now) => state = now,
            }
        }
    }

    /// Takes `QUEUED` back after an inbox has refused the node. Returns the waker if the turn did
    /// not know the node, which is idle then.
    pub fn refused(&self) -> Option<Waker> {
        // ORDERING: AcqRel as in `cancel`.
        let state = self.state.fetch_and(!QUEUED, Ordering::AcqRel);
        if state & LINKED != 0 || state & ARMED == 0 {
            return None;
        }
        self.state.store(0, Ordering::Relaxed);
        Some(self.take_waker())
    }

    /// Ends the timer of this node.
    #[inline]
    pub fn cancel(&self) -> Cancelled {
        self.end(ARMED, 0)
    }

    /// Ends the timer of this node and leaves the waker in it.
    #[inline]
    pub fn cancel_and_keep(&self) -> Cancelled {
        self.end(ARMED, KEPT)
    }

    /// Takes the waker out of a node that was kept.
    pub fn release(&self) -> Cancelled {
        self.end(KEPT, 0)
    }

    /// Replaces `from`, `ARMED` or `KEPT`, by `to`.
    #[inline]
    fn end(&self, from: u32, to: u32) -> Cancelled {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let ended = if state & from != 0 {
                state & !from | to
            } else if state & FIRING != 0 {
                state | ABANDONED
            } else {
                // ORDERING: Acquire pairs with the release that set FIRED in `take`, after
                // which the turn no longer reads the waker cell that the next arm writes.
                self.state.load(Ordering::Acquire);
                return Cancelled::Owned(None);
            };
            // ORDERING: Release so that a turn that sees the node idle, and the next owner, come
            // after this owner's accesses; Acquire because the waker may be another thread's
            // write of an earlier arm that was moved here with the timer.
            match self.state.compare_exchange_weak(
                state,
                ended,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) if ended & ABANDONED != 0 => return Cancelled::Abandoned,
                Ok(_) if to == KEPT => return Cancelled::Kept,
                Ok(_) => return Cancelled::Owned(Some(self.take_waker())),
                Err(now) => state = now,
            }
        }
    }

    /// Whether the turn has fired this node, for its deadline or for an earlier one (I3).
    #[inline]
    pub fn has_fired(&self) -> bool {
        // ORDERING: Acquire pairs with the release in `fire`, which comes after `elapsed`.
        self.state.load(Ordering::Acquire) & (FIRING | FIRED) != 0
    }

    /// Makes `waker` the one to be woken.
    #[inline]
    pub fn register(&self, waker: &Waker) -> Polled {
        if self.has_fired() {
            return Polled::Fired;
        }
        if self.will_wake(waker) {
            return Polled::Armed;
        }
        self.replace_waker(waker.clone())
    }

    /// Whether the waker in this node, which is armed or kept, wakes the same task as `waker`.
    #[inline]
    pub fn will_wake(&self, waker: &Waker) -> bool {
        self.waker.with(|cell| {
            // SAFETY: only the owner writes this cell, and this is the owner. The turn may wake or
            // drop a copy of the waker meanwhile, but the bytes stay as they are, and `will_wake`
            // compares the two pointers without following them.
            unsafe { (*cell.cast::<Waker>()).will_wake(waker) }
        })
    }

    #[cold]
    fn replace_waker(&self, waker: Waker) -> Polled {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & ARMED == 0 {
                // ORDERING: as in `cancel`: come after the turn's accesses.
                self.state.load(Ordering::Acquire);
                return Polled::Fired;
            }
            // ORDERING: Acquire so that the cell is touched only after the lock bit is there.
            match self.state.compare_exchange_weak(
                state,
                state | WLOCK,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        let old = self.take_waker();
        self.write_waker(waker);
        // ORDERING: Release hands the new waker to the turn that fires next; Acquire pairs with
        // the turn that fired under the lock bit and left the waker here.
        let state = self.state.fetch_and(!WLOCK, Ordering::AcqRel);
        if state & FIRED == 0 {
            drop(old);
            return Polled::Armed;
        }
        let unused = self.take_waker();
        drop((old, unused));
        Polled::Fired
    }

    fn write_waker(&self, waker: Waker) {
        // SAFETY: callers hold the cell by I1: `arm` on a node that is not armed, `replace_waker`
        // under WLOCK. What was in it has been taken out before.
        self.waker
            .with_mut(|cell| unsafe { cell.cast::<Waker>().write(waker) });
    }

    fn take_waker(&self) -> Waker {
        self.waker.with(|cell| {
            // SAFETY: callers hold the cell by I1 (`end` after it cleared ARMED or KEPT, `refused`
            // after it cleared ARMED, `replace_waker` under WLOCK, `take` after it set FIRING),
            // each after an arm that wrote it, and none of them reads it twice for one write.
            unsafe { cell.cast::<Waker>().read() }
        })
    }
}

// === the turn's side: callers hold the turn lock ===

impl Node {
    /// The entry that the wheel holds for this node, if it is linked.
    pub fn entry(&self) -> Option<u32> {
        let linked = self.state.load(Ordering::Relaxed) & LINKED != 0;
        linked.then(|| self.entry.load(Ordering::Relaxed))
    }

    /// The deadline that a timer waits for here, if one does.
    pub fn waits_until(&self) -> Option<Tick> {
        // ORDERING: Acquire pairs with the release that set ARMED, which published the deadline.
        let armed = self.state.load(Ordering::Acquire) & ARMED != 0;
        armed.then(|| Tick::new(self.deadline.load(Ordering::Relaxed)))
    }

    /// The deadline that was set last, whether somebody waits for it or not.
    #[inline]
    pub fn deadline(&self) -> Tick {
        Tick::new(self.deadline.load(Ordering::Relaxed))
    }

    /// Remembers the entry that the wheel holds for this node.
    pub fn set_entry(&self, entry: u32) {
        self.entry.store(entry, Ordering::Relaxed);
    }

    /// Takes the node out of the inbox.
    ///
    /// The caller reads [`entry`](Self::entry) *before*; on [`Drained::Place`] the node is linked.
    pub fn drained(&self) -> Drained {
        let deadline = self.deadline.load(Ordering::Relaxed);
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            debug_assert_ne!(state & QUEUED, 0);
            if state & KEPT != 0 {
                match self.take(state, FIRING) {
                    Ok(taken) => return Drained::Retired(taken),
                    Err(seen) => state = seen,
                }
                continue;
            }
            let armed = state & ARMED != 0;
            if armed {
                self.bound.store(deadline, Ordering::Relaxed);
            }
            let next = match state & !QUEUED {
                rest if armed => rest | LINKED,
                rest if rest & ABANDONED != 0 => 0,
                rest => rest & !LINKED,
            };
            // ORDERING: the turn's read-modify-write of I4: Release publishes `bound` to the
            // owner's exchange in `arm` or `reset`, Acquire makes its `deadline` visible.
            match self
                .state
                .compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) if armed => return Drained::Place(self.settled_bound(deadline)),
                Ok(_) if state & ABANDONED != 0 => return Drained::Free,
                Ok(_) => return Drained::Unlink,
                Err(now) => state = now,
            }
        }
    }

    /// Looks at a node whose entry has just come out of the wheel because its bound is due.
    pub fn look(&self, now: Tick) -> Look {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            debug_assert_ne!(state & LINKED, 0);
            if state & ARMED == 0 {
                match self.unlink(state) {
                    Ok(look) => return look,
                    Err(seen) => state = seen,
                }
                continue;
            }
            let deadline = self.deadline.load(Ordering::Relaxed);
            if deadline <= now.count() {
                match self.fire(state) {
                    Ok(look) => return look,
                    Err(seen) => state = seen,
                }
                continue;
            }
            self.bound.store(deadline, Ordering::Relaxed);
            // ORDERING: the turn's read-modify-write of I4, as in `drained`.
            state = self.state.fetch_or(0, Ordering::AcqRel);
            let bound = self.settled_bound(deadline);
            if state & ARMED != 0 && bound > now {
                return Look::Later(bound);
            }
        }
    }

    /// Unlinks the node if nobody waits on it. The caller drops its entry from the wheel then.
    pub fn sweep(&self) -> Option<Look> {
        let state = self.state.load(Ordering::Relaxed);
        if state & ARMED != 0 {
            return None;
        }
        self.unlink(state).ok()
    }

    fn unlink(&self, state: u32) -> Result<Look, u32> {
        if state & KEPT != 0 {
            return self.take(state, state & QUEUED | FIRING).map(Look::Retired);
        }
        // ORDERING: AcqRel: the owner that arms the node next, or the thread that gets it from
        // the pool, comes after everything the turn did with it.
        self.state
            .compare_exchange(state, state & !LINKED, Ordering::AcqRel, Ordering::Relaxed)
            .map(|_| Look::Idle)
    }

    /// After the turn's read-modify-write: the bound that holds, lowered if the owner was first.
    fn settled_bound(&self, deadline: u64) -> Tick {
        let latest = self.deadline.load(Ordering::Relaxed);
        if latest < deadline {
            self.bound.store(latest, Ordering::Relaxed);
            return Tick::new(latest);
        }
        Tick::new(deadline)
    }

    fn fire(&self, state: u32) -> Result<Look, u32> {
        let kept = state & (QUEUED | WLOCK);
        if state & WLOCK == 0 {
            return self.take(state, kept | FIRING).map(Look::Wake);
        }
        // ORDERING: as in `take`. Under WLOCK the owner finds FIRED when it unlocks.
        self.state
            .compare_exchange(state, kept | FIRED, Ordering::AcqRel, Ordering::Relaxed)
            .map(|_| Look::Fired)
    }

    /// Takes the waker out of a node that is armed or kept, whose state becomes `firing`
    /// meanwhile and fired afterwards.
    fn take(&self, state: u32, firing: u32) -> Result<Taken, u32> {
        // ORDERING: Acquire makes the owner's waker visible; Release orders `elapsed`, stored
        // before, ahead of FIRED (I3).
        self.state
            .compare_exchange(state, firing, Ordering::AcqRel, Ordering::Relaxed)?;
        let waker = self.take_waker();
        // ORDERING: Release: the owner that sees FIRED may write the waker cell again.
        let state = self.state.fetch_xor(FIRING | FIRED, Ordering::AcqRel);
        // A node that is still in an inbox is freed when it is drained.
        let free = state & (ABANDONED | QUEUED) == ABANDONED;
        if free {
            self.state.store(0, Ordering::Relaxed);
        }
        Ok(Taken { waker, free })
    }
}
