//! What an interval does about ticks it has missed.
//!
//! Pure arithmetic on the tick line, which saturates: no period and no lateness overflows.

#![forbid(unsafe_code)]

use core::time::Duration;

use crate::tick::Tick;

/// A tick taken no later than this after its time is not a missed one.
///
/// Tokio's value, so that a period does not shift by ordinary scheduling delays.
const TOLERANCE: Duration = Duration::from_millis(5);

/// What an [`Interval`](crate::time::Interval) does when a tick is taken more than 5 ms late.
///
/// Within those 5 ms all three behave alike: the next tick is one period after the time the last
/// one was scheduled for. A late tick itself is always yielded at once; the question is when the
/// next one comes. With a period of 100 ms, and a task that takes no tick from 100 ms to 350 ms:
///
/// ```text
///          0    100   200   300   400   500   600   700
/// Burst    |     |             |||   |     |     |     |    200 and 300 at once
/// Delay    |     |              |     |     |     |         200 at 350, then 450, 550
/// Skip     |     |              |  |     |     |     |      200 at 350, then 400, 500
/// ```
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, Instant, MissedTickBehavior, interval, sleep};
///
/// let start = Instant::now();
/// let mut beat = interval(Duration::from_millis(100));
/// beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
/// beat.tick().await;
///
/// sleep(Duration::from_millis(350)).await; // busy
/// assert_eq!(beat.tick().await, start + Duration::from_millis(100)); // at 350 ms
/// assert_eq!(beat.tick().await, start + Duration::from_millis(400));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Makes up for the missed ticks at once, one after the other. The default, as in Tokio.
    ///
    /// No tick is lost, and all stay on the grid `start + n * period`. After a long pause this may
    /// be many: choose another behavior if a tick means "now" and not "one more".
    #[default]
    Burst,

    /// Starts afresh: the next tick is one period after the late one was taken.
    ///
    /// Two ticks are never closer than a period less the 5 ms, and the grid shifts.
    Delay,

    /// Drops the missed ticks: the next one is the first on the old grid that is after now.
    Skip,
}

impl MissedTickBehavior {
    /// The tick after the one that was due at `scheduled` and is taken at `now`; `period` is not
    /// zero.
    pub(crate) fn next_tick(self, scheduled: Tick, now: Tick, period: Duration) -> Tick {
        let late = now.since(scheduled);
        if late <= TOLERANCE {
            return scheduled.after(period);
        }
        match self {
            Self::Burst => scheduled.after(period),
            Self::Delay => now.after(period),
            Self::Skip => now.after(period - remainder(late, period)),
        }
    }
}

/// How far `late` reaches into the period it ends in.
fn remainder(late: Duration, period: Duration) -> Duration {
    let nanos = late.as_nanos() % period.as_nanos();
    // Lossless: `late` is a difference of ticks, so it has at most `u64::MAX` nanoseconds.
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::MissedTickBehavior::{Burst, Delay, Skip};
    use super::*;

    const MS: u64 = 1_000_000;

    fn next(behavior: MissedTickBehavior, scheduled: u64, now: u64, period: Duration) -> u64 {
        behavior
            .next_tick(Tick::new(scheduled), Tick::new(now), period)
            .count()
    }

    #[test]
    fn up_to_five_milliseconds_late_all_behaviors_keep_the_grid() {
        let period = Duration::from_millis(20);
        for behavior in [Burst, Delay, Skip] {
            for late in [0, 1, 5 * MS] {
                assert_eq!(next(behavior, 7, 7 + late, period), 7 + 20 * MS);
            }
        }
    }

    #[test]
    fn one_nanosecond_beyond_the_tolerance_they_differ() {
        let period = Duration::from_millis(20);
        let late = 5 * MS + 1;
        assert_eq!(next(Burst, 0, late, period), 20 * MS);
        assert_eq!(next(Delay, 0, late, period), late + 20 * MS);
        assert_eq!(next(Skip, 0, late, period), 20 * MS);
    }

    #[test]
    fn skip_takes_the_first_grid_point_strictly_after_now() {
        let period = Duration::from_millis(10);
        for (now, right) in [
            (39 * MS, 40 * MS),
            (40 * MS - 1, 40 * MS),
            (40 * MS, 50 * MS),
            (40 * MS + 1, 50 * MS),
        ] {
            assert_eq!(next(Skip, 10 * MS, now, period), right, "now = {now}");
        }
    }

    #[test]
    fn no_behavior_overflows_at_any_corner_of_the_line() {
        let corners = [0, 1, 5 * MS, 5 * MS + 1, u64::MAX - 1, u64::MAX];
        let periods = [
            Duration::from_nanos(1),
            Duration::from_nanos(u64::MAX),
            Duration::from_nanos(u64::MAX) + Duration::from_nanos(1),
            Duration::MAX,
        ];
        for behavior in [Burst, Delay, Skip] {
            for scheduled in corners {
                for now in corners {
                    for period in periods {
                        let next = next(behavior, scheduled, now, period);
                        let moves = next > scheduled || next == u64::MAX;
                        assert!(moves, "{behavior:?} {scheduled} {now} {period:?}: {next}");
                    }
                }
            }
        }
    }
}
