//! Setting the alarm ahead of need, while deadline after deadline is the earliest.
//!
//! A timer that is due before all others needs a turn and a new alarm, and the one after it, due
//! earlier still, another. When that has happened several times since the alarm last went off, it
//! is set halfway to the next deadline instead of at it: what is due after that needs no turn. A
//! thousand timers that are each due before the last take a turn for every halving of the time that
//! is left. The price is that the alarm goes off once with nothing to do, after at least [`OFTEN`]
//! turns. A timer that is the earliest by itself pays nothing.

#![forbid(unsafe_code)]

use crate::tick::Tick;

/// So often in a row an earlier deadline has its own turn and alarm.
const OFTEN: u32 = 4;
/// A deadline that is nearer than this has its alarm at itself: 2^22 ticks, 4 ms.
const NEAR: u64 = 1 << 22;

/// When to set the alarm.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// What the alarm was set to last.
    set: Tick,
    /// How often it was set to an earlier time since it last went off.
    moved: u32,
}

impl Ahead {
    /// No alarm is set.
    pub(crate) const fn new() -> Self {
        Self {
            set: Tick::MAX,
            moved: 0,
        }
    }

    /// When to set the alarm at `now`, for timers of which the earliest is due at `next`.
    pub(crate) fn choose(&mut self, now: Tick, next: Tick) -> Tick {
        if self.set <= now {
            self.moved = 0;
        } else if next < self.set {
            self.moved = self.moved.saturating_add(1);
        }
        let ahead = next.count().saturating_sub(now.count());
        if self.moved < OFTEN || ahead < NEAR || next == Tick::MAX {
            self.set = next;
            return next;
        }
        let halfway = Tick::new(now.count() + ahead / 2);
        // One that is set and early enough stays: were it put off by every turn, it would always be
        // found too early when it goes off, and be set halfway again.
        self.set = if self.set > now {
            self.set.min(halfway)
        } else {
            halfway
        };
        self.set
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Tick {
        Tick::new(ms * MS)
    }

    #[test]
    fn a_few_earlier_deadlines_have_the_alarm_at_themselves_and_more_halfway() {
        let mut ahead = Ahead::new();
        for ms in [1_000, 900, 800] {
            assert_eq!(ahead.choose(at(0), at(ms)), at(ms));
        }
        assert_eq!(ahead.choose(at(100), at(700)), at(400));
        // It goes off, and nothing was moved meanwhile.
        assert_eq!(ahead.choose(at(400), at(700)), at(700));
    }

    #[test]
    fn a_near_deadline_and_none_at_all_have_the_alarm_at_themselves() {
        let mut ahead = Ahead::new();
        for ms in (10..20).rev() {
            ahead.choose(at(0), at(ms));
        }
        assert_eq!(ahead.choose(at(0), at(4)), at(4));
        assert_eq!(ahead.choose(at(0), Tick::MAX), Tick::MAX);
        let last = Tick::new(u64::MAX - 1);
        assert_eq!(ahead.choose(last, last), last);
    }

    #[test]
    fn turns_that_are_run_meanwhile_do_not_let_the_alarm_go_off_more_often() {
        let mut ahead = Ahead::new();
        for ms in [10_000, 9_900, 9_800, 9_700] {
            ahead.choose(at(0), at(ms));
        }
        // An alarm that is set stays, as long as it is early enough.
        let (mut alarm, mut idle) = (ahead.set, 0);
        for now in 1..9_700 {
            let chosen = ahead.choose(at(now), at(9_700));
            idle += u32::from(alarm <= at(now));
            alarm = if alarm <= at(now) {
                chosen
            } else {
                alarm.min(chosen)
            };
        }
        assert_eq!((idle, alarm), (1, at(9_700)));
    }

    proptest! {
        /// Whatever comes, the alarm is never too late, lies ahead if the deadline does, and goes
        /// off for nothing once at most for every so many times that it was set.
        #[test]
        fn the_alarm_is_never_late_and_seldom_for_nothing(
            steps in prop::collection::vec((0..50_u64, 1..60_u64, any::<bool>()), 1..200),
        ) {
            let mut ahead = Ahead::new();
            let (mut now, mut next, mut until) = (0, u64::MAX / MS, Tick::MAX);
            let (mut set, mut idle) = (0, 0);
            for (pass, delay, earlier) in steps {
                // Time goes on, with a turn whenever the alarm goes off.
                let target = now + pass;
                while until <= at(target) {
                    now = until.count().div_ceil(MS).max(now);
                    if at(now) < at(next) {
                        idle += 1;
                    } else {
                        next = now + delay;
                    }
                    until = ahead.choose(at(now), at(next));
                }
                now = target;
                next = if earlier { next.min(now + delay) } else { next.max(now + delay) };
                // A turn is run by whoever is earlier than the alarm, and by others now and then.
                let before = until;
                until = ahead.choose(at(now), at(next));
                set += u32::from(until < before);
                prop_assert!(until <= at(next));
                prop_assert!(until > at(now));
            }
            prop_assert!(idle <= set / (OFTEN - 1) + 1, "{idle} of {set}");
        }
    }
}
