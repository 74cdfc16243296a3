//! The only reader of time: Tokio's clock, and what its instants are in ticks.

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "this is the one file in which time enters"
)]

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;

use crate::tick::Tick;

/// Where the origin lies on the tick line: instants up to 73 years older than the process have a
/// tick, and the line ends 511 years after it.
const ORIGIN: Tick = Tick::new(1 << 61);

/// The instant that [`ORIGIN`] stands for, the same for every timer of the process.
fn origin() -> Instant {
    static INSTANT: OnceLock<Instant> = OnceLock::new();
    *INSTANT.get_or_init(|| Instant::from_std(std::time::Instant::now()))
}

/// Tokio's current time: that of a paused clock if the calling thread is in its runtime.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The tick of `instant`, saturating at both ends of the line.
pub(crate) fn tick_of(instant: Instant) -> Tick {
    let origin = origin();
    match instant.checked_duration_since(origin) {
        Some(later) => ORIGIN.after(later),
        None => ORIGIN.before(origin.saturating_duration_since(instant)),
    }
}

/// The instant of `tick`; the end of the line stands for "later than 500 years from now".
pub(crate) fn instant_of(tick: Tick) -> Instant {
    let origin = origin();
    if tick < ORIGIN {
        let earlier = ORIGIN.since(tick);
        return origin.checked_sub(earlier).unwrap_or(origin);
    }
    let mut later = tick.since(ORIGIN);
    loop {
        // Some platforms count less than 500 years: halve until it fits.
        match origin.checked_add(later) {
            Some(instant) => return instant,
            None => later /= 2,
        }
    }
}

/// `now() + delay`, or an instant that is practically never if that overflows.
pub(crate) fn deadline_in(delay: Duration) -> Tick {
    tick_of(now()).after(delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_around_the_origin_survive_the_round_trip_to_the_nanosecond() {
        let origin = origin();
        for nanos in [0, 1, 999_999_999, 1_000_000_000, u64::from(u32::MAX) << 20] {
            let duration = Duration::from_nanos(nanos);
            let later = origin + duration;
            assert_eq!(instant_of(tick_of(later)), later);
            if let Some(earlier) = origin.checked_sub(duration) {
                assert_eq!(instant_of(tick_of(earlier)), earlier);
            }
        }
    }

    #[test]
    fn the_end_of_the_line_is_far_in_the_future() {
        let century = Duration::from_secs(100 * 365 * 86_400);
        assert!(instant_of(Tick::MAX) > now() + century);
        assert_eq!(deadline_in(Duration::MAX), Tick::MAX);
    }
}
