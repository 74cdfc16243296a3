//! What a timer says of itself once it has ended. One test after the other, because the place of a
//! timer goes to the next one that is made in the process.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Waker};

use cogwheel::metrics::TimerMetrics;
use cogwheel::time::{Duration, Sleep};
use cogwheel::{ManualClock, Timer};
use tokio::runtime::{Builder, Runtime};
use tokio::time::advance;

const HOUR: Duration = Duration::from_secs(3_600);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap()
}

fn armed(timer: &Timer, delay: Duration) -> Sleep {
    let mut sleep = timer.sleep(delay);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
    sleep
}

/// Created, fired, cancelled, live.
fn ends(metrics: &TimerMetrics) -> [u64; 4] {
    let TimerMetrics {
        created,
        fired,
        cancelled,
        live,
        ..
    } = *metrics;
    [created, fired, cancelled, live]
}

/// All that is counted, but for how often a thing was ever there.
fn counts(metrics: &TimerMetrics) -> impl PartialEq + std::fmt::Debug + use<> {
    let TimerMetrics {
        resets,
        queued,
        turns,
        wake_ups,
        cascades,
        ref lateness,
        ..
    } = *metrics;
    let rest = [resets, queued, turns, wake_ups, cascades];
    (ends(metrics), rest, lateness.clone())
}

#[test]
fn the_last_figures_stay_until_the_successor_has_ended_too() {
    let _turn = ONE_AT_A_TIME.lock().unwrap();
    let first = ManualClock::new();
    let timer = first.timer();
    let fresh = timer.metrics();
    let mut sleeps: Vec<Sleep> = (1..=3).map(|n| armed(&timer, n * HOUR)).collect();
    first.advance(HOUR);
    drop(sleeps.pop());
    let mut pending = sleeps.pop().unwrap();
    pending.set_deadline(pending.deadline() + HOUR);
    drop(armed(&timer, 100 * HOUR));
    let _queued: Vec<Sleep> = (9..12).map(|n| armed(&timer, n * HOUR)).collect();
    let before = timer.metrics();
    assert_eq!(ends(&before), [7, 1, 2, 4]);
    assert!(before.queued > 0 && before.resets > 0 && before.turns > fresh.turns);
    first.close();
    let last = timer.metrics();
    // What was pending has been cancelled by that, and has not come due.
    assert_eq!(ends(&last), [7, 1, 6, 0]);
    assert!(last.closed && last.levels.is_empty());
    assert_eq!((last.queued, last.lateness.count()), (0, 1));

    let second = ManualClock::new();
    let heir = second.timer();
    // It counts from zero, whatever its place in memory has seen.
    assert_eq!(counts(&heir.metrics()), counts(&fresh));
    drop((sleeps, pending));
    let _sleep = armed(&heir, HOUR);
    assert_eq!(ends(&heir.metrics()), [1, 0, 0, 1]);
    assert_eq!(timer.metrics(), last);

    second.close();
    assert_eq!(ends(&heir.metrics()), [1, 0, 1, 0]);
    let forgotten = timer.metrics();
    assert_eq!(ends(&forgotten), [0; 4]);
    assert!(forgotten.closed);
}

#[test]
fn the_wake_ups_of_one_runtime_are_not_those_of_the_next() {
    let _turn = ONE_AT_A_TIME.lock().unwrap();
    for _ in 0..3 {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let timer = Timer::current();
            assert_eq!(timer.metrics().wake_ups, 0);
            for n in 1..=3 {
                timer.sleep(HOUR).await;
                assert_eq!(timer.metrics().wake_ups, n);
            }
        });
    }
}

#[test]
fn the_end_of_a_runtime_cancels_what_is_pending() {
    let _turn = ONE_AT_A_TIME.lock().unwrap();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let timer = runtime.block_on(async { Timer::current() });
    for _ in 0..5 {
        let timer = timer.clone();
        runtime.spawn(async move { timer.sleep(HOUR).await });
    }
    while timer.metrics().live < 5 {
        std::thread::yield_now();
    }
    drop(runtime);
    let last = timer.metrics();
    assert_eq!(ends(&last), [5, 0, 5, 0]);
    assert!(last.closed);
}

#[test]
fn a_sleep_remembers_the_end_of_its_runtime_and_sees_no_time_that_came_later() {
    let _turn = ONE_AT_A_TIME.lock().unwrap();
    let runtime = paused();
    let (fired, pending) = runtime.block_on(async {
        let timer = Timer::current();
        let sleeps = (armed(&timer, HOUR), armed(&timer, 2 * HOUR));
        advance(HOUR).await;
        sleeps
    });
    drop(runtime);
    let heir = paused();
    heir.block_on(async {
        let _sleep = armed(&Timer::current(), HOUR);
        advance(3 * HOUR).await;
        assert!(fired.is_elapsed());
        assert!(!pending.is_elapsed(), "the end has woken it, not its time");
    });
    drop(heir);
    assert!(!fired.is_elapsed(), "nobody knows any more");
}
