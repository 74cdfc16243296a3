//! Odd uses: drops in every order, resets upon resets, polls from elsewhere, and leaks of
//! everything there is. All of it is safe, and costs other timers nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::mem_forget,
    clippy::unwrap_used,
    reason = "tests read the clock, leak what a user may leak, and may fail"
)]

use std::any::Any;
use std::future::{Future, pending, ready};
use std::mem::forget;
use std::sync::Arc;
use std::task::Waker;
use std::thread;

use cogwheel::backoff::Jitter;
use cogwheel::time::{self, Duration, Instant, Sleep};
use cogwheel::{Backoff, DelayQueue, ManualClock, Tick, Timer, Wheel, delay_queue};
use futures::StreamExt as _;
use tokio::runtime::Runtime;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, Wakes, ms, one_thread, paused, poll, text_of, timer_of, two_workers, watched};

const KINDS: [fn() -> Runtime; 3] = [paused, one_thread, two_workers];

/// A value of some type, to be dropped or leaked.
type Thing = Box<dyn Any + Send>;

fn wait_for_ever<F: Future + Unpin + Send + 'static>(mut future: F, waker: &Waker) -> Thing {
    assert!(poll(&mut future, waker).is_pending());
    Box::new(future)
}

/// One of everything that waits, made of `timer` in a runtime whose default timer it is, and polled
/// with `waker` where that makes a difference.
fn waiting(timer: &Timer, waker: &Waker) -> Vec<Thing> {
    let mut things: Vec<Thing> = vec![
        Box::new(timer.sleep(LONG)),
        wait_for_ever(timer.sleep(LONG), waker),
        wait_for_ever(timer.timeout(LONG, pending::<()>()), waker),
        wait_for_ever(time::lazy_timeout(LONG, pending::<()>()), waker),
        wait_for_ever(timer.deadline(LONG).sleep(), waker),
        Box::new(timer.schedule(LONG, ready(()))),
        wait_for_ever(timer.schedule(LONG, ready(())), waker),
        Box::new(timer.schedule_every(LONG, || ready(()))),
        Box::new(timer.schedule(LONG, ready(())).cancel_on_drop()),
    ];
    let mut beat = timer.interval(LONG);
    assert!(poll(&mut Box::pin(beat.tick()), waker).is_ready());
    assert!(poll(&mut Box::pin(beat.tick()), waker).is_pending());
    things.push(Box::new(beat));

    let mut queue = DelayQueue::new();
    queue.insert("item", LONG);
    assert!(poll(&mut queue.next(), waker).is_pending());
    things.push(Box::new(queue));

    let (sender, mut receiver) = delay_queue::channel_bounded(1);
    sender.insert("item", LONG);
    assert!(poll(&mut Box::pin(receiver.recv()), waker).is_pending());
    things.push(Box::new(sender.clone()));
    things.push(Box::new(sender));
    things.push(Box::new(receiver));

    let backoff = Backoff::new(LONG).cap(LONG).jitter(Jitter::None);
    let mut backoff = backoff.with_timer(timer);
    let wait = Box::pin(async move { backoff.wait().await });
    things.push(wait_for_ever(wait, waker));

    #[cfg(feature = "stream")]
    things.extend(streams(timer, waker));
    things
}

#[cfg(feature = "stream")]
fn streams(timer: &Timer, waker: &Waker) -> [Thing; 5] {
    use cogwheel::StreamExt as _;
    use cogwheel::stream::IntervalStream;
    use futures::stream;

    let silent = || stream::iter([1]).chain(stream::pending::<u8>());
    let mut guarded = silent().timeout(LONG);
    assert!(poll(&mut guarded.next(), waker).is_ready());
    assert!(poll(&mut guarded.next(), waker).is_pending());
    let mut apart = silent().with_timer(timer).throttle(LONG);
    assert!(poll(&mut apart.next(), waker).is_ready());
    assert!(poll(&mut apart.next(), waker).is_pending());
    let mut settled = silent().debounce(LONG);
    assert!(poll(&mut settled.next(), waker).is_pending());
    let mut chunks = silent().chunks_timeout(2, LONG);
    assert!(poll(&mut chunks.next(), waker).is_pending());
    let mut beat = IntervalStream::new(timer.interval_at(timer.now() + LONG, LONG));
    assert!(poll(&mut beat.next(), waker).is_pending());
    [
        Box::new(guarded),
        Box::new(apart),
        Box::new(settled),
        Box::new(chunks),
        Box::new(beat),
    ]
}

// === drops in every order ===

const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

#[test]
fn a_runtime_a_handle_and_what_waits_may_be_dropped_in_every_order() {
    watched(|| {
        for make in KINDS {
            for order in ORDERS {
                for on_another_thread in [false, true] {
                    drop_in(make(), order, on_another_thread);
                }
            }
        }
    });
}

fn drop_in(runtime: Runtime, order: [usize; 3], on_another_thread: bool) {
    let timer = timer_of(&runtime);
    let (wakes, waker) = Wakes::new();
    let waiting = {
        let _context = runtime.enter();
        waiting(&timer, &waker)
    };
    drop(waker);
    let mut parts: [Option<Thing>; 3] = [
        Some(Box::new(runtime)),
        Some(Box::new(timer)),
        Some(Box::new(waiting)),
    ];
    for part in order {
        let part = parts[part].take();
        if on_another_thread {
            thread::spawn(move || drop(part)).join().unwrap();
        } else {
            drop(part);
        }
    }
    one_thread().block_on(async { time::sleep(ms(1)).await });
    // Nothing keeps a waker.
    let waited = Instant::now();
    while Arc::strong_count(&wakes) > 1 {
        assert!(waited.elapsed() < drive::PATIENCE, "a waker is kept");
        thread::sleep(ms(1));
    }
}

#[test]
fn a_clock_its_timer_and_what_waits_may_be_dropped_in_every_order() {
    for order in ORDERS {
        let runtime = one_thread();
        let _context = runtime.enter();
        let clock = ManualClock::new();
        let timer = clock.timer();
        timer.make_default().unwrap();
        let (wakes, waker) = Wakes::new();
        let waiting = waiting(&timer, &waker);
        drop(waker);
        let mut parts: [Option<Thing>; 3] = [
            Some(Box::new(clock)),
            Some(Box::new(timer)),
            Some(Box::new(waiting)),
        ];
        for part in order {
            drop(parts[part].take());
        }
        assert_eq!(Arc::strong_count(&wakes), 1, "{order:?}");
    }
}

// === resets ===

#[test]
fn of_two_resets_the_last_one_counts_whatever_the_first_was() {
    let far = Duration::from_secs(1);
    let offsets = [ms(0), ms(10), ms(20), far];
    for prepare in [fresh, armed, fired, completed] {
        for first in offsets {
            for second in offsets {
                let clock = ManualClock::new();
                let (wakes, waker) = Wakes::new();
                let mut sleep = prepare(&clock, &waker);
                let before = wakes.count();
                let now = clock.now();
                sleep.set_deadline(now + first);
                sleep.set_deadline(now + second);
                assert_eq!(sleep.deadline(), now + second);
                let ready = poll(&mut sleep, &waker).is_ready();
                assert_eq!(ready, second.is_zero(), "{first:?}, then {second:?}");
                if ready {
                    continue;
                }
                clock.advance(second - Duration::from_nanos(1));
                assert!(poll(&mut sleep, &waker).is_pending(), "early");
                let so_far = wakes.count();
                assert!(so_far <= before + 1, "woken for what no longer counts");
                clock.advance(Duration::from_nanos(1));
                assert_eq!(wakes.count(), so_far + 1, "{first:?}, then {second:?}");
                assert!(poll(&mut sleep, &waker).is_ready());
            }
        }
    }
}

fn fresh(clock: &ManualClock, _: &Waker) -> Sleep {
    clock.timer().sleep(ms(15))
}

fn armed(clock: &ManualClock, waker: &Waker) -> Sleep {
    let mut sleep = fresh(clock, waker);
    assert!(poll(&mut sleep, waker).is_pending());
    sleep
}

fn fired(clock: &ManualClock, waker: &Waker) -> Sleep {
    let sleep = armed(clock, waker);
    assert_eq!(clock.advance(ms(15)).fired, 1);
    sleep
}

fn completed(clock: &ManualClock, waker: &Waker) -> Sleep {
    let mut sleep = fired(clock, waker);
    assert!(poll(&mut sleep, waker).is_ready());
    sleep
}

// === polls from elsewhere ===

#[test]
fn a_sleep_may_be_polled_on_one_runtime_after_another_and_keeps_its_timer() {
    watched(|| {
        let home = two_workers();
        let timer = timer_of(&home);
        for make in KINDS {
            let mut sleep = timer.sleep(ms(50));
            let deadline = sleep.deadline();
            let first = one_thread();
            first.block_on(async {
                assert!(poll(&mut sleep, Waker::noop()).is_pending());
            });
            drop(first);
            let second = make();
            second.block_on(&mut sleep);
            assert!(Instant::now() >= deadline || second.metrics().num_workers() == 1);
            assert!(timer.now() >= deadline, "early");
        }
        // With its own runtime goes the timer, wherever it is polled.
        let mut orphan = timer.sleep(LONG);
        assert!(poll(&mut orphan, Waker::noop()).is_pending());
        drop(home);
        let elsewhere = one_thread();
        let text = text_of(|| elsewhere.block_on(orphan));
        assert_eq!(text, drive::SHUTDOWN);
    });
}

// === leaks ===

#[test]
fn whatever_is_leaked_other_timers_fire_at_their_time() {
    let runtime = one_thread();
    let _context = runtime.enter();
    let clock = ManualClock::new();
    let timer = clock.timer();
    timer.make_default().unwrap();
    let (wakes, waker) = Wakes::new();
    for _ in 0..100 {
        waiting(&timer, &waker).into_iter().for_each(forget);
    }
    forget(timer.clone());
    forget(clock.clone());
    forget(Box::new(timer.deadline(LONG)));
    forget(Timer::builder());
    let mut wheel = Wheel::new();
    wheel.insert(Tick::ZERO, "value");
    forget(wheel);

    for round in 0..3 {
        let (others, theirs) = Wakes::new();
        let mut sleeps: Vec<Sleep> = (1..=50).map(|n| timer.sleep(ms(n))).collect();
        for sleep in &mut sleeps {
            assert!(poll(sleep, &theirs).is_pending());
        }
        for n in 1..=50 {
            clock.advance(ms(1));
            assert_eq!(others.count(), n, "round {round}");
        }
        assert!(sleeps.iter_mut().all(|it| poll(it, &theirs).is_ready()));
    }
    // What was leaked still fires, once each time it was armed, and nothing breaks.
    assert_eq!(wakes.count(), 0);
    clock.advance(LONG);
    let woken = wakes.count();
    assert!(woken >= 600, "{woken}");
    clock.advance(LONG);
    clock.close();
    assert!(timer.is_closed());
}

#[test]
fn leaks_do_not_outlive_their_runtime_in_anybody_elses_timers() {
    watched(|| {
        for make in KINDS {
            let runtime = make();
            let timer = timer_of(&runtime);
            let (wakes, waker) = Wakes::new();
            {
                let _context = runtime.enter();
                for _ in 0..10 {
                    waiting(&timer, &waker).into_iter().for_each(forget);
                }
            }
            drop(waker);
            forget(timer);
            drop(runtime);
            // Everything that was armed is woken at the end.
            wakes.wait();
            // The next runtime may be given the same driver.
            let next = make();
            next.block_on(async {
                let start = Instant::now();
                let waits = (1..=20).map(|n| time::sleep(ms(n)));
                futures::future::join_all(waits).await;
                assert!(start.elapsed() >= ms(20));
            });
        }
    });
}

#[test]
fn a_leaked_handle_keeps_its_thread_and_a_leaked_sleep_does_not_hold_it_up() {
    watched(|| {
        let timer = Timer::builder().dedicated_thread().build().unwrap();
        forget(timer.clone());
        let mut leaked = timer.sleep(ms(1));
        assert!(poll(&mut leaked, Waker::noop()).is_pending());
        forget(leaked);
        // Without the leaked handle the thread would end now, as nothing else is armed.
        let mut sleep = timer.sleep(ms(500));
        drop(timer);
        thread::sleep(ms(100));
        let (wakes, waker) = Wakes::new();
        assert!(poll(&mut sleep, &waker).is_pending());
        wakes.wait();
        assert!(poll(&mut sleep, &waker).is_ready());
    });
}
