//! The counts of one kind of timer: created, fired, cancelled, reset, and how late each one fired.
//!
//! The counts are taken around the timers, not inside them, so that both kinds are measured with
//! the same yardstick and pay the same for it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

/// Lateness beyond this is recorded as this much.
const LATEST: Duration = Duration::from_secs(60);

/// The counters of all timers of one kind.
pub(crate) struct Meter {
    created: AtomicU64,
    fired: AtomicU64,
    cancelled: AtomicU64,
    resets: AtomicU64,
    early: AtomicU64,
    lateness: Mutex<Lateness>,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            created: AtomicU64::new(0),
            fired: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            resets: AtomicU64::new(0),
            early: AtomicU64::new(0),
            lateness: Mutex::new(Lateness {
                recent: histogram(),
                total: histogram(),
            }),
        }
    }

    /// The counts since the start of the run.
    pub(crate) fn counts(&self) -> Counts {
        // The ends are read before the beginnings: a timer that comes and goes in between may
        // count as live, but never as ended without having begun.
        let fired = self.fired.load(Relaxed);
        let cancelled = self.cancelled.load(Relaxed);
        Counts {
            created: self.created.load(Relaxed),
            fired,
            cancelled,
            resets: self.resets.load(Relaxed),
            early: self.early.load(Relaxed),
        }
    }

    /// The lateness of the timers that fired since the last call.
    pub(crate) fn recent_lateness(&self) -> Percentiles {
        self.lateness().take_recent()
    }

    /// The lateness of all timers that have fired since [`forget_lateness`](Self::forget_lateness).
    pub(crate) fn total_lateness(&self) -> Percentiles {
        let mut lateness = self.lateness();
        lateness.take_recent();
        Percentiles::of(&lateness.total)
    }

    /// Begins the record of lateness anew.
    pub(crate) fn forget_lateness(&self) {
        let mut lateness = self.lateness();
        lateness.recent.reset();
        lateness.total.reset();
    }

    fn lateness(&self) -> MutexGuard<'_, Lateness> {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Lateness {
    recent: Histogram<u64>,
    total: Histogram<u64>,
}

impl Lateness {
    fn take_recent(&mut self) -> Percentiles {
        let recent = Percentiles::of(&self.recent);
        self.total
            .add(&self.recent)
            .expect("both histograms have the same bounds");
        self.recent.reset();
        recent
    }
}

/// Nanoseconds with three significant digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, nanos(LATEST), 3).expect("the bounds are valid")
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What happened to the timers of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) created: u64,
    pub(crate) fired: u64,
    pub(crate) cancelled: u64,
    pub(crate) resets: u64,
    pub(crate) early: u64,
}

impl Counts {
    /// Timers that have neither fired nor been cancelled.
    pub(crate) fn live(&self) -> u64 {
        self.created.saturating_sub(self.fired + self.cancelled)
    }

    /// What was added since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            created: self.created - earlier.created,
            fired: self.fired - earlier.fired,
            cancelled: self.cancelled - earlier.cancelled,
            resets: self.resets - earlier.resets,
            early: self.early - earlier.early,
        }
    }
}

/// A summary of how late timers fired.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Percentiles {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
}

impl Percentiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        Self {
            p50: Duration::from_nanos(histogram.value_at_quantile(0.50)),
            p99: Duration::from_nanos(histogram.value_at_quantile(0.99)),
            max: Duration::from_nanos(histogram.max()),
        }
    }
}

/// Follows one timer from its creation to its end. Dropped before the timer fired, it counts the
/// timer as cancelled.
pub(crate) struct Ticket {
    meter: &'static Meter,
    deadline: Instant,
    armed: bool,
}

impl Ticket {
    /// Counts a timer as created.
    pub(crate) fn new(meter: &'static Meter, deadline: Instant) -> Self {
        let mut ticket = Self {
            meter,
            deadline,
            armed: false,
        };
        ticket.arm(deadline);
        ticket
    }

    /// Counts a timer as reset, or as created anew if it had fired.
    pub(crate) fn arm(&mut self, deadline: Instant) {
        if self.armed {
            self.meter.resets.fetch_add(1, Relaxed);
        } else {
            self.meter.created.fetch_add(1, Relaxed);
        }
        self.deadline = deadline;
        self.armed = true;
    }

    /// Counts a timer as fired now.
    pub(crate) fn fire(&mut self) {
        self.fire_at(self.deadline);
    }

    /// Counts a timer as fired now that says itself when it was due.
    pub(crate) fn fire_at(&mut self, due: Instant) {
        let now = Instant::now();
        self.armed = false;
        self.meter.fired.fetch_add(1, Relaxed);
        if now < due {
            self.meter.early.fetch_add(1, Relaxed);
        }
        let late = nanos(now.saturating_duration_since(due));
        self.meter.lateness().recent.saturating_record(late);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.armed {
            self.meter.cancelled.fetch_add(1, Relaxed);
        }
    }
}
