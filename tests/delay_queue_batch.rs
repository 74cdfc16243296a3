//! Batches, `retain` and `drain` of the `DelayQueue`: whom they wake, and what foreign code cannot
//! break. What they take is compared with a model in `delay_queue_model.rs`.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read the clock they control"
)]
#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use cogwheel::DelayQueue;
use cogwheel::delay_queue::Expired;
use tokio::time::{Duration, Instant, advance, sleep};
use tokio_test::task::{self, Spawn};
use tokio_test::{assert_pending, assert_ready_eq};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A queue with items `0..count`, due in as many milliseconds.
fn queue(count: u64) -> Spawn<DelayQueue<u64>> {
    let mut queue = task::spawn(DelayQueue::new());
    for item in 0..count {
        queue.insert(item, ms(item));
    }
    queue
}

fn poll_many(
    queue: &mut Spawn<DelayQueue<u64>>,
    buffer: &mut Vec<Expired<u64>>,
    limit: usize,
) -> Poll<usize> {
    queue.enter(|cx, mut queue| queue.poll_expired_many(cx, buffer, limit))
}

fn wait<T>(queue: &mut Spawn<DelayQueue<T>>) {
    assert!(
        queue
            .enter(|cx, mut queue| queue.poll_expired(cx))
            .is_pending()
    );
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_what_is_due_and_no_more_than_the_limit() {
    let mut queue = queue(10);
    let mut batch = Vec::new();
    advance(ms(6)).await;
    assert_ready_eq!(poll_many(&mut queue, &mut batch, 4), 4);
    assert_ready_eq!(poll_many(&mut queue, &mut batch, 4), 3);
    assert_pending!(poll_many(&mut queue, &mut batch, 4));
    let items: Vec<_> = batch.iter().map(|item| *item.get_ref()).collect();
    assert_eq!(items, [0, 1, 2, 3, 4, 5, 6]);

    sleep(ms(1)).await;
    assert!(queue.is_woken());
    assert_ready_eq!(poll_many(&mut queue, &mut batch, 4), 1);
}

#[tokio::test(start_paused = true)]
async fn an_empty_batch_means_the_end_or_a_limit_of_zero() {
    let mut queue = queue(1);
    let mut batch = Vec::new();
    assert_ready_eq!(poll_many(&mut queue, &mut batch, 0), 0);
    assert_eq!(queue.len(), 1);
    assert_ready_eq!(poll_many(&mut queue, &mut batch, 5), 1);
    assert_ready_eq!(poll_many(&mut queue, &mut batch, 5), 0);

    // And it was told so: an item is news.
    queue.insert(1, ms(5));
    assert!(queue.is_woken());
}

#[tokio::test(start_paused = true)]
async fn a_whole_batch_is_one_step_of_the_task() {
    let mut queue = DelayQueue::new();
    for item in 0..10_000 {
        queue.insert(item, ms(1));
    }
    sleep(ms(1)).await;
    let mut batch = Vec::new();
    // One poll of this task, whose budget is far below that many items.
    let polled =
        std::future::poll_fn(|cx| Poll::Ready(queue.poll_expired_many(cx, &mut batch, usize::MAX)));
    assert_eq!(polled.await, Poll::Ready(10_000));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_was_not_awaited_loses_nothing() {
    let mut queue = queue(0);
    let mut batch = Vec::new();
    for item in 0..100 {
        queue.insert(item, ms(5));
        let first = tokio::time::timeout(ms(item % 10), queue.next_many(&mut batch, 8)).await;
        match first {
            Ok(taken) => assert_eq!(taken, 1),
            Err(_) => assert_eq!(queue.next_many(&mut batch, 8).await, 1),
        }
        assert!(queue.is_empty());
    }
    let items: Vec<_> = batch.into_iter().map(Expired::into_inner).collect();
    assert!(items.iter().copied().eq(0..100));
}

#[tokio::test(start_paused = true)]
async fn only_a_sweep_that_leaves_nothing_wakes_the_poller() {
    let mut queue = queue(0);
    for item in 1..=10 {
        queue.insert(item, ms(item));
    }
    wait(&mut queue);
    queue.retain(|_, _, item| *item != 1);
    queue.retain(|_, _, item| *item != 5);
    assert!(!queue.is_woken());
    queue.retain(|_, _, _| false);
    assert!(queue.is_woken());
    wait_for_the_end(&mut queue);

    queue.insert(1, ms(1));
    wait(&mut queue);
    drop(queue.drain());
    assert!(queue.is_woken());
    wait_for_the_end(&mut queue);
    queue.retain(|_, _, _| false);
    drop(queue.drain());
    assert!(!queue.is_woken());
}

fn wait_for_the_end(queue: &mut Spawn<DelayQueue<u64>>) {
    let polled = queue.enter(|cx, mut queue| queue.poll_expired(cx));
    assert!(matches!(polled, Poll::Ready(None)));
}

#[tokio::test(start_paused = true)]
async fn what_a_sweep_changes_comes_out_changed() {
    let mut queue = queue(3);
    queue.retain(|_, deadline, item| {
        *item += 10;
        deadline > Instant::now()
    });
    let items: Vec<_> = queue.drain().map(Expired::into_inner).collect();
    assert_eq!(items, [11, 12]);
}

#[tokio::test(start_paused = true)]
async fn a_drained_queue_keeps_its_room_and_its_keys_stay_dead() {
    let mut queue = queue(100);
    let capacity = queue.capacity();
    let keys: Vec<_> = queue.iter().map(|(key, ..)| key).collect();
    let now = Instant::now();
    advance(ms(50)).await;
    {
        let mut drain = queue.drain();
        assert_eq!(drain.len(), 100);
        let first = drain.next().unwrap();
        assert_eq!((first.deadline(), *first.get_ref()), (now, 0));
        assert!(keys.contains(&first.key()));
        assert_eq!(drain.size_hint(), (99, Some(99)));
    }
    assert_eq!((queue.len(), queue.capacity()), (0, capacity));
    for item in 0..100 {
        let key = queue.insert(item, ms(item));
        assert!(!keys.contains(&key));
    }
    assert!(keys.iter().all(|key| queue.try_remove(key).is_none()));
    assert_eq!(queue.len(), 100);
    // Time goes on where it was, not at the end of the drain.
    wait_until_empty(&mut queue).await;
    assert_eq!(now.elapsed(), ms(50 + 99));
}

async fn wait_until_empty(queue: &mut Spawn<DelayQueue<u64>>) {
    while !queue.is_empty() {
        let next = queue.next_deadline().unwrap();
        tokio::time::sleep_until(next).await;
        assert!(queue.pop_expired().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_leaked_drain_leaves_an_empty_queue_in_order() {
    let mut queue = queue(10);
    let stale = queue.peek().unwrap();
    let mut drain = queue.drain();
    drain.next();
    #[allow(clippy::mem_forget, reason = "that is what this is about")]
    std::mem::forget(drain);
    assert!(queue.is_empty());
    assert!(queue.try_remove(&stale).is_none());

    let key = queue.insert(7, ms(1));
    assert_ne!(key, stale);
    wait(&mut queue);
    sleep(ms(1)).await;
    assert_eq!(queue.pop_expired().unwrap().into_inner(), 7);
}

struct Bomb(Arc<AtomicUsize>, bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(!self.1, "an item that panics in its drop");
    }
}

fn bombs(dropped: &Arc<AtomicUsize>, live: u64) -> DelayQueue<Bomb> {
    let mut queue = DelayQueue::new();
    for item in 0..100 {
        queue.insert(Bomb(dropped.clone(), item == live), ms(item));
    }
    queue
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_sweep_leaves_the_rest_in_the_queue() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut queue = bombs(&dropped, 50);
    let swept = catch_unwind(AssertUnwindSafe(|| queue.retain(|_, _, _| false)));
    assert!(swept.is_err());
    let gone = dropped.load(Ordering::Relaxed);
    assert_eq!(queue.len(), 100 - gone);
    assert_eq!(queue.iter().count(), 100 - gone);

    let mut asked = 0;
    let swept = catch_unwind(AssertUnwindSafe(|| {
        queue.retain(|_, _, _| {
            asked += 1;
            assert!(asked <= 10, "a predicate that panics");
            false
        });
    }));
    assert!(swept.is_err());
    assert_eq!(queue.len(), 90 - gone);
    assert_eq!(queue.drain().count(), 90 - gone);
    assert_eq!(dropped.load(Ordering::Relaxed), 100);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_panics_in_the_drop_of_a_drain_takes_nothing_with_it() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut queue = bombs(&dropped, 50);
    let drained = catch_unwind(AssertUnwindSafe(|| drop(queue.drain())));
    assert!(drained.is_err());
    assert_eq!(dropped.load(Ordering::Relaxed), 100);
    assert!(queue.is_empty());
    let key = queue.insert(Bomb(dropped, false), ms(1));
    sleep(ms(1)).await;
    assert_eq!(queue.pop_expired().unwrap().key(), key);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_waker_on_top_of_a_panicking_sweep_is_survived() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics");
        }
    }
    let waker = Waker::from(Arc::new(Panics));
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut queue = DelayQueue::new();
    queue.insert(Bomb(dropped.clone(), true), ms(5));
    assert!(
        queue
            .poll_expired(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let swept = catch_unwind(AssertUnwindSafe(|| queue.retain(|_, _, _| false)));
    let text = swept.unwrap_err();
    assert_eq!(
        text.downcast_ref(),
        Some(&"an item that panics in its drop")
    );

    queue.insert(Bomb(dropped, false), ms(5));
    assert!(
        queue
            .poll_expired(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let drained = catch_unwind(AssertUnwindSafe(|| drop(queue.drain())));
    assert!(drained.is_err());
    assert!(queue.is_empty());
}
