//! The channel of delay queues through its public face: who is woken, how it ends, waiting for
//! room, foreign code, runtimes. Nearly all under a paused clock.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read the clock they control"
)]
#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

#[path = "common/drive.rs"]
mod drive;

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use cogwheel::delay_queue::{
    Expired, Receiver, SendError, Sender, TryInsertError, TryRecvError, channel, channel_bounded,
};
use drive::{LONG, Wakes, acting, acting_last, ms, paused, poll, text_of, wait, watched};
use futures::StreamExt;
use futures::stream::FusedStream;
use tokio::time::{Duration, Instant, advance, sleep, sleep_until, timeout};

type Recv<'a, T> = Pin<Box<dyn Future<Output = Option<Expired<T>>> + 'a>>;

/// Receivers that wait, each with a waker that counts.
struct Crowd<'a, T> {
    waiting: Vec<(Recv<'a, T>, Arc<Wakes>, Waker)>,
}

fn crowd<'a, T: Send + 'static>(
    receivers: impl IntoIterator<Item = &'a mut Receiver<T>>,
) -> Crowd<'a, T> {
    let mut waiting = Vec::new();
    for receiver in receivers {
        let mut recv: Recv<'a, T> = Box::pin(receiver.recv());
        let (wakes, waker) = Wakes::new();
        assert!(poll(&mut recv, &waker).is_pending());
        waiting.push((recv, wakes, waker));
    }
    Crowd { waiting }
}

impl<T> Crowd<'_, T> {
    fn wakes(&self) -> Vec<usize> {
        self.waiting
            .iter()
            .map(|(_, wakes, _)| wakes.count())
            .collect()
    }

    fn total(&self) -> usize {
        self.wakes().iter().sum()
    }

    fn poll(&mut self, index: usize) -> Poll<Option<T>> {
        let (recv, _, waker) = &mut self.waiting[index];
        poll(recv, waker).map(|item| item.map(Expired::into_inner))
    }

    /// The index of the receiver that was woken since its count was `before`.
    fn woken_since(&self, before: &[usize]) -> usize {
        let woken: Vec<_> = (0..before.len())
            .filter(|&index| self.wakes()[index] != before[index])
            .collect();
        assert_eq!(woken.len(), 1, "{before:?} {:?}", self.wakes());
        woken[0]
    }
}

fn receivers<T, const N: usize>(receiver: Receiver<T>) -> [Receiver<T>; N] {
    let all = std::array::from_fn(|_| receiver.clone());
    drop(receiver);
    all
}

// Order, and who is woken

#[tokio::test(start_paused = true)]
async fn items_come_in_the_order_of_deadlines_then_of_insertion() {
    let (sender, mut receiver) = channel();
    let start = Instant::now();
    let delays = [30, 10, 20, 10, 0, 30];
    for (n, delay) in delays.into_iter().enumerate() {
        sender.insert_at(n, start + ms(delay));
    }
    drop(sender);
    let mut order = Vec::new();
    while let Some(item) = receiver.recv().await {
        assert!(Instant::now() >= item.deadline());
        order.push(item.into_inner());
    }
    assert_eq!(order, [4, 1, 3, 2, 0, 5]);
}

#[tokio::test(start_paused = true)]
async fn an_item_before_all_others_wakes_one_receiver_and_other_items_wake_none() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 3] = receivers(receiver);
    let mut crowd = crowd(&mut receivers);
    sender.insert("b", ms(50));
    assert_eq!(crowd.wakes(), [1, 0, 0]);
    // On its way to the queue: it will see everything.
    sender.insert("a", ms(40));
    assert_eq!(crowd.total(), 1);
    assert!(crowd.poll(0).is_pending());

    sender.insert("c", ms(60));
    sender.insert("c", ms(40));
    assert_eq!(crowd.total(), 1);
    sender.insert("first", ms(30));
    assert_eq!(crowd.wakes(), [1, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_becomes_due_wakes_one_receiver() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 3] = receivers(receiver);
    for n in 1..=6 {
        sender.insert(n, ms(10 * n));
    }
    let mut crowd = crowd(&mut receivers);
    assert_eq!(crowd.total(), 0);
    for n in 1..=3 {
        let before = crowd.wakes();
        sleep(ms(10)).await;
        let woken = crowd.woken_since(&before);
        assert_eq!(crowd.poll(woken), Poll::Ready(Some(n)));
        // The others go on waiting; none of them was needed to set the alarm.
        assert_eq!(crowd.total(), before.iter().sum::<usize>() + 1);
        drop(crowd.waiting.swap_remove(woken));
        assert_eq!(crowd.total(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn of_items_that_become_due_together_each_wakes_one_receiver() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 4] = receivers(receiver);
    let deadline = Instant::now() + ms(10);
    for n in 0..3 {
        sender.insert_at(n, deadline);
    }
    let mut crowd = crowd(&mut receivers);
    sleep(ms(10)).await;
    for n in 0..3 {
        assert_eq!(crowd.total(), n + 1);
        assert_eq!(crowd.poll(n), Poll::Ready(Some(n)));
    }
    assert_eq!(crowd.wakes(), [1, 1, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_woken_receiver_that_is_dropped_passes_the_wake_on() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 3] = receivers(receiver);
    let mut crowd = crowd(&mut receivers);
    // Woken to set the alarm.
    sender.insert(1, ms(10));
    assert_eq!(crowd.wakes(), [1, 0, 0]);
    drop(crowd.waiting.remove(0));
    assert_eq!(crowd.wakes(), [1, 0]);
    assert!(crowd.poll(0).is_pending());

    // Woken to take the item.
    sleep(ms(10)).await;
    assert_eq!(crowd.total(), 2);
    let woken = crowd.woken_since(&[1, 0]);
    drop(crowd.waiting.remove(woken));
    assert_eq!(crowd.wakes(), [2]);
    assert_eq!(crowd.poll(0), Poll::Ready(Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_leaves_takes_no_alarm_with_it() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 3] = receivers(receiver);
    sender.insert(1, ms(10));
    let mut crowd = crowd(&mut receivers);
    // The first has armed it.
    drop(crowd.waiting.remove(0));
    drop(crowd.waiting.remove(0));
    assert_eq!(crowd.total(), 0);
    sleep(ms(10)).await;
    assert_eq!(crowd.wakes(), [1]);
    assert_eq!(crowd.poll(0), Poll::Ready(Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_dropped_or_used_otherwise_gives_its_place_up() {
    let (sender, receiver) = channel();
    let [mut stream, mut other]: [_; 2] = receivers(receiver);
    let (stream_wakes, waker) = Wakes::new();
    assert!(
        stream
            .poll_recv(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut crowd = crowd([&mut other]);
    sender.insert(1, ms(10));
    assert_eq!(stream_wakes.count(), 1);
    assert_eq!(crowd.total(), 0);
    assert_eq!(stream.try_recv().unwrap_err(), TryRecvError::Empty);
    assert_eq!(crowd.total(), 1);
    assert!(crowd.poll(0).is_pending());

    sender.insert(0, ms(5));
    assert_eq!(crowd.total(), 2);
    assert!(crowd.poll(0).is_pending());
    assert!(
        stream
            .poll_recv(&mut Context::from_waker(&waker))
            .is_pending()
    );
    drop(stream);
    sleep(ms(5)).await;
    assert_eq!(crowd.total(), 3);
    assert_eq!(crowd.poll(0), Poll::Ready(Some(0)));
}

#[tokio::test(start_paused = true)]
async fn putting_off_and_removing_the_first_item_wakes_nobody() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 2] = receivers(receiver);
    let start = Instant::now();
    let first = sender.insert("first", ms(10));
    let removed = sender.insert("removed", ms(5));
    let mut crowd = crowd(&mut receivers);
    assert!(sender.remove(&removed).is_some());
    for _ in 0..100 {
        sleep(ms(9)).await;
        assert!(sender.reset(&first, ms(10)));
    }
    assert_eq!(crowd.total(), 0);
    sleep_until(start + ms(909)).await;
    assert_eq!(crowd.total(), 0);
    sleep_until(start + ms(910)).await;
    assert_eq!(crowd.total(), 1);
    let woken = crowd.woken_since(&[0, 0]);
    assert_eq!(crowd.poll(woken), Poll::Ready(Some("first")));
}

#[tokio::test(start_paused = true)]
async fn a_reset_to_earlier_wakes_one_receiver_in_time() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 2] = receivers(receiver);
    let start = Instant::now();
    let key = sender.insert("item", ms(100));
    let mut crowd = crowd(&mut receivers);
    assert!(sender.reset_at(&key, start + ms(20)));
    assert_eq!(crowd.total(), 1);
    assert!(crowd.poll(0).is_pending());
    sleep(ms(20)).await;
    assert_eq!(crowd.total(), 2);
    assert!(sender.reset_at(&key, start - ms(1)));
    let woken = crowd.woken_since(&[1, 0]);
    let item = crowd.poll(woken);
    assert_eq!(item, Poll::Ready(Some("item")));
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_what_is_due_and_at_most_64() {
    let (sender, mut receiver) = channel();
    for n in 0..100 {
        sender.insert(n, ms(1));
    }
    sender.insert(100, ms(2));
    drop(sender);
    let mut batch = Vec::new();
    assert_eq!(receiver.recv_many(&mut batch, 0).await, 0);
    assert_eq!(receiver.recv_many(&mut batch, 10).await, 10);
    assert_eq!(receiver.recv_many(&mut batch, usize::MAX).await, 64);
    assert_eq!(receiver.recv_many(&mut batch, usize::MAX).await, 26);
    assert_eq!(receiver.recv_many(&mut batch, usize::MAX).await, 1);
    assert_eq!(receiver.recv_many(&mut batch, usize::MAX).await, 0);
    let items: Vec<_> = batch.into_iter().map(Expired::into_inner).collect();
    assert!(items.into_iter().eq(0..=100));
}

// The end

#[tokio::test(start_paused = true)]
async fn when_all_senders_are_gone_what_waits_still_comes_and_then_the_end_for_everybody() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 3] = receivers(receiver);
    sender.insert(1, ms(10));
    let second = sender.clone();
    let mut crowd = crowd(&mut receivers);
    drop(sender);
    drop(second);
    assert_eq!(crowd.total(), 0);
    sleep(ms(10)).await;
    let woken = crowd.woken_since(&[0, 0, 0]);
    assert_eq!(crowd.poll(woken), Poll::Ready(Some(1)));
    drop(crowd.waiting.remove(woken));
    assert_eq!(crowd.wakes(), [1, 1]);
    assert_eq!(crowd.poll(0), Poll::Ready(None));
    assert_eq!(crowd.poll(1), Poll::Ready(None));
}

#[tokio::test(start_paused = true)]
async fn receivers_of_an_empty_queue_see_the_last_sender_go() {
    let (sender, receiver) = channel::<u32>();
    let mut receivers: [_; 2] = receivers(receiver);
    let mut crowd = crowd(&mut receivers);
    drop(sender.clone());
    assert_eq!(crowd.total(), 0);
    drop(sender);
    assert_eq!(crowd.wakes(), [1, 1]);
    assert_eq!(crowd.poll(0), Poll::Ready(None));
    assert_eq!(crowd.poll(1), Poll::Ready(None));
}

#[tokio::test(start_paused = true)]
async fn a_closed_channel_turns_senders_away_and_gives_what_it_has() {
    let (sender, mut receiver) = channel_bounded(2);
    let first = sender.insert("first", ms(10));
    sender.insert("second", ms(20));
    let blocked = tokio::spawn({
        let sender = sender.clone();
        async move { sender.send("blocked", ms(1)).await }
    });
    let end = tokio::spawn({
        let sender = sender.clone();
        async move { sender.closed().await }
    });
    tokio::task::yield_now().await;
    assert!(!sender.is_closed() && !receiver.is_closed() && sender.is_full());
    receiver.close();
    receiver.clone().close();
    assert!(sender.is_closed() && receiver.is_closed());
    assert_eq!(blocked.await.unwrap(), Err(SendError("blocked")));
    end.await.unwrap();
    assert_eq!(
        sender.try_insert("late", ms(1)),
        Err(TryInsertError::Closed("late"))
    );
    assert_eq!(sender.send("late", ms(1)).await, Err(SendError("late")));
    sender.closed().await;

    // What waits is still the senders' to change.
    assert!(sender.reset(&first, ms(30)));
    assert_eq!(receiver.recv().await.unwrap().into_inner(), "second");
    let mut clone = receiver.clone();
    let mut crowd = crowd([&mut clone, &mut receiver]);
    assert!(sender.remove(&first).is_some());
    assert_eq!(crowd.wakes(), [1, 1]);
    assert_eq!(crowd.poll(1), Poll::Ready(None));
}

/// Tells by its count how many of it are alive.
type Counted = Arc<()>;

#[tokio::test(start_paused = true)]
async fn when_all_receivers_are_gone_what_waits_is_dropped_and_senders_get_theirs_back() {
    let counted = Counted::default();
    let (sender, mut receiver) = channel_bounded(3);
    for delay in [0, 10, 20] {
        sender.insert(counted.clone(), ms(delay));
    }
    receiver.recv().await.unwrap();
    sender.insert(counted.clone(), ms(30));
    let mut pending = Box::pin(sender.send(counted.clone(), ms(1)));
    let (wakes, waker) = Wakes::new();
    assert!(poll(&mut pending, &waker).is_pending());
    // Its alarm is armed, and holds the channel.
    assert!(poll(&mut Box::pin(receiver.recv()), Waker::noop()).is_pending());
    assert_eq!(Arc::strong_count(&counted), 5);

    drop(receiver);
    assert_eq!(Arc::strong_count(&counted), 2);
    assert_eq!(wakes.count(), 1);
    assert!(pending.await.is_err());
    assert!(
        sender
            .try_insert(counted.clone(), ms(1))
            .unwrap_err()
            .is_closed()
    );
    assert_eq!(Arc::strong_count(&counted), 1);
    assert!(sender.is_empty());
}

#[tokio::test(start_paused = true)]
async fn dropping_both_sides_in_any_order_drops_what_waits() {
    for sender_first in [true, false] {
        let counted = Counted::default();
        let (sender, mut receiver) = channel();
        sender.insert(counted.clone(), LONG);
        assert!(poll(&mut Box::pin(receiver.recv()), Waker::noop()).is_pending());
        if sender_first {
            drop(sender);
            assert_eq!(Arc::strong_count(&counted), 2);
            drop(receiver);
        } else {
            drop(receiver);
            drop(sender);
        }
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_receiver_is_a_stream_that_ends_for_good() {
    let (sender, mut receiver) = channel();
    sender.insert(2, ms(2));
    sender.insert(1, ms(1));
    assert!(!receiver.is_terminated());
    drop(sender);
    let items: Vec<_> = receiver.by_ref().map(Expired::into_inner).collect().await;
    assert_eq!(items, [1, 2]);
    assert!(receiver.is_terminated());
    assert!(receiver.next().await.is_none());
}

// Waiting for room

#[tokio::test(start_paused = true)]
async fn senders_are_served_in_the_order_in_which_they_came() {
    let (sender, mut receiver) = channel_bounded(2);
    sender.insert(0, ms(1));
    sender.insert(1, ms(2));
    let wakers: Vec<_> = (0..4).map(|_| Wakes::new()).collect();
    let mut sends: Vec<_> = (2..6)
        .map(|n| Box::pin(sender.send(n, ms(10 + n))))
        .collect();
    for (send, (_, waker)) in sends.iter_mut().zip(&wakers) {
        assert!(poll(send, waker).is_pending());
    }
    let woken = || {
        wakers
            .iter()
            .map(|(wakes, _)| wakes.count())
            .collect::<Vec<_>>()
    };

    assert_eq!(receiver.recv().await.unwrap().into_inner(), 0);
    assert_eq!(woken(), [1, 0, 0, 0]);
    // The room is the first's: nobody else gets it.
    assert!(sender.is_full());
    assert!(sender.try_insert(9, ms(1)).unwrap_err().is_full());
    assert!(poll(&mut sends[1], &wakers[1].1).is_pending());
    assert!(poll(&mut sends[0], &wakers[0].1).is_ready());

    assert_eq!(receiver.recv().await.unwrap().into_inner(), 1);
    assert_eq!(woken(), [1, 1, 0, 0]);
    // One that was given room and is dropped passes it on; one that waits just leaves.
    drop(sends.remove(2));
    drop(sends.remove(1));
    assert_eq!(woken(), [1, 1, 0, 1]);
    assert!(poll(&mut sends[1], &wakers[3].1).is_ready());
    drop(sends);

    assert_eq!(receiver.recv().await.unwrap().into_inner(), 2);
    assert_eq!(receiver.recv().await.unwrap().into_inner(), 5);
    assert!(sender.is_empty() && !sender.is_full());
}

#[tokio::test(start_paused = true)]
async fn removing_an_item_makes_room_and_waiting_moves_no_deadline() {
    let (sender, mut receiver) = channel_bounded(1);
    let start = Instant::now();
    let key = sender.insert("first", LONG);
    let send = tokio::spawn({
        let sender = sender.clone();
        async move { sender.send("second", ms(10)).await }
    });
    sleep(ms(50)).await;
    assert!(sender.remove(&key).is_some());
    let key = send.await.unwrap().unwrap();
    let item = receiver.recv().await.unwrap();
    assert_eq!((item.key(), item.deadline()), (key, start + ms(10)));
    assert_eq!(start.elapsed(), ms(50));
}

#[tokio::test(start_paused = true)]
async fn a_refused_item_comes_back_and_what_is_due_still_takes_up_room() {
    let (sender, mut receiver) = channel_bounded(3);
    assert_eq!(
        (sender.capacity(), channel::<u32>().0.capacity()),
        (Some(3), None)
    );
    for n in 0..3 {
        sender.try_insert(n, ms(10 * n)).unwrap();
    }
    advance(ms(5)).await;
    assert_eq!(
        (sender.len(), receiver.len(), sender.is_full()),
        (3, 3, true)
    );
    assert_eq!(sender.try_insert(9, ms(1)), Err(TryInsertError::Full(9)));
    assert_eq!(receiver.try_recv().unwrap().into_inner(), 0);
    assert!(sender.try_insert_at(9, Instant::now() - ms(1)).is_ok());
    assert_eq!(receiver.next_deadline(), Some(Instant::now() - ms(1)));
    assert_eq!(receiver.try_recv().unwrap().into_inner(), 9);
    assert_eq!(receiver.try_recv().unwrap_err(), TryRecvError::Empty);
}

#[test]
fn a_capacity_of_zero_and_an_insertion_in_vain_panic_at_the_caller() {
    thread_local!(static PLACE: RefCell<Option<String>> = const { RefCell::new(None) });
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PLACE.set(info.location().map(|place| place.file().to_owned()));
        previous(info);
    }));
    let check = |call: &dyn Fn(), text| {
        assert_eq!(text_of(call), text);
        assert_eq!(PLACE.take().as_deref(), Some(file!()));
    };
    check(
        &|| drop(channel_bounded::<u32>(0)),
        "a delay queue's capacity must not be zero",
    );
    let (sender, receiver) = channel_bounded(1);
    sender.insert(1, ms(1));
    check(&|| _ = sender.insert(2, ms(1)), "the delay queue is full");
    drop(receiver);
    check(
        &|| _ = sender.insert_at(2, Instant::now()),
        "the delay queue is closed",
    );
}

// Keys

#[tokio::test(start_paused = true)]
async fn a_stale_or_foreign_key_reaches_nothing() {
    let (sender, mut receiver) = channel();
    let (other, _other_receiver) = channel();
    let stale = sender.insert("stale", Duration::ZERO);
    receiver.recv().await.unwrap();
    let live = sender.insert("live", ms(10));
    let foreign = other.insert("other", ms(10));
    let foreign_second = other.insert("other", ms(10));
    assert_ne!(stale, live);
    for key in [stale, foreign, foreign_second] {
        assert!(sender.remove(&key).is_none());
        assert!(!sender.reset(&key, ms(1)));
        assert!(!sender.reset_at(&key, Instant::now()));
    }
    assert_eq!((sender.len(), other.len()), (1, 2));
    let start = Instant::now();
    assert_eq!(receiver.recv().await.unwrap().key(), live);
    assert_eq!(start.elapsed(), ms(10));
    assert!(sender.same_channel(&sender.clone()) && !sender.same_channel(&other));
}

// Foreign code

/// An item whose drop uses the channel that it is in.
struct Meddler(Arc<Mutex<Option<Sender<Self>>>>);

impl Drop for Meddler {
    fn drop(&mut self) {
        if let Some(sender) = &*self.0.lock().unwrap() {
            let _ = (sender.len(), sender.is_closed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn items_and_wakers_may_use_the_channel_whenever_they_run() {
    let slot = Arc::new(Mutex::new(None));
    let (sender, mut receiver) = channel_bounded(2);
    *slot.lock().unwrap() = Some(sender.clone());
    let key = sender.insert(Meddler(slot.clone()), ms(1));
    sender.insert(Meddler(slot.clone()), ms(2));
    assert!(sender.try_insert(Meddler(slot.clone()), ms(3)).is_err());
    drop(sender.remove(&key));

    // A waker that changes the channel when it is woken, and one when it is dropped.
    let busy = |sender: &Sender<Meddler>| {
        let (sender, slot) = (sender.clone(), slot.clone());
        move || {
            let key = sender.try_insert(Meddler(slot.clone()), ms(1));
            drop(key.map(|key| sender.remove(&key)));
        }
    };
    for waker in [acting(busy(&sender)), acting_last(busy(&sender))] {
        let mut clone = receiver.clone();
        let mut recv = Box::pin(clone.recv());
        assert!(poll(&mut recv, &waker).is_pending());
        // Replaced while it waits, and dropped while it waits.
        assert!(poll(&mut recv, &acting_last(busy(&sender))).is_pending());
        assert!(poll(&mut recv, &waker).is_pending());
        drop(waker);
        let early = sender.try_insert(Meddler(slot.clone()), Duration::ZERO);
        drop(early.map(|key| sender.remove(&key)));
        drop(recv);
    }
    let mut full = Vec::new();
    while let Ok(key) = sender.try_insert(Meddler(slot.clone()), ms(5)) {
        full.push(key);
    }
    let mut send = Box::pin(sender.send(Meddler(slot.clone()), ms(1)));
    assert!(poll(&mut send, &acting(busy(&sender))).is_pending());
    drop(sender.remove(&full[0]));
    drop(send);
    sleep(ms(10)).await;
    drop(receiver.try_recv());
    drop(receiver);
    assert!(sender.is_closed() && sender.is_empty());
    slot.lock().unwrap().take();
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_panics_harms_neither_its_caller_nor_the_others() {
    let (sender, receiver) = channel();
    let mut receivers: [_; 3] = receivers(receiver);
    let [first, rest @ ..] = &mut receivers;
    let mut panicking = Box::pin(first.recv());
    let waker = acting(|| panic!("a waker that panics"));
    assert!(poll(&mut panicking, &waker).is_pending());
    let mut crowd = crowd(rest);
    let key = sender.insert(1, ms(1));
    sender.remove(&key);
    drop(sender);
    assert_eq!(crowd.wakes(), [1, 1]);
    assert_eq!(crowd.poll(0), Poll::Ready(None));
    assert!(panicking.await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_item_that_panics_in_its_drop_ends_the_channel_in_order() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("an item that panics in its drop");
        }
    }
    let (sender, receiver) = channel();
    sender.insert(Bomb, ms(1));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(receiver))).is_err());
    assert!(sender.is_closed() && sender.is_empty());
    sender.closed().await;
}

// Runtimes

#[test]
fn a_receiver_of_an_empty_queue_needs_no_runtime() {
    watched(|| {
        let (sender, mut receiver) = channel();
        let thread = std::thread::spawn(move || wait(receiver.recv()).map(Expired::into_inner));
        sender.insert(1, Duration::ZERO);
        assert_eq!(thread.join().unwrap(), Some(1));
    });
}

#[test]
fn a_receiver_that_panics_for_want_of_a_runtime_leaves_the_others_in_order() {
    let (sender, mut receiver) = channel();
    let mut other = receiver.clone();
    sender.insert(1, ms(50));
    let text = text_of(|| {
        let _ = poll(&mut Box::pin(receiver.recv()), Waker::noop());
    });
    assert!(text.contains("there is no reactor running"), "{text}");
    paused().block_on(async {
        let start = Instant::now();
        let item = timeout(ms(100), other.recv()).await.unwrap();
        assert_eq!(item.unwrap().into_inner(), 1);
        // It was woken for the item, not for the timeout.
        assert!(start.elapsed() < ms(100));
    });
}

#[test]
fn when_the_receiver_with_the_alarm_leaves_one_in_another_runtime_takes_over() {
    for armed_first in [true, false] {
        let (sender, mut first) = channel();
        let mut second = first.clone();
        let (one, two) = (paused(), paused());
        if armed_first {
            sender.insert(1, ms(50));
        }
        let (wakes, waker) = Wakes::new();
        let mut waiting = Box::pin(first.recv());
        one.block_on(async { assert!(poll(&mut waiting, &waker).is_pending()) });
        if !armed_first {
            sender.insert(1, ms(50));
            assert_eq!(wakes.count(), 1);
            one.block_on(async { assert!(poll(&mut waiting, &waker).is_pending()) });
        }
        two.block_on(async {
            let start = Instant::now();
            let (wakes, waker) = Wakes::new();
            let mut other = Box::pin(second.recv());
            assert!(poll(&mut other, &waker).is_pending());
            // Nobody drives the first runtime, so the alarm must move.
            drop(waiting);
            assert_eq!(wakes.count(), 1);
            let item = timeout(ms(100), other).await.unwrap();
            assert_eq!(item.unwrap().into_inner(), 1);
            assert!(start.elapsed() < ms(100));
        });
        drop(one);
    }
}

#[test]
fn when_the_only_receiver_of_a_runtime_has_its_item_the_alarm_moves_to_those_who_still_wait() {
    let (sender, mut first) = channel();
    let mut second = first.clone();
    let (one, two) = (paused(), paused());
    let mut waiting = Box::pin(first.recv());
    let mut other = Box::pin(second.recv());
    let (wakes, waker) = Wakes::new();
    sender.insert(1, ms(10));
    sender.insert(2, ms(50));
    one.block_on(async { assert!(poll(&mut waiting, Waker::noop()).is_pending()) });
    // The alarm is armed, and somebody waits where it is.
    two.block_on(async { assert!(poll(&mut other, &waker).is_pending()) });
    one.block_on(async {
        sleep(ms(20)).await;
        assert_eq!(waiting.await.unwrap().into_inner(), 1);
    });
    // Nobody drives that runtime any longer.
    assert_eq!(wakes.count(), 1);
    two.block_on(async {
        let start = Instant::now();
        let item = timeout(ms(200), other).await.unwrap();
        assert_eq!(item.unwrap().into_inner(), 2);
        assert!(start.elapsed() < ms(200));
    });
    drop(one);
}

#[test]
fn when_a_runtime_ends_the_receivers_of_others_go_on() {
    watched(|| {
        let (sender, mut first) = channel();
        let mut second = first.clone();
        sender.insert(1, ms(50));
        let (one, two) = (paused(), paused());
        one.spawn(async move { first.recv().await });
        one.block_on(tokio::task::yield_now());
        two.block_on(async {
            let other = tokio::spawn(async move { second.recv().await });
            tokio::task::yield_now().await;
            let ended = std::thread::spawn(move || drop(one));
            ended.join().unwrap();
            assert_eq!(other.await.unwrap().unwrap().into_inner(), 1);
        });
    });
}

#[test]
fn a_channel_outlives_the_runtime_it_waited_in() {
    let (sender, mut receiver) = channel();
    let key = paused().block_on(async {
        let key = sender.insert("item", ms(50));
        assert!(
            receiver
                .poll_recv(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        key
    });
    paused().block_on(async {
        assert!(sender.reset(&key, ms(20)));
        let start = Instant::now();
        assert_eq!(receiver.recv().await.unwrap().into_inner(), "item");
        assert_eq!(start.elapsed(), ms(20));
    });
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_due_items_lets_other_tasks_run() {
    let (sender, mut receiver) = channel();
    for n in 0..10_000 {
        sender.insert(n, Duration::ZERO);
    }
    drop(sender);
    let turns = Arc::new(Mutex::new(0));
    let other = tokio::spawn({
        let turns = turns.clone();
        async move {
            loop {
                *turns.lock().unwrap() += 1;
                tokio::task::yield_now().await;
            }
        }
    });
    for n in 0..10_000 {
        assert_eq!(receiver.recv().await.unwrap().into_inner(), n);
    }
    other.abort();
    assert!(*turns.lock().unwrap() > 10);
}

#[test]
fn both_ends_may_go_wherever_the_items_may() {
    fn check<T: Send + Sync + Unpin + 'static>() {}
    fn send<T: Send>(_: &T) {}
    check::<Sender<std::cell::Cell<u32>>>();
    check::<Receiver<std::cell::Cell<u32>>>();
    let (sender, mut receiver) = channel::<std::cell::Cell<u32>>();
    send(&sender.send(std::cell::Cell::new(1), ms(1)));
    send(&sender.closed());
    send(&receiver.recv());
    let debug = format!("{sender:?} {receiver:?}");
    assert!(debug.contains("Sender { len: 0, closed: false"), "{debug}");
}
