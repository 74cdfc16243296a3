//! What is told to subscribers of `tracing`. The list is in the documentation of
//! [`metrics`](crate::metrics#events).
//!
//! A subscriber is foreign code: it may use timers, and it may panic. So it is told of a turn after
//! the turn lock was given back, and what it does to timers while it is told is not told in turn.

#![forbid(unsafe_code)]

use core::cell::Cell;
use core::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::{debug, trace, warn};

use crate::driver::counts::Report;
use crate::driver::wake_list::run_foreign;

/// The target of all events and spans of a driver.
const TARGET: &str = "cogwheel::driver";

/// Tells that a timer was opened or closed.
pub(super) fn announce(event: &'static str, generation: u32) {
    tell(|| run_foreign(|| debug!(target: TARGET, generation, "{event}")));
}

/// Tells what a turn has done. The caller holds no lock.
pub(super) fn turned(report: &Report) {
    let (levels, before) = report.levels;
    let wanted = if report.late > 0 {
        LevelFilter::WARN
    } else if levels != before {
        LevelFilter::DEBUG
    } else {
        LevelFilter::TRACE
    };
    // One load; without a subscriber that is all.
    if LevelFilter::current() < wanted {
        return;
    }
    // PANIC: each by itself, as one that panics must not cost the others.
    tell(|| {
        if levels != before {
            run_foreign(|| debug!(target: TARGET, levels, "levels added"));
        }
        if report.late > 0 {
            let worst = Duration::from_nanos(report.worst);
            let count = report.late;
            run_foreign(|| warn!(target: TARGET, count, ?worst, "timers fired late"));
        }
        let Report {
            turns: rounds,
            fired,
            cascaded,
            ..
        } = *report;
        run_foreign(|| trace!(target: TARGET, rounds, fired, cascaded, "turn"));
    });
}

/// Runs `events`, which do not unwind, unless this thread is telling something already.
fn tell(events: impl FnOnce()) {
    thread_local! {
        static TELLING: Cell<bool> = const { Cell::new(false) };
    }
    let nested = TELLING.try_with(|telling| telling.replace(true));
    if nested.unwrap_or(true) {
        return;
    }
    events();
    let _ = TELLING.try_with(|telling| telling.set(false));
}

/// Runs the wakes of a turn inside of a span.
#[cfg(feature = "tracing-spans")]
pub(super) fn in_span(wakes: impl FnOnce()) {
    if LevelFilter::current() < LevelFilter::TRACE {
        return wakes();
    }
    let mut span = None;
    run_foreign(|| span = Some(tracing::trace_span!(target: TARGET, "wakes").entered()));
    wakes();
    run_foreign(|| drop(span));
}
