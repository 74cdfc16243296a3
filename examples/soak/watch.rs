//! Who waits for which timer, and whether one of them waits in vain.
//!
//! A plain thread looks around. It needs no timer of this crate, so one that is lost cannot hide.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cogwheel::time::Instant;

use crate::ledger::Ledger;

/// A timer that is so late is lost. Blocked workers make timers late by seconds at most.
const PATIENCE: Duration = Duration::from_secs(12);
const PAUSE: Duration = Duration::from_millis(100);
/// Nobody waits.
const NOTHING: u64 = u64::MAX;

/// All who wait.
#[derive(Debug)]
pub(crate) struct Watch {
    begun: Instant,
    seats: Mutex<Vec<Arc<Seat>>>,
    over: AtomicBool,
}

/// One who waits.
#[derive(Debug)]
pub(crate) struct Seat {
    what: &'static str,
    begun: Instant,
    /// Until when, in milliseconds from the beginning.
    until: AtomicU64,
    told: AtomicBool,
}

impl Watch {
    /// Begins to look around.
    pub(crate) fn begin(ledger: &'static Ledger) -> (Arc<Self>, JoinHandle<()>) {
        let watch = Arc::new(Self {
            begun: Instant::now(),
            seats: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let looking = Arc::clone(&watch);
        let thread = thread::spawn(move || {
            while !looking.over.load(Relaxed) {
                looking.look(ledger);
                thread::sleep(PAUSE);
            }
        });
        (watch, thread)
    }

    /// A seat for somebody who does `what`.
    pub(crate) fn seat(&self, what: &'static str) -> Arc<Seat> {
        let seat = Arc::new(Seat {
            what,
            begun: self.begun,
            until: AtomicU64::new(NOTHING),
            told: AtomicBool::new(false),
        });
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        seats.push(Arc::clone(&seat));
        seat
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Relaxed);
    }

    fn look(&self, ledger: &Ledger) {
        let now = self.begun.elapsed();
        let seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        for seat in &*seats {
            let until = seat.until.load(Relaxed);
            if until == NOTHING || Duration::from_millis(until) + PATIENCE > now {
                continue;
            }
            if !seat.told.swap(true, Relaxed) {
                let late = now.saturating_sub(Duration::from_millis(until));
                ledger.breach(format!("lost: a {} waits for {late:?} in vain", seat.what));
            }
        }
    }
}

impl Seat {
    /// From now on it waits for a timer that is due at `due`.
    pub(crate) fn waits_until(&self, due: Instant) {
        let millis = due.saturating_duration_since(self.begun).as_millis();
        let millis = u64::try_from(millis).unwrap_or(NOTHING);
        self.until.store(millis, Relaxed);
    }

    /// It waits no more.
    pub(crate) fn waits_no_more(&self) {
        self.until.store(NOTHING, Relaxed);
    }
}
