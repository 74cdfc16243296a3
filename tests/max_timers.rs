//! `Builder::max_timers`: how many timers of one may live, and who learns that there is no place.

#![allow(
    clippy::disallowed_methods,
    clippy::mem_forget,
    clippy::unwrap_used,
    reason = "tests read the clock, leak what a user may leak, and may fail"
)]

use std::future::{Future, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};
use std::thread;

use cogwheel::error::TimerError;
use cogwheel::scheduled::Outcome;
use cogwheel::time::{self, Duration, Instant, Sleep};
use cogwheel::{Deadline, DelayQueue, ManualClock, Timer, delay_queue};
use futures::StreamExt as _;
use tokio::runtime::Runtime;

#[path = "common/drive.rs"]
mod drive;
#[path = "common/place.rs"]
mod place;

use drive::{LONG, acting, acting_last, ms, one_thread, paused, poll, two_workers, wait, watched};
use place::panic_of;

/// Timers of every kind with this bound, each with what drives it.
fn timers(most: usize) -> Vec<(Timer, Box<dyn Send>)> {
    let mut timers: Vec<(Timer, Box<dyn Send>)> = Vec::new();
    for runtime in [paused(), one_thread(), two_workers()] {
        let builder = Timer::builder().runtime(runtime.handle().clone());
        timers.push((builder.max_timers(most).build().unwrap(), Box::new(runtime)));
    }
    let thread = Timer::builder().max_timers(most).dedicated_thread();
    timers.push((thread.build().unwrap(), Box::new(())));
    let clock = manual(most);
    timers.push((clock.timer(), Box::new(clock)));
    timers
}

fn manual(most: usize) -> ManualClock {
    Timer::builder().max_timers(most).build_manual()
}

/// How many places are left, found out by taking them all.
fn free(timer: &Timer) -> usize {
    let mut taken: Vec<Sleep> = Vec::new();
    loop {
        match timer.try_sleep(LONG) {
            Ok(sleep) => taken.push(sleep),
            Err(error) => {
                assert_eq!(error, TimerError::AtCapacity);
                return taken.len();
            }
        }
    }
}

fn arm(sleep: &mut Sleep) {
    assert!(poll(sleep, Waker::noop()).is_pending());
}

// === who is refused, and how ===

type Refusal = fn(&Timer, Instant) -> Option<TimerError>;
type Call = fn(&Timer);

/// Wheel cases 24, 25.
#[test]
fn every_kind_of_timer_makes_as_many_as_its_bound_and_again_when_they_are_dropped() {
    for (timer, _driver) in timers(3) {
        let mut sleeps: Vec<_> = (0..3).map(|_| timer.try_sleep(LONG).unwrap()).collect();
        sleeps.iter_mut().for_each(arm);
        assert_eq!(timer.try_sleep(LONG).unwrap_err(), TimerError::AtCapacity);
        drop(sleeps.pop());
        assert_eq!(free(&timer), 1);
        drop(sleeps);
        assert_eq!(free(&timer), 3);
    }
}

#[test]
fn every_try_form_says_that_there_is_no_place() {
    for (timer, _driver) in timers(1) {
        let runtime = one_thread();
        let _context = runtime.enter();
        let now = timer.now();
        let refusals: [(&str, Refusal); 11] = [
            ("sleep", |timer, _| timer.try_sleep(LONG).err()),
            ("sleep_until", |timer, at| timer.try_sleep_until(at).err()),
            ("timeout", |timer, _| {
                timer.try_timeout(LONG, ready(())).err()
            }),
            ("timeout_at", |timer, at| {
                timer.try_timeout_at(at, ready(())).err()
            }),
            ("interval", |timer, _| timer.try_interval(LONG).err()),
            ("interval_at", |timer, at| {
                timer.try_interval_at(at, LONG).err()
            }),
            ("schedule", |timer, _| {
                timer.try_schedule(LONG, ready(())).err()
            }),
            ("schedule_at", |timer, at| {
                timer.try_schedule_at(at + LONG, ready(())).err()
            }),
            ("schedule_every", |timer, _| {
                timer.try_schedule_every(LONG, || ready(())).err()
            }),
            ("deadline.sleep", |timer, _| {
                timer.deadline(LONG).try_sleep().err()
            }),
            ("deadline.timeout", |timer, _| {
                timer.deadline(LONG).try_timeout(ready(())).err()
            }),
        ];
        let only = timer.sleep(LONG);
        for (name, refusal) in refusals {
            assert_eq!(refusal(&timer, now), Some(TimerError::AtCapacity), "{name}");
        }
        drop(only);
        for (name, refusal) in refusals {
            // What it made is dropped at once; scheduled work goes on and is in the way.
            if !name.starts_with("schedule") {
                assert_eq!(refusal(&timer, now), None, "{name}");
            }
        }
        assert_eq!(free(&timer), 1);
    }
}

#[test]
fn every_other_form_panics_at_its_caller_and_says_why() {
    let runtime = paused();
    let clock = manual(0);
    clock.timer().make_default_of(runtime.handle()).unwrap();
    let _context = runtime.enter();
    let calls: [(&str, Call); 15] = [
        ("sleep", |timer| drop(timer.sleep(LONG))),
        ("sleep_until", |timer| drop(timer.sleep_until(timer.now()))),
        ("timeout", |timer| drop(timer.timeout(LONG, ready(())))),
        ("timeout_at", |timer| {
            drop(timer.timeout_at(timer.now(), ready(())));
        }),
        ("interval", |timer| drop(timer.interval(LONG))),
        ("interval_at", |timer| {
            drop(timer.interval_at(timer.now(), LONG));
        }),
        ("schedule", |timer| drop(timer.schedule(LONG, ready(())))),
        ("schedule_at", |timer| {
            drop(timer.schedule_at(timer.now() + LONG, ready(())));
        }),
        ("schedule_every", |timer| {
            drop(timer.schedule_every(LONG, || ready(())));
        }),
        ("deadline.sleep", |timer| drop(timer.deadline(LONG).sleep())),
        ("time::sleep", |_| drop(time::sleep(LONG))),
        ("time::timeout", |_| drop(time::timeout(LONG, ready(())))),
        ("time::interval", |_| drop(time::interval(LONG))),
        ("Deadline::sleep", |_| drop(Deadline::after(LONG).sleep())),
        ("FutureExt::timeout", |_| {
            drop(cogwheel::FutureExt::timeout(ready(()), LONG));
        }),
    ];
    for (name, call) in calls {
        let (file, text) = panic_of(|| call(&clock.timer()));
        assert_eq!(file, file!(), "{name}");
        assert_eq!(text, TimerError::AtCapacity.to_string(), "{name}");
    }
    assert!(TimerError::AtCapacity.to_string().contains("max_timers"));
    // How a caller of the free functions asks instead.
    let refused = Timer::try_current().unwrap().try_sleep(LONG);
    assert_eq!(refused.unwrap_err(), TimerError::AtCapacity);
    assert_eq!(
        Deadline::never().try_sleep().unwrap_err(),
        TimerError::AtCapacity
    );
}

#[test]
fn a_future_that_is_refused_is_dropped_at_once() {
    let clock = manual(0);
    let timer = clock.timer();
    let runtime = one_thread();
    let _context = runtime.enter();
    let held = Arc::new(());
    let holder = held.clone();
    assert!(
        timer
            .try_schedule(LONG, async move { drop(holder) })
            .is_err()
    );
    let holder = held.clone();
    assert!(
        timer
            .try_timeout(LONG, async move { drop(holder) })
            .is_err()
    );
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn zero_makes_none_and_more_than_fits_is_no_bound() {
    assert_eq!(free(&manual(0).timer()), 0);
    let timers = [manual(usize::MAX), ManualClock::new()];
    for clock in timers {
        let sleeps: Vec<_> = (0..10_000).map(|_| clock.timer().sleep(LONG)).collect();
        drop(sleeps);
    }
}

// === how long each counts ===

#[test]
fn a_sleep_counts_from_its_making_to_its_drop_whatever_became_of_it() {
    let clock = manual(1);
    let timer = clock.timer();
    let mut sleep = timer.sleep(ms(1));
    assert_eq!(free(&timer), 0, "not polled");
    arm(&mut sleep);
    assert_eq!(free(&timer), 0, "armed");
    assert_eq!(clock.advance(ms(1)).fired, 1);
    assert_eq!(free(&timer), 0, "fired");
    assert!(poll(&mut sleep, Waker::noop()).is_ready());
    assert_eq!(free(&timer), 0, "complete");

    // Hence it can be moved and waited for again, with nobody to refuse it.
    sleep.set_deadline(clock.now() + ms(1));
    arm(&mut sleep);
    assert_eq!(clock.advance(ms(1)).fired, 1);
    assert!(poll(&mut sleep, Waker::noop()).is_ready());
    drop(sleep);
    assert_eq!(free(&timer), 1);
}

#[test]
fn an_interval_and_a_timeout_count_as_one_through_all_their_ticks_and_polls() {
    let clock = manual(1);
    let timer = clock.timer();
    let mut beat = timer.interval(ms(1));
    for _ in 0..5 {
        let mut tick = Box::pin(beat.tick());
        if poll(&mut tick, Waker::noop()).is_pending() {
            clock.advance(ms(1));
            assert!(poll(&mut tick, Waker::noop()).is_ready());
        }
    }
    assert_eq!(free(&timer), 0);
    drop(beat);

    let mut timeout = timer.timeout(ms(1), pending::<()>());
    assert!(poll(&mut timeout, Waker::noop()).is_pending());
    clock.advance(ms(1));
    assert!(poll(&mut timeout, Waker::noop()).is_ready());
    assert_eq!(free(&timer), 0);
    drop(timeout.into_inner());
    assert_eq!(free(&timer), 1);
}

#[test]
fn a_lazy_timeout_counts_from_the_first_poll_that_has_to_wait_and_panics_there() {
    let runtime = paused();
    let clock = manual(1);
    clock.timer().make_default_of(runtime.handle()).unwrap();
    let _context = runtime.enter();
    let mut first = time::lazy_timeout(LONG, pending::<()>());
    let mut second = time::lazy_timeout(LONG, pending::<()>());
    assert_eq!(free(&clock.timer()), 1);
    assert!(poll(&mut first, Waker::noop()).is_pending());
    assert_eq!(free(&clock.timer()), 0);
    let (_, text) = panic_of(|| drop(poll(&mut second, Waker::noop())));
    assert_eq!(text, TimerError::AtCapacity.to_string());
    drop(first);
    assert!(poll(&mut second, Waker::noop()).is_pending());
}

#[test]
fn one_that_is_leaked_counts_until_the_timer_is_closed() {
    let clock = manual(2);
    let mut sleep = clock.timer().sleep(ms(1));
    arm(&mut sleep);
    std::mem::forget(sleep);
    clock.advance(ms(2));
    assert_eq!(free(&clock.timer()), 1);
    clock.close();
    // The next one of this kind may be given the same driver.
    assert_eq!(free(&manual(2).timer()), 2);
}

#[test]
fn no_more_than_the_bound_are_ever_pending() {
    let clock = manual(5);
    let timer = clock.timer();
    let mut sleeps = Vec::new();
    while let Ok(mut sleep) = timer.try_sleep(LONG) {
        arm(&mut sleep);
        sleeps.push(sleep);
    }
    assert_eq!(clock.pending(), 5);
}

// === scheduled work ===

/// Wheel cases 25, 26.
#[test]
fn work_counts_until_it_starts_or_is_cancelled_with_or_without_a_handle() {
    watched(|| {
        let runtime = paused();
        runtime.block_on(async {
            let timer = Timer::builder().max_timers(1).build().unwrap();
            let work = timer.schedule(LONG, ready(()));
            assert_eq!(free(&timer), 0);
            assert!(work.cancel());
            assert_eq!(free(&timer), 1);
            assert!(!work.cancel());
            assert_eq!(free(&timer), 1);

            drop(timer.schedule(LONG, ready(())));
            assert_eq!(free(&timer), 0, "detached");
            tokio::time::sleep(2 * LONG).await;
            assert_eq!(free(&timer), 1);

            // One that is sent off can still be moved, and so it still counts.
            let moved = timer.schedule(Duration::ZERO, ready(7));
            assert_eq!(free(&timer), 0, "sent off");
            assert!(moved.reschedule(timer.now() + LONG));
            assert_eq!(free(&timer), 0, "moved");
            assert_eq!(moved.await.fired(), Some(7));
            assert_eq!(free(&timer), 1);

            // While it runs it is a task like any other.
            let (end, ended) = tokio::sync::oneshot::channel::<()>();
            let running = timer.schedule(Duration::ZERO, ended);
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            assert_eq!(free(&timer), 1);
            end.send(()).unwrap();
            assert!(running.await.is_fired());
            assert_eq!(free(&timer), 1);
        });
    });
}

#[test]
fn a_series_counts_until_it_ends_and_so_do_panics() {
    watched(|| {
        let runtime = paused();
        runtime.block_on(async {
            let timer = Timer::builder().max_timers(1).build().unwrap();
            let series = timer.schedule_every(ms(1), || async { panic!("in each round") });
            while series.panics() < 3 {
                tokio::time::sleep(ms(1)).await;
                assert_eq!(free(&timer), 0);
            }
            assert!(series.cancel());
            assert!(series.await.is_cancelled());
            assert_eq!(free(&timer), 1);

            // Cancelled in the middle of a round: it ends with that round.
            let slow = timer.schedule_every(ms(1), || tokio::time::sleep(ms(10)));
            tokio::time::sleep(ms(5)).await;
            assert!(slow.cancel());
            assert_eq!(free(&timer), 0);
            assert!(slow.await.is_cancelled());
            assert_eq!(free(&timer), 1);

            let panics = timer.schedule(ms(1), async { panic!("once") });
            assert!(matches!(panics.await, Outcome::Panicked(_)));
            assert_eq!(free(&timer), 1);
        });
    });
}

#[test]
fn work_whose_runner_is_dropped_gives_its_place_back_once() {
    watched(|| {
        let home = one_thread();
        let clock = manual(2);
        let timer = clock.timer();
        // Both run on `home`, which ends while one runs and the other was only sent off.
        let (running, sent_off) = home.block_on(async {
            let running = timer.schedule_every(ms(1), pending::<()>);
            clock.advance(ms(1));
            while running.rounds() == 0 {
                tokio::task::yield_now().await;
            }
            (running, timer.schedule(Duration::ZERO, ready(())))
        });
        assert_eq!(free(&timer), 0);
        drop(home);
        assert!(matches!(wait(running), Outcome::Closed));
        assert!(matches!(wait(sent_off), Outcome::Closed));
        assert_eq!(free(&timer), 2);
    });
}

// === queues ===

/// A runtime whose default timer has this bound.
fn bounded_default(most: usize) -> (Runtime, Timer) {
    let runtime = paused();
    let builder = Timer::builder().runtime(runtime.handle().clone());
    let timer = builder.max_timers(most).build().unwrap();
    timer.make_default_of(runtime.handle()).unwrap();
    (runtime, timer)
}

#[test]
fn a_queue_that_waits_counts_as_one_whoever_waits() {
    let (runtime, timer) = bounded_default(1);
    let _context = runtime.enter();
    let mut queue = DelayQueue::new();
    for n in 0..100 {
        queue.insert(n, LONG + ms(n));
    }
    assert_eq!(free(&timer), 1);
    // Each poll is another task's, and needs a timer for its own waker.
    for _ in 0..3 {
        let waker = acting(|| ());
        assert!(poll(&mut queue.next(), &waker).is_pending());
        assert_eq!(free(&timer), 0);
    }
    drop(queue);
    assert_eq!(free(&timer), 1);
}

#[test]
fn a_queue_without_a_place_panics_in_the_poll_and_loses_nothing() {
    let (runtime, timer) = bounded_default(1);
    let _context = runtime.enter();
    let mut queue = DelayQueue::new();
    queue.insert("item", ms(5));
    let (sender, mut receiver) = delay_queue::channel();
    sender.insert("item", ms(5));

    let taken = timer.sleep(LONG);
    let full = TimerError::AtCapacity.to_string();
    let (_, text) = panic_of(|| drop(poll(&mut queue.next(), Waker::noop())));
    assert_eq!(text, full);
    let (_, text) = panic_of(|| drop(poll(&mut Box::pin(receiver.recv()), Waker::noop())));
    assert_eq!(text, full);
    drop(taken);

    runtime.block_on(async {
        assert_eq!(queue.next().await.unwrap().into_inner(), "item");
        drop(queue);
        assert_eq!(receiver.recv().await.unwrap().into_inner(), "item");
    });
    drop((sender, receiver));
    assert_eq!(free(&timer), 1);
}

// === closing ===

#[test]
fn a_closed_timer_refuses_because_it_is_closed() {
    let runtime = one_thread();
    let _context = runtime.enter();
    for (timer, _driver) in timers(1) {
        let only = timer.sleep(LONG);
        timer.close();
        assert_eq!(timer.try_sleep(LONG).unwrap_err(), TimerError::Closed);
        // As on any closed timer, it is the poll that panics.
        let sleeps = [timer.sleep(LONG), timer.sleep(LONG)];
        assert!(timer.schedule(LONG, ready(())).is_finished());
        drop((only, sleeps));
        assert_eq!(timer.try_sleep(LONG).unwrap_err(), TimerError::Closed);
    }
}

#[test]
fn what_is_left_of_a_closed_timer_counts_for_nothing_in_the_next() {
    for _ in 0..3 {
        let old = manual(2);
        let mut left: Vec<_> = (0..2).map(|_| old.timer().sleep(LONG)).collect();
        left.iter_mut().for_each(arm);
        old.close();
        // It is given the driver of the old one, unless another test was faster.
        let new = manual(2);
        let taken = new.timer().sleep(LONG);
        drop(left);
        assert_eq!(free(&new.timer()), 1);
        drop(taken);
        assert_eq!(free(&new.timer()), 2);
        new.close();
        // One without a bound has none, even on that driver.
        let unbounded = ManualClock::new();
        let sleeps: Vec<_> = (0..5).map(|_| unbounded.timer().sleep(LONG)).collect();
        drop(sleeps);
    }
}

// === races and panics ===

#[test]
fn four_threads_never_have_more_than_the_bound_and_lose_no_place() {
    const BOUND: usize = 3;
    const ROUNDS: usize = 20_000;
    for (timer, _driver) in timers(BOUND) {
        let alive = AtomicUsize::new(0);
        let refused = AtomicUsize::new(0);
        let begin = Barrier::new(4);
        let work = |seed: usize| {
            let mut held = Vec::new();
            begin.wait();
            for round in 0..ROUNDS {
                // A round of five makes four, so that one thread alone meets the bound.
                if (round + seed).is_multiple_of(5) && !held.is_empty() {
                    // Before it is dropped, so that this count never exceeds the true one.
                    alive.fetch_sub(held.len(), Ordering::SeqCst);
                    held.clear();
                    continue;
                }
                match timer.try_sleep(LONG) {
                    Ok(mut sleep) => {
                        let now = alive.fetch_add(1, Ordering::SeqCst) + 1;
                        assert!(now <= BOUND, "{now} live");
                        if round % 2 == 0 {
                            arm(&mut sleep);
                        }
                        held.push(sleep);
                    }
                    Err(error) => {
                        assert_eq!(error, TimerError::AtCapacity);
                        refused.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }
            alive.fetch_sub(held.len(), Ordering::SeqCst);
        };
        thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || work(seed));
            }
        });
        assert!(refused.into_inner() > 0, "the bound was never met");
        assert_eq!(free(&timer), BOUND);
    }
}

#[test]
fn wakers_that_panic_cost_no_place() {
    let builder = Timer::builder().max_timers(2).release_wakers(true);
    let clock = builder.build_manual();
    let timer = clock.timer();
    let quietly = |act: &mut dyn FnMut()| {
        let (_, text) = panic_of(act);
        assert_eq!(text, "foreign");
    };

    // In the drop of the sleep, which drops the waker's last copy.
    let waker = acting_last(|| panic!("foreign"));
    let mut sleep = Some(timer.sleep(LONG));
    assert!(poll(sleep.as_mut().unwrap(), &waker).is_pending());
    drop(waker);
    quietly(&mut || drop(sleep.take()));
    assert_eq!(free(&timer), 2, "dropped");

    // In the wake-up: the hook has reported it, nobody else sees it.
    let waker = acting(|| panic!("foreign"));
    let mut sleep = timer.sleep(ms(1));
    assert!(poll(&mut sleep, &waker).is_pending());
    let moved = catch_unwind(AssertUnwindSafe(|| clock.advance(ms(1)).fired));
    assert_eq!(moved.unwrap(), 1);
    assert_eq!(free(&timer), 1, "woken");
    drop(sleep);
    assert_eq!(free(&timer), 2);

    // In the poll, where it is cloned.
    let mut sleep = timer.sleep(ms(1));
    let clones_badly = unclonable();
    quietly(&mut || {
        let mut context = Context::from_waker(&clones_badly);
        let _ = Pin::new(&mut sleep).poll(&mut context);
    });
    drop(sleep);
    assert_eq!(free(&timer), 2, "polled");
}

/// A waker that panics when it is cloned.
fn unclonable() -> Waker {
    use std::task::{RawWaker, RawWakerVTable};
    const TABLE: RawWakerVTable =
        RawWakerVTable::new(|_| panic!("foreign"), |_| (), |_| (), |_| ());
    // SAFETY: the functions of the table use no data.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
}

#[cfg(feature = "stream")]
#[test]
fn a_stream_counts_as_one_from_its_making_to_its_drop() {
    let (runtime, timer) = bounded_default(1);
    let _context = runtime.enter();
    let silent = futures::stream::pending::<u8>();
    let guarded = cogwheel::StreamExt::timeout(silent, LONG);
    assert_eq!(free(&timer), 0);
    let (file, text) = panic_of(|| {
        drop(cogwheel::StreamExt::throttle(
            futures::stream::pending::<u8>(),
            LONG,
        ));
    });
    assert_eq!(
        (&*file, text),
        (file!(), TimerError::AtCapacity.to_string())
    );
    drop(guarded);
    assert_eq!(free(&timer), 1);
}
