//! A waiting line: first come, first called, and a place may be given up at any time.
//!
//! Who waits has a *place*. Being *called* takes the place out of the order, but not away: it is
//! the called one's until it comes and leaves it, or is dropped and so leaves it too. So there is
//! always somebody who answers for a call.

#![forbid(unsafe_code)]

use core::task::Waker;

use slab::Slab;

use super::later::Later;

/// The tasks that wait for one thing, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Line {
    places: Slab<Place>,
    first: Option<usize>,
    last: Option<usize>,
    called: usize,
}

#[derive(Debug)]
struct Place {
    /// Whom to wake; `None` once it was called.
    waker: Option<Waker>,
    /// The runtime that the task waits in.
    runtime: Option<u64>,
    before: Option<usize>,
    behind: Option<usize>,
}

/// A task that is about to wait.
#[derive(Debug)]
pub(super) struct Arrival<'a> {
    /// Its waker, to be compared with the one that may be known.
    pub(super) waker: &'a Waker,
    /// A clone of it and the runtime it is polled in, once they turned out to be needed: cloning
    /// is foreign code, which has to run before anything is locked.
    pub(super) fresh: Option<(Waker, Option<u64>)>,
}

impl Line {
    /// Whether nobody waits. Those who were called do not wait any longer.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// How many were called and have not left their place yet.
    pub(super) fn called(&self) -> usize {
        self.called
    }

    /// Whether the task at `place` was called.
    pub(super) fn is_called(&self, place: usize) -> bool {
        self.places[place].waker.is_none()
    }

    /// The runtime that the task at `place` waits in.
    pub(super) fn runtime(&self, place: usize) -> Option<u64> {
        self.places[place].runtime
    }

    /// Whether somebody waits in this runtime.
    pub(super) fn waits_in(&self, runtime: Option<u64>) -> bool {
        let mut cursor = self.first;
        while let Some(place) = cursor {
            let Place {
                runtime: own,
                behind,
                ..
            } = self.places[place];
            if own == runtime {
                return true;
            }
            cursor = behind;
        }
        false
    }

    /// Calls the first in the line.
    pub(super) fn call_first(&mut self, later: &mut Later) {
        let Some(first) = self.first else {
            return;
        };
        self.unlink(first);
        if let Some(waker) = self.places[first].waker.take() {
            self.called += 1;
            later.wake(waker);
        }
    }

    /// Calls everybody.
    pub(super) fn call_all(&mut self, later: &mut Later) {
        while !self.is_empty() {
            self.call_first(later);
        }
    }

    /// Lets a task wait: at its place, or at the end if it has none or was called. `false` if its
    /// waker must be cloned for that.
    pub(super) fn wait(
        &mut self,
        place: &mut Option<usize>,
        arrival: &mut Arrival<'_>,
        later: &mut Later,
    ) -> bool {
        if let Some(place) = *place
            && let Some(known) = &mut self.places[place].waker
        {
            if known.will_wake(arrival.waker) {
                return true;
            }
            let Some((waker, runtime)) = arrival.fresh.take() else {
                return false;
            };
            later.forget(core::mem::replace(known, waker));
            self.places[place].runtime = runtime;
            return true;
        }
        let Some((waker, runtime)) = arrival.fresh.take() else {
            return false;
        };
        self.leave(place, later);
        *place = Some(self.join(waker, runtime));
        true
    }

    /// Gives the place up, if there is one. Whether it had been called.
    pub(super) fn leave(&mut self, place: &mut Option<usize>, later: &mut Later) -> bool {
        let Some(place) = place.take() else {
            return false;
        };
        if !self.is_called(place) {
            self.unlink(place);
        }
        match self.places.remove(place).waker {
            Some(waker) => {
                later.forget(waker);
                false
            }
            None => {
                self.called -= 1;
                true
            }
        }
    }

    fn join(&mut self, waker: Waker, runtime: Option<u64>) -> usize {
        let place = self.places.insert(Place {
            waker: Some(waker),
            runtime,
            before: self.last,
            behind: None,
        });
        match self.last {
            Some(last) => self.places[last].behind = Some(place),
            None => self.first = Some(place),
        }
        self.last = Some(place);
        place
    }

    /// Takes a waiting place out of the order.
    fn unlink(&mut self, place: usize) {
        let Place { before, behind, .. } = self.places[place];
        match before {
            Some(before) => self.places[before].behind = behind,
            None => self.first = behind,
        }
        match behind {
            Some(behind) => self.places[behind].before = before,
            None => self.last = before,
        }
    }
}
