//! Great numbers at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use cogwheel::{ManualClock, Timer};

use crate::drive::{LONG, Wakes, acting, ms, watched};
use crate::{NS, armed, armed_by};

const CROWD: usize = if cfg!(debug_assertions) {
    20_000
} else {
    100_000
};

/// What a crowd took: to be inserted by four threads while nobody turned, and to be fired by one
/// turn.
#[derive(Default)]
struct Took {
    inserting: Duration,
    draining: Duration,
}

impl Took {
    fn add(&mut self, other: &Self) {
        self.inserting += other.inserting;
        self.draining += other.draining;
    }
}

fn insert_and_drain(count: usize) -> Took {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let (wakes, waker) = Wakes::new();
    let insert = || {
        let sleeps = (0..count / 4).map(|_| armed_by(&timer, ms(1), &waker));
        sleeps.collect::<Vec<_>>()
    };
    let start = Instant::now();
    let inserted: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(insert)).collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let inserting = start.elapsed();
    let start = Instant::now();
    let fired = clock.advance(ms(1)).fired;
    let draining = start.elapsed();
    assert_eq!((fired, wakes.count()), (count, count));
    drop(inserted);
    Took {
        inserting,
        draining,
    }
}

/// Ten crowds, and one of ten times as many, in turn, so that they share what else the machine
/// does. A cost that grew with the square would show as a hundred.
#[test]
fn case_078_the_cost_of_a_crowd_grows_with_its_number() {
    watched(|| {
        let (mut insertion, mut drain) = (f64::MAX, f64::MAX);
        for _ in 0..3 {
            let mut ten = Took::default();
            for _ in 0..10 {
                ten.add(&insert_and_drain(CROWD));
            }
            let one = insert_and_drain(10 * CROWD);
            let grown = |of_ten: Duration, of_one: Duration| 10.0 * of_one.div_duration_f64(of_ten);
            insertion = insertion.min(grown(ten.inserting, one.inserting));
            drain = drain.min(grown(ten.draining, one.draining));
        }
        assert!(insertion < 15.0, "insertion grows by {insertion}");
        assert!(drain < 15.0, "the turn grows by {drain}");
    });
}

/// A turn that is in the middle of its wakers, and stays there, blocks no insertion.
#[test]
fn case_078_no_insertion_waits_for_a_turn_to_end() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let inside = Arc::new(Barrier::new(2));
        let inserted = Arc::new(Barrier::new(2));
        let (at_start, at_end) = (inside.clone(), inserted.clone());
        let waker = acting(move || {
            at_start.wait();
            at_end.wait();
        });
        let _first = armed_by(&timer, ms(1), &waker);
        thread::scope(|scope| {
            let turn = scope.spawn(|| clock.advance(ms(1)));
            inside.wait();
            let crowd = || (0..1_000).map(|_| armed(&timer, ms(1))).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(crowd)).collect();
            let sleeps: Vec<_> = threads.into_iter().map(|one| one.join().unwrap()).collect();
            inserted.wait();
            assert_eq!(turn.join().unwrap().fired, 1);
            assert_eq!(clock.pending(), 4_000);
            assert_eq!(clock.advance(ms(1)).fired, 4_000);
            drop(sleeps);
        });
    });
}

#[test]
fn case_081_a_million_dropped_sleeps_release_their_wakers_and_keep_no_memory() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let (wakes, waker) = Wakes::new();
    for n in 0..1_000_000_u64 {
        drop(armed_by(&timer, ms(1_000 + n % 60_000), &waker));
    }
    drop(waker);
    // The clock has not moved once; the thread keeps one waker for its next timer.
    assert_eq!(clock.pending(), 0);
    let metrics = timer.metrics();
    assert_eq!(metrics.cancelled, 1_000_000);
    // What a few dozen timers at once would take.
    assert!(metrics.nodes < 10_000, "{metrics}");
    assert!(metrics.bytes < 2 << 20, "{metrics}");
    assert!(Arc::strong_count(&wakes) <= 2);
    clock.advance(LONG);
    assert_eq!((Arc::strong_count(&wakes), wakes.count()), (1, 0));
}

/// Timers that a turn's wakers make wait for their own deadlines, however many are due together.
#[test]
fn case_076_a_crowd_that_arms_anew_in_its_wakers_ends_the_turn() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let woken = Arc::new(AtomicUsize::new(0));
        let kept = Arc::new(Mutex::new(Vec::new()));
        let again = |timer: &Timer| {
            let (timer, woken, kept) = (timer.clone(), woken.clone(), kept.clone());
            acting(move || {
                woken.fetch_add(1, Ordering::AcqRel);
                kept.lock().unwrap().push(armed(&timer, NS));
            })
        };
        let waker = again(&timer);
        let _sleeps: Vec<_> = (0..256).map(|_| armed_by(&timer, NS, &waker)).collect();
        assert_eq!(clock.advance(NS).fired, 256);
        assert_eq!(woken.load(Ordering::Acquire), 256);
        assert_eq!(clock.pending(), 256, "they wait for the next turn");
        assert_eq!(clock.advance(NS).fired, 256);
        assert_eq!(clock.pending(), 0);
        drop(armed_by(&timer, NS, Waker::noop()));
    });
}
