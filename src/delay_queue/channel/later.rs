//! Foreign code that has become due under the lock, and runs when the lock has been released.

#![forbid(unsafe_code)]

use core::task::Waker;

use super::alarm::Bell;
use crate::driver::wake_list::run_foreign;

/// Wakers to wake, and things to drop whose drop may run foreign code. Its own drop does it.
#[derive(Debug, Default)]
pub(super) struct Later {
    /// Nearly always there is one at most, and then nothing is allocated.
    first: Option<Waker>,
    more: Vec<Waker>,
    forgotten: Option<Waker>,
    bell: Option<Bell>,
}

impl Later {
    /// Wakes this one.
    pub(super) fn wake(&mut self, waker: Waker) {
        match &self.first {
            None => self.first = Some(waker),
            Some(_) => self.more.push(waker),
        }
    }

    /// Drops a waker without waking it. There is one at most for each change.
    pub(super) fn forget(&mut self, waker: Waker) {
        debug_assert!(self.forgotten.is_none(), "it would be dropped here and now");
        self.forgotten = Some(waker);
    }

    /// Drops a bell.
    pub(super) fn silence(&mut self, bell: Option<Bell>) {
        if bell.is_some() {
            debug_assert!(self.bell.is_none(), "it would be dropped here and now");
            self.bell = bell;
        }
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        // PANIC: wakers are the users' code. One that panics is none of the caller's business and
        // must not cost the others their wake; the panic hook has reported it.
        for waker in self.first.take().into_iter().chain(self.more.drain(..)) {
            run_foreign(|| waker.wake());
        }
        let (forgotten, bell) = (self.forgotten.take(), self.bell.take());
        run_foreign(|| drop(forgotten));
        run_foreign(|| drop(bell));
    }
}
