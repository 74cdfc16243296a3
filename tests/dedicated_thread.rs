//! A timer with a thread of its own: with and without runtimes, precise, idle when idle, and gone
//! when nobody needs it.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with the system's clock"
)]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use cogwheel::Timer;
use cogwheel::error::TimerError;
use cogwheel::time::Sleep;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, Wakes, acting, ms, one_thread, paused, poll, text_of, wait, watched};

fn dedicated() -> Timer {
    Timer::builder().dedicated_thread().build().unwrap()
}

fn named(name: &str) -> Timer {
    Timer::builder().thread_name(name).build().unwrap()
}

fn armed(timer: &Timer, delay: Duration) -> Sleep {
    let mut sleep = timer.sleep(delay);
    assert!(poll(&mut sleep, Waker::noop()).is_pending());
    sleep
}

/// Waits, for at most some seconds, until `holds`.
fn soon(holds: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::sleep(ms(1));
    }
    true
}

/// The directory in `/proc` of the thread of this process with this name.
#[cfg(target_os = "linux")]
fn thread_called(name: &str) -> Option<std::path::PathBuf> {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| task.unwrap().path())
        .find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name))
}

/// How often a thread has gone to sleep so far.
#[cfg(target_os = "linux")]
fn switches(task: &std::path::Path) -> u64 {
    let status = fs::read_to_string(task.join("status")).unwrap();
    let line = |line: &str| {
        line.strip_prefix("voluntary_ctxt_switches:")
            .map(str::to_owned)
    };
    status
        .lines()
        .find_map(line)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

// === what it does ===

#[test]
fn case_006_an_earlier_timer_wakes_the_thread_that_sleeps_for_a_later_one() {
    watched(|| {
        let timer = dedicated();
        let far = armed(&timer, Duration::from_secs(10));
        thread::sleep(ms(100));
        let begun = Instant::now();
        wait(timer.sleep(ms(50)));
        let took = begun.elapsed();
        assert!(took >= ms(50) && took < ms(1_000), "{took:?}");
        drop(far);
    });
}

#[test]
fn case_058_it_works_on_plain_threads_without_any_runtime() {
    watched(|| {
        let timer = dedicated();
        let begun = Instant::now();
        let slow = timer.timeout(ms(20), std::future::pending::<()>());
        let mut beat = timer.interval(ms(10));
        drop((timer.sleep(LONG), timer.timeout(LONG, timer.sleep(LONG))));
        wait(timer.sleep(ms(5)));
        assert!(wait(slow).is_err());
        for _ in 0..3 {
            wait(beat.tick());
        }
        assert!(begun.elapsed() >= ms(20));
    });
}

#[test]
fn case_059_it_serves_one_runtime_after_another_and_outlives_them() {
    watched(|| {
        let timer = dedicated();
        for _ in 0..3 {
            let runtime = one_thread();
            let sleep = timer.clone();
            runtime.block_on(async move {
                let inner = sleep.clone();
                let task = tokio::spawn(async move { inner.sleep(ms(5)).await });
                sleep.sleep(ms(5)).await;
                task.await.unwrap();
            });
            runtime.spawn({
                let timer = timer.clone();
                async move { timer.sleep(LONG).await }
            });
            drop(runtime);
            assert!(!timer.is_closed());
        }
        wait(timer.sleep(ms(5)));
    });
}

#[test]
fn case_062_a_runtime_without_timers_may_use_it() {
    watched(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let timer = dedicated();
        runtime.block_on(async { timer.sleep(ms(10)).await });
    });
}

#[test]
fn it_turns_while_every_worker_of_the_runtime_is_busy() {
    watched(|| {
        let runtime = one_thread();
        let timer = dedicated();
        let woken = Arc::new(AtomicBool::new(false));
        runtime.block_on(async {
            let flag = woken.clone();
            let mut sleep = timer.sleep(ms(20));
            let waker = acting(move || flag.store(true, Ordering::Release));
            assert!(poll(&mut sleep, &waker).is_pending());
            // Hogs the only worker.
            thread::sleep(ms(500));
            assert!(woken.load(Ordering::Acquire));
        });
    });
}

#[test]
fn it_reads_the_systems_clock_in_a_runtime_whose_clock_is_paused() {
    watched(|| {
        let timer = dedicated();
        paused().block_on(async {
            let begun = Instant::now();
            timer.sleep(ms(30)).await;
            assert!(begun.elapsed() >= ms(30));
        });
    });
}

#[test]
fn nothing_is_early_and_nothing_is_lost_under_a_storm_of_short_timers() {
    watched(|| {
        let timer = dedicated();
        let threads: Vec<_> = (0..8_u64)
            .map(|thread| {
                let timer = timer.clone();
                thread::spawn(move || {
                    for round in 0..1_000 {
                        let delay = Duration::from_micros((round * 37 + thread * 11) % 300);
                        let begun = Instant::now();
                        if round % 3 == 0 {
                            // Makes the thread sleep for something that never comes.
                            drop(armed(&timer, delay + ms(1)));
                        }
                        wait(timer.sleep(delay));
                        assert!(begun.elapsed() >= delay);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Wheel case 42.
#[test]
fn a_panicking_waker_does_not_end_the_thread() {
    watched(|| {
        let timer = dedicated();
        let mut bad = timer.sleep(ms(1));
        let waker = acting(|| panic!("a waker panics"));
        assert!(poll(&mut bad, &waker).is_pending());
        wait(timer.sleep(ms(5)));
        wait(timer.sleep(ms(5)));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn case_095_an_idle_thread_does_not_wake_and_a_lone_timer_wakes_it_twice() {
    watched(|| {
        let timer = named("cog-idle");
        assert!(soon(|| thread_called("cog-idle").is_some()));
        let task = thread_called("cog-idle").unwrap();
        thread::sleep(ms(50));
        let before = switches(&task);
        thread::sleep(ms(300));
        assert_eq!(switches(&task), before, "nothing is armed");
        let sleep = armed(&timer, ms(200));
        thread::sleep(ms(100));
        let armed = switches(&task) - before;
        assert!(armed <= 1, "woken {armed} times to learn of it");
        assert!(soon(|| sleep.is_elapsed()));
        thread::sleep(ms(50));
        let fired = switches(&task) - before;
        assert!(fired <= 3, "woken {fired} times for one timer");
        let far = self::armed(&timer, LONG);
        thread::sleep(ms(50));
        let parked = switches(&task);
        thread::sleep(ms(300));
        assert_eq!(switches(&task), parked, "nothing is due");
        drop(far);
    });
}

// === how it ends ===

#[test]
fn close_wakes_what_is_pending_and_may_be_called_again() {
    watched(|| {
        let timer = dedicated();
        let (wakes, waker) = Wakes::new();
        let mut sleeps: Vec<_> = (0..300).map(|n| timer.sleep(LONG + ms(n))).collect();
        for sleep in &mut sleeps {
            assert!(poll(sleep, &waker).is_pending());
        }
        let mut unpolled = timer.sleep(LONG);
        let other = timer.clone();
        timer.close();
        assert_eq!(wakes.count(), 300);
        assert!(timer.is_closed() && other.is_closed());
        other.close();
        sleeps.push(other.sleep(ms(1)));
        for sleep in sleeps.iter_mut().chain([&mut unpolled]) {
            let text = text_of(|| {
                let _ = poll(sleep, &waker);
            });
            assert!(text.starts_with("this timer was closed"), "{text}");
        }
        assert_eq!(timer.try_sleep(ms(1)).unwrap_err(), TimerError::Closed);
    });
}

#[test]
fn a_sleep_that_was_due_when_its_timer_was_closed_completes() {
    watched(|| {
        let timer = dedicated();
        let (wakes, waker) = Wakes::new();
        let mut sleep = timer.sleep(ms(1));
        assert!(poll(&mut sleep, &waker).is_pending());
        assert!(soon(|| wakes.count() == 1));
        timer.close();
        assert!(poll(&mut sleep, &waker).is_ready());
        assert!(poll(&mut sleep, &waker).is_ready());
    });
}

/// Wheel case 20.
#[test]
fn a_waker_that_runs_on_the_thread_may_close_the_timer() {
    watched(|| {
        let timer = dedicated();
        let inner = timer.clone();
        let waker = acting(move || inner.close());
        let mut sleep = timer.sleep(ms(5));
        assert!(poll(&mut sleep, &waker).is_pending());
        assert!(soon(|| timer.is_closed()));
    });
}

#[test]
fn case_063_a_closed_timer_answers_at_once_from_any_thread() {
    watched(|| {
        for _ in 0..20 {
            let timer = dedicated();
            let threads: Vec<_> = (0..8)
                .map(|n| {
                    let timer = timer.clone();
                    thread::spawn(move || {
                        for round in 0..50 {
                            let mut sleep = timer.sleep(LONG);
                            let first = || poll(&mut sleep, Waker::noop()).is_pending();
                            // Pending while it is open, a panic afterwards.
                            let outcome = catch_unwind(AssertUnwindSafe(first));
                            assert!(outcome.is_err() || outcome.is_ok_and(|pending| pending));
                            sleep.set_deadline(tokio::time::Instant::now() + ms(n));
                            if round == 25 {
                                timer.close();
                            }
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(timer.is_closed());
        }
    });
}

/// Wheel case 14.
#[cfg(target_os = "linux")]
#[test]
fn the_thread_ends_when_the_timer_is_closed() {
    watched(|| {
        let timer = named("cog-closed");
        assert!(soon(|| thread_called("cog-closed").is_some()));
        let _pending = armed(&timer, LONG);
        timer.close();
        assert!(soon(|| thread_called("cog-closed").is_none()));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_thread_ends_with_the_last_handle_if_nothing_is_armed() {
    watched(|| {
        let timer = named("cog-handles");
        assert!(soon(|| thread_called("cog-handles").is_some()));
        drop(armed(&timer, LONG)); // stays on the wheel, cancelled
        let mut unpolled = timer.sleep(LONG);
        let other = timer.clone();
        drop(timer);
        thread::sleep(ms(50));
        assert!(thread_called("cog-handles").is_some() && !other.is_closed());
        drop(other);
        assert!(soon(|| thread_called("cog-handles").is_none()));
        let text = text_of(|| {
            let _ = poll(&mut unpolled, Waker::noop());
        });
        assert!(text.starts_with("this timer was closed"), "{text}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_thread_without_handles_serves_what_is_armed_and_ends_with_the_last() {
    watched(|| {
        let timer = named("cog-orphan");
        let (wakes, waker) = Wakes::new();
        let mut short = timer.sleep(ms(100));
        assert!(poll(&mut short, &waker).is_pending());
        let long = armed(&timer, LONG);
        drop(timer);
        assert!(soon(|| wakes.count() == 1));
        assert!(poll(&mut short, &waker).is_ready());
        thread::sleep(ms(50));
        assert!(thread_called("cog-orphan").is_some(), "a timer is armed");
        drop(long);
        assert!(soon(|| thread_called("cog-orphan").is_none()));
    });
}

#[test]
fn a_sleep_that_outlives_the_handles_completes_however_late_it_is_polled() {
    watched(|| {
        for _ in 0..50 {
            let (wakes, waker) = Wakes::new();
            let mut sleep = dedicated().sleep(ms(2));
            // Too late, if the thread has ended before this arms the timer.
            let first = catch_unwind(AssertUnwindSafe(|| poll(&mut sleep, &waker)));
            if first.is_ok_and(|poll| poll.is_pending()) {
                assert!(soon(|| wakes.count() == 1));
                thread::sleep(ms(1));
                let second = catch_unwind(AssertUnwindSafe(|| poll(&mut sleep, &waker)));
                // Woken at its deadline, or by an end that came before it.
                assert!(second.is_err() || second.is_ok_and(|poll| poll.is_ready()));
            }
        }
    });
}

#[test]
fn timers_with_threads_come_and_go() {
    watched(|| {
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let timer = dedicated();
                        wait(timer.sleep(Duration::from_micros(100)));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 200);
    });
}

#[test]
fn a_name_with_a_zero_byte_is_cut_there() {
    let timer = named("name\0rest");
    wait(timer.sleep(ms(1)));
}

// === the other timers may be closed as well ===

#[test]
fn a_built_timer_of_a_runtime_may_be_closed_before_it() {
    watched(|| {
        let runtime = one_thread();
        runtime.block_on(async {
            let timer = Timer::builder().build().unwrap();
            let (wakes, waker) = Wakes::new();
            let mut sleep = timer.sleep(LONG);
            assert!(poll(&mut sleep, &waker).is_pending());
            let tasks = || {
                tokio::runtime::Handle::current()
                    .metrics()
                    .num_alive_tasks()
            };
            let before = tasks();
            timer.close();
            timer.close();
            assert_eq!(wakes.count(), 1);
            let text = text_of(|| {
                let _ = poll(&mut sleep, &waker);
            });
            assert_eq!(text, drive::SHUTDOWN, "Tokio's own text");
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            assert_eq!(tasks(), before - 1, "its guard task is gone");
            cogwheel::time::sleep(ms(1)).await;
        });
    });
}

#[test]
fn the_default_timer_may_be_closed_and_the_runtime_is_given_a_new_one() {
    watched(|| {
        one_thread().block_on(async {
            let first = Timer::current();
            first.close();
            cogwheel::time::sleep(ms(1)).await;
            let second = Timer::current();
            assert_ne!(first, second);
            assert!(first.is_closed() && !second.is_closed());
        });
    });
}
