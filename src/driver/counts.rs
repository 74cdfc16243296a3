//! What the turns have done: plain numbers that only the holder of the turn lock touches.
//!
//! A [`Report`] is what they have done since the last one. It is made under the lock and told after
//! the lock was given back, because whoever listens is foreign code.

#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

use crate::metrics::Histogram;
use crate::tick::Tick;

/// What the turns of a timer have done since it was opened.
#[derive(Debug, Clone)]
pub struct Counts {
    /// How many timers have fired, those that were pending at the end included.
    pub fired: u64,
    /// How many had fired in earlier generations.
    pub fired_before: u64,
    /// How often the wheel was turned.
    pub turns: u64,
    /// How many entries were moved to a lower level.
    pub cascaded: u64,
    /// How much after its deadline each timer was fired.
    pub lateness: Histogram,
    /// What has been reported.
    told: Told,
    /// A timer that is fired later than this after its deadline is late; `u64::MAX` if none is.
    late_after: u64,
    /// Late timers that have not been reported.
    late: u64,
    /// The greatest lateness among them.
    worst: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Told {
    turns: u64,
    fired: u64,
    cascaded: u64,
    levels: usize,
}

/// What was done since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// How often the wheel was turned.
    pub turns: u64,
    /// How many timers fired.
    pub fired: u64,
    /// How many entries were moved to a lower level.
    pub cascaded: u64,
    /// How many timers fired late.
    pub late: u64,
    /// The greatest lateness among them, in ticks.
    pub worst: u64,
    /// How many levels there are now, and were at the last report.
    pub levels: (usize, usize),
}

impl Counts {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            fired: 0,
            fired_before: 0,
            turns: 0,
            cascaded: 0,
            lateness: Histogram::new(),
            told: Told::default(),
            late_after: u64::MAX,
            late: 0,
            worst: 0,
        }
    }

    /// Counts a timer that was due at `deadline` and fires now.
    #[inline]
    pub fn fire(&mut self, deadline: Tick, now: Tick) {
        let lateness = now.count().saturating_sub(deadline.count());
        self.fired += 1;
        self.lateness.record(lateness);
        if lateness > self.late_after {
            self.late += 1;
            self.worst = self.worst.max(lateness);
        }
    }

    /// From now on timers that fire more than so many ticks after their deadlines are late.
    pub fn tell_when_later_than(&mut self, ticks: u64) {
        self.late_after = ticks;
    }

    /// Takes what was done since the last report.
    pub fn report(&mut self, levels: usize) -> Report {
        let told = Told {
            turns: self.turns,
            fired: self.fired,
            cascaded: self.cascaded,
            levels,
        };
        let before = core::mem::replace(&mut self.told, told);
        Report {
            turns: told.turns - before.turns,
            fired: told.fired - before.fired,
            cascaded: told.cascaded - before.cascaded,
            late: core::mem::take(&mut self.late),
            worst: core::mem::take(&mut self.worst),
            levels: (levels, before.levels),
        }
    }

    /// Takes a report back that could not be told: it is in the next one.
    pub fn keep(&mut self, report: &Report) {
        self.told.turns -= report.turns;
        self.told.fired -= report.fired;
        self.told.cascaded -= report.cascaded;
        self.told.levels = report.levels.1;
        self.late += report.late;
        self.worst = self.worst.max(report.worst);
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_was_taken_back_is_in_the_next_one() {
        let mut counts = Counts::new();
        counts.tell_when_later_than(10);
        counts.turns = 2;
        counts.fire(Tick::new(5), Tick::new(5));
        counts.fire(Tick::new(5), Tick::new(16));
        let report = counts.report(3);
        assert_eq!(
            (report.turns, report.fired, report.late, report.worst),
            (2, 2, 1, 11)
        );
        assert_eq!(report.levels, (3, 0));
        counts.keep(&report);
        assert_eq!(counts.report(3), report);
        let nothing = counts.report(3);
        assert_eq!((nothing.turns, nothing.fired, nothing.late), (0, 0, 0));
        assert_eq!(nothing.levels, (3, 3));
    }

    #[test]
    fn nothing_is_late_unless_that_is_asked_for() {
        let mut counts = Counts::new();
        counts.fire(Tick::ZERO, Tick::MAX);
        assert_eq!(counts.report(0).late, 0);
        assert_eq!(counts.lateness.count(), 1);
    }
}
