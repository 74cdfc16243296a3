//! Intervals and series on both kinds of runtime, by a clock that is moved by hand.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use cogwheel::time::MissedTickBehavior::{Burst, Delay, Skip};
use cogwheel::time::{Instant, Interval, MissedTickBehavior, interval, interval_at};
use cogwheel::{ManualClock, Scheduled, Timer};

use crate::drive::ms;
use crate::{NS, armed, default_clock, secs, until};

pub(crate) const BEHAVIORS: [MissedTickBehavior; 3] = [Burst, Delay, Skip];

/// The tick that is due, if one is.
pub(crate) async fn tick(beat: &mut Interval) -> Option<Instant> {
    tokio::task::yield_now().await; // a fresh budget
    let mut next = Box::pin(beat.tick());
    match futures::poll!(&mut next) {
        Poll::Ready(tick) => Some(tick),
        Poll::Pending => None,
    }
}

/// An interval that starts now and whose first tick is taken.
async fn started(clock: &ManualClock, period: Duration, behavior: MissedTickBehavior) -> Interval {
    let mut beat = interval(period);
    beat.set_missed_tick_behavior(behavior);
    assert_eq!(tick(&mut beat).await, Some(clock.now()));
    beat
}

on_both! {
    async fn case_013_a_task_gets_each_tick_beside_a_timer_for_ever() {
        let clock = default_clock();
        let _never = armed(&clock.timer(), Duration::MAX);
        for bits in [12, 20, 26, 30, 32, 38, 44, 50] {
            clock.advance(Duration::from_nanos((1 << bits) - 1));
            let start = clock.now();
            let ticks = tokio::spawn(async {
                let mut beat = interval(ms(333));
                let mut ticks = Vec::new();
                for _ in 0..10 {
                    ticks.push(beat.tick().await);
                }
                ticks
            });
            for _ in 0..9 {
                until(|| clock.pending() == 2).await;
                assert_eq!(clock.advance(ms(333)).fired, 1);
            }
            let expected: Vec<_> = (0..10).map(|n| start + ms(333) * n).collect();
            assert_eq!(ticks.await.unwrap(), expected, "2^{bits}");
        }
    }
}

on_both! {
    async fn case_019_the_longest_period_overflows_in_no_behavior() {
        let clock = default_clock();
        for period in [Duration::MAX, Duration::from_nanos(u64::MAX)] {
            for behavior in BEHAVIORS {
                let start = clock.now();
                let mut beat = interval(period);
                beat.set_missed_tick_behavior(behavior);
                clock.advance(ms(100));
                assert_eq!(tick(&mut beat).await, Some(start));
                assert_eq!(tick(&mut beat).await, None);
            }
        }
    }
}

on_both! {
    async fn case_025_a_start_that_is_now_or_past_ticks_at_once() {
        let clock = default_clock();
        clock.advance(secs(2));
        let now = clock.now();
        for start in [now, now - secs(1)] {
            assert_eq!(tick(&mut interval_at(start, ms(300))).await, Some(start));
        }
    }
}

on_both! {
    async fn case_071_after_six_hours_without_a_poll_each_behavior_does_what_it_says() {
        let clock = default_clock();
        let pause = secs(6 * 3_600 + 10);
        let expected = [
            (Burst, 360, secs(6 * 3_600 + 60)),
            (Skip, 1, secs(6 * 3_600 + 60)),
            (Delay, 1, pause + secs(60)),
        ];
        for (behavior, at_once, next) in expected {
            let start = clock.now();
            let mut beat = started(&clock, secs(60), behavior).await;
            clock.advance(pause);
            for n in 1..=at_once {
                assert_eq!(tick(&mut beat).await, Some(start + secs(60) * n), "{behavior:?}");
            }
            assert_eq!(tick(&mut beat).await, None, "{behavior:?}");
            clock.advance_to(start + next - NS);
            assert_eq!(tick(&mut beat).await, None, "{behavior:?}");
            clock.advance(NS);
            assert_eq!(tick(&mut beat).await, Some(start + next), "{behavior:?}");
        }
    }
}

on_both! {
    async fn case_088_a_thousand_late_ticks_do_not_drift() {
        let clock = default_clock();
        for behavior in BEHAVIORS {
            let start = clock.now();
            let mut beat = started(&clock, ms(100), behavior).await;
            for n in 1..=1_000 {
                clock.advance_to(start + ms(100) * n + ms(3));
                assert_eq!(tick(&mut beat).await, Some(start + ms(100) * n), "{behavior:?}");
            }
        }
        // Beyond the tolerance, each is a period after the late one.
        let mut beat = started(&clock, ms(100), Delay).await;
        for _ in 0..1_000 {
            clock.advance(ms(106));
            assert_eq!(tick(&mut beat).await, Some(clock.now() - ms(6)));
        }
    }
}

on_both! {
    async fn case_089_and_090_missed_ticks_are_followed_as_the_behavior_says() {
        let clock = default_clock();
        let jump = Duration::from_micros(39_900);
        let after = [(Burst, ms(40)), (Skip, ms(40)), (Delay, jump + ms(20))];
        for (behavior, next) in after {
            let start = clock.now();
            let mut beat = started(&clock, ms(20), behavior).await;
            clock.advance(jump);
            assert_eq!(tick(&mut beat).await, Some(start + ms(20)));
            clock.advance_to(start + next - NS);
            assert_eq!(tick(&mut beat).await, None, "{behavior:?}");
            clock.advance(NS);
            assert_eq!(tick(&mut beat).await, Some(start + next), "{behavior:?}");
        }
        for (jump, next) in [(104, 110), (110, 120)] {
            let start = clock.now();
            let mut beat = started(&clock, secs(10), Skip).await;
            clock.advance(secs(jump));
            assert_eq!(tick(&mut beat).await, Some(start + secs(10)));
            assert_eq!(tick(&mut beat).await, None);
            clock.advance_to(start + secs(next) - NS);
            assert_eq!(tick(&mut beat).await, None);
            clock.advance(NS);
            assert_eq!(tick(&mut beat).await, Some(start + secs(next)));
        }
    }
}

type Log = Arc<Mutex<Vec<Instant>>>;

/// A series that notes when its rounds start.
fn noting(timer: &Timer, period: Duration) -> (Scheduled<Infallible>, Log) {
    let log = Log::default();
    let (noted, clock) = (log.clone(), timer.clone());
    let series = timer.schedule_every(period, move || {
        noted.lock().unwrap().push(clock.now());
        async {}
    });
    (series, log)
}

fn rounds(log: &Log) -> usize {
    log.lock().unwrap().len()
}

on_both! {
    async fn case_005_a_series_does_not_carry_a_lag_on() {
        let clock = default_clock();
        let start = clock.now();
        let (series, log) = noting(&clock.timer(), secs(1));
        clock.advance(ms(1_250));
        for (ran, second) in (1..).zip(2..=4) {
            until(|| rounds(&log) == ran && clock.pending() == 1).await;
            clock.advance_to(start + secs(second) - NS);
            assert_eq!(clock.pending(), 1, "it waits for its time");
            clock.advance(NS);
        }
        until(|| rounds(&log) == 4).await;
        let times: Vec<_> = log.lock().unwrap().iter().map(|&at| at - start).collect();
        assert_eq!(times, [1_250, 2_000, 3_000, 4_000].map(ms));
        assert!(series.cancel());
    }
}

on_both! {
    async fn case_091_a_period_of_four_in_steps_of_ten_and_of_one_loses_no_round() {
        let clock = default_clock();
        for step in [10, 1] {
            let (series, log) = noting(&clock.timer(), ms(4));
            let mut beat = started(&clock, ms(4), Burst).await;
            let mut ticks = 0;
            for _ in 0..1_000 / step {
                clock.advance(ms(step));
                while tick(&mut beat).await.is_some() {
                    ticks += 1;
                }
            }
            assert_eq!(ticks, 250);
            until(|| series.rounds() >= 250 && rounds(&log) >= 250).await;
            assert_eq!(rounds(&log), 250);
            assert!(series.cancel());
        }
    }
}

on_both! {
    async fn case_092_the_first_ticks_are_where_they_were_asked_for() {
        let clock = default_clock();
        let period = ms(100);
        for wait in [0, 50, 130] {
            let start = clock.now();
            let beats = [
                (interval(period), start),
                (interval_at(start + period, period), start + period),
                (interval_at(start + ms(5), period), start + ms(5)),
            ];
            clock.advance(ms(wait));
            for (mut beat, first) in beats {
                for n in 0..3 {
                    let due = first + period * n;
                    if clock.now() < due {
                        assert_eq!(tick(&mut beat).await, None);
                        clock.advance_to(due);
                    }
                    assert_eq!(tick(&mut beat).await, Some(due));
                }
            }
        }
        // A series begins a period from now, or where it is moved to.
        for first in [period, ms(5)] {
            let start = clock.now();
            let (series, log) = noting(&clock.timer(), period);
            assert!(series.reschedule(start + first));
            let expected = [0, 1, 2].map(|n| start + first + period * n);
            for (ran, due) in expected.into_iter().enumerate() {
                until(|| clock.pending() == 1).await;
                clock.advance_to(due);
                until(|| rounds(&log) > ran).await;
            }
            assert_eq!(*log.lock().unwrap(), expected);
            assert!(series.cancel());
            until(|| clock.pending() == 0).await;
        }
    }
}
