//! Which runtime a timer belongs to, and what happens where runtimes meet.
//!
//! A timer belongs to the runtime that is current where it is made, as Tokio's does; where the two
//! can be compared they are.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::sync::mpsc;
use std::task::Waker;
use std::thread;

use cogwheel::Timer;
use cogwheel::error::TimerError;
use cogwheel::time::{Duration, Instant, Sleep, interval, sleep, timeout};
use tokio::runtime::{Builder, Handle, LocalOptions, Runtime};
use tokio::task::{LocalSet, block_in_place, spawn_blocking};

#[path = "common/drive.rs"]
mod drive;

use drive::{
    LONG, Wakes, ms, one_thread, paused, poll, text_of, timer_of, two_workers, wait, watched,
};

/// The time by a paused runtime's own clock.
fn time_of(runtime: &Runtime) -> Instant {
    runtime.block_on(async { Instant::now() })
}

/// Whether the current runtime's clock is paused: then it does not move between two looks.
fn now_twice() -> (Instant, Instant) {
    let first = Instant::now();
    thread::sleep(ms(2));
    (first, Instant::now())
}

/// The timer that a sleep belongs to is the one whose end closes it.
fn belongs_to(mut sleep: Sleep, runtime: Runtime) -> bool {
    let (wakes, waker) = Wakes::new();
    assert!(poll(&mut sleep, &waker).is_pending());
    runtime.shutdown_timeout(ms(10_000));
    wakes.count() == 1
}

// === no runtime, or none that can ===

#[test]
fn without_a_runtime_there_is_no_timer() {
    assert_eq!(Timer::try_current().unwrap_err(), TimerError::NoRuntime);
    let built = Timer::builder().build();
    assert_eq!(built.unwrap_err(), TimerError::NoRuntime);
}

#[test]
fn case_062_a_runtime_without_timers_is_an_error_at_once() {
    let runtimes = [
        Builder::new_current_thread().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap(),
    ];
    for runtime in runtimes {
        for _ in 0..2 {
            let outcome = runtime.block_on(async { Timer::try_current() });
            assert_eq!(outcome.unwrap_err(), TimerError::TimeDisabled);
        }
        let built = Timer::builder().runtime(runtime.handle().clone()).build();
        assert_eq!(built.unwrap_err(), TimerError::TimeDisabled);
        let ours = text_of(|| runtime.block_on(async { drop(sleep(ms(1))) }));
        let theirs = text_of(|| runtime.block_on(async { drop(tokio::time::sleep(ms(1))) }));
        assert_eq!(ours, theirs);
    }
    // Nothing is left behind that the next runtime would meet.
    watched(|| one_thread().block_on(async { sleep(ms(1)).await }));
}

#[test]
fn without_a_runtime_the_text_is_tokios() {
    assert_eq!(
        text_of(|| drop(sleep(ms(1)))),
        text_of(|| drop(tokio::time::sleep(ms(1)))),
    );
}

#[test]
fn a_timer_in_a_foreign_runtime_without_timers_waits_all_the_same() {
    watched(|| {
        let home = two_workers();
        let timer = home.block_on(async { Timer::current() });
        let foreign = Builder::new_current_thread().build().unwrap();
        foreign.block_on(async {
            timer.sleep(ms(2)).await;
            let elapsed = timer.timeout(ms(2), std::future::pending::<()>()).await;
            assert!(elapsed.is_err());
        });
    });
}

#[test]
fn case_058_made_through_a_handle_on_a_plain_thread_timers_work() {
    watched(|| {
        let runtime = two_workers();
        let timer = runtime.block_on(async { Timer::current() });
        let made: Vec<_> = (0..10).map(|n| timer.sleep(ms(n))).collect();
        drop(timer.sleep(LONG));
        let (waited, later): (Vec<_>, Vec<_>) = made
            .into_iter()
            .partition(|s| s.deadline() < Instant::now() + ms(5));
        // Some are awaited on this thread, in no runtime at all; the rest in another runtime.
        for sleep in waited {
            wait(sleep);
        }
        one_thread().block_on(async {
            for sleep in later {
                sleep.await;
            }
        });
        wait(timer.timeout(ms(1), std::future::pending::<()>())).unwrap_err();
    });
}

// === which one is the current runtime ===

#[test]
fn a_task_that_enters_another_runtime_makes_timers_of_that_one() {
    let (outer, inner) = (one_thread(), paused());
    let inner_time = time_of(&inner);
    thread::sleep(ms(5));
    let (here, there, after) = outer.block_on(async {
        let here = sleep(LONG);
        let context = inner.enter();
        assert_eq!(Timer::current(), timer_of(&inner));
        let there = sleep(LONG);
        drop(context);
        (here, there, sleep(LONG))
    });
    // On that runtime's clock, too.
    assert_eq!(there.deadline(), inner_time + LONG);
    assert_ne!(here.deadline(), there.deadline());
    assert!(belongs_to(there, inner));
    let timer = timer_of(&outer);
    let mut after = after;
    let (wakes, waker) = Wakes::new();
    assert!(poll(&mut after, &waker).is_pending());
    assert!(belongs_to(here, outer));
    assert!(timer.is_closed());
    assert_eq!(wakes.count(), 1);
}

#[test]
fn a_task_that_blocks_on_another_runtime_makes_timers_of_that_one() {
    watched(|| {
        let outer = two_workers();
        let inner = paused();
        let other = inner.handle().clone();
        let (before, inside, after) = outer.block_on(async move {
            let task = tokio::spawn(async move {
                let before = Timer::current();
                let inside = block_in_place(|| {
                    other.block_on(async {
                        // A look-up in between, which a cache by task would get wrong.
                        drop(sleep(LONG));
                        Timer::current()
                    })
                });
                (before, inside, Timer::current())
            });
            task.await.unwrap()
        });
        assert_eq!(before, after);
        assert_eq!(before, timer_of(&outer));
        assert_eq!(inside, timer_of(&inner));
    });
}

#[test]
fn a_task_may_wait_in_block_in_place_on_the_timers_of_another_runtime() {
    watched(|| {
        let (outer, inner) = (two_workers(), two_workers());
        let other = inner.handle().clone();
        outer.block_on(async move {
            let task = tokio::spawn(async move {
                sleep(ms(1)).await;
                block_in_place(|| other.block_on(async { sleep(ms(2)).await }));
                sleep(ms(1)).await;
            });
            task.await.unwrap();
        });
    });
}

#[test]
fn a_local_set_that_moves_between_runtimes_makes_timers_of_the_one_it_is_in() {
    watched(|| {
        let (first, second) = (paused(), paused());
        let set = LocalSet::new();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        set.spawn_local(async move {
            loop {
                sleep(ms(1)).await;
                sender.send(Timer::current()).unwrap();
            }
        });
        for runtime in [&first, &second, &first] {
            let seen = set.block_on(runtime, async {
                // The sleep in flight belongs to the runtime that was left, and may come first.
                let mut latest = receiver.recv().await.unwrap();
                for _ in 0..2 {
                    latest = receiver.recv().await.unwrap();
                }
                latest
            });
            assert_eq!(seen, timer_of(runtime));
            // Let the sleep in flight complete at its own home, or the set would hang elsewhere,
            // as it would with Tokio's timers.
            set.block_on(runtime, async { while receiver.try_recv().is_ok() {} });
            runtime.block_on(async { tokio::time::advance(ms(1)).await });
        }
    });
}

#[test]
fn handle_block_on_from_plain_threads_uses_the_runtime_of_the_handle() {
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let handle = runtime.handle().clone();
                thread::spawn(move || {
                    handle.block_on(async {
                        for _ in 0..20 {
                            sleep(ms(1)).await;
                        }
                        Timer::current()
                    })
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), timer);
        }
    });
}

#[test]
fn handle_block_on_of_one_thread_waits_while_another_thread_drives() {
    watched(|| {
        let runtime = one_thread();
        let handle = runtime.handle().clone();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let driver = thread::spawn(move || runtime.block_on(async { _ = stopped.await }));
        let elapsed = handle.block_on(async {
            let start = Instant::now();
            sleep(ms(5)).await;
            start.elapsed()
        });
        assert!(elapsed >= ms(5));
        stop.send(()).unwrap();
        driver.join().unwrap();
    });
}

#[test]
fn blocking_threads_use_the_timer_of_their_runtime() {
    watched(|| {
        for runtime in [one_thread(), two_workers()] {
            let timer = timer_of(&runtime);
            let seen = runtime.block_on(async {
                let task = spawn_blocking(|| {
                    let timer = Timer::current();
                    Handle::current().block_on(async { sleep(ms(2)).await });
                    wait(timer.sleep(ms(2)));
                    timer
                });
                task.await.unwrap()
            });
            assert_eq!(seen, timer);
        }
    });
}

#[test]
fn a_local_runtime_has_its_timer_like_any_other() {
    watched(|| {
        let local = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build_local(LocalOptions::default())
            .unwrap();
        let timer = local.block_on(async {
            let start = Instant::now();
            let task = tokio::task::spawn_local(async {
                sleep(ms(50)).await;
                Timer::current()
            });
            sleep(LONG).await;
            assert_eq!(start.elapsed(), LONG);
            let timer = task.await.unwrap();
            assert_eq!(timer, Timer::current());
            timer
        });
        let mut pending = timer.sleep(LONG);
        let (wakes, waker) = Wakes::new();
        assert!(poll(&mut pending, &waker).is_pending());
        drop(local);
        assert!(timer.is_closed());
        assert_eq!(wakes.count(), 1);
    });
}

// === several at once ===

#[test]
fn several_runtimes_do_not_hear_of_each_other() {
    watched(|| {
        let threads: Vec<_> = (0..8)
            .map(|n: u64| {
                thread::spawn(move || {
                    for round in 0..20 {
                        let runtime = if (n + round).is_multiple_of(2) {
                            paused()
                        } else {
                            one_thread()
                        };
                        runtime.block_on(async {
                            let start = Instant::now();
                            let tasks: Vec<_> =
                                (0..20).map(|n| tokio::spawn(sleep(ms(n % 5)))).collect();
                            for task in tasks {
                                task.await.unwrap();
                            }
                            assert!(start.elapsed() >= ms(4));
                        });
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_sleep_waits_on_the_clock_of_its_own_runtime_wherever_it_is_polled() {
    watched(|| {
        let (still, moving) = (paused(), paused());
        let mut sleeper = timer_of(&still).sleep(ms(100));
        moving.block_on(async {
            // An hour passes here; nothing at its home, which nobody drives.
            assert!(timeout(LONG, &mut sleeper).await.is_err());
            assert!(!sleeper.is_elapsed());
        });
        let woken = thread::spawn(move || moving.block_on(sleeper));
        still.block_on(async { tokio::time::sleep(ms(100)).await });
        woken.join().unwrap();
    });
}

#[test]
fn a_sleep_may_be_moved_while_it_waits_and_dropped_anywhere() {
    watched(|| {
        let (home, away) = (two_workers(), one_thread());
        let (wakes, waker) = Wakes::new();
        let pending = || {
            let mut sleep = timer_of(&home).sleep(ms(300));
            assert!(poll(&mut sleep, &waker).is_pending());
            sleep
        };
        let sleeps: Vec<_> = (0..3).map(|_| pending()).collect();
        let [first, second, third] = <[Sleep; 3]>::try_from(sleeps).unwrap();
        thread::spawn(move || drop(first)).join().unwrap();
        away.block_on(async { tokio::spawn(async move { drop(second) }).await.unwrap() });
        // Polled elsewhere it wakes the task there, and nobody here.
        away.block_on(async {
            tokio::spawn(third).await.unwrap();
        });
        home.block_on(async { sleep(ms(40)).await });
        assert_eq!(wakes.count(), 0);
    });
}

#[test]
fn a_sleep_may_be_reset_away_from_home() {
    watched(|| {
        let (home, away) = (two_workers(), one_thread());
        let mut sleeper = timer_of(&home).sleep(LONG);
        away.block_on(async {
            assert!(poll(&mut sleeper, Waker::noop()).is_pending());
            sleeper.set_deadline(Instant::now() + ms(3));
            (&mut sleeper).await;
            sleeper.set_deadline(Instant::now() + ms(3));
            (&mut sleeper).await;
        });
    });
}

#[test]
fn a_timer_of_its_own_is_not_the_default_one_and_works_beside_it() {
    watched(|| {
        let runtime = paused();
        let own = Timer::builder()
            .runtime(runtime.handle().clone())
            .build()
            .unwrap();
        runtime.block_on(async {
            assert_ne!(own, Timer::current());
            assert_ne!(own, Timer::builder().build().unwrap());
            let start = Instant::now();
            tokio::join!(own.sleep(ms(20)), sleep(ms(30)));
            assert_eq!(start.elapsed(), ms(30));
        });
        drop(runtime);
        assert!(own.is_closed());
    });
}

// === one after another ===

#[test]
fn a_recycled_driver_shows_nothing_of_the_runtime_before() {
    watched(|| {
        let mut old: Vec<(Timer, Sleep)> = Vec::new();
        for round in 0..50_u64 {
            // Each starts at the system's time; the hours that the last one skipped are forgotten.
            let runtime = if round % 3 == 2 {
                one_thread()
            } else {
                paused()
            };
            let timer = timer_of(&runtime);
            assert!(!timer.is_closed());
            runtime.block_on(async {
                for (timer, sleep) in &mut old {
                    assert!(timer.is_closed());
                    assert_eq!(timer.try_sleep(ms(1)).unwrap_err(), TimerError::Closed);
                    assert_ne!(*timer, Timer::current());
                    sleep.set_deadline(Instant::now());
                    sleep.set_deadline(Instant::now() + LONG);
                }
                let start = Instant::now();
                sleep(ms(2)).await;
                assert!(start.elapsed() < LONG);
                if round % 3 == 0 {
                    sleep(LONG).await;
                    assert_eq!(start.elapsed(), LONG + ms(2));
                }
            });
            let mut pending = timer.sleep(LONG);
            assert!(poll(&mut pending, Waker::noop()).is_pending());
            old.push((timer, pending));
            if round % 10 == 9 {
                // With the driver that is now this runtime's, if it has been recycled.
                old.truncate(3);
            }
        }
    });
}

#[test]
fn case_059_a_handle_of_a_dead_runtime_is_closed_in_others() {
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        drop(runtime);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let timer = timer.clone();
                thread::spawn(move || {
                    let runtime = two_workers();
                    runtime.block_on(async move {
                        assert_eq!(timer.try_sleep(ms(1)).unwrap_err(), TimerError::Closed);
                        let panic = tokio::spawn(timer.sleep(ms(1))).await.unwrap_err();
                        assert!(panic.is_panic());
                        sleep(ms(1)).await;
                        interval(ms(1)).tick().await;
                    });
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn runtimes_that_end_while_others_begin_disturb_none() {
    watched(|| {
        let (sender, receiver) = mpsc::sync_channel::<(Runtime, Vec<Sleep>)>(2);
        let ender = thread::spawn(move || {
            // Ends each runtime while the next is opened, with timers left on it.
            for (runtime, mut sleeps) in receiver {
                drop(sleeps.split_off(sleeps.len() / 2));
                drop(runtime);
                drop(sleeps);
            }
        });
        for round in 0..300 {
            let runtime = if round % 2 == 0 {
                paused()
            } else {
                one_thread()
            };
            let sleeps = runtime.block_on(async {
                let start = Instant::now();
                let sleeps: Vec<_> = (0..40).map(|n| sleep(LONG + ms(n))).map(polled).collect();
                sleep(Duration::from_micros(300)).await;
                assert!(start.elapsed() >= Duration::from_micros(300));
                sleeps
            });
            sender.send((runtime, sleeps)).unwrap();
        }
        drop(sender);
        ender.join().unwrap();
    });
}

fn polled(mut sleep: Sleep) -> Sleep {
    assert!(poll(&mut sleep, Waker::noop()).is_pending());
    sleep
}

#[test]
fn a_paused_clock_looks_paused_to_both_libraries() {
    // The premise of the tests above.
    let (first, second) = paused().block_on(async { now_twice() });
    assert_eq!(first, second);
    let (first, second) = one_thread().block_on(async { now_twice() });
    assert!(first < second);
}
