//! Handles of scheduled work: cancelled, replaced and dropped in great numbers, counted by a clock
//! that is moved by hand.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use cogwheel::delay_queue::Key;
use cogwheel::{DelayQueue, ManualClock, Timer};
use futures::StreamExt;

use crate::drive::ms;
use crate::{default_clock, secs, until};

/// With debug assertions a tenth of them will do.
const MANY: usize = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};

on_both! {
    async fn case_042_cancels_from_four_threads_and_starts_add_up_and_leave_nothing_pending() {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let runs = Arc::new(AtomicUsize::new(0));
        let works: Vec<_> = (0..MANY)
            .map(|n| {
                let runs = runs.clone();
                let delay = Duration::from_micros(u64::try_from(n % 5_000).unwrap() + 1);
                timer.schedule(delay, async move { _ = runs.fetch_add(1, Ordering::AcqRel) })
            })
            .collect();
        assert_eq!(clock.pending(), MANY);
        let cancelled = tokio::task::spawn_blocking({
            let clock = clock.clone();
            move || {
                let cancels = AtomicUsize::new(0);
                std::thread::scope(|scope| {
                    for part in works.chunks(MANY / 4) {
                        let cancels = &cancels;
                        scope.spawn(move || {
                            let won = part.iter().step_by(2).filter(|work| work.cancel()).count();
                            cancels.fetch_add(won, Ordering::AcqRel);
                        });
                    }
                    // They expire at the same time.
                    for _ in 0..50 {
                        clock.advance(ms(5) / 50);
                        std::thread::yield_now();
                    }
                });
                clock.advance(ms(5));
                cancels.into_inner()
            }
        })
        .await
        .unwrap();
        assert_eq!(clock.pending(), 0);
        until(|| runs.load(Ordering::Acquire) + cancelled >= MANY).await;
        assert_eq!(runs.load(Ordering::Acquire) + cancelled, MANY);
        assert!(cancelled > 0 && cancelled <= MANY / 2 + 2);
        clock.advance(secs(3_600));
        assert_eq!(clock.pending(), 0);
    }
}

on_both! {
    async fn case_080_cancelled_works_release_what_they_hold_and_none_stays_pending() {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let mut held: Vec<Weak<[u8; 1_024]>> = Vec::with_capacity(MANY / 10);
        let works: Vec<_> = (0..MANY / 10)
            .map(|_| {
                let captured = Arc::new([0_u8; 1_024]);
                held.push(Arc::downgrade(&captured));
                timer.schedule(secs(3_600), async move { drop(captured) })
            })
            .collect();
        assert_eq!(clock.pending(), MANY / 10);
        assert!(held.iter().all(|weak| weak.strong_count() == 1));
        for work in &works {
            assert!(work.cancel());
        }
        assert!(held.iter().all(|weak| weak.strong_count() == 0), "before any turn");
        assert_eq!(clock.pending(), 0);
        assert_eq!(clock.advance(NS_OF_A_TICK).fired, 0);
        assert_eq!(clock.next_deadline(), None);
    }
}

const NS_OF_A_TICK: Duration = ms(1);

on_both! {
    async fn case_082_a_replaced_handle_detaches_and_one_that_was_told_so_cancels() {
        for (cancelling, expected) in [(false, 1_000), (true, 1)] {
            let clock = ManualClock::new();
            let runs = Arc::new(AtomicUsize::new(0));
            let mut by_id = HashMap::new();
            for _ in 0..1_000 {
                let ran = runs.clone();
                let count = async move { _ = ran.fetch_add(1, Ordering::AcqRel) };
                let work = clock.timer().schedule(secs(600), count);
                by_id.insert("the same", if cancelling { work.cancel_on_drop() } else { work });
            }
            assert_eq!(clock.pending(), expected);
            assert_eq!(clock.advance(secs(600)).fired, expected);
            until(|| runs.load(Ordering::Acquire) == expected).await;
            assert_eq!(clock.pending(), 0);
        }
    }
}

on_both! {
    /// The other kinds of handle: a series goes by the same rule as work that runs once, and a
    /// future is its own handle.
    async fn case_082_a_dropped_series_goes_on_and_a_dropped_future_does_not() {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let rounds = Arc::new(AtomicUsize::new(0));
        let series = |timer: &Timer| {
            let rounds = rounds.clone();
            timer.schedule_every(secs(1), move || {
                rounds.fetch_add(1, Ordering::AcqRel);
                async {}
            })
        };
        drop(series(&timer).cancel_on_drop());
        assert_eq!(clock.pending(), 0);
        drop(series(&timer));
        assert_eq!(clock.pending(), 1);
        for round in 1..=3 {
            clock.advance(secs(1));
            until(|| rounds.load(Ordering::Acquire) == round).await;
            until(|| clock.pending() == 1).await;
        }
        let sleep = crate::armed(&timer, secs(10));
        assert_eq!(clock.pending(), 2);
        drop(sleep);
        assert_eq!(clock.pending(), 1);
    }
}

/// Keys are no handles: dropping one does nothing.
#[test]
fn case_082_a_dropped_key_leaves_its_item_in_the_queue() {
    let mut queue = DelayQueue::new();
    for n in 0..1_000 {
        let _ = queue.insert(n, secs(600));
    }
    assert_eq!(queue.len(), 1_000);
}

/// Takes all that is in the queue, each item at its time; how long after now each came.
async fn drained(clock: &ManualClock, mut queue: DelayQueue<u64>) -> (DelayQueue<u64>, Vec<Came>) {
    let start = clock.now();
    let timer = clock.timer();
    let consumer = tokio::spawn(async move {
        let mut came = Vec::new();
        while let Some(item) = queue.next().await {
            came.push((timer.now() - start, item.key(), item.into_inner()));
        }
        (queue, came)
    });
    while !consumer.is_finished() {
        clock.advance_to_next();
        tokio::task::yield_now().await;
    }
    consumer.await.unwrap()
}

type Came = (Duration, Key, u64);

on_both! {
    async fn case_083_keys_outlive_compaction_and_none_comes_back() {
        let clock = default_clock();
        let mut queue = DelayQueue::new();
        let mut dead = HashSet::new();
        for _cycle in 0..5 {
            let keys: Vec<Key> = (0..10_000).map(|n| queue.insert(n, secs(60))).collect();
            assert!(keys.iter().all(|key| !dead.contains(key)));
            let mut kept = Vec::new();
            for (n, key) in (0..).zip(keys) {
                if n % 100 == 0 {
                    kept.push((n, key));
                } else {
                    assert_eq!(queue.remove(&key).into_inner(), n);
                    dead.insert(key);
                }
            }
            queue.compact();
            assert!((100..1_000).contains(&queue.capacity()), "{}", queue.capacity());
            for (n, key) in &kept {
                assert_eq!(queue.get(key), Some(n));
            }
            for (_, key) in &kept[..30] {
                queue.reset(key, secs(30));
            }
            for (n, key) in kept.drain(30..60) {
                assert_eq!(queue.remove(&key).into_inner(), n);
                dead.insert(key);
            }
            let expected = (0..).zip(kept).map(|(place, (n, key))| {
                (secs(if place < 30 { 30 } else { 60 }), key, n)
            });
            let mut expected: Vec<Came> = expected.collect();
            for n in 0..1_000 {
                let key = queue.insert(n, secs(90));
                assert!(!dead.contains(&key));
                expected.push((secs(90), key, n));
            }
            let came;
            (queue, came) = drained(&clock, queue).await;
            assert_eq!(came, expected);
            dead.extend(came.iter().map(|&(_, key, _)| key));
        }
    }
}

#[test]
fn case_084_a_queue_of_one_item_keeps_its_capacity_through_millions_of_turnovers() {
    const TURNOVERS: usize = 10 * MANY;
    let mut queue = DelayQueue::new();
    let turn = |queue: &mut DelayQueue<usize>, n: usize| {
        let overdue = n.is_multiple_of(2);
        let delay = if overdue { Duration::ZERO } else { secs(3_600) };
        let key = queue.insert(n, delay);
        let item = match overdue {
            true => queue.pop_expired(),
            false => queue.try_remove(&key),
        };
        assert_eq!(item.map(|item| item.into_inner()), Some(n));
    };
    for n in 0..100 {
        turn(&mut queue, n);
    }
    let capacity = queue.capacity();
    for n in 0..TURNOVERS {
        turn(&mut queue, n);
    }
    assert_eq!(queue.capacity(), capacity);
}
