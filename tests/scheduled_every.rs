//! `schedule_every`: when rounds come, what happens to missed ones, and how a series ends.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cogwheel::time::{Duration, Instant, MissedTickBehavior, interval_at, sleep};
use cogwheel::{Scheduled, Timer};
use tokio::runtime::Runtime;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, ms, one_thread, paused, timer_of, two_workers, wait, watched};

/// The times at which rounds began.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Instant>>>);

impl Log {
    fn note(&self) {
        self.0.lock().unwrap().push(Instant::now());
    }

    fn since(&self, start: Instant) -> Vec<Duration> {
        let log = self.0.lock().unwrap();
        log.iter().map(|&time| time - start).collect()
    }
}

/// Rounds that are noted in the log and last so many milliseconds each.
fn rounds(timer: &Timer, period: Duration, log: &Log, lasting: &[u64]) -> Scheduled<Infallible> {
    let log = log.clone();
    let mut lasting = Vec::from(lasting).into_iter();
    timer.schedule_every(period, move || {
        log.note();
        let lasts = ms(lasting.next().unwrap_or(0));
        async move { tokio::time::sleep(lasts).await }
    })
}

#[tokio::test(start_paused = true)]
async fn rounds_come_every_period_and_the_first_after_one() {
    let (start, log) = (Instant::now(), Log::default());
    let series = rounds(&Timer::current(), ms(10), &log, &[]);
    assert_eq!(series.deadline(), start + ms(10));
    sleep(ms(35)).await;
    assert_eq!(log.since(start), [ms(10), ms(20), ms(30)]);
    assert_eq!((series.rounds(), series.panics()), (3, 0));
    assert_eq!(series.deadline(), start + ms(40));
}

#[tokio::test(start_paused = true)]
async fn the_times_are_those_of_a_loop_over_an_interval_for_every_behavior() {
    let lasting = [0, 250, 3, 107, 0, 0, 100, 99, 101, 530, 0];
    let period = ms(100);
    for behavior in [
        MissedTickBehavior::Burst,
        MissedTickBehavior::Delay,
        MissedTickBehavior::Skip,
    ] {
        let start = Instant::now();
        let (ours, of_loop) = (Log::default(), Log::default());
        let series = rounds(&Timer::current(), period, &ours, &lasting);
        series.set_missed_tick_behavior(behavior);
        let noted = of_loop.clone();
        let looping = tokio::spawn(async move {
            let mut ticks = interval_at(start + period, period);
            ticks.set_missed_tick_behavior(behavior);
            for lasts in lasting.into_iter().chain(std::iter::repeat(0)) {
                ticks.tick().await;
                noted.note();
                tokio::time::sleep(ms(lasts)).await;
            }
        });
        sleep(ms(3_050)).await;
        assert!(series.cancel());
        looping.abort();
        let (ours, of_loop) = (ours.since(start), of_loop.since(start));
        assert!(ours.len() > 20, "{behavior:?}: {ours:?}");
        assert_eq!(ours, of_loop, "{behavior:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rounds_never_overlap() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, peak) = (running.clone(), most.clone());
    let series = Timer::current().schedule_every(ms(1), move || {
        let (now, peak) = (now.clone(), peak.clone());
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            tokio::time::sleep(ms(7)).await;
            now.fetch_sub(1, Ordering::Relaxed);
        }
    });
    sleep(ms(100)).await;
    assert!(series.rounds() > 10);
    assert_eq!(most.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_round_that_panics_is_counted_and_the_next_comes_on_time() {
    let (start, log) = (Instant::now(), Log::default());
    let noted = log.clone();
    let mut round = 0;
    let series = Timer::current().schedule_every(ms(10), move || {
        noted.note();
        round += 1;
        let this = round;
        assert!(this != 2, "in the closure");
        async move { assert!(this != 3, "in the future") }
    });
    sleep(ms(55)).await;
    assert_eq!(log.since(start), [10, 20, 30, 40, 50].map(ms));
    assert_eq!((series.rounds(), series.panics()), (5, 2));
}

#[tokio::test(start_paused = true)]
async fn a_payload_of_a_panic_whose_drop_panics_does_not_end_the_series() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in the drop of a payload");
        }
    }
    let series = Timer::current().schedule_every(ms(10), || async {
        std::panic::panic_any(Bomb);
    });
    sleep(ms(35)).await;
    assert_eq!((series.rounds(), series.panics()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_between_rounds_is_true_once_and_releases_the_closure() {
    let captured = Arc::new(());
    let held = Arc::downgrade(&captured);
    let series = Timer::current().schedule_every(ms(10), move || {
        let captured = captured.clone();
        async move { drop(captured) }
    });
    sleep(ms(25)).await;
    assert!(series.cancel());
    assert_eq!(held.strong_count(), 0);
    assert!(!series.cancel());
    sleep(ms(50)).await;
    assert_eq!(series.rounds(), 2);
    assert!(series.await.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_cancel_during_a_round_lets_it_end_and_no_other_begin() {
    let (start, log) = (Instant::now(), Log::default());
    let mut series = rounds(&Timer::current(), ms(10), &log, &[0, 100]);
    sleep(ms(25)).await;
    assert!(series.cancel());
    assert!(!series.cancel());
    assert!(!series.reschedule(start + ms(30)));
    assert!(!series.is_finished());
    let outcome = tokio::time::timeout(LONG, &mut series).await;
    assert!(outcome.expect("the series has ended").is_cancelled());
    assert_eq!(start.elapsed(), ms(120));
    sleep(LONG).await;
    assert_eq!(log.since(start), [ms(10), ms(20)]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_handle_lets_the_series_go_on_unless_it_was_told_otherwise() {
    let (start, detached, ended) = (Instant::now(), Log::default(), Log::default());
    let timer = Timer::current();
    drop(rounds(&timer, ms(10), &detached, &[]));
    let series = rounds(&timer, ms(10), &ended, &[]).cancel_on_drop();
    sleep(ms(15)).await;
    drop(series);
    sleep(ms(20)).await;
    assert_eq!(detached.since(start), [10, 20, 30].map(ms));
    assert_eq!(ended.since(start), [ms(10)]);
}

#[tokio::test(start_paused = true)]
async fn a_moved_round_takes_those_that_follow_along() {
    let (start, log) = (Instant::now(), Log::default());
    let series = rounds(&Timer::current(), ms(100), &log, &[0, 0, 30]);
    assert!(series.reschedule(start + ms(5)));
    sleep(ms(110)).await;
    assert_eq!(log.since(start), [ms(5), ms(105)]);
    assert!(series.reschedule(start)); // has passed: at once
    sleep(ms(10)).await;
    // While a round is running, it is the next one that moves.
    assert!(series.reschedule(start + ms(400)));
    sleep(ms(400)).await;
    assert_eq!(log.since(start), [5, 105, 110, 400, 500].map(ms));
}

#[tokio::test(start_paused = true)]
async fn a_period_may_be_as_long_or_as_short_as_it_likes() {
    let timer = Timer::current();
    let never = timer.schedule_every(Duration::MAX, || async {});
    let busy = timer.schedule_every(Duration::from_nanos(1), || async {});
    let log = Log::default();
    let once = rounds(&timer, Duration::MAX, &log, &[]);
    assert!(once.reschedule(Instant::now()));
    sleep(ms(1)).await;
    // That millisecond had a million rounds to make up for, which hold up nobody else.
    while busy.rounds() < 1_000 {
        tokio::task::yield_now().await;
    }
    assert!(busy.cancel());
    assert_eq!(never.rounds(), 0);
    assert_eq!(once.rounds(), 1, "and the next one practically never");
    assert!(never.cancel() && once.cancel());
}

#[test]
fn a_series_is_closed_and_released_with_its_runtime_between_rounds_and_during_one() {
    let kinds: [fn() -> Runtime; 3] = [paused, one_thread, two_workers];
    for make in kinds {
        for stuck in [false, true] {
            watched(move || {
                let runtime = make();
                let timer = timer_of(&runtime);
                let captured = Arc::new(());
                let held = Arc::downgrade(&captured);
                let series = timer.schedule_every(ms(1), move || {
                    let captured = captured.clone();
                    async move {
                        let _captured = captured;
                        if stuck {
                            pending::<()>().await;
                        }
                    }
                });
                runtime.block_on(async {
                    while series.rounds() == 0 {
                        tokio::time::sleep(ms(1)).await;
                    }
                });
                drop(runtime);
                assert_eq!(held.strong_count(), 0);
                assert!(wait(series).is_closed());
            });
        }
    }
}

#[test]
fn what_a_series_says_at_the_end_of_its_runtime_agrees_with_what_cancel_said() {
    for cancel in [true, false] {
        watched(move || {
            let runtime = paused();
            let timer = timer_of(&runtime);
            let series = timer.schedule_every(ms(1), pending::<()>);
            runtime.block_on(async { tokio::time::sleep(ms(2)).await });
            assert_eq!(series.rounds(), 1);
            assert!(!cancel || series.cancel());
            drop(runtime);
            assert!(!series.cancel());
            let outcome = wait(series);
            assert_eq!(outcome.is_cancelled(), cancel, "{outcome:?}");
            assert_eq!(outcome.is_closed(), !cancel, "{outcome:?}");
        });
    }
}
