//! The unit of wheel time, and the only arithmetic between it and [`Duration`].
//!
//! A [`Tick`] counts nanoseconds on a line that starts at an arbitrary origin. Everything
//! saturates: a deadline that does not fit is [`Tick::MAX`], "practically never". Nothing here
//! rounds, because one tick is the finest step a [`Duration`] can express.

#![forbid(unsafe_code)]

use core::time::Duration;

/// A point in wheel time: a count of ticks since the wheel's origin.
///
/// The async side of this crate uses one tick per nanosecond. A [`Wheel`](crate::Wheel) of your
/// own may count anything that only grows: nanoseconds, milliseconds, frames, log positions.
///
/// # Examples
///
/// ```
/// use cogwheel::Tick;
/// use std::time::Duration;
///
/// let start = Tick::new(1_000);
/// assert_eq!(start.after(Duration::from_nanos(5)), Tick::new(1_005));
/// assert_eq!(start.after(Duration::MAX), Tick::MAX);
/// assert_eq!(Tick::new(1_005).since(start), Duration::from_nanos(5));
/// assert_eq!(start.since(Tick::new(1_005)), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// The origin of wheel time.
    pub const ZERO: Self = Self(0);

    /// The last tick: a deadline here is never reached.
    pub const MAX: Self = Self(u64::MAX);

    /// The tick with this count.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The count of this tick.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.0
    }

    /// The tick one nanosecond-per-tick `duration` later, [`Tick::MAX`] if that does not fit.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    /// The tick one nanosecond-per-tick `duration` earlier, [`Tick::ZERO`] if that does not fit.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }

    /// The time from `earlier` to this tick at one tick per nanosecond, zero if there is none.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Whole nanoseconds of `duration`, `u64::MAX` (584 years) if there are more.
fn nanos(duration: Duration) -> u64 {
    const NANOS_PER_SEC: u64 = 1_000_000_000;
    duration
        .as_secs()
        .saturating_mul(NANOS_PER_SEC)
        .saturating_add(u64::from(duration.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanos_agree_with_the_wide_arithmetic_until_they_saturate() {
        for duration in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::new(1, 999_999_999),
            Duration::from_nanos(u64::MAX - 1),
            Duration::from_nanos(u64::MAX),
        ] {
            assert_eq!(u128::from(nanos(duration)), duration.as_nanos());
        }
        assert_eq!(
            nanos(Duration::from_nanos(u64::MAX) + Duration::from_nanos(1)),
            u64::MAX
        );
        assert_eq!(nanos(Duration::MAX), u64::MAX);
    }

    #[test]
    fn later_and_earlier_by_a_duration_undo_each_other() {
        let (tick, duration) = (Tick::new(1 << 40), Duration::new(3, 7));
        assert_eq!(tick.after(duration).count(), (1 << 40) + 3_000_000_007);
        assert_eq!(tick.after(duration).before(duration), tick);
        assert_eq!(tick.after(duration).since(tick), duration);
    }

    #[test]
    fn a_tick_never_wraps_in_either_direction() {
        assert_eq!(Tick::MAX.after(Duration::from_nanos(1)), Tick::MAX);
        assert_eq!(Tick::ZERO.before(Duration::from_nanos(1)), Tick::ZERO);
        assert_eq!(Tick::ZERO.since(Tick::MAX), Duration::ZERO);
    }
}
