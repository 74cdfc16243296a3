//! The books: every timer that is made is entered, and ends once.
//!
//! A user takes a [`Ticket`] for each timer. Whether the timer fired or was cancelled is told by the
//! ticket, what it returned by the timer; both are entered, and must agree at the end.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cogwheel::time::Instant;

/// Powers of two of a microsecond.
const BUCKETS: usize = 32;
/// Breaches that are told in words; the others are counted.
const TOLD: usize = 10;

/// What happened to all timers of a run.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    made: AtomicU64,
    fired: AtomicU64,
    cancelled: AtomicU64,
    closed: AtomicU64,
    /// Tickets that exist.
    live: AtomicU64,
    early: AtomicU64,
    lateness: [AtomicU64; BUCKETS],
    breaches: AtomicU64,
    told: Mutex<Vec<String>>,
}

impl Ledger {
    /// Enters a timer that is to fire at `due` or later; none if it is not known when.
    pub(crate) fn ticket(&'static self, due: impl Into<Option<Instant>>) -> Ticket {
        self.made.fetch_add(1, Relaxed);
        self.live.fetch_add(1, Relaxed);
        Ticket {
            ledger: self,
            due: due.into(),
            how: Some(End::Cancelled),
        }
    }

    /// Something that must not happen has happened.
    pub(crate) fn breach(&self, what: String) {
        self.breaches.fetch_add(1, Relaxed);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD {
            eprintln!("soak: BREACH: {what}");
            told.push(what);
        }
    }

    /// Holds if `holds`, or is a breach.
    pub(crate) fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.breach(what());
        }
    }

    pub(crate) fn breaches(&self) -> u64 {
        self.breaches.load(Relaxed)
    }

    /// Whether all that was made has ended; what has ended so far.
    pub(crate) fn balance(&self) -> Totals {
        Totals {
            made: self.made.load(Relaxed),
            fired: self.fired.load(Relaxed),
            cancelled: self.cancelled.load(Relaxed),
            closed: self.closed.load(Relaxed),
            live: self.live.load(Relaxed),
            early: self.early.load(Relaxed),
        }
    }

    fn end(&self, how: End, due: Option<Instant>) {
        self.live.fetch_sub(1, Relaxed);
        let count = match how {
            End::Fired => &self.fired,
            End::Cancelled => &self.cancelled,
            End::Closed => &self.closed,
        };
        count.fetch_add(1, Relaxed);
        if let (End::Fired, Some(due)) = (how, due) {
            self.compare(due, Instant::now());
        }
    }

    fn compare(&self, due: Instant, now: Instant) {
        if now < due {
            self.early.fetch_add(1, Relaxed);
            self.breach(format!("a timer fired {:?} early", due - now));
            return;
        }
        let micros = u64::try_from((now - due).as_micros()).unwrap_or(u64::MAX);
        let bucket = micros.checked_ilog2().map_or(0, |bits| bits as usize + 1);
        self.lateness[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
    }

    /// The lateness that this share of the timers did not exceed, as a power of two.
    pub(crate) fn lateness(&self, per_mille: u64) -> Duration {
        let counts = self.lateness.each_ref().map(|count| count.load(Relaxed));
        let wanted = (counts.iter().sum::<u64>() * per_mille).div_ceil(1000);
        let mut seen = 0;
        let bucket = counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        Duration::from_micros(1 << bucket.unwrap_or(BUCKETS))
    }
}

/// How many timers ended how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Totals {
    pub(crate) made: u64,
    pub(crate) fired: u64,
    pub(crate) cancelled: u64,
    pub(crate) closed: u64,
    pub(crate) live: u64,
    pub(crate) early: u64,
}

impl Totals {
    pub(crate) fn is_even(&self) -> bool {
        self.made == self.fired + self.cancelled + self.closed + self.live
    }
}

#[derive(Clone, Copy, Debug)]
enum End {
    Fired,
    Cancelled,
    Closed,
}

/// One timer in the books. A ticket that is dropped is one that was cancelled.
#[derive(Debug)]
pub(crate) struct Ticket {
    ledger: &'static Ledger,
    due: Option<Instant>,
    how: Option<End>,
}

impl Ticket {
    /// It is to fire at another time.
    pub(crate) fn moved(&mut self, due: Instant) {
        self.due = Some(due);
    }

    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// It has fired, just now.
    pub(crate) fn fired(mut self) {
        self.how = Some(End::Fired);
    }

    /// Its timer was closed.
    pub(crate) fn closed(mut self) {
        self.how = Some(End::Closed);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(how) = self.how.take() {
            self.ledger.end(how, self.due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> &'static Ledger {
        Box::leak(Box::default())
    }

    #[test]
    fn a_timer_that_fires_early_is_a_breach() {
        let ledger = ledger();
        ledger
            .ticket(Instant::now() + Duration::from_secs(60))
            .fired();
        assert_eq!((ledger.balance().early, ledger.breaches()), (1, 1));
    }

    #[test]
    fn a_timer_that_has_not_ended_is_live() {
        let ledger = ledger();
        let ticket = ledger.ticket(Instant::now());
        let totals = ledger.balance();
        assert!(totals.is_even());
        assert_eq!(totals.live, 1);
        ticket.fired();
        drop(ledger.ticket(None));
        ledger.ticket(None).closed();
        let totals = ledger.balance();
        assert_eq!(
            (totals.fired, totals.cancelled, totals.closed, totals.live),
            (1, 1, 1, 0)
        );
        assert!(totals.is_even());
        assert_eq!(ledger.breaches(), 0);
    }

    #[test]
    fn lateness_is_told_by_its_power_of_two() {
        let ledger = ledger();
        let now = Instant::now();
        for late in [0, 3, 3, 900] {
            ledger.compare(now, now + Duration::from_micros(late));
        }
        assert_eq!(ledger.lateness(500), Duration::from_micros(4));
        assert_eq!(ledger.lateness(1000), Duration::from_micros(1024));
    }
}
