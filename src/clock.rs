//! The only reader of time: Tokio's clock, and what its instants are in ticks.

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "this is the one file in which time enters"
)]

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::tick::Tick;

/// Where the origin lies on the tick line: instants up to 73 years older than the process have a
/// tick, and the line ends 511 years after it.
const ORIGIN: Tick = Tick::new(1 << 61);

/// The instant that [`ORIGIN`] stands for, the same for every timer of the process.
#[inline]
fn origin() -> std::time::Instant {
    static INSTANT: OnceLock<std::time::Instant> = OnceLock::new();
    *INSTANT.get_or_init(std::time::Instant::now)
}

/// In the place of a runtime's number: the system's clock, which nobody pauses.
pub(crate) const SYSTEM: u64 = 0;
/// In the place of a runtime's number: a clock that is moved by hand.
pub(crate) const MANUAL: u64 = u64::MAX;

/// Tokio's current time: that of a paused clock if the calling thread is in its runtime.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// As [`now`], in ticks.
#[inline]
pub(crate) fn context_now() -> Tick {
    tick_of(now())
}

/// The system's time, whatever clock the calling thread's runtime may have paused.
#[inline]
pub(crate) fn system_now() -> Tick {
    tick_of_std(std::time::Instant::now())
}

/// The tick of `instant`, saturating at both ends of the line.
#[inline]
pub(crate) fn tick_of(instant: Instant) -> Tick {
    tick_of_std(instant.into_std())
}

#[inline]
fn tick_of_std(instant: std::time::Instant) -> Tick {
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
        return Instant::from_std(origin.checked_sub(earlier).unwrap_or(origin));
    }
    let mut later = tick.since(ORIGIN);
    loop {
        // Some platforms count less than 500 years: halve until it fits.
        match origin.checked_add(later) {
            Some(instant) => return Instant::from_std(instant),
            None => later /= 2,
        }
    }
}

/// A number that stands for the runtime of `handle`: neither [`SYSTEM`] nor [`MANUAL`].
pub(crate) fn runtime_id(handle: &Handle) -> u64 {
    /// Tokio's id is one number that it shows to a hasher alone.
    struct Number(u64);

    impl Hasher for Number {
        fn finish(&self) -> u64 {
            self.0
        }

        fn write(&mut self, bytes: &[u8]) {
            for &byte in bytes {
                self.0 = self.0.rotate_left(8) ^ u64::from(byte);
            }
        }

        fn write_u64(&mut self, number: u64) {
            self.0 = number;
        }
    }

    let mut number = Number(0);
    handle.id().hash(&mut number);
    number.finish()
}

/// The id of the runtime that the calling thread is in, if it is in one.
pub(crate) fn context() -> Option<u64> {
    Handle::try_current().ok().map(|handle| runtime_id(&handle))
}

/// Whether the calling thread may enter a runtime: not when its locals are gone.
pub(crate) fn may_enter() -> bool {
    match Handle::try_current() {
        Ok(_) => true,
        Err(error) => !error.is_thread_local_destroyed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn instants_around_the_origin_survive_the_round_trip_to_the_nanosecond() {
        let origin = Instant::from_std(origin());
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
        assert_eq!(context_now().after(Duration::MAX), Tick::MAX);
    }
}
