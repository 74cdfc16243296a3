//! Which timer the free functions use, and who may choose it.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::task::Waker;
use std::thread;
use std::time::Duration;

use cogwheel::error::TimerError;
use cogwheel::time::{interval, lazy_timeout, sleep, sleep_until, timeout};
use cogwheel::{DelayQueue, ManualClock, Timer, delay_queue};
use futures::StreamExt as _;
use tokio::runtime::Runtime;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, Wakes, ms, one_thread, paused, poll, two_workers, wait, watched};

#[test]
fn outside_of_a_runtime_there_is_no_default() {
    let clock = ManualClock::new();
    assert_eq!(clock.timer().make_default(), Err(TimerError::NoRuntime));
}

#[test]
fn a_closed_timer_is_refused_and_changes_nothing() {
    let runtime = one_thread();
    runtime.block_on(async {
        let before = Timer::current();
        let clock = ManualClock::new();
        clock.close();
        assert_eq!(clock.timer().make_default(), Err(TimerError::Closed));
        let handle = runtime.handle();
        assert_eq!(
            clock.timer().make_default_of(handle),
            Err(TimerError::Closed)
        );
        assert_eq!(Timer::current(), before);
    });
}

#[test]
fn all_threads_use_the_new_one_also_those_that_knew_the_old_one() {
    watched(|| {
        let runtime = two_workers();
        let ask = |runtime: &Runtime| {
            let tasks: Vec<_> = (0..16)
                .map(|_| runtime.spawn(async { Timer::current() }))
                .collect();
            let timers = tasks
                .into_iter()
                .map(|task| runtime.block_on(task).unwrap());
            timers.collect::<Vec<_>>()
        };
        let old = ask(&runtime).remove(0);
        for _ in 0..3 {
            let new = {
                let _context = runtime.enter();
                Timer::builder().exact_cancel(true).build().unwrap()
            };
            new.make_default_of(runtime.handle()).unwrap();
            assert_ne!(new, old);
            assert!(ask(&runtime).iter().all(|timer| *timer == new));
        }
        assert!(!old.is_closed());
    });
}

#[test]
fn what_was_made_before_stays_with_its_timer() {
    watched(|| {
        paused().block_on(async {
            let begun = tokio::time::Instant::now();
            let mut before = sleep(ms(10));
            assert!(poll(&mut before, Waker::noop()).is_pending());
            let clock = ManualClock::new();
            clock.timer().make_default().unwrap();
            before.await;
            assert_eq!(begun.elapsed(), ms(10));
        });
    });
}

#[test]
fn every_free_function_counts_from_the_clock_of_the_default_timer() {
    watched(|| {
        two_workers().block_on(async {
            let clock = ManualClock::new();
            // Not where the system's clock stands.
            clock.advance(LONG);
            let timer = clock.timer();
            timer.make_default().unwrap();
            let now = clock.now();
            assert_eq!(Timer::current(), timer);
            assert_eq!(Timer::try_current().unwrap(), timer);
            assert_eq!(sleep(ms(5)).deadline(), now + ms(5));
            let (wakes, waker) = Wakes::new();
            let mut until = sleep_until(now + ms(10));
            let mut slow = timeout(ms(10), std::future::pending::<()>());
            let mut lazy = lazy_timeout(ms(10), std::future::pending::<()>());
            let mut beat = interval(ms(10));
            assert_eq!(beat.tick().await, now);
            {
                let mut tick = Box::pin(beat.tick());
                assert!(poll(&mut tick, &waker).is_pending());
                assert!(poll(&mut until, &waker).is_pending());
                assert!(poll(&mut slow, &waker).is_pending());
                assert!(poll(&mut lazy, &waker).is_pending());
                assert_eq!(clock.advance(ms(10)).fired, 4);
                assert_eq!(wakes.count(), 4);
                assert!(poll(&mut tick, &waker).is_ready());
            }
            assert!(poll(&mut until, &waker).is_ready());
            assert!(poll(&mut slow, &waker).is_ready());
            assert!(poll(&mut lazy, &waker).is_ready());
        });
    });
}

#[test]
fn when_it_is_closed_the_runtime_is_given_a_new_one() {
    watched(|| {
        paused().block_on(async {
            let clock = ManualClock::new();
            clock.timer().make_default().unwrap();
            drop(clock);
            let begun = tokio::time::Instant::now();
            sleep(ms(10)).await;
            assert_eq!(begun.elapsed(), ms(10));
        });
    });
}

#[test]
fn a_timer_with_a_thread_is_kept_by_the_runtime() {
    watched(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let default = Timer::builder().dedicated_thread().build().unwrap();
        default.make_default_of(runtime.handle()).unwrap();
        drop(default);
        // This runtime has no timers of its own.
        runtime.block_on(async {
            for _ in 0..3 {
                sleep(ms(5)).await;
                thread::sleep(ms(30));
            }
        });
        let timer = runtime.block_on(async { Timer::current() });
        drop(runtime);
        assert!(!timer.is_closed(), "this is a handle");
        wait(timer.sleep(ms(1)));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_runtime_lets_go_of_it_at_its_end_and_when_it_is_replaced() {
    fn is_there(name: &str) -> bool {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let mut names =
            tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
        names.any(|comm| comm.is_ok_and(|comm| comm.trim() == name))
    }
    fn ends(name: &'static str, let_go: impl FnOnce(Runtime)) {
        let runtime = one_thread();
        let timer = Timer::builder().thread_name(name).build().unwrap();
        timer.make_default_of(runtime.handle()).unwrap();
        drop(timer);
        thread::sleep(ms(50));
        assert!(is_there(name), "the runtime keeps it");
        let_go(runtime);
        // `watched` ends this if need be.
        while is_there(name) {
            thread::sleep(ms(1));
        }
    }
    watched(|| {
        ends("cog-ended", drop);
        ends("cog-replaced", |runtime| {
            let clock = ManualClock::new();
            clock.timer().make_default_of(runtime.handle()).unwrap();
            let now = runtime.block_on(async { Timer::current() });
            assert_eq!(now, clock.timer());
            while is_there("cog-replaced") {
                thread::sleep(ms(1));
            }
        });
    });
}

#[test]
fn the_timer_of_another_runtime_may_be_used_until_that_one_ends() {
    watched(|| {
        let (here, there) = (one_thread(), two_workers());
        let theirs = drive::timer_of(&there);
        theirs.make_default_of(here.handle()).unwrap();
        here.block_on(async {
            assert_eq!(Timer::current(), theirs);
            sleep(ms(5)).await;
        });
        drop(there);
        here.block_on(async {
            assert_ne!(Timer::current(), theirs);
            sleep(ms(5)).await;
        });
    });
}

#[test]
fn a_runtime_that_has_shut_down_takes_none() {
    let runtime = one_thread();
    let handle = runtime.handle().clone();
    drop(runtime);
    let clock = ManualClock::new();
    assert_eq!(clock.timer().make_default_of(&handle), Ok(()));
    let _context = handle.enter();
    // Nothing is left of it.
    assert_ne!(
        std::panic::catch_unwind(Timer::current).ok(),
        Some(clock.timer())
    );
    assert_eq!(clock.advance(Duration::from_secs(1)).fired, 0);
}

#[test]
fn a_delay_queue_and_a_channel_go_by_the_clock_of_the_default_timer() {
    watched(|| {
        two_workers().block_on(async {
            let clock = ManualClock::new();
            clock.timer().make_default().unwrap();
            let mut queue = DelayQueue::new();
            let (sender, mut receiver) = delay_queue::channel();
            queue.insert("queued", LONG);
            sender.insert("sent", LONG);
            let both = tokio::spawn(async move {
                let queued = queue.next().await.unwrap();
                (queued.into_inner(), queue.is_empty())
            });
            let sent = tokio::spawn(async move { receiver.recv().await.unwrap().into_inner() });
            while clock.pending() < 2 {
                tokio::task::yield_now().await;
            }
            clock.advance(LONG - ms(1));
            tokio::task::yield_now().await;
            assert!(!both.is_finished() && !sent.is_finished());
            clock.advance(ms(1));
            assert_eq!(both.await.unwrap(), ("queued", true));
            assert_eq!(sent.await.unwrap(), "sent");
        });
    });
}
