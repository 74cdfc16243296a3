//! A batch of wakers, collected under the turn lock and woken outside of it.

#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

use core::task::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::primitive::TINY;

/// Wakers in a batch: enough to make the lock's cost small, few enough that the first of many due
/// timers does not wait for the last.
const BATCH: usize = if TINY { 2 } else { 64 };

/// The batch. It allocates when the first waker comes.
#[derive(Debug, Default)]
pub struct WakeList {
    wakers: Vec<Waker>,
    /// To be dropped only.
    retired: Vec<Waker>,
}

impl WakeList {
    /// An empty batch.
    pub const fn new() -> Self {
        Self {
            wakers: Vec::new(),
            retired: Vec::new(),
        }
    }

    /// Whether the batch has to be woken before more is collected.
    pub fn is_full(&self) -> bool {
        self.wakers.len() >= BATCH
    }

    /// Adds a waker.
    pub fn push(&mut self, waker: Waker) {
        if self.wakers.is_empty() {
            self.wakers.reserve(BATCH);
        }
        self.wakers.push(waker);
    }

    /// Adds a waker that is dropped with the others' wake.
    pub fn retire(&mut self, waker: Waker) {
        self.retired.push(waker);
    }

    /// Wakes all, in the order in which they came. The caller holds no lock.
    pub fn wake_all(&mut self) {
        for waker in self.wakers.drain(..) {
            // PANIC: a waker is the user's code. One that panics must not cost the others their
            // wake; the panic hook has reported it.
            run_foreign(|| waker.wake());
        }
        for waker in self.retired.drain(..) {
            run_foreign(|| drop(waker));
        }
    }
}

impl Drop for WakeList {
    /// A turn that ends by a panic has fired these timers: their tasks must learn of it.
    fn drop(&mut self) {
        self.wake_all();
    }
}

/// Runs the user's code; a panic in it, or in the drop of what it panicked with, ends here.
pub fn run_foreign(code: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        // A payload whose drop panics again is left alone for good.
        dropped.unwrap_or_else(core::mem::forget);
    }
}
