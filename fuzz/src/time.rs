//! A line of time that is the same in every process, so that an input means the same everywhere.

use std::sync::OnceLock;
use std::time::Duration;

use cogwheel::{DelayQueue, ManualClock};
use tokio::time::Instant;

use crate::input::Input;

/// How far an input reaches: 146 years, so that twice that is a place in time, too.
const REACH: u64 = u64::MAX >> 2;

/// The end of the line: what a duration without end leads to.
pub(crate) fn never() -> Instant {
    static NEVER: OnceLock<Instant> = OnceLock::new();
    *NEVER.get_or_init(|| {
        let mut queue = DelayQueue::new();
        let key = queue.insert((), Duration::MAX);
        queue.deadline(&key)
    })
}

/// Where clocks begin: an even place on the line, close to the real present.
fn start() -> Instant {
    never() - Duration::from_nanos((7 << 61) - 1)
}

/// The place of an instant.
pub(crate) fn place_of(instant: Instant) -> u64 {
    let nanos = instant.saturating_duration_since(start()).as_nanos();
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// The instant at a place; those beyond reach are all one.
pub(crate) fn instant_at(place: u64) -> Instant {
    start() + Duration::from_nanos(place.min(2 * REACH))
}

/// A deadline that is meant relative to `now`.
pub(crate) fn deadline(input: &mut Input<'_>, now: Instant) -> Instant {
    let now = place_of(now);
    instant_at(input.place(now).min(now.saturating_add(REACH)))
}

/// What a delay that begins `now` leads to: past the end of the line there is nothing.
pub(crate) fn after(now: Instant, delay: Duration) -> Instant {
    let sum = now.checked_add(delay);
    sum.map_or_else(never, |deadline| deadline.min(never()))
}

/// A clock, which begins anywhere.
pub(crate) fn clock(input: &mut Input<'_>, builder: cogwheel::timer::Builder) -> ManualClock {
    let uptime = match input.below(4) {
        0 => 0,
        // 2^36 milliseconds, where other wheels end.
        1 => 1_000_000 << 36,
        _ => input.ticks().min(REACH),
    };
    builder.build_manual_at(instant_at(uptime))
}
