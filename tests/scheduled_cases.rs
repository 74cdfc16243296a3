//! Cases from practice that speak of scheduled work. Deadlines are exact here, so what may be late
//! by up to a tick elsewhere is on time.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]
#![allow(
    clippy::async_yields_async,
    reason = "work may give the handle of other work"
)]

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use cogwheel::error::TimerError;
use cogwheel::scheduled::Outcome;
use cogwheel::time::{Duration, Instant, sleep};
use cogwheel::{Scheduled, Timer};
use tokio::runtime::Runtime;
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::advance;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, ms, one_thread, paused, text_of, timer_of, two_workers, wait, watched};

const KINDS: [fn() -> Runtime; 3] = [paused, one_thread, two_workers];

/// Counts how often it was told to.
#[derive(Clone, Default)]
struct Runs(Arc<AtomicUsize>);

impl Runs {
    fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    fn one(&self) -> impl Future<Output = ()> + Send + use<> {
        let runs = self.clone();
        async move { _ = runs.0.fetch_add(1, Ordering::AcqRel) }
    }
}

// === early and late ===

#[tokio::test(start_paused = true)]
async fn case_003_work_scheduled_by_overdue_work_keeps_its_own_deadline() {
    let (timer, start) = (Timer::current(), Instant::now());
    let inner = timer.clone();
    let first = timer.schedule(ms(1), async move {
        let now = Instant::now();
        (now, inner.schedule(ms(64), async { Instant::now() }))
    });
    advance(ms(54)).await;
    let (scheduled, second) = first.await.fired().unwrap();
    assert_eq!(scheduled, start + ms(54));
    assert_eq!(second.await.fired(), Some(scheduled + ms(64)));
}

#[tokio::test(start_paused = true)]
async fn case_005_a_series_does_not_carry_a_lag_on() {
    let start = Instant::now();
    let times = Arc::new(Mutex::new(Vec::new()));
    let noted = times.clone();
    let series = Timer::current().schedule_every(ms(1_000), move || {
        noted.lock().unwrap().push(start.elapsed());
        async {}
    });
    advance(ms(1_250)).await;
    sleep(ms(3_000)).await;
    assert_eq!(*times.lock().unwrap(), [1_250, 2_000, 3_000, 4_000].map(ms));
    assert!(series.cancel());
}

#[tokio::test(start_paused = true)]
async fn case_065_work_that_is_due_has_run_after_two_yields() {
    let runs = Runs::default();
    drop(Timer::current().schedule(ms(500), runs.one()));
    advance(ms(500)).await;
    yield_now().await;
    yield_now().await;
    assert_eq!(runs.count(), 1);
}

// === zero, far and never ===

#[tokio::test(start_paused = true)]
async fn case_020_a_delay_without_end_does_not_run_and_is_cancelled() {
    let runs = Runs::default();
    let work = Timer::current().schedule(Duration::MAX, runs.one());
    sleep(ms(3_000)).await;
    assert!(work.cancel());
    assert_eq!(runs.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn case_023_delays_beyond_31_and_32_bits_of_microseconds_run_once_at_their_time() {
    let (timer, start) = (Timer::current(), Instant::now());
    let delays = [(1_u64 << 31) + 1, (1 << 32) + 1].map(Duration::from_micros);
    let runs = Runs::default();
    for delay in delays {
        drop(timer.schedule(delay, runs.one()));
    }
    for (ran, delay) in delays.into_iter().enumerate() {
        // The paused clock stops at whole milliseconds.
        let due = ms(u64::try_from(delay.as_millis()).unwrap() + 1);
        sleep(due - ms(2) - start.elapsed()).await;
        assert_eq!(runs.count(), ran);
        sleep(ms(3)).await;
        assert_eq!(runs.count(), ran + 1);
    }
}

#[test]
fn case_026_a_zero_period_panics_at_its_caller() {
    thread_local! {
        static FILE: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
    }
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        FILE.set(info.location().map_or("", Location::file).to_owned());
        usual(info);
    }));
    let runtime = paused();
    let timer = timer_of(&runtime);
    let calls: [&dyn Fn(); 2] = [
        &|| drop(timer.schedule_every(Duration::ZERO, || async {})),
        &|| drop(timer.try_schedule_every(Duration::ZERO, || async {})),
    ];
    for call in calls {
        FILE.take();
        assert_eq!(text_of(call), "`period` must be non-zero.");
        assert_eq!(FILE.take(), file!());
    }
}

#[tokio::test(start_paused = true)]
async fn case_076_work_that_schedules_itself_at_once_lets_others_run() {
    fn again(timer: Timer, runs: Runs, stop: Arc<AtomicBool>) {
        let handle = timer.clone();
        drop(timer.schedule(Duration::ZERO, async move {
            runs.one().await;
            if !stop.load(Ordering::Relaxed) {
                again(handle, runs, stop);
            }
        }));
    }
    let (runs, stop) = (Runs::default(), Arc::new(AtomicBool::new(false)));
    for _ in 0..256 {
        again(Timer::current(), runs.clone(), stop.clone());
    }
    let other = tokio::spawn(async {});
    for _ in 0..32 {
        yield_now().await;
    }
    assert!(other.is_finished());
    assert!(runs.count() > 256);
    stop.store(true, Ordering::Relaxed);
}

// === cancel, replace, reuse ===

#[tokio::test(start_paused = true)]
async fn case_044_a_cancel_after_the_end_is_false_as_often_as_it_is_tried() {
    let work = Timer::current().schedule(ms(1), async {});
    sleep(ms(2)).await;
    for _ in 0..3 {
        assert!(!work.cancel());
    }
    assert!(work.await.is_fired());
}

#[tokio::test(start_paused = true)]
async fn case_082_a_replaced_handle_detaches_or_cancels_as_it_was_told() {
    for (cancelling, expected) in [(false, 1_000), (true, 1)] {
        let (timer, runs) = (Timer::current(), Runs::default());
        let mut by_id = HashMap::new();
        for _ in 0..1_000 {
            let work = timer.schedule(ms(600_000), runs.one());
            let work = match cancelling {
                true => work.cancel_on_drop(),
                false => work,
            };
            by_id.insert("the same", work);
        }
        sleep(ms(600_001)).await;
        assert_eq!(runs.count(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn case_086_only_the_last_of_many_changes_between_two_turns_counts() {
    let (timer, runs) = (Timer::current(), Runs::default());
    let start = Instant::now();
    for forward in [true, false] {
        let first = timer.schedule(ms(5), runs.one());
        let other = timer.schedule(ms(5), runs.one());
        let cancels = if forward {
            [&first, &other]
        } else {
            [&other, &first]
        };
        assert!(cancels.iter().all(|work| work.cancel()));
        let again = timer.schedule(ms(5), async { Instant::now() });
        let now = Instant::now();
        assert!(again.reschedule(now + ms(3)) && again.reschedule(now + ms(7)));
        assert_eq!(again.await.fired(), Some(now + ms(7)));
    }
    assert_eq!(start.elapsed(), ms(14));
    assert_eq!(runs.count(), 0);
}

// === panics and re-entrancy ===

/// Wheel case 42.
#[tokio::test(start_paused = true)]
async fn case_052_a_panic_in_a_callback_is_reported_and_the_others_are_on_time() {
    let (timer, start) = (Timer::current(), Instant::now());
    let panics = timer.schedule(ms(10), async { panic!("a callback") });
    let later = [11, 20].map(|at| timer.schedule(ms(at), async { Instant::now() }));
    let sleeping = tokio::spawn(async {
        sleep(ms(15)).await;
        Instant::now()
    });
    let reported: Outcome<()> = panics.await;
    assert!(reported.is_panicked());
    let [second, third] = later;
    assert_eq!(second.await.fired(), Some(start + ms(11)));
    assert_eq!(third.await.fired(), Some(start + ms(20)));
    assert_eq!(sleeping.await.unwrap(), start + ms(15));
    assert!(timer.schedule(ms(1), async {}).await.is_fired());
}

#[tokio::test(start_paused = true)]
async fn case_054_work_scheduled_right_after_a_panic_is_on_time() {
    let timer = Timer::current();
    let inner = timer.clone();
    drop(timer.schedule(ms(100), async { panic!("a callback") }));
    let beside = timer.schedule(ms(100), async move {
        inner.schedule(ms(50), async { Instant::now() })
    });
    sleep(ms(100)).await;
    let now = Instant::now();
    let outside = timer.schedule(ms(50), async { Instant::now() });
    let inside = beside.await.fired().unwrap();
    assert_eq!(outside.await.fired(), Some(now + ms(50)));
    assert_eq!(inside.await.fired(), Some(now + ms(50)));
}

#[test]
fn case_056_work_that_cancels_itself_keeps_its_captures_to_its_end() {
    /// Takes a lock when it is dropped.
    struct Guard(Arc<Mutex<usize>>);
    impl Drop for Guard {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        let drops = Arc::new(Mutex::new(0));
        let guard = Guard(drops.clone());
        let own: Arc<Mutex<Option<Scheduled<bool>>>> = Arc::default();
        let handle = own.clone();
        let ended = Arc::new(Barrier::new(2));
        let at_end = ended.clone();
        let work = timer.schedule(ms(1), async move {
            let cancelled = spawn_blocking(move || {
                let handle = handle.lock().unwrap();
                handle.as_ref().expect("it is there").cancel()
            });
            let cancelled = cancelled.await.unwrap();
            assert_eq!(*guard.0.lock().unwrap(), 0, "the guard can be used");
            at_end.wait();
            cancelled
        });
        *own.lock().unwrap() = Some(work);
        ended.wait();
        let work = own.lock().unwrap().take().unwrap();
        assert_eq!(wait(work).fired(), Some(false));
        assert_eq!(*drops.lock().unwrap(), 1);

        // Its drop waits for a lock whose holder asks the same handle.
        let guard = Guard(drops.clone());
        let work = Arc::new(timer.schedule(LONG, async move { drop(guard) }));
        let held = drops.lock().unwrap();
        let cancelling = work.clone();
        let cancel = thread::spawn(move || cancelling.cancel());
        while !work.is_finished() {
            thread::yield_now();
        }
        assert!(!work.cancel());
        drop(held);
        assert!(cancel.join().unwrap());
        assert_eq!(*drops.lock().unwrap(), 2);
    });
}

#[test]
fn case_075_ten_callbacks_that_block_delay_no_sleep() {
    watched(|| {
        let runtime = two_workers();
        let late = runtime.block_on(async {
            let timer = Timer::current();
            let start = Instant::now();
            let block = || async {
                let blocking = spawn_blocking(|| thread::sleep(ms(1_000)));
                blocking.await.unwrap();
            };
            let works = [(); 10].map(|()| timer.schedule(ms(5), block()));
            sleep(ms(100)).await;
            let late = start.elapsed();
            for work in works {
                assert!(work.await.is_fired());
            }
            late
        });
        assert!(late >= ms(100) && late < ms(900), "{late:?}");
    });
}

// === runtimes and their end ===

#[test]
fn case_041_at_shutdown_every_handle_says_closed_and_nothing_runs() {
    for make in KINDS {
        watched(move || {
            let runtime = make();
            let (timer, runs) = (timer_of(&runtime), Runs::default());
            let works: Vec<_> = (0..1_000)
                .map(|n| timer.schedule(LONG + ms(n), runs.one()))
                .collect();
            drop(runtime);
            assert!(works.iter().all(|work| !work.cancel()));
            for work in works {
                assert!(wait(work).is_closed());
            }
            assert_eq!(runs.count(), 0);
        });
    }
}

#[test]
fn case_058_work_is_scheduled_dropped_and_awaited_without_a_runtime_on_the_thread() {
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        let mut works: Vec<_> = (0..100).map(|n| timer.schedule(ms(n), async {})).collect();
        works.truncate(50);
        for work in works {
            assert!(wait(work).is_fired());
        }
    });
}

#[test]
fn case_059_a_timer_that_outlives_its_runtime_says_so_at_once_in_others() {
    watched(|| {
        let first = two_workers();
        let timer = timer_of(&first);
        drop(first);
        let others = [one_thread, two_workers].map(|make| {
            let timer = timer.clone();
            thread::spawn(move || {
                make().block_on(async {
                    let refused = timer.try_schedule(ms(1), async {});
                    assert_eq!(refused.unwrap_err(), TimerError::Closed);
                    assert!(timer.schedule(ms(1), async {}).await.is_closed());
                    assert!(Timer::current().schedule(ms(1), async {}).await.is_fired());
                });
            })
        });
        for other in others {
            other.join().unwrap();
        }
    });
}

#[test]
fn case_060_what_a_thousand_pending_works_hold_goes_with_their_runtime() {
    for make in KINDS {
        watched(move || {
            let runtime = make();
            let timer = timer_of(&runtime);
            let captured = Arc::new(());
            let mut works = Vec::new();
            for n in 0..1_000 {
                let capture = captured.clone();
                let work = timer.schedule(LONG + ms(n), async move { drop(capture) });
                if n % 2 == 0 {
                    works.push(work);
                }
            }
            assert_eq!(Arc::strong_count(&captured), 1_001);
            drop(runtime);
            assert_eq!(Arc::strong_count(&captured), 1);
        });
    }
}

#[test]
fn case_063_every_call_on_a_timer_that_is_closing_returns() {
    for make in KINDS {
        watched(move || {
            let runtime = make();
            let timer = timer_of(&runtime);
            let go = Arc::new(Barrier::new(9));
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    let (timer, go) = (timer.clone(), go.clone());
                    thread::spawn(move || {
                        go.wait();
                        while !timer.is_closed() {
                            let work = timer.schedule(LONG, async {});
                            work.reschedule(Instant::now() + ms(1));
                            work.cancel();
                            drop(timer.try_schedule(Duration::ZERO, async {}));
                        }
                        let late = timer.schedule(LONG, async {});
                        assert!(!late.cancel() && !late.reschedule(Instant::now()));
                        let tried = timer.try_schedule_at(Instant::now(), async {});
                        assert_eq!(tried.unwrap_err(), TimerError::Closed);
                        let tried = timer.try_schedule_every(ms(1), || async {});
                        assert_eq!(tried.unwrap_err(), TimerError::Closed);
                        assert!(wait(late).is_closed());
                    })
                })
                .collect();
            go.wait();
            thread::sleep(ms(5));
            let ended = catch_unwind(AssertUnwindSafe(|| drop(runtime)));
            assert!(ended.is_ok());
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}

// === series ===

#[tokio::test(start_paused = true)]
async fn case_091_a_period_shorter_than_the_clock_is_fine_loses_no_round() {
    let runs = Runs::default();
    let counted = runs.clone();
    let series = Timer::current().schedule_every(ms(4), move || counted.one());
    sleep(ms(1_001)).await;
    assert_eq!(runs.count(), 250);
    assert!(series.cancel());
}

#[tokio::test(start_paused = true)]
async fn case_092_a_series_begins_one_period_from_now_or_where_it_is_moved_to() {
    let (timer, start, period) = (Timer::current(), Instant::now(), ms(100));
    for first in [period, ms(5)] {
        let times = Arc::new(Mutex::new(Vec::new()));
        let noted = times.clone();
        let base = Instant::now();
        let series = timer.schedule_every(period, move || {
            noted.lock().unwrap().push(base.elapsed());
            async {}
        });
        assert!(series.reschedule(base + first));
        sleep(first + period * 2).await;
        yield_now().await;
        assert_eq!(
            *times.lock().unwrap(),
            [first, first + period, first + period * 2]
        );
        assert!(series.cancel());
    }
    assert_eq!(start.elapsed(), ms(505));
}
