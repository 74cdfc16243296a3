//! A wake-up has a reason: none while nothing is due, one for a lone timer, one at most for what
//! was cancelled.
//!
//! Two clocks are watched. A paused one stops once for each wake-up that a real one would make, so
//! its stops can be compared exactly. On the real one the parks of Tokio's threads are counted.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::task::Waker;
use std::thread;

use cogwheel::Timer;
use cogwheel::time::{Duration, Instant, Sleep, sleep};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

#[path = "common/drive.rs"]
mod drive;

use drive::{LONG, Wakes, ms, one_thread, poll, stops_of, timer_of, two_workers, watched};

const SEC: Duration = Duration::from_secs(1);

fn polled(mut sleep: Sleep) -> Sleep {
    assert!(poll(&mut sleep, Waker::noop()).is_pending());
    sleep
}

// === on a clock that is paused ===

#[test]
fn ten_thousand_far_timers_add_no_stop() {
    let without = stops_of(|| tokio::time::sleep(60 * SEC));
    let with = stops_of(|| async {
        let far: Vec<_> = (0..10_000).map(|n| polled(sleep(LONG + ms(n)))).collect();
        tokio::time::sleep(60 * SEC).await;
        drop(far);
    });
    assert_eq!(with, without);
}

#[test]
fn timers_stop_the_clock_at_their_own_deadlines_and_nowhere_else() {
    // None of these lies further ahead than Tokio's lowest level, which has no cascades.
    let due = [3, 7, 20, 41, 63].map(ms);
    let stops = stops_of(|| async {
        let tasks = due.map(|delay| tokio::spawn(sleep(delay)));
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(stops, due);
}

#[test]
fn timers_that_are_due_together_stop_the_clock_once() {
    let stops = stops_of(|| async {
        let tasks: Vec<_> = (0..1_000).map(|_| tokio::spawn(sleep(ms(30)))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(stops, [ms(30)]);
}

#[test]
fn a_cancelled_timer_costs_one_stale_look_at_most() {
    let stops = stops_of(|| async {
        drop(polled(sleep(ms(10))));
        tokio::time::sleep(ms(60)).await;
    });
    assert_eq!(stops, [ms(10), ms(60)]);
    // As many as fit in one bucket are swept by the same look.
    let stops = stops_of(|| async {
        let cancelled: Vec<_> = (0..1_000).map(|_| polled(sleep(ms(10)))).collect();
        drop(cancelled);
        tokio::time::sleep(ms(60)).await;
    });
    assert_eq!(stops, [ms(10), ms(60)]);
}

#[test]
fn timeouts_that_are_made_and_cancelled_in_a_row_share_one_stale_look() {
    let stops = stops_of(|| async {
        for _ in 0..10_000 {
            drop(polled(sleep(ms(40))));
        }
        tokio::time::sleep(ms(60)).await;
    });
    assert_eq!(stops, [ms(40), ms(60)]);
}

#[test]
fn cancelled_timers_of_all_lengths_cost_less_than_a_look_each() {
    let without = stops_of(|| tokio::time::sleep(20 * SEC)).len();
    let with = stops_of(|| async {
        let cancelled: Vec<_> = (1..10_000).map(|n| polled(sleep(ms(n)))).collect();
        drop(cancelled);
        tokio::time::sleep(20 * SEC).await;
    });
    // 10 s of a wheel have two blocks of 64 buckets on each of two levels, and three above. For
    // each alarm Tokio's clock may stop twice more, for cascades of Tokio's own.
    let buckets = 2 * 2 * 64 + 3;
    assert!(with.len() - without <= 3 * buckets, "{}", with.len());
}

/// The stops of a timer whose next 39 deadlines, one in each millisecond, are cancelled.
fn stops_with_cancelled(exact: bool) -> Vec<Duration> {
    stops_of(|| async {
        let timer = Timer::builder()
            .exact_cancel(exact)
            .build()
            .expect("in a runtime");
        // Each is the earliest, which turns the wheel: all are on it when they are cancelled.
        let far_to_near = (1..40).rev();
        let cancelled: Vec<_> = far_to_near.map(|n| polled(timer.sleep(ms(n)))).collect();
        let kept = polled(timer.sleep(ms(50)));
        drop(cancelled);
        kept.await;
    })
}

#[test]
fn an_exact_timer_stops_the_clock_for_nothing_that_was_cancelled() {
    let looks = stops_with_cancelled(false);
    assert!((20..=40).contains(&looks.len()), "{looks:?}");
    // The alarm that was armed for the first one is left alone; that is all.
    assert_eq!(stops_with_cancelled(true), [ms(1), ms(50)]);
}

#[test]
fn a_timer_that_is_cancelled_before_the_next_turn_is_never_looked_at() {
    let stops = stops_of(|| async {
        let timer = Timer::current();
        let first = polled(timer.sleep(ms(5)));
        let others: Vec<_> = (6..60).map(|n| polled(timer.sleep(ms(n)))).collect();
        drop(others);
        for n in 6..60 {
            drop(polled(timer.sleep(ms(n))));
        }
        first.await;
        tokio::time::sleep(ms(55)).await;
    });
    assert_eq!(stops, [ms(5), ms(60)]);
}

#[test]
fn a_deadline_that_moves_later_costs_one_look_where_it_was() {
    let stops = stops_of(|| async {
        let start = Instant::now();
        let mut moved = polled(sleep(ms(5)));
        for n in 6..=50 {
            moved.set_deadline(start + ms(n));
        }
        moved.await;
    });
    assert_eq!(stops, [ms(5), ms(50)]);
}

/// The stops of a timer that is moved earlier so many times, a millisecond each time, to 20 ms.
fn stops_with_moved(times: u64, exact: bool) -> Vec<Duration> {
    stops_of(move || async move {
        let timer = Timer::builder()
            .exact_cancel(exact)
            .build()
            .expect("in a runtime");
        let start = Instant::now();
        let mut moved = polled(timer.sleep(ms(20 + times)));
        for n in (20..20 + times).rev() {
            moved.set_deadline(start + ms(n));
        }
        moved.await;
        tokio::time::sleep(ms(43)).await;
    })
}

#[test]
fn a_deadline_that_moves_earlier_stops_the_clock_there_alone() {
    for times in 0..=2 {
        assert_eq!(stops_with_moved(times, false), [ms(20), ms(63)]);
    }
    // If that happens again and again, the alarm may be set ahead of need, for one stop more.
    let stops = stops_with_moved(40, false);
    assert!(stops.ends_with(&[ms(20), ms(63)]), "{stops:?}");
    assert!(stops.len() <= 3, "{stops:?}");
    assert_eq!(stops_with_moved(40, true), [ms(20), ms(63)]);
}

/// Makes so many timers, each due before the last, and waits for all of them; the number of turns
/// until the first was due, and of wake-ups in all.
fn turns_of_falling(count: u64, exact: bool) -> (u64, u64) {
    let runtime = drive::paused();
    runtime.block_on(async {
        let timer = Timer::builder()
            .exact_cancel(exact)
            .build()
            .expect("in a runtime");
        let start = Instant::now();
        let delays = (0..count).map(|n| 30 * SEC - ms(10 * n));
        let mut sleeps: Vec<_> = delays
            .map(|delay| (delay, polled(timer.sleep(delay))))
            .collect();
        let turns = timer.metrics().turns;
        while let Some((delay, sleep)) = sleeps.pop() {
            sleep.await;
            assert_eq!(start.elapsed(), delay);
        }
        (turns, timer.metrics().wake_ups)
    })
}

#[test]
fn timers_that_are_each_due_before_the_last_share_their_turns() {
    let (turns, wake_ups) = turns_of_falling(2_000, false);
    // One for each of the first, some for halving 30 s, and one for each 256 pushes.
    assert!(turns <= 4 + 12 + 2_000 / 256 + 1, "{turns}");
    assert!((2_000..=2_001).contains(&wake_ups), "{wake_ups}");
    // Where each wake-up has to have a reason, each has a turn of its own.
    let (turns, wake_ups) = turns_of_falling(2_000, true);
    assert!(turns >= 2_000, "{turns}");
    assert_eq!(wake_ups, 2_000);
}

// === on the real one ===

fn parks(runtime: &Runtime) -> u64 {
    let metrics = runtime.metrics();
    let workers = 0..metrics.num_workers();
    workers
        .map(|worker| metrics.worker_park_count(worker))
        .sum()
}

/// How often the threads of `runtime` park while `act` runs and `time` passes after it, with the
/// runtime driven and at rest.
fn parks_while(runtime: Runtime, act: impl FnOnce(&Timer), time: Duration) -> u64 {
    let timer = timer_of(&runtime);
    thread::scope(|scope| {
        // Ends the scope's thread also if `act` panics.
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = &runtime;
        scope.spawn(move || runtime.block_on(async { _ = stopped.await }));
        thread::sleep(ms(200)); // everything has begun and come to rest
        let before = parks(runtime);
        act(&timer);
        thread::sleep(time);
        let parks = parks(runtime) - before;
        drop(stop);
        parks
    })
}

#[test]
fn an_idle_runtime_with_ten_thousand_timers_sleeps() {
    for runtime in [one_thread(), two_workers()] {
        let timer = timer_of(&runtime);
        let mut far: Vec<_> = (0..10_000)
            .map(|n| polled(timer.sleep(LONG + ms(n))))
            .collect();
        // Cancelled ones, and ones that are polled and moved, are no reason to wake either.
        far.truncate(9_000);
        let act = |_: &Timer| {
            for sleep in &mut far {
                assert!(poll(sleep, Waker::noop()).is_pending());
            }
            for sleep in far.iter_mut().skip(1) {
                sleep.set_deadline(sleep.deadline() + LONG);
                sleep.set_deadline(sleep.deadline() - LONG / 2);
            }
            far.truncate(5_000);
        };
        assert_eq!(parks_while(runtime, act, ms(600)), 0);
    }
}

#[test]
fn a_lone_timer_wakes_once_when_it_is_made_and_once_when_it_is_due() {
    for make in [one_thread, two_workers] {
        let mut lone = None;
        let (wakes, waker) = Wakes::new();
        let act = |timer: &Timer| {
            let mut sleep = timer.sleep(ms(300));
            assert!(poll(&mut sleep, &waker).is_pending());
            lone = Some(sleep);
        };
        let parks = parks_while(make(), act, ms(600));
        assert_eq!(wakes.count(), 1);
        // Tokio's driver looks up when a deadline is set before all others, and once or twice more
        // on the way down its own levels.
        assert!((2..=4).contains(&parks), "{parks}");
    }
}

#[test]
fn case_097_moving_a_far_timer_every_millisecond_wakes_nobody() {
    watched(|| {
        for (make, alone) in [one_thread, two_workers]
            .into_iter()
            .flat_map(|make| [(make as fn() -> Runtime, false), (make, true)])
        {
            let act = |timer: &Timer| {
                let first = (!alone).then(|| polled(timer.sleep(LONG)));
                let mut moved = polled(timer.sleep(LONG * 2));
                let start = moved.deadline();
                for n in 0..200 {
                    moved.set_deadline(start + ms(n % 7)); // later, earlier, the same
                    assert!(poll(&mut moved, Waker::noop()).is_pending());
                    thread::sleep(ms(1));
                }
                drop(first);
            };
            let parks = parks_while(make(), act, ms(50));
            assert!(parks <= 2, "{parks}, alone: {alone}");
        }
    });
}

#[test]
fn case_095_a_short_wait_does_not_spin() {
    for make in [one_thread, two_workers] {
        let mut waits = Vec::new();
        let act = |timer: &Timer| {
            for n in 1..=20 {
                waits.push(polled(
                    timer.sleep(Duration::from_micros(50_000 + n * 4_300)),
                ));
            }
        };
        let parks = parks_while(make(), act, ms(350));
        // One for each deadline, and what Tokio adds: for the first alarm, and for its levels.
        assert!((5..=46).contains(&parks), "{parks}");
    }
}
