//! Faults that delay queues have had in practice, asked of the channel, and those about runtimes
//! and bounds of either queue. The numbers are those of the project's list of acceptance cases.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read the clock they control"
)]
#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

#[path = "common/drive.rs"]
mod drive;

use std::collections::HashSet;
use std::thread;

use cogwheel::DelayQueue;
use cogwheel::delay_queue::{
    Drain, Expired, Key, Receiver, Sender, TryInsertError, channel, channel_bounded,
};
use drive::{LONG, ms, one_thread, paused, watched};
use futures::StreamExt;
use tokio::time::{Duration, Instant, advance, sleep_until};

#[tokio::test(start_paused = true)]
async fn case_009_a_sender_that_puts_an_item_before_the_first_is_heard_in_time() {
    let (sender, mut receiver) = channel();
    let start = Instant::now();
    sender.insert("a", ms(100));
    let consumer = tokio::spawn(async move {
        let first = receiver.recv().await.unwrap().into_inner();
        (first, start.elapsed())
    });
    tokio::task::yield_now().await;
    sender.insert("b", ms(10));
    assert_eq!(consumer.await.unwrap(), ("b", ms(10)));
}

#[tokio::test(start_paused = true)]
async fn case_010_removing_the_last_item_of_a_closed_channel_ends_every_wait() {
    let (sender, receiver) = channel();
    let key = sender.insert("only", LONG);
    receiver.close();
    let consumers: Vec<_> = (0..3)
        .map(|_| {
            let mut receiver = receiver.clone();
            tokio::spawn(async move { receiver.recv().await })
        })
        .collect();
    tokio::task::yield_now().await;
    let start = Instant::now();
    assert!(sender.remove(&key).is_some());
    for consumer in consumers {
        assert!(consumer.await.unwrap().is_none());
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn case_011_a_reset_to_the_past_wakes_and_yields_with_the_clock_unmoved() {
    let (sender, mut receiver) = channel();
    advance(ms(2_000)).await;
    let key = sender.insert("item", ms(60_000));
    let consumer = tokio::spawn(async move { receiver.recv().await.unwrap().into_inner() });
    tokio::task::yield_now().await;
    let now = Instant::now();
    assert!(sender.reset_at(&key, now - ms(1_000)));
    assert_eq!(consumer.await.unwrap(), "item");
    assert_eq!(Instant::now(), now);
}

#[tokio::test(start_paused = true)]
async fn case_043_a_lost_select_loses_no_item_and_doubles_none() {
    let (sender, mut receiver) = channel();
    let (mut won, mut lost) = (0, 0);
    for round in 0..1_000_u32 {
        let deadline = Instant::now() + ms(10);
        sender.insert_at(round, deadline);
        let item = tokio::select! {
            expired = receiver.recv() => expired,
            () = sleep_until(deadline) => None,
        };
        let item = match item {
            Some(item) => {
                won += 1;
                item
            }
            None => {
                lost += 1;
                assert_eq!(sender.len(), 1);
                receiver.recv().await.unwrap()
            }
        };
        assert_eq!(item.into_inner(), round);
        assert!(sender.is_empty());
    }
    assert!(won > 0 && lost > 0, "won {won}, lost {lost}");
}

#[tokio::test(start_paused = true)]
async fn case_044_removing_what_was_received_gives_none_as_often_as_one_asks() {
    let (sender, mut receiver) = channel();
    let key = sender.insert("item", Duration::ZERO);
    assert_eq!(receiver.recv().await.unwrap().key(), key);
    for _ in 0..3 {
        assert!(sender.remove(&key).is_none());
        assert!(!sender.reset(&key, ms(1)));
    }
}

#[tokio::test(start_paused = true)]
async fn case_047_another_receiver_is_woken_after_the_first_was_aborted() {
    let (sender, receiver) = channel();
    sender.insert("item", ms(50));
    let consumer = || {
        let mut receiver = receiver.clone();
        tokio::spawn(async move { receiver.recv().await.unwrap().into_inner() })
    };
    let (first, second) = (consumer(), consumer());
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(second.await.unwrap(), "item");
}

#[test]
fn case_058_queues_are_made_and_dropped_without_a_runtime_and_awaited_in_one_later() {
    let mut queue = DelayQueue::new();
    queue.insert("first", ms(1));
    let (sender, mut receiver) = channel();
    sender.insert("second", ms(1));
    drop((DelayQueue::<u32>::new(), channel::<u32>(), sender));
    watched(move || {
        one_thread().block_on(async {
            assert_eq!(queue.next().await.unwrap().into_inner(), "first");
            assert_eq!(receiver.recv().await.unwrap().into_inner(), "second");
            assert!(receiver.recv().await.is_none());
        });
    });
}

#[test]
fn case_059_queues_first_used_in_a_runtime_that_has_ended_work_in_two_others() {
    let mut queue = DelayQueue::new();
    let (sender, mut receiver) = channel();
    paused().block_on(async {
        queue.insert(0, ms(1));
        assert_eq!(queue.next().await.unwrap().into_inner(), 0);
        sender.insert(0, ms(1));
        assert_eq!(receiver.recv().await.unwrap().into_inner(), 0);
        // Both wait in it when it ends.
        queue.insert(1, ms(5));
        sender.insert(1, ms(5));
        assert!(futures::poll!(queue.next()).is_pending());
        assert!(futures::poll!(receiver.next()).is_pending());
    });
    watched(move || {
        let mut second = receiver.clone();
        let other = thread::spawn(move || {
            one_thread().block_on(async {
                queue.insert(2, ms(1));
                assert_eq!(queue.len(), 2);
                let all: Vec<_> = queue.map(Expired::into_inner).collect().await;
                (all, second.recv().await.map(Expired::into_inner))
            })
        });
        let mine = one_thread().block_on(async {
            sender.insert(2, ms(1));
            drop(sender);
            receiver.recv().await.map(Expired::into_inner)
        });
        let (all, others) = other.join().unwrap();
        assert_eq!(HashSet::from_iter(all), HashSet::from([1, 2]));
        // Two items, two receivers, whoever was first.
        assert_eq!(
            HashSet::from([mine, others]),
            HashSet::from([Some(1), Some(2)])
        );
    });
}

#[test]
fn case_061_queues_that_left_their_runtime_are_dropped_on_any_thread() {
    let runtime = paused();
    let (queue, channel) = runtime.block_on(async {
        let mut queue = DelayQueue::new();
        queue.insert(1, LONG);
        let (sender, mut receiver) = channel();
        sender.insert(1, LONG);
        assert!(futures::poll!(queue.next()).is_pending());
        assert!(futures::poll!(receiver.next()).is_pending());
        (queue, (sender, receiver))
    });
    drop(runtime);
    thread::spawn(move || drop((queue, channel)))
        .join()
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn case_077_a_burst_comes_once_each_in_batches_of_ten() {
    const ITEMS: usize = 100_000;
    let (sender, mut receiver) = channel();
    let deadline = Instant::now() + ms(1);
    for item in 0..ITEMS {
        sender.insert_at(item, deadline);
    }
    drop(sender);
    advance(ms(1)).await;
    let mut batch = Vec::with_capacity(10);
    let mut next = 0;
    while receiver.recv_many(&mut batch, 10).await > 0 {
        for item in batch.drain(..) {
            assert_eq!(item.into_inner(), next);
            next += 1;
        }
        advance(ms(1)).await;
    }
    assert_eq!((next, batch.capacity()), (ITEMS, 10));
}

#[tokio::test(start_paused = true)]
async fn case_079_equal_values_with_equal_deadlines_are_four_items() {
    let (sender, receiver) = channel();
    let deadline = Instant::now() + ms(5);
    let keys: Vec<Key> = (0..4).map(|_| sender.insert_at("same", deadline)).collect();
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 4);
    assert!(sender.remove(&keys[2]).is_some());
    drop(sender);
    let come: Vec<Key> = receiver.map(|item| item.key()).collect().await;
    assert_eq!(come, [keys[0], keys[1], keys[3]]);
}

#[tokio::test(start_paused = true)]
async fn case_087_the_key_of_a_received_item_is_harmless_when_its_slot_is_in_use_again() {
    let (sender, mut receiver) = channel();
    sender.insert("job", Duration::ZERO);
    let job = receiver.recv().await.unwrap();
    let start = Instant::now();
    sender.insert_at("other", start + ms(10));
    assert!(sender.remove(&job.key()).is_none());
    assert!(!sender.reset(&job.key(), Duration::ZERO));
    assert_eq!(receiver.recv().await.unwrap().into_inner(), "other");
    assert_eq!(start.elapsed(), ms(10));
}

#[test]
fn case_093_the_types_of_queues_are_as_shareable_as_their_items() {
    fn check<T: Send + Sync + 'static>() {}
    check::<DelayQueue<u32>>();
    check::<Sender<u32>>();
    check::<Receiver<u32>>();
    check::<Expired<u32>>();
    check::<Drain<'static, u32>>();
    check::<TryInsertError<u32>>();
    check::<Key>();
}

#[tokio::test(start_paused = true)]
async fn case_101_a_full_queue_counts_what_is_due_and_gives_the_value_back() {
    let (sender, mut receiver) = channel_bounded(3);
    for delay in [0, 10_000, 20_000] {
        sender.insert(delay, ms(delay));
    }
    advance(ms(1_000)).await;
    assert_eq!((sender.len(), sender.is_full()), (3, true));
    assert_eq!(sender.try_insert(7, ms(1)), Err(TryInsertError::Full(7)));
    assert_eq!(sender.len(), 3);
    assert_eq!(receiver.try_recv().unwrap().into_inner(), 0);
    assert_eq!((sender.len(), sender.is_full()), (2, false));
    assert!(sender.try_insert(7, ms(1)).is_ok());
    assert!(sender.is_full());
}
