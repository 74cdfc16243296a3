//! How late timers were: a histogram, and how many were early or lost.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

use crate::measure::{Metrics, as_f64};

/// The value of a slot whose timer has not fired.
const LOST: i64 = i64::MIN;
/// A minute: whatever is later counts as this.
const LONGEST: u64 = 60_000_000_000;

/// One slot for each timer.
pub(crate) struct Slots(Box<[AtomicI64]>);

impl Slots {
    pub(crate) fn new(timers: usize) -> Self {
        Self((0..timers).map(|_| AtomicI64::new(LOST)).collect())
    }

    /// The timer of this slot fires now.
    pub(crate) fn fired(&self, index: usize, deadline: Instant) {
        self.0[index].store(nanos_since(deadline), Relaxed);
    }

    /// Nanoseconds of lateness, negative for early, for each timer that has fired.
    pub(crate) fn all(&self) -> impl Iterator<Item = Option<i64>> + '_ {
        self.0.iter().map(|slot| match slot.load(Relaxed) {
            LOST => None,
            nanos => Some(nanos),
        })
    }

    /// Percentiles, early and lost ones.
    pub(crate) fn metrics(&self) -> Metrics {
        let mut histogram = Histogram::<u64>::new_with_max(LONGEST, 3).expect("three digits");
        let (mut early, mut lost) = (0, 0);
        for nanos in self.all() {
            let Some(nanos) = nanos else {
                lost += 1;
                continue;
            };
            early += i64::from(nanos < 0);
            histogram.saturating_record(u64::try_from(nanos).unwrap_or(0));
        }
        let late = |share| micros(histogram.value_at_quantile(share));
        vec![
            ("late p50 us", late(0.5)),
            ("late p90 us", late(0.9)),
            ("late p99 us", late(0.99)),
            ("late p99.9 us", late(0.999)),
            ("late p99.99 us", late(0.9999)),
            ("late max us", micros(histogram.max())),
            ("early", as_f64(early)),
            ("lost", as_f64(lost)),
        ]
    }
}

fn micros(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64() * 1e6
}

/// How late it is, or with a minus how early.
pub(crate) fn nanos_since(deadline: Instant) -> i64 {
    let now = Instant::now();
    let nanos = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    match now.checked_duration_since(deadline) {
        Some(late) => nanos(late),
        None => -nanos(deadline - now),
    }
}
