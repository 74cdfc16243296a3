//! What the users of a timer have done, thread by thread, and the snapshot of the whole.
//!
//! Arming and cancelling must not meet on a common word, so each thread counts for itself: it has a
//! [`Tally`] per timer, which it alone writes, with plain loads and stores. When the thread ends the
//! tally keeps its counts and goes to the next thread; there are as many as there were ever threads
//! at once. What the turns have done is counted under the turn lock (`counts`).
//!
//! # What the books say
//!
//! Tallies live as long as their driver and so span its generations. With `A` armed, `D` ended by a
//! poll that found them due, `C` cancelled and `F` fired by turns, all since the driver was made,
//!
//! ```text
//! live = A - C - D - F
//! ```
//!
//! holds for every generation, since at its end everything is fired. For the same reason what the
//! generations before this one have cancelled is what they armed and did not end otherwise; it is
//! derived and not read, so that an operation that was under way when one ended and the next began
//! is in neither's way.

#![forbid(unsafe_code)]

use core::time::Duration;

use crate::driver::core::Core;
use crate::driver::shared::Shared;
use crate::metrics::{LevelMetrics, TimerMetrics};
use crate::primitive::Mutex;
use crate::primitive::counter::{AtomicU64, Ordering};

/// A count that one thread writes and all may read.
#[derive(Debug)]
pub(super) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(super) fn add_one(&self) {
        // No exchange: the thread that has the tally is the only one that writes.
        let next = self.0.load(Ordering::Relaxed).wrapping_add(1);
        self.0.store(next, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one thread has done with the timers of one driver. On cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally {
    /// Of which driver, in the form of its label.
    pub(super) label: u32,
    pub(super) armed: Count,
    pub(super) cancelled: Count,
    /// Ended because their own poll found them due.
    pub(super) due: Count,
    pub(super) resets: Count,
}

impl Tally {
    pub(super) const fn new(label: u32) -> Self {
        Self {
            label,
            armed: Count(AtomicU64::new(0)),
            cancelled: Count(AtomicU64::new(0)),
            due: Count(AtomicU64::new(0)),
            resets: Count(AtomicU64::new(0)),
        }
    }
}

/// Why a timer is ended by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Nobody waits any longer.
    Cancelled,
    /// Its deadline has come, but no turn yet.
    Due,
}

impl Tally {
    #[inline]
    pub(super) fn end(&self, end: End) {
        match end {
            End::Cancelled => self.cancelled.add_one(),
            End::Due => self.due.add_one(),
        }
    }
}

/// The sums of all tallies.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    armed: u64,
    cancelled: u64,
    due: u64,
    resets: u64,
}

/// The counts of one driver.
#[derive(Debug)]
pub(super) struct Ledger {
    books: Mutex<Books>,
    /// How often the alarm has gone off.
    alarms: AtomicU64,
}

#[derive(Debug)]
struct Books {
    /// All there are.
    tallies: Vec<&'static Tally>,
    /// Those that no thread has.
    spare: Vec<&'static Tally>,
    /// How things stood when the current generation began.
    start: Sums,
    alarms_at_start: u64,
    /// The last figures of the generation that ended last.
    last: Option<(u32, TimerMetrics)>,
}

impl Ledger {
    pub(super) const fn new() -> Self {
        Self {
            books: Mutex::new(Books {
                tallies: Vec::new(),
                spare: Vec::new(),
                start: Sums::ZERO,
                alarms_at_start: 0,
                last: None,
            }),
            alarms: AtomicU64::new(0),
        }
    }

    /// A tally for the calling thread.
    pub(super) fn take(&self, label: u32) -> &'static Tally {
        let mut books = self.books.lock();
        if let Some(spare) = books.spare.pop() {
            return spare;
        }
        let tally: &'static Tally = Box::leak(Box::new(Tally::new(label)));
        books.tallies.push(tally);
        tally
    }

    /// Takes a tally back, which the calling thread no longer writes.
    pub(super) fn give_back(&self, tally: &'static Tally) {
        self.books.lock().spare.push(tally);
    }

    /// Counts that the alarm has gone off.
    pub(super) fn alarm(&self) {
        self.alarms.fetch_add(1, Ordering::Relaxed);
    }

    /// Begins a generation: what is counted from now on belongs to it.
    pub(super) fn begin(&self) {
        let mut books = self.books.lock();
        books.start = books.sums();
        books.alarms_at_start = self.alarms.load(Ordering::Relaxed);
    }

    /// How things stand, for the holder of the turn lock. Runs no foreign code.
    pub(super) fn survey(&self, shared: &Shared, core: &Core) -> TimerMetrics {
        let counts = core.counts();
        let (now, start, tallies, alarms) = {
            let books = self.books.lock();
            let alarms = self.alarms.load(Ordering::Relaxed) - books.alarms_at_start;
            (books.sums(), books.start, books.tallies.len(), alarms)
        };
        let ended = now.cancelled.wrapping_add(now.due);
        let fired = counts.fired_before.wrapping_add(counts.fired);
        let cancelled_before = start
            .armed
            .wrapping_sub(start.due)
            .wrapping_sub(counts.fired_before);
        let bytes = shared.pool().bytes() + core.bytes() + tallies * size_of::<Tally>();
        TimerMetrics {
            live: not_negative(now.armed.wrapping_sub(ended).wrapping_sub(fired)),
            created: now.armed - start.armed,
            fired: counts.fired + (now.due - start.due),
            cancelled: not_negative(now.cancelled.wrapping_sub(cancelled_before)),
            resets: now.resets - start.resets,
            queued: shared.queued() as u64,
            turns: counts.turns,
            wake_ups: alarms,
            cascades: counts.cascaded,
            nodes: u64::from(shared.pool().nodes()),
            bytes: bytes as u64,
            lateness: counts.lateness.clone(),
            levels: levels(core),
            closed: false,
        }
    }

    /// Keeps the last figures of a generation.
    pub(super) fn end(&self, generation: u32, last: TimerMetrics) {
        let before = self
            .books
            .lock()
            .last
            .replace((generation, last.into_last()));
        drop(before);
    }

    /// The last figures of a generation that has ended.
    pub(super) fn last(&self, generation: u32) -> TimerMetrics {
        match &self.books.lock().last {
            Some((of, last)) if *of == generation => last.clone(),
            _ => TimerMetrics::forgotten(),
        }
    }
}

impl Books {
    fn sums(&self) -> Sums {
        let mut sums = Sums::ZERO;
        for tally in &self.tallies {
            // What ends a timer was counted after what armed it: in this order, or more would seem
            // to have ended than were armed.
            sums.cancelled += tally.cancelled.get();
            sums.due += tally.due.get();
            sums.resets += tally.resets.get();
            sums.armed += tally.armed.get();
        }
        sums
    }
}

impl Sums {
    const ZERO: Self = Self {
        armed: 0,
        cancelled: 0,
        due: 0,
        resets: 0,
    };
}

fn levels(core: &Core) -> Vec<LevelMetrics> {
    let level = |level: crate::wheel::Occupancy| {
        LevelMetrics::new(
            Duration::from_nanos(level.bucket),
            Duration::from_nanos(level.span),
            level.occupied,
            level.entries,
        )
    };
    core.occupancy().map(level).collect()
}

/// A difference of counts that were not read at the same instant.
fn not_negative(difference: u64) -> u64 {
    if difference > u64::MAX / 2 {
        0
    } else {
        difference
    }
}
