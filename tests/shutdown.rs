//! The end of a runtime: what waits is woken, what is held is released, and drops are harmless in
//! any order.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, Weak};
use std::task::{Poll, Waker};
use std::thread;

use cogwheel::error::TimerError;
use cogwheel::time::{Duration, Instant, Sleep, interval, sleep, timeout};
use cogwheel::{DelayQueue, Timer};
use futures::StreamExt;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, Wakes, ms, one_thread, paused, poll, text_of, timer_of, two_workers, watched};

const KINDS: [fn() -> Runtime; 3] = [paused, one_thread, two_workers];

fn polled(mut sleep: Sleep) -> Sleep {
    assert!(poll(&mut sleep, Waker::noop()).is_pending());
    sleep
}

/// The text of the panic in a poll of `future`.
fn panic_in_poll<F: Future + Unpin>(mut future: F) -> String {
    text_of(|| assert!(poll(&mut future, Waker::noop()).is_pending()))
}

// === what is left of a timer ===

#[test]
fn a_sleep_polled_after_the_end_panics_as_tokios_does() {
    for make in KINDS {
        let runtime = make();
        let (ours, fresh, moved, theirs) = runtime.block_on(async {
            let theirs = Box::pin(tokio::time::sleep(LONG));
            (
                polled(sleep(LONG)),
                sleep(LONG),
                polled(sleep(LONG)),
                theirs,
            )
        });
        let timer = timer_of(&runtime);
        drop(runtime);
        let text = panic_in_poll(theirs);
        assert_eq!(panic_in_poll(ours), text);
        assert_eq!(panic_in_poll(fresh), text);
        let mut moved = moved;
        moved.set_deadline(Instant::now());
        assert_eq!(panic_in_poll(&mut moved), text);
        assert_eq!(panic_in_poll(&mut moved), text, "and again");
        assert_eq!(panic_in_poll(timer.sleep(ms(1))), text);
        assert_eq!(timer.try_sleep(ms(1)).unwrap_err(), TimerError::Closed);
        assert_eq!(drive::SHUTDOWN, text);
    }
}

#[test]
fn case_060_the_end_releases_what_tasks_and_wakers_hold() {
    for make in KINDS {
        let runtime = make();
        let timer = timer_of(&runtime);
        let mut held: Vec<Weak<Wakes>> = Vec::new();
        for n in 0..1_000 {
            let capture = Arc::new(Wakes::default());
            held.push(Arc::downgrade(&capture));
            runtime.spawn(async move {
                sleep(LONG + ms(n)).await;
                drop(capture);
            });
        }
        runtime.block_on(async { tokio::task::yield_now().await });
        // A sleep that outlives its runtime keeps no waker.
        let mut outlives = timer.sleep(LONG);
        let (wakes, waker) = Wakes::new();
        assert!(poll(&mut outlives, &waker).is_pending());
        held.push(Arc::downgrade(&wakes));
        drop(waker);
        drop(runtime);
        assert_eq!(wakes.count(), 1);
        drop(wakes);
        let leaked = held.iter().filter(|weak| weak.strong_count() > 0).count();
        assert_eq!(leaked, 0);
        drop(outlives);
    }
}

#[test]
fn case_061_what_left_its_runtime_may_be_dropped_on_any_thread_after_its_end() {
    for make in KINDS {
        let runtime = make();
        let (first, second, queue, beat) = runtime.block_on(async {
            let mut queue = DelayQueue::new();
            queue.insert("item", LONG);
            assert!(futures::poll!(queue.next()).is_pending());
            let mut beat = interval(LONG);
            beat.tick().await;
            assert!(futures::poll!(Box::pin(beat.tick())).is_pending());
            (polled(sleep(LONG)), polled(sleep(LONG)), queue, beat)
        });
        thread::spawn(move || drop(first)).join().unwrap();
        drop(runtime);
        thread::spawn(move || drop((second, queue, beat)))
            .join()
            .unwrap();
        watched(move || make().block_on(async { sleep(ms(1)).await }));
    }
}

#[test]
fn timers_may_be_dropped_before_during_and_after_the_end() {
    /// Drops its sleep when its task is dropped, and then makes and polls a new one.
    struct Late(Option<Sleep>, Arc<AtomicUsize>);
    impl Drop for Late {
        fn drop(&mut self) {
            drop(self.0.take());
            // Its runtime is still the current one; as with Tokio's timers, making one works.
            let mut new = sleep(LONG);
            let _other = sleep(ms(1));
            let _elapsed = timeout(LONG, std::future::pending::<()>());
            let outcome = catch_unwind(AssertUnwindSafe(|| poll(&mut new, Waker::noop())));
            let closed = outcome.is_err();
            assert!(closed || outcome.unwrap().is_pending());
            self.1.fetch_add(1, Ordering::AcqRel);
        }
    }
    watched(|| {
        for make in KINDS {
            let drops = Arc::new(AtomicUsize::new(0));
            let runtime = make();
            let mut after = Vec::new();
            for n in 0..30 {
                let counted = drops.clone();
                let (begins, begun) = oneshot::channel();
                let task = async move {
                    // The first of these makes the timer.
                    let _late = Late(Some(polled(sleep(LONG))), counted);
                    begins.send(()).unwrap();
                    std::future::pending::<()>().await;
                };
                let task = runtime.spawn(task);
                runtime.block_on(begun).unwrap();
                if n % 3 == 0 {
                    task.abort();
                    let ended = runtime.block_on(task);
                    assert!(ended.unwrap_err().is_cancelled());
                }
                after.push(polled(timer_of(&runtime).sleep(LONG)));
            }
            drop(runtime);
            assert_eq!(drops.load(Ordering::Acquire), 30);
            drop(after);
            watched(move || make().block_on(async { sleep(ms(1)).await }));
        }
    });
}

#[test]
fn a_local_set_may_outlive_its_runtime() {
    watched(|| {
        let runtime = paused();
        let set = LocalSet::new();
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = dropped.clone();
        set.spawn_local(async move {
            struct Counts(Arc<AtomicUsize>);
            impl Drop for Counts {
                fn drop(&mut self) {
                    self.0.fetch_add(1, Ordering::AcqRel);
                }
            }
            let _counts = Counts(counted);
            sleep(LONG).await;
        });
        set.block_on(&runtime, async { tokio::task::yield_now().await });
        drop(runtime);
        drop(set);
        assert_eq!(dropped.load(Ordering::Acquire), 1);
    });
}

#[test]
fn a_runtime_may_end_in_each_of_the_ways_it_can() {
    watched(|| {
        let ways: [fn(Runtime); 4] = [
            drop,
            Runtime::shutdown_background,
            |runtime| runtime.shutdown_timeout(Duration::from_secs(10)),
            |runtime| {
                let outcome = catch_unwind(AssertUnwindSafe(move || {
                    let _dropped = runtime;
                    panic!("its owner unwinds");
                }));
                assert!(outcome.is_err());
            },
        ];
        for make in KINDS {
            for end in ways {
                let runtime = make();
                let mut waiting = timer_of(&runtime).sleep(LONG);
                let (wakes, waker) = Wakes::new();
                assert!(poll(&mut waiting, &waker).is_pending());
                end(runtime);
                wakes.wait();
                assert_eq!(wakes.count(), 1);
            }
            // From inside another runtime.
            let runtime = make();
            let mut waiting = timer_of(&runtime).sleep(LONG);
            let (wakes, waker) = Wakes::new();
            assert!(poll(&mut waiting, &waker).is_pending());
            one_thread().block_on(async move { runtime.shutdown_background() });
            wakes.wait();
        }
    });
}

#[test]
fn a_runtime_that_never_ran_ends_its_timer_too() {
    for make in KINDS {
        let runtime = make();
        let timer = timer_of(&runtime);
        drop(runtime);
        assert!(timer.is_closed());
    }
}

#[test]
fn every_timer_of_a_runtime_ends_with_it() {
    for make in KINDS {
        let runtime = make();
        let handle = runtime.handle().clone();
        let own = |exact| {
            let builder = Timer::builder().runtime(handle.clone());
            builder.exact_cancel(exact).build().unwrap()
        };
        let timers = [timer_of(&runtime), own(false), own(true)];
        let (wakes, waker) = Wakes::new();
        let mut sleeps: Vec<_> = timers.iter().map(|timer| timer.sleep(LONG)).collect();
        for sleep in &mut sleeps {
            assert!(poll(sleep, &waker).is_pending());
        }
        drop(runtime);
        assert!(timers.iter().all(Timer::is_closed));
        assert_eq!(wakes.count(), 3);
        let built = Timer::builder().runtime(handle).build().unwrap();
        assert!(built.is_closed(), "a dead runtime opens no timer");
    }
}

#[test]
fn a_waker_that_is_woken_by_the_end_may_use_the_dying_timer() {
    watched(|| {
        for make in KINDS {
            let runtime = make();
            let timer = timer_of(&runtime);
            let tried = Arc::new(AtomicUsize::new(0));
            let mut sleeps: Vec<_> = (0..200).map(|_| timer.sleep(LONG)).collect();
            let others: Vec<_> = (0..200).map(|_| polled(timer.sleep(LONG))).collect();
            let others = Arc::new(Mutex::new(others));
            for sleep in &mut sleeps {
                let (timer, tried, others) = (timer.clone(), tried.clone(), others.clone());
                let waker = drive::acting(move || {
                    assert_eq!(timer.try_sleep(LONG).unwrap_err(), TimerError::Closed);
                    if let Some(mut other) = others.lock().unwrap().pop() {
                        other.set_deadline(Instant::now());
                        drop(other);
                    }
                    tried.fetch_add(1, Ordering::AcqRel);
                });
                assert!(poll(sleep, &waker).is_pending());
            }
            drop(runtime);
            assert_eq!(tried.load(Ordering::Acquire), 200);
        }
    });
}

// === the end in the middle of things ===

#[test]
fn case_057_a_runtime_ends_under_blocked_tasks_and_pending_sleeps() {
    watched(|| {
        for _ in 0..200 {
            let runtime = two_workers();
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            runtime.spawn(async move {
                // Blocks its worker until the other timer's task has dropped the sender.
                let _ = receiver.recv();
                sleep(Duration::from_secs(5)).await;
            });
            runtime.spawn(async move {
                sleep(ms(1)).await;
                drop(sender);
                sleep(Duration::from_secs(5)).await;
            });
            runtime.block_on(async { sleep(ms(2)).await });
            drop(runtime);
        }
    });
}

#[test]
fn case_063_a_closed_timer_answers_at_once_from_any_thread() {
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        let barrier = Arc::new(Barrier::new(9));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (timer, barrier) = (timer.clone(), barrier.clone());
                let mut waiting: Vec<_> = (0..100).map(|_| polled(timer.sleep(LONG))).collect();
                thread::spawn(move || {
                    barrier.wait(); // while it is being closed, and after
                    for round in 0..100 {
                        if let Some(mut sleep) = waiting.pop() {
                            sleep.set_deadline(Instant::now() + ms(round));
                            sleep.set_deadline(Instant::now() + LONG);
                        }
                        let mut new = timer.sleep(LONG);
                        let _ = catch_unwind(AssertUnwindSafe(|| poll(&mut new, Waker::noop())));
                        if timer.is_closed() {
                            let error = timer.try_sleep(ms(1)).unwrap_err();
                            assert_eq!(error, TimerError::Closed);
                        }
                    }
                })
            })
            .collect();
        barrier.wait();
        drop(runtime);
        assert!(timer.is_closed());
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// What one thread does with a timer until that is closed; the sleeps it is left with, each with
/// the count of its wakes.
fn hammer(timer: &Timer, seed: usize) -> Vec<(Sleep, Arc<Wakes>)> {
    let mut left: Vec<(Sleep, Arc<Wakes>)> = Vec::new();
    for round in seed.. {
        let delay = if round % 5 == 0 { ms(1) } else { LONG };
        let Ok(mut sleep) = timer.try_sleep(delay) else {
            break;
        };
        let (wakes, waker) = Wakes::new();
        let outcome = catch_unwind(AssertUnwindSafe(|| poll(&mut sleep, &waker)));
        match outcome {
            Ok(Poll::Pending) => left.push((sleep, wakes)),
            Ok(Poll::Ready(())) => {}
            Err(_) => break, // closed in between
        }
        match round % 7 {
            0 => drop(left.pop()),
            1 | 2 if left.len() > 30 => drop(left.swap_remove(round % left.len())),
            3 => {
                if let Some((sleep, _)) = left.first_mut() {
                    sleep.set_deadline(Instant::now() + LONG);
                }
            }
            4 => {
                if let Some((sleep, _)) = left.last_mut() {
                    sleep.set_deadline(Instant::now() + ms(2));
                }
            }
            _ => {}
        }
        if left.len() > 500 {
            left.drain(..250);
        }
    }
    left
}

#[test]
fn no_waiter_is_forgotten_when_the_runtime_ends_while_threads_register() {
    watched(|| {
        let bystander = two_workers();
        for round in 0..200 {
            let runtime = match round % 4 {
                0 => paused(),
                1 => one_thread(),
                _ => Builder::new_multi_thread()
                    .worker_threads(1)
                    .enable_time()
                    .build()
                    .unwrap(),
            };
            let timer = timer_of(&runtime);
            let barrier = Arc::new(Barrier::new(4));
            let threads: Vec<_> = (0..3)
                .map(|seed| {
                    let (timer, barrier) = (timer.clone(), barrier.clone());
                    thread::spawn(move || {
                        barrier.wait();
                        hammer(&timer, seed)
                    })
                })
                .collect();
            barrier.wait();
            runtime.block_on(async { sleep(Duration::from_micros(round * 13 % 700)).await });
            drop(runtime);
            for thread in threads {
                for (sleep, wakes) in thread.join().unwrap() {
                    wakes.wait();
                    assert!(wakes.count() >= 1);
                    drop(sleep);
                }
            }
            // The driver may be this one's by now.
            bystander.block_on(async { sleep(Duration::from_micros(100)).await });
        }
    });
}
