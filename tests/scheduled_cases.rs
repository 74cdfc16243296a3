//! Cases from practice that speak of scheduled work alone. Those in which tasks wait for it, by a
//! clock that is moved by hand, are in `tests/cases`.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]
#![allow(
    clippy::async_yields_async,
    reason = "work may give the handle of other work"
)]

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;

use cogwheel::error::TimerError;
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

// === on time, and not at all ===

#[tokio::test(start_paused = true)]
async fn case_065_work_that_is_due_has_run_after_two_yields() {
    let runs = Runs::default();
    drop(Timer::current().schedule(ms(500), runs.one()));
    advance(ms(500)).await;
    yield_now().await;
    yield_now().await;
    assert_eq!(runs.count(), 1);
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

/// In the poll of the work itself: its future must outlive the call, and the call must not wait.
#[test]
fn case_056_work_that_cancels_itself_while_it_is_polled_lives_until_it_returns() {
    /// Asks the handle and arms a timer when it is dropped, and so must be dropped under no lock.
    struct Guard(Timer, Arc<OnceLock<Scheduled<u8>>>, Runs);
    impl Drop for Guard {
        fn drop(&mut self) {
            if let Some(own) = self.1.get() {
                assert!(!own.cancel() && !own.reschedule(Instant::now()));
            }
            assert!(self.0.schedule(LONG, async {}).cancel());
            self.2.0.fetch_add(1, Ordering::AcqRel);
        }
    }
    for make in KINDS {
        watched(move || {
            let runtime = make();
            let timer = timer_of(&runtime);
            let drops = Runs::default();
            let own: Arc<OnceLock<Scheduled<u8>>> = Arc::default();
            let guard = Guard(timer.clone(), own.clone(), drops.clone());
            let handle = own.clone();
            let work = timer.schedule(ms(1), async move {
                while handle.get().is_none() {
                    yield_now().await;
                }
                let own = handle.get().unwrap();
                assert!(!own.cancel(), "it has started");
                assert!(!own.cancel() && !own.reschedule(Instant::now() + LONG));
                yield_now().await;
                assert_eq!(guard.2.count(), 0, "the guard can be used");
                7
            });
            assert!(own.set(work).is_ok());
            let ended = || own.get().is_some_and(Scheduled::is_finished);
            runtime.block_on(async {
                while !ended() {
                    sleep(ms(1)).await;
                }
            });
            assert_eq!(drops.count(), 1);
            // Nobody holds the handle but the lock: the guard is gone with the future.
            let work = Arc::into_inner(own).unwrap().into_inner().unwrap();
            assert_eq!(wait(work).fired(), Some(7));
            assert_eq!(drops.count(), 1);
        });
    }
}

#[test]
fn case_075_ten_callbacks_that_block_delay_no_sleep() {
    for make in [one_thread, two_workers] {
        watched(move || {
            let late = make().block_on(async {
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
}

/// Work that blocks its worker instead runs on the runtime all the same, and so holds up that, and
/// not a driver with a thread of its own.
#[test]
fn case_075_work_that_blocks_every_worker_delays_no_driver_with_a_thread() {
    for make in [one_thread, two_workers] {
        watched(move || {
            let runtime = make();
            let timer = Timer::builder().dedicated_thread().build().unwrap();
            let start = Instant::now();
            let works = {
                let _context = runtime.enter();
                [(); 10].map(|()| timer.schedule(ms(5), async { thread::sleep(ms(300)) }))
            };
            let sleeping = thread::spawn(move || {
                wait(timer.sleep(ms(100)));
                start.elapsed()
            });
            runtime.block_on(async {
                for work in works {
                    assert!(work.await.is_fired());
                }
            });
            let late = sleeping.join().unwrap();
            assert!(late >= ms(100) && late < ms(1_000), "{late:?}");
            assert!(start.elapsed() >= ms(1_500), "the workers were blocked");
        });
    }
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
