//! Cancel, move, drop and shutdown against the start of the work, on real threads: whatever the
//! order, the counts add up.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use cogwheel::Timer;
use cogwheel::scheduled::Outcome;
use cogwheel::time::{Duration, Instant};
use tokio::runtime::Runtime;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, ms, one_thread, timer_of, two_workers, wait, watched};

const THREADS: u64 = 4;
const WORKS: usize = 10_000;

/// A small generator of numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn micros(&mut self, end: u64) -> Duration {
        Duration::from_micros(self.below(end))
    }
}

/// Runs `test` on four threads with numbers of their own.
fn on_threads(timer: &Timer, test: impl Fn(&Timer, Random) + Clone + Send + 'static) {
    let threads: Vec<_> = (1..=THREADS)
        .map(|seed| {
            let (timer, test) = (timer.clone(), test.clone());
            thread::spawn(move || test(&timer, Random(seed * 0x9E37_79B9)))
        })
        .collect();
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}

#[test]
fn case_042_of_a_cancel_and_a_start_exactly_one_wins() {
    watched(|| {
        let runtime = two_workers();
        let (runs, cancels) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (ran, cancelled) = (runs.clone(), cancels.clone());
        on_threads(&timer_of(&runtime), move |timer, mut random| {
            let mut waiting = Vec::new();
            for _ in 0..WORKS {
                let ran = ran.clone();
                let delay = random.micros(1_500);
                let start = Instant::now();
                let work = timer.schedule(delay, async move {
                    assert!(start.elapsed() >= delay);
                    ran.fetch_add(1, Ordering::AcqRel);
                });
                waiting.push(work);
                if waiting.len() > 30 {
                    let at = usize::try_from(random.below(30)).unwrap();
                    let work = waiting.swap_remove(at);
                    let won = work.cancel();
                    cancelled.fetch_add(usize::from(won), Ordering::AcqRel);
                    let outcome = wait(work);
                    assert_eq!(outcome.is_cancelled(), won, "{outcome:?}");
                    assert_eq!(outcome.is_fired(), !won, "{outcome:?}");
                }
            }
            for work in waiting {
                assert!(wait(work).is_fired());
            }
        });
        let (ran, cancelled) = (
            runs.load(Ordering::Acquire),
            cancels.load(Ordering::Acquire),
        );
        assert_eq!(ran + cancelled, WORKS * usize::try_from(THREADS).unwrap());
        assert!(ran > 100 && cancelled > 100, "{ran} {cancelled}");
    });
}

#[test]
fn of_many_cancels_and_moves_at_once_one_cancel_at_most_is_true() {
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        for round in 0..2_000 {
            let work = Arc::new(timer.schedule(Duration::from_micros(round % 200), async {}));
            let threads = [(); 2].map(|()| {
                let work = work.clone();
                thread::spawn(move || {
                    let moved = work.reschedule(Instant::now());
                    (moved, work.cancel())
                })
            });
            let answers = threads.map(|thread| thread.join().unwrap());
            let won = answers.iter().filter(|(_, cancelled)| *cancelled).count();
            let work = Arc::into_inner(work).expect("the threads have ended");
            let outcome = wait(work);
            assert_eq!(won, usize::from(outcome.is_cancelled()), "{outcome:?}");
        }
    });
}

#[test]
fn of_a_move_and_a_start_exactly_one_wins_and_the_last_move_counts() {
    watched(|| {
        let runtime = two_workers();
        let moves = Arc::new(AtomicUsize::new(0));
        let counted = moves.clone();
        on_threads(&timer_of(&runtime), move |timer, mut random| {
            for _ in 0..WORKS / 20 {
                let started = Arc::new(AtomicU64::new(0));
                let runs = started.clone();
                let base = Instant::now();
                let mut last = base + random.micros(500);
                let work = timer.schedule_at(last, async move {
                    runs.fetch_add(1, Ordering::AcqRel);
                    Instant::now()
                });
                loop {
                    let to = Instant::now() + random.micros(400);
                    if !work.reschedule(to) {
                        break;
                    }
                    last = to;
                    counted.fetch_add(1, Ordering::AcqRel);
                    if random.below(3) == 0 {
                        thread::sleep(random.micros(300));
                    }
                    if random.below(20) == 0 {
                        break;
                    }
                }
                let start = wait(work).fired().expect("nobody cancels");
                assert!(start >= last, "{:?} early", last - start);
                assert_eq!(started.load(Ordering::Acquire), 1);
            }
        });
        assert!(moves.load(Ordering::Acquire) > 1_000);
    });
}

#[test]
fn a_drop_that_cancels_and_a_start_lose_nothing_and_keep_nothing() {
    watched(|| {
        let runtime = two_workers();
        let captured = Arc::new(());
        let runs = Arc::new(AtomicUsize::new(0));
        let (capture, ran) = (captured.clone(), runs.clone());
        on_threads(&timer_of(&runtime), move |timer, mut random| {
            for _ in 0..WORKS {
                let (capture, ran) = (capture.clone(), ran.clone());
                let work = timer.schedule(random.micros(60), async move {
                    ran.fetch_add(1, Ordering::AcqRel);
                    drop(capture);
                });
                let work = work.cancel_on_drop();
                for _ in 0..random.below(2_000) {
                    std::hint::spin_loop();
                }
                drop(work);
            }
        });
        drop(runtime);
        assert_eq!(Arc::strong_count(&captured), 1);
        let ran = runs.load(Ordering::Acquire);
        let all = WORKS * usize::try_from(THREADS).unwrap();
        assert!(ran > 0 && ran < all, "{ran} of {all}");
    });
}

#[test]
fn a_series_that_is_cancelled_from_outside_begins_no_round_after_the_answer() {
    watched(|| {
        let runtime = two_workers();
        on_threads(&timer_of(&runtime), move |timer, mut random| {
            for _ in 0..500 {
                let series = timer.schedule_every(Duration::from_micros(50), || async {});
                thread::sleep(random.micros(300));
                assert!(series.cancel());
                let rounds = series.rounds();
                thread::sleep(random.micros(200));
                assert_eq!(series.rounds(), rounds);
                assert!(wait(series).is_cancelled());
            }
        });
    });
}

#[test]
fn a_shutdown_among_starts_ends_every_work_and_keeps_nothing() {
    let kinds: [fn() -> Runtime; 2] = [one_thread, two_workers];
    let fired = Arc::new(AtomicUsize::new(0));
    let closed = Arc::new(AtomicUsize::new(0));
    for round in 0..60_u64 {
        let (fired, closed) = (fired.clone(), closed.clone());
        watched(move || {
            let runtime = kinds[usize::from(round % 2 == 0)]();
            let timer = timer_of(&runtime);
            let captured = Arc::new(());
            let works = Arc::new(Mutex::new(Vec::new()));
            let threads = [1, 2].map(|seed| {
                let (timer, capture, works) = (timer.clone(), captured.clone(), works.clone());
                let mut random = Random(seed + 10 * round);
                thread::spawn(move || {
                    while !timer.is_closed() {
                        let capture = capture.clone();
                        let work = timer.schedule(random.micros(2_000), async move {
                            tokio::time::sleep(Duration::from_micros(100)).await;
                            drop(capture);
                        });
                        if random.below(2) == 0 {
                            work.reschedule(Instant::now() + random.micros(1_000));
                        }
                        works.lock().unwrap().push(work);
                    }
                })
            });
            runtime.block_on(async { tokio::time::sleep(ms(3 + round % 5)).await });
            drop(runtime);
            for thread in threads {
                thread.join().unwrap();
            }
            let works = std::mem::take(&mut *works.lock().unwrap());
            for work in works {
                match wait(work) {
                    Outcome::Fired(()) => fired.fetch_add(1, Ordering::AcqRel),
                    Outcome::Closed => closed.fetch_add(1, Ordering::AcqRel),
                    other => panic!("{other:?}"),
                };
            }
            assert_eq!(Arc::strong_count(&captured), 1);
        });
    }
    assert!(fired.load(Ordering::Acquire) > 100);
    assert!(closed.load(Ordering::Acquire) > 100);
}

#[test]
fn a_thread_that_ends_may_cancel_and_schedule_in_its_last_breath() {
    struct Last(Option<(Timer, cogwheel::Scheduled<()>)>);
    impl Drop for Last {
        fn drop(&mut self) {
            if let Some((timer, work)) = self.0.take() {
                assert!(work.cancel());
                drop(timer.schedule(Duration::ZERO, async {}));
                assert!(timer.schedule(LONG, async {}).cancel());
            }
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Last> = const { std::cell::RefCell::new(Last(None)) };
    }
    watched(|| {
        for make in [one_thread, two_workers] {
            let runtime = make();
            let timer = timer_of(&runtime);
            let thread = thread::spawn(move || {
                LAST.with(|last| {
                    let work = timer.schedule(LONG, async {});
                    last.borrow_mut().0 = Some((timer, work));
                });
            });
            thread.join().expect("its locals are dropped in peace");
        }
    });
}
