//! The rules that the driver keeps, each of which was broken once: the alarm, the locks, the end.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;

use cogwheel::Timer;
use cogwheel::time::{Instant, Sleep, sleep};
use tokio::task::coop;
use tokio::time::advance;

#[path = "common/drive.rs"]
mod drive;

use drive::{
    LONG, Wakes, acting, acting_last, ms, one_thread, paused, poll, stops_of, two_workers, wait,
    watched,
};

/// A sleep that was polled with a waker that does nothing.
fn polled(delay: std::time::Duration) -> Sleep {
    let mut sleep = sleep(delay);
    assert!(poll(&mut sleep, Waker::noop()).is_pending());
    sleep
}

// === 1: waking may re-enter ===

#[test]
fn rule_01_a_waker_may_arm_an_earlier_timer_which_turns_the_wheel_again() {
    watched(|| {
        paused().block_on(async {
            let chain: Arc<Mutex<Vec<Sleep>>> = Arc::default();
            let (wakes, last) = Wakes::new();
            let mut first = sleep(ms(10));
            let links = chain.clone();
            let waker = acting(move || {
                // Inside of the turn that the alarm runs: each of these is the earliest of all.
                for earlier in (1..=50).rev() {
                    let mut next = sleep(ms(earlier));
                    assert!(poll(&mut next, &last).is_pending());
                    links.lock().unwrap().push(next);
                }
            });
            let _far = polled(LONG);
            assert!(poll(&mut first, &waker).is_pending());
            advance(ms(10)).await;
            assert_eq!(chain.lock().unwrap().len(), 50);
            for done in 0..50 {
                assert_eq!(wakes.count(), done);
                advance(ms(1)).await;
            }
            assert_eq!(wakes.count(), 50);
        });
    });
}

#[test]
fn rule_01_an_alarm_that_goes_off_during_a_turn_is_not_lost() {
    // Two workers let alarms go off while four threads turn the wheel: every wait ends.
    watched(|| {
        let runtime = two_workers();
        let timer = runtime.block_on(async { Timer::current() });
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let timer = timer.clone();
                thread::spawn(move || {
                    for round in 0..2_000_u64 {
                        let micros = (round * 37 + thread * 11) % 300;
                        let delay = std::time::Duration::from_micros(micros);
                        let start = Instant::now();
                        wait(timer.sleep(delay));
                        assert!(start.elapsed() >= delay);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

// === 2: the budget of the task that turns ===

#[test]
fn rule_02_a_task_without_budget_arms_the_alarm() {
    watched(|| {
        paused().block_on(async {
            sleep(ms(1)).await; // the alarm's waker is used up
            let start = Instant::now();
            let (wakes, waker) = Wakes::new();
            let mut moved = sleep(LONG);
            poll_fn(|cx| {
                assert!(poll(&mut moved, &waker).is_pending());
                while coop::has_budget_remaining() {
                    let _ = pin!(coop::consume_budget()).poll(cx);
                }
                // Turns the wheel, and so arms the alarm, in a task that may do nothing more.
                moved.set_deadline(start + ms(5));
                Poll::Ready(())
            })
            .await;
            tokio::time::sleep(ms(5)).await;
            tokio::task::yield_now().await;
            assert_eq!(wakes.count(), 1);
            assert_eq!(start.elapsed(), ms(5));
        });
    });
}

// === 3: arming again ===

#[test]
fn rule_03_the_alarm_is_armed_anew_after_each_time_it_went_off() {
    watched(|| {
        paused().block_on(async {
            let start = Instant::now();
            let all: Vec<_> = (1..=200).map(|n| tokio::spawn(sleep(ms(n * 7)))).collect();
            for (n, task) in (1..).zip(all) {
                task.await.unwrap();
                assert_eq!(start.elapsed(), ms(n * 7));
            }
            // And where each one is made only when the last has ended.
            let start = Instant::now();
            for n in 1..=200 {
                sleep(ms(3)).await;
                assert_eq!(start.elapsed(), ms(n * 3));
            }
        });
    });
}

#[test]
fn rule_03_an_alarm_that_is_armed_earlier_is_left_alone() {
    let stops = stops_of(|| async {
        let timer = Timer::builder().exact_cancel(true).build().unwrap();
        let waiting = |delay| {
            let mut sleep = timer.sleep(delay);
            assert!(poll(&mut sleep, Waker::noop()).is_pending());
            sleep
        };
        let late = waiting(ms(20));
        // Cancelling this turns the wheel, which then could wait until 20 ms.
        drop(waiting(ms(10)));
        late.await;
        timer.sleep(ms(20)).await;
    });
    // One empty turn for what was cancelled; then none.
    assert_eq!(stops, [ms(10), ms(20), ms(40)]);
}

// === 4: the end of the runtime ===

/// Case 41.
#[test]
fn rule_04_the_end_of_the_runtime_wakes_all_that_wait() {
    for runtime in [paused(), one_thread(), two_workers()] {
        let timer = runtime.block_on(async { Timer::current() });
        let (wakes, waker) = Wakes::new();
        let mut waiting: Vec<_> = (0..300).map(|n| timer.sleep(LONG + ms(n))).collect();
        for sleep in &mut waiting {
            assert!(poll(sleep, &waker).is_pending());
        }
        assert!(!timer.is_closed());
        drop(runtime);
        assert!(timer.is_closed());
        assert_eq!(wakes.count(), 300);
        for sleep in &mut waiting {
            let outcome = catch_unwind(AssertUnwindSafe(|| poll(sleep, &waker)));
            assert!(outcome.is_err(), "no sleep of a dead runtime completes");
        }
    }
}

// === 5: exact deadlines ===

#[test]
fn rule_05_a_lone_timer_wakes_as_often_as_one_of_tokios_would() {
    for delay in [ms(1), ms(50), ms(63), ms(64), ms(1_000), ms(30_000), LONG] {
        // Tokio's own wheel stops for its cascades; ours adds none.
        let theirs = stops_of(|| tokio::time::sleep(delay));
        let ours = stops_of(|| sleep(delay));
        assert_eq!(ours, theirs);
        assert_eq!(ours.last(), Some(&delay));
    }
}

#[tokio::test(start_paused = true)]
async fn rule_05_a_deadline_between_two_milliseconds_is_not_met_before_it() {
    let start = Instant::now();
    let deadline = start + ms(7) + std::time::Duration::from_nanos(1);
    let (wakes, waker) = Wakes::new();
    let mut exact = cogwheel::time::sleep_until(deadline);
    assert!(poll(&mut exact, &waker).is_pending());
    advance(ms(7)).await;
    assert!(poll(&mut exact, &waker).is_pending());
    assert_eq!(wakes.count(), 0);
    tokio::time::sleep(ms(1)).await;
    tokio::task::yield_now().await;
    assert_eq!(wakes.count(), 1);
}

// === 6: one driver per runtime, on its clock ===

#[test]
fn rule_06_a_runtime_has_one_timer_wherever_it_is_asked_for() {
    let (first, second) = (paused(), two_workers());
    let one = first.block_on(async { Timer::current() });
    let other = second.block_on(async {
        let here = Timer::current();
        let there = tokio::spawn(async { Timer::current() }).await.unwrap();
        let blocking = tokio::task::spawn_blocking(Timer::current).await.unwrap();
        assert_eq!(here, there);
        assert_eq!(here, blocking);
        here
    });
    assert_ne!(one, other);
    for _ in 0..3 {
        assert_eq!(first.block_on(async { Timer::current() }), one);
        assert_eq!(second.block_on(async { Timer::current() }), other);
    }
}

#[test]
fn rule_06_threads_that_ask_at_once_get_the_same_timer() {
    for _ in 0..50 {
        let runtime = two_workers();
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let handle = runtime.handle().clone();
                thread::spawn(move || {
                    let _context = handle.enter();
                    Timer::current()
                })
            })
            .collect();
        let timers: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert!(timers.windows(2).all(|pair| pair[0] == pair[1]));
        // The losers' drivers are closed; the winner's works.
        runtime.block_on(sleep_in_runtime(timers[0].clone()));
    }
}

async fn sleep_in_runtime(timer: Timer) {
    timer.sleep(ms(1)).await;
    sleep(ms(1)).await;
}

#[test]
fn rule_06_a_paused_clock_is_read_from_any_thread() {
    let runtime = paused();
    let (timer, now) = runtime.block_on(async { (Timer::current(), Instant::now()) });
    let deadline = now + ms(10);
    thread::sleep(ms(30)); // of the system's time, which is not the runtime's
    let foreign = move |timer: &Timer| {
        let mut sleep = timer.sleep(ms(10));
        assert_eq!(sleep.deadline(), deadline);
        assert!(poll(&mut sleep, Waker::noop()).is_pending());
        assert!(poll(&mut sleep, Waker::noop()).is_pending());
        sleep
    };
    let other = paused();
    let sleeps = thread::scope(|scope| {
        let plain = scope.spawn(|| foreign(&timer));
        let inside = scope.spawn(|| {
            let _context = other.enter();
            foreign(&timer)
        });
        [plain.join().unwrap(), inside.join().unwrap()]
    });
    runtime.block_on(async {
        for sleep in sleeps {
            sleep.await;
            assert_eq!(Instant::now(), deadline);
        }
    });
}

#[test]
fn rule_06_a_turn_run_by_a_foreign_thread_does_not_take_its_time_for_the_runtimes() {
    let runtime = paused();
    let timer = runtime.block_on(async { Timer::current() });
    let (wakes, waker) = Wakes::new();
    let mut first = timer.sleep(ms(20));
    assert!(poll(&mut first, &waker).is_pending());
    thread::sleep(ms(40));
    // The earliest: this thread turns.
    let mut earlier = timer.sleep(ms(5));
    assert!(poll(&mut earlier, &waker).is_pending());
    assert_eq!(wakes.count(), 0);
}

// === 7: foreign code ===

/// Case 53.
#[test]
fn rule_07_a_waker_that_panics_costs_nobody_else_their_wake() {
    // One batch of wakers, and several.
    for count in [100, 1_000] {
        paused().block_on(async {
            let (wakes, waker) = Wakes::new();
            let bad = acting(|| panic!("number 37 panics"));
            let mut sleeps: Vec<_> = (0..count).map(|_| sleep(ms(5))).collect();
            for (n, sleep) in sleeps.iter_mut().enumerate() {
                let waker = if n % 100 == 37 { &bad } else { &waker };
                assert!(poll(sleep, waker).is_pending());
            }
            advance(ms(5)).await;
            assert_eq!(wakes.count(), count - count / 100);
            for sleep in &mut sleeps {
                assert!(poll(sleep, &waker).is_ready());
            }
            // The driver lives.
            sleep(ms(5)).await;
        });
    }
}

#[test]
fn rule_07_a_waker_that_panics_does_not_disturb_the_end_of_its_runtime() {
    let runtime = one_thread();
    let timer = runtime.block_on(async { Timer::current() });
    let (wakes, waker) = Wakes::new();
    let bad = acting(|| panic!("a waker panics at shutdown"));
    let mut sleeps: Vec<_> = (0..200).map(|_| timer.sleep(LONG)).collect();
    for (n, sleep) in sleeps.iter_mut().enumerate() {
        let waker = if n == 37 { &bad } else { &waker };
        assert!(poll(sleep, waker).is_pending());
    }
    drop(runtime);
    assert_eq!(wakes.count(), 199);
    // The driver serves the next runtime.
    watched(|| one_thread().block_on(async { sleep(ms(1)).await }));
}

/// Wheel case 102.
#[test]
fn case_037_a_waker_may_reset_and_drop_other_timers() {
    watched(|| {
        paused().block_on(async {
            let start = Instant::now();
            let (wakes, waker) = Wakes::new();
            let others: Vec<_> = (0..200).map(|_| sleep(ms(50))).collect();
            let others = Arc::new(Mutex::new(others));
            for other in others.lock().unwrap().iter_mut() {
                assert!(poll(other, &waker).is_pending());
            }
            let mut firing: Vec<_> = (0..100).map(|_| sleep(ms(10))).collect();
            for sleep in &mut firing {
                let others = others.clone();
                let act = acting(move || {
                    let mut others = others.lock().unwrap();
                    drop(others.pop());
                    let left = others.len();
                    others[left % 100].set_deadline(start + ms(20));
                });
                assert!(poll(sleep, &act).is_pending());
            }
            advance(ms(10)).await;
            assert_eq!(others.lock().unwrap().len(), 100);
            assert_eq!(wakes.count(), 0);
            advance(ms(10)).await;
            assert_eq!(wakes.count(), 100, "all resets are effective");
        });
    });
}

#[test]
fn case_055_a_waker_may_make_poll_reset_and_drop_timers_of_the_same_wheel() {
    watched(|| {
        for runtime in [paused(), one_thread(), two_workers()] {
            let timer = runtime.block_on(async { Timer::current() });
            let fired = Arc::new(AtomicUsize::new(0));
            let mut sleeps: Vec<_> = (0..1_000).map(|_| timer.sleep(LONG)).collect();
            for sleep in &mut sleeps {
                let (timer, fired) = (timer.clone(), fired.clone());
                let act = acting(move || {
                    fired.fetch_add(1, Ordering::AcqRel);
                    let mut new = timer.sleep(ms(5));
                    let _ = poll(&mut new, Waker::noop());
                    new.set_deadline(Instant::now() + ms(1));
                    let _ = poll(&mut new, Waker::noop());
                    new.set_deadline(Instant::now() + LONG);
                });
                assert!(poll(sleep, &act).is_pending());
            }
            // All at once, however long that took.
            let deadline = timer.sleep(ms(20)).deadline();
            for sleep in &mut sleeps {
                sleep.set_deadline(deadline);
            }
            runtime.block_on(async {
                sleep(ms(21)).await;
                while fired.load(Ordering::Acquire) < 1_000 {
                    tokio::task::yield_now().await;
                }
            });
            drop(sleeps);
            assert_eq!(fired.load(Ordering::Acquire), 1_000);
        }
    });
}

#[test]
fn rule_07_the_drop_of_a_waker_may_use_the_same_wheel() {
    watched(|| {
        paused().block_on(async {
            let timer = Timer::builder().release_wakers(true).build().unwrap();
            let drops = Arc::new(AtomicUsize::new(0));
            let waker = || {
                let (timer, drops) = (timer.clone(), drops.clone());
                acting_last(move || {
                    let mut new = timer.sleep(ms(1));
                    assert!(poll(&mut new, Waker::noop()).is_pending());
                    drops.fetch_add(1, Ordering::AcqRel);
                })
            };
            // Dropped with its timer, replaced in a poll, woken, and dropped at the end.
            let mut sleep = timer.sleep(LONG);
            assert!(poll(&mut sleep, &waker()).is_pending());
            assert!(poll(&mut sleep, &waker()).is_pending());
            assert_eq!(drops.load(Ordering::Acquire), 1);
            drop(sleep);
            assert_eq!(drops.load(Ordering::Acquire), 2);
            let mut sleep = timer.sleep(ms(5));
            assert!(poll(&mut sleep, &waker()).is_pending());
            advance(ms(5)).await;
            assert_eq!(drops.load(Ordering::Acquire), 3);
            let mut sleep = timer.sleep(ms(5));
            assert!(poll(&mut sleep, &waker()).is_pending());
            sleep.set_deadline(Instant::now());
            assert!(poll(&mut sleep, Waker::noop()).is_ready());
            assert_eq!(drops.load(Ordering::Acquire), 4);
        });
    });
}

#[test]
fn rule_07_the_drop_of_a_kept_waker_may_use_the_same_wheel() {
    watched(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let runtime = paused();
        runtime.block_on(async {
            let timer = Timer::current();
            let cancel_one = || {
                let (own, drops) = (timer.clone(), drops.clone());
                let waker = acting_last(move || {
                    // At the end of the runtime it may be closed already.
                    if let Ok(mut new) = own.try_sleep(ms(1)) {
                        let _ = poll(&mut new, Waker::noop());
                    }
                    drops.fetch_add(1, Ordering::AcqRel);
                });
                let mut sleep = timer.sleep(LONG);
                assert!(poll(&mut sleep, &waker).is_pending());
            };
            cancel_one();
            assert_eq!(drops.load(Ordering::Acquire), 0, "it is kept");
            // Another's takes its place, then the wheel looks, then the runtime ends.
            cancel_one();
            assert!(drops.load(Ordering::Acquire) >= 1);
            advance(LONG + ms(1)).await;
            assert_eq!(drops.load(Ordering::Acquire), 2);
            (0..64).for_each(|_| cancel_one());
        });
        drop(runtime);
        assert_eq!(drops.load(Ordering::Acquire), 66);
    });
}

// === 8: no half turns ===

#[test]
fn rule_08_everything_that_is_due_is_processed_in_one_turn() {
    paused().block_on(async {
        let (wakes, waker) = Wakes::new();
        let mut sleeps: Vec<_> = (0..10_000_u64).map(|n| sleep(ms(1 + n % 100))).collect();
        for sleep in &mut sleeps {
            assert!(poll(sleep, &waker).is_pending());
        }
        let mut last = sleep(ms(100));
        let (seen, counter) = (Arc::new(AtomicUsize::new(0)), wakes.clone());
        let note = seen.clone();
        let waker = acting(move || note.store(counter.count(), Ordering::Release));
        assert!(poll(&mut last, &waker).is_pending());
        advance(ms(99)).await;
        assert_eq!(wakes.count(), 9_900);
        advance(ms(1)).await;
        assert_eq!(wakes.count(), 10_000);
        assert_eq!(seen.load(Ordering::Acquire), 10_000, "first in, first out");
    });
}

// === 9: on any thread, in any destructor ===

/// Runs what it was given when its thread ends.
struct AtEnd(Option<Box<dyn FnOnce()>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(act) = self.0.take() {
            act();
        }
    }
}

thread_local! {
    static BEFORE: RefCell<AtEnd> = const { RefCell::new(AtEnd(None)) };
    static AFTER: RefCell<AtEnd> = const { RefCell::new(AtEnd(None)) };
}

/// Runs `act` twice in destructors of a thread's locals: once in one that was made before the
/// timer's own locals (and Tokio's) came up, once in one that was made after.
fn in_destructors(timer: &Timer, act: fn(&Timer)) {
    let (sender, receiver) = mpsc::channel();
    let timer = timer.clone();
    let thread = thread::spawn(move || {
        let at_end = |name| {
            let (timer, sender) = (timer.clone(), sender.clone());
            AtEnd(Some(Box::new(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| act(&timer)));
                let _ = sender.send((name, outcome.is_ok()));
            })))
        };
        BEFORE.set(at_end("before"));
        let mut own = timer.sleep(LONG);
        let _ = poll(&mut own, Waker::noop());
        drop(own);
        AFTER.set(at_end("after"));
    });
    assert!(thread.join().is_ok());
    let mut outcomes: Vec<_> = receiver.iter().collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [("after", true), ("before", true)]);
}

#[test]
fn rule_09_timers_may_be_made_and_dropped_in_the_destructors_of_a_thread() {
    watched(|| {
        for runtime in [paused(), one_thread(), two_workers()] {
            let timer = runtime.block_on(async { Timer::current() });
            in_destructors(&timer, |timer| {
                for delay in [ms(3), ms(2), LONG] {
                    // Each turns the wheel if it is the earliest.
                    let mut sleep = timer.sleep(delay);
                    let _ = poll(&mut sleep, Waker::noop());
                    sleep.set_deadline(sleep.deadline() + LONG);
                    let near = sleep.deadline() - LONG - LONG / 2;
                    sleep.set_deadline(near);
                }
                let exact = Timer::builder();
                assert!(exact.build().is_err(), "in no runtime");
            });
            runtime.block_on(sleep_in_runtime(timer));
        }
    });
}

#[test]
fn rule_09_a_thread_that_ends_may_be_the_one_that_drops_the_runtime() {
    watched(|| {
        for make in [paused, one_thread, two_workers] {
            let (wakes, waker) = Wakes::new();
            let thread = thread::spawn(move || {
                let runtime = make();
                let timer = runtime.block_on(async { Timer::current() });
                let mut sleep = timer.sleep(LONG);
                assert!(poll(&mut sleep, &waker).is_pending());
                let at_end = move || {
                    // Tokio refuses to join its workers from here.
                    runtime.shutdown_background();
                    drop(sleep);
                };
                BEFORE.set(AtEnd(Some(Box::new(at_end))));
            });
            thread.join().unwrap();
            assert!(wakes.count() <= 1);
            watched(|| one_thread().block_on(async { sleep(ms(1)).await }));
        }
    });
}

#[test]
fn rule_09_a_thread_that_ends_does_not_take_its_time_for_that_of_a_paused_clock() {
    let runtime = paused();
    let timer = runtime.block_on(async { Timer::current() });
    let (wakes, waker) = Wakes::new();
    let mut first = timer.sleep(ms(20));
    assert!(poll(&mut first, &waker).is_pending());
    thread::sleep(ms(40));
    in_destructors(&timer, |timer| {
        // The earliest of all, and so this thread turns.
        let mut earliest = timer.sleep_until(timer.sleep(LONG).deadline() - 2 * LONG);
        let _ = poll(&mut earliest, Waker::noop());
        let mut soon = timer.sleep(ms(0));
        let _ = poll(&mut soon, Waker::noop());
        let now = Instant::from_std(std::time::Instant::now());
        let mut soon = timer.sleep_until(now - ms(30));
        let _ = poll(&mut soon, Waker::noop());
    });
    assert_eq!(wakes.count(), 0, "the runtime's clock has not moved");
    assert!(poll(&mut first, &waker).is_pending());
    runtime.block_on(async {
        let start = Instant::now();
        first.await;
        assert_eq!(start.elapsed(), ms(20));
    });
}

#[test]
fn rule_09_a_drop_inside_of_a_users_drop_may_turn_the_wheel() {
    struct Retires(Timer, Option<Sleep>);
    impl Drop for Retires {
        fn drop(&mut self) {
            drop(self.1.take());
            let mut next = self.0.sleep(ms(1));
            let _ = poll(&mut next, Waker::noop());
        }
    }
    watched(|| {
        let runtime = one_thread();
        // Every cancelled timer turns the wheel.
        let timer = runtime.block_on(async {
            let builder = Timer::builder().exact_cancel(true);
            builder.build().unwrap()
        });
        let waiting = |timer: &Timer| {
            let mut sleep = timer.sleep(LONG);
            assert!(poll(&mut sleep, Waker::noop()).is_pending());
            Retires(timer.clone(), Some(sleep))
        };
        // On a plain thread, in a task of the runtime, in a blocking task, while it unwinds.
        thread::scope(|scope| _ = scope.spawn(|| drop(waiting(&timer))));
        let held = waiting(&timer);
        runtime.block_on(async {
            tokio::spawn(async move { drop(held) }).await.unwrap();
        });
        let held = waiting(&timer);
        runtime.block_on(async {
            let task = tokio::task::spawn_blocking(move || drop(held));
            task.await.unwrap();
        });
        let held = waiting(&timer);
        let task = runtime.block_on(async {
            tokio::spawn(async move {
                let _held = held;
                panic!("the task panics");
            })
            .await
        });
        assert!(task.is_err());
        runtime.block_on(sleep_in_runtime(timer));
    });
}

// === 10: what has fired stays so ===

#[tokio::test(start_paused = true)]
async fn rule_10_a_fired_timer_stays_elapsed_until_it_is_reset() {
    let (wakes, waker) = Wakes::new();
    let mut fired = sleep(ms(5));
    assert!(poll(&mut fired, &waker).is_pending());
    assert!(!fired.is_elapsed());
    advance(ms(5)).await;
    assert_eq!(wakes.count(), 1);
    assert!(fired.is_elapsed(), "before it is polled");
    // Others come and go meanwhile, and may have taken its node.
    for _ in 0..100 {
        drop(polled(ms(5)));
        sleep(ms(1)).await;
    }
    assert!(fired.is_elapsed());
    for _ in 0..3 {
        assert!(poll(&mut fired, &waker).is_ready());
        assert!(fired.is_elapsed());
        advance(ms(1)).await;
    }
    fired.set_deadline(Instant::now() + ms(5));
    assert!(!fired.is_elapsed());
    assert!(poll(&mut fired, &waker).is_pending());
    advance(ms(5)).await;
    assert_eq!(wakes.count(), 2);
    assert!(fired.is_elapsed());
}

#[tokio::test(start_paused = true)]
async fn rule_10_a_fired_timer_that_was_not_polled_can_be_moved() {
    let (wakes, waker) = Wakes::new();
    let mut fired = sleep(ms(5));
    assert!(poll(&mut fired, &waker).is_pending());
    advance(ms(5)).await;
    assert!(fired.is_elapsed());
    fired.set_deadline(Instant::now() + LONG);
    assert!(!fired.is_elapsed());
    assert!(poll(&mut fired, &waker).is_pending());
    advance(LONG - ms(1)).await;
    assert!(poll(&mut fired, &waker).is_pending());
    advance(ms(1)).await;
    assert_eq!(wakes.count(), 2);
    assert!(poll(&mut fired, &waker).is_ready());
}

#[tokio::test(start_paused = true)]
async fn rule_10_a_timer_that_has_woken_its_task_and_is_moved_wakes_it_after_another_poll_only() {
    let (wakes, waker) = Wakes::new();
    for complete in [false, true] {
        let before = wakes.count();
        let mut fired = sleep(ms(5));
        assert!(poll(&mut fired, &waker).is_pending());
        advance(ms(5)).await;
        if complete {
            assert!(poll(&mut fired, &waker).is_ready());
        }
        fired.set_deadline(Instant::now() + ms(5));
        advance(ms(5)).await;
        assert_eq!(wakes.count(), before + 1);
        assert!(poll(&mut fired, &waker).is_ready());
    }
}
