//! Faults that delay queues have had in practice, each as a small case with its right answer.
//!
//! The numbers are those of the project's list of acceptance cases. All run under a paused clock.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read the clock they control"
)]

use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::Poll;

use cogwheel::delay_queue::Key;
use cogwheel::{DelayQueue, delay_queue::Expired};
use futures::StreamExt;
use tokio::time::{Duration, Instant, advance, sleep, sleep_until};
use tokio_test::task::{self, Spawn};
use tokio_test::{assert_pending, assert_ready};

type Queue<T> = Spawn<DelayQueue<T>>;

fn queue<T>() -> Queue<T> {
    task::spawn(DelayQueue::new())
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn poll<T>(queue: &mut Queue<T>) -> Poll<Option<Expired<T>>> {
    queue.enter(|cx, mut queue| queue.poll_expired(cx))
}

/// The item that must be due now.
fn due<T>(queue: &mut Queue<T>) -> T {
    match poll(queue) {
        Poll::Ready(Some(expired)) => expired.into_inner(),
        Poll::Ready(None) => panic!("the queue is empty"),
        Poll::Pending => panic!("nothing is due"),
    }
}

fn assert_end<T>(queue: &mut Queue<T>) {
    assert!(assert_ready!(poll(queue)).is_none(), "an item is left");
}

#[tokio::test(start_paused = true)]
async fn case_009_an_insertion_before_the_first_item_wakes_in_time() {
    let mut queue = queue();
    queue.insert("a", ms(100));
    assert_pending!(poll(&mut queue));

    queue.insert("b", ms(10));
    advance(ms(10)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "b");
    assert_pending!(poll(&mut queue));

    sleep(ms(90)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "a");
}

#[tokio::test(start_paused = true)]
async fn case_010_removing_the_last_item_wakes_the_consumer_to_its_new_answer() {
    let queue = std::sync::Arc::new(Mutex::new(DelayQueue::new()));
    let key = queue.lock().unwrap().insert("only", secs(100));

    let consumer = tokio::spawn({
        let queue = queue.clone();
        async move { poll_fn(|cx| queue.lock().unwrap().poll_expired(cx)).await }
    });
    tokio::task::yield_now().await;
    let start = Instant::now();
    queue.lock().unwrap().remove(&key);

    assert!(consumer.await.unwrap().is_none());
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn case_011_a_reset_to_the_past_wakes_and_yields_with_the_clock_unmoved() {
    let mut queue = queue();
    sleep(secs(2)).await;
    let key = queue.insert("item", secs(60));
    assert_pending!(poll(&mut queue));

    let now = Instant::now();
    queue.reset_at(&key, now - secs(1));
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "item");
    assert_eq!(Instant::now(), now);
}

#[tokio::test(start_paused = true)]
async fn case_012_a_reset_into_a_coarser_slot_that_has_begun_is_still_woken_for() {
    let mut queue = queue();
    let start = Instant::now();
    let key = queue.insert_at("item", start + ms(100));
    assert_pending!(poll(&mut queue));
    sleep_until(start + ms(80)).await;

    queue.reset_at(&key, start + ms(120));
    sleep_until(start + ms(119)).await;
    if queue.is_woken() {
        assert_pending!(poll(&mut queue));
    }
    sleep_until(start + ms(120)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "item");
}

#[tokio::test(start_paused = true)]
async fn case_021_a_deadline_three_years_away_is_exact() {
    let mut queue = queue();
    let delay = secs(99_999_999);
    let start = Instant::now();
    let key = queue.insert("item", delay);
    assert_eq!(queue.deadline(&key), start + delay);

    advance(delay - ms(1)).await;
    assert_pending!(poll(&mut queue));
    advance(ms(1)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "item");
}

#[tokio::test(start_paused = true)]
async fn case_034_a_reset_to_almost_now_is_woken_for_from_every_first_deadline() {
    sleep(ms(1)).await;
    for first in (65..=255).chain([200]) {
        let mut queue = queue();
        let start = Instant::now() - ms(1);
        let key = queue.insert_at("item", start + ms(first));
        assert_pending!(poll(&mut queue));
        sleep_until(start + ms(4)).await;

        queue.reset_at(&key, start + ms(5));
        sleep_until(start + ms(5)).await;
        assert!(queue.is_woken(), "first deadline {first} ms");
        sleep_until(start + ms(24)).await;
        assert_eq!(due(&mut queue), "item");
        sleep(ms(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn case_035_items_due_at_a_coarse_slot_can_be_reset_and_removed_before_they_are_polled() {
    for delay in [ms(64), ms(128), ms(64 * 64), Duration::from_nanos(1 << 26)] {
        let mut queue = queue();
        let start = Instant::now();
        queue.insert_at(1, start + delay);
        let second = queue.insert_at(2, start + delay);
        let third = queue.insert_at(3, start + delay);
        assert_pending!(poll(&mut queue));
        sleep_until(start + delay).await;

        assert_eq!(due(&mut queue), 1);
        queue.reset_at(&second, start + delay + ms(100));
        assert_eq!(queue.remove(&third).into_inner(), 3);
        assert_pending!(poll(&mut queue));

        sleep_until(start + delay + ms(99)).await;
        assert_pending!(poll(&mut queue));
        sleep_until(start + delay + ms(100)).await;
        assert_eq!(due(&mut queue), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn case_043_a_lost_select_loses_no_item_and_doubles_none() {
    let (mut won, mut lost) = (0, 0);
    let mut queue = DelayQueue::new();
    for round in 0..1_000_u32 {
        let deadline = Instant::now() + ms(10);
        queue.insert_at(round, deadline);
        let item = tokio::select! {
            expired = queue.next() => expired.map(Expired::into_inner),
            () = sleep_until(deadline) => None,
        };
        let item = match item {
            Some(item) => {
                won += 1;
                item
            }
            None => {
                lost += 1;
                assert_eq!(queue.len(), 1);
                queue.next().await.unwrap().into_inner()
            }
        };
        assert_eq!(item, round);
        assert!(queue.is_empty());
    }
    assert!(won > 0 && lost > 0, "won {won}, lost {lost}");
}

#[tokio::test(start_paused = true)]
async fn case_044_removing_what_was_yielded_gives_none_as_often_as_one_asks() {
    let mut queue = queue();
    let key = queue.insert("item", Duration::ZERO);
    assert_eq!(due(&mut queue), "item");
    for _ in 0..3 {
        assert!(queue.try_remove(&key).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn case_047_the_task_that_polled_last_is_woken_after_the_first_was_aborted() {
    let queue = std::sync::Arc::new(Mutex::new(DelayQueue::new()));
    queue.lock().unwrap().insert("item", ms(50));
    let consumer = || {
        let queue = queue.clone();
        tokio::spawn(async move { poll_fn(|cx| queue.lock().unwrap().poll_expired(cx)).await })
    };
    let a = consumer();
    tokio::task::yield_now().await;
    a.abort();
    assert!(a.await.unwrap_err().is_cancelled());

    let b = consumer();
    assert_eq!(b.await.unwrap().unwrap().into_inner(), "item");
}

#[tokio::test(start_paused = true)]
async fn case_068_items_wait_for_a_consumer_that_sleeps_through_their_deadlines() {
    let mut queue = queue();
    queue.insert(10, ms(10));
    queue.insert(20, ms(20));
    for _ in 0..3 {
        advance(ms(10)).await;
    }
    assert_eq!(due(&mut queue), 10);
    assert_eq!(due(&mut queue), 20);
    assert_end(&mut queue);
}

#[tokio::test(start_paused = true)]
async fn case_072_an_overdue_head_comes_before_near_and_far_items() {
    let mut queue = queue();
    queue.insert("overdue", ms(10));
    advance(ms(20)).await;
    let far = queue.insert("far", Duration::MAX);
    queue.insert("near", ms(1));

    assert_eq!(due(&mut queue), "overdue");
    assert_pending!(poll(&mut queue));
    sleep(ms(1)).await;
    assert_eq!(due(&mut queue), "near");
    assert_pending!(poll(&mut queue));
    assert_eq!(queue.peek(), Some(far));
}

#[tokio::test(start_paused = true)]
async fn case_077_a_burst_is_yielded_once_each_by_a_consumer_that_takes_ten_per_tick() {
    const ITEMS: usize = 100_000;
    let mut queue = DelayQueue::with_capacity(ITEMS);
    let deadline = Instant::now() + ms(1);
    for item in 0..ITEMS {
        queue.insert_at(item, deadline);
    }
    let capacity = queue.capacity();
    advance(ms(1)).await;
    let mut next = 0;
    while !queue.is_empty() {
        for _ in 0..10 {
            // First in, first out.
            assert_eq!(queue.next().await.unwrap().into_inner(), next);
            next += 1;
        }
        advance(ms(1)).await;
        assert_eq!(queue.capacity(), capacity);
    }
    assert_eq!(next, ITEMS);
}

#[tokio::test(start_paused = true)]
async fn case_079_equal_values_with_equal_deadlines_are_four_items() {
    let mut queue = queue();
    let deadline = Instant::now() + ms(5);
    let keys: Vec<Key> = (0..4).map(|_| queue.insert_at("same", deadline)).collect();
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 4);

    queue.remove(&keys[2]);
    advance(ms(5)).await;
    for key in [keys[0], keys[1], keys[3]] {
        assert_eq!(assert_ready!(poll(&mut queue)).unwrap().key(), key);
    }
    assert_end(&mut queue);
}

#[tokio::test(start_paused = true)]
async fn case_083_compaction_keeps_keys_and_frees_memory_cycle_after_cycle() {
    let mut queue = DelayQueue::new();
    let mut dead = HashSet::new();
    for _cycle in 0..5 {
        let keys: Vec<Key> = (0..10_000).map(|n| queue.insert(n, secs(60))).collect();
        let peak = queue.capacity();
        let mut kept = Vec::new();
        for (n, key) in keys.iter().enumerate() {
            if n % 100 == 0 {
                kept.push((n, *key));
            } else {
                assert_eq!(queue.remove(key).into_inner(), n);
                dead.insert(*key);
            }
        }
        queue.shrink_to_fit();
        queue.compact();
        assert_eq!(queue.capacity(), 100);
        assert!(queue.capacity() < peak);

        for (n, key) in &kept {
            assert_eq!(queue.get(key), Some(n));
        }
        for (_, key) in &kept[..30] {
            queue.reset(key, secs(30));
        }
        for (n, key) in &kept[30..60] {
            assert_eq!(queue.remove(key).into_inner(), *n);
            dead.insert(*key);
        }
        let live: HashSet<Key> = kept.iter().map(|(_, key)| *key).collect();
        for n in 0..1_000 {
            let key = queue.insert(n, secs(90));
            assert!(!dead.contains(&key) && !live.contains(&key));
        }
        let start = Instant::now();
        let mut yielded = Vec::new();
        while let Some(expired) = queue.next().await {
            assert!(!dead.contains(&expired.key()));
            dead.insert(expired.key());
            yielded.push(start.elapsed());
        }
        assert_eq!(yielded.len(), 70 + 1_000);
        assert!(yielded.is_sorted());
        assert_eq!(yielded[29], secs(30));
        assert_eq!(yielded[69], secs(60));
        assert_eq!(yielded[70], secs(90));
    }
}

#[tokio::test(start_paused = true)]
async fn case_084_capacity_is_constant_under_a_million_turnovers() {
    let mut queue = DelayQueue::new();
    for n in 0..16 {
        let key = queue.insert(n, secs(1));
        queue.remove(&key);
    }
    let capacity = queue.capacity();
    for n in 0..500_000 {
        let key = queue.insert(n, secs(3_600));
        queue.remove(&key);
    }
    for n in 0..100_000 {
        queue.insert(n, Duration::ZERO);
        assert_eq!(queue.next().await.unwrap().into_inner(), n);
    }
    for n in 0..1_000 {
        queue.insert(n, ms(1));
        assert_eq!(queue.next().await.unwrap().into_inner(), n);
    }
    assert_eq!(queue.capacity(), capacity);

    let queue = Mutex::new(queue);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..50_000 {
                    let mut queue = queue.lock().unwrap();
                    let key = queue.insert(n, secs(3_600));
                    assert_eq!(queue.remove(&key).into_inner(), n);
                }
            });
        }
    });
    assert_eq!(queue.lock().unwrap().capacity(), capacity);
}

#[tokio::test(start_paused = true)]
async fn case_085_a_stale_or_foreign_key_reaches_no_other_item() {
    let (mut a, mut b) = (queue(), queue());
    let k1 = a.insert("one", Duration::ZERO);
    assert_eq!(due(&mut a), "one");
    let start = Instant::now();
    let k2 = a.insert_at("two", start + ms(10));
    // The same age and the same slot as the item of `k2`, in its own queue.
    let kb = b.insert_at("one", start);
    b.remove(&kb);
    let kb = b.insert_at("other", start + ms(20));

    assert!(k1 != k2 && k2 != kb && k1 != kb);
    for key in [k1, kb] {
        assert!(a.try_remove(&key).is_none());
        assert!(!a.try_reset(&key, secs(1)));
        assert!(!a.try_reset_at(&key, start));
        assert_eq!(a.try_deadline(&key), None);
        assert_eq!(a.remaining(&key), None);
        assert_eq!(a.get(&key), None);
        assert_eq!(a.get_mut(&key), None);
    }
    assert_eq!(a.deadline(&k2), start + ms(10));
    assert_eq!(b.deadline(&kb), start + ms(20));
    assert_pending!(poll(&mut a));
    sleep(ms(10)).await;
    assert_eq!(due(&mut a), "two");
}

#[tokio::test(start_paused = true)]
async fn case_085_keys_stay_dead_after_the_queue_was_cleared() {
    let mut queue = queue();
    let old: Vec<Key> = (0..10).map(|n| queue.insert(n, ms(10))).collect();
    queue.clear();
    let new: Vec<Key> = (0..10).map(|n| queue.insert(n, ms(20))).collect();
    for (old, new) in old.iter().zip(&new) {
        assert_ne!(old, new);
        assert!(queue.try_remove(old).is_none());
    }
    assert_eq!(queue.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn case_086_only_the_last_state_of_a_reused_slot_counts() {
    let mut queue = queue();
    let start = Instant::now();
    let first = queue.insert_at("first", start + ms(10));
    queue.remove(&first);
    let second = queue.insert_at("second", start + ms(10));
    queue.reset_at(&second, start + ms(30));
    queue.reset_at(&second, start + ms(20));

    assert_pending!(poll(&mut queue));
    sleep_until(start + ms(19)).await;
    assert_pending!(poll(&mut queue));
    sleep_until(start + ms(20)).await;
    assert_eq!(due(&mut queue), "second");
    assert_end(&mut queue);
}

#[tokio::test(start_paused = true)]
async fn case_087_the_key_of_a_yielded_item_is_harmless_when_its_slot_is_in_use_again() {
    let mut queue = queue();
    queue.insert("job", Duration::ZERO);
    let job = assert_ready!(poll(&mut queue)).unwrap();
    let start = Instant::now();
    let other = queue.insert_at("other", start + ms(10));

    assert!(queue.try_remove(&job.key()).is_none());
    assert!(!queue.try_reset(&job.key(), Duration::ZERO));
    assert_eq!(queue.try_deadline(&job.key()), None);
    assert_eq!(queue.deadline(&other), start + ms(10));
    assert_eq!(queue.get(&other), Some(&"other"));
}

#[tokio::test(start_paused = true)]
async fn case_099_a_clock_that_has_run_for_long_changes_nothing() {
    const DAY: u64 = 86_400;
    let uptimes = [
        Duration::from_millis(u64::from(u32::MAX)) - secs(10),
        Duration::from_millis(u64::from(u32::MAX / 2)) - secs(10),
        secs(800 * DAY),
        secs(300 * 365 * DAY),
    ];
    let mut old = queue();
    for uptime in uptimes {
        advance(uptime).await;
        for queue in [&mut old, &mut queue()] {
            let start = Instant::now();
            let key = queue.insert("item", secs(5));
            assert_eq!(queue.deadline(&key), start + secs(5));
            assert_pending!(poll(queue));
            sleep(secs(5) - ms(1)).await;
            assert_pending!(poll(queue));
            sleep(ms(1)).await;
            assert!(queue.is_woken());
            assert_eq!(due(queue), "item");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_101_len_counts_items_until_they_are_yielded() {
    let mut queue = queue();
    for delay in [0, 10, 20] {
        queue.insert(delay, secs(delay));
    }
    advance(secs(1)).await;
    assert_eq!(queue.len(), 3);
    assert_eq!(due(&mut queue), 0);
    assert_eq!(queue.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_102_views_show_deadlines_as_they_were_set() {
    let mut queue = queue();
    let start = Instant::now();
    let odd = Duration::from_nanos(1_234_567);
    let first = queue.insert_at("first", start + odd);
    let second = queue.insert_at("second", start + secs(10) + odd);
    advance(secs(1)).await;

    for _ in 0..2 {
        assert_eq!(queue.peek(), Some(first));
        assert_eq!(queue.next_deadline(), Some(start + odd));
        assert_eq!(queue.deadline(&first), start + odd);
        assert_eq!(queue.deadline(&second), start + secs(10) + odd);
        // The second time round the wheel has turned, and nothing has been yielded.
        queue.insert_at("overdue", start);
        assert_eq!(due(&mut queue), "overdue");
    }
    let expired = assert_ready!(poll(&mut queue)).unwrap();
    assert_eq!(expired.deadline(), start + odd);
    queue.reset_at(&second, start + ms(2));
    assert_eq!(queue.deadline(&second), start + ms(2));
    assert_eq!(queue.next_deadline(), Some(start + ms(2)));
}
