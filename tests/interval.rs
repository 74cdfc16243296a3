//! `interval`, `interval_at` and the three missed-tick behaviors, through the public API.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::task::Poll;

use cogwheel::time::{
    Duration, Instant, Interval, MissedTickBehavior, interval, interval_at, sleep,
};
use tokio::task::coop::unconstrained;
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_eq, task};

const BEHAVIORS: [MissedTickBehavior; 3] = [
    MissedTickBehavior::Burst,
    MissedTickBehavior::Delay,
    MissedTickBehavior::Skip,
];

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn poll(beat: &mut task::Spawn<Interval>) -> Poll<Instant> {
    beat.enter(|cx, mut beat| beat.poll_tick(cx))
}

/// An interval that starts now and whose first tick is taken.
fn started(period: Duration, behavior: MissedTickBehavior) -> task::Spawn<Interval> {
    let mut beat = task::spawn(interval(period));
    beat.set_missed_tick_behavior(behavior);
    assert_ready_eq!(poll(&mut beat), Instant::now());
    beat
}

/// Takes all ticks that are due.
fn drain(beat: &mut task::Spawn<Interval>) -> Vec<Instant> {
    let mut ticks = Vec::new();
    while let Poll::Ready(tick) = poll(beat) {
        ticks.push(tick);
    }
    ticks
}

#[tokio::test(start_paused = true)]
async fn it_tells_what_it_was_made_with() {
    let mut beat = interval(Duration::MAX);
    assert_eq!(beat.period(), Duration::MAX);
    assert_eq!(beat.missed_tick_behavior(), MissedTickBehavior::Burst);
    beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
    assert_eq!(beat.missed_tick_behavior(), MissedTickBehavior::Skip);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_task_is_woken_for_each_tick_and_gets_the_scheduled_instants() {
    let start = Instant::now();
    let mut beat = interval(ms(300));
    for round in 0..10 {
        assert_eq!(beat.tick().await, start + ms(300) * round);
        assert_eq!(Instant::now(), start + ms(300) * round);
    }
}

#[tokio::test(start_paused = true)]
async fn ticks_are_exact_to_the_nanosecond_however_odd_the_period() {
    let start = Instant::now();
    let period = Duration::from_nanos(1_234_567_891);
    let mut beat = task::spawn(interval_at(start + period, period));
    for round in 1..=100 {
        advance(period - Duration::from_nanos(1)).await;
        assert_pending!(poll(&mut beat));
        advance(Duration::from_nanos(1)).await;
        assert_ready_eq!(poll(&mut beat), start + period * round);
    }
}

#[tokio::test(start_paused = true)]
async fn a_taken_tick_registers_no_waker_for_the_next_one() {
    let mut beat = started(ms(10), MissedTickBehavior::Burst);
    for _ in 0..3 {
        sleep(ms(20)).await;
        assert!(!beat.is_woken(), "the last poll was ready");
        assert_eq!(drain(&mut beat).len(), 2); // the poll after them is pending
        sleep(ms(10)).await;
        assert!(beat.is_woken(), "the last poll was pending");
        assert!(poll(&mut beat).is_ready());
    }
}

#[tokio::test(start_paused = true)]
async fn each_reset_moves_the_next_tick_and_the_later_ones_follow_it() {
    type Reset = fn(&mut Interval);
    let resets: [(Reset, u64); 5] = [
        (|beat| beat.reset(), 150 + 100),
        (|beat| beat.reset_immediately(), 150),
        (|beat| beat.reset_after(ms(20)), 150 + 20),
        (|beat| beat.reset_at(Instant::now() + ms(40)), 150 + 40),
        (
            |beat| beat.reset_at(Instant::now() + ms(1_000)),
            150 + 1_000,
        ),
    ];
    for (reset, next) in resets {
        // Once with a waiting task, once between two ticks.
        for waiting in [true, false] {
            let start = Instant::now();
            let mut beat = started(ms(100), MissedTickBehavior::Burst);
            if waiting {
                assert_pending!(poll(&mut beat));
            }
            advance(ms(150)).await; // the tick at 100 is forgotten by the reset
            reset(&mut beat);
            let mut beat = beat.into_inner();
            assert_eq!(beat.tick().await, start + ms(next));
            assert_eq!(Instant::now(), start + ms(next));
            assert_eq!(beat.tick().await, start + ms(next + 100));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_into_the_past_misses_the_ticks_since_then() {
    advance(secs(1)).await;
    let now = Instant::now();
    let mut beat = started(ms(100), MissedTickBehavior::Skip);
    beat.reset_at(now - ms(250));
    assert_ready_eq!(poll(&mut beat), now - ms(250));
    assert_pending!(poll(&mut beat));
    advance(ms(50)).await;
    assert_ready_eq!(poll(&mut beat), now + ms(50));
}

#[tokio::test(start_paused = true)]
async fn resets_with_the_longest_durations_mean_never() {
    let mut beat = started(Duration::MAX, MissedTickBehavior::Burst);
    beat.reset();
    assert_pending!(poll(&mut beat));
    beat.reset_after(Duration::MAX);
    advance(secs(10 * 365 * 86_400)).await;
    assert_pending!(poll(&mut beat));
    beat.reset_after(Duration::ZERO);
    assert_ready_eq!(poll(&mut beat), Instant::now());
}

#[tokio::test(start_paused = true)]
async fn case_013_a_timer_that_never_ends_hides_no_tick_at_any_span_of_the_wheel() {
    let start = Instant::now();
    let mut never = task::spawn(sleep(Duration::MAX));
    assert_pending!(never.poll());
    for level in 0..=6 {
        let span = Duration::from_nanos(1 << (20 + 6 * level));
        let before = start + span.saturating_sub(secs(2));
        advance(before.saturating_duration_since(Instant::now())).await;

        let first = Instant::now();
        let mut beat = interval(ms(333));
        for round in 0..10 {
            let scheduled = first + ms(333) * round;
            assert_eq!(beat.tick().await, scheduled);
            let late = Instant::now() - scheduled;
            assert!(late <= ms(1), "level {level}, round {round}: {late:?} late");
        }
    }
    assert_pending!(never.poll());
}

#[tokio::test(start_paused = true)]
async fn case_019_the_longest_period_overflows_in_no_behavior() {
    for period in [Duration::MAX, Duration::from_nanos(u64::MAX)] {
        for behavior in BEHAVIORS {
            let start = Instant::now();
            let mut beat = task::spawn(interval(period));
            beat.set_missed_tick_behavior(behavior);
            advance(ms(100)).await;
            assert_ready_eq!(poll(&mut beat), start);
            assert_pending!(poll(&mut beat));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_025_a_start_that_is_now_or_past_ticks_in_the_first_poll() {
    advance(secs(2)).await;
    let now = Instant::now();
    for start in [now, now - secs(1)] {
        let mut beat = task::spawn(interval_at(start, ms(300)));
        assert_ready_eq!(poll(&mut beat), start);
    }
}

#[tokio::test(start_paused = true)]
async fn case_071_after_six_hours_without_a_poll_each_behavior_does_what_it_says() {
    use MissedTickBehavior::{Burst, Delay, Skip};
    let pause = secs(6 * 3_600 + 10);
    for (behavior, at_once, next) in [
        (Burst, 360, secs(6 * 3_600 + 60)),
        (Skip, 1, secs(6 * 3_600 + 60)),
        (Delay, 1, pause + secs(60)),
    ] {
        let start = Instant::now();
        let mut beat = started(secs(60), behavior);
        advance(pause).await;
        let ticks = unconstrained(async { drain(&mut beat) }).await;
        assert_eq!(ticks.len(), at_once, "{behavior:?}");
        assert_eq!(ticks[0], start + secs(60));
        assert_eq!(beat.into_inner().tick().await, start + next, "{behavior:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_088_lateness_within_the_tolerance_does_not_add_up_in_any_behavior() {
    for behavior in BEHAVIORS {
        let start = Instant::now();
        let mut beat = started(ms(100), behavior);
        for round in 1..=1_000 {
            let scheduled = start + ms(100) * round;
            advance(scheduled + ms(3) - Instant::now()).await;
            assert_ready_eq!(poll(&mut beat), scheduled);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_088_beyond_the_tolerance_delay_counts_from_the_late_tick() {
    let mut scheduled = Instant::now() + ms(100);
    let mut beat = started(ms(100), MissedTickBehavior::Delay);
    for _ in 0..1_000 {
        advance(scheduled + ms(6) - Instant::now()).await;
        assert_ready_eq!(poll(&mut beat), scheduled);
        scheduled = Instant::now() + ms(100);
    }
}

#[tokio::test(start_paused = true)]
async fn case_089_one_missed_tick_is_followed_by_the_next_as_the_behavior_says() {
    use MissedTickBehavior::{Burst, Delay, Skip};
    let jump = Duration::from_micros(39_900);
    for (behavior, next) in [
        (Burst, ms(40)),
        (Skip, ms(40)),
        (Delay, Duration::from_micros(59_900)),
    ] {
        let start = Instant::now();
        let mut beat = started(ms(20), behavior);
        advance(jump).await;
        assert_ready_eq!(poll(&mut beat), start + ms(20));
        assert_pending!(poll(&mut beat));
        advance(next - jump - Duration::from_nanos(1)).await;
        assert_pending!(poll(&mut beat));
        advance(Duration::from_nanos(1)).await;
        assert_ready_eq!(poll(&mut beat), start + next);
    }
}

#[tokio::test(start_paused = true)]
async fn case_090_skip_goes_on_at_the_first_grid_point_after_now() {
    for (jump, next) in [(104, 110), (110, 120)] {
        let start = Instant::now();
        let mut beat = started(secs(10), MissedTickBehavior::Skip);
        advance(secs(jump)).await;
        assert_ready_eq!(poll(&mut beat), start + secs(10));
        assert_pending!(poll(&mut beat));
        assert_eq!(beat.into_inner().tick().await, start + secs(next));
    }
}

#[tokio::test(start_paused = true)]
async fn case_091_a_period_below_the_tolerance_is_caught_up_completely() {
    for behavior in BEHAVIORS {
        let start = Instant::now();
        let mut beat = started(ms(4), behavior);
        let mut ticks = Vec::new();
        for _ in 0..100 {
            advance(ms(10)).await;
            ticks.append(&mut drain(&mut beat));
        }
        let last = *ticks.last().expect("it ticks");
        assert!(start + ms(1_000) - last < ms(10), "{behavior:?} is stuck");
        if behavior == MissedTickBehavior::Burst {
            let grid: Vec<_> = (1..=250).map(|round| start + ms(4) * round).collect();
            assert_eq!(ticks, grid);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_092_the_first_ticks_are_where_they_were_asked_for_whenever_the_first_poll_is() {
    let period = ms(100);
    for wait in [0, 50, 130] {
        let start = Instant::now();
        let beats = [
            (interval(period), start),
            (interval_at(start + period, period), start + period),
            (interval_at(start + ms(5), period), start + ms(5)),
        ];
        advance(ms(wait)).await;
        for (mut beat, first) in beats {
            for round in 0..3 {
                assert_eq!(beat.tick().await, first + period * round);
            }
        }
    }
}
