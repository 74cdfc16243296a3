//! A waker that runs inside of a turn may use the timer that is being turned: the turn goes on when
//! it returns, and never begins a second one within itself.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use cogwheel::Timer;
use cogwheel::time::{Sleep, sleep};
use tokio::time::advance;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, Wakes, acting, ms, paused, poll, wait, watched};

thread_local! {
    /// How many wakers are running on this thread, one inside of the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A waker that runs `act` and notes how deep wakers are nested by then.
fn counting(deepest: &Arc<AtomicUsize>, act: impl Fn() + Send + Sync + 'static) -> Waker {
    let deepest = deepest.clone();
    acting(move || {
        DEPTH.set(DEPTH.get() + 1);
        deepest.fetch_max(DEPTH.get(), Ordering::Relaxed);
        act();
        DEPTH.set(DEPTH.get() - 1);
    })
}

#[test]
fn wakers_that_make_timers_while_many_are_due_do_not_nest() {
    watched(|| {
        paused().block_on(async {
            let deepest = Arc::new(AtomicUsize::new(0));
            let made = Arc::new(AtomicUsize::new(0));
            let timer = Timer::current();
            let counted = made.clone();
            let waker = counting(&deepest, move || {
                // The driver is a second late by now, so whoever makes a timer helps it.
                drop(timer.sleep(LONG));
                counted.fetch_add(1, Ordering::Relaxed);
            });
            let mut due: Vec<Sleep> = (0..10_000).map(|_| sleep(ms(1))).collect();
            for sleep in &mut due {
                assert!(poll(sleep, &waker).is_pending());
            }
            advance(ms(1_000)).await;
            assert_eq!(made.load(Ordering::Relaxed), 10_000);
            assert_eq!(deepest.load(Ordering::Relaxed), 1);
        });
    });
}

#[test]
fn a_timer_that_the_last_waker_of_a_turn_arms_is_fired_all_the_same() {
    watched(|| {
        paused().block_on(async {
            let deepest = Arc::new(AtomicUsize::new(0));
            let (wakes, last) = Wakes::new();
            let kept = Arc::new(Mutex::new(Vec::new()));
            let links = kept.clone();
            let waker = counting(&deepest, move || {
                let mut next = sleep(ms(3));
                assert!(poll(&mut next, &last).is_pending());
                links.lock().expect("no test panics with it").push(next);
            });
            let mut far = sleep(LONG);
            assert!(poll(&mut far, Waker::noop()).is_pending());
            let mut first = sleep(ms(1));
            assert!(poll(&mut first, &waker).is_pending());
            advance(ms(1)).await;
            assert_eq!(wakes.count(), 0);
            advance(ms(3)).await;
            assert_eq!(wakes.count(), 1);
            assert_eq!(deepest.load(Ordering::Relaxed), 1);
        });
    });
}

/// A timer with a thread, whose alarm has gone off, and a waker that always makes the next timer.
#[test]
fn a_thread_that_is_kept_busy_by_its_own_wakers_does_not_nest_turns() {
    const WAKES: usize = 20_000;

    struct Chain {
        timer: Timer,
        kept: Mutex<Vec<Sleep>>,
        /// Where the stack was at the first wake, and the farthest from there.
        stack: Mutex<(Option<usize>, usize)>,
    }

    fn next(chain: &Arc<Chain>) {
        let here = 0_u8;
        let place = std::ptr::from_ref(&here).addr();
        let (first, farthest) = &mut *chain.stack.lock().unwrap();
        *farthest = place.abs_diff(*first.get_or_insert(place)).max(*farthest);
        let mut kept = chain.kept.lock().unwrap();
        if kept.len() == WAKES || *farthest > 100_000 {
            return;
        }
        let own = Arc::clone(chain);
        let mut sleep = chain.timer.sleep(Duration::from_nanos(1));
        let _ = poll(&mut sleep, &acting(move || next(&own)));
        kept.push(sleep);
    }

    watched(|| {
        let timer = Timer::builder().dedicated_thread().build().unwrap();
        wait(timer.sleep(ms(1)));
        let chain = Arc::new(Chain {
            timer: timer.clone(),
            kept: Mutex::new(Vec::new()),
            stack: Mutex::new((None, 0)),
        });
        let begin = Arc::clone(&chain);
        let mut first = timer.sleep(ms(1));
        assert!(poll(&mut first, &acting(move || next(&begin))).is_pending());
        while chain.kept.lock().unwrap().len() < WAKES {
            let farthest = chain.stack.lock().unwrap().1;
            assert!(farthest < 10_000, "{farthest} bytes of stack");
            thread::sleep(ms(1));
        }
    });
}
