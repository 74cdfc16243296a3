//! What a timer says of itself, compared with what was done to it.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use cogwheel::metrics::TimerMetrics;
use cogwheel::time::{Duration, Sleep, sleep};
use cogwheel::{ManualClock, Timer};

const MILLI: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn poll(sleep: &mut Sleep) -> Poll<()> {
    Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop()))
}

/// A sleep that waits.
fn armed(timer: &Timer, delay: Duration) -> Sleep {
    let mut sleep = timer.sleep(delay);
    assert!(poll(&mut sleep).is_pending());
    sleep
}

#[track_caller]
fn assert_adds_up(metrics: &TimerMetrics) {
    let sum = metrics.fired + metrics.cancelled + metrics.live;
    assert_eq!(metrics.created, sum, "{metrics:#?}");
}

/// Created, fired, cancelled, live.
fn ends(metrics: &TimerMetrics) -> [u64; 4] {
    assert_adds_up(metrics);
    let TimerMetrics {
        created,
        fired,
        cancelled,
        live,
        ..
    } = *metrics;
    [created, fired, cancelled, live]
}

#[test]
fn a_new_timer_has_done_nothing() {
    let clock = ManualClock::new();
    let metrics = clock.timer().metrics();
    assert_eq!(ends(&metrics), [0; 4]);
    assert_eq!(
        (metrics.resets, metrics.wake_ups, metrics.cascades),
        (0, 0, 0)
    );
    assert!(metrics.lateness.is_empty());
    assert!(!metrics.closed);
}

#[test]
fn what_never_waits_is_no_timer() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let unpolled = timer.sleep(HOUR);
    assert!(poll(&mut timer.sleep(Duration::ZERO)).is_ready());
    drop(unpolled);
    assert_eq!(ends(&timer.metrics()), [0; 4]);
}

#[test]
fn every_way_to_end_a_timer_is_counted_once() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let mut sleeps: Vec<Sleep> = (1..=10).map(|n| armed(&timer, n * MILLI)).collect();
    assert_eq!(ends(&timer.metrics()), [10, 0, 0, 10]);
    drop(sleeps.split_off(7));
    assert_eq!(ends(&timer.metrics()), [10, 0, 3, 7]);
    clock.advance(4 * MILLI);
    assert_eq!(ends(&timer.metrics()), [10, 4, 3, 3]);
    for sleep in &mut sleeps[..4] {
        assert!(poll(sleep).is_ready());
    }
    // Completed ones that are dropped or polled are not counted again.
    drop(sleeps);
    assert_eq!(ends(&timer.metrics()), [10, 4, 6, 0]);
}

#[test]
fn a_reset_counts_if_the_timer_was_armed_and_arms_again_what_has_completed() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let mut sleep = timer.sleep(HOUR);
    sleep.set_deadline(clock.now() + 2 * HOUR);
    assert_eq!(timer.metrics().resets, 0);
    assert!(poll(&mut sleep).is_pending());
    sleep.set_deadline(clock.now() + 3 * HOUR);
    sleep.set_deadline(clock.now() + 4 * HOUR);
    sleep.set_deadline(clock.now() + HOUR);
    assert_eq!(timer.metrics().resets, 3);
    clock.advance(HOUR);
    assert!(poll(&mut sleep).is_ready());
    sleep.set_deadline(clock.now() + HOUR);
    assert!(poll(&mut sleep).is_pending());
    assert_eq!(ends(&timer.metrics()), [2, 1, 0, 1]);
    assert_eq!(timer.metrics().resets, 3);
}

#[test]
fn every_thread_counts_and_what_ended_threads_counted_stays() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let work = |number: u32| {
        let (timer, kept) = (timer.clone(), Arc::clone(&kept));
        move || {
            for round in 0..100 {
                let mut sleep = armed(&timer, HOUR * (number + 1));
                sleep.set_deadline(sleep.deadline() + MILLI);
                if round % 10 == 0 {
                    kept.lock().unwrap().push(sleep);
                }
            }
        }
    };
    let threads: Vec<_> = (0..8).map(|n| thread::spawn(work(n))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(ends(&timer.metrics()), [800, 0, 720, 80]);
    assert_eq!(timer.metrics().resets, 800);
    // Sleeps that end on another thread than the one that armed them.
    kept.lock().unwrap().truncate(30);
    assert_eq!(ends(&timer.metrics()), [800, 0, 770, 30]);
    clock.advance(10 * HOUR);
    assert_eq!(ends(&timer.metrics()), [800, 30, 770, 0]);
}

#[test]
fn threads_that_come_and_go_do_not_add_memory() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let one_thread = || {
        let timer = timer.clone();
        let run = thread::spawn(move || drop(armed(&timer, HOUR)));
        run.join().unwrap();
    };
    one_thread();
    let before = timer.metrics();
    (0..50).for_each(|_| one_thread());
    let after = timer.metrics();
    assert_eq!(after.created, before.created + 50);
    assert_eq!((after.bytes, after.nodes), (before.bytes, before.nodes));
}

#[test]
fn a_thread_that_uses_more_timers_than_it_keeps_counts_for_is_counted_right() {
    let clocks: Vec<ManualClock> = (0..7).map(|_| ManualClock::new()).collect();
    let timers: Vec<Timer> = clocks.iter().map(ManualClock::timer).collect();
    let mut sleeps: Vec<Sleep> = timers.iter().map(|timer| armed(timer, HOUR)).collect();
    for round in 1..=5_u32 {
        for (timer, sleep) in timers.iter().zip(&mut sleeps) {
            sleep.set_deadline(sleep.deadline() + MILLI * round);
            drop(armed(timer, MILLI));
        }
        // Only moved: by the count that is at hand or by that of another timer.
        for sleep in &mut sleeps {
            sleep.set_deadline(sleep.deadline() + MILLI);
        }
    }
    for timer in &timers {
        assert_eq!(ends(&timer.metrics()), [6, 0, 5, 1]);
        assert_eq!(timer.metrics().resets, 10);
    }
}

#[test]
fn what_lies_in_an_inbox_is_queued_until_the_next_turn_and_a_look_turns_nothing() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let _earliest = armed(&timer, MILLI);
    let turns = timer.metrics().turns;
    let _later: Vec<Sleep> = (1..=3).map(|n| armed(&timer, n * HOUR)).collect();
    for _ in 0..2 {
        let metrics = timer.metrics();
        assert_eq!((metrics.queued, metrics.live, metrics.turns), (3, 4, turns));
    }
    clock.advance(MILLI);
    let metrics = timer.metrics();
    assert_eq!((metrics.queued, metrics.live), (0, 3));
    assert!(metrics.turns > turns);
}

#[test]
fn the_levels_show_where_the_timers_lie() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let _first = armed(&timer, Duration::from_nanos(1));
    let _near = armed(&timer, Duration::from_nanos(3 << 20));
    let _far: Vec<Sleep> = (0..5).map(|_| armed(&timer, 1000 * HOUR)).collect();
    clock.advance(Duration::from_nanos(1));
    let metrics = timer.metrics();
    let finest = metrics.levels[0];
    assert_eq!(finest.bucket, Duration::from_nanos(1 << 20));
    assert_eq!(finest.span, metrics.levels[1].bucket);
    assert_eq!(finest.entries, 1);
    let place = finest.occupied.trailing_zeros();
    assert!((3..=4).contains(&place), "bucket {place}");
    let entries: u64 = metrics.levels.iter().map(|level| level.entries).sum();
    assert_eq!(entries, 6);
    let coarsest = metrics.levels.last().unwrap();
    assert_eq!((coarsest.entries, coarsest.occupied.count_ones()), (5, 1));
    assert!(coarsest.span > 1000 * HOUR);
    assert_eq!(metrics.cascades, 0);
    // Near its time it is moved down, level by level or at once.
    clock.advance(1000 * HOUR - MILLI);
    drop(armed(&timer, Duration::from_nanos(1)));
    clock.advance(2 * MILLI);
    let metrics = timer.metrics();
    assert!(metrics.nodes >= 7);
    assert!(metrics.bytes > metrics.nodes * 48);
    assert_eq!(metrics.fired, 7);
}

/// What one bucket of the second level covers.
const COARSE: Duration = Duration::from_nanos(1 << 26);

/// A clock that stands where such a bucket begins.
fn clock_at_a_coarse_bucket() -> ManualClock {
    // A grid of that size has its points there.
    let grid = Timer::builder().coalesce(COARSE).build_manual();
    let _probe = armed(&grid.timer(), MILLI);
    Timer::builder().build_manual_at(grid.next_deadline().unwrap())
}

/// They share a bucket of the second level: the time of one comes, and the others are placed on the
/// first level.
#[test]
fn what_a_turn_places_lower_is_a_cascade() {
    let clock = clock_at_a_coarse_bucket();
    let timer = clock.timer();
    let _sleeps: Vec<Sleep> = (0..6)
        .map(|n| armed(&timer, 50 * COARSE + n * MILLI))
        .collect();
    clock.advance(MILLI);
    let before = timer.metrics();
    assert_eq!((before.cascades, before.levels[1].entries), (0, 6));
    clock.advance(50 * COARSE - MILLI);
    let after = timer.metrics();
    assert_eq!((after.fired, after.levels[0].entries), (1, 5));
    assert_eq!(after.cascades, 5);
}

/// Many that share one are placed lower in portions, before its time comes.
#[test]
fn what_a_turn_places_lower_ahead_of_time_is_a_cascade_as_well() {
    let clock = clock_at_a_coarse_bucket();
    let timer = clock.timer();
    let _sleeps: Vec<Sleep> = (0..600)
        .map(|_| armed(&timer, 51 * COARSE - MILLI))
        .collect();
    clock.advance(49 * COARSE);
    assert_eq!(
        (timer.metrics().cascades, timer.metrics().levels[1].entries),
        (0, 600)
    );
    for _ in 0..60 {
        clock.advance(MILLI);
    }
    let metrics = timer.metrics();
    assert_eq!(metrics.levels[1].entries, 600 - metrics.cascades);
    assert_eq!(metrics.levels[0].entries, metrics.cascades);
    assert!(metrics.cascades > 100, "{metrics}");
}

/// What the counts of threads take is part of what a timer holds.
#[test]
fn each_thread_that_uses_a_timer_at_the_same_time_takes_memory_for_its_counts() {
    const THREADS: usize = 4;
    let clock = ManualClock::new();
    let timer = clock.timer();
    let sleeps: Vec<Sleep> = (0..THREADS).map(|_| armed(&timer, HOUR)).collect();
    let before = timer.metrics();
    let counted = Barrier::new(THREADS + 1);
    let looked_at = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for mut sleep in sleeps {
            scope.spawn(|| {
                // Takes a count and no node.
                sleep.set_deadline(sleep.deadline() + HOUR);
                counted.wait();
                looked_at.wait();
                drop(sleep);
            });
        }
        counted.wait();
        let during = timer.metrics();
        looked_at.wait();
        assert_eq!(during.resets, THREADS as u64);
        assert_eq!(during.nodes, before.nodes);
        assert!(during.bytes >= before.bytes + 32 * THREADS as u64);
    });
}

#[test]
fn lateness_is_zero_where_the_clock_stops_at_each_deadline() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let _sleeps: Vec<Sleep> = (1..=5).map(|n| armed(&timer, n * MILLI)).collect();
    clock.advance(HOUR);
    let lateness = timer.metrics().lateness;
    assert_eq!((lateness.count(), lateness.max()), (5, Duration::ZERO));
    // No alarm of its own has gone off.
    assert_eq!(timer.metrics().wake_ups, 0);
}

#[tokio::test(start_paused = true)]
async fn lateness_is_from_the_deadline_to_the_turn() {
    let timer = Timer::current();
    let _sleeps: Vec<Sleep> = (1..=4).map(|n| armed(&timer, n * MILLI)).collect();
    tokio::time::advance(101 * MILLI).await;
    let metrics = timer.metrics();
    assert_eq!(ends(&metrics), [4, 4, 0, 0]);
    let lateness = metrics.lateness;
    assert_eq!((lateness.count(), lateness.max()), (4, 100 * MILLI));
    assert_eq!(lateness.mean(), Duration::from_micros(98_500));
    assert_eq!(metrics.wake_ups, 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_timer_is_never_woken_and_a_lone_one_once() {
    let timer = Timer::current();
    tokio::time::sleep(HOUR).await;
    assert_eq!(timer.metrics().wake_ups, 0);
    sleep(10 * HOUR).await;
    tokio::time::sleep(HOUR).await;
    assert_eq!(timer.metrics().wake_ups, 1);
}

#[tokio::test]
async fn a_timer_that_its_own_poll_finds_due_has_fired() {
    let timer = Timer::current();
    let mut sleep = armed(&timer, 2 * MILLI);
    // Nobody can turn the wheel meanwhile.
    thread::sleep(10 * MILLI);
    // Not so late that the poll turns it: that is at three milliseconds, so move the bell first.
    assert!(poll(&mut sleep).is_ready());
    let metrics = timer.metrics();
    assert_eq!(ends(&metrics), [1, 1, 0, 0]);
    assert!(metrics.lateness.count() <= 1);
}

#[tokio::test(start_paused = true)]
async fn scheduled_work_counts_each_round_and_work_moved_to_the_past_has_fired() {
    let timer = Timer::current();
    let moved = timer.schedule(HOUR, async {});
    assert!(moved.reschedule(timer.now()));
    assert!(moved.await.is_fired());
    assert_eq!(ends(&timer.metrics()), [1, 1, 0, 0]);
    let series = timer.schedule_every(HOUR, || async {});
    sleep(3 * HOUR + MILLI).await;
    assert!(series.cancel());
    // Three rounds and the one that was cancelled, and the sleep.
    assert_eq!(ends(&timer.metrics()), [6, 5, 1, 0]);
}

#[test]
fn a_timer_with_a_thread_of_its_own_counts_its_alarms() {
    let timer = Timer::builder().dedicated_thread().build().unwrap();
    for _ in 0..3 {
        futures::executor::block_on(timer.sleep(MILLI));
    }
    let metrics = timer.metrics();
    assert_eq!((metrics.created, metrics.fired), (3, 3));
    assert!((1..=6).contains(&metrics.wake_ups), "{}", metrics.wake_ups);
}

#[tokio::test(start_paused = true)]
async fn the_cost_of_exact_cancel_and_released_wakers_does_not_change_what_is_counted() {
    for builder in [
        Timer::builder().exact_cancel(true),
        Timer::builder().release_wakers(true),
        Timer::builder().coalesce(7 * MILLI),
    ] {
        let timer = builder.build().unwrap();
        let mut sleeps: Vec<Sleep> = (1..=6).map(|n| armed(&timer, n * HOUR)).collect();
        drop(sleeps.split_off(4));
        sleeps[3].set_deadline(timer.now() + MILLI);
        tokio::time::sleep(HOUR + 8 * MILLI).await;
        assert_eq!(ends(&timer.metrics()), [6, 2, 2, 2]);
        assert_eq!(timer.metrics().resets, 1);
    }
}

/// Looks at a timer while it is woken by it.
struct Looks {
    timer: Timer,
    fired: AtomicU64,
}

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        self.fired
            .store(self.timer.metrics().fired, Ordering::Relaxed);
    }
}

#[test]
fn a_waker_may_look() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let looks = Arc::new(Looks {
        timer: timer.clone(),
        fired: AtomicU64::new(0),
    });
    let waker = Waker::from(Arc::clone(&looks));
    let mut sleep = pin!(timer.sleep(MILLI));
    assert!(
        sleep
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    clock.advance(MILLI);
    assert_eq!(looks.fired.load(Ordering::Relaxed), 1);
}

#[test]
fn counts_that_grow_are_never_seen_to_shrink_while_threads_use_the_timer() {
    let timer = Timer::builder().dedicated_thread().build().unwrap();
    let stop = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (timer, stop) = (timer.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                let mut made = 0_u64;
                while stop.load(Ordering::Relaxed) == 0 {
                    let mut sleep = armed(&timer, HOUR);
                    sleep.set_deadline(sleep.deadline() + MILLI);
                    drop(sleep);
                    futures::executor::block_on(timer.sleep(Duration::from_micros(10)));
                    made += 1;
                }
                made
            })
        })
        .collect();
    let mut before = timer.metrics();
    for _ in 0..2_000 {
        let now = timer.metrics();
        for (then, now) in [
            (before.created, now.created),
            (before.fired, now.fired),
            (before.cancelled, now.cancelled),
            (before.resets, now.resets),
            (before.turns, now.turns),
            (before.wake_ups, now.wake_ups),
            (before.lateness.count(), now.lateness.count()),
        ] {
            assert!(then <= now, "{then} and then {now}");
        }
        assert!(now.live <= 4, "{}", now.live);
        before = now;
    }
    stop.store(1, Ordering::Relaxed);
    let made: u64 = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    let metrics = timer.metrics();
    // A sleep so short may be due at its first poll.
    assert_eq!(
        (metrics.cancelled, metrics.resets, metrics.live),
        (made, made, 0)
    );
    assert!((made..=2 * made).contains(&metrics.created));
    assert_adds_up(&metrics);
}

mod model {
    //! Any sequence of operations, compared with plain numbers.

    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Arm(u64),
        Drop(usize),
        Move(usize, u64),
        Poll(usize),
        Advance(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let nanos = || prop_oneof![0_u64..50, 0_u64..5_000_000, 0_u64..1 << 50];
        prop_oneof![
            4 => nanos().prop_map(Step::Arm),
            2 => any::<usize>().prop_map(Step::Drop),
            2 => (any::<usize>(), nanos()).prop_map(|(which, nanos)| Step::Move(which, nanos)),
            1 => any::<usize>().prop_map(Step::Poll),
            2 => nanos().prop_map(Step::Advance),
        ]
    }

    /// A sleep, and what the model knows of it.
    struct Timed {
        sleep: Sleep,
        /// Armed and not fired.
        waits: bool,
        /// It has a node: armed, and neither polled after firing nor completed otherwise.
        has_node: bool,
    }

    proptest! {
        #[test]
        fn every_sequence_of_operations_adds_up(steps in proptest::collection::vec(step(), 1..120)) {
            let clock = ManualClock::new();
            let timer = clock.timer();
            let mut all: Vec<Timed> = Vec::new();
            let [mut created, mut fired, mut cancelled, mut resets] = [0_u64; 4];
            for step in steps {
                match step {
                    Step::Arm(nanos) => {
                        let mut sleep = timer.sleep(Duration::from_nanos(nanos));
                        let waits = poll(&mut sleep).is_pending();
                        created += u64::from(waits);
                        all.push(Timed { sleep, waits, has_node: waits });
                    }
                    Step::Drop(which) if !all.is_empty() => {
                        let timed = all.swap_remove(which % all.len());
                        cancelled += u64::from(timed.waits);
                    }
                    Step::Move(which, nanos) if !all.is_empty() => {
                        let len = all.len();
                        let timed = &mut all[which % len];
                        let deadline = clock.now() + Duration::from_nanos(nanos);
                        resets += u64::from(timed.has_node);
                        timed.sleep.set_deadline(deadline);
                        if timed.waits && deadline <= clock.now() {
                            // Earlier than anything: the turn that the move asks for fires it.
                            timed.waits = false;
                            fired += 1;
                        }
                    }
                    Step::Poll(which) if !all.is_empty() => {
                        let len = all.len();
                        let timed = &mut all[which % len];
                        let pending = poll(&mut timed.sleep).is_pending();
                        if pending && !timed.waits {
                            created += 1;
                        } else if !pending && timed.waits {
                            fired += 1;
                        }
                        timed.waits = pending;
                        timed.has_node = pending;
                    }
                    Step::Advance(nanos) => {
                        clock.advance(Duration::from_nanos(nanos));
                        for timed in all.iter_mut().filter(|timed| timed.waits) {
                            if timed.sleep.deadline() <= clock.now() {
                                timed.waits = false;
                                fired += 1;
                            }
                        }
                    }
                    _ => {}
                }
                let live = all.iter().filter(|timed| timed.waits).count() as u64;
                let metrics = timer.metrics();
                prop_assert_eq!(ends(&metrics), [created, fired, cancelled, live]);
                prop_assert_eq!(metrics.resets, resets);
                prop_assert_eq!(clock.pending() as u64, live);
            }
        }
    }
}
