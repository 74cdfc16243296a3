//! Who waits for the queue, what that poller was told, and the timer that wakes it.
//!
//! A poll that found nothing due leaves a *promise*: "there is nothing until this tick", or
//! "there is nothing at all". As long as the promise holds, nobody is woken; a change that breaks
//! it wakes the poller, once. A change that only makes the wait longer moves the timer instead,
//! so that an item which is put off again and again costs no wake at all.
//!
//! # Invariants
//!
//! 1. Under `Until(tick)` the timer is armed at `tick` for the stored waker, or has fired for it.
//! 2. Under `Until` and `Empty` a waker is stored. Under `Nothing` one may be, to spare the next
//!    poll of the same task a clone.
//! 3. A poller is woken by the drop of a [`Recall`], which the queue lets happen when it has
//!    finished its change.

#![forbid(unsafe_code)]

use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use crate::clock;
use crate::driver::registry;
use crate::driver::wake_list::run_foreign;
use crate::sleep::{self, Sleep};
use crate::tick::Tick;

/// The waiting side of a queue.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    promise: Promise,
    waker: Option<Waker>,
    sleep: Option<Sleep>,
}

/// What the last poll was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Promise {
    /// It was given an item, or it has been woken since: it will poll again if it cares.
    #[default]
    Nothing,
    /// The queue is empty.
    Empty,
    /// Nothing is due before this tick.
    Until(Tick),
}

/// A poller whose promise was broken: dropping this wakes it, also when a panic does the dropping.
///
/// It carries the timer along: dropping one drops a waker, which is foreign code too.
#[must_use = "when it is dropped, foreign code runs"]
#[derive(Default)]
pub(super) struct Recall {
    waker: Option<Waker>,
    _sleep: Option<Sleep>,
}

impl Drop for Recall {
    fn drop(&mut self) {
        let Some(waker) = self.waker.take() else {
            return;
        };
        if std::thread::panicking() {
            // PANIC: another foreign panic has brought us here, and a second would be the end.
            run_foreign(|| waker.wake());
        } else {
            waker.wake();
        }
    }
}

impl Alarm {
    /// Whether a change of the queue can concern a poller at all.
    pub(super) fn is_promised(&self) -> bool {
        self.promise != Promise::Nothing
    }

    /// The poller has been given an item.
    pub(super) fn answer(&mut self) {
        self.promise = Promise::Nothing;
    }

    /// Tells the poller that the queue is empty; the next insertion wakes it.
    pub(super) fn promise_empty(&mut self, waker: &Waker) {
        self.promise = Promise::Nothing;
        let old = self.sleep.take();
        self.remember(waker);
        self.promise = Promise::Empty;
        drop(old);
    }

    /// Waits until `next`; ready if that is over.
    #[track_caller]
    pub(super) fn poll_until(&mut self, next: Tick, cx: &mut Context<'_>) -> Poll<()> {
        self.promise = Promise::Nothing;
        let same_task = self.remember(cx.waker());
        let deadline = clock::instant_of(next);
        let here = registry::current();
        let sleep = match &mut self.sleep {
            Some(sleep) if same_task && sleep.is_of(here) => {
                if sleep.deadline() != deadline {
                    sleep.set_deadline(deadline);
                }
                sleep
            }
            // Another task may live in another runtime: its wait is its own runtime's business. And
            // so may the same waker: an executor of one thread enters one runtime after the other.
            slot => {
                // First the old one, whose place may be the last of its timer.
                *slot = None;
                slot.insert(sleep::sleep_until(deadline))
            }
        };
        if Pin::new(sleep).poll(cx).is_pending() {
            self.promise = Promise::Until(next);
            return Poll::Pending;
        }
        self.sleep = None;
        Poll::Ready(())
    }

    /// An item with this deadline has been added, or moved here from later.
    pub(super) fn add(&mut self, deadline: Tick) -> Recall {
        match self.promise {
            Promise::Until(until) if deadline < until => self.recall(),
            Promise::Empty => self.recall(),
            Promise::Until(_) | Promise::Nothing => Recall::default(),
        }
    }

    /// Items have been taken away or moved, and this is now the next deadline.
    pub(super) fn settle(&mut self, next: Option<Tick>) -> Recall {
        match (self.promise, next) {
            (Promise::Until(_), None) | (Promise::Empty, Some(_)) => self.recall(),
            (Promise::Until(until), Some(next)) if next < until => self.recall(),
            (Promise::Until(until), Some(next)) if next > until => {
                self.promise = Promise::Until(next);
                if let Some(sleep) = &mut self.sleep {
                    sleep.set_deadline(clock::instant_of(next));
                }
                Recall::default()
            }
            _ => Recall::default(),
        }
    }

    fn recall(&mut self) -> Recall {
        self.promise = Promise::Nothing;
        Recall {
            waker: self.waker.take(),
            _sleep: self.sleep.take(),
        }
    }

    /// Stores `waker` and tells whether it was there already.
    fn remember(&mut self, waker: &Waker) -> bool {
        let known = self.waker.as_ref().is_some_and(|old| old.will_wake(waker));
        if !known {
            self.waker = Some(waker.clone());
        }
        known
    }
}
