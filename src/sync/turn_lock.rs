//! Who turns the wheel: a lock that nobody waits for.
//!
//! Whoever finds it taken leaves a note, `PENDING`, and goes; the holder finds the note when it
//! releases and goes round once more. So a wake-up that arrives in the middle of a turn, or from
//! inside it, is never lost and never blocks.

use core::ops::{Deref, DerefMut};

use crate::primitive::{AtomicU32, Ordering, UnsafeCell};

const LOCKED: u32 = 1;
const PENDING: u32 = 1 << 1;

/// A value that only the thread that turns may touch.
#[derive(Debug)]
pub struct TurnLock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached through a `Turning`, of which `try_lock` makes one at a time;
// it moves between threads, hence `T: Send`.
unsafe impl<T: Send> Sync for TurnLock<T> {}
// SAFETY: the lock owns its value.
unsafe impl<T: Send> Send for TurnLock<T> {}

impl<T> TurnLock<T> {
    /// An unlocked lock.
    pub fn new(value: T) -> Self {
        Self {
            state: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock, or leaves a note for its holder.
    pub fn try_lock(&self) -> Option<Turning<'_, T>> {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let next = if state & LOCKED == 0 {
                LOCKED
            } else {
                LOCKED | PENDING
            };
            // ORDERING: Acquire pairs with the release of the last holder. Release on the note:
            // what this thread pushed before is visible to the holder that finds it. The note is
            // written even where it stands already, for the sake of that order.
            match self
                .state
                .compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) if state & LOCKED == 0 => return Some(Turning { lock: self }),
                Ok(_) => return None,
                Err(now) => state = now,
            }
        }
    }
}

/// The right to turn.
#[derive(Debug)]
pub struct Turning<'a, T> {
    lock: &'a TurnLock<T>,
}

impl<T> Turning<'_, T> {
    /// Gives the lock back, unless a note was left: then the turn goes on.
    #[allow(
        clippy::mem_forget,
        reason = "the lock has been given back, and the drop would do so once more"
    )]
    #[must_use = "a turn that goes on must be carried out"]
    pub fn release(self) -> Option<Self> {
        // ORDERING: Release hands the value to the next holder; Acquire on the note pairs with
        // the thread that left it.
        let done = self
            .lock
            .state
            .compare_exchange(LOCKED, 0, Ordering::AcqRel, Ordering::Acquire);
        if done.is_ok() {
            core::mem::forget(self);
            return None;
        }
        self.lock.state.swap(LOCKED, Ordering::AcqRel);
        Some(self)
    }
}

impl<'a, T> Turning<'a, T> {
    /// Gives the lock back in the middle of a turn, to run foreign code. The caller takes it again
    /// afterwards and goes on, so a note that was left meanwhile needs no answer of its own.
    pub fn pause(self) -> &'a TurnLock<T> {
        let lock = self.lock;
        drop(self);
        lock
    }
}

impl<T> Deref for Turning<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `try_lock` made this the only `Turning`, and it is borrowed.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for Turning<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: `try_lock` made this the only `Turning`, and it is borrowed mutably.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Turning<'_, T> {
    /// Gives the lock back in the middle of a turn: to pause, or because of a panic.
    fn drop(&mut self) {
        // ORDERING: Release hands the value on. An exchange, not a store, with Acquire: what the
        // thread that left a note had pushed is visible to whoever takes the lock next.
        self.lock.state.swap(0, Ordering::AcqRel);
    }
}
